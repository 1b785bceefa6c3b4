"""The terms of which every constraint is a sum (`musculo.kernels.absolute.constraint_terms` says what each is)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from musculo.absolute.frame import Frame
from musculo.errors import InvalidModel
from musculo.functions.function import Function
from musculo.kernels.absolute import constraint_terms as kinds
from musculo.model.body import Vec3
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS

AXES = (X_AXIS, Y_AXIS, Z_AXIS)


@dataclass(frozen=True, eq=False)
class Term:
    """`coefficient` times one of the few terms; make it with the functions below."""

    kind: int
    first: Frame | None = None
    second: Frame | None = None
    coefficient: float = 1.0
    a: tuple[float, ...] = ()
    b: tuple[float, ...] = ()
    function: Function | None = None
    coordinates: tuple[str, ...] = ()
    number: str = ""

    def __mul__(self, factor: float) -> Term:
        return replace(self, coefficient=self.coefficient * factor)

    __rmul__ = __mul__

    def __neg__(self) -> Term:
        return self * -1.0


Row = tuple[Term, ...]
"""One equation: the sum of its terms is zero."""


def _numbers(x: Sequence[float], count: int, what: str) -> tuple[float, ...]:
    """As many numbers as there must be."""
    try:
        found = tuple(float(value) for value in x)
    except (TypeError, ValueError):
        found = ()
    if len(found) != count:
        raise InvalidModel(f"{what} is {x!r}; it needs {count} numbers")
    return found


def dot(first: Frame, a: Vec3, second: Frame, b: Vec3) -> Term:
    """The scalar product of a direction of the first frame with one of the second."""
    return Term(kinds.DOT, first, second, a=_numbers(a, 3, "a direction"), b=_numbers(b, 3, "a direction"))


def along(first: Frame, a: Vec3, second: Frame) -> Term:
    """How far the second frame's origin is from the first's along a direction of the first."""
    return Term(kinds.ALONG, first, second, a=_numbers(a, 3, "a direction"))


def length(first: Frame, second: Frame) -> Term:
    """The distance of two frames' origins."""
    return Term(kinds.LENGTH, first, second)


def quadric(first: Frame, weights: Vec3, second: Frame) -> Term:
    """sum_k weights_k e_k^2 / 2, with e the second frame's origin as the first has it."""
    return Term(kinds.QUADRIC, first, second, a=_numbers(weights, 3, "a set of weights"))


def euler_parameter(first: Frame, v: Sequence[float], second: Frame) -> Term:
    """v . p_AB: of the Euler parameters of the second frame relative to the first (Antunes2025 eq. 18, 19)."""
    return Term(kinds.EULER, first, second, a=_numbers(v, 4, "a vector of Euler parameters"))


def number(name: str) -> Term:
    """What is given over time under this name."""
    return Term(kinds.NUMBER, number=name)


def function_of(function: Function, coordinates: Sequence[str]) -> Term:
    """A function of coordinates."""
    return Term(kinds.FUNCTION, function=function, coordinates=tuple(coordinates)[: function.n_arguments])


def constant(value: float) -> Term:
    """A number that never changes."""
    return Term(kinds.CONSTANT, coefficient=value)


def points_coincide(first: Frame, second: Frame) -> tuple[Row, ...]:
    """Three equations: the origins of two frames coincide."""
    return tuple((along(first, axis, second),) for axis in AXES)


def directions_align(first: Frame, second: Frame) -> tuple[Row, ...]:
    """Two equations: the z axes of two frames are parallel."""
    return ((dot(first, X_AXIS, second, Z_AXIS),), (dot(first, Y_AXIS, second, Z_AXIS),))


def frames_align(first: Frame, second: Frame) -> tuple[Row, ...]:
    """Three equations: all axes of two frames are parallel.

    Each is the sine of a small angle between them, about z, x and y.
    """
    pairs = ((X_AXIS, Y_AXIS), (Y_AXIS, Z_AXIS), (Z_AXIS, X_AXIS))
    return tuple((dot(first, a, second, b),) for a, b in pairs)
