"""Is a subject plausible, and the model that was scaled to it? Mass, factors, and the markers of the static pose.

Limits of markers: OpenSim's "Scaling Best Practices" (root mean square below 1 cm, largest below 2 cm). Twice a limit
is bad. Factors: people of one model differ by a quarter; beyond `LIKELY` it is a unit or a marker, and bad.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity, graded
from musculo.model.model import Model
from musculo.results.trial import Trial

STATIC_RMS, STATIC_LARGEST = 0.01, 0.02  # [m]
USUAL = (0.8, 1.25)
# No two people differ by more.
LIKELY = (0.2, 5.0)
# A subject of so many times the mass of the generic model, or of such a part of it, is unusual; and is none.
_UNUSUAL, _NOBODY = 5.0, 50.0
_MOST = 4  # names in a sentence


def mass_findings(model: Model, mass: float) -> list[Finding]:
    """A subject's mass [kg] that is far from that of the generic model; zero or less is none that was given."""
    own = sum(body.mass for body in model.bodies)
    if not mass > 0.0 or not own > 0.0:
        return []
    apart = max(mass / own, own / mass)
    if apart <= _UNUSUAL:
        return []
    unit = "grams" if mass > own else "another unit"
    text = (
        f"the subject has a mass of {mass:g} kg, and the generic model {own:.4g} kg: is it in {unit}? It must be in kg"
    )
    return [Finding(text, Severity.DOUBTFUL if apart <= _NOBODY else Severity.WRONG, "Mass of the subject")]


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


def scalings(trial: Trial) -> list[Scaling]:
    return [Scaling(record) for record in trial.records if isinstance(record.get("scaling"), dict)]


def checks_of_scaling(trial: Trial) -> list[Finding]:
    """Factors from measurements, and markers in the static pose; factors that a person chose are facts."""
    several = len(scalings(trial)) > 1
    return [
        check._replace(text=f"{Path(one.source).name}: {check.text}") if several else check
        for one in scalings(trial)
        for check in (*_factors(one), *_static(one))
    ]


def _factors(one: Scaling) -> list[Finding]:
    factors = one.factors
    if not factors:
        return []
    measured = [name for name in one.measured if name in factors]
    if not measured:
        return [
            Finding(
                f"{_span(list(factors.values()))}; not measured, so not judged",
                title="Scale factors",
                source=one.source,
            )
        ]
    values = [factors[name] for name in measured]
    low, high = (min(v.min() for v in values), max(v.max() for v in values))
    finite = all(np.isfinite(v).all() for v in values)
    odd = [name for name in measured if not _within(factors[name], USUAL)]
    severity = Severity.GOOD if finite and not odd else Severity.DOUBTFUL
    if not finite or any(not _within(factors[name], LIKELY) for name in odd):
        severity = Severity.WRONG
    names = ", ".join(f"{name} ({_three(factors[name])})" for name in odd[:_MOST])
    rest = f" and {len(odd) - _MOST} more" if len(odd) > _MOST else ""
    text = f"{low:.3g} to {high:.3g} of {len(measured)} measured bodies (usual are {USUAL[0]:g} to {USUAL[1]:g})"
    advice = "Look for swapped or misplaced markers, a wrong unit, or a measurement across two bodies"
    found = f"{text}: {names}{rest}" if odd else text
    return [Finding(found, severity, "Scale factors", "" if severity is Severity.GOOD else advice, one.source)]


def _static(one: Scaling) -> list[Finding]:
    # those with a task, whatever its weight, as in the log and in OpenSim
    counted = {
        name: number_in(m.get("error")) for name, m in one.markers.items() if m.get("counted", m.get("followed"))
    }
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
        severity = graded(value, limit)
        text = (
            f"{1e3 * value:.1f} mm{whose}, of {len(seen)} markers before they were moved (limit {1e3 * limit:.0f} mm)"
        )
        checks.append(Finding(text, severity, title, "" if severity is Severity.GOOD else advice, one.source))
    return checks


def _vector(value: Any) -> FloatArray:
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError):
        found = np.full(3, np.nan)
    return found if found.shape == (3,) else np.full(3, np.nan)


def number_in(value: Any) -> float | None:
    """What is not a number, or not there, is None; what is infinite stays so, and is bad."""
    return float(value) if isinstance(value, int | float) and not np.isnan(value) else None


def _within(factors: FloatArray, limits: tuple[float, float]) -> bool:
    return bool((factors >= limits[0]).all() and (factors <= limits[1]).all())


def _three(factors: FloatArray) -> str:
    return ", ".join(f"{f:.3g}" for f in factors)


def _span(factors: Sequence[FloatArray]) -> str:
    return f"{min(f.min() for f in factors):.3g} to {max(f.max() for f in factors):.3g}"
