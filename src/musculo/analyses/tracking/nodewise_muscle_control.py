"""Muscle control without windows: activations that give the accelerations of a motion at every node."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from musculo.analyses.static_optimization.least_effort import Status as EffortStatus
from musculo.analyses.static_optimization.least_effort import least_effort
from musculo.analyses.tracking.computed_muscle_control import Controller, FailedWindow, MuscleControl
from musculo.analyses.tracking.driven_window import NODES, node_times
from musculo.analyses.tracking.muscle_windows import MuscleStates, paths_through
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.kernels.hill.muscle_node import Node, node_activations, node_excitations, node_reach
from musculo.model.force import Muscle
from musculo.muscle.activation import activation_at_start
from musculo.muscle.compile_muscles import compiled_muscles
from musculo.muscle.equilibrium import MuscleForces, muscle_equilibrium

# Rounds in which effort is a parabola of the forces, and the change of activations and controls that ends them.
_ROUNDS, _SETTLED = 40, 1e-8
# Halvings of a step that does not lessen the effort.
_HALVINGS = 12
# Difference of activations for the slope of forces in equilibrium.
_NUDGE = 1e-4
# Force of a muscle over its strength that counts as none where bounds are drawn.
_NARROW = 1e-9


class _Given(NamedTuple):
    """Muscles that give certain forces: activations, d a/d force, fiber lengths."""

    activation: FloatArray
    slope: FloatArray
    fiber: FloatArray


class _Reach(Protocol):
    """What muscles can do at a node, and with which activations."""

    least: FloatArray  # (muscles,) forces [N]
    most: FloatArray

    def giving(self, force: FloatArray, near: _Given) -> _Given: ...


class _AtRest:
    """Muscles whose tendons keep their length: at the first node."""

    def __init__(self, c: Controller, length: FloatArray, speed: FloatArray, low: FloatArray, high: FloatArray) -> None:
        self._c, self._length, self._speed = c, length, speed
        self._low, self._high = low, np.maximum(low, high)
        self.least, self.most = (self._at(x).tendon_force for x in (self._low, self._high))

    def _at(self, a: FloatArray) -> MuscleForces:
        model = self._c.driven.model
        return muscle_equilibrium(model, self._length, self._speed, a, method=self._c.driven.method, threads=1)

    def giving(self, force: FloatArray, near: _Given) -> _Given:
        """By halving: forces in equilibrium grow with the activation."""
        low, high = self._low.copy(), self._high.copy()
        for _ in range(45):
            middle = 0.5 * (low + high)
            more = self._at(middle).tendon_force < force
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        a = 0.5 * (low + high)
        now, nudge = self._at(a), np.where(a > 0.5, -_NUDGE, _NUDGE)
        rise = (self._at(a + nudge).tendon_force - now.tendon_force) / nudge
        return _Given(a, 1.0 / np.maximum(rise, 1e-6 * self._c.strength), now.fiber_length)


class _InStep:
    """Muscles at the end of an implicit step."""

    def __init__(self, c: Controller, node: Node, low: FloatArray, high: FloatArray, near: FloatArray) -> None:
        self._node, self._opensim = node, c.driven.method == "opensim"
        self._low, self._high = low.copy(), np.maximum(low, high)
        self._table = compiled_muscles(c.driven.model).arrays
        self._reach, self._force = np.empty((2, len(near))), np.empty((2, len(near)))
        fiber = np.stack([near, near])
        node_reach(*self._table, node, self._low, self._high, self._opensim, self._reach, self._force, fiber)
        self.least, self.most = self._force

    def giving(self, force: FloatArray, near: _Given) -> _Given:
        found = _Given(near.activation.copy(), np.empty(len(force)), near.fiber.copy())
        node_activations(
            *self._table, self._node, self._reach, self._force, np.ascontiguousarray(force), self._opensim, *found
        )
        return found

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

    where q, u and udot are those of the motion. a(F) is the activation with which tendon and fiber give the force at
    the end of an implicit step, and a_min, a_max are what activation dynamics reach in it under the bounds of the
    excitations (`musculo.kernels.hill.muscle_node`). The excitation of a step follows from its two activations.

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
    rows = [model.speed_index(task.coordinate) for task in c.tasks]
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
    near = _Given(*(np.array([part(x) for x in model.muscles]) for part in _FIRST))
    for k, t in enumerate(time.tolist()):
        low, high = c.bounds(t)
        reach: _AtRest | _InStep
        if k == 0 or not n:
            reach = _AtRest(c, length[k], speed[k], low[:n], high[:n])
        else:
            two = k > 1
            known = (4.0 * fiber[k - 1] - fiber[k - 2]) / 3.0 if two else fiber[k - 1]
            gain = c.window * (2.0 / 3.0 if two else 1.0)
            node = Node(length[k].copy(), speed[k].copy(), activation[k - 1].copy(), known, gain, c.window)
            reach = _InStep(c, node, low[:n], high[:n], near.fiber)
        bounds = np.concatenate([reach.least, low[n:] * optimal]), np.concatenate([reach.most, high[n:] * optimal])
        force[k], near, failed = _least_activation(c, reach, near, A[k], wanted[k] - b[k], optimal, bounds, t)
        if failed is not None:
            failures.append(failed)
        activation[k], fiber[k] = near.activation, near.fiber
        control[k, :n] = reach.excitations(near.activation) if isinstance(reach, _InStep) else near.activation
        control[k, n:] = np.where(optimal != 0.0, force[k, n:] / np.where(optimal != 0.0, optimal, 1.0), 0.0)
        if progress is not None:
            progress((k + 1) / (count + 1))
    if n and count:
        control[0, :n] = control[1, :n]  # it holds from before the first node
    udot = response.accelerations(force)
    steps = np.array([True] * n + [False] * len(optimal), dtype=bool)
    error = np.zeros((count + 1, len(c.tasks)))
    return MuscleControl(
        driven, driven.names, steps, time, response.q, response.u, udot, activation, fiber, force, time, control,
        c.tasks, time, error, tuple(failures),
    )  # fmt: skip


_FIRST: tuple[Callable[[Muscle], float], ...] = (
    lambda x: max(activation_at_start(x), 0.05),
    lambda x: 1.0 / max(x.max_isometric_force, 1.0),
    lambda x: x.optimal_fiber_length,
)


def _least_activation(
    c: Controller,
    reach: _Reach,
    near: _Given,
    A: FloatArray,
    wanted: FloatArray,
    optimal: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    time: float,
) -> tuple[FloatArray, _Given, FailedWindow | None]:
    """Forces of least effort at a node, muscles that give them, and whether they miss the accelerations.

    Effort is the sum of squares of activations a(F) and controls. In every round a(F) is a line; the forces that then
    are best meet the accelerations, and so do all on the way there, of which one with less effort is taken.

    Args: A: (tasks, actuators) by force.
    """
    lower, upper = bounds
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    n = len(near.activation)
    per_control = np.where(optimal != 0.0, 1.0 / np.where(optimal != 0.0, optimal, 1.0), 0.0)

    def effort(force: FloatArray, given: _Given) -> float:
        return float(given.activation @ given.activation + ((force[n:] * per_control) ** 2).sum())

    force: FloatArray | None = None
    status, cost = EffortStatus.SOLVED, np.inf
    for _ in range(_ROUNDS):
        # a(F) is zero at `origin`, from where effort is a parabola
        at = lower[:n] if force is None else force[:n]
        if force is None:
            near = reach.giving(at, near)
        origin = np.concatenate([at - near.activation / near.slope, np.zeros(len(optimal))])
        weights = np.concatenate([near.slope, per_control]) ** 2
        weights = np.where(weights > 0.0, weights, 1.0)
        found = least_effort(A[None], (wanted - A @ origin)[None], lower - origin, upper - origin, weights, threads=1)
        status, new = EffortStatus(int(found.status[0])), found.x[0] + origin
        if force is None:
            force, given = new, reach.giving(new[:n], near)
            near, cost = given, effort(new, given)
            continue
        step = new - force
        for _ in range(_HALVINGS):
            tried = force + step
            given = reach.giving(tried[:n], near)
            if effort(tried, given) <= cost:
                break
            step = 0.5 * step
        change = np.abs(given.activation - near.activation).max(initial=0.0)
        better = effort(tried, given)
        if better > cost:
            break
        force, near, cost = tried, given, better
        if change <= _SETTLED:
            break
    assert force is not None
    failed = None if status == EffortStatus.SOLVED else c.failure(A, wanted, force, lower, upper, status, time)
    return force, near, failed


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
