"""What functions that follow a motion take as arguments, and in words what was given instead."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from musculo.analyses.tracking.acceleration_targets import AccelerationTargets
from musculo.analyses.tracking.desired_motion import DesiredMotion
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.io.controls.control_limits import ControlLimits

# Times that differ by so little are the same [s]: recordings are printed to a few digits, and ends are sums of windows.
_SAME_TIME = 1e-6


def check_motion_and_targets(desired: DesiredMotion, targets: AccelerationTargets) -> None:
    """Refuse what is no motion to follow or no targets, such as the two in the other order.

    Raises:
        InvalidInput: says what was given, and what makes the right thing of it.
    """
    if not isinstance(desired, DesiredMotion):
        raise InvalidInput(
            f"desired is of type {type(desired).__name__}; give the motion to follow first, as "
            "desired_motion(model, table) makes it"
        )
    if not isinstance(targets, AccelerationTargets):
        raise InvalidInput(
            f"targets are of type {type(targets).__name__}; give what tracking_targets(model, tasks) makes of tasks"
        )
    ends = (len(desired.model.coordinate_names), len(desired.model.speed_names))
    if targets.coordinate.max(initial=-1) >= ends[0] or targets.speed.max(initial=-1) >= ends[1]:
        raise InvalidInput("the targets are of another model than the motion; make both of one model")


def checked_span(span: tuple[float, float], desired: DesiredMotion) -> tuple[float, float]:
    """The ends of a span within the recording.

    Raises:
        InvalidInput: no two finite numbers in order, or times of which the recording knows nothing.
    """
    try:
        start, end = (float(x) for x in span)
    except (TypeError, ValueError):
        raise InvalidInput(f"span is {span!r}; give two times in seconds, (start, end)") from None
    if not (np.isfinite(start) and np.isfinite(end)):
        raise InvalidInput(f"span is {start:g} to {end:g} s; give two finite times")
    if start > end:
        raise InvalidInput(f"the span begins at {start:g} s and ends at {end:g} s; give its start first")
    first, last = desired.span
    if start < first - _SAME_TIME or end > last + _SAME_TIME:
        raise InvalidInput(
            f"the span from {start:g} to {end:g} s reaches beyond the motion to follow, which is known from {first:g} "
            f"to {last:g} s; choose a span within it"
        )
    return start, end


def checked_duration(value: Any, what: str, example: float) -> float:
    """A duration in seconds, above zero.

    Raises:
        InvalidInput: anything else.
    """
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not (found > 0.0 and np.isfinite(found)):
        raise InvalidInput(f"{what} is {value!r}; give seconds, for instance {example:g}")
    return found


def check_limits(limits: Sequence[ControlLimits], known: Collection[str], time: FloatArray) -> None:
    """Refuse limits of actuators that there are not, and those that leave no room at some of the times.

    Raises:
        InvalidInput: something else than limits, or a least control above the largest.
        UnknownName: an actuator that the model lacks.
    """
    if not isinstance(limits, Sequence):
        raise InvalidInput(f"limits are of type {type(limits).__name__}; give a list of ControlLimits")
    for one in limits:
        if not isinstance(one, ControlLimits):
            raise InvalidInput(
                f"limits hold {one!r}, a {type(one).__name__}; give a list of ControlLimits, as read_control_limits "
                "returns it"
            )
        if one.name not in known:
            raise UnknownName("actuator", one.name, known, "limits")
        low, high = one.at(time)
        if (low > high).any():
            at = int(np.argmax(low > high))
            raise InvalidInput(
                f"the control of {one.name!r} is to lie between {low[at]:g} and {high[at]:g} at {time[at]:g} s; the "
                "first is the larger one"
            )


def check_names(names: Sequence[str], known: Collection[str], where: str) -> None:
    """Refuse names of actuators that there are not.

    Raises:
        InvalidInput: one text instead of several.
        UnknownName: the first that is not known.
    """
    if isinstance(names, str) or not isinstance(names, Collection):
        raise InvalidInput(f"{where} is {names!r}; give a list of names, [{names!r}]")
    for name in names:
        if name not in known:
            raise UnknownName("actuator", name, known, where)
