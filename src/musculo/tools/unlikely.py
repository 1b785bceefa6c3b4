"""What in a recording is unlikely, and where it may come from: units, axes, and holes in its times.

Nothing is changed by it: a note names what was found, and what to look at.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from musculo.analyses.inverse_kinematics import InverseKinematics, inverse_kinematics
from musculo.compile.frames import FloatArray
from musculo.dynamics.poses import kinematics
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.results.angles import coordinate_units, sliding_coordinates
from musculo.results.external_loads import ExternalLoads
from musculo.results.markers import Markers
from musculo.results.table import Table
from musculo.signals.arrays import HOLE, holes
from musculo.tools.work import Work

# Nobody is recorded so far from the origin of a laboratory [m]; a height in millimetres is beyond it.
_FAR = 100.0
# Where less than this part of its largest force acts, a plate's point of application is noise over nothing.
_LOADED = 0.05
# A step of so many usual ones is a hole that splines notice: two frames at least are missing.
_HOLE = 2.5
# Markers so far off on average have another reason than a bad fit [m].
_BAD_FIT = 0.15
# The least cosine of a direction that is taken to be along an axis.
_ALONG = 0.85
# Turns of axes that bring z, x or y, counted from the file's axes, to y.
_TURNS: dict[str, tuple[tuple[float, float, float], ...]] = {
    "z": ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)),
    "x": ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    "-y": ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)),
}


def say_motion(table: Table, model: Model, cutoff: float, work: Work) -> None:
    """Translations that only another unit explains, and times that a spline passes over."""
    far = []
    for name, unit in coordinate_units(model).items():
        k = table.find(name) if unit == "m" else None
        largest = 0.0 if k is None else float(np.nan_to_num(np.abs(table.values[:, k])).max(initial=0.0))
        if largest > _FAR:
            far.append(f"{name} {largest:.4g} m")
    if far:
        work.note(f"{table.source}: {', '.join(far)} from the origin; lengths are in metres: is it in millimetres?")
    over = "splines pass over it, and speeds and accelerations near it are guesses"
    if cutoff < 0.0:
        _say_holes(table.time, table.source, _HOLE, over, work)
    else:
        how = (
            f"each part is filtered by itself, {over}"
            if work.exact
            else f"OpenSim's filter takes splines there; {over}"
        )
        _say_holes(table.time, table.source, HOLE, how, work)


def say_holes(markers: Markers, work: Work) -> None:
    """Times without a frame in a recording whose frames are taken one by one."""
    then = "nothing is made up there, and what is computed from the motion near it will be a guess"
    _say_holes(markers.time, markers.source, _HOLE, then, work)


def _say_holes(time: FloatArray, source: str, least: float, then: str, work: Work) -> None:
    after = holes(time, least)
    if after.size:
        step = np.diff(time)
        k = int(after[step[after].argmax()])
        count = "" if after.size == 1 else f"{after.size} holes, the longest "
        work.note(
            f"{source}: {count}{step[k]:.3g} s without a frame after {time[k]:g} s, where frames usually come every "
            f"{float(np.median(step)):.3g} s; {then}"
        )


def say_plates(loads: ExternalLoads | None, work: Work) -> None:
    """Points of application that only another unit explains, and times that splines of loads pass over."""
    if loads is None or not len(loads.table):
        return
    over = "splines pass over it, and the loads there are guesses"
    _say_holes(loads.table.time, loads.table.source, _HOLE, over, work)
    for load in loads.at(loads.table.time):
        size = np.linalg.norm(load.force, axis=1)
        loaded = size > _LOADED * size.max(initial=0.0)
        largest = float(np.abs(load.point[loaded]).max(initial=0.0))
        if largest > _FAR:
            work.note(
                f"{loads.table.source}: the force on {load.body} acts {largest:.4g} m from the origin; points are in "
                "metres: are they in millimetres?"
            )


def say_axes(
    model: Model, markers: Markers, weights: Mapping[str, float], found: InverseKinematics, work: Work
) -> None:
    """Whether another axis than y points up in the recording.

    Where markers fit badly one frame may fit far better when it is turned; where a base that turns freely lets them fit
    all the same, the base lies on its side.
    """
    columns = [k for k, name in enumerate(found.marker_names) if name in weights]
    distance = found.marker_errors[:, columns]
    if _mean(distance) < _BAD_FIT:
        _say_lying(model, found, markers.source, work)
        return
    frame = int(np.isfinite(distance).sum(axis=1).argmax())
    one = markers.between(markers.time[frame], markers.time[frame])
    fits = {"y": _mean(distance[frame : frame + 1])}
    for up, turn in _TURNS.items():
        turned = inverse_kinematics(model, one.rotated(turn), weights=weights, threads=work.threads)
        fits[up] = _mean(turned.marker_errors[:, columns])
    best = min(fits, key=lambda up: fits[up])
    if fits[best] < 0.5 * fits["y"]:
        work.note(
            f"{markers.source}: at {markers.time[frame]:g} s the markers fit with {1e3 * fits[best]:.3g} mm where "
            f"{best} is taken to point up, and with {1e3 * fits['y']:.3g} mm as the file has them; OpenSim "
            f"takes y to point up: turn the markers (--up {best} in the shell, markers.rotated in Python)"
        )


def _say_lying(model: Model, found: InverseKinematics, source: str, work: Work) -> None:
    """A base that moves freely and does not stand as in the default pose, in the mean of all frames."""
    base = next((j.child.body for j in model.joints if j.parent.body == GROUND and sliding_coordinates(j)), None)
    if base is None or not len(found):
        return
    R, _ = kinematics(model, found.q, threads=work.threads).batch_pose(base)
    still = np.array([[c.default_value for c in model.coordinates]])
    R_default, _ = kinematics(model, still, threads=work.threads).batch_pose(base)
    up = (R @ R_default[0].T)[:, :, 1].mean(axis=0)  # what points up by default
    axis = int(np.abs(up).argmax())
    if abs(up[axis]) > _ALONG and (axis != 1 or up[axis] < 0.0):
        name = ("" if up[axis] > 0.0 else "-") + "xyz"[axis]
        work.note(
            f"{source}: what points up of {base!r} by default points along {name} here; if the subject stands, "
            f"the file has {name} up, and OpenSim takes y to point up: turn the markers (--up {name} in the shell, "
            "markers.rotated in Python)"
        )


def _mean(distance: FloatArray) -> float:
    """The root mean square of the distances that are known."""
    seen = distance[np.isfinite(distance)]
    return float(np.sqrt(np.mean(seen**2))) if seen.size else 0.0
