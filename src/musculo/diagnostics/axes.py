"""Which axis points up in a recording, where markers tell that it is another one than y."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from musculo.compile.frames import FloatArray
from musculo.diagnostics.finding import Finding, Severity
from musculo.dynamics.poses import kinematics
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.results.angles import sliding_coordinates
from musculo.results.markers import Markers

# Markers so far off on average have another reason than a bad fit [m].
_BAD_FIT = 0.15
_TITLE = "Axes of the recording"
# The least cosine of a direction that is taken to be along an axis.
_ALONG = 0.85
# Turns of axes that bring z, x or y, counted from the file's axes, to y.
_TURNS: dict[str, tuple[tuple[float, float, float], ...]] = {
    "z": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)),
    "x": ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    "-y": ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)),
}


def axis_findings(
    model: Model,
    markers: Markers,
    q: FloatArray,
    distance: FloatArray,
    fit: Callable[[Markers], FloatArray],
    threads: int | None = None,
) -> list[Finding]:
    """Whether another axis than y points up in the recording.

    Where markers fit badly one frame may fit far better when it is turned; where a base that turns freely lets them fit
    all the same, the base lies on its side.

    Args:
        model: the model.
        markers: the recording.
        q: (frames, n) the poses that were found [rad, m].
        distance: (frames, followed) of the markers that were followed [m]; NaN where one was not seen.
        fit: the same distances of the poses of another recording.
        threads: at most so many.
    """
    source = markers.source or "the recording"
    if _mean(distance) < _BAD_FIT:
        return _lying(model, q, source, threads)
    frame = int(np.isfinite(distance).sum(axis=1).argmax())
    one = markers.between(markers.time[frame], markers.time[frame])
    fits = {"y": _mean(distance[frame : frame + 1])}
    if fits["y"] < _BAD_FIT:
        return []  # other frames fit badly, for reasons of their own
    for up, turn in _TURNS.items():
        fits[up] = _mean(fit(one.rotated(turn)))
    best = min(fits, key=lambda up: fits[up])
    if fits[best] >= 0.5 * fits["y"]:
        return []
    text = (
        f"{source}: at {markers.time[frame]:g} s the markers fit with {1e3 * fits[best]:.3g} mm where "
        f"{best} is taken to point up, and with {1e3 * fits['y']:.3g} mm as the file has them; OpenSim "
        f"takes y to point up: turn the markers (--up {best} in the shell, markers.rotated in Python)"
    )
    return [Finding(text, Severity.WRONG, _TITLE)]


def _lying(model: Model, q: FloatArray, source: str, threads: int | None) -> list[Finding]:
    """A base that moves freely and does not stand as in the default pose, in the mean of all frames."""
    base = next((j.child.body for j in model.joints if j.parent.body == GROUND and sliding_coordinates(j)), None)
    if base is None or not len(q):
        return []
    R, _ = kinematics(model, q, threads=threads).batch_pose(base)
    still = np.array([[c.default_value for c in model.coordinates]])
    R_default, _ = kinematics(model, still, threads=threads).batch_pose(base)
    up = (R @ R_default[0].T)[:, :, 1].mean(axis=0)  # what points up by default
    axis = int(np.abs(up).argmax())
    if not (abs(up[axis]) > _ALONG and (axis != 1 or up[axis] < 0.0)):
        return []
    name = ("" if up[axis] > 0.0 else "-") + "xyz"[axis]
    text = (
        f"{source}: what points up of {base!r} by default points along {name} here; if the subject stands, "
        f"the file has {name} up, and OpenSim takes y to point up: turn the markers (--up {name} in the shell, "
        "markers.rotated in Python)"
    )
    return [Finding(text, Severity.DOUBTFUL, _TITLE)]


def _mean(distance: FloatArray) -> float:
    """The root mean square of the distances that are known."""
    seen = distance[np.isfinite(distance)]
    return float(np.sqrt(np.mean(seen**2))) if seen.size else 0.0
