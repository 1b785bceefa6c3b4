"""One step after the other along dy/dt = f(t, y), the error of each kept: Runge-Kutta-Fehlberg and TR-BDF2.

A stepper is what `simulate` asks of a method; `musculo.simulation.sundials` has those of SUNDIALS.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import MusculoError
from musculo.kernels.integrate.step_coefficients import (
    FEHLBERG_ORDER,
    LEAST,
    MOST,
    NO_ERROR,
    SAFETY,
    SMALL,
    SMALLEST,
    TR_BDF2_ORDER,
)
from musculo.simulation.ahead import Ahead, Landed
from musculo.simulation.control import Control
from musculo.simulation.tableaus import newton_matrix, rkf45_step, tr_bdf2_step

Rates = Callable[[float, FloatArray], FloatArray]
# (t, y) -> y nearby, and its rates
Settled = Callable[[float, FloatArray], tuple[FloatArray, FloatArray]]


class StepFailed(Exception):
    """No step leads on from here; the text says why."""


class Stepper(ABC):
    """The last step of a method: from (t0, y0, f0) to (t, y, f)."""

    landed: Landed | None = None  # what else is known of its end

    def __init__(self, rates: Rates, t: float, y: FloatArray, control: Control) -> None:
        self.n_evaluations = 0
        self._of = rates
        self.t = self.t0 = t
        self.y = self.y0 = y
        self.f = self.f0 = self.rates(t, y)
        self.control = control

    def rates(self, t: float, y: FloatArray) -> FloatArray:
        self.n_evaluations += 1
        return self._of(t, y)

    @abstractmethod
    def advance(self, end: float) -> None:
        """One step, not beyond `end`.

        Raises:
            StepFailed: none is possible.
        """

    @abstractmethod
    def inside(self, t: float) -> FloatArray:
        """y at a time within the last step, as exact as the step itself."""

    def many(self, end: float) -> list[Landed]:
        """Several steps at once, in order, where they can be had for the price of one; else none is taken."""
        return []

    def polynomial(self) -> FloatArray | None:
        """(points, n) the method's own interpolant over the last step, at Chebyshev's points; None if it has none."""
        return None


class Trial(NamedTuple):
    """One step as a method proposes it."""

    y: FloatArray
    error: FloatArray


class OneStep(Stepper):
    """Methods that know nothing but the last state; a refused step is tried again, shorter.

    Args:
        settled: gives the state that a step goes on from, and its rates, where that is not the one it came to.
        ahead: takes the same steps many at a time, where that serves; what it leaves is done here.
    """

    order: int  # of the error estimate

    def __init__(
        self,
        rates: Rates,
        t: float,
        y: FloatArray,
        control: Control,
        settled: Settled | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        super().__init__(rates, t, y, control)
        self._settled, self._ahead = settled, ahead
        self._taken: list[Landed] = []  # last first
        size, fast = control.size(y, y), control.size(self.f, y)
        # a hundredth of the time in which y changes by itself [Hairer1993, II.4]
        self._h = min(0.01 * size / fast if min(size, fast) > 1e-5 else 1e-6, control.max_step)

    @abstractmethod
    def trial(self, t: float, y: FloatArray, f: FloatArray, h: float) -> Trial | None:
        """A step of length h, or None where its equations could not be solved."""

    def advance(self, end: float) -> None:
        if self._ahead is not None and self._taken_ahead(self._ahead, end):
            return
        self.landed = None
        h = min(self._h, self.control.max_step)
        reason = "the error stays above the tolerance however short the step"
        while True:
            left = end - self.t
            # two halves rather than a step and a splinter
            step = left if h >= left else (0.5 * left if 2.0 * h > left else h)
            if step <= SMALLEST * max(abs(self.t), abs(end)) and step < left:
                raise StepFailed(reason)
            try:
                tried = self.trial(self.t, self.y, self.f, step)
                size = np.inf if tried is None else self.control.size(tried.error, self.y, tried.y)
                if tried is not None and size <= 1.0:
                    t = end if step == left else self.t + step
                    y, f = self._landed(t, tried.y)
                    self.t0, self.y0, self.f0 = self.t, self.y, self.f
                    self.t, self.y, self.f = t, y, f
                    # a step cut short by the end says nothing against the length before it
                    self._h = max(step * self._factor(size), h if step < h else 0.0)
                    return
                if tried is None:
                    reason = "the implicit equations of a step cannot be solved"
            except MusculoError as error:
                # beyond reach, or singular: perhaps only this trial was
                reason, size = str(error), np.inf
            h = step * (self._factor(size) if np.isfinite(size) else LEAST)

    def _taken_ahead(self, ahead: Ahead, end: float) -> bool:
        """The next of the steps that were taken many at a time, if there is one."""
        if not self._taken:
            self._taken = ahead.steps(self.t, self.y, self.f, self._h, end)[::-1]
            if not self._taken:
                return False
            self._h = ahead.h
        self._at(self._taken.pop())
        return True

    def _at(self, one: Landed) -> None:
        self.landed = one
        self.t0, self.y0, self.f0 = self.t, self.y, self.f
        self.t, self.y, self.f = one.t, one.y, one.f
        self.n_evaluations += one.n_evaluations

    def many(self, end: float) -> list[Landed]:
        if self._ahead is None or not self._taken_ahead(self._ahead, end):
            return []
        first, rest = self.landed, self._taken[::-1]
        assert first is not None
        self._taken = []
        for one in rest:
            self._at(one)
        return [first, *rest]

    def _landed(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self._settled is None:
            return y, self.rates(t, y)
        self.n_evaluations += 1
        return self._settled(t, y)

    def _factor(self, size: float) -> float:
        return float(np.clip(SAFETY * max(size, NO_ERROR) ** (-1.0 / (self.order + 1)), LEAST, MOST))

    def inside(self, t: float) -> FloatArray:
        if t <= self.t0:
            return self.y0
        if t >= self.t:
            return self.y
        tried = self.trial(self.t0, self.y0, self.f0, t - self.t0)
        if tried is None:
            raise StepFailed("the implicit equations of a step cannot be solved")
        return tried.y


class RKF45(OneStep):
    """Runge-Kutta-Fehlberg, for motions that are not stiff: the fifth order is kept, the fourth tells the error."""

    order = FEHLBERG_ORDER

    def trial(self, t: float, y: FloatArray, f: FloatArray, h: float) -> Trial:
        return Trial(*rkf45_step(self.rates, t, y, f, h))


class TRBDF2(OneStep):
    """TR-BDF2, of second order, for stiff forces."""

    order = TR_BDF2_ORDER

    def trial(self, t: float, y: FloatArray, f: FloatArray, h: float) -> Trial | None:
        matrix = newton_matrix(self.rates, t, y, f, h)
        found = tr_bdf2_step(self.rates, t, y, f, h, matrix, lambda change: self.control.size(change, y) < SMALL)
        return None if found is None else Trial(*found)
