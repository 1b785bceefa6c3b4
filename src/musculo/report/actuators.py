"""Reserves and residual actuators: what drives a model where its muscles or its external loads do not.

Limits: Hicks et al. 2015 (J Biomech Eng 137:020905): residual forces within 5 % of the largest external force, residual
moments within 1 % of it times the height of the mass centre, reserves within 5 % of the largest net moment.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from musculo.diagnostics.loads import free_base
from musculo.dynamics.energy import total_mass
from musculo.model.model import Model
from musculo.report.contents import Check, Light
from musculo.report.grades import graded
from musculo.report.results import Results
from musculo.results.angles import rotational_coordinates
from musculo.results.table import Table

RESIDUAL_FORCE, RESIDUAL_MOMENT = 0.05, 0.01
RESERVE = 0.05
_HEIGHT = 1.0  # [m] the height of a body's mass centre, where moments of residuals are judged
_GRAVITY = 9.80665
_RESIDUAL = re.compile(r"(?:^|_)([FM])[XYZ](?:_|$)")  # OpenSim's names of what holds a free body
_ASKED = re.compile(r"reserve|residual", re.IGNORECASE)


class Peak(NamedTuple):
    """The largest value of a column."""

    value: float
    name: str
    time: float
    owner: str = ""  # its coordinate, where it has one


def crossed_coordinates(model: Model) -> frozenset[str]:
    """Coordinates of joints with a muscle's points on both sides."""
    below: dict[str, set[str]] = {}

    def beyond(body: str) -> set[str]:
        if body not in below:
            below[body] = {body}  # which also ends the walk round a loop
            for joint in model.joints:
                if joint.parent.body == body:
                    below[body] |= beyond(joint.child.body)
        return below[body]

    paths = [
        {model.placement(point.frame).body for point in muscle.path.points}
        for muscle in model.muscles
        if muscle.path is not None
    ]
    return frozenset(
        coordinate.name
        for joint in model.joints
        if any(0 < len(bodies & beyond(joint.child.body)) < len(bodies) for bodies in paths)
        for coordinate in joint.coordinates
    )


def residuals_of_moments(moments: Table, found: Results) -> list[Check]:
    """What inverse dynamics leaves at the joint that sets the body free, where the loads under it are known."""
    assert found.model is not None
    base = free_base(found.model)
    angles = rotational_coordinates(found.model)
    if not base or (found.loads is None and all(name in angles for name in base)):
        return []
    peaks: dict[str, list[Peak]] = {"N": [], "N m": []}
    for name in base:
        column = f"{name}_moment" if name in angles else f"{name}_force"
        if moments.find(column) is not None:
            peaks["N m" if name in angles else "N"].append(_peak(moments, column, name))
    if found.loads is None:
        return _unsupported(peaks["N"], found)
    return _residuals("Residual", peaks, moments, found)


def _unsupported(peaks: list[Peak], found: Results) -> list[Check]:
    """A body that is free in space and of which no external loads are known."""
    assert found.model is not None
    weight = total_mass(found.model) * _GRAVITY
    worst = max(peaks, default=None)
    if worst is None or weight <= 0.0:
        return []
    text = (
        f"none are known: {worst.name} is {worst.value:.4g} N at most, {100 * worst.value / weight:.0f} % of the "
        "body's weight, and moments are those of a body that hangs there"
    )
    return [Check("External loads", text, Light.LOOK, "Give external loads, if it stands on anything")]


def actuators(forces: Table, found: Results) -> list[Check]:
    """Reserves, residual actuators, and motors of coordinates that no muscle crosses."""
    model = found.model
    assert model is not None
    own = {force.name for force in model.forces}  # motors that the model is meant to have
    muscles, base = set(model.muscle_names), free_base(model)
    crossed, angles = crossed_coordinates(model), rotational_coordinates(model)
    reserves: list[Peak] = []
    motors: list[Peak] = []
    residuals: dict[str, list[Peak]] = {"N": [], "N m": []}
    for name in forces.names:
        asked = bool(_ASKED.search(name))
        letters, owner = _RESIDUAL.search(name), _owner(name, model)
        if name in muscles:
            continue
        peak = _peak(forces, name, owner)
        if letters and not owner:
            residuals["N" if letters.group(1) == "F" else "N m"].append(peak)
        elif owner in base and (found.loads is not None or owner.startswith("pelvis_") or asked):
            residuals["N m" if owner in angles else "N"].append(peak)
        elif not owner or (name in own and not asked) or owner in base:
            continue
        elif owner in crossed:
            reserves.append(peak)
        else:
            motors.append(peak)
    return [
        *_residuals("Residual actuators:", residuals, forces, found),
        *_reserves(reserves, found),
        *_motors(motors, angles),
    ]


def _owner(name: str, model: Model) -> str:
    """The coordinate that a column names as a whole word, the longest one; empty for none."""
    owners = [c for c in model.coordinate_names if re.search(rf"(?:^|_){re.escape(c)}(?:_|$)", name)]
    return max(owners, key=len, default="")


def _peak(table: Table, name: str, owner: str) -> Peak:
    values = np.nan_to_num(np.abs(table.column(name)))
    at = int(values.argmax())
    return Peak(float(values[at]), name, float(table.time[at]), owner)


def _residuals(title: str, peaks: dict[str, list[Peak]], table: Table, found: Results) -> list[Check]:
    scale, of = _scale(table, found)
    if scale <= 0.0:
        return []
    checks = []
    for what, unit, limit, height in (
        ("forces", "N", RESIDUAL_FORCE, 1.0),
        ("moments", "N m", RESIDUAL_MOMENT, _HEIGHT),
    ):
        if not peaks[unit]:
            continue
        worst = max(peaks[unit])
        share = worst.value / (scale * height)
        light = graded(share, limit)
        advice = "Filter motion and loads alike, check plates and mass; is a foot off the plates in some frames?"
        whole = of + (f" times {_HEIGHT:g} m" if unit == "N m" else "")
        text = (
            f"{worst.value:.4g} {unit} at most, {worst.name} at {worst.time:.4g} s: "
            f"{100 * share:.1f} % of {whole} (limit {100 * limit:.0f} %)"
        )
        checks.append(Check(f"{title} {what}", text, light, "" if light is Light.GOOD else advice))
    return checks


def _scale(table: Table, found: Results) -> tuple[float, str]:
    """What residuals are compared with [N]: the largest external force, or the weight where loads are not known."""
    assert found.model is not None
    if found.loads is None:
        return total_mass(found.model) * _GRAVITY, "the body's weight, since no external loads are known,"
    peaks = [float(np.linalg.norm(series.force, axis=-1).max()) for series in found.loads.at(table.time)]
    return max(peaks, default=0.0), "the largest external force"


def _reserves(used: list[Peak], found: Results) -> list[Check]:
    """The largest share of a moment, or the largest of all where moments are not known."""
    if not used:
        return []
    assert found.model is not None
    shares = [peak.value / _largest_moment(peak.owner, found) for peak in used]
    share, peak = max(zip(shares, used, strict=True), key=lambda one: (one[0] if np.isfinite(one[0]) else -1.0, one[1]))
    known = bool(np.isfinite(share))
    light = graded(share, RESERVE) if known else Light.INFO
    unit = "N m" if peak.owner in rotational_coordinates(found.model) else "N"
    part = (
        f": {100 * share:.1f} % of the largest moment there (limit {100 * RESERVE:.0f} %)"
        if known
        else "; joint moments are not known, so it is not judged"
    )
    advice = "Muscles cannot give this moment: check their strength, moment arms and the joint's range"
    text = f"{peak.name} gives {peak.value:.4g} {unit} at most, at {peak.time:.4g} s{part}"
    return [Check("Reserves", text, light, "" if light in (Light.GOOD, Light.INFO) else advice)]


def _motors(used: list[Peak], angles: frozenset[str]) -> list[Check]:
    if not used:
        return []
    most = 4
    parts = [
        f"{peak.name} {peak.value:.4g} {'N m' if peak.owner in angles else 'N'}"
        for peak in sorted(used, reverse=True)[:most]
    ]
    rest = f" and {len(used) - most} more" if len(used) > most else ""
    return [Check("Actuators where no muscle acts", f"at most {', '.join(parts)}{rest}")]


def _largest_moment(coordinate: str, found: Results) -> float:
    """The largest moment about a coordinate, but not less than a hundredth of the largest of all: toes need little."""
    base = free_base(found.model) if found.model is not None else ()
    # static optimisation tells what it had to serve, which counts where inverse dynamics was not run
    peaks = {name: float(peak) for record in found.records for name, peak in record.get("moments", {}).items()}
    if found.moments is not None:
        peaks = {
            name.rpartition("_")[0]: float(np.abs(found.moments.values[:, k]).max())
            for k, name in enumerate(found.moments.names)
        }
    inner = [peak for name, peak in peaks.items() if name not in base]
    return max(peaks.get(coordinate, np.nan), 0.01 * max(inner, default=0.0)) or np.nan
