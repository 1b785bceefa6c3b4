"""Which foot stands on which plate: forces that plates measured as loads on the bodies of a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity
from musculo.diagnostics.loads import FEET
from musculo.diagnostics.support import CARRIED, foot_points
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput, UnknownName
from musculo.model.model import Model
from musculo.results.angle_columns import far_beyond_ranges, rotational_coordinates
from musculo.results.external_loads import ExternalForce, ExternalLoads
from musculo.results.plate_columns import ForceColumns, force_columns
from musculo.results.table import Table
from musculo.signals.gaps import runs

_FOOT = re.compile(r"calcn|calcaneus|heel|foot", re.IGNORECASE)
NEAR = 0.3
"""A foot that is farther from the center of pressure does not stand there [m]."""
_CLEAR = 1.5  # the other foot must be farther by this factor, or nobody can tell
_SHORTEST = 0.05  # a plate that is loaded for less was bumped [s]


class Contact(NamedTuple):
    """One time that a plate is loaded, and whose foot it is."""

    plate: str
    start: float  # [s]
    end: float  # [s]
    body: str  # the foot; empty where none is near
    distance: float  # from the center of pressure to that foot, mean over the contact [m]
    other_distance: float  # to the next nearest foot [m]; infinite where there is one foot


@dataclass(frozen=True, eq=False)
class FootLoads:
    """Plates as loads on feet.

    Args:
        loads: a force for each pair of a plate and a foot that stood on it.
        contacts: every time a plate was loaded while the motion lasts, in the order of plates and times.
        findings: contacts that are doubtful.
    """

    loads: ExternalLoads
    contacts: tuple[Contact, ...]
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return f"FootLoads({', '.join(self.in_words)})"

    @property
    def in_words(self) -> tuple[str, ...]:
        """Which foot stood on which plate, when; a sentence for each plate."""
        lines = []
        for plate in dict.fromkeys(one.plate for one in self.contacts):
            steps = [
                f"{one.body or 'nobody'} {one.start:.3g} to {one.end:.3g} s"
                for one in self.contacts
                if one.plate == plate
            ]
            lines.append(f"plate {plate}: {', '.join(steps)}")
        return tuple(lines)


def feet_of(model: Model) -> tuple[str, ...]:
    """The bodies that stand: those named calcn, calcaneus, heel or foot.

    Raises:
        InvalidInput: none is called so.
    """
    named = [name for name in model.body_names if _FOOT.search(name)]
    parents = {joint.child.body: joint.parent.body for joint in model.joints}

    def carried(name: str) -> bool:  # toes of a foot, for instance `foot_toes_r` on `foot_r`
        parent = parents.get(name)
        while parent in parents:
            if parent in named:
                return True
            parent = parents[parent]
        return False

    feet = tuple(name for name in named if not carried(name))
    if not feet:
        raise InvalidInput(
            f"{model.source or model.name}: no body is called calcn, calcaneus, heel or foot; say which are the feet "
            f"(feet=, or --foot at the shell); bodies: {', '.join(model.body_names)}"
        )
    return feet


def foot_loads(
    model: Model,
    time: ArrayLike,
    q: ArrayLike,
    forces: Table,
    *,
    feet: Sequence[str] | None = None,
    plates: Mapping[str, str] | None = None,
) -> FootLoads:
    """Forces of plates as loads on the feet that stood on them.

    While a plate carries more than 20 N, its force acts on the foot that is nearest to its center of pressure: mean
    distance to the nearest of the foot's points (markers, mass centers and origins of the foot and of its toes), each
    frame weighted by its vertical force. A plate on which both feet stand, one after the other, is divided halfway
    between the two contacts. A plate cannot tell which part of its force belongs to which foot while both stand on it.

    Args:
        model: the model.
        time: (frames,) of the motion [s].
        q: (frames, n) the motion [rad, m].
        forces: of plates, in columns as OpenSim's external loads have them (`plates_to_table(recording.plates)`).
        feet: the bodies that may stand; those that are named like feet by default.
        plates: bodies by the names of plates, for plates that are known to be of one foot.

    Raises:
        InvalidInput: no times in common; a table without forces; no feet.
        UnknownName: a body or a plate that does not exist.
    """
    times, Q = np.asarray(time, dtype=float), np.asarray(q, dtype=float)
    columns = force_columns(forces)
    stated = dict(plates or {})
    for name, body in stated.items():
        if name not in [one.name for one in columns]:
            raise UnknownName("plate", name, [one.name for one in columns], forces.source or forces.name)
        model.body(body)
    bodies = tuple(feet) if feet is not None else feet_of(model)
    for body in bodies:
        model.body(body)
    inside = (forces.time >= times[0] - 1e-9) & (forces.time <= times[-1] + 1e-9)
    if not inside.any():
        raise InvalidInput(
            f"the motion, {times[0]:g} to {times[-1]:g} s, and the forces of {forces.source or forces.name}, "
            f"{forces.time[0]:g} to {forces.time[-1]:g} s, have no time in common"
        )
    points = _points_at(model, bodies, times, Q, forces.time[inside])
    contacts: list[Contact] = []
    loads: list[ExternalForce] = []
    values: list[FloatArray] = []
    names: list[str] = []
    for plate in columns:
        force, point, moment = (_three(forces, stem) for stem in (plate.force, plate.point, plate.moment))
        found = _contacts(plate, forces.time[inside], force[inside], point[inside], points)
        if plate.name in stated:
            found = [one._replace(body=stated[plate.name]) for one in found]
        contacts += found
        owners = _owners(forces.time, found)
        for body in dict.fromkeys(one.body for one in found if one.body):
            stem = f"{plate.name}_{body}"
            acts = (owners == body)[:, None]
            values += [np.where(acts, force, 0.0), point, np.where(acts, moment, 0.0)]
            parts = (f"{stem}_force_v", f"{stem}_force_p", f"{stem}_torque_")
            names += [part + axis for part in parts for axis in "xyz"]
            loads.append(ExternalForce(stem, body, *parts))
    if not loads:
        raise InvalidInput(
            f"{forces.source or forces.name}: no plate carries a foot from {times[0]:g} to {times[-1]:g} s"
            + (_unlikely(model, Q) or "".join(f"; {one.text}" for one in _findings(contacts, stated)))
        )
    units = ("N", "N", "N", "m", "m", "m", "N m", "N m", "N m") * len(loads)
    table = Table(forces.time, tuple(names), np.hstack(values), units=units, name="ground_reactions")
    done = ExternalLoads("ground_reactions", tuple(loads), table)
    return FootLoads(done, tuple(contacts), tuple(_findings(contacts, stated)))


def _unlikely(model: Model, q: FloatArray) -> str:
    """Why feet may be nowhere near the plates: poses that no joint has."""
    angles = rotational_coordinates(model)
    odd = [one for one in far_beyond_ranges(model, q) if one[0] in angles]
    if not odd:
        return ""
    name, value, low, high = odd[0]
    return (
        f"; {name} reaches {value:.4g} rad, with a range of {low:.3g} to {high:.3g}: are the angles of the "
        "motion degrees that are called radians? Then its header needs inDegrees=yes"
    )


def _points_at(
    model: Model, feet: Sequence[str], time: FloatArray, q: FloatArray, wanted: FloatArray
) -> dict[str, FloatArray]:
    """(frames, points, 3) of every foot at the times of the plates, by lines between the frames of the motion [m]."""
    motion = kinematics(model, q)
    found = {}
    for foot in feet:
        points = foot_points(model, motion, foot, len(time))
        flat = points.reshape(len(time), -1)
        at = np.stack([np.interp(wanted, time, column) for column in flat.T], axis=1)
        found[foot] = at.reshape(len(wanted), -1, 3)
    return found


def _three(table: Table, stem: str) -> FloatArray:
    """(frames, 3) the columns behind a beginning, in the order x, y, z; zeros where there is none."""
    if not stem:
        return np.zeros((len(table), 3))
    named = sorted((name[len(stem) :].lower(), k) for k, name in enumerate(table.names) if name.startswith(stem))
    return np.nan_to_num(table.values[:, [k for _, k in named]])


def _contacts(
    plate: ForceColumns, time: FloatArray, force: FloatArray, point: FloatArray, feet: Mapping[str, FloatArray]
) -> list[Contact]:
    vertical = np.abs(force[:, 1])
    found = []
    for first, stop in runs(vertical > CARRIED):
        if time[stop - 1] - time[first] < _SHORTEST and first > 0 and stop < len(time):
            continue
        span = slice(first, stop)
        mean = {
            body: float(
                np.average(np.linalg.norm(points[span] - point[span, None], axis=2).min(axis=1), weights=vertical[span])
            )
            for body, points in feet.items()
        }
        order = sorted(mean, key=lambda body: mean[body])
        body, distance = order[0], mean[order[0]]
        other = mean[order[1]] if len(order) > 1 else np.inf
        found.append(
            Contact(
                plate.name,
                float(time[first]),
                float(time[stop - 1]),
                body if distance <= NEAR else "",
                distance,
                other,
            )
        )
    return found


def _owners(time: FloatArray, contacts: Sequence[Contact]) -> NDArray[np.object_]:
    """(frames,) the foot that a plate belongs to: that of the contact under way, else of the nearest one."""
    owners = np.full(len(time), "", dtype=object)
    if contacts:
        apart = [np.maximum(one.start - time, time - one.end) for one in contacts]
        owners[:] = np.array([one.body for one in contacts], dtype=object)[np.argmin(apart, axis=0)]
    return owners


def _findings(contacts: Sequence[Contact], stated: Mapping[str, str]) -> list[Finding]:
    found = []
    for one in contacts:
        span = f"plate {one.plate} from {one.start:.3g} to {one.end:.3g} s"
        if not one.body:
            found.append(
                Finding(
                    f"{span}: the nearest foot is {one.distance:.2g} m from the center of pressure, so its force "
                    "acts on nobody; are plates and markers in the same axes and units?",
                    Severity.WRONG,
                    FEET,
                )
            )
        elif one.plate not in stated and one.other_distance < _CLEAR * one.distance:
            found.append(
                Finding(
                    f"{span}: {one.body} is {one.distance:.2g} m from the center of pressure and the other foot "
                    f"{one.other_distance:.2g} m; its force acts on {one.body}",
                    Severity.DOUBTFUL,
                    FEET,
                    f"if both feet stood there, exclude the span; if it was the other foot, say so "
                    f"(--plate {one.plate}=BODY)",
                )
            )
    return found
