"""A report of a folder of results."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from musculo import __version__
from musculo.analyses.trial_quantities import gait_cycles, joint_powers
from musculo.analyses.visible_motion import Drawing
from musculo.diagnostics.judge import judge
from musculo.dynamics.energy import total_mass
from musculo.errors import MusculoError, unwarned
from musculo.io.normal_range_files import read_normal_ranges
from musculo.io.text import PathLike
from musculo.kernels.paths.path_frames import geodesic_path_frames, opensim_path_frames
from musculo.model.model import Model
from musculo.opensim_tools.records.record import fingerprint
from musculo.report.page_parts import Report
from musculo.report.read_folder import makes_model, read_folder
from musculo.report.sections import Known, sections_of
from musculo.results.normal_ranges import NormalRanges
from musculo.results.table import Table
from musculo.results.trial import Trial
from musculo.viewer import view


@unwarned()  # what is odd stands on the page
def report_of_folder(
    folder: PathLike,
    model: Model | None = None,
    title: str = "",
    scene: bool = True,
    runs: Collection[PathLike] | None = None,
    normal: NormalRanges | None = None,
    emg: Table | None = None,
) -> Report:
    """What was run, whether it was good, and what came out.

    Args:
        folder: where `musculo run` or another command wrote results; OpenSim's own result files will do as well.
        model: of these results, where the folder's records do not name it.
        title: of the page; the folder's name by default, or that of the run where the folder is called results.
        scene: whether to draw the motion in 3D, where the model is known. Muscles are drawn over surfaces where the
            kernels for it are compiled already, and straight through their points where they are not.
        runs: records (`*.musculo.json`) of the runs to show, with those that share a recording or a table with them;
            all that the folder holds by default.
        normal: ranges to draw behind curves over the gait cycle (`read_normal_ranges`); by default those that ship.
        emg: electromyograms to draw behind activations (`read_electromyograms`), raw or envelopes, whose columns name
            muscles; by default those of a C3D recording, or of a table in the folder that is called emg.
    """
    trial = read_folder(folder, model, runs)
    trial.emg = emg if emg is not None else trial.emg
    drawn = _scene(trial) if scene else ""
    judgement, cycles = judge(trial), gait_cycles(trial)
    return Report(
        title or f"{_name(trial)}: results",
        judgement.findings,
        sections_of(Known(trial, judgement.residuals, joint_powers(trial), normal or read_normal_ranges())),
        _notes(trial),
        _provenance(trial),
        total_mass(trial.model) if trial.model is not None and total_mass(trial.model) > 0.0 else None,
        cycles.strikes,
        drawn,
        _facts(trial),
        cycles.missing,
        cycles.stance,
    )


def _name(trial: Trial) -> str:
    """What the page is called after; a folder called results says nothing, its runs or the folder above it do."""
    folder = trial.folder.resolve()
    if folder.name.lower() != "results":
        return folder.name
    return next((str(record["name"]) for record in trial.records if record.get("name")), folder.parent.name)


def _facts(trial: Trial) -> tuple[tuple[str, str], ...]:
    """What was run on what."""
    model = trial.model
    rows = [("model", model.name or "without a name") if model is not None else ("model", "not known; give it with -m")]
    if model is not None and total_mass(model) > 0.0:
        rows.append(("mass", f"{total_mass(model):.4g} kg"))
    first = next((table for table in trial.tables if len(table)), None)
    if first is not None:
        rows.append(("frames", str(len(first))))
        times = dict.fromkeys(f"{time:.4g}" for time in (first.time[0], first.time[-1]))
        rows.append(("time", f"{' to '.join(times)} s"))
    steps = [f"{r.get('tool', '?')} {r.get('name', '')}".strip() for r in trial.records]
    # files that functions of this package made say so themselves
    made = (table.provenance for table in trial.tables)
    steps = steps or [one.made_by.replace("_", " ") for one in made if one is not None and one.made_by]
    rows.append(("steps", ", ".join(dict.fromkeys(steps)) or "not recorded; the files are " + _file_names(trial)))
    return tuple(rows)


def _file_names(trial: Trial) -> str:
    return ", ".join(dict.fromkeys(path.name for path in trial.read))


def _scene(trial: Trial) -> str:
    """The motion in 3D, with all that is known of it; the page says what of it does not fit."""
    made = any(makes_model(record) for record in trial.records)
    if trial.model is None or (trial.angles is None and not made):
        return ""
    reactions = trial.reactions[0] if trial.reactions else None
    try:
        shown = view(
            trial.model,
            trial.angles,
            activation=trial.activations,
            forces=_muscle_forces(trial),
            markers=trial.markers,
            loads=trial.loads,
            reactions=reactions,
            wrapping=drawn_wrapping(),
        )
    except MusculoError as error:
        trial.unread.append(f"3D view: {error}")
        return ""
    return shown.html()


def _muscle_forces(trial: Trial) -> Table | None:
    """Forces of muscles, if the trial has any that are of the model."""
    table, model = trial.forces, trial.model
    return table if table is not None and model is not None and {*table.names} & {*model.muscle_names} else None


def drawn_wrapping() -> Drawing:
    """How muscles are drawn: nobody should wait minutes for a compiler to see the page of a step without muscles."""
    ways: tuple[tuple[Drawing, Any], ...] = (("geodesic", geodesic_path_frames), ("opensim", opensim_path_frames))
    return next((name for name, driver in ways if driver.is_ready()), "straight")


def _notes(trial: Trial) -> tuple[str, ...]:
    told = [str(text) for record in trial.records for text in record.get("notes", ())]
    return tuple(dict.fromkeys([*told, *trial.unread]))


def _provenance(trial: Trial) -> tuple[tuple[str, str], ...]:
    rows: list[tuple[str, str]] = [("musculo", __version__), ("results", str(trial.folder.resolve()))]
    if trial.model is not None:
        rows.append(("model", f"{trial.model.name} ({trial.model.source or 'made in Python'}), {trial.model.hash}"))
    for record in trial.records:
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
    named = {name for record in trial.records for what in ("inputs", "results") for name in record.get(what, {})}
    for path in dict.fromkeys(path.resolve() for path in trial.read):
        if str(path) not in named:
            rows.append(("file", f"{path} · sha256 {fingerprint(path)[:16]}"))
    return tuple(rows)
