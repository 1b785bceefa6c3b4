"""Events: where a function of the state goes through zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.simulation.integrators.steppers import Stepper

StateFunction = Callable[[float, FloatArray, FloatArray], float]
# The rounding of time, as a part of it.
_ROUNDING = 4.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class SimulationEvent:
    """A function of time, coordinates q (n,) and speeds u (n_u,) whose zero is looked for in a simulation.

    Args:
        name: of the event.
        function: (t, q, u) -> number, or an array of one.
        terminal: whether the simulation ends there.
        direction: 1 where it shall rise through zero, -1 where it shall fall, 0 both.
    """

    name: str
    function: StateFunction
    terminal: bool = False
    direction: int = 0

    def __str__(self) -> str:
        how = [{1: "rising", -1: "falling"}[self.direction]] if self.direction in (1, -1) else []
        how += ["terminal"] if self.terminal else []
        return f"{self.name} ({', '.join(how)})" if how else self.name


class EventTime(NamedTuple):
    """When an event was, and the state then."""

    name: str
    time: float  # [s]
    q: FloatArray  # (n,)
    u: FloatArray  # (n_u,)


def events_of(
    events: Mapping[str, StateFunction] | Sequence[SimulationEvent] | SimulationEvent | None,
) -> tuple[SimulationEvent, ...]:
    """Events as a tuple, checked."""
    if events is None:
        return ()
    if isinstance(events, SimulationEvent):
        return (events,)
    if isinstance(events, Mapping):
        return events_of([SimulationEvent(str(name), function) for name, function in events.items()])
    if not isinstance(events, Sequence):
        raise InvalidInput(f"events is {events!r:.60}; give a list of SimulationEvent, or functions by name")
    for event in events:
        if not isinstance(event, SimulationEvent) or not callable(event.function):
            raise InvalidInput(f"an event is {event!r:.60}; give SimulationEvent(name, function of (t, q, u))")
        if event.direction not in (-1, 0, 1):
            raise InvalidInput(f"event {event.name!r} has direction {event.direction!r}; known: -1, 0, 1")
    return tuple(events)


class Watch:
    """Events followed from step to step; `state` gives q and u of a state of the stepper."""

    def __init__(
        self,
        events: Sequence[SimulationEvent],
        state: Callable[[float, FloatArray], tuple[FloatArray, FloatArray]],
        stepper: Stepper,
    ) -> None:
        self.events, self._state = events, state
        self._last = self._values(stepper.t, stepper.y) if events else []

    def _value(self, event: SimulationEvent, t: float, y: FloatArray) -> float:
        given = event.function(t, *self._state(t, y))
        try:
            (value,) = np.asarray(given, dtype=float).ravel().tolist()
        except (TypeError, ValueError):
            raise InvalidInput(
                f"event {event.name!r} gives {given!r:.60} at t = {t:.6g} s; it needs one number, for instance q[0]"
            ) from None
        if not np.isfinite(value):
            raise InvalidInput(f"event {event.name!r} gives {value} at t = {t:.6g} s; it needs a finite number")
        return value

    def _values(self, t: float, y: FloatArray) -> list[float]:
        return [self._value(event, t, y) for event in self.events]

    def of_step(self, stepper: Stepper) -> tuple[list[tuple[SimulationEvent, float, FloatArray]], bool]:
        """Events within the last step in order of time, up to the first that ends the simulation; and whether one does.

        Each is the zero of its function along the step as the method would take it, not along an interpolant of
        lower order. Two zeros within one step are not detected: `max_step` bounds what can be missed.
        """
        if not self.events:
            return [], False
        now, found = self._values(stepper.t, stepper.y), []
        for event, before, after in zip(self.events, self._last, now, strict=True):
            rises, falls = before < 0.0 <= after, before > 0.0 >= after
            if not ((rises and event.direction >= 0) or (falls and event.direction <= 0)):
                continue

            def along(t: float, event: SimulationEvent = event) -> float:
                return self._value(event, t, stepper.inside(t))

            t = stepper.t
            if after != 0.0:
                from scipy.optimize import brentq

                t = float(
                    brentq(along, stepper.t0, stepper.t, xtol=_ROUNDING * max(abs(stepper.t), 1e-3), rtol=_ROUNDING)
                )
            found.append((event, t, stepper.inside(t)))
        self._last = now
        found.sort(key=lambda one: one[1])
        last = next((one for one in found if one[0].terminal), None)
        if last is None:
            return found, False
        # others at the same instant count too; the one that ends the simulation comes last
        instant = last[1] + 2.0 * _ROUNDING * max(abs(last[1]), 1e-3)
        return [one for one in found if one[1] <= instant and one is not last] + [last], True
