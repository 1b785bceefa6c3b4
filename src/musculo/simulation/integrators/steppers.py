"""One step after the other along dy/dt = f(t, y), the error of each kept: methods that know the last state alone.

A stepper is what `simulate` asks of a method; `musculo.simulation.integrators.sundials` has those of SUNDIALS.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from musculo.arrays import FloatArray
from musculo.simulation.integrators.ahead import Ahead, Landed
from musculo.simulation.integrators.called_steps import CalledSteps
from musculo.simulation.integrators.control import Control

Rates = Callable[[float, FloatArray], FloatArray]
# (t, y) -> y nearby, and its rates
Settled = Callable[[float, FloatArray], tuple[FloatArray, FloatArray]]


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


class OneStep(Stepper):
    """Methods that know nothing but the last state: Runge-Kutta-Fehlberg, TR-BDF2, implicit-explicit.

    Runge-Kutta-Fehlberg is for motions that are not stiff: the fifth order is kept, the fourth tells the error. TR-BDF2
    is of second order, for stiff forces. The implicit-explicit one is of fourth order, for muscles: stiff fibers, and
    a body that is not; only compiled steps know it, and what they leave is done by Runge-Kutta-Fehlberg. A refused
    step is tried again, shorter.

    Args:
        method: "rkf45", "tr-bdf2" or "imex".
        settled: gives the state that a step goes on from, and its rates, where that is not the one it came to.
        ahead: takes the same steps many at a time, where that serves; what it leaves is done here.
    """

    def __init__(
        self,
        method: str,
        rates: Rates,
        t: float,
        y: FloatArray,
        control: Control,
        settled: Settled | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        super().__init__(rates, t, y, control)
        self._settled, self._ahead = settled, ahead
        called = "rkf45" if method == "imex" else method
        self._called = CalledSteps(called, self._answer, y.size, control)
        self._taken: list[Landed] = []  # last first
        size, fast = control.size(y, y), control.size(self.f, y)
        # a hundredth of the time in which y changes by itself [Hairer1993, II.4]
        self._h = min(0.01 * size / fast if min(size, fast) > 1e-5 else 1e-6, control.max_step)

    def _answer(self, t: float, y: FloatArray, end: bool) -> tuple[FloatArray, FloatArray]:
        """A state and its rates; at the end of a step the one to go on from."""
        if not end or self._settled is None:
            return y, self.rates(t, y)
        self.n_evaluations += 1
        return self._settled(t, y)

    def advance(self, end: float) -> None:
        if self._ahead is not None and self._taken_ahead(self._ahead, end):
            return
        self.landed = None
        t, y, f, self._h = self._called.step(self.t, self.y, self.f, self._h, end)
        self.t0, self.y0, self.f0 = self.t, self.y, self.f
        self.t, self.y, self.f = t, y, f

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

    def inside(self, t: float) -> FloatArray:
        if t <= self.t0:
            return self.y0
        if t >= self.t:
            return self.y
        return self._called.trial(self.t0, self.y0, self.f0, t)[0]
