"""States between steps: Hermite's interpolation, or the polynomial that a method brings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.integrate.whole_course import states_between


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
            assert self.f is not None
            result = np.empty((len(times), self.y.shape[1]))
            states_between(*(np.ascontiguousarray(one) for one in (self.t, self.y, self.f, times)), result)
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
