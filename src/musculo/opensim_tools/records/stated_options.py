"""The options of a set-up that are not at their defaults, as text for readers of records and reports."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any

from musculo.io.setup import CoordinateTask, MarkerTask, ModelToolSetup, OtherAnalysis, Setup
from musculo.io.setup.analyses import KINDS, Analysis
from musculo.model.measurement import Measurement

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
