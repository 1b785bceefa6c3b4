"""What changes over a motion: coordinates, states, controls; and parameters, which do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from musculo.errors import InvalidInput, UnknownName
from musculo.model.model import Model
from musculo.trajectory.transcription.discretization import DURATION, TIME, Signal

# A name that resembles another one this much is it, misspelled: `x_rates` is `x_rate`, `knee/moment` no acceleration.
_RESEMBLES = 0.8

Limits = float | tuple[float | None, float | None] | None
"""A number that something equals, or its lower and upper limit; None where there is no limit, on one side or both."""


def limits_of(limits: Limits, what: str = "limits") -> tuple[float, float]:
    """Lower and upper limit."""
    if limits is None:
        return -np.inf, np.inf
    try:
        if np.ndim(limits) == 0:  # type: ignore[arg-type]
            low = high = float(limits)  # type: ignore[arg-type]
        else:
            lower, upper = limits  # type: ignore[misc]
            low, high = -np.inf if lower is None else float(lower), np.inf if upper is None else float(upper)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{what}: give a number, (lower, upper), (lower, None), (None, upper) or None, not {limits!r}"
        ) from None
    if not low <= high:
        raise InvalidInput(f"{what}: its lower limit {low:g} is not below its upper limit {high:g}")
    return low, high


@dataclass(frozen=True)
class Coordinate:
    """A coordinate with its speed and acceleration: `name/value`, `name/speed`, `name/acceleration`.

    The speed is the rate of the value, the acceleration that of the speed. What the acceleration is, dynamics say: a
    node function with the output `name/acceleration` (explicit), or equations and limits in which the acceleration is
    a variable (implicit).

    Args:
        name: of the coordinate.
        value, speed, acceleration: limits throughout the motion.
        initial, final: limits of the value at the start and the end.
        initial_speed, final_speed: those of the speed.
        scale: typical size of the value; by default half the range of its limits.
    """

    name: str
    value: Limits = None
    speed: Limits = None
    acceleration: Limits = None
    initial: Limits = None
    final: Limits = None
    initial_speed: Limits = None
    final_speed: Limits = None
    scale: float | None = None

    def signals(self) -> tuple[Signal, ...]:
        """The three of them."""
        value, speed, acceleration = f"{self.name}/value", f"{self.name}/speed", f"{self.name}/acceleration"
        return (
            _signal(value, "state", speed, self.value, self.scale),
            _signal(speed, "state", acceleration, self.speed, None),
            _signal(acceleration, "control", "", self.acceleration, None),
        )

    def ends(self) -> tuple[tuple[str, Limits, Limits], ...]:
        """Names with limits at the start and the end."""
        return (
            (f"{self.name}/value", self.initial, self.final),
            (f"{self.name}/speed", self.initial_speed, self.final_speed),
        )


@dataclass(frozen=True)
class State:
    """A state, whose rate dynamics say: an activation, a mass.

    Args:
        name: of the state.
        limits: throughout the motion.
        initial, final: limits at the start and the end.
        rate: the name of its derivative by time, by default `name_rate`: an output of a node function of the dynamics,
            or another variable.
        scale: typical size; by default half the range of the limits.
    """

    name: str
    limits: Limits = None
    initial: Limits = None
    final: Limits = None
    rate: str = ""
    scale: float | None = None

    def signals(self) -> tuple[Signal, ...]:
        """The one."""
        return (_signal(self.name, "state", self.rate or f"{self.name}_rate", self.limits, self.scale),)

    def ends(self) -> tuple[tuple[str, Limits, Limits], ...]:
        """Its name with limits at the start and the end."""
        return ((self.name, self.initial, self.final),)


@dataclass(frozen=True)
class Control:
    """A variable that may change at once: an excitation, a torque.

    Args:
        name: of the control.
        limits: throughout the motion.
        initial, final: limits at the start and the end.
        scale: typical size; by default half the range of the limits.
    """

    name: str
    limits: Limits = None
    initial: Limits = None
    final: Limits = None
    scale: float | None = None

    def signals(self) -> tuple[Signal, ...]:
        """The one."""
        return (_signal(self.name, "control", "", self.limits, self.scale),)

    def ends(self) -> tuple[tuple[str, Limits, Limits], ...]:
        """Its name with limits at the start and the end."""
        return ((self.name, self.initial, self.final),)


@dataclass(frozen=True)
class Parameter:
    """A number that holds throughout the motion and is searched for.

    Args:
        name: of the parameter.
        limits: of it.
        scale: typical size; by default half the range of the limits.
    """

    name: str
    limits: Limits = None
    scale: float | None = None

    def signals(self) -> tuple[Signal, ...]:
        """The one."""
        return (_signal(self.name, "parameter", "", self.limits, self.scale),)

    def ends(self) -> tuple[tuple[str, Limits, Limits], ...]:
        """Nothing: it never changes."""
        return ()


Variable = Coordinate | State | Control | Parameter


def model_coordinates(
    model: Model,
    *,
    speed: Limits = (-20.0, 20.0),
    acceleration: Limits = None,
    names: Sequence[str] | None = None,
) -> tuple[Coordinate, ...]:
    """A `Coordinate` for each of a model, with the range that the model states.

    Args:
        model: whose coordinates equal joint variables; joints with quaternions have none of these.
        speed, acceleration: limits of all of them.
        names: of the coordinates; the independent ones by default. Those that are coupled to others, locked or
            prescribed follow.
    """
    chosen = model.independent_coordinate_names if names is None else tuple(names)
    ranges = {one.name: one.range for one in model.coordinates}
    return tuple(Coordinate(name, (ranges[name][0], ranges[name][1]), speed, acceleration) for name in chosen)


def signals_of(variables: Sequence[Variable], given: Sequence[str], rates_are_variables: bool) -> tuple[Signal, ...]:
    """All variables over time, and parameters.

    Args:
        variables: as a problem states them.
        given: outputs of dynamics. A rate among these (an acceleration) is no variable,
        rates_are_variables: unless every rate is one.
    """
    found: dict[str, Signal] = {}
    for one in variables:
        for signal in one.signals():
            if signal.name in found or signal.name in (TIME, DURATION):
                raise InvalidInput(f"variable {signal.name!r} is stated twice; each needs a name of its own")
            found[signal.name] = signal
    rates = [one.rate for one in found.values() if one.kind == "state"]
    for rate in rates:
        if rates_are_variables and rate not in found:
            found[rate] = Signal(rate, "control")
        elif rate in given and not rates_are_variables:
            found.pop(rate, None)
        elif rate not in found:
            raise UnknownName("rate", rate, [*found, *given], "the variables and the outputs of the dynamics")
    free = [rate for rate in rates if rate not in given]
    for name in given:
        if name in rates:
            continue
        meant = next((rate for rate in free if _misspelled(name, rate)), None)
        if meant is not None or name.endswith("/acceleration"):
            raise InvalidInput(
                f"dynamics: their output {name!r} is the rate of no state"
                + (f"; did you mean {meant!r}?" if meant else f"; rates are {', '.join(rates) or 'none at all'}.")
                + " An output that is no rate is an equation: it would have to be zero; give one a name unlike a rate's"
            )
    return tuple(found.values())


def _misspelled(name: str, rate: str) -> bool:
    """Whether an output is meant to be a rate: part by part, so that long names of coordinates do not count."""
    (owner, part), (owner_of_rate, part_of_rate) = (one.rpartition("/")[::2] for one in (name, rate))
    if name.startswith(f"{rate}_"):
        return False  # `knee/acceleration_balance` says itself that it is something else

    def alike(one: str, other: str) -> bool:
        short = len(one) > 2 and other.startswith(one)
        return short or SequenceMatcher(None, one.lower(), other.lower()).ratio() >= _RESEMBLES

    return alike(part, part_of_rate) and (owner == owner_of_rate or alike(owner, owner_of_rate))


def _signal(name: str, kind: str, rate: str, limits: Limits, scale: float | None) -> Signal:
    low, high = limits_of(limits, name)
    if scale is None:
        half = (high - low) / 2.0
        scale = half if np.isfinite(half) and half > 0 else 1.0
    if not scale > 0:
        raise InvalidInput(f"{name}: scale={scale:g}; a scale is positive")
    return Signal(name, kind, rate, low, high, scale)
