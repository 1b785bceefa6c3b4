"""What to say where a loop has no solution."""

from __future__ import annotations

import numpy as np

from musculo.compile.frames import FloatArray
from musculo.embedding.loop import Loop, LoopSolution, LoopStatus
from musculo.errors import InvalidInput, SingularSystem


def refuse_unsolved(loop: Loop, solution: LoopSolution, X: FloatArray, first: int = 0, a_frame: int = 1) -> None:
    """Refuse frames whose loop was not closed; `a_frame` positions belong to each, `first` is the first one's number.

    Raises:
        InvalidInput: inputs out of reach; names the loop, the frame, and how far it came.
        SingularSystem: a singular position stands in the way.
    """
    failed = np.flatnonzero(solution.status != LoopStatus.SOLVED)
    if not failed.size:
        return
    k = int(failed[0])
    wanted = ", ".join(f"{name} = {value:.6g}" for name, value in zip(loop.inputs, X[k], strict=True))
    came = ", ".join(f"{name} = {value:.6g}" for name, value in zip(loop.inputs, solution.reached[k], strict=True))
    frame = first + k // a_frame
    if solution.status[k] == LoopStatus.SINGULAR:
        raise SingularSystem(
            f"the {loop.title} meets a singular position on the way to {wanted} at frame {frame}, near {came}: there "
            "branches meet; give a pose beyond it, near the wanted one (guess=q of embeddings, q0 of simulate)"
        )
    raise InvalidInput(
        f"the {loop.title} cannot be closed at frame {frame} with {wanted or 'its coordinates'}; on this branch it "
        f"closes up to {came or 'nowhere'}; keep within reach, start from a pose on another branch (guess=q of "
        "embeddings, q0 of simulate), or choose other independent coordinates (independent=)"
    )
