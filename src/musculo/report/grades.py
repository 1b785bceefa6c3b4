"""Which light a number gets beside its limit."""

from __future__ import annotations

from musculo.report.contents import Light


def graded(value: float, limit: float) -> Light:
    """GOOD up to the limit, BAD beyond twice the limit."""
    return Light.GOOD if value <= limit else Light.LOOK if value <= 2.0 * limit else Light.BAD
