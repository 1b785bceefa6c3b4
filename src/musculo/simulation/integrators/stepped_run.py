"""A simulation under way: steps taken one by one, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import MusculoError, SingularSystem
from musculo.kernels.integrate.whole_course import states_between
from musculo.simulation.equations.systems import System
from musculo.simulation.integrators.ahead import AT_ONCE, Landed
from musculo.simulation.integrators.called_steps import StepFailed
from musculo.simulation.integrators.simulation_events import EventTime, Watch
from musculo.simulation.integrators.steppers import Stepper
from musculo.simulation.simulation import SimulationStatus


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


# So many steps are looked at together: where the end would take more than the second number of such, they lead nowhere.
_HEADWAY, _MOST_STEPS = 2000, 100_000_000


class Run:
    """Steps taken one by one, and what is kept of them."""

    def __init__(self, system: System, stepper: Stepper, watch: Watch, between: bool) -> None:
        self._system, self._stepper, self._watch = system, stepper, watch
        self._between = between  # whether states between steps are wanted: a method's interpolant costs time
        self._t, self._y, self._f = [stepper.t], [stepper.y], [stepper.f]
        self._polynomials: list[FloatArray] = []
        self.poses = [system.guess]  # at the steps
        self.events: list[EventTime] = []

    def to(self, end: float, max_steps: int, progress: Callable[[float], None] | None) -> tuple[SimulationStatus, str]:
        s = self._stepper
        unseen = progress is None and not self._watch.events  # nobody looks at single steps
        before, looked = s.t, len(self._t)
        while s.t < end:
            if len(self._t) - looked >= _HEADWAY:
                taken = len(self._t) - looked
                if (s.t - before) * _MOST_STEPS < (end - s.t) * taken:
                    why = self._system.explain(self._t[-1], self._y[-1])
                    return (
                        SimulationStatus.FAILED,
                        f"at t = {s.t:.9g} s: no headway, the last {taken} steps led on by {s.t - before:.3g} s"
                        + (f"; {why}" if why else "; allow larger errors, or use another method"),
                    )
                before, looked = s.t, len(self._t)
            if len(self._t) > max_steps:
                return (
                    SimulationStatus.FAILED,
                    f"{max_steps} steps led from {self._t[0]:g} to {s.t:.9g} s; allow more, or larger errors",
                )
            try:
                if unseen and len(self._t) + AT_ONCE <= max_steps and self._many(s.many(end)):
                    continue
                s.advance(end)
                found, stops = self._watch.of_step(s)
                for event, t, y in found:
                    self.events.append(EventTime(event.name, t, *self._system.one(t, y)))
                if stops:
                    self._cut(*found[-1][1:])
                    return SimulationStatus.EVENT, f"event {found[-1][0].name!r} at t = {found[-1][1]:.9g} s"
                self._keep()
            except SingularSystem as error:
                return SimulationStatus.FAILED, f"at t = {self._t[-1]:.9g} s: {error}"
            except (MusculoError, StepFailed) as error:
                why = self._system.explain(self._t[-1], self._y[-1])
                both = f"; {why}" if why and why not in str(error) else ""
                return SimulationStatus.FAILED, f"at t = {self._t[-1]:.9g} s: {error}{both}"
            if progress is not None:
                progress(s.t)
        return SimulationStatus.FINISHED, ""

    def _many(self, landed: list[Landed]) -> bool:
        """Keep steps that were taken at once; whether there were some. They have no interpolants of their own."""
        for one in landed:
            pose = self._system.accept(one.t, one.y, one)
            self._t.append(one.t)
            self._y.append(one.y)
            self._f.append(one.f)
            self.poses.append(pose)
        return bool(landed)

    def _keep(self) -> None:
        s = self._stepper
        polynomial = s.polynomial() if self._between else None
        pose = self._system.accept(s.t, s.y, s.landed)
        if polynomial is not None:
            self._polynomials.append(polynomial)
        self._t.append(s.t)
        self._y.append(s.y)
        self._f.append(s.f)
        self.poses.append(pose)

    def _cut(self, t: float, y: FloatArray) -> None:
        """End the course inside the last step."""
        s = self._stepper
        if not t > self._t[-1]:
            return
        polynomial = s.polynomial() if self._between else None
        if polynomial is not None:
            whole = Course(np.array([s.t0, s.t]), np.stack([s.y0, s.y]), None, polynomial[None])
            self._polynomials.append(whole(chebyshev_points(s.t0, t, len(polynomial) - 1)))
        self._t.append(t)
        self._y.append(y)
        self._f.append(s.rates(t, y))
        self.poses.append(self._system.accept(t, y))

    def forget(self, step: int) -> None:
        """Steps after one that is the last to be trusted, and events."""
        for kept in (self._t, self._y, self._f, self.poses):
            del kept[step + 1 :]
        del self._polynomials[step:]
        self.events = [event for event in self.events if event.time <= self._t[-1]]

    def course(self) -> Course:
        polynomials = np.array(self._polynomials) if self._polynomials else None
        return Course(np.array(self._t), np.array(self._y), np.array(self._f), polynomials)
