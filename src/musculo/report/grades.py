"""Which light a number gets beside its limit, and a finding for how much it matters."""

from __future__ import annotations

from musculo.diagnostics.finding import Severity
from musculo.report.contents import Light

BY_SEVERITY = {
    Severity.NOTE: Light.INFO,
    Severity.DOUBTFUL: Light.LOOK,
    Severity.WRONG: Light.BAD,
    Severity.TROUBLE: Light.BAD,
}


def graded(value: float, limit: float, bad: float | None = None) -> Light:
    """GOOD up to the limit, BAD beyond another one, which is twice the first unless given."""
    return Light.GOOD if value <= limit else Light.LOOK if value <= (2.0 * limit if bad is None else bad) else Light.BAD
