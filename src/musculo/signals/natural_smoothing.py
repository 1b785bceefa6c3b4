"""Natural splines over time: what OpenSim calls GCV splines, and how its tools interpolate and differentiate."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.functions.bsplines import natural_spline
from musculo.functions.natural_spline import smoothed_values
from musculo.signals.labels import labeled_like, refuse_other_units, time_first
from musculo.signals.named_arrays import series

DEGREES = (1, 3, 5, 7)
# Frames so close, in median steps, are at one time that a sum of steps rounded (1e-12 s at 100 Hz, which no clock
# tells); rates between them would be the rounding of their values. Simulations with their own steps keep theirs.
_SAME_TIME = 1e-10


class NaturalSpline:
    """The natural spline of degree 2m - 1 through every point, for all columns at once.

        s(t_i) = y_i,   s^(m) = ... = s^(2m-2) = 0 at both ends,   beyond them the Taylor polynomial of degree m - 1

    Source:     [Woltring1986] with zero smoothing, as OpenSim's tools use it: quintic for coordinates, cubic for loads.
    Guarantees: passes through the points; reproduces polynomials of degree m - 1. Of frames closer than 1e-10 of the
                median step, the last counts.

    Args:
        time: (n,) increasing [s], n at least degree + 1.
        values: (n, ...) finite; what it gives is a plain array, so labeled values that state degrees are refused.
        degree: 1, 3, 5 or 7.
    """

    def __init__(self, time: ArrayLike, values: ArrayLike, degree: int = 5) -> None:
        if degree not in DEGREES:
            raise InvalidInput(f"a natural spline has degree {', '.join(map(str, DEGREES))}, not {degree!r}")
        refuse_other_units(values)
        t, y = series(time, time_first(values), least=degree + 1)
        apart = np.append(np.diff(t) > _SAME_TIME * np.median(np.diff(t)), True)
        if not apart.all() and apart.sum() > degree:
            t, y = t[apart], y[apart]
        self.degree, self.time = degree, t
        self._shape = y.shape[1:]
        # In steps instead of seconds: derivatives of order 4 would scale the end conditions by 1e12 at 1 kHz.
        self._start, self._step = t[0], (t[-1] - t[0]) / (len(t) - 1)
        s = (t - self._start) / self._step
        if not (np.diff(s) > 0.0).all():
            raise InvalidInput("two times are so close that they cannot be told apart; drop one of the frames")
        columns = y.reshape(len(t), -1)
        try:
            self._spline = natural_spline(s, columns, degree)
        except np.linalg.LinAlgError as error:
            raise InvalidInput(
                f"no spline passes through these frames ({error}); are two times nearly equal?"
            ) from None
        self._ends = (s[0], s[-1])

    def __call__(self, time: ArrayLike, derivative: int = 0) -> FloatArray:
        """Values or derivatives (frames, ...) at any times; [unit / s^derivative]."""
        t = np.asarray(time, dtype=float)
        if not np.isfinite(t).all():
            raise InvalidInput("a time at which the spline is wanted is not finite")
        s = (np.atleast_1d(t).ravel() - self._start) / self._step
        first, last = self._ends
        y = self._spline(np.clip(s, first, last), derivative)
        for end, outside in ((first, s < first), (last, s > last)):
            if outside.any():
                y[outside] = self._beyond(end, s[outside] - end, derivative)
        return np.asarray(y / self._step**derivative).reshape(t.shape + self._shape)

    def cubic_pieces(self) -> FloatArray:
        """(n + 1, columns, 4) polynomials, highest power first, of a spline of degree 1 or 3.

        Row 0 holds before the first time, row k from time k - 1 on, the last one after the last time; of the time since
        that, the first since the first time.
        """
        t, columns = self.time, self._spline.coefficients.shape[1]
        out = np.zeros((len(t) + 1, columns, 4))
        y, h = self(t).reshape(len(t), columns), np.diff(t)[:, None]
        out[1:, :, 3] = y
        out[0, :, 3] = y[0]
        if self.degree == 1:
            out[1:-1, :, 2] = np.diff(y, axis=0) / h
            return out
        if self.degree != 3:
            raise InvalidInput(f"a spline of degree {self.degree} has no cubic pieces")
        slope, bend = (self(t, order).reshape(len(t), columns) for order in (1, 2))
        out[1:, :, 2] = slope
        out[0, :, 2] = slope[0]
        out[1:-1, :, 1] = 0.5 * bend[:-1]
        out[1:-1, :, 0] = np.diff(bend, axis=0) / (6.0 * h)
        return out

    def _beyond(self, end: float, offset: FloatArray, derivative: int) -> FloatArray:
        """The Taylor polynomial of degree m - 1 at an end."""
        total = np.zeros((len(offset), self._spline.coefficients.shape[1]))
        for order in range(derivative, (self.degree + 1) // 2):
            power = order - derivative
            total += np.outer(offset**power / math.factorial(power), self._spline(np.array([end]), order))
        return total


def smoothing_spline(
    time: ArrayLike, values: ArrayLike, *, degree: int = 5, error_variance: float | None = None
) -> NaturalSpline:
    """The natural spline that smooths as much as generalized cross-validation says, or to a known error variance.

    Source: [Woltring1986]; see `functions.natural`. OpenSim's tools never smooth: use `NaturalSpline` to follow them.
    """
    if degree not in DEGREES[1:]:
        raise InvalidInput(f"a smoothing spline has degree {', '.join(map(str, DEGREES[1:]))}, not {degree!r}")
    refuse_other_units(values)
    t, y = series(time, time_first(values), least=degree + 3)
    half_order = (degree + 1) // 2
    columns = y.reshape(len(t), -1)
    try:
        fitted = [smoothed_values(t, column, half_order, error_variance) for column in columns.T]
    except (np.linalg.LinAlgError, ValueError) as error:
        raise InvalidInput(f"the smoothing problem has no solution ({error}); are two times nearly equal?") from None
    return NaturalSpline(t, np.stack(fitted, axis=1).reshape(y.shape), degree)


def time_derivative(time: ArrayLike, values: ArrayLike, order: int = 1, *, degree: int = 5) -> FloatArray:
    """Time derivative (n, ...) at the frames, by the natural spline through them.

    Differentiation amplifies noise by frequency: filter measured signals first. A data frame, series or xarray comes
    back as one, its units per second; the mark that angles are in degrees stays, and functions of speeds convert them.
    """
    if order not in (1, 2):
        raise InvalidInput(f"the derivative's order is {order!r}; it may be 1 or 2")
    given = time_first(values)
    t, y = series(time, given)
    return cast(FloatArray, labeled_like(given, NaturalSpline(t, y, degree)(t, order), order=order))


def resample(time: ArrayLike, values: ArrayLike, new_time: ArrayLike, degree: int = 5) -> FloatArray:
    """Values (m, ...) at other times within the recording, by the natural spline through the frames.

    Fewer frames alias what is faster than half their rate: filter first. A data frame, series or xarray comes back as
    one.
    """
    given = time_first(values)
    t, y = series(time, given)
    wanted = np.asarray(new_time, dtype=float)
    slack = 1e-9 * max(t[-1] - t[0], 1e-300)
    if wanted.size and (wanted.min() < t[0] - slack or wanted.max() > t[-1] + slack):
        raise InvalidInput(
            f"times from {wanted.min():g} to {wanted.max():g} s are wanted, the frames span {t[0]:g} to {t[-1]:g} s; "
            "a recording says nothing beyond its ends"
        )
    return cast(FloatArray, labeled_like(given, NaturalSpline(t, y, degree)(wanted), wanted))


def even_times(time: ArrayLike, rate: float) -> FloatArray:
    """Times from the first frame on, `rate` a second, up to the last frame."""
    t = np.asarray(time, dtype=float)
    check = series(t, t)
    if not np.isfinite(rate) or rate <= 0.0:
        raise InvalidInput(f"a rate of {rate!r} frames a second is impossible; give a positive number")
    count = math.floor((check.time[-1] - check.time[0]) * rate * (1.0 + 1e-12) + 1e-9) + 1
    if count > 100_000_000:
        raise InvalidInput(f"a rate of {rate:g} would make {count} frames; give a smaller one")
    return np.asarray(check.time[0] + np.arange(count) / rate)
