"""The splines that OpenSim models hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.functions.elementary_functions import packed_pieces, taylor_shift
from musculo.functions.function import Function, set_knots, set_number
from musculo.functions.function_table import PackedFunction
from musculo.functions.natural_spline import natural_spline_pieces, smoothed_values
from musculo.kernels.scalar.banded_equations import solve_banded

MAX_HALF_ORDER = 4
SIMM_SMALLEST_SPACING = 1e-7  # OpenSim's


@dataclass(frozen=True)
class SimmSpline(Function):
    """The cubic spline of SIMM and OpenSim through the knots (x, y), linear beyond them.

    With s = f''/6 at the knots, h the spacings and d the slopes of the chords:

        h[i-1] s[i-1] + 2 (h[i-1] + h[i]) s[i] + h[i] s[i+1] = d[i] - d[i-1]
        s[1] - s[0] = h[0] D(first four knots),   s[-1] - s[-2] = h[-1] D(last four knots)

    D is the third divided difference, so the third derivative of an end piece is that of the cubic through the four
    knots there. Two knots give a line, three a parabola.

    Source:     Forsythe, Malcolm, Moler 1977, SPLINE; OpenSim's SimmSpline, which older files call NaturalCubicSpline.
    Departs:    OpenSim treats x within 2e-13 of an end as the end; here it does not.
    Guarantees: f'' is continuous between the end knots and zero beyond; it jumps at the ends, where it is the spline's.

    One knot is refused: OpenSim reads it, and its value is NaN. Real files repeat knots. As in OpenSim, spacings below
    1e-7 count as 1e-7, which lets the curve jump there.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        set_knots(self, at_least=2, repeated=True)

    def packed(self) -> PackedFunction:
        x, y = np.array(self.x), np.array(self.y)
        n, h = len(x), np.maximum(np.diff(x), SIMM_SMALLEST_SPACING)
        slopes = np.diff(y) / h
        # Sub-, main and superdiagonal; the first row starts on the diagonal.
        bands, right = np.zeros((n, 3)), np.zeros(n)
        bands[1:, 0], bands[1:-1, 2] = h, h[1:]
        bands[1:-1, 1], right[1:-1] = 2.0 * (h[:-1] + h[1:]), np.diff(slopes)
        bands[0, :2], bands[-1, 1] = (-h[0], h[0]), -h[-1]
        if n > 3:
            right[0] = h[0] ** 2 * _third_divided_difference(x[:4], y[:4])
            right[-1] = -(h[-1] ** 2) * _third_divided_difference(x[-4:], y[-4:])
        if n > 2:
            solve_banded(bands, 1, right[:, None])
        sigma = right
        rows = np.zeros((n + 1, 4))
        rows[1:-1, 0] = np.diff(sigma) / h
        rows[1:-1, 1] = 3.0 * sigma[:-1]
        rows[1:-1, 2] = slopes - h * (sigma[1:] + 2.0 * sigma[:-1])
        rows[1:-1, 3] = y[:-1]
        rows[0, 2:] = rows[1, 2:]
        rows[-1, 2:] = taylor_shift(rows[-2], h[-1])[2], y[-1]
        return packed_pieces(x, rows)


def _third_divided_difference(x: FloatArray, y: FloatArray) -> float:
    for order in range(1, 4):
        y = np.diff(y) / np.maximum(x[order:] - x[:-order], SIMM_SMALLEST_SPACING)
    return float(y[0])


@dataclass(frozen=True)
class NaturalCubicSpline(Function):
    """The natural cubic spline through the knots (x, y): f'' = 0 at both ends, linear beyond them.

    Departs:    OpenSim's class of this name is a `SimmSpline`.
    Guarantees: f is twice continuously differentiable everywhere, and minimizes int f''^2 among interpolants.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        set_knots(self, at_least=2)

    def packed(self) -> PackedFunction:
        x, y = np.array(self.x), np.array(self.y)
        return packed_pieces(x, natural_spline_pieces(x, y, 2))


@dataclass(frozen=True)
class GCVSpline(Function):
    """The natural spline of degree 2 half_order - 1 through, or smoothing, the knots (x, y) (OpenSim's GCVSpline).

    Beyond the ends it is the Taylor polynomial of degree half_order - 1 (constant, linear, quadratic, cubic).

    error_variance: 0 interpolates; a positive value smooths y as measured with errors of this variance, a negative one
    with errors of unknown variance, by generalized cross-validation (`natural.smoothed_values`).

    Source:     [Woltring1986], GCVSPL; OpenSim's GCVSpline, which ignores the weights its files hold.
    Guarantees: 2 half_order - 2 times continuously differentiable everywhere; derivatives half_order to
                2 half_order - 2 vanish at both ends.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    half_order: int = 3
    error_variance: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.half_order, bool) or self.half_order not in range(1, MAX_HALF_ORDER + 1):
            raise InvalidInput(f"GCVSpline: half_order is 1 to {MAX_HALF_ORDER}, got {self.half_order!r}")
        object.__setattr__(self, "half_order", int(self.half_order))
        set_number(self, "error_variance")
        set_knots(self, at_least=2 * self.half_order)

    @property
    def degree(self) -> int:
        return 2 * self.half_order - 1

    def packed(self) -> PackedFunction:
        x, y = np.array(self.x), np.array(self.y)
        if self.error_variance != 0.0:
            y = smoothed_values(x, y, self.half_order, self.error_variance if self.error_variance > 0.0 else None)
        return packed_pieces(x, natural_spline_pieces(x, y, self.half_order))
