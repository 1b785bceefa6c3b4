"""What every function of the coordinates offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.errors import InvalidInput
from musculo.functions.function_table import FunctionTable, PackedFunction, compile_functions
from musculo.kernels.functions.function_values import evaluate_lanes, evaluate_many_lanes

Array = NDArray[Any]
HIGHEST_DERIVATIVE = 3


@dataclass(frozen=True)
class Function(ABC):
    """A scalar function of one or several arguments, described by frozen data.

    All numbers come from the one kernel that also serves the dynamics. Arguments broadcast against each other as in
    NumPy; real arguments give real results, complex ones the analytic continuation (for complex-step derivatives).
    """

    @property
    def n_arguments(self) -> int:
        """How many arguments the function takes; 0 means any number (a constant)."""
        return 1

    @abstractmethod
    def packed(self) -> PackedFunction:
        """The function as rows of a function table."""

    @cached_property
    def table(self) -> FunctionTable:
        """The table that holds this function alone."""
        return compile_functions((self,))

    def __call__(self, *x: ArrayLike) -> Array:
        """The value, in the common shape of the arguments."""
        return self._lanes(x)[0]

    def derivative(self, *x: ArrayLike, order: int | tuple[int, ...] = 1) -> Array:
        """A derivative, in the common shape of the arguments.

        Args:
            x: the arguments.
            order: for one argument how often to differentiate, 0 to 3. For m arguments a tuple of m orders that sum
                to at most 2. Derivatives at a breakpoint are those from the right, at the last one those from the left.
        """
        orders = (order,) if isinstance(order, int) else tuple(order)
        if len(orders) != len(x):
            raise InvalidInput(
                f"{type(self).__name__}: order {order!r} does not fit {len(x)} arguments; give one order for each"
            )
        highest = HIGHEST_DERIVATIVE if len(x) <= 1 else 2
        if any(o < 0 for o in orders) or sum(orders) > highest:
            raise InvalidInput(
                f"{type(self).__name__}: order {order!r} is outside 0 to {highest} for {len(x)} argument(s)"
            )
        if len(x) == 1:
            return self._lanes(x)[orders[0]]
        wanted = [k for k, o in enumerate(orders) for _ in range(o)]
        if not wanted:
            return self(*x)
        if len(wanted) == 1:
            return self.gradient(*x)[..., wanted[0]]
        return self.hessian(*x)[..., wanted[0], wanted[1]]

    def gradient(self, *x: ArrayLike) -> Array:
        """First derivatives, (..., m) for m arguments of common shape (...)."""
        m = len(x)
        lanes = self._lanes(x)
        return np.moveaxis(lanes[1 : 1 + m], 0, -1)

    def hessian(self, *x: ArrayLike) -> Array:
        """Second derivatives, (..., m, m) for m arguments of common shape (...)."""
        m = len(x)
        lanes = self._lanes(x)
        second = lanes[1 + m : 1 + m + m * m]
        return np.moveaxis(second, 0, -1).reshape((*second.shape[1:], m, m))

    def _lanes(self, x: tuple[ArrayLike, ...]) -> Array:
        """Kernel output with its rows first: value and derivatives 1 to 3, or value, gradient, Hessian."""
        arguments = self._arguments(x)
        shape = np.broadcast_shapes(*(a.shape for a in arguments))
        m = len(arguments)
        if m == 1:
            out = np.zeros((4, *shape), dtype=arguments[0].dtype)
            evaluate_lanes(self.table, 0, np.ravel(arguments[0]), out.reshape(4, -1))
            return out
        stacked = np.zeros((max(m, 1), *shape), dtype=np.result_type(np.float64, *arguments))
        for k, argument in enumerate(arguments):
            stacked[k] = argument
        out = np.zeros((1 + m + m * m, *shape), dtype=stacked.dtype)
        evaluate_many_lanes(self.table, 0, stacked.reshape(max(m, 1), -1), np.arange(m), out.reshape(len(out), -1))
        return out

    def _arguments(self, x: tuple[ArrayLike, ...]) -> list[Array]:
        """The arguments as float64 or complex128 arrays of a number that the function takes."""
        if self.n_arguments not in (0, len(x)):
            raise InvalidInput(f"{type(self).__name__} takes {self.n_arguments} argument(s), got {len(x)}")
        arguments = []
        for value in x:
            array = np.asarray(value)
            if array.dtype.kind not in "biufc":
                raise InvalidInput(f"{type(self).__name__}: arguments are numbers, got {array.dtype}")
            arguments.append(np.ascontiguousarray(array, dtype=complex if array.dtype.kind == "c" else float))
            arguments[-1] = arguments[-1].reshape(array.shape)
        return arguments


def set_number(owner: Any, name: str) -> None:
    """Keep a field of a frozen description as a finite float."""
    object.__setattr__(owner, name, finite_numbers(owner, name, (getattr(owner, name),))[0])


def set_numbers(owner: Any, name: str) -> None:
    """Keep a field of a frozen description as a tuple of finite floats."""
    object.__setattr__(owner, name, finite_numbers(owner, name, getattr(owner, name)))


def set_knots(owner: Any, at_least: int, repeated: bool = False) -> None:
    """Keep x and y as tuples of finite floats: equally long, enough, x increasing (strictly unless `repeated`)."""
    set_numbers(owner, "x")
    set_numbers(owner, "y")
    kind, x, y = type(owner).__name__, owner.x, owner.y
    if len(x) != len(y):
        raise InvalidInput(f"{kind}: x has {len(x)} values and y has {len(y)}; each knot needs both")
    if len(x) < at_least:
        raise InvalidInput(f"{kind}: needs at least {at_least} knots, got {len(x)}")
    for k in range(1, len(x)):
        if x[k] < x[k - 1] or (x[k] == x[k - 1] and not repeated):
            raise InvalidInput(
                f"{kind}: x must increase strictly, but x[{k - 1}] = {x[k - 1]:g} and x[{k}] = {x[k]:g}; "
                "sort the knots and drop repeated ones"
            )


def finite_numbers(owner: Any, name: str, values: Iterable[Any]) -> tuple[float, ...]:
    """The values as a tuple of floats; `InvalidInput` names the first that is not a finite number."""
    kind = type(owner).__name__
    try:
        array = np.asarray(values, dtype=float).ravel()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{kind}: {name} must be numbers, got {values!r}") from error
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InvalidInput(f"{kind}: {name} must be finite, but value {bad[0]} is {array[bad[0]]}")
    return tuple(array.tolist())
