"""Lengths of paths that are no numbers, and paths whose rates cannot be had: what is refused, and what is warned of."""

from __future__ import annotations

import warnings

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, MusculoWarning, Unsupported
from musculo.model.model import Model
from musculo.muscle.paths.compile_paths import CompiledPaths


def refuse_endless(model: Model, names: tuple[str, ...], Q: FloatArray, length: FloatArray, like_opensim: bool) -> None:
    """Refuse poses Q (frames, n) in which a path is too long for a float64: (frames, paths) lengths of infinity or NaN.

    With OpenSim's wrapping NaN may be OpenSim's own answer (`warn_of_no_length`).

    Raises:
        InvalidInput: naming the path, the frame, and the coordinate that is furthest from zero there.
    """
    if np.isfinite(length).all():
        return
    lost = np.argwhere(np.isinf(length) if like_opensim else ~np.isfinite(length))
    if not len(lost):
        return
    frame, path = lost[0]
    column = int(np.argmax(np.abs(Q[frame])))
    raise InvalidInput(
        f"{names[path]!r} is {length[frame, path]} m long at frame {frame}, where {model.coordinate_names[column]!r} "
        f"is {Q[frame, column]:.6g}: too far for floating-point numbers; coordinates are radians and meters"
    )


def warn_of_no_length(names: tuple[str, ...], length: FloatArray) -> None:
    """Say for which paths OpenSim's wrapping has no number."""
    lost = np.isnan(length)
    if not lost.any():
        return
    frames = np.flatnonzero(lost.any(axis=1))
    where = [names[k] for k in np.flatnonzero(lost.any(axis=0))]
    warnings.warn(
        f"like='opensim' gives NaN at {len(frames)} of {len(length)} frames, frame {frames[0]} the first of them, "
        f"for {', '.join(where[:4])}{f' and {len(where) - 4} others' if where[4:] else ''}, as OpenSim itself does in "
        "these poses; without it there is a length in every pose",
        MusculoWarning,
        stacklevel=4,  # through `_geometry` and who called it
    )


def refuse_mixed_rates(p: CompiledPaths) -> None:
    if p.indirect:
        raise Unsupported(
            f"{p.indirect[0]} follows an angle of a joint whose speeds are an angular velocity, not the angle's "
            "derivative; make the joint a gimbal or custom joint, or use like='opensim', which mixes the two up"
        )
