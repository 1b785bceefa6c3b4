"""Single steps of Runge-Kutta-Fehlberg and of TR-BDF2, with an estimate of their error; no step is chosen here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.integrate.step_coefficients import (
    BETWEEN,
    DIAGONAL,
    DIFFERENCE,
    FIFTH,
    GAMMA,
    NODES,
    NUDGE,
    ROUNDS,
    STAGES,
)

Rates = Callable[[float, FloatArray], FloatArray]


def rkf45_step(rates: Rates, t: float, y: FloatArray, f: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
    """y at t + h of fifth order, and its difference from that of fourth order.

        k_i = f(t + c_i h, y + h sum_j a_ij k_j),   y+ = y + h sum_i b_i k_i

    Source:  Fehlberg 1969, NASA TR R-315, table III; as Ehsani2023 uses it.
    Departs: the result of higher order is kept (local extrapolation).

    Args: f: the rates at (t, y).
    """
    k = np.empty((6, y.size))
    k[0] = f
    for i in range(1, 6):
        k[i] = rates(t + NODES[i] * h, y + h * (STAGES[i, :i] @ k[:i]))
    return y + h * (FIFTH @ k), h * (DIFFERENCE @ k)


def newton_matrix(rates: Rates, t: float, y: FloatArray, f: FloatArray, h: float) -> tuple[FloatArray, FloatArray]:
    """LU factors of I - d h df/dy, d = 1 - 1/sqrt(2); the derivative by forward differences."""
    from scipy.linalg.lapack import dgetrf

    n = y.size
    J = np.empty((n, n))
    for j in range(n):
        step = NUDGE * max(1.0, abs(y[j]))
        shifted = y.copy()
        shifted[j] += step
        J[:, j] = (rates(t, shifted) - f) / (shifted[j] - y[j])
    # LAPACK itself: SciPy's checks would cost more than the factors of so few states
    lu, pivots, _ = dgetrf(np.eye(n) - DIAGONAL * h * J)
    return lu, pivots


def tr_bdf2_step(
    rates: Rates,
    t: float,
    y: FloatArray,
    f: FloatArray,
    h: float,
    matrix: tuple[FloatArray, FloatArray],
    small: Callable[[FloatArray], bool],
) -> tuple[FloatArray, FloatArray] | None:
    """y at t + h of second order and an estimate of its error; None where Newton's iteration does not converge.

        y_g = y + g h/2 (f + f_g),   y+ = (y_g - (1 - g)^2 y) / (g (2 - g)) + (1 - g) / (2 - g) h f+,   g = 2 - sqrt(2)

    L-stable. The error is the difference from an embedded result of third order, put through the matrix so that it
    stays small where the motion is stiff.

    Source: Bank1985; Hosea1996 for the error.

    Args:
        rates, t, y, f, h: as in `rkf45_step`.
        matrix: from `newton_matrix`.
        small: whether a change of y is small enough to end Newton's iteration.
    """
    from scipy.linalg.lapack import dgetrs

    d = DIAGONAL * h
    middle = _solved(rates, t + GAMMA * h, y + d * f, d, y + GAMMA * h * f, matrix, small)
    if middle is None:
        return None
    y_g, f_g = middle
    known = (y_g - (1.0 - GAMMA) ** 2 * y) / (GAMMA * (2.0 - GAMMA))
    last = _solved(rates, t + h, known, d, y_g + (1.0 - GAMMA) * h * f_g, matrix, small)
    if last is None:
        return None
    y_1, f_1 = last
    error = h * (BETWEEN @ np.stack([f, f_g, f_1]))
    return y_1, dgetrs(*matrix, error)[0]


def _solved(
    rates: Rates,
    t: float,
    known: FloatArray,
    d: float,
    guess: FloatArray,
    matrix: tuple[FloatArray, FloatArray],
    small: Callable[[FloatArray], bool],
) -> tuple[FloatArray, FloatArray] | None:
    """x = known + d f(t, x) and its f."""
    from scipy.linalg.lapack import dgetrs

    x = guess
    for _ in range(ROUNDS):
        change = dgetrs(*matrix, known + d * rates(t, x) - x)[0]
        x = x + change
        if small(change):
            # f as the equation has it: differences of large stiff rates would lose digits
            return x, (x - known) / d
    return None
