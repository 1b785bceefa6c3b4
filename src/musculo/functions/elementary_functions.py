"""Functions with a closed formula, the piecewise constant and linear ones, and a function times a number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.functions.function import Function, set_knots, set_number, set_numbers
from musculo.functions.function_table import PackedFunction
from musculo.kernels.functions.function_values import FOURIER, PIECEWISE_POLYNOMIAL


@dataclass(frozen=True)
class Constant(Function):
    """f = value, of any number of arguments."""

    value: float = 0.0

    def __post_init__(self) -> None:
        set_number(self, "value")

    @property
    def n_arguments(self) -> int:
        return 0

    def packed(self) -> PackedFunction:
        return PackedFunction(PIECEWISE_POLYNOMIAL, 0, 0, 0, np.array([self.value]))


@dataclass(frozen=True)
class Linear(Function):
    """f(x) = slope x + intercept (OpenSim's LinearFunction of one argument)."""

    slope: float = 1.0
    intercept: float = 0.0

    def __post_init__(self) -> None:
        set_number(self, "slope")
        set_number(self, "intercept")

    def packed(self) -> PackedFunction:
        return PackedFunction(PIECEWISE_POLYNOMIAL, 1, 1, 0, np.array([self.slope, self.intercept]))


@dataclass(frozen=True)
class Polynomial(Function):
    """f(x) = sum_k coefficients[k] x^(n - 1 - k): highest power first (OpenSim's PolynomialFunction)."""

    coefficients: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        set_numbers(self, "coefficients")
        if not self.coefficients:
            raise InvalidInput("Polynomial: needs at least one coefficient")

    def packed(self) -> PackedFunction:
        degree = len(self.coefficients) - 1
        return PackedFunction(PIECEWISE_POLYNOMIAL, 1, degree, 0, np.array(self.coefficients))


@dataclass(frozen=True)
class Sine(Function):
    """f(x) = amplitude sin(omega x + phase) + offset (OpenSim's Sine).

    Compiled as a Fourier series of one harmonic, by sin(a + b) = cos(a) sin(b) + sin(a) cos(b).
    """

    amplitude: float = 1.0
    omega: float = 1.0
    phase: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        for name in ("amplitude", "omega", "phase", "offset"):
            set_number(self, name)

    def packed(self) -> PackedFunction:
        cosine, sine = self.amplitude * math.sin(self.phase), self.amplitude * math.cos(self.phase)
        return PackedFunction(FOURIER, 1, 0, 1, np.array([self.offset, self.omega, cosine, sine]))


@dataclass(frozen=True)
class FourierSeries(Function):
    """f(x) = offset + sum_k cosine[k] cos((k + 1) omega x) + sine[k] sin((k + 1) omega x)."""

    offset: float = 0.0
    cosine: tuple[float, ...] = ()
    sine: tuple[float, ...] = ()
    omega: float = 1.0

    def __post_init__(self) -> None:
        set_number(self, "offset")
        set_number(self, "omega")
        set_numbers(self, "cosine")
        set_numbers(self, "sine")
        if len(self.cosine) != len(self.sine):
            raise InvalidInput(
                f"FourierSeries: {len(self.cosine)} cosine and {len(self.sine)} sine coefficients; "
                "give one of each for every harmonic (0 where it is absent)"
            )

    def packed(self) -> PackedFunction:
        pairs = np.column_stack([self.cosine, self.sine]).ravel()
        return PackedFunction(FOURIER, 1, 0, len(self.cosine), np.concatenate([[self.offset, self.omega], pairs]))


@dataclass(frozen=True)
class Step(Function):
    """A smooth step between two levels (OpenSim's StepFunction).

        f(x) = start_value + (end_value - start_value) s(z),   z = (x - start) / (end - start) clamped to 0..1
        s(z) = z^3 (10 - 15 z + 6 z^2)

    Source:     OpenSim StepFunction (SimTK::stepUp).
    Guarantees: f is twice continuously differentiable, monotone, and constant outside start..end.
    """

    start: float = 0.99
    end: float = 1.01
    start_value: float = 0.0
    end_value: float = 1.0

    def __post_init__(self) -> None:
        for name in ("start", "end", "start_value", "end_value"):
            set_number(self, name)
        if self.end <= self.start:
            raise InvalidInput(f"Step: end ({self.end:g}) must lie after start ({self.start:g})")

    def packed(self) -> PackedFunction:
        width, rise = self.end - self.start, self.end_value - self.start_value
        rows = np.zeros((3, 6))
        rows[:, 5] = self.start_value, self.start_value, self.end_value
        rows[1, :3] = 6.0 * rise / width**5, -15.0 * rise / width**4, 10.0 * rise / width**3
        return packed_pieces(np.array([self.start, self.end]), rows)


@dataclass(frozen=True)
class PiecewiseLinear(Function):
    """Straight lines through the knots (x, y), continued beyond the ends (OpenSim's PiecewiseLinearFunction).

    Departs: the slope at an interior knot is the one from the right; OpenSim's search returns the left one at some.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        set_knots(self, at_least=2)

    def packed(self) -> PackedFunction:
        slopes = np.diff(self.y) / np.diff(self.x)
        rows = np.empty((len(self.x) + 1, 2))
        rows[:, 0] = np.concatenate([slopes[:1], slopes, slopes[-1:]])
        rows[:, 1] = (self.y[0], *self.y)
        return packed_pieces(np.array(self.x), rows)


@dataclass(frozen=True)
class PiecewiseConstant(Function):
    """The y of the last knot at or before x, held beyond both ends (OpenSim's PiecewiseConstantFunction).

    Departs: at every knot the value is that knot's; OpenSim's search returns the previous one at some interior knots.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        set_knots(self, at_least=1)

    def packed(self) -> PackedFunction:
        # The last breakpoint belongs to the piece at its left, so it stands twice, with an empty piece between.
        breaks = np.array([*self.x[1:], self.x[-1]])
        return packed_pieces(breaks, np.array([*self.y, self.y[-1]])[:, None])


def packed_pieces(breaks: np.ndarray, rows: np.ndarray) -> PackedFunction:
    """Breakpoints (n,) and local coefficients (n + 1, degree + 1), highest power first, as a packed function."""
    degree = rows.shape[1] - 1
    return PackedFunction(PIECEWISE_POLYNOMIAL, 1, degree, len(breaks), np.concatenate([breaks, rows.ravel()]))


def taylor_shift(coefficients: FloatArray, shift: float) -> FloatArray:
    """Coefficients, highest first, of p(t + shift) from those of p(t)."""
    shifted = np.array(coefficients)
    for last in range(len(shifted), 1, -1):
        for k in range(1, last):
            shifted[k] += shift * shifted[k - 1]
    return shifted


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
