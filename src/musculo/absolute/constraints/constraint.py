"""What every constraint states: rows of terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from musculo.absolute.frame import Frame, framed
from musculo.absolute.terms import Row
from musculo.model.body import Placement


@dataclass(frozen=True, eq=False)
class Equations(ABC):
    """Equations of one name. Residual, Jacobian and right-hand sides follow from their rows, in one kernel."""

    name: str

    drives: ClassVar[bool] = False  # whether it prescribes motion, rather than a joint

    @abstractmethod
    def rows(self) -> tuple[Row, ...]:
        """The equations, each a sum of terms that is zero."""

    @property
    def place(self) -> tuple[Frame, Frame] | None:
        """The frames between which it acts; its load is stated at the second one's origin."""
        return None

    @cached_property
    def unknowns(self) -> tuple[str, ...]:
        """The coordinates in its equations, which are unknowns beside the bodies' positions."""
        found: dict[str, None] = {}
        for row in self.rows():
            for term in row:
                for frame in (term.first, term.second):
                    found.update(dict.fromkeys(frame.coordinates if frame else ()))
                found.update(dict.fromkeys(term.coordinates))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Constraint(Equations):
    """Equations between two frames; a placement or the name of a body stands for a frame fixed there."""

    first: Frame | Placement | str
    second: Frame | Placement | str

    @cached_property
    def frames(self) -> tuple[Frame, Frame]:
        """Both frames."""
        return framed(self.first), framed(self.second)

    @property
    def place(self) -> tuple[Frame, Frame]:
        return self.frames
