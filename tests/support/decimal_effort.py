"""Least effort in decimal arithmetic of 420 digits, with proof: an answer is returned with multipliers that certify it.

    minimise sum_i w_i |x_i|^p   subject to   A x = b,   lower <= x <= upper

The program is convex, so whatever meets its conditions of Karush, Kuhn and Tucker is the answer, wherever the search
began: A x = b; p w_i |x_i|^(p-1) sign(x_i) = A_i' lambda between the bounds, at least that at a lower one and at most
that at an upper one. At power 100 these gradients differ by 1e200; so many digits hold them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np

DIGITS = 420
MOST_STEPS = 1000
# Newton's steps converge squared: one of this size, of each x, is followed by nothing that a double would show.
ARRIVED = Decimal("1e-25")


@dataclass(frozen=True, eq=False)
class Certified:
    x: np.ndarray  # rounded to doubles
    steps: int
    imbalance: float  # largest |A x - b|
    slope: float  # largest part of a gradient that no multiplier explains, over its own size, between the bounds


def decimals(values) -> np.ndarray:
    return np.vectorize(lambda v: Decimal(float(v)), otypes=[object])(values)


def certified(A, b, lower, upper, weights, power: float, start, digits: int = DIGITS) -> Certified | None:
    """The answer in decimals, from an x that serves equations and bounds; None where the search did not end."""
    with localcontext() as context:
        context.prec = digits
        return _Program(A, b, lower, upper, weights, power).solve(np.asarray(start, dtype=float))


class _Program:
    def __init__(self, A, b, lower, upper, weights, power: float) -> None:
        self.A, self.b, self.w, self.p = decimals(A), decimals(b), decimals(weights), Decimal(power)
        self.lower = [Decimal(float(v)) if np.isfinite(v) else Decimal("-Infinity") for v in lower]
        self.upper = [Decimal(float(v)) if np.isfinite(v) else Decimal("Infinity") for v in upper]

    def gradient(self, x):
        sizes = np.array([abs(v) ** (self.p - 1) * (1 if v >= 0 else -1) for v in x], dtype=object)
        return self.p * self.w * sizes

    def solve(self, start) -> Certified | None:
        low, top = np.array(self.lower, dtype=object), np.array(self.upper, dtype=object)
        x = decimals(start)
        at = np.where(x <= low, -1, np.where(x >= top, 1, 0))
        # A start in doubles misses the equations by rounding. Steps that mend this as well may be none along which the
        # sum falls, and a search may then creep; so it is mended first.
        inner = self.A[:, at == 0]
        x[at == 0] += inner.T @ _eliminate(inner @ inner.T, self.b - self.A @ x)
        for step in range(MOST_STEPS):
            free = np.flatnonzero(at == 0)
            A, g = self.A[:, free], self.gradient(x)
            size = np.array([max(abs(v), Decimal("1e-30")) ** (self.p - 2) for v in x[free]], dtype=object)
            curvature = self.p * (self.p - 1) * self.w[free] * size
            missing = self.b - self.A @ x
            multipliers = _eliminate((A / curvature) @ A.T, missing + A @ (g[free] / curvature))
            d = (A.T @ multipliers - g[free]) / curvature
            part, hit = self._room(x, d, free)
            relative = max(abs(v) / max(abs(y), Decimal("1e-6")) for v, y in zip(d, x[free], strict=True))
            if relative > Decimal("1e-3") and self._slope(x, d, free, part) > 0:
                part, hit = self._least(x, d, free, part), -1
            x[free] = x[free] + part * d
            if hit >= 0:
                at[free[hit]] = -1 if d[hit] < 0 else 1
                x[free[hit]] = low[free[hit]] if d[hit] < 0 else top[free[hit]]
            elif relative < ARRIVED:
                g = self.gradient(x)
                slope = g - self.A.T @ multipliers
                wrong = [i for i in np.flatnonzero(at) if (slope[i] < 0) == (at[i] < 0) and slope[i] != 0]
                if not wrong:
                    left = max((abs(slope[i] / g[i]) for i in free if g[i] != 0), default=Decimal(0))
                    imbalance = max(abs(v) for v in self.b - self.A @ x)
                    return Certified(x.astype(float), step, float(imbalance), float(left))
                at[max(wrong, key=lambda i: abs(slope[i]))] = 0
        return None

    def _room(self, x, d, free):
        part, hit = Decimal(1), -1
        for k, i in enumerate(free):
            y = x[i] + part * d[k]
            if y < self.lower[i] or y > self.upper[i]:
                bound = self.lower[i] if y < self.lower[i] else self.upper[i]
                part, hit = (bound - x[i]) / d[k], k
        return part, hit

    def _slope(self, x, d, free, part):
        y = x.copy()
        y[free] = x[free] + part * d
        return self.gradient(y)[free] @ d

    def _least(self, x, d, free, part):
        low, high = Decimal(0), part
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (low, middle) if self._slope(x, d, free, middle) > 0 else (middle, high)
        return (low + high) / 2


def _eliminate(S, r):
    """S x = r for a positive definite S, the largest pivot first."""
    S, r = S.copy(), r.copy()
    n = len(r)
    order = list(range(n))
    for k in range(n):
        j = max(range(k, n), key=lambda t: S[t, t])
        S[[k, j]], r[[k, j]] = S[[j, k]], r[[j, k]]
        S[:, [k, j]] = S[:, [j, k]]
        order[k], order[j] = order[j], order[k]
        for i in range(k + 1, n):
            if S[i, k] != 0:
                factor = S[i, k] / S[k, k]
                S[i, k:] = S[i, k:] - factor * S[k, k:]
                r[i] -= factor * r[k]
    x = np.full(n, Decimal(0), dtype=object)
    for k in range(n - 1, -1, -1):
        x[order[k]] = (r[k] - sum((S[k, m] * x[order[m]] for m in range(k + 1, n)), Decimal(0))) / S[k, k]
    return x
