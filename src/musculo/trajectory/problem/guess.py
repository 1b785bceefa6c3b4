"""Where a search starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.results.table import Table
from musculo.trajectory.predicted_motion import PredictedMotion
from musculo.trajectory.problem.selection import first_names, matching
from musculo.trajectory.problem.variables import Limits, Variable, limits_of
from musculo.trajectory.transcription.discretization import DURATION, TIME, Discretization

Guess = PredictedMotion | Table | Mapping[str, ArrayLike] | None


def guessed(
    d: Discretization, variables: Sequence[Variable], duration: tuple[float, float], start_time: float, guess: Guess
) -> tuple[FloatArray, float]:
    """(nodes, names) variables at the nodes and the duration, where the search starts."""
    low, high = duration
    T = (low + high) / 2.0 if np.isfinite(high) else max(low, 1.0)
    series: dict[str, FloatArray] = {}
    tau = d.fractions
    if isinstance(guess, PredictedMotion):
        T = guess.duration
        found = guess.variables_at(tau)
        series = {name: found[:, k] for k, name in enumerate(guess.program.discretization.names)}
        _check_some_known(d, series, guess.names, "motion")
    elif isinstance(guess, Table):
        T = float(guess.time[-1] - guess.time[0])
        for one in d.signals:
            k = guess.find(one.name)
            if k is not None:
                series[one.name] = np.interp(guess.time[0] + tau * T, guess.time, guess.values[:, k])
        _check_some_known(d, series, guess.names, "table")
    elif guess is not None:
        if not hasattr(guess, "items"):
            raise InvalidInput(
                f"guess: {type(guess).__name__} is none; give a motion, a table, or numbers or series by names of "
                "variables: {'duration': 0.8, '*/speed': 0.0}"
            )
        for pattern, value in guess.items():
            for name in matching(pattern, d.names, "variable of the guess"):
                numbers = _numbers(name, value)
                series[name] = np.interp(tau, np.linspace(0.0, 1.0, len(numbers)), numbers)
        T = float(series[DURATION][0]) if DURATION in series else T
    T = float(np.clip(T, low, high))
    values = np.zeros((len(tau), len(d.names)))
    values[:, d.column(TIME)] = start_time + tau * T
    values[:, d.column(DURATION)] = T
    ends = {name: limits for one in variables for name, *limits in one.ends()}
    order = np.argsort(tau, kind="stable")
    for one in d.signals:  # a state stands before its rate
        at = d.column(one.name)
        if one.name in series:
            values[:, at] = series[one.name]
            continue
        parents = [other for other in d.signals if other.kind == "state" and other.rate == one.name]
        if parents:
            parent = values[order, d.column(parents[0].name)]
            unique, first = np.unique(tau[order], return_index=True)
            slope = np.gradient(parent[first], unique * T) if len(unique) > 1 else np.zeros(1)
            values[:, at] = np.interp(tau, unique, slope)
            continue
        middle = _middle(one.lower, one.upper)
        start, end = ends.get(one.name, (None, None))
        first_value = _of_limits(end if start is None else start, middle)
        last_value = _of_limits(start if end is None else end, middle)
        values[:, at] = first_value + tau * (last_value - first_value)
    return values, T


def _check_some_known(d: Discretization, series: Mapping[str, FloatArray], names: Sequence[str], what: str) -> None:
    """An error where a guess says nothing of any variable over time."""
    asked = [one.name for one in d.signals]
    if asked and not any(name in series for name in asked):
        raise InvalidInput(
            f"guess: the {what} has no variable of this problem; it has {first_names(names)}, the problem has "
            f"{first_names(asked)}"
        )


def _numbers(name: str, value: ArrayLike) -> FloatArray:
    """(points,) of a guess of a variable."""
    try:
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.ndim != 1 or not numbers.size or not np.isfinite(numbers).all():
        shown = f"shape {numbers.shape}" if numbers.ndim > 1 else repr(value)
        raise InvalidInput(
            f"guess of {name!r}: {shown}; give a finite number, or a series of these from the start to the end"
        )
    return numbers


def _of_limits(limits: Limits, otherwise: float) -> float:
    return otherwise if limits is None else _middle(*limits_of(limits))


def _middle(low: float, high: float) -> float:
    """Of limits; of one limit, it; without limits zero."""
    if np.isfinite(low) and np.isfinite(high):
        return (low + high) / 2.0
    return float(np.clip(0.0, low, high))
