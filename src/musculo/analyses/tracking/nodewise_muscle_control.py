"""Muscle control without windows: activations that give the accelerations of a motion at every node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from musculo.analyses.static_optimization.least_effort import Status as EffortStatus
from musculo.analyses.static_optimization.least_effort import least_effort
from musculo.analyses.tracking.driven_window import NODES, node_times
from musculo.analyses.tracking.muscle_control import FailedWindow, MuscleControl
from musculo.analyses.tracking.muscle_controller import Controller
from musculo.analyses.tracking.muscle_windows import MuscleStates, paths_through
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.kernels.tracking.muscle_node import (
    Node,
    NodeReach,
    RestingActivations,
    RestingMuscles,
    node_activations,
    node_excitations,
    node_reach,
    resting_activations,
)
from musculo.muscle.fibers.activation import activation_at_start
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.equilibrium import muscle_equilibrium

# Rounds in which effort is a parabola of the forces, and the change of activations and controls that ends them.
_ROUNDS, _SETTLED = 40, 1e-8
# Halvings of a step that does not lessen the effort.
_HALVINGS = 12
# Activations that are looked for first.
_SOME = 0.05


class _Resting:
    """Muscles at a node whose tendons keep their lengths: what forces cost."""

    def __init__(self, c: Controller, length: FloatArray, speed: FloatArray) -> None:
        self._c, self._length, self._speed = c, length.copy(), speed.copy()

    def within(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Forces under least and largest activations."""
        model, method = self._c.driven.model, self._c.driven.method
        least, most = (
            muscle_equilibrium(model, self._length, self._speed, a, method=method, threads=1).tendon_force
            for a in (low, np.maximum(low, high))
        )
        return least, most

    def carrying(self, force: FloatArray, near: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Activations that carry forces, d a/d force, and fiber lengths; `near` is where they are looked for."""
        a, slope, fiber = near.copy(), np.empty(len(near)), np.empty(len(near))
        if len(near):
            table = compiled_muscles(self._c.driven.model).arrays
            opensim = self._c.driven.method == "opensim"
            known = RestingMuscles(self._length, self._speed, np.ascontiguousarray(force))
            resting_activations(*table, known, opensim, RestingActivations(a, slope, fiber))
        return a, slope, fiber


class _InStep:
    """Muscles at the end of an implicit step: what they can give there."""

    def __init__(self, c: Controller, node: Node, low: FloatArray, high: FloatArray, near: FloatArray) -> None:
        self._node, self._opensim = node, c.driven.method == "opensim"
        self._low, self._high = low.copy(), np.maximum(low, high)
        self._table = compiled_muscles(c.driven.model).arrays
        n = len(near)
        self._reach = NodeReach(np.empty((2, n)), np.empty((2, n)), np.stack([near, near]))
        node_reach(*self._table, node, self._low, self._high, self._opensim, self._reach)
        self.least, self.most = self._reach.force

    def giving(self, force: FloatArray, near: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Activations and fiber lengths with which they give forces; `near` is where they are looked for."""
        a, fiber = (x.copy() for x in near)
        forces = np.ascontiguousarray(force)
        node_activations(*self._table, self._node, self._reach, forces, self._opensim, a, fiber)
        return a, fiber

    def excitations(self, activation: FloatArray) -> FloatArray:
        """Constant in the step."""
        x = np.empty(len(activation))
        node_excitations(self._table[0], self._node, activation, self._low, self._high, x)
        return x


def nodewise_muscle_control(
    controller: Controller, start: float, end: float, progress: Callable[[float], None] | None = None
) -> MuscleControl:
    """Excitations under which a model moves exactly as the motion to follow, node by node.

    At every node forces F of muscles (and controls c of other actuators) are found with

        minimize sum a(F)^2 + sum c^2   subject to   A(q) (F, c) + b(q, u) = udot,   F(a_min) <= F <= F(a_max)

    where q, u and udot are those of the motion. a(F) is the activation that would carry the force in equilibrium, as
    in static optimization with elastic tendons. The force is reached by an implicit step of fiber and tendon from the
    last node, and F(a_min), F(a_max) are what that gives under the activations that excitations within their bounds
    lead to (`musculo.kernels.tracking.muscle_node`). The excitation of a step follows from its two activations.

    (The activation of the step itself is no measure of effort: in a short one it moves the force little, so that
    forces would go to actuators that act at once.)

    Nothing is integrated but muscles, so there are no errors to feed back; and the inverse of these steps is stable,
    while that of windows of constant excitation rings: forces met at the ends of windows make excitations alternate.
    No time is lost at the start: there tendons keep their length.

    Guarantees: where no window failed, accelerations of the tasks are met to rounding (1e-9 of the largest term).

    Args:
        controller: model, motion, tasks, bounds and the time between nodes; gains and targets are not used.
        start, end: the span [s].
        progress: is called with the part that is done.
    """
    c, driven, desired = controller, controller.driven, controller.desired
    model, e = driven.model, driven.embedding
    count = int(np.floor((end - start) / c.window + 1e-6))
    if count < 1:
        raise InvalidInput(f"from {start:g} to {end:g} s there is no window of {c.window:g} s; choose a longer span")
    time = np.asarray(start + c.window * np.arange(count + 1), dtype=float)
    driven.plan(time)
    m = desired.motion(time)
    z, zu = e.independent(m.q), e.independent_speeds(m.q, m.u)
    response = driven.respond(time, z, zu)
    rows = c.followed.speed
    A = response.J[:, rows] @ response.A
    b = np.einsum("ftz,fz->ft", response.J[:, rows], response.b) + response.rest[:, rows]
    wanted = m.udot[:, rows]
    n = len(model.muscles)
    speed = response.paths.speed
    assert speed is not None
    length, speed = response.paths.length[:, :n], speed[:, :n]
    optimal = np.array([one.optimal_force for one in driven.actuators])
    activation, fiber = np.zeros((count + 1, n)), np.zeros((count + 1, n))
    force, control = np.zeros((count + 1, len(driven.names))), np.zeros((count + 1, len(driven.names)))
    failures: list[FailedWindow] = []
    near = (
        np.array([max(activation_at_start(x), _SOME) for x in model.muscles]),
        np.array([x.optimal_fiber_length for x in model.muscles]),
    )
    for k, t in enumerate(time.tolist()):
        low, high = c.bounds(t)
        resting, step = _Resting(c, length[k], speed[k]), None
        if n and k > 0:
            two = k > 1
            known = (4.0 * fiber[k - 1] - fiber[k - 2]) / 3.0 if two else fiber[k - 1]
            gain = c.window * (2.0 / 3.0 if two else 1.0)
            node = Node(length[k].copy(), speed[k].copy(), activation[k - 1].copy(), known, gain, c.window)
            step = _InStep(c, node, low[:n], high[:n], near[1])
            least, most = step.least, step.most
        else:
            least, most = resting.within(low[:n], high[:n])
        bounds = np.concatenate([least, low[n:] * optimal]), np.concatenate([most, high[n:] * optimal])
        force[k], failed = _least_activation(c, resting, near[0], A[k], wanted[k] - b[k], optimal, bounds, t)
        if failed is not None:
            failures.append(failed)
        if step is not None:
            near = step.giving(force[k, :n], near)
            control[k, :n] = step.excitations(near[0])
        else:
            a, _, rest = resting.carrying(force[k, :n], near[0])
            near = np.clip(a, low[:n], np.maximum(low, high)[:n]), rest
            control[k, :n] = near[0]
        activation[k], fiber[k] = near
        control[k, n:] = np.where(optimal != 0.0, force[k, n:] / np.where(optimal != 0.0, optimal, 1.0), 0.0)
        if progress is not None:
            progress((k + 1) / (count + 1))
    if n and count:
        control[0, :n] = control[1, :n]  # it holds from before the first node
    udot = response.accelerations(force)
    error = np.zeros((count + 1, len(c.followed.names)))
    found = MuscleControl(
        model,
        driven.names,
        c.followed.names,
        time,
        response.q,
        response.u,
        udot,
        activation,
        fiber,
        force,
        time,
        control,
        np.array([True] * n + [False] * len(optimal), dtype=bool),
        np.stack(c.bounds(float(time[0]))),
        time,
        error,
        tuple(failures),
    )
    size = np.sqrt((integration_errors(found, c) ** 2).mean(axis=0))
    return replace(found, integration_error=size)


def _least_activation(
    c: Controller,
    resting: _Resting,
    near: FloatArray,
    A: FloatArray,
    wanted: FloatArray,
    optimal: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    time: float,
) -> tuple[FloatArray, FailedWindow | None]:
    """Forces of least effort at a node within bounds, and whether they miss the accelerations.

    In every round a(F) is a line; the forces that then are best meet the accelerations, and so do all on the way
    there, of which one with less effort is taken.

    Args: near: (muscles,) activations to begin with. A: (tasks, actuators) by force. wanted: (tasks,).
    """
    lower, upper = np.minimum(*bounds), np.maximum(*bounds)
    n = len(near)
    per_control = np.where(optimal != 0.0, 1.0 / np.where(optimal != 0.0, optimal, 1.0), 0.0)

    def effort(force: FloatArray, a: FloatArray) -> float:
        return float(a @ a + ((force[n:] * per_control) ** 2).sum())

    force, cost = lower, np.inf
    a, slope, _ = resting.carrying(force[:n], near)
    status = EffortStatus.SOLVED
    for _ in range(_ROUNDS):
        # a(F) is zero at `origin`, from where effort is a parabola
        origin = np.concatenate([force[:n] - a / slope, np.zeros(len(optimal))])
        weights = np.concatenate([slope, per_control]) ** 2
        weights = np.where(weights > 0.0, weights, 1.0)
        found = least_effort(A[None], (wanted - A @ origin)[None], lower - origin, upper - origin, weights, threads=1)
        status, best = EffortStatus(int(found.status[0])), found.x[0] + origin
        step, old = best - force, a
        if not np.isfinite(cost):  # the start need not meet the accelerations
            force, (a, slope, _) = best, resting.carrying(best[:n], a)
            cost = effort(force, a)
            continue
        for _ in range(_HALVINGS):
            tried = force + step
            a, slope, _ = resting.carrying(tried[:n], old)
            if effort(tried, a) <= cost:
                break
            step = 0.5 * step
        if effort(tried, a) > cost:
            break
        force, cost = tried, effort(tried, a)
        if np.abs(a - old).max(initial=0.0) <= _SETTLED:
            break
    failed = None if status == EffortStatus.SOLVED else c.failure(A, wanted, force, lower, upper, status, time)
    return force, failed


def integration_errors(found: MuscleControl, controller: Controller) -> FloatArray:
    """(nodes, muscles): forces of muscles that are integrated under the excitations along the motion, from the first
    node on, less those of the nodes, over the largest of the muscle."""
    c, driven, desired = controller, controller.driven, controller.desired
    n = len(driven.model.muscles)
    states = MuscleStates(found.activation[0], found.fiber_length[0], found.force[0, :n])
    error = np.zeros((len(found.time), n))
    for k, (start, end) in enumerate(zip(found.time[:-1], found.time[1:], strict=True)):
        m = desired.motion(node_times(float(start), float(end)))
        paths = paths_through(end - start, NODES, driven.geometry(m.q, m.u).length[:, :n]).only_end
        states = MuscleStates(*(x[0, -1] for x in c.muscles.states(states, paths, found.control[k + 1 : k + 2, :n])))
        error[k + 1] = states.force - found.force[k + 1, :n]
    return np.asarray(error / np.maximum(np.abs(found.force[:, :n]).max(axis=0), 1e-9 * c.strength + 1e-12))
