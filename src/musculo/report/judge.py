"""Was it good? Marker errors, residuals, reserves and unsolved frames against what the field accepts.

Limits: OpenSim's "Getting Started with Inverse Kinematics" for markers (root mean square below 2 cm, largest below
4 cm), and Hicks et al. 2015 (J Biomech Eng 137:020905) for residuals (5 % of the largest external force; 1 % of force
times height) and reserves (5 % of the largest net moment). Twice a limit is bad; between is worth a look.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.dynamics.energy import total_mass
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.report.contents import Check, Light
from musculo.report.results import Results
from musculo.results.angles import rotational_coordinates
from musculo.results.table import Table

MARKER_RMS, MARKER_LARGEST = 0.02, 0.04  # [m]
RESIDUAL_FORCE, RESIDUAL_MOMENT = 0.05, 0.01
RESERVE = 0.05
FULL = 0.99  # an activation that has nothing left
FIBERS = (0.44, 1.81)  # of the optimum: the ends of Millard's default curve of active force
_OFTEN = 0.1  # the part of the frames in which a muscle may be at its limit before it is bad
_HEIGHT = 1.0  # [m] the height of a body's mass centre, where moments of residuals are judged


def graded(value: float, limit: float) -> Light:
    """GOOD up to the limit, BAD beyond twice the limit."""
    return Light.GOOD if value <= limit else Light.LOOK if value <= 2.0 * limit else Light.BAD


def checks_of(found: Results) -> tuple[Check, ...]:
    """The lines of the summary."""
    checks = [*_troubles(found)]
    if found.marker_errors is not None:
        checks += _markers(found.marker_errors)
    if found.moments is not None and found.model is not None:
        checks += _residuals(found.moments, found)
    if found.activations is not None:
        checks += _activations(found.activations, found)
    if found.forces is not None and found.model is not None:
        checks += _reserves(found.forces, found)
    if "NormalizedFiberLength" in found.muscles:
        checks += _fibers(found.muscles["NormalizedFiberLength"])
    if found.reactions:
        checks += _reactions(found.reactions, found.model)
    if found.more:
        text = f"{len(found.more)} more tables of the same kinds are not shown: {_some(found.more)}"
        checks.append(Check("Several trials", text, Light.LOOK, "Keep one trial a folder, and make a page of each"))
    if found.unread:
        checks.append(
            Check("Files", f"{len(found.unread)} could not be read: {'; '.join(found.unread[:3])}", Light.LOOK)
        )
    return tuple(checks)


def _troubles(found: Results) -> list[Check]:
    told = [str(text) for record in found.records for text in record.get("troubles", ())]
    if told:
        return [
            Check("Not everything was solved", text, Light.BAD, "Look at this before the numbers are used")
            for text in told
        ]
    if found.records:
        tools = ", ".join(dict.fromkeys(str(record.get("tool", "?")) for record in found.records))
        return [Check("Runs", f"all frames solved ({tools})", Light.GOOD)]
    return []


def _markers(errors: Table) -> list[Check]:
    rms, largest = errors.column("marker_error_RMS"), errors.column("marker_error_max")
    worst_rms, worst = int(rms.argmax()), int(largest.argmax())
    advice = "Look for swapped or misplaced markers, a wrong unit, a badly scaled segment, or a bad static pose"
    checks = []
    for title, value, at, limit in (
        ("Marker errors, root mean square", rms[worst_rms], errors.time[worst_rms], MARKER_RMS),
        ("Marker errors, largest", largest[worst], errors.time[worst], MARKER_LARGEST),
    ):
        light = graded(float(value), limit)
        text = f"{1e3 * value:.1f} mm at most, at {at:.3g} s (limit {1e3 * limit:.0f} mm)"
        checks.append(Check(title, text, light, "" if light is Light.GOOD else advice))
    return checks


def base_coordinates(model: Model) -> tuple[str, ...]:
    """Coordinates of the joint that sets the body free in space: from ground, with three or six of them."""
    for joint in model.joints:
        if joint.parent.body == GROUND and len(joint.coordinates) in (3, 6):
            return tuple(coordinate.name for coordinate in joint.coordinates)
    return ()


def _residuals(moments: Table, found: Results) -> list[Check]:
    assert found.model is not None
    base = base_coordinates(found.model)
    if found.loads is None or not base:
        return []
    force = max(
        (float(np.linalg.norm(series.force, axis=-1).max()) for series in found.loads.at(moments.time)), default=0.0
    )
    if force <= 0.0:
        return []
    angles = rotational_coordinates(found.model)
    checks = []
    for title, ending, limit, scale, unit in (
        ("Residual forces", "_force", RESIDUAL_FORCE, force, "N"),
        ("Residual moments", "_moment", RESIDUAL_MOMENT, force * _HEIGHT, "N m"),
    ):
        of = "the largest external force" + (f" times {_HEIGHT:g} m" if ending == "_moment" else "")
        names = [f"{name}{ending}" for name in base if (name in angles) == (ending == "_moment")]
        values = [np.abs(moments.column(name)).max() for name in names if moments.find(name) is not None]
        if not values:
            continue
        peak = float(max(values))
        light = graded(peak / scale, limit)
        advice = "Filter motion and loads alike, check plates and mass; is a foot off the plates in some frames?"
        part = 100.0 * peak / scale
        text = f"{peak:.4g} {unit} at most, {part:.1f} % of {of} (limit {100 * limit:.0f} %)"
        checks.append(Check(title, text, light, "" if light is Light.GOOD else advice))
    return checks


def _muscles(table: Table, model: Model | None) -> list[int]:
    known = set(model.muscle_names) if model is not None else set(table.names)
    return [k for k, name in enumerate(table.names) if name in known]


def _activations(activations: Table, found: Results) -> list[Check]:
    columns = _muscles(activations, found.model)
    if not columns:
        return []
    full = (activations.values[:, columns] >= FULL).mean(axis=0)
    busy = [activations.names[columns[k]] for k in np.argsort(-full) if full[k] > 0.0]
    if not busy:
        peak = float(activations.values[:, columns].max())
        return [Check("Muscles at their limit", f"none; the largest activation is {peak:.2f}", Light.GOOD)]
    light = Light.LOOK if float(full.max()) <= _OFTEN else Light.BAD
    text = f"{len(busy)} of {len(columns)} are fully active at some time: {_some(busy)}"
    advice = "Check strength, the filter of the motion, and loads; a reserve may be too weak"
    return [Check("Muscles at their limit", text, light, advice)]


def _fibers(lengths: Table) -> list[Check]:
    """Fibres that are so short or so long that activation gives nothing."""
    least, most = lengths.values.min(axis=0), lengths.values.max(axis=0)
    odd = [name for name, a, b in zip(lengths.names, least, most, strict=True) if a < FIBERS[0] or b > FIBERS[1]]
    text = f"{least.min():.2f} to {most.max():.2f} of the optimum (limits {FIBERS[0]:g} and {FIBERS[1]:g})"
    if not odd:
        return [Check("Fibre lengths", text, Light.GOOD)]
    advice = "Check the motion, and the scaling of fibres and tendons; fibres of such lengths give no active force"
    return [Check("Fibre lengths", f"{text}: {_some(odd)}", Light.LOOK, advice)]


def _reserves(forces: Table, found: Results) -> list[Check]:
    model = found.model
    assert model is not None
    own = {force.name for force in model.forces}  # muscles, and motors that the model is meant to have
    base = base_coordinates(model)
    used: list[tuple[float, str, float]] = []
    for k, name in enumerate(forces.names):
        owners = [c for c in model.coordinate_names if c in name]
        if name in own or not owners:
            continue
        owner = max(owners, key=len)
        if owner in base:
            continue  # those of a free body are residuals
        peak = float(np.abs(forces.values[:, k]).max())
        used.append((peak / _largest_moment(owner, found), name, peak))
    if not used:
        return []
    # the largest share of a moment, or the largest of all where moments are not known
    share, name, peak = max(used, key=lambda one: (one[0], one[2]) if np.isfinite(one[0]) else (-1.0, one[2]))
    light = graded(share, RESERVE) if np.isfinite(share) else Light.INFO
    part = f", {100 * share:.1f} % of the largest moment there" if np.isfinite(share) else ""
    advice = (
        "Muscles cannot give this moment: check their strength, moment arms and the joint's range; "
        "a joint without muscles needs its motor in the model"
    )
    text = f"{name} gives {peak:.4g} N m at most{part} (limit {100 * RESERVE:.0f} %)"
    return [Check("Reserves", text, light, "" if light in (Light.GOOD, Light.INFO) else advice)]


def _largest_moment(coordinate: str, found: Results) -> float:
    """The largest moment about a coordinate, but not less than a hundredth of the largest of all: toes need little."""
    if found.moments is None:
        return np.nan
    base = base_coordinates(found.model) if found.model is not None else ()
    peaks = {
        name.rpartition("_")[0]: float(np.abs(found.moments.values[:, k]).max())
        for k, name in enumerate(found.moments.names)
    }
    inner = [peak for name, peak in peaks.items() if name not in base]
    return max(peaks.get(coordinate, np.nan), 0.01 * max(inner, default=0.0)) or np.nan


def _reactions(tables: Sequence[Table], model: Model | None) -> list[Check]:
    peaks: list[tuple[float, str]] = []
    for table in tables:
        for name in table.names:
            if name.endswith("_fx"):
                parts = np.stack([table.column(f"{name[:-1]}{axis}") for axis in "xyz"])
                peaks.append((float(np.linalg.norm(parts, axis=0).max()), name.partition("_on_")[0]))
    if not peaks:
        return []
    peak, joint = max(peaks)
    whole = model is not None and bool(base_coordinates(model))  # a limb has no weight to compare with
    weight = total_mass(model) * 9.80665 if model is not None and whole else 0.0
    times = f", {peak / weight:.1f} times the body's weight" if weight > 0.0 else ""
    return [Check("Largest joint load", f"{joint}: {peak:.4g} N{times}")]


def _some(names: Sequence[str], most: int = 4) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
