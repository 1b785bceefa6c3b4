"""A function times a number."""

from __future__ import annotations

from dataclasses import dataclass, field

from musculo.errors import InvalidInput
from musculo.functions.checks import set_number
from musculo.functions.elementary_functions import Constant, Linear
from musculo.functions.function import Function
from musculo.functions.function_table import PackedFunction


@dataclass(frozen=True)
class Scaled(Function):
    """f = scale g (OpenSim's MultiplierFunction); g may be scaled itself, the factors multiply."""

    function: Function = field(default_factory=Constant)
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.function, Function):
            raise InvalidInput(f"Scaled: function must be a Function, got {self.function!r}")
        set_number(self, "scale")

    @property
    def n_arguments(self) -> int:
        return self.function.n_arguments

    def packed(self) -> PackedFunction:
        inner = self.function.packed()
        return inner._replace(scale=self.scale * inner.scale)


def times(function: Function, factor: float) -> Function:
    """The function times a factor; factors of one that is scaled already multiply."""
    if factor == 1.0:
        return function
    if isinstance(function, Scaled):
        return Scaled(function.function, function.scale * factor)
    return Scaled(function, factor)


def slope_of(function: Function) -> float | None:
    """The slope of a function that is a straight line, seen through its factors; None where it is none."""
    if isinstance(function, Scaled):
        inner = slope_of(function.function)
        return None if inner is None else function.scale * inner
    return function.slope if isinstance(function, Linear) else None
