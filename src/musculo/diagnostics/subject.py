"""Whether what is said of a subject can be of a person like the generic model."""

from __future__ import annotations

from musculo.diagnostics.finding import Finding, Severity
from musculo.model.model import Model

# A subject of so many times the mass of the generic model, or of such a part of it, is unusual; and is none.
_UNUSUAL, _NOBODY = 5.0, 50.0


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
