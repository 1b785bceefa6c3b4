"""What a finished run leaves beside its results: its options, and hashes of what went in and came out, so that it need
not run again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from os.path import realpath
from pathlib import Path
from typing import Any

from musculo import __version__
from musculo.errors import InvalidInput
from musculo.io.setup import CoordinateTask, MarkerTask, ModelToolSetup, OtherAnalysis, Setup
from musculo.io.setup.analyses import KINDS, Analysis
from musculo.io.text import PathLike, write_text
from musculo.model.measurement import Measurement
from musculo.opensim_tools.read_once import stamp_of
from musculo.opensim_tools.records.named_files import record_of, record_path
from musculo.opensim_tools.records.own_sources import own_sources
from musculo.opensim_tools.records.result import Status, ToolResult
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


# Who it is about, and what readers said; `xml` is the text of an element that is not known.
_NO_OPTIONS = (
    *("name", "notes", "source", "included", "results_directory", "subject_notes", "xml", "element"),
    *("states_time_range", "states_final_time"),
)
_TIMES = ("time_range", "initial_time", "final_time", "start_time", "end_time")


def stated_options(setup: Setup) -> dict[str, str]:
    """Options by name, those of parts behind the name of the part: `StaticOptimization.activation_exponent`."""
    return dict(_stated(setup, ""))


def analyses_of(setup: Setup) -> list[str]:
    """The kinds of the analyses that are on, for instance StaticOptimization; empty for other tools."""
    if not isinstance(setup, ModelToolSetup):
        return []
    return [_kind(analysis) for analysis in setup.analyses if analysis.on]


def _kind(analysis: Analysis) -> str:
    if isinstance(analysis, OtherAnalysis):
        return analysis.element
    return next(name for name, kind in KINDS.items() if isinstance(analysis, kind))


def _stated(part: Any, before: str) -> Iterator[tuple[str, str]]:
    for field in fields(part):
        value = getattr(part, field.name)
        if field.name in _NO_OPTIONS or value == _default(field):
            continue
        name = before + field.name
        if field.name == "analyses":
            for analysis in value:
                yield from _stated(analysis, f"{analysis.name or _kind(analysis)}.")
        elif is_dataclass(value):
            yield from _stated(value, f"{name}.")
        elif field.name in _TIMES:
            text = _span(value)
            if text:
                yield name, text
        else:
            yield name, _text(value)


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _span(value: float | tuple[float, ...]) -> str:
    """Infinite ends restrict nothing, and an empty text says so."""
    ends = value if isinstance(value, tuple) else (value,)
    if not any(math.isfinite(end) for end in ends):
        return ""
    return " to ".join(f"{end:g}" if math.isfinite(end) else ("start", "end")[end > 0.0] for end in ends) + " s"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], float):  # a weight by name
            return f"{value[0]}={value[1]:g}"
        if value and all(isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], str) for one in value):
            return ", ".join(f"{name}={other}" for name, other in value)
        return ", ".join(map(_text, value))
    if isinstance(value, MarkerTask | CoordinateTask):
        return f"{value.name}={value.weight:g}" if value.apply else f"{value.name} off"
    if isinstance(value, Measurement):
        return value.name + ("" if value.apply else " off")
    if is_dataclass(value):  # factors by hand
        return " ".join(_text(getattr(value, field.name)) for field in fields(value) if field.name != "apply")
    return str(value)
