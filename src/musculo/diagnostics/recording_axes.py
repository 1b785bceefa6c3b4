"""How a recording stands to the model, where markers tell it: another axis than y up, turned around, or mirrored."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity
from musculo.dynamics.poses import kinematics
from musculo.io.file_axes import TAKEN_UP, to_ground
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.results.angle_columns import sliding_coordinates
from musculo.results.markers import Markers

# Markers so far off on average have another reason than a bad fit; a mirrored subject may fit better than that [m].
_BAD_FIT, _POOR_FIT = 0.15, 0.05
# The least cosine of a direction that is taken to be along an axis, and of a base that stands.
_ALONG, _STANDS = 0.85, 0.5
_UPS = ("y", "z", "x", "-y", "-z", "-x")
_HEADINGS = (0, 180, 90, -90)  # about the vertical [deg]: of models that cannot turn about it
_MIRROR = np.diag((1.0, 1.0, -1.0))  # left and right of a subject that walks along x

# Fits so many times worse than the best are as good, and those that are a millimeter worse [m].
_NEAR, _CLOSE = 1.2, 1e-3

Turn = tuple[str, int]  # the axis that points up, and a heading
_AS_IT_IS: Turn = ("y", 0)
Fit = Callable[[Markers], tuple[FloatArray, FloatArray]]


def axis_findings(
    model: Model, markers: Markers, q: FloatArray, distance: FloatArray, fit: Fit, threads: int | None = None
) -> list[Finding]:
    """Whether another axis than y points up in the recording, or the subject is turned around or mirrored.

    Where markers fit badly one frame may fit far better when it is turned; only turns with which the base stands as in
    the default pose count. Where a base that turns freely lets markers fit all the same, the base lies on its side.

    Args:
        model: the model.
        markers: the recording.
        q: (frames, n) the poses that were found [rad, m].
        distance: (frames, followed) of the markers that were followed [m]; NaN where one was not visible.
        fit: poses and distances of another recording.
        threads: at most so many.
    """
    source = markers.source or "the recording"
    mean = _mean(distance)
    frame = int(np.isfinite(distance).sum(axis=1).argmax())
    as_is = _mean(distance[frame : frame + 1])
    one = markers.between(markers.time[frame], markers.time[frame])
    asked = any(TAKEN_UP in note for note in markers.notes)
    where = f"{source}: at {markers.time[frame]:g} s the markers fit with"
    if mean >= _POOR_FIT and as_is >= _POOR_FIT:
        mirrored = min(_mean(fit(one.rotated(_about_y(heading) @ _MIRROR))[1]) for heading in (0, 180))
        turn, turned = _turned(model, one, fit, threads) if as_is >= _BAD_FIT else (_AS_IT_IS, as_is)
        enough = min(0.5 * as_is, _BAD_FIT)  # far better, and not merely nearer by chance
        means = f", and with {1e3 * as_is:.3g} mm as the file has them"
        if mirrored < min(0.5 * turned, enough):
            text = (
                f"{where} {1e3 * mirrored:.3g} mm where they are mirrored{means}: are labels of left and right "
                "exchanged, or is the sign of one axis wrong?"
            )
            return [Finding(text, Severity.DOUBTFUL)]
        if turn != _AS_IT_IS and turned < enough:
            how, advice = _in_words(*turn, asked)
            return [Finding(f"{where} {1e3 * turned:.3g} mm where {how}{means}; {advice}", Severity.DOUBTFUL)]
    return _lying(model, q, source, asked, threads) if mean < _BAD_FIT else []


def _turned(model: Model, one: Markers, fit: Fit, threads: int | None) -> tuple[Turn, float]:
    """The turn with which one frame fits best while the base stands, and how well."""
    fits: dict[Turn, float] = {}
    for up in _UPS:
        for heading in _HEADINGS:
            q, distance = fit(one.rotated(_about_y(heading) @ to_ground(up)))
            upward = _upward(model, q, threads)
            if upward is None or upward[1] > _STANDS:
                fits[up, heading] = _mean(distance)
    if not fits:
        return _AS_IT_IS, np.inf
    good = _NEAR * min(fits.values()) + _CLOSE
    # most models turn about the vertical by themselves: without a heading is as good
    best = next(turn for heading in _HEADINGS for turn in fits if turn[1] == heading and fits[turn] <= good)
    return best, fits[best]


def _advice(up: str, asked: bool) -> str:
    """How to turn markers; where the recording was turned already, that is in doubt."""
    if asked:
        return "the axis that was assumed to point up may be the wrong one (--up in the shell)"
    return f"OpenSim takes y to point up: turn the markers (--up {up} in the shell, markers.rotated in Python)"


def _in_words(up: str, heading: int, asked: bool) -> tuple[str, str]:
    """A turn, and how to make it."""
    if not heading:
        return f"{up} is assumed to point up", _advice(up, asked)
    R = (_about_y(heading) @ to_ground(up)).astype(int).tolist()
    how = f"they are turned by {heading} degrees about the vertical"
    if up != "y":
        how = f"{up} is assumed to point up and {how}"
    return how, f"the model does not turn so by itself: turn the recording (markers.rotated({R}) in Python)"


def _about_y(degrees: int) -> FloatArray:
    c, s = {0: (1, 0), 90: (0, 1), 180: (-1, 0), -90: (0, -1)}[degrees]
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]], dtype=float)


def _upward(model: Model, q: FloatArray, threads: int | None) -> FloatArray | None:
    """(3,) where what points up of the base by default points to, in the mean of all frames; None without a base."""
    base = _base(model)
    if base is None or not len(q):
        return None
    R, _ = kinematics(model, q, threads=threads).batch_pose(base)
    still = np.array([[c.default_value for c in model.coordinates]])
    R_default, _ = kinematics(model, still, threads=threads).batch_pose(base)
    upward: FloatArray = (R @ R_default[0].T)[:, :, 1].mean(axis=0)
    return upward


def _base(model: Model) -> str | None:
    """The body that moves freely in ground."""
    return next((j.child.body for j in model.joints if j.parent.body == GROUND and sliding_coordinates(j)), None)


def _lying(model: Model, q: FloatArray, source: str, asked: bool, threads: int | None) -> list[Finding]:
    """A base that moves freely and does not stand as in the default pose, in the mean of all frames."""
    up = _upward(model, q, threads)
    if up is None:
        return []
    axis = int(np.abs(up).argmax())
    if not (abs(up[axis]) > _ALONG and (axis != 1 or up[axis] < 0.0)):
        return []
    name = ("" if up[axis] > 0.0 else "-") + "xyz"[axis]
    text = (
        f"{source}: what points up of {_base(model)!r} by default points along {name} here; if the subject stands, "
        f"the file has {name} up, and {_advice(name, asked)}"
    )
    return [Finding(text, Severity.DOUBTFUL)]


def _mean(distance: FloatArray) -> float:
    """The root mean square of the distances that are known."""
    seen = distance[np.isfinite(distance)]
    return float(np.sqrt(np.mean(seen**2))) if seen.size else 0.0
