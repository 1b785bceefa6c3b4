"""What to say where a loop has no solution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.loops.closed_loop import Loop, LoopSolution, LoopStatus
from musculo.errors import InvalidInput, SingularSystem


def refuse_unsolved(loop: Loop, solution: LoopSolution, X: FloatArray, first: int = 0, a_frame: int = 1) -> None:
    """Refuse frames whose loop was not closed; `a_frame` positions belong to each, `first` is the first one's number.

    Raises:
        InvalidInput: inputs out of reach; names the loop, the frame, and how far it came. Or the loop does not close
            from the pose that is given, which has these inputs.
        SingularSystem: a singular position stands in the way.
    """
    failed = np.flatnonzero(solution.status != LoopStatus.SOLVED)
    if not failed.size:
        return
    k = int(failed[0])
    wanted, came = _told_apart(loop.inputs, X[k], solution.reached[k])
    frame = first + k // a_frame
    if solution.status[k] == LoopStatus.SINGULAR:
        raise SingularSystem(
            f"the {loop.title} meets a singular position on the way to {wanted} at frame {frame}, near {came}: there "
            "branches meet; give a pose beyond it, near the wanted one (guess=q of embeddings, q0 of simulate)"
        )
    if np.array_equal(solution.reached[k], X[k]):  # the pose has these inputs, which need not be out of reach
        inputs = ", ".join(f"{name} = {value:.6g}" for name, value in zip(loop.inputs, X[k], strict=True))
        raise InvalidInput(
            f"the {loop.title} is open in the given pose and cannot be closed at frame {frame} from there with "
            f"{inputs or 'its coordinates'}; drop this frame, give a pose nearer to a closed one, or make it with "
            "embedding_of(model).coordinates(z), if these coordinates can be reached"
        )
    raise InvalidInput(
        f"the {loop.title} cannot be closed at frame {frame} with {wanted or 'its coordinates'}; on this branch it "
        f"closes up to {came or 'nowhere'}; drop this frame or keep within reach, start from a pose on another "
        "branch (guess=q of embeddings, q0 of simulate), or choose other independent coordinates (independent=)"
    )


def _told_apart(names: Sequence[str], wanted: FloatArray, came: FloatArray) -> tuple[str, str]:
    """Both as text, with as many digits as it takes to see that they are not the same."""
    for digits in range(6, 18):
        one, other = (
            ", ".join(f"{name} = {value:.{digits}g}" for name, value in zip(names, values, strict=True))
            for values in (wanted, came)
        )
        if one != other:
            break
    return one, other if one != other else "just before that"
