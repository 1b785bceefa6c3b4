"""What a finished run leaves beside its results: hashes of what went in and came out, so that it need not run again."""

from __future__ import annotations

import hashlib
import json
from os.path import realpath
from pathlib import Path
from typing import Any

from musculo import __version__
from musculo.errors import InvalidInput
from musculo.io.setup import Setup
from musculo.io.text import PathLike, write_text
from musculo.opensim_tools.read_once import stamp_of
from musculo.opensim_tools.records.named_files import record_of, record_path
from musculo.opensim_tools.records.own_sources import own_sources
from musculo.opensim_tools.records.result import Status, ToolResult
from musculo.opensim_tools.records.stated_options import analyses_of, stated_options
from musculo.opensim_tools.work import Work, make_folder

_LAYOUT = 6
_OPENING = '{\n "layout":'  # of every record, be the rest of it lost


def fingerprint(path: Path) -> str:
    """A hash of the content of a file; empty where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def options_of(setup: Any, work: Work) -> dict[str, Any]:
    """All that decides the results besides the content of input files."""
    return {
        "setup": hashlib.sha256(repr(setup).encode()).hexdigest(),
        "exact": work.exact,
        "compare": work.compare,
        "moved": work.moved,
    }


def _inputs(work: Work) -> list[Path]:
    """Files that were read; a set-up made in Python has none of its own."""
    own = [Path(work.source)] if Path(work.source).is_file() else []
    return [*own, *work.read]


def _as_read(path: Path, work: Work) -> str:
    """A hash of what was read of an input, which may be another file by now; empty where that is not known."""
    known = work.hashes.get(str(path.absolute()))
    if known is not None:
        return known
    return fingerprint(path) if work.stamps.get(path, stamp_of(path)) == stamp_of(path) else ""


def write_record(folder: Path, setup: Setup, work: Work, result: ToolResult) -> None:
    """Remember a run."""
    preparation = getattr(setup, "preparation", None)  # of a task; no set-up file of OpenSim has one
    record = {
        "layout": _LAYOUT,
        "musculo": __version__,
        "sources": own_sources(),
        "tool": result.tool,
        "name": result.name,
        "analyses": analyses_of(setup),
        "options": options_of(setup, work),
        "stated": stated_options(setup),
        "lowpass": getattr(setup, "lowpass_cutoff_frequency_for_coordinates", None),
        "loads_lowpass": preparation.loads_cutoff if preparation is not None else None,
        "inputs": {str(path.absolute()): _as_read(path, work) for path in _inputs(work)},
        "results": {str(path.absolute()): fingerprint(path) for path in result.files},
        "notes": list(result.notes),
        "troubles": list(result.troubles),
        "findings": [{"text": one.text, "severity": one.severity.name, "title": one.title} for one in work.findings],
        "moments": work.moments,
        "penalties": work.penalties,
        "scaling": work.scaling or None,
        "seconds": round(result.seconds, 3),
    }
    make_folder(folder)
    write_text(record_path(folder, work.source), [json.dumps(record, indent=1, ensure_ascii=False)])


def refuse_replacing_of_others(path: Path) -> None:
    """Raise if a file in the place of a record is none of ours."""
    try:
        there = path.read_bytes().decode(errors="replace").replace("\r", "")
    except OSError:
        return  # none, or nothing that a record takes the place of
    if there.strip() and not there.startswith(_OPENING):
        raise InvalidInput(
            f"the record of the run would replace {path}, which is not a record of musculo; move it away, or use "
            "--force to overwrite it (overwrite=True in Python)"
        )


def made_by(setup: Setup, output: PathLike | None = None) -> set[str]:
    """Results of an earlier run of a set-up that are as it left them, without links."""
    try:
        results = json.loads(record_of(setup, output).read_text(encoding="utf-8"))["results"]
        return {realpath(path) for path, known in results.items() if known and fingerprint(Path(path)) == known}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def filters_of(file: Path) -> tuple[float, float] | None:
    """Frequencies at which coordinates and loads were filtered for a result [Hz], -1 for none; None if no record says.

    The record must lie beside the result, which must be as the run left it.
    """
    for path in sorted(file.parent.glob("*.musculo.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            made = record["results"].get(str(file.absolute()))
            if made is not None and made == fingerprint(file):
                return max(float(record["lowpass"]), -1.0), float(record.get("loads_lowpass") or -1.0)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # not a record, or one that does not say
    return None


def unchanged(folder: Path, setup: Any, work: Work, tool: str) -> ToolResult | None:
    """The result of an earlier run where nothing changed since: inputs, options, package and result files."""
    try:
        record = json.loads(record_path(folder, work.source).read_text(encoding="utf-8"))
        same = (
            record["layout"] == _LAYOUT
            and record["musculo"] == __version__
            and record["sources"] == own_sources()
            and record["tool"] == tool
            and record["options"] == options_of(setup, work)
        )
        # apart: a file may be both, where --force let a result take the place of an input
        files = [*record["inputs"].items(), *record["results"].items()]
        if not same or not all(known and fingerprint(Path(path)) == known for path, known in files):
            return None
        return ToolResult(
            work.source,
            tool,
            str(record["name"]),
            Status.UNCHANGED,
            folder,
            tuple(Path(path) for path in record["results"]),
            tuple(record["notes"]),
            tuple(record["troubles"]),
            0.0,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # no record, or none that can be trusted
