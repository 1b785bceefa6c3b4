"""Least effort for one frame and powers above two, where curvatures differ by any factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray

# Newton's step that ends the search, of the largest x: how far the answer is, since the last steps converge squared.
ANSWER_TOLERANCE = 1e-9
MOST_STEPS = 2000
# Entries of A_B^-1 A_N below this part of the largest are rounding, for instance of moment arms that are zero: beside a
# gradient that is larger by 1e100 they would count.
_NOTHING = 1e-11
# A basic variable gives way to another that is lighter by this factor, so that steps of the others cost it little.
_LIGHTER = 4.0
# Logarithms: of how much lighter columns lead in the choice of the first basis, and of what cannot move.
_LEAD, _IMMOVABLE = 12.0, 1e6
# What is as near to a bound as this, of the largest x, starts there.
_AT_BOUND = 1e-8
# Reduced gradients below this part of their own terms are zero; what is at a bound is looked at again below that one.
_FLAT, _NEARLY_FLAT = 1e-9, 1e-3
# The smallest gradient beside the largest: powers below are not told from zero. Logarithm of the largest of one that
# cannot change.
_LEAST, _MOST = 1e-290, 600.0
_HALVINGS = 14


class GradedNewton:
    """minimize sum_i w_i |x_i|^p subject to A x = b, lower <= x <= upper, from an x that serves the equations.

    Newton's method on the variables that are not at a bound. With p = 100, curvatures |x|^(p-2) of variables at 1 and
    at 0.01 differ by 1e196, which no norm of a system of equations survives. So the equations are solved for the
    lightest variables B that can carry them, x_B = A_B^-1 (b - A_N x_N), and every entry of

        M = W_B A_B^-1 A_N / W_N,    W = sqrt(curvature)

    is of the order of one or less: in (I + M' M) W_N d_N = right-hand side, heavy and light variables separate, and
    elimination finds each step to the precision of its own size, however small its gradient is beside the others
    (as in weighted least squares with a basis of the smallest weights: Bjorck, Numerical Methods for Least Squares
    Problems, 1996, chapter 4). Signs of reduced gradients, g_N - (A_B^-1 A_N)' g_B, are judged beside their own terms
    for the same reason.

    Args:
        A, b: (k, n) of full row rank, (k,).
        lower, upper, weights: (n,).
        power: above 2.
    """

    def __init__(
        self,
        A: FloatArray,
        b: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        weights: FloatArray,
        power: float,
    ) -> None:
        self.A, self.b, self.lower, self.upper, self.power = A, b, lower, upper, power
        self.log_weights = np.log(weights)
        self.least = _LEAST ** (1.0 / power)

    def solve(self, x: FloatArray) -> FloatArray | None:
        """The answer, or None where the search did not end."""
        near = _AT_BOUND * float(np.abs(x).max(initial=0.0))
        self.at = np.where(x <= self.lower + near, -1, np.where(x >= self.upper - near, 1, 0))
        x = np.where(self.at < 0, self.lower, np.where(self.at > 0, self.upper, x))
        if near == 0.0:
            return x
        if not self._first_basis(x, near / _AT_BOUND):
            return None
        for turn in range(MOST_STEPS):
            top = self._scale(x)
            if not self._lighten(x, top):
                return None
            d = self._step(x, top)
            t, hit = self._room(x, d)
            small = float(np.abs(d).max()) <= ANSWER_TOLERANCE * top
            if not small or hit < 0:
                part = t if small else self._part(x, d, t, top)
                x = np.clip(x + part * d, self.lower, self.upper)
                hit = hit if part == t else -1
            if hit >= 0:
                self.at[hit] = -1 if d[hit] < 0.0 else 1
                x[hit] = self.lower[hit] if d[hit] < 0.0 else self.upper[hit]
            elif small or (turn % 4 == 3 and self._nearly(x, top)):
                freed = self._wrong(x, top)
                if small and not freed.size:
                    return x
                self.at[freed] = 0
        return None

    def _first_basis(self, x: FloatArray, top: float) -> bool:
        """Columns that are large and light."""
        from scipy.linalg import qr

        k = len(self.b)
        heavy = np.where(self.at == 0, self._heaviness(x, top), 0.0)
        lead = np.exp(np.minimum(heavy.min() - heavy, 0.0).clip(-_LEAD)) * np.where(self.at == 0, 1.0, np.exp(-_LEAD))
        order = qr(self.A * lead, mode="r", pivoting=True)[1] if k else np.zeros(0)
        self.basis: NDArray[np.int64] = np.asarray(order[:k], dtype=np.int64)
        return self._table()

    def _table(self) -> bool:
        """A_B^-1, and T = A_B^-1 A of all variables."""
        try:
            self.inverse = np.linalg.inv(self.A[:, self.basis])
        except np.linalg.LinAlgError:
            return False
        T = self.inverse @ self.A
        T[np.abs(T) <= _NOTHING * np.abs(T).max(initial=0.0)] = 0.0
        T[:, self.basis] = np.eye(len(self.basis))
        self.T = T
        return True

    def _scale(self, x: FloatArray) -> float:
        """The largest x that can move: others, for instance an actuator with an equation of its own, set no scale."""
        free = self.at == 0
        others = free.copy()
        others[self.basis] = False
        carry = (self.T[:, others] != 0.0).any(axis=1)
        others[self.basis[carry]] = True
        top = float(np.abs(x[others & free]).max(initial=0.0))
        return top if top > 0.0 else float(np.abs(x).max())

    def _heaviness(self, x: FloatArray, top: float) -> FloatArray:
        """Logarithms of W."""
        size = np.maximum(np.abs(x) / top, self.least)
        half: FloatArray = 0.5 * np.minimum(self.log_weights + (self.power - 2.0) * np.log(size), _MOST)
        return half

    def _lighten(self, x: FloatArray, top: float) -> bool:
        """Exchange basic variables until none is much heavier than one that could take its place."""
        # What is at a bound does not move: it is the heaviest.
        heavy = np.where(self.at != 0, _IMMOVABLE, self._heaviness(x, top))
        outside = self.at == 0
        outside[self.basis] = False
        if not outside.any() or not len(self.basis):
            return True
        T, changed = self.T, False
        for _ in range(20 * (len(self.basis) + 1)):
            with np.errstate(divide="ignore"):
                gain = np.log(np.abs(T)) + heavy[self.basis][:, None] - heavy
            gain[:, ~outside] = -np.inf
            row, column = np.unravel_index(int(gain.argmax()), gain.shape)
            if gain[row, column] <= np.log(_LIGHTER):
                return self._table() if changed else True
            leaves, T = self.basis[row], T.copy() if not changed else T
            outside[leaves], outside[column], changed = self.at[leaves] == 0, False, True
            self.basis[row] = column
            pivot = T[row] / T[row, column]
            T -= np.outer(T[:, column], pivot)
            T[row] = pivot
            T[np.abs(T) <= _NOTHING * np.abs(T).max()] = 0.0
        return False

    def _step(self, x: FloatArray, top: float) -> FloatArray:
        """Newton's, and what is left of the equations."""
        outside = self.at == 0
        outside[self.basis] = False
        N, B = np.flatnonzero(outside), self.basis
        d = np.zeros(len(x))
        heavy = self._heaviness(x, top)
        T = self.T[:, N]
        with np.errstate(over="ignore"):
            M = np.where(T != 0.0, T * np.exp(np.minimum(heavy[B][:, None] - heavy[N], _MOST / 2)), 0.0)
        M[self.at[B] != 0] = 0.0
        # Where one variable alone would go: -gradient / curvature.
        size = np.abs(x) / top
        alone = -x / (self.power - 1.0) * np.minimum(size / self.least, 1.0) ** (self.power - 2.0)
        W = np.exp(heavy)
        f = W[N] * alone[N] - M.T @ (W[B] * alone[B])
        K = M.T @ M
        K[np.diag_indices_from(K)] += 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            d[N] = _solve_positive(K, f) / W[N] if N.size else 0.0
        d[B] = self.inverse @ (self.b - self.A @ x) - T @ d[N]
        d[B[self.at[B] != 0]] = 0.0
        return d

    def _room(self, x: FloatArray, d: FloatArray) -> tuple[float, int]:
        """How much of a step stays within the bounds, and which bound ends it (-1: none)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(d < 0.0, (self.lower - x) / d, np.where(d > 0.0, (self.upper - x) / d, np.inf))
        part = np.where(self.at == 0, part, np.inf)
        first = int(part.argmin())
        return (1.0, -1) if part[first] >= 1.0 else (max(float(part[first]), 0.0), first)

    def _reduced(self, x: FloatArray, top: float) -> tuple[FloatArray, FloatArray]:
        """Reduced gradients of all variables, and the sum of sizes of their terms."""
        size = np.abs(x) / top
        log = self.log_weights + (self.power - 1.0) * np.log(np.maximum(size, self.least))
        g = np.where(size < self.least, 0.0, np.sign(x) * np.exp(np.minimum(log, _MOST)))
        terms = g[self.basis]
        return g - terms @ self.T, np.abs(g) + np.abs(terms) @ np.abs(self.T)

    def _part(self, x: FloatArray, d: FloatArray, most: float, top: float) -> float:
        """How far to go along a step: to where the effort is least, or to the bound.

        Slopes of variables that have arrived are rounding, which could hide the slopes of lighter ones: they do not
        count.
        """
        outside = self.at == 0
        outside[self.basis] = False

        def uphill(t: float) -> bool:
            y = x + t * d
            r, s = self._reduced(y, max(top, float(np.abs(y).max())))
            counts = outside & (np.abs(r) > _FLAT * s)
            return bool(r[counts] @ d[counts] > 0.0)

        if not uphill(most):
            return most
        low, high = 0.0, most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if uphill(middle):
                high = middle
            else:
                low = middle
        return low if low > 0.0 else high

    def _nearly(self, x: FloatArray, top: float) -> bool:
        r, s = self._reduced(x, top)
        return bool((np.abs(r) <= _NEARLY_FLAT * s)[self.at == 0].all())

    def _wrong(self, x: FloatArray, top: float) -> NDArray[np.int64]:
        """Those at a bound that had better leave it."""
        r, s = self._reduced(x, top)
        room = self.upper > self.lower
        inward = np.where(self.at < 0, -r, r)
        found: NDArray[np.int64] = np.flatnonzero((self.at != 0) & room & (inward > _NEARLY_FLAT * 1e-3 * s))
        return found


def _solve_positive(K: FloatArray, f: FloatArray) -> FloatArray:
    from scipy.linalg import cho_factor, cho_solve

    found: FloatArray = cho_solve(cho_factor(K, check_finite=False), f, check_finite=False)
    return found
