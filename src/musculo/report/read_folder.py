"""What lies in a folder of results: which file holds which quantity, and what it was made from."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from musculo.analyses.emg_targets import assigned_channels
from musculo.errors import InvalidInput, MusculoError
from musculo.io.c3d import read_c3d
from musculo.io.electromyogram_files import read_electromyograms
from musculo.io.external_load_files import read_external_loads
from musculo.io.marker_columns import read_markers
from musculo.io.osim import read_osim
from musculo.io.storage import read_storage
from musculo.io.text import PathLike
from musculo.model.model import Model
from musculo.opensim_tools.preparation import Preparation
from musculo.opensim_tools.read_once import read_once
from musculo.opensim_tools.records.record import fingerprint
from musculo.results.table import Table
from musculo.results.trial import METABOLIC, Trial

_TABLES = (".mot", ".sto")
_RECORDINGS = (".trc", ".c3d")
_RECORD = ".musculo.json"
_MODEL_MAKERS = ("ScaleTool", "IMUPlacer")  # tools whose result is a model
# Files of rates and muscle analyses have the same columns as motions, moments and forces.
_OTHER_FILES = (
    *("_Kinematics_u", "_Kinematics_dudt"),
    *("_MuscleAnalysis_", "_BodyKinematics_", "_PointKinematics_"),
)
# What of a muscle analysis is shown; its other files are not even read.
_OF_MUSCLES = re.compile(r"_MuscleAnalysis_(NormalizedFiberLength|TendonForce|MomentArm_.+)$")
_OF_SIGNALS = re.compile(r"(^|[^a-z])emg([^a-z]|$)|electromyogra", re.IGNORECASE)


def read_folder(folder: PathLike, model: Model | None = None, runs: Collection[PathLike] | None = None) -> Trial:
    """Look through a folder: records of runs (`*.musculo.json`), tables, and the inputs that the records name.

    Args:
        folder: to look through.
        model: of these results, where no record names it.
        runs: records of the runs that are meant. Then tables that no record names are ignored.

    Where several runs of a trial made the same kind of table, those of the runs that are meant count, and newer ones
    before older ones.
    """
    where = Path(folder)
    if not where.is_dir():
        raise InvalidInput(
            f"{where} is not a folder; give one that `musculo run` or another command wrote results into"
        )
    found = Trial(where, model=model)
    known = _records(found)
    meant = [known[Path(path).name] for path in runs or () if Path(path).name in known]
    order = [*meant, *(record for record in known.values() if record not in meant)]
    trials = trials_of(order)
    if runs is not None:
        # a model that no trial of this folder uses is a matter of its own
        trials = [trial for trial in trials if any(record in trial for record in meant)] or ([meant] if meant else [])
    trial = trials[0] if trials else []
    moving = sorted((record for record in trial if not makes_model(record)), key=order.index)
    found.records = [*moving, *(record for record in trial if makes_model(record))]
    for record in (record for trial in trials[1:] for record in trial if record not in found.records):
        kinds = (".osim",) if makes_model(record) else _TABLES
        found.more += [Path(name).name for name in _names(record, "results") if Path(name).suffix.lower() in kinds]
    _inputs(found)
    tables = [path for path in sorted(where.iterdir()) if path.suffix.lower() in _TABLES] if runs is None else []
    others = {
        Path(name) for record in known.values() if record not in found.records for name in _names(record, "results")
    }
    for path in dict.fromkeys([*_results(found), *(path for path in tables if path.resolve() not in others)]):
        _read_in(path, found)
    if found.angles is None:
        for path in _motions(found):
            _read_in(path, found, only="angles")
    _electromyograms(found)
    if not found.shown and not (found.records and found.model is not None):
        raise InvalidInput(
            f"{where} holds no motion, moments, activations, joint reactions or muscle analysis that could be shown "
            f"({len(tables)} tables looked at); give the folder that a command wrote its results into"
        )
    return found


def trials_of(records: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Runs that belong together, the largest group first: those that share a recording or a table.

    The run that gave the model of a group belongs to it, and stands at its end. Where runs gave nothing but models,
    each is a group, unless one made its model of another's.
    """
    makers = [record for record in records if makes_model(record)]
    groups: list[tuple[set[str], list[dict[str, Any]]]] = []
    for record in records:
        if record in makers:
            continue
        files = {name for key in ("inputs", "results") for name in _names(record, key) if _is_series(name)}
        near = [group for group in groups if group[0] & files]
        groups = [group for group in groups if group not in near]
        groups.append((files.union(*(g[0] for g in near)), [*(r for g in near for r in g[1]), record]))
    if not groups and makers:
        groups = [(set(), [record]) for record in makers if not _is_used(record, makers)] or [(set(), makers)]
    found = [group for _, group in sorted(groups, key=lambda group: -len(group[1]))]
    for group in found:
        for one in group:  # which grows: a model may be made of one that was made before
            read = set(_names(one, "inputs"))
            group += [record for record in makers if record not in group and read & set(_names(record, "results"))]
    return found


def _is_used(record: dict[str, Any], records: list[dict[str, Any]]) -> bool:
    """Whether another run read what this one gave."""
    made = set(_names(record, "results"))
    return any(made & set(_names(other, "inputs")) for other in records if other is not record)


def makes_model(record: dict[str, Any]) -> bool:
    """Whether a run was there to give a model: a subject's, or one with sensors."""
    return record.get("tool") in _MODEL_MAKERS


def _is_series(name: str) -> bool:
    return Path(name).suffix.lower() in (*_TABLES, *_RECORDINGS)


def _records(found: Trial) -> dict[str, dict[str, Any]]:
    """Records of runs by the names of their files, the newest first."""
    records = {}
    for path in sorted(found.folder.glob(f"*{_RECORD}"), key=lambda path: (-path.stat().st_mtime_ns, path.name)):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(record, dict):
                raise ValueError("not a record of a run")
            records[path.name] = here(record, found.folder.resolve())
        except (OSError, ValueError) as error:
            found.unread.append(f"{path.name}: {error}")
    return records


def here(record: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A record with the files as they lie now, if its folder was copied or moved after the run.

    The folder of the run is that of results which lie beside the record today. A result within it is in this folder
    and nowhere else, an input within it if it is there. Any other file is where it is from here as it was from there,
    if it is the same, and else where it was.
    """
    files = {
        key: {Path(os.path.realpath(name)): mark for name, mark in _files(record, key).items()}
        for key in ("inputs", "results")
    }
    results = files["results"]
    homes = [path.parent for path in results if (folder / path.name).is_file()]
    home = folder if folder in homes or not homes else max(homes, key=homes.count)

    def now(path: Path, mark: object) -> str:
        if home == folder or path.anchor != home.anchor:
            return str(path)
        moved = Path(os.path.normpath(folder / os.path.relpath(path, home)))
        own = path.is_relative_to(home) and (path in results or moved.is_file())
        return str(moved if own or not path.is_file() or fingerprint(moved) == mark else path)

    return record | {key: {now(path, mark): mark for path, mark in f.items()} for key, f in files.items()}


def _files(record: dict[str, Any], key: str) -> dict[str, Any]:
    files = record.get(key, {})
    return files if isinstance(files, dict) else {}


def _results(found: Trial) -> list[Path]:
    """Tables that the runs wrote, wherever a set-up put them; a static pose counts where there is nothing else."""
    moving = [record for record in found.records if not makes_model(record)] or found.records
    return _there([name for record in moving for name in _names(record, "results")], found)


def _motions(found: Trial) -> list[Path]:
    """Tables that went into the runs: one of them may be the motion."""
    return _there([name for record in found.records for name in _names(record, "inputs")], found)


def _there(names: list[str], found: Trial) -> list[Path]:
    paths = [Path(name) for name in names]
    # as the folder was given, so that a table is not read twice
    folder = found.folder.resolve()
    paths = [found.folder / path.name if path.parent == folder else path for path in paths]
    return [path for path in paths if path.suffix.lower() in _TABLES and path.is_file()]


def _names(record: dict[str, Any], key: str) -> list[str]:
    return list(_files(record, key))


def _inputs(found: Trial) -> None:
    """Model, loads and markers that the runs were made from, where they are still there; else what the folder holds."""
    for record in found.records:
        # a run may give a model, or the loads that it found on feet
        given = (".osim", ".xml") if makes_model(record) else (".xml",)
        named = [name for name in reversed(_names(record, "results")) if Path(name).suffix.lower() in given]
        for name in [*named, *_names(record, "inputs")]:
            _input(Path(name), found, record)
    for ending in ("*.osim", "*.trc"):
        files = list(found.folder.glob(ending))
        if len(files) == 1:
            _input(files[0], found, {})


def _input(path: Path, found: Trial, record: dict[str, Any]) -> None:
    if not path.is_file():
        return
    kind, stated = path.suffix.lower(), record.get("stated", {})
    try:
        if kind == ".osim" and found.model is None:
            found.model = read_once(partial(read_osim, opensim_rounding=False), path)
            found.read.append(path)
        elif kind in _RECORDINGS and found.markers is None:
            # as the run read them
            known = stated if isinstance(stated, dict) else {}
            recorded = read_once(partial(read_markers, up=known.get("preparation.up")), path)
            zeros = known.get("preparation.zeros_as_gaps") == "yes"
            pairs = [one.rpartition("=") for one in known.get("preparation.renames", "").split(", ") if one]
            prepare = Preparation(zeros_as_gaps=zeros, renames=tuple((old, new) for old, _, new in pairs))
            found.markers = prepare.as_stated(recorded)
            found.read.append(path)
            if kind == ".c3d" and found.emg is None:
                found.emg = read_c3d(path, up=known.get("preparation.up")).analog
        elif kind == ".xml" and found.loads is None and b"<ExternalLoads" in path.read_bytes():
            found.loads = read_once(partial(read_external_loads, by_position=False, obsolete_flags=True), path)
            found.read.append(path)
    except (MusculoError, OSError) as error:
        found.unread.append(f"{path.name}: {error}")


def _electromyograms(found: Trial) -> None:
    """Those that a run was given, by the names of their muscles, before any that merely lie there."""
    for record in found.records:
        stated = record.get("stated", {})
        known = stated if isinstance(stated, dict) else {}
        name = next((str(value) for key, value in known.items() if key.endswith(".emg.file")), "")
        path = next((Path(one) for one in _names(record, "inputs") if name and Path(one).name == Path(name).name), None)
        if path is None:
            continue
        text, side = (
            next((str(value) for key, value in known.items() if key.endswith(f".emg.{what}")), "")
            for what in ("channels", "side")
        )
        pairs = [one.rpartition("=") for one in text.split(", ") if one]
        try:
            table = read_once(read_electromyograms, path)
            found.emg = assigned_channels(table, found.model, [(channel, muscle) for channel, _, muscle in pairs], side)
            found.read.append(path)
        except (MusculoError, OSError) as error:
            found.unread.append(f"{path.name}: {error}")


def _read_in(path: Path, found: Trial, only: str = "") -> None:
    """Read a table and give it its place; `only` names the one place that it may take."""
    quantity = _OF_MUSCLES.search(path.stem)
    if not quantity and any(part in path.stem for part in _OTHER_FILES):
        return
    try:
        table = read_storage(path)
        if _OF_SIGNALS.search(path.stem):
            if not only:
                found.emg = table
                found.read.append(path)
        elif quantity and not only:
            found.muscles.setdefault(quantity.group(1), table)
            found.read.append(path)
        elif not quantity:
            for part, kind in _parts(table):
                _sort_in(part, path, found, only, kind)
    except (MusculoError, OSError) as error:
        found.unread.append(f"{path.name}: {error}")


def _parts(table: Table) -> list[tuple[Table, str]]:
    """States, as forward tools and Moco write them, hold a motion and activations; any other table is itself.

    Activations of one row, as the scale tool writes beside its static pose, are what a simulation would begin with and
    no result. Each with the field of `Trial` that it belongs to, empty where its columns must tell.
    """
    found = []
    for ending, kind in (("/value", ""), ("/activation", "activations")):
        columns = [k for k, name in enumerate(table.names) if name.endswith(ending)]
        if columns and not (kind and len(table) == 1):
            # coordinates keep their paths, by which motions are searched; muscles are known by their names
            names = [table.names[k].split("/")[-2] if kind else table.names[k] for k in columns]
            found.append((replace(table, names=tuple(names), values=table.values[:, columns], units=()), kind))
    return found or [(table, "")]


def _sort_in(table: Table, path: Path, found: Trial, only: str = "", kind: str = "") -> None:
    """Give a table its place by its columns; the names of files decide only where columns cannot."""
    kind = kind or _kind(table.names, path.stem, table, found.model)
    if not kind or only not in ("", kind):
        return
    if kind == "reactions":
        if all(table.source != other.source for other in found.reactions):
            found.reactions.append(table)
            found.read.append(path)
    elif getattr(found, kind) is None:
        setattr(found, kind, table)
        found.read.append(path)
    elif getattr(found, kind).source != table.source:
        made_by = [_names(record, "results") for record in found.records]
        known = str(Path(getattr(found, kind).source).resolve())
        if any(str(path.resolve()) in names and known in names for names in made_by):
            return  # one run writes a motion twice: as states and as coordinates
        of_trial = any(str(path.resolve()) in names for names in made_by)
        (found.older if of_trial else found.more).append(path.name)


def _kind(names: tuple[str, ...], stem: str, table: Table, model: Model | None) -> str:
    """Which field of `Trial` a table belongs to; empty for none."""
    if "marker_error_RMS" in names:
        return "marker_errors"
    if stem.lower().endswith("orientationerrors"):
        return "sensor_errors"
    if stem.endswith("_pErr"):
        return "tracking_errors"
    if stem.endswith(f"_{METABOLIC}"):
        return "metabolic"
    if names and all("_on_" in name and "_in_" in name for name in names):
        return "reactions"
    if names and all(name.endswith(("_moment", "_force")) for name in names):
        return "moments"
    for ending, kind in (("_activation", "activations"), ("_force", "forces")):
        if stem.endswith(ending):
            return kind
    return "angles" if _is_motion(table, model) else ""


def _is_motion(table: Table, model: Model | None) -> bool:
    if model is None:
        return table.degrees
    known = sum(table.find(name) is not None for name in model.coordinate_names)
    return known > 0 and known >= 0.5 * len(model.coordinate_names)
