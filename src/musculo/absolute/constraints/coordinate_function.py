"""A coordinate that is a function of others: a coupler."""

from __future__ import annotations

from dataclasses import dataclass, field

from musculo.absolute.constraints.constraint import Equations
from musculo.absolute.terms import Row, function_of
from musculo.functions.elementary_functions import Constant, Linear
from musculo.functions.function import Function


@dataclass(frozen=True, eq=False)
class CoordinateFunction(Equations):
    """dependent = scale function(independents): one equation between coordinates that are unknowns."""

    dependent: str = ""
    independents: tuple[str, ...] = ()
    function: Function = field(default_factory=Constant)
    scale: float = 1.0

    def rows(self) -> tuple[Row, ...]:
        own = function_of(Linear(1.0, 0.0), (self.dependent,))
        return ((own, function_of(self.function, self.independents) * -self.scale),)
