"""Whether external loads act where their bodies are, when they are known, and in meters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity
from musculo.diagnostics.load_units import LOADS, load_unit_findings
from musculo.diagnostics.recording_doubts import FAR, LONG_STEP, hole_findings
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.results.angle_columns import rotational_coordinates
from musculo.results.external_loads import ExternalLoads

FEET = "Feet and plates"  # the title of loads that act on the wrong foot
# Where less than this part of its largest force acts, a plate's point of application is noise over nothing.
_ACTING = 0.05
# A plate is loaded beyond this part of its largest force, and beyond this force [N].
_LOADED, _LEAST = 0.1, 20.0
# Plates may end so much before a frame, or a step of their own [s].
_SLACK = 0.01
# The other body is nearer by this factor, in more than this part of the frames, of at least so many.
_NEARER, _MOST, _FRAMES = 2.0, 0.5, 5
# `calcn_r`, `r_foot`: a single r or l between underscores, or at an end.
_SIDE = re.compile(r"(?:(?<=_)|^)([rlRL])(?=_|$)")
_OTHER = {"r": "l", "l": "r", "R": "L", "L": "R"}


class MisplacedLoad(NamedTuple):
    """A load whose points are at another body than the one it acts on."""

    load: int  # which one
    body: str
    other: str
    part: float  # of the loaded frames in which the other body is much nearer
    distance: float  # median of the loaded frames, to the body [m]
    other_distance: float


def plate_findings(loads: ExternalLoads | None) -> list[Finding]:
    """Points of application that only another unit explains, and times that splines of loads pass over."""
    if loads is None or not len(loads.table):
        return []
    source = loads.table.source or "the external loads"
    over = "splines pass over it, and the loads there are guesses"
    found = hole_findings(loads.table.time, source, LONG_STEP, over)
    for body, largest in _far_points(loads):
        text = (
            f"{source}: the force on {body} acts {largest:.4g} m from the origin; points are in meters: are they in "
            "cm, or in millimeters?"
        )
        found.append(Finding(text, Severity.WRONG, LOADS))
    return found


def _far_points(loads: ExternalLoads | None) -> list[tuple[str, float]]:
    """Bodies whose loads act where nobody is recorded, and how far from the origin [m]."""
    found = []
    for load in loads.at(loads.table.time) if loads is not None and len(loads.table) else ():
        size = np.linalg.norm(load.force, axis=1)
        loaded = size > _ACTING * size.max(initial=0.0)
        largest = float(np.abs(load.point[loaded]).max(initial=0.0))
        if largest > FAR:
            found.append((load.body, largest))
    return found


def foot_findings(
    model: Model, q: FloatArray, loads: Sequence[ExternalLoad], recorded: ExternalLoads | None = None
) -> list[Finding]:
    """Loads that seem to act on the wrong foot, or to be in other units, and a walker that stands on nothing.

    Of points in another unit `plate_findings` tells where whole recordings show it, which `recorded` are.
    """
    found = [Finding(misplaced_in_words(one), Severity.WRONG, FEET) for one in misplaced_loads(model, q, loads)]
    found += load_unit_findings(model, q, loads, [body for body, _ in _far_points(recorded)])
    base = free_base(model)
    turning = rotational_coordinates(model)
    if not loads and any(name not in turning for name in base) and np.any(model.gravity):
        found.append(
            Finding(
                f"no external loads are given, and nothing holds the model but the forces at {', '.join(base)}: "
                "moments are those of a body that hangs there; give external loads, if it stands on anything"
            )
        )
    return found


def span_findings(loads: ExternalLoads, time: FloatArray) -> list[Finding]:
    """Some frames (frames,) [s] at which loads are not known."""
    outside, known = int(unknown_loads(loads, time).sum()), loads.table.time
    if not outside:
        return []
    text = (
        f"{outside} of {len(time)} frames lie outside the external loads of {loads.table.source or loads.source}, "
        f"which last from {known[0]:g} to {known[-1]:g} s: there the loads are straight continuations and mean nothing"
    )
    return [Finding(text, Severity.TROUBLE)]


def unknown_loads(loads: ExternalLoads, time: FloatArray) -> NDArray[np.bool_]:
    """(frames,) at which of these times loads are not known: their splines go on as lines, which may be far off.

    One row is a constant load. A frame that the plates end just short of does no harm.
    """
    known = loads.table.time
    if len(known) < 2:
        return np.zeros(len(time), dtype=bool)
    slack = min(float(np.median(np.diff(known))), _SLACK) + 1e-9
    return (time < known[0] - slack) | (time > known[-1] + slack)


def misplaced_in_words(one: MisplacedLoad) -> str:
    return (
        f"the external load on {one.body} acts {one.distance:.2g} m from it and {one.other_distance:.2g} m from "
        f"{one.other} (medians; much nearer to that in {100 * one.part:.0f} % of the loaded frames): is it on the "
        "wrong foot? Residuals do not show it"
    )


def free_base(model: Model) -> tuple[str, ...]:
    """Coordinates of the joint that sets the body free in space: from ground, with three or six of them."""
    for joint in model.joints:
        if joint.parent.body == GROUND and len(joint.coordinates) in (3, 6):
            return tuple(coordinate.name for coordinate in joint.coordinates)
    return ()


def misplaced_loads(model: Model, q: FloatArray, loads: Sequence[ExternalLoad]) -> list[MisplacedLoad]:
    """Loads whose points are twice as near to another body as to their own, in most of the frames that are loaded.

    Other bodies are those that other loads act on, and the one of the other side by its name. Residuals of inverse
    dynamics do not tell: they are the same whichever body of the model a load acts on. Distances are to mass centers;
    loads whose points are not given in ground are ignored.

    Args:
        model: the model.
        q: (frames, n) [rad, m].
        loads: at these frames.
    """
    if not len(q) or not loads:
        return []
    motion = kinematics(model, q)
    center = {
        name: motion.position(name, model.body(name).mass_center).reshape(-1, 3)
        for name in {one for load in loads for one in (load.body, other_side(load.body))}
        if name in model.body_names
    }
    found = []
    for k, load in enumerate(loads):
        others = [
            name for name in center if name in {other_side(load.body), *(one.body for one in loads)} - {load.body}
        ]
        if load.point_in != GROUND or load.body not in center or not others:
            continue
        size = np.linalg.norm(np.broadcast_to(np.atleast_2d(load.force), (len(q), 3)), axis=1)
        at = np.broadcast_to(np.atleast_2d(load.point), (len(q), 3))
        rows = np.flatnonzero((size > max(_LOADED * size.max(), _LEAST)) & np.isfinite(at).all(axis=1))
        if rows.size < _FRAMES:
            continue
        own = np.linalg.norm(at - center[load.body], axis=1)[rows]
        for other in others:
            there = np.linalg.norm(at - center[other], axis=1)[rows]
            part = float((own > _NEARER * there).mean())
            if part > _MOST:
                found.append(MisplacedLoad(k, load.body, other, part, float(np.median(own)), float(np.median(there))))
    return found


def other_side(name: str) -> str:
    """`calcn_l` for `calcn_r`; the name itself where it tells no side."""
    return _SIDE.sub(lambda match: _OTHER[match.group(1)], name)
