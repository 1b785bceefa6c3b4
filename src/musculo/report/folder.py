"""A report of a folder of results."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from musculo import __version__
from musculo.dynamics.energy import total_mass
from musculo.errors import InvalidInput, MusculoError, unwarned
from musculo.io.text import PathLike
from musculo.kernels.paths.path_frames import geodesic_path_frames, opensim_path_frames
from musculo.model.model import Model
from musculo.opensim_tools.record import fingerprint
from musculo.report.actuator_table import residual_section
from musculo.report.contents import Panel, Report, Section, Sheet, drawable, panels_by_name, side_of
from musculo.report.judge import checks_of
from musculo.report.results import Results, makes_model, read_results
from musculo.report.scaling_section import sections_of_scaling
from musculo.results.angle_columns import coordinate_units, shown_units
from musculo.results.table import Table
from musculo.signals.gait_events import VERTICAL, events_from_force
from musculo.signals.natural_smoothing import NaturalSpline
from musculo.viewer import view
from musculo.viewer.scene import Drawing


@unwarned()  # what is odd stands on the page
def report_of_folder(
    folder: PathLike,
    model: Model | None = None,
    title: str = "",
    scene: bool = True,
    runs: Collection[PathLike] | None = None,
) -> Report:
    """What was run, whether it was good, and what came out.

    Args:
        folder: where `musculo run` or another command wrote results; OpenSim's own result files will do as well.
        model: of these results, where the folder's records do not name it.
        title: of the page; the folder's name by default.
        scene: whether to draw the motion in 3D, where the model is known. Muscles are drawn over surfaces where the
            kernels for it are compiled already, and straight through their points where they are not.
        runs: records (`*.musculo.json`) of the runs to show, with those that share a recording or a table with them;
            all that the folder holds by default.
    """
    found = read_results(folder, model, runs)
    drawn = _scene(found) if scene else ""
    makers = (
        _angles,
        _moments,
        residual_section,
        _powers,
        _activations,
        _forces,
        _fibers,
        _arms,
        _reactions,
        _errors,
        _sensors,
    )
    made = [*sections_of_scaling(found), *(section for make in makers if (section := make(found)) is not None)]
    sections = tuple(section for one in made if not (section := drawable(one)).empty)
    cycles, missing = _cycles(found)
    return Report(
        title or f"{Path(folder).resolve().name}: results",
        checks_of(found),
        sections,
        _notes(found),
        _provenance(found),
        total_mass(found.model) if found.model is not None and total_mass(found.model) > 0.0 else None,
        cycles,
        drawn,
        _facts(found),
        missing,
    )


def _facts(found: Results) -> tuple[tuple[str, str], ...]:
    """What was run on what."""
    model = found.model
    rows = [("model", model.name or "without a name") if model is not None else ("model", "not known; give it with -m")]
    if model is not None and total_mass(model) > 0.0:
        rows.append(("mass", f"{total_mass(model):.4g} kg"))
    first = next((table for table in found.tables if len(table)), None)
    if first is not None:
        rows.append(("frames", str(len(first))))
        times = dict.fromkeys(f"{time:.4g}" for time in (first.time[0], first.time[-1]))
        rows.append(("time", f"{' to '.join(times)} s"))
    steps = [f"{r.get('tool', '?')} {r.get('name', '')}".strip() for r in found.records]
    # files that functions of this package made say so themselves
    made = (table.provenance for table in found.tables)
    steps = steps or [one.made_by.replace("_", " ") for one in made if one is not None and one.made_by]
    rows.append(("steps", ", ".join(dict.fromkeys(steps)) or "not recorded; the files are " + _file_names(found)))
    return tuple(rows)


def _file_names(found: Results) -> str:
    return ", ".join(dict.fromkeys(path.name for path in found.read))


def _scene(found: Results) -> str:
    """The motion in 3D, with all that is known of it; the page says what of it does not fit."""
    made = any(makes_model(record) for record in found.records)
    if found.model is None or (found.angles is None and not made):
        return ""
    reactions = found.reactions[0] if found.reactions else None
    try:
        shown = view(
            found.model,
            found.angles,
            activation=found.activations,
            markers=found.markers,
            loads=found.loads,
            reactions=reactions,
            wrapping=drawn_wrapping(),
        )
    except MusculoError as error:
        found.unread.append(f"3D view: {error}")
        return ""
    return shown.html()


def drawn_wrapping() -> Drawing:
    """How muscles are drawn: nobody should wait minutes for a compiler to see the page of a step without muscles."""
    ways: tuple[tuple[Drawing, Any], ...] = (("geodesic", geodesic_path_frames), ("opensim", opensim_path_frames))
    return next((name for name, driver in ways if driver.is_ready()), "straight")


def _angles(found: Results) -> Section | None:
    table = found.angles
    if table is None:
        return None
    if not len(table):
        return None
    shown = table.in_degrees(found.model) if found.model is not None else table
    units = _units(shown, found.model)
    if len(shown) == 1:
        return _pose(shown, units)
    # one that is not a number moves, too: nothing is left out without a word
    moving = [k for k in range(len(shown.names)) if not np.ptp(shown.values[:, k]) <= 1e-9]
    names = [_short(shown.names[k]) for k in moving]
    panels = panels_by_name(shown.time, names, shown.values[:, moving], [units[k] for k in moving])
    still = len(shown.names) - len(moving)
    told = [f"{still} coordinates that do not move are left out."] if still else []
    curved = [names[i] for i, k in enumerate(moving) if units[k] == "rad"]
    if curved:
        told.append(f"In radians, as in the file, since they turn bodies through curves only: {', '.join(curved)}.")
    return Section("Joint angles", panels, " ".join(told))


def _pose(table: Table, units: list[str]) -> Section:
    """One frame: a curve of one point says less than its number."""
    rows = tuple(
        (_short(name), f"{value:.4g}" if np.isfinite(value) else str(value), unit)
        for name, value, unit in zip(table.names, table.values[0].tolist(), units, strict=True)
    )
    sheet = Sheet("", ("coordinate", "value", "unit"), rows, ("value",))
    return Section("Pose", (), f"The one frame, at {table.time[0]:.4g} s.", sheets=(sheet,))


def _units(table: Table, model: Model | None) -> list[str]:
    """Degrees for angles; coordinates that turn bodies through curves only stay in radians."""
    if model is None:
        return [""] * len(table.names)
    known = shown_units(model)
    return [known.get(_short(name), "") for name in table.names]


def _short(name: str) -> str:
    """`/jointset/knee_r/knee_angle_r/value` is `knee_angle_r`."""
    parts = name.split("/")
    return parts[-2] if len(parts) > 1 and parts[-1] == "value" else parts[-1]


def _moments(found: Results) -> Section | None:
    table = found.moments
    if table is None:
        return None
    turned = set() if found.model is None else {n for n, u in coordinate_units(found.model).items() if u == "rad"}
    curved = [name for name in table.names if name.endswith("_force") and name.removesuffix("_force") in turned]
    units = ["N m" if name.endswith("_moment") or name in curved else "N" for name in table.names]
    text = f"In N m per radian of the coordinate, though named as forces in the file: {', '.join(curved)}."
    panels = _named(table, ("_moment", "_force"), units)
    return Section("Joint moments", panels, text if curved else "", per_mass=True)


def _named(table: Table, endings: tuple[str, ...], units: list[str]) -> tuple[Panel, ...]:
    names = []
    for name in table.names:
        ending = next((e for e in endings if name.endswith(e)), "")
        names.append(name.removesuffix(ending))
    return panels_by_name(table.time, names, table.values, units)


def _powers(found: Results) -> Section | None:
    """Moment times rate, where both are known."""
    if found.angles is None or found.moments is None or found.model is None or len(found.angles) < 4:
        return None
    angles = found.angles.in_radians(found.model)
    time = found.moments.time
    inside = (time >= angles.time[0] - 1e-9) & (time <= angles.time[-1] + 1e-9)
    if inside.sum() < 2:
        return None
    cutoff = _cutoff(found)
    if cutoff is not None:  # moments of filtered angles go with rates of filtered angles
        try:
            angles = angles.lowpass(cutoff)
        except InvalidInput:  # uneven frames, which the run brought to even ones first
            angles = angles.resample(time=time[inside]).lowpass(cutoff)
    names, powers = [], []
    for name in found.model.coordinate_names:
        k = angles.find(name)
        moment = next((f"{name}{e}" for e in ("_moment", "_force") if f"{name}{e}" in found.moments.names), None)
        if k is None or moment is None or np.ptp(angles.values[:, k]) <= 1e-9:
            continue
        rate = NaturalSpline(angles.time, angles.values[:, k])(time[inside], 1)
        names.append(name)
        powers.append(found.moments.column(moment)[inside] * rate)
    if not names:
        return None
    text = "Moment times the rate of the coordinate; positive where the joint drives the motion."
    return Section("Joint powers", panels_by_name(time[inside], names, np.stack(powers, axis=1), "W"), text, True)


def _cutoff(found: Results) -> float | None:
    """The frequency at which the moments' angles were filtered, if that is stated and can be repeated."""
    stated = [record.get("stated", {}) for record in found.records if record.get("tool") == "InverseDynamicsTool"]
    made = found.moments.provenance if found.moments is not None else None
    texts = [str(s.get("lowpass_cutoff_frequency_for_coordinates", "")) for s in stated if isinstance(s, dict)]
    texts += [made.options.get("cutoff", "")] if made is not None else []
    for text in texts:
        try:
            cutoff = float(text)
        except ValueError:
            continue  # nothing was stated there
        if found.angles is not None and 0.0 < cutoff < 0.5 / float(np.diff(found.angles.time).max()):
            return cutoff
    return None


def _activations(found: Results) -> Section | None:
    if found.activations is None:
        return None
    columns = _picked(found.activations, found.model, muscles=True)
    table = found.activations
    panels = panels_by_name(table.time, [table.names[k] for k in columns], table.values[:, columns], "")
    # one scale for all: a muscle at rest should look at rest
    return Section("Muscle activations", _on_one_scale(panels, 1.0))


def _on_one_scale(panels: tuple[Panel, ...], high: float) -> tuple[Panel, ...]:
    """Panels from 0 to `high`; one with a curve beyond it has an axis of its own, so that all of it is seen."""

    def inside(panel: Panel) -> bool:
        values = np.concatenate([curve.values[np.isfinite(curve.values)] for curve in panel.curves])
        return bool((values >= 0.0).all() and (values <= high).all())

    return tuple(replace(panel, range=(0.0, high)) if inside(panel) else panel for panel in panels)


def _forces(found: Results) -> Section | None:
    table = found.forces if found.forces is not None else found.muscles.get("TendonForce")
    if table is None:
        return None
    columns = _picked(table, found.model, muscles=True)
    panels = panels_by_name(table.time, [table.names[k] for k in columns], table.values[:, columns], "N")
    return Section("Muscle forces", panels)


def _picked(table: Table, model: Model | None, muscles: bool) -> list[int]:
    known = set(model.muscle_names) if model is not None else set(table.names)
    return [k for k, name in enumerate(table.names) if (name in known) == muscles]


def _fibers(found: Results) -> Section | None:
    """Lengths of fibres over their optimum, one scale for all."""
    table = found.muscles.get("NormalizedFiberLength")
    if table is None:
        return None
    panels = panels_by_name(table.time, table.names, table.values, "")
    text = "Of their optimal lengths; outside of about 0.5 to 1.5 a fibre gives little force."
    return Section("Fibre lengths", _on_one_scale(panels, 2.0), text)


def _arms(found: Results) -> Section | None:
    """Moment arms that are not zero all the time, by coordinate."""
    panels: list[Panel] = []
    for quantity, table in found.muscles.items():
        before, _, coordinate = quantity.partition("_")
        if before == "MomentArm":
            names = [name for name in table.names if np.abs(table.column(name)).max(initial=0.0) > 1e-6]
            part = table.pick(names)
            shown = panels_by_name(part.time, names, 1e3 * part.values, "mm")
            panels += [replace(panel, title=f"{coordinate}: {panel.title}") for panel in shown]
    return Section("Moment arms", tuple(panels), "In mm, or in thousandths where the coordinate slides.")


def _reactions(found: Results) -> Section | None:
    panels: list[Panel] = []
    for table in found.reactions:
        for ending, unit in (("f", "N"), ("m", "N m")):
            names = [name for name in table.names if name[-2:-1] == ending and name[-1] in "xyz"]
            if names:
                part = table.pick(names)
                panels += panels_by_name(part.time, names, part.values, unit)
    return Section(
        "Joint reactions", tuple(panels), "Force and moment on the body and in the frame that each title names."
    )


def _errors(found: Results) -> Section | None:
    if found.marker_errors is None:
        return None
    table = found.marker_errors
    names = [name for name in ("marker_error_RMS", "marker_error_max") if name in table.names]
    values = 1e3 * table.pick(names).values
    return Section("Marker errors", panels_by_name(table.time, names, values, "mm"))


def _sensors(found: Results) -> Section | None:
    """Angles between sensors and their frames."""
    table = found.sensor_errors
    if table is None:
        return None
    names = [name.removesuffix("_imu") for name in table.names]
    text = "Angle between each sensor as measured and its frame on the model."
    return Section("Sensor errors", panels_by_name(table.time, names, np.degrees(table.values), "°"), text)


def _cycles(found: Results) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Heel strikes of each side, from the forces under feet whose names tell their side; and why a side has none."""
    if found.loads is None:
        return {}, {}
    time = found.loads.table.time
    strikes: dict[str, list[float]] = {}
    missing = dict.fromkeys("rl", "no external force is on that foot")
    for series in found.loads.at(time):
        side = side_of(series.body)
        if side and series.force is not None:
            try:
                marks = events_from_force(time, np.asarray(series.force)[:, VERTICAL]).strikes
            except InvalidInput:
                missing[side] = "its force tells no steps"
                continue
            if len(marks) > 1:
                strikes[side] = [float(t) for t in marks]
            missing[side] = f"a cycle needs two strikes of that foot, and its force has {len(marks)}"
    return strikes, {side: why for side, why in missing.items() if side not in strikes}


def _notes(found: Results) -> tuple[str, ...]:
    told = [str(text) for record in found.records for text in record.get("notes", ())]
    return tuple(dict.fromkeys([*told, *found.unread]))


def _provenance(found: Results) -> tuple[tuple[str, str], ...]:
    rows: list[tuple[str, str]] = [("musculo", __version__), ("results", str(found.folder.resolve()))]
    if found.model is not None:
        rows.append(("model", f"{found.model.name} ({found.model.source or 'made in Python'}), {found.model.hash}"))
    for record in found.records:
        tool = str(record.get("tool", "?"))
        options = record.get("options", {})
        how = "exact methods" if isinstance(options, dict) and options.get("exact") else "OpenSim's methods"
        rows.append((tool, f"{record.get('name', '')}: {how}, {record.get('seconds', '?')} s"))
        stated = record.get("stated", {})
        if isinstance(stated, dict):
            rows += [(f"{tool}: option", f"{name} = {value}") for name, value in stated.items()]
        for what in ("inputs", "results"):
            files = record.get(what, {})
            if isinstance(files, dict):
                rows += [(f"{tool}: {what[:-1]}", f"{path} · sha256 {str(mark)[:16]}") for path, mark in files.items()]
    # results of other programs have no record: the files themselves are what can be told
    named = {name for record in found.records for what in ("inputs", "results") for name in record.get(what, {})}
    for path in dict.fromkeys(path.resolve() for path in found.read):
        if str(path) not in named:
            rows.append(("file", f"{path} · sha256 {fingerprint(path)[:16]}"))
    return tuple(rows)
