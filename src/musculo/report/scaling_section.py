"""What scaling found, from the record of its run: factors, measured distances, and the markers of the static pose.

Limits of markers: OpenSim's "Scaling Best Practices" (root mean square below 1 cm, largest below 2 cm). Twice a limit
is bad. Factors: people of one model differ by a quarter; beyond `LIKELY` it is a unit or a marker, and bad.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from musculo.analyses.scaling.scale_factors import LIKELY
from musculo.arrays import FloatArray
from musculo.report.contents import Bars, Check, Light, Section, Sheet
from musculo.report.grades import graded
from musculo.report.results import Results

STATIC_RMS, STATIC_LARGEST = 0.01, 0.02  # [m]
USUAL = (0.8, 1.25)
_MOST = 4  # names in a sentence


@dataclass(frozen=True)
class Scaling:
    """The part of a record that tells of scaling; what is missing there, or not as it should be, is empty."""

    record: Mapping[str, Any]

    @property
    def source(self) -> str:
        return next(iter(self.record.get("results", {})), "")

    @property
    def factors(self) -> dict[str, FloatArray]:
        return {name: _vector(one) for name, one in self._part("factors", dict).items()}

    @property
    def measurements(self) -> list[dict[str, Any]]:
        return [one for one in self._part("measurements", list) if isinstance(one, dict)]

    @property
    def skipped(self) -> dict[str, str]:
        return {str(name): str(why) for name, why in self._part("skipped", dict).items()}

    @property
    def markers(self) -> dict[str, dict[str, Any]]:
        return {name: one for name, one in self._part("markers", dict).items() if isinstance(one, dict)}

    @property
    def measured(self) -> list[str]:
        """Bodies that a measurement scales, and no factor by hand after it."""
        return [str(name) for name in self._part("measured_bodies", list)]

    def _part(self, name: str, kind: type) -> Any:
        told = self.record.get("scaling")
        part = told.get(name) if isinstance(told, dict) else None
        return part if isinstance(part, kind) else kind()


def scalings(found: Results) -> list[Scaling]:
    return [Scaling(record) for record in found.records if isinstance(record.get("scaling"), dict)]


def checks_of_scaling(found: Results) -> list[Check]:
    """Factors from measurements, and markers in the static pose; factors that a person chose are facts."""
    several = len(scalings(found)) > 1
    return [
        replace(check, found=f"{Path(one.source).name}: {check.found}") if several else check
        for one in scalings(found)
        for check in (*_factors(one), *_static(one))
    ]


def _factors(one: Scaling) -> list[Check]:
    factors = one.factors
    if not factors:
        return []
    measured = [name for name in one.measured if name in factors]
    if not measured:
        return [
            Check("Scale factors", f"{_span(list(factors.values()))}; not measured, so not judged", source=one.source)
        ]
    values = [factors[name] for name in measured]
    low, high = (min(v.min() for v in values), max(v.max() for v in values))
    finite = all(np.isfinite(v).all() for v in values)
    odd = [name for name in measured if not _within(factors[name], USUAL)]
    light = Light.GOOD if finite and not odd else Light.LOOK
    if not finite or any(not _within(factors[name], LIKELY) for name in odd):
        light = Light.BAD
    names = ", ".join(f"{name} ({_three(factors[name])})" for name in odd[:_MOST])
    rest = f" and {len(odd) - _MOST} more" if len(odd) > _MOST else ""
    text = f"{low:.3g} to {high:.3g} of {len(measured)} measured bodies (usual are {USUAL[0]:g} to {USUAL[1]:g})"
    advice = "Look for swapped or misplaced markers, a wrong unit, or a measurement across two bodies"
    found = f"{text}: {names}{rest}" if odd else text
    return [Check("Scale factors", found, light, "" if light is Light.GOOD else advice, one.source)]


def _static(one: Scaling) -> list[Check]:
    # those with a task, whatever its weight, as in the log and in OpenSim
    counted = {name: _number(m.get("error")) for name, m in one.markers.items() if m.get("counted", m.get("followed"))}
    seen = {name: error for name, error in counted.items() if error is not None}
    if not seen:
        return []
    errors = np.array(list(seen.values()))
    worst = list(seen)[int(errors.argmax())]
    advice = "Look for swapped or misplaced markers, and at the weights of the static pose; is a segment scaled badly?"
    checks = []
    for title, value, limit, whose in (
        ("Static pose, markers, root mean square", float(np.sqrt(np.mean(errors**2))), STATIC_RMS, ""),
        ("Static pose, markers, largest", float(errors.max()), STATIC_LARGEST, f", {worst}"),
    ):
        light = graded(value, limit)
        text = (
            f"{1e3 * value:.1f} mm{whose}, of {len(seen)} markers before they were moved (limit {1e3 * limit:.0f} mm)"
        )
        checks.append(Check(title, text, light, "" if light is Light.GOOD else advice, one.source))
    return checks


def sections_of_scaling(found: Results) -> list[Section]:
    """Factors, distances and markers, each as a plot and a table."""
    several = len(scalings(found)) > 1
    made = [
        replace(section, title=f"{section.title} ({Path(one.source).name})") if several else section
        for one in scalings(found)
        for section in (_factor_section(one), _pair_section(one), _marker_section(one))
        if section is not None
    ]
    return made


def _factor_section(one: Scaling) -> Section | None:
    factors = one.factors
    changed = [name for name, f in factors.items() if name in one.measured or not np.array_equal(f, np.ones(3))]
    if not changed:
        return None
    how = {name: "measured" if name in one.measured else "by hand" for name in changed}
    rows = tuple((name, *(f"{f:.4f}" for f in factors[name]), how[name]) for name in changed)
    left = len(factors) - len(changed)
    text = f"{left} {'body' if left == 1 else 'bodies'} that nothing scales: not shown." if left else ""
    axes = {axis: [float(factors[name][k]) for name in changed] for k, axis in enumerate("xyz")}
    sheet = Sheet("", ("body", "x", "y", "z", "how"), rows, ("x", "y", "z"))
    return Section(
        "Scale factors", (), text, bars=(Bars("factor", "", tuple(changed), axes, base=1.0),), sheets=(sheet,)
    )


def _pair_section(one: Scaling) -> Section | None:
    rows: list[tuple[str, ...]] = []
    names: list[str] = []
    lengths: dict[str, list[float]] = {"subject": [], "model": []}
    for measurement in one.measurements:
        name, bodies = str(measurement.get("name", "")), ", ".join(str(b) for b in measurement.get("bodies", ()))
        pairs = [pair for pair in measurement.get("pairs", ()) if isinstance(pair, dict)]
        for pair in pairs:
            ends = " to ".join(str(m) for m in pair.get("markers", ()))
            subject, model = _number(pair.get("measured")), _number(pair.get("model"))
            factor = subject / model if subject is not None and model else None
            rows.append((name, ends, _mm(subject), _mm(model), "" if factor is None else f"{factor:.4f}", bodies))
            if subject is not None and model is not None:
                names.append(ends)
                lengths["subject"].append(1e3 * subject)
                lengths["model"].append(1e3 * model)
    rows += [(name, why, "", "", "not used", "") for name, why in one.skipped.items()]
    if not rows:
        return None
    columns = ("measurement", "markers", "subject [mm]", "model [mm]", "factor", "scales")
    sheet = Sheet("", columns, tuple(rows), ("subject [mm]", "model [mm]", "factor"))
    text = "Means over the frames of the static trial, beside the model in its default pose before scaling."
    bars = (Bars("distance", "mm", tuple(names), lengths),) if names else ()
    return Section("Measured distances", (), text, bars=bars, sheets=(sheet,))


def _marker_section(one: Scaling) -> Section | None:
    if not one.markers:
        return None
    rows = []
    for name, marker in one.markers.items():
        how = "followed" if marker.get("followed") else "not followed"
        moved = _number(marker.get("moved"))
        rows.append((name, _mm(_number(marker.get("error"))), "fixed" if moved is None else _mm(moved), how))
    columns = ("marker", "error [mm]", "moved by [mm]", "in the static pose")
    seen = {name: _number(marker.get("error")) for name, marker in one.markers.items()}
    known = {name: 1e3 * error for name, error in seen.items() if error is not None and np.isfinite(error)}
    bars = (Bars("error", "mm", tuple(known), {"error": list(known.values())}, 1e3 * STATIC_LARGEST),) if known else ()
    text = "How far each marker of the scaled model is from the recorded one in the static pose, before it was moved."
    sheet = Sheet("", columns, tuple(rows), ("error [mm]", "moved by [mm]"))
    return Section("Markers of the static pose", (), text, bars=bars, sheets=(sheet,))


def _vector(value: Any) -> FloatArray:
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError):
        found = np.full(3, np.nan)
    return found if found.shape == (3,) else np.full(3, np.nan)


def _number(value: Any) -> float | None:
    """What is not a number, or not there, is None; what is infinite stays so, and is bad."""
    return float(value) if isinstance(value, int | float) and not np.isnan(value) else None


def _mm(value: float | None) -> str:
    return "" if value is None else f"{1e3 * value:.1f}"


def _within(factors: FloatArray, limits: tuple[float, float]) -> bool:
    return bool((factors >= limits[0]).all() and (factors <= limits[1]).all())


def _three(factors: FloatArray) -> str:
    return ", ".join(f"{f:.3g}" for f in factors)


def _span(factors: Sequence[FloatArray]) -> str:
    return f"{min(f.min() for f in factors):.3g} to {max(f.max() for f in factors):.3g}"
