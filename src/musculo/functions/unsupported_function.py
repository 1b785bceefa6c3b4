"""A function that musculo carries from file to file but cannot compute."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.errors import Unsupported
from musculo.functions.function import Function
from musculo.functions.function_table import PackedFunction


@dataclass(frozen=True)
class UnsupportedFunction(Function):
    """The XML of a function of unknown kind; evaluating or compiling it raises `Unsupported`."""

    element: str
    xml: str = ""

    @property
    def n_arguments(self) -> int:
        """0, any number: how many it takes is unknown."""
        return 0

    def packed(self) -> PackedFunction:
        raise Unsupported(
            f"a function of kind <{self.element}> is kept but cannot be computed; "
            "replace it by one of musculo.functions, for instance SampledSpline.through(x, y)"
        )
