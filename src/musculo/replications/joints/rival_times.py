"""What a joint costs as a mobilizer and as constraints: seconds of accelerations, and of simulations at equal accuracy.

Accelerations are timed over many states at once, as our kernels work. Simulations are timed in two ways: one by one
with error control, where most of the time is spent around the kernels, and many at once with fixed steps, where it is
spent inside. Each runs at several tolerances or steps, and its time is read off where its error has the size asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.constrained_dynamics import constraint_equations
from musculo.dynamics.poses import kinematics
from musculo.embedding.speed_rates import coordinate_rates
from musculo.model.model import Model
from musculo.replications.joints.rivals import Rivals, State, acceleration, run
from musculo.replications.joints.simbody_study import simbody_simulations
from musculo.replications.timing import seconds_per_call
from musculo.simulation.equations.accelerations import ConstrainedRates
from musculo.simulation.simulate import simulate

# States in a batch: enough that what is done once a call does not count.
BATCH = 16384
# Tolerances at which simulations run, relative and absolute alike; OpenSim takes them as accuracies.
TOLERANCES = (1e-3, 1e-4, 1e-6, 1e-8)
# Of the simulation that others are compared with.
_REFERENCE = 1e-12
# Simulations at once, and their numbers of steps; the reference has twice the most, so a sixteenth of the error.
CROWD, STEPS = 2048, (20, 40, 80, 160)
# Baumgarte's rate where steps are fixed [1/s]: errors of constraints decay within some ten steps and cost nothing.
_DECAY = 20.0


def acceleration_seconds(rivals: Rivals, q: FloatArray, u: FloatArray) -> dict[str, float]:
    """Seconds an acceleration takes in a batch of the states q, u, for each form; and `one`: by constraints, alone."""
    many = {name: (np.resize(a, (BATCH, a.shape[1])), np.resize(b, (BATCH, b.shape[1])))
            for name, (a, b) in rivals.states(q, u).items()}  # fmt: skip
    models = rivals.models()

    def call(name: str) -> Callable[[], object]:
        return lambda: acceleration(models[name], *many[name])

    found = {name: s / BATCH for name, s in seconds_per_call({n: call(n) for n in many}, rounds=15).items()}
    alone, (Q, U) = ConstrainedRates(rivals.constrained), many["constrained"]
    still = np.zeros(U.shape[1])
    return found | seconds_per_call({"one": lambda: alone(Q[0], U[0], still)})


class Work(NamedTuple):
    """What simulations cost: for each tolerance the error at the end and the seconds."""

    error: FloatArray  # [m]
    seconds: FloatArray

    def enclosing(self, error: float) -> tuple[int, ...]:
        """The two runs next to each other whose errors enclose this one; none where no two do."""
        order = np.argsort(self.error)
        if not self.error.min() <= error <= self.error.max():
            return ()
        after = int(np.clip(np.searchsorted(self.error[order], error), 1, len(order) - 1))
        return int(order[after - 1]), int(order[after])

    def at(self, error: float) -> float:
        """Seconds where the error has this size, by interpolation of logarithms; NaN where no two runs enclose it."""
        pair = list(self.enclosing(error))
        if not pair:
            return float("nan")
        known = np.log(np.maximum(self.error[pair], 1e-300))
        return float(np.exp(np.interp(np.log(error), known, np.log(self.seconds[pair]))))


def simulation_work(rivals: Rivals, q0: FloatArray, u0: FloatArray, end: float, rounds: int = 2) -> dict[str, Work]:
    """Errors and times of simulations of each form from one state, at all `TOLERANCES`."""
    models, starts = rivals.models(), rivals.starts(q0, u0)
    truth = _truth(rivals, starts, end)
    calls: dict[str, Callable[[], object]] = {}
    ends: dict[tuple[str, float], FloatArray] = {}
    for name, model in models.items():
        for tolerance in TOLERANCES:
            calls[f"{name} {tolerance}"] = partial(_run_into, ends, name, model, starts[name], end, tolerance)
    seconds = seconds_per_call(calls, rounds=rounds, at_least=0.0)
    work = {}
    for name, model in models.items():
        poses = np.array([ends[name, tolerance] for tolerance in TOLERANCES])
        error = np.linalg.norm(kinematics(model, poses).position(rivals.body, rivals.point) - truth[name], axis=1)
        work[name] = Work(error, np.array([seconds[f"{name} {tolerance}"] for tolerance in TOLERANCES]))
    return work


def _run_into(
    ends: dict[tuple[str, float], FloatArray], name: str, model: Model, start: State, end: float, tolerance: float
) -> None:
    """Run, and keep the last pose."""
    ends[name, tolerance] = run(model, start, end, tolerance).q[-1]


def simbody_work(rivals: Rivals, q0: FloatArray, u0: FloatArray, end: float) -> dict[str, Work]:
    """The same of Simbody's simulations of the same models."""
    starts = rivals.starts(q0, u0)
    truth = _truth(rivals, starts, end)
    runs = simbody_simulations({n: (m, *starts[n]) for n, m in rivals.models().items()}, end, TOLERANCES)
    found = {}
    for name, model in rivals.models().items():
        places = kinematics(model, runs[name].q).position(rivals.body, rivals.point)
        found[name] = Work(np.linalg.norm(places - truth[name], axis=1), runs[name].seconds)
    return found


def _truth(rivals: Rivals, starts: Mapping[str, State], end: float) -> dict[str, FloatArray]:
    """Where the point is at the end; the constraints' is the mobilizer's, since they are the same system."""
    places = {}
    for name in ("plain", "mobilizer"):
        model = rivals.models()[name]
        found = simulate(model, *starts[name], (0.0, end), method="adams", rtol=_REFERENCE, atol=_REFERENCE)
        places[name] = kinematics(model, found.q[-1]).position(rivals.body, rivals.point)
    return places | {"constrained": places["mobilizer"]}


def crowd_work(rivals: Rivals, q: FloatArray, u: FloatArray, end: float) -> dict[str, Work]:
    """Errors and times of one of `CROWD` simulations at once, by the classical Runge-Kutta method at fixed `STEPS`.

    The error is the root of the mean square over simulations of the point's distance from its true place at the end.

    Args: q, u: (n, ...) states of the mobilizer to start from, repeated as needed. end: [s].
    """
    states = {
        name: (np.resize(a, (CROWD, a.shape[1])), np.resize(b, (CROWD, b.shape[1])))
        for name, (a, b) in rivals.states(q, u).items()
    }
    models = rivals.models()
    ends: dict[tuple[str, int], FloatArray] = {}

    def into(name: str, steps: int) -> None:
        found = classical(models[name], states[name], end, steps)[0]
        ends[name, steps] = kinematics(models[name], found, threads=1).position(rivals.body, rivals.point)

    calls = {f"{name} {steps}": partial(into, name, steps) for name in models for steps in STEPS}
    seconds = seconds_per_call(calls, rounds=1, at_least=0.0)
    for name in ("plain", "mobilizer"):
        into(name, 2 * STEPS[-1])
    work = {}
    for name in models:
        truth = ends["plain" if name == "plain" else "mobilizer", 2 * STEPS[-1]]
        error = [float(np.sqrt(np.mean(np.sum((ends[name, steps] - truth) ** 2, axis=1)))) for steps in STEPS]
        work[name] = Work(np.array(error), np.array([seconds[f"{name} {steps}"] / CROWD for steps in STEPS]))
    return work


def classical(model: Model, start: State, end: float, steps: int) -> State:
    """States (n, ...) after so many steps of the classical Runge-Kutta method of fourth order, under gravity."""
    (q, u), h = start, end / steps
    decay = _DECAY if constraint_equations(model).count else 0.0

    def rates(q: FloatArray, u: FloatArray) -> State:
        return coordinate_rates(model, q, u), acceleration(model, q, u, decay)

    for _ in range(steps):
        q1, u1 = rates(q, u)
        q2, u2 = rates(q + h / 2 * q1, u + h / 2 * u1)
        q3, u3 = rates(q + h / 2 * q2, u + h / 2 * u2)
        q4, u4 = rates(q + h * q3, u + h * u3)
        q, u = q + h / 6 * (q1 + 2 * q2 + 2 * q3 + q4), u + h / 6 * (u1 + 2 * u2 + 2 * u3 + u4)
    return q, u
