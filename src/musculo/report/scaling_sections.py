"""What scaling found, from the record of its run: factors, measured distances, and the markers of the static pose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from musculo.diagnostics.subject import STATIC_LARGEST, Scaling, number_in, scalings
from musculo.report.page_parts import Bars, Section, TextTable
from musculo.results.trial import Trial


def sections_of_scaling(trial: Trial) -> list[Section]:
    """Factors, distances and markers, each as a plot and a table."""
    several = len(scalings(trial)) > 1
    made = [
        replace(section, title=f"{section.title} ({Path(one.source).name})") if several else section
        for one in scalings(trial)
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
    table = TextTable("", ("body", "x", "y", "z", "how"), rows, ("x", "y", "z"))
    return Section(
        "Scale factors", (), text, bars=(Bars("factor", "", tuple(changed), axes, base=1.0),), tables=(table,)
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
            subject, model = number_in(pair.get("measured")), number_in(pair.get("model"))
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
    table = TextTable("", columns, tuple(rows), ("subject [mm]", "model [mm]", "factor"))
    text = "Means over the frames of the static trial, beside the model in its default pose before scaling."
    bars = (Bars("distance", "mm", tuple(names), lengths),) if names else ()
    return Section("Measured distances", (), text, bars=bars, tables=(table,))


def _marker_section(one: Scaling) -> Section | None:
    if not one.markers:
        return None
    rows = []
    for name, marker in one.markers.items():
        how = "followed" if marker.get("followed") else "not followed"
        moved = number_in(marker.get("moved"))
        rows.append((name, _mm(number_in(marker.get("error"))), "fixed" if moved is None else _mm(moved), how))
    columns = ("marker", "error [mm]", "moved by [mm]", "in the static pose")
    seen = {name: number_in(marker.get("error")) for name, marker in one.markers.items()}
    known = {name: 1e3 * error for name, error in seen.items() if error is not None and np.isfinite(error)}
    bars = (Bars("error", "mm", tuple(known), {"error": list(known.values())}, 1e3 * STATIC_LARGEST),) if known else ()
    text = "How far each marker of the scaled model is from the recorded one in the static pose, before it was moved."
    table = TextTable("", columns, tuple(rows), ("error [mm]", "moved by [mm]"))
    return Section("Markers of the static pose", (), text, bars=bars, tables=(table,))


def _mm(value: float | None) -> str:
    return "" if value is None else f"{1e3 * value:.1f}"
