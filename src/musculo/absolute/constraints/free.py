"""Nothing between two bodies."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row


@dataclass(frozen=True, eq=False)
class Free(Constraint):
    """No equation; it names two frames, for drivers and reports."""

    def rows(self) -> tuple[Row, ...]:
        return ()
