"""States between steps: Hermite's interpolation, or the polynomial that a method brings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray


def chebyshev_points(start: float, end: float, degree: int) -> FloatArray:
    """degree + 1 points from start to end, both included, dense at the ends."""
    x = 0.5 * (1.0 - np.cos(np.pi * np.arange(degree + 1) / degree))
    return start + (end - start) * x


@dataclass(frozen=True, eq=False)
class Course:
    """The steps of a simulation, and what lies between them.

    With rates alone: the polynomial of fifth degree through states and rates of three steps that follow each other
    (cubic where there are only two); its error is of sixth order, above that of the methods that use it. With
    polynomials: those, which are the method's own.
    """

    t: FloatArray  # (steps + 1,)
    y: FloatArray  # (steps + 1, n)
    f: FloatArray | None  # (steps + 1, n) rates
    polynomials: FloatArray | None  # (steps, degree + 1, n) at Chebyshev's points of each step

    def step_of(self, times: FloatArray) -> np.ndarray:
        """The step that each time falls into."""
        return np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, max(len(self.t) - 2, 0))

    def __call__(self, times: FloatArray) -> FloatArray:
        """(times, n) states at times within the course."""
        if len(self.t) == 1:
            return np.repeat(self.y, len(times), axis=0)
        if np.array_equal(times, self.t):
            return self.y.copy()
        step = self.step_of(times)
        if self.polynomials is not None:
            result = self._barycentric(times, step)
        else:
            result = self._hermite(times, step)
        # at the steps themselves nothing is interpolated
        at = np.searchsorted(self.t, times)
        same = self.t[np.minimum(at, len(self.t) - 1)] == times
        result[same] = self.y[at[same]]
        return result

    def _barycentric(self, times: FloatArray, step: np.ndarray) -> FloatArray:
        assert self.polynomials is not None
        values = self.polynomials[step]
        degree = values.shape[1] - 1
        nodes = chebyshev_points(0.0, 1.0, degree)
        weights = (-1.0) ** np.arange(degree + 1)
        weights[[0, -1]] *= 0.5
        x = (times - self.t[step]) / (self.t[step + 1] - self.t[step])
        gap = x[:, None] - nodes
        exact = gap == 0.0
        gap[exact] = 1.0
        part = weights / gap
        result = np.einsum("tk,tkn->tn", part, values) / part.sum(axis=1)[:, None]
        rows, columns = np.nonzero(exact)
        result[rows] = values[rows, columns]
        return result

    def _hermite(self, times: FloatArray, step: np.ndarray) -> FloatArray:
        assert self.f is not None
        count = min(3, len(self.t))
        first = np.clip(step - 1, 0, len(self.t) - count)
        at = first[:, None] + np.arange(count)
        t, y, f = self.t[at], self.y[at], self.f[at]
        # in units of the step, so that powers stay near one
        h = (t[:, -1] - t[:, 0])[:, None]
        x, nodes = (times[:, None] - t[:, :1]) / h, (t - t[:, :1]) / h
        result = np.zeros((len(times), self.y.shape[1]))
        for i in range(count):
            others = [j for j in range(count) if j != i]
            basis, slope = np.ones(len(times)), np.zeros(len(times))
            for j in others:
                basis *= (x[:, 0] - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
                slope += 1.0 / (nodes[:, i] - nodes[:, j])
            away = x[:, 0] - nodes[:, i]
            result += ((1.0 - 2.0 * away * slope) * basis**2)[:, None] * y[:, i]
            result += (away * basis**2 * h[:, 0])[:, None] * f[:, i]
        return result
