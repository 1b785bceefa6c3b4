"""The sections of the page: a function each, from what is known of a trial to plots and tables, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from musculo.analyses.gait import POSES, feet_events, ground_reactions, is_running, positive_words, spatiotemporal
from musculo.analyses.measured_activations import measured_activations
from musculo.analyses.trial_quantities import anatomical_loads, filtered_angles
from musculo.arrays import FloatArray
from musculo.diagnostics.actuators import Residuals
from musculo.diagnostics.tracking_errors import error_limits
from musculo.dynamics.energy import total_mass
from musculo.model.model import Model
from musculo.report.electromyograms import with_electromyograms
from musculo.report.metabolic_section import metabolic_section
from musculo.report.page_parts import Curve, Panel, Section, TextTable, drawable, panels_by_name, with_normal
from musculo.report.scaling_sections import sections_of_scaling
from musculo.results.angle_columns import coordinate_units, shown_units
from musculo.results.normal_ranges import ANGLE, GROUND_REACTION, MOMENT, POWER, NormalRanges
from musculo.results.table import Table
from musculo.results.trial import Trial
from musculo.signals.gaps import runs


class Known(NamedTuple):
    """What sections draw: the tables of a trial, and what analyses and checks made of them."""

    trial: Trial
    residuals: Residuals | None
    powers: Table | None
    normal: NormalRanges | None = None


def sections_of(known: Known) -> tuple[Section, ...]:
    """All that can be shown, in the order of the page."""
    if known.normal is not None and is_running(feet_events(known.trial)):
        known = known._replace(normal=None)  # ranges are of walks
    found = [*sections_of_scaling(known.trial), *(one for make in _MAKERS if (one := make(known)) is not None)]
    return tuple(section for one in found if not (section := drawable(one)).empty)


def _walking(known: Known) -> Section | None:
    """Spatiotemporal parameters, and ground reactions in body weights."""
    trial = known.trial
    feet = feet_events(trial)
    reactions = ground_reactions(trial) if feet.events else None
    if not feet.events or (reactions is None and trial.loads is not None):
        return None
    rows, title = [], "Running" if is_running(feet) else "Walking"
    for one in spatiotemporal(trial, feet):
        both = np.concatenate(list(one.values.values()))
        cells = [_spread(one.values.get(side)) for side in "rl"]
        rows.append((f"{one.name} [{one.unit}]", *cells, _spread(both)))
    table = TextTable("", ("parameter", "right", "left", "both"), tuple(rows), ("right", "left", "both"))
    posed = [side for side, source in feet.source.items() if source == POSES]
    said = {"r": "right", "l": "left"}
    if reactions is None:
        text = "Strikes and offs of the feet come from their poses, and are within about 0.03 s."
        return Section(title, (), text, tables=(table,)) if rows else None
    text = "Ground reactions in body weights, in the direction of the walk; outward is away from the body's middle."
    if posed:
        text += (
            f" The {' and '.join(said[side] for side in posed)} foot missed the plates: its strikes and offs come from "
            "its poses, and are within about 0.03 s."
        )
    panels = panels_by_name(reactions.time, reactions.names, reactions.values, "BW")
    section = Section(title, panels, text, tables=(table,) if rows else ())
    return with_normal(section, known.normal, GROUND_REACTION, _mass(known))


def _spread(values: FloatArray | None) -> str:
    """Mean and standard deviation, with how many."""
    if values is None or not len(values):
        return "–"
    mean = float(values.mean())
    digits = max(0, 2 - int(np.floor(np.log10(abs(mean))))) if mean else 2
    more = f" ± {values.std(ddof=1):.{digits}f} ({len(values)})" if len(values) > 1 else ""
    return f"{mean:.{digits}f}{more}"


def _directed(panels: tuple[Panel, ...], model: Model | None) -> tuple[Panel, ...]:
    """Panels that say what their positive direction is; where left and right differ, nothing is said."""
    words = positive_words(model) if model is not None else {}
    told = []
    for panel in panels:
        known = {words.get(curve.name, "") for curve in panel.curves}
        told.append(replace(panel, positive=known.pop() if len(known) == 1 else ""))
    return tuple(told)


def _angles(known: Known) -> Section | None:
    table, cutoff = filtered_angles(known.trial)
    if table is None:
        return None
    if not len(table):
        return None
    shown = table.in_degrees(known.trial.model) if known.trial.model is not None else table
    units = _units(shown, known.trial.model)
    if len(shown) == 1:
        return _pose(shown, units)
    # one that is not a number moves, too: nothing is left out without a word
    moving = [k for k in range(len(shown.names)) if not np.ptp(shown.values[:, k]) <= 1e-9]
    names = [_short(shown.names[k]) for k in moving]
    panels = panels_by_name(shown.time, names, shown.values[:, moving], [units[k] for k in moving])
    panels = _directed(panels, known.trial.model)
    still = len(shown.names) - len(moving)
    told = [f"Filtered at {cutoff:g} Hz, as for the moments."] if cutoff is not None else []
    told += [f"{still} coordinates that do not move are not shown."] if still else []
    curved = [names[i] for i, k in enumerate(moving) if units[k] == "rad"]
    if curved:
        told.append(f"In radians, as in the file, since they turn bodies through curves only: {', '.join(curved)}.")
    return with_normal(Section("Joint angles", panels, " ".join(told)), known.normal, ANGLE, _mass(known))


def _pose(table: Table, units: list[str]) -> Section:
    """One frame: a curve of one point says less than its number."""
    rows = tuple(
        (_short(name), f"{value:.4g}" if np.isfinite(value) else str(value), unit)
        for name, value, unit in zip(table.names, table.values[0].tolist(), units, strict=True)
    )
    numbers = TextTable("", ("coordinate", "value", "unit"), rows, ("value",))
    return Section("Pose", (), f"The one frame, at {table.time[0]:.4g} s.", tables=(numbers,))


def _units(table: Table, model: Model | None) -> list[str]:
    """Degrees for angles; coordinates that turn bodies through curves only stay in radians."""
    if model is None:
        return [""] * len(table.names)
    units = shown_units(model)
    return [units.get(_short(name), "") for name in table.names]


def _short(name: str) -> str:
    """`/jointset/knee_r/knee_angle_r/value` is `knee_angle_r`."""
    parts = name.split("/")
    return parts[-2] if len(parts) > 1 and parts[-1] == "value" else parts[-1]


def _moments(known: Known) -> Section | None:
    table = known.trial.moments
    if table is None:
        return None
    units_of = coordinate_units(known.trial.model) if known.trial.model is not None else {}
    turned = {name for name, unit in units_of.items() if unit == "rad"}
    curved = [name for name in table.names if name.endswith("_force") and name.removesuffix("_force") in turned]
    units = ["N m" if name.endswith("_moment") or name in curved else "N" for name in table.names]
    text = f"In N m per radian of the coordinate, though named as forces in the file: {', '.join(curved)}."
    # residuals have a section of their own
    shown = [k for k, name in enumerate(table.names) if name not in _residual_names(known)]
    table = table.pick([table.names[k] for k in shown])
    panels = _directed(_named(table, ("_moment", "_force"), [units[k] for k in shown]), known.trial.model)
    section = Section("Joint moments", panels, text if curved else "", per_mass=True)
    return with_normal(section, known.normal, MOMENT, _mass(known))


def _mass(known: Known) -> float:
    """Of the model [kg]; zero where it is not known."""
    return total_mass(known.trial.model) if known.trial.model is not None else 0.0


def _residual_names(known: Known) -> set[str]:
    made = known.residuals
    return {column for columns in made.columns.values() for column, _ in columns} if made is not None else set()


def _named(table: Table, endings: tuple[str, ...], units: list[str]) -> tuple[Panel, ...]:
    names = []
    for name in table.names:
        ending = next((e for e in endings if name.endswith(e)), "")
        names.append(name.removesuffix(ending))
    return panels_by_name(table.time, names, table.values, units)


def _residuals(known: Known) -> Section | None:
    """Residuals with their limits; frames that are not judged are shaded."""
    made = known.residuals
    if made is None:
        return None
    spans = tuple((float(made.table.time[a]), float(made.table.time[b - 1])) for a, b in runs(~made.frames))
    panels = []
    for unit, columns in made.columns.items():
        limit = made.limit(unit) if made.scale > 0.0 else None
        for column, _ in columns:
            curve = Curve(column, made.table.time, made.table.column(column))
            panels.append(Panel(column.replace("_", " "), unit, (curve,), limit=limit, not_judged=spans))
    text = "What the motion and the external loads leave unexplained; dashed lines are the limits."
    if made.reasons:
        text += f" Shaded frames are not judged: {'; '.join(made.reasons)}."
    return Section("Residuals", tuple(panels), text, by_time=True)


def _powers(known: Known) -> Section | None:
    powers = known.powers
    if powers is None:
        return None
    text = "Moment times the rate of the coordinate; positive where the joint drives the motion."
    section = Section("Joint powers", panels_by_name(powers.time, powers.names, powers.values, "W"), text, True)
    return with_normal(section, known.normal, POWER, _mass(known))


def _activations(known: Known) -> Section | None:
    if known.trial.activations is None:
        return None
    columns = _picked(known.trial.activations, known.trial.model, muscles=True)
    table = known.trial.activations
    panels = panels_by_name(table.time, [table.names[k] for k in columns], table.values[:, columns], "")
    panels, table_of, text = with_electromyograms(panels, measured_activations(known.trial))
    # one scale for all: a muscle at rest should look at rest
    return Section("Muscle activations", _on_one_scale(panels, 1.0), text, tables=table_of)


def _on_one_scale(panels: tuple[Panel, ...], high: float) -> tuple[Panel, ...]:
    """Panels from 0 to `high`; one with a curve beyond it has an axis of its own, so that all of it is visible."""

    def inside(panel: Panel) -> bool:
        values = np.concatenate([curve.values[np.isfinite(curve.values)] for curve in panel.curves])
        return bool((values >= 0.0).all() and (values <= high).all())

    return tuple(replace(panel, range=(0.0, high)) if inside(panel) else panel for panel in panels)


def _forces(known: Known) -> Section | None:
    table = known.trial.forces if known.trial.forces is not None else known.trial.muscles.get("TendonForce")
    if table is None:
        return None
    columns = _picked(table, known.trial.model, muscles=True)
    panels = panels_by_name(table.time, [table.names[k] for k in columns], table.values[:, columns], "N")
    return Section("Muscle forces", panels)


def _picked(table: Table, model: Model | None, muscles: bool) -> list[int]:
    own = set(model.muscle_names) if model is not None else set(table.names)
    return [k for k, name in enumerate(table.names) if (name in own) == muscles]


def _metabolic(known: Known) -> Section | None:
    return metabolic_section(known.trial)


def _fibers(known: Known) -> Section | None:
    """Lengths of fibers over their optimum, one scale for all."""
    table = known.trial.muscles.get("NormalizedFiberLength")
    if table is None:
        return None
    panels = panels_by_name(table.time, table.names, table.values, "")
    text = "Of their optimal lengths; outside of about 0.5 to 1.5 a fiber gives little force."
    return Section("Fiber lengths", _on_one_scale(panels, 2.0), text)


def _arms(known: Known) -> Section | None:
    """Moment arms that are not zero all the time, by coordinate."""
    panels: list[Panel] = []
    for quantity, table in known.trial.muscles.items():
        before, _, coordinate = quantity.partition("_")
        if before == "MomentArm":
            names = [name for name in table.names if np.abs(table.column(name)).max(initial=0.0) > 1e-6]
            part = table.pick(names)
            shown = panels_by_name(part.time, names, 1e3 * part.values, "mm")
            panels += [replace(panel, title=f"{coordinate}: {panel.title}") for panel in shown]
    text = "In mm, or in thousandths where the coordinate slides."
    return Section("Moment arms", tuple(panels), text, folded=True)


def _reactions(known: Known) -> Section | None:
    panels: list[Panel] = []
    for table in known.trial.reactions:
        for ending, unit in (("f", "N"), ("m", "N m")):
            names = [name for name in table.names if name[-2:-1] == ending and name[-1] in "xyz"]
            if names:
                part = table.pick(names)
                panels += panels_by_name(part.time, names, part.values, unit)
    text = "Force and moment on the body and in the frame that each title names."
    return Section("Joint reactions", tuple(panels), text, folded=known.trial.model is not None)


def _loads(known: Known) -> Section | None:
    """What hips, knees and ankles carry, in body weights along the axes of the child body; left is mirrored."""
    trial = known.trial
    loads = anatomical_loads(trial)
    if loads is None:
        return None
    panels = panels_by_name(loads.time, loads.names, loads.values, "BW")
    text = (
        "Force on the body beyond the joint in body weights, along its own axes: compression along the bone, forward, "
        "and outward from the body's middle; left mirrored. All joints in full are under Joint reactions."
    )
    return Section("Joint loads", panels, text)


def _errors(known: Known) -> Section | None:
    if known.trial.marker_errors is None:
        return None
    table = known.trial.marker_errors
    names = [name for name in ("marker_error_RMS", "marker_error_max") if name in table.names]
    values = 1e3 * table.pick(names).values
    return Section("Marker errors", panels_by_name(table.time, names, values, "mm"), by_time=True)


def _sensors(known: Known) -> Section | None:
    """Angles between sensors and their frames."""
    table = known.trial.sensor_errors
    if table is None:
        return None
    names = [name.removesuffix("_imu") for name in table.names]
    text = "Angle between each sensor as measured and its frame on the model."
    panels = panels_by_name(table.time, names, np.degrees(table.values), "°")
    return Section("Sensor errors", panels, text, by_time=True)


def _tracking(known: Known) -> Section | None:
    """The motion to follow less the one that was reached, with the limits of the tool."""
    table, model = known.trial.tracking_errors, known.trial.model
    if table is None or model is None or not len(table):
        return None
    units, limits = coordinate_units(model), error_limits(known.trial.tool_of(table))
    shown = [(k, limits[units[name]]) for k, name in enumerate(table.names) if name in units]
    values = np.stack([table.values[:, k] * one.scale for k, one in shown] or [table.time[:0]], axis=-1)
    panels = panels_by_name(table.time, [table.names[k] for k, _ in shown], values, [one.unit for _, one in shown])
    lines = {one.unit: one.good for one in limits.values()}
    text = "The motion to follow less the one that was reached; dashed lines are the limits."
    limited = tuple(replace(panel, limit=lines[panel.unit]) for panel in panels)
    return Section("Tracking errors", limited, text, by_time=True)


# In the order of the page. A section more is a function more: `Known` to `Section`, or None where there is nothing.
_MAKERS: tuple[Callable[[Known], Section | None], ...] = (
    _walking,
    _angles,
    _moments,
    _residuals,
    _powers,
    _activations,
    _forces,
    _metabolic,
    _fibers,
    _loads,
    _arms,
    _reactions,
    _errors,
    _sensors,
    _tracking,
)
