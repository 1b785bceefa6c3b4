"""What lies in a folder of results: which file holds which quantity, and what it was made from."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from musculo.errors import InvalidInput, MusculoError
from musculo.io.external_loads import read_external_loads
from musculo.io.markers import read_markers
from musculo.io.osim import read_osim
from musculo.io.storage import read_storage
from musculo.io.text import PathLike
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads
from musculo.results.markers import Markers
from musculo.results.table import Table

_TABLES = (".mot", ".sto")
_RECORD = ".musculo.json"
# Files of rates and of muscle analyses have the same columns as motions, moments and forces.
_OTHER_FILES = ("_Kinematics_u", "_Kinematics_dudt", "_MuscleAnalysis_", "_BodyKinematics_", "_PointKinematics_")


@dataclass
class Results:
    """The tables of a folder by what they hold, and the files that went in; None where there is none."""

    folder: Path
    angles: Table | None = None
    marker_errors: Table | None = None
    moments: Table | None = None
    activations: Table | None = None
    forces: Table | None = None
    reactions: list[Table] = field(default_factory=list)
    model: Model | None = None
    loads: ExternalLoads | None = None
    markers: Markers | None = None
    records: list[dict[str, Any]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # files that are broken, with the reason
    more: list[str] = field(default_factory=list)  # tables of kinds that another one holds already


def read_results(folder: PathLike, model: Model | None = None) -> Results:
    """Look through a folder: records of runs (`*.musculo.json`), tables, and the inputs that the records name."""
    where = Path(folder)
    if not where.is_dir():
        raise InvalidInput(f"{where} is no folder; give one that `musculo run` or another command wrote results into")
    found = Results(where, model=model)
    for path in sorted(where.glob(f"*{_RECORD}")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(record, dict):
                raise ValueError("not a record of a run")
            found.records.append(record)
        except (OSError, ValueError) as error:
            found.unread.append(f"{path.name}: {error}")
    _inputs(found)
    tables = [path for path in sorted(where.iterdir()) if path.suffix.lower() in _TABLES]
    for path in dict.fromkeys([*_elsewhere(found), *tables]):
        try:
            _sort_in(read_storage(path), path, found)
        except (MusculoError, OSError) as error:
            found.unread.append(f"{path.name}: {error}")
    if not any((found.angles, found.marker_errors, found.moments, found.activations, found.forces, found.reactions)):
        raise InvalidInput(
            f"{where} holds no motion, moments, activations or joint reactions that could be shown "
            f"({len(tables)} tables looked at); give the folder that a command wrote its results into"
        )
    return found


def _elsewhere(found: Results) -> list[Path]:
    """Result files that a set-up put into another folder."""
    named = [Path(path) for record in found.records for path in _names(record, "results")]
    return [path for path in named if path.suffix.lower() in _TABLES and path.is_file()]


def _names(record: dict[str, Any], key: str) -> list[str]:
    files = record.get(key, {})
    return list(files) if isinstance(files, dict) else []


def _inputs(found: Results) -> None:
    """Model, loads and markers that the runs were made from, where they are still there; else what the folder holds."""
    named = [Path(name) for record in found.records for name in _names(record, "inputs")]
    beside = [found.folder.glob(ending) for ending in ("*.osim", "*.trc")]
    for paths in (named, *(only for files in beside if len(only := list(files)) == 1)):
        for path in paths:
            if not path.is_file():
                continue
            try:
                if path.suffix.lower() == ".osim" and found.model is None:
                    found.model = read_osim(path)
                elif path.suffix.lower() in (".trc", ".c3d") and found.markers is None:
                    found.markers = read_markers(path)
                elif path.suffix.lower() == ".xml" and found.loads is None and b"<ExternalLoads" in path.read_bytes():
                    found.loads = read_external_loads(path)
            except (MusculoError, OSError) as error:
                found.unread.append(f"{path.name}: {error}")


def _sort_in(table: Table, path: Path, found: Results) -> None:
    """Give a table its place by its columns; the names of files decide only where columns cannot."""
    names, stem = table.names, path.stem
    if any(part in stem for part in _OTHER_FILES):
        return
    kind = _kind(names, stem, table, found.model)
    if not kind:
        return
    if kind == "reactions":
        if all(table.source != other.source for other in found.reactions):
            found.reactions.append(table)
    elif getattr(found, kind) is None:
        setattr(found, kind, table)
    elif getattr(found, kind).source != table.source:
        found.more.append(path.name)


def _kind(names: tuple[str, ...], stem: str, table: Table, model: Model | None) -> str:
    """Which field of `Results` a table belongs to; empty for none."""
    if "marker_error_RMS" in names:
        return "marker_errors"
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
