"""Residual reduction: a motion whose residual forces are small, near a recorded one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from musculo.analyses.static_optimization.reserves import Actuator, actuators_of
from musculo.analyses.tracking.acceleration_targets import AccelerationTargets
from musculo.analyses.tracking.actuated_model import actuated_model, loads_in_nodes
from musculo.analyses.tracking.desired_motion import DesiredMotion
from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput, SingularSystem
from musculo.io.control_limits import ControlLimits
from musculo.kernels.integrate.tracked_motion import (
    FINISHED,
    FIRST_AIM,
    SINGULAR,
    TrackedNodes,
    TrackingCourse,
    TrackingLaw,
    tracked_nodes,
)
from musculo.like import Like, like_opensim
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads

# OpenSim's, which no set-up can change [s].
WINDOW = 0.001
# A part of a window that is a rounding and no step.
_NO_STEP = 1e-6
# What OpenSim makes of controls without bounds.
UNBOUNDED = 10000.0


@dataclass(frozen=True, eq=False)
class TrackedMotion:
    """A motion under actuators, at the nodes."""

    actuators: tuple[str, ...]
    tasks: tuple[str, ...]
    time: FloatArray = field(repr=False)  # (nodes,) [s]
    q: FloatArray = field(repr=False)  # (nodes, n)
    u: FloatArray = field(repr=False)  # (nodes, n_u)
    udot: FloatArray = field(repr=False)  # (nodes, n_u)
    force: FloatArray = field(repr=False)  # (nodes, actuators) [N, N m]
    error: FloatArray = field(repr=False)  # (nodes, tasks) desired less reached coordinates [rad, m]
    control_time: FloatArray = field(repr=False)  # (controls,) [s]
    control: FloatArray = field(repr=False)  # (controls, actuators) force by optimal force, linear in between


def residual_reduction(
    desired: DesiredMotion,
    targets: AccelerationTargets,
    span: tuple[float, float],
    *,
    loads: ExternalLoads | None = None,
    limits: Sequence[ControlLimits] = (),
    like: Like | None = None,
    window: float = WINDOW,
    substeps: int = 1,
) -> TrackedMotion:
    """Follow a motion with the actuators of a model, which weigh its accelerations against effort.

    With `like="opensim"`, as its residual reduction does, window by window of 1 ms: errors at the start of a window and
    accelerations of the motion at its end give targets; forces are those of least squares at its end, at the state that
    is then predicted (the motion to follow, as far off as now); controls are linear from there to there, and the model
    moves under them. By default forces follow the state at every instant instead, so nothing is predicted, aimed at or
    joined by lines.

    The model moves by the Runge-Kutta method of order 4, `substeps` to a window.

    Source:  OpenSim 4.6, `RRATool.cpp`, `CMC.cpp`, `ActuatorForceTarget.cpp`.
    Departs: OpenSim's steps have error control, and end where their windows do but for rounding: its files hold such
             rows twice. Where bounds hold it stops at IPOPT's tolerance; these are the optimum to rounding.

    Args:
        desired: the motion; its model is the one that moves.
        targets: the tasks.
        span: from where to where [s]; the last node comes a window before the end, as in OpenSim.
        loads: from outside.
        limits: of controls by the names of actuators, in the place of what these state themselves.

    Raises:
        InvalidInput: a span without a window.
        SingularSystem: no mass resists a coordinate; says when.
        Unsupported: what the model has and this does not know.
    """
    model, opensim = desired.model, like_opensim(like)
    start, end = span
    made = actuated_model(model, loads)
    n_a = len(made.actuators)
    if not n_a:
        raise InvalidInput(f"the model {model.name!r} has no actuators; give a file of residual and reserve actuators")
    time, step = _nodes(start, end, window)
    parts = np.concatenate([np.arange(2 * substeps + 1) / (2 * substeps)])
    points = np.concatenate([time[:, None] + step[:, None] * parts, time[:, None] + window], axis=1)
    low, high, stepped = _bounds_of(made.actuators, limits, time)
    course = TrackingCourse(
        time,
        step,
        np.full(len(time), window),
        *_at(desired, points),
        np.stack([desired.qdot(time), desired.qdot(time + window)], axis=1),
        _shaped(loads_in_nodes(model, loads, points.ravel()), points.shape),
        np.ascontiguousarray(low, dtype=float),
        np.ascontiguousarray(high, dtype=float),
    )
    strength = np.array([motor.optimal_force for motor in made.actuators])
    t = targets
    law = TrackingLaw(t.coordinate, t.weight, t.ka, t.kv, t.kp, t.limit, strength, stepped, int(not opensim))
    n, n_u, nodes = len(model.coordinates), len(model.speed_names), len(time)
    shapes = ((nodes, n), (nodes, n_u), (nodes, n_u), (nodes + 1, n_a), (nodes, len(t.names)), (nodes,))
    out = TrackedNodes(*(np.zeros(shape) for shape in shapes))
    out.q[0], out.u[0] = desired.q(time[:1])[0], desired.u(time[:1])[0]
    how, at = (int(x) for x in tracked_nodes(made.tree, law, course, out, substeps))
    if how != FINISHED:
        what = "no mass resists a coordinate, or forces grew beyond all bounds" if how == SINGULAR else (
            "the search for forces of least squares did not end"
        )  # fmt: skip
        raise SingularSystem(f"residual reduction stopped at {time[min(at, nodes - 1)]:g} s: {what}")
    control_time = np.append(time, time[-1] + window)
    control_time[0] += FIRST_AIM if opensim else 0.0
    if not opensim:
        out.control[-1], control_time = out.control[-2], time
    return TrackedMotion(
        tuple(motor.name for motor in made.actuators),
        t.names,
        time,
        out.q,
        out.u,
        out.udot,
        out.control[:-1] * strength,
        out.error,
        control_time,
        out.control[: len(control_time)],
    )


def _nodes(start: float, end: float, window: float) -> tuple[FloatArray, FloatArray]:
    """Times of nodes, a window apart as repeated addition gives them, and the steps from each to the next."""
    if not end - start > window:
        raise InvalidInput(f"from {start:g} to {end:g} s there is no window of {window:g} s; give a longer span")
    last = end - window
    count = int(np.floor((last - start) / window + _NO_STEP)) + 1
    time = np.add.accumulate(np.concatenate([[start], np.full(count - 1, window)]))
    if last - time[-1] > _NO_STEP * window:
        time = np.append(time, last)
    return time, np.append(np.diff(time), window)


def control_bounds(
    model: Model, limits: Sequence[ControlLimits], time: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The least and the largest controls (times, actuators) of the actuators of a model, and which go in steps."""
    return _bounds_of(actuators_of(model), limits, time)


def _bounds_of(
    actuators: Sequence[Actuator], limits: Sequence[ControlLimits], time: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The least and the largest controls (nodes, actuators), and which controls go in steps."""
    stated = {one.name: one for one in limits}
    low, high = np.empty((len(time), len(actuators))), np.empty((len(time), len(actuators)))
    stepped = np.zeros(len(actuators), dtype=np.int64)
    for k, motor in enumerate(actuators):
        one = stated.get(motor.name)
        if one is not None:
            low[:, k], high[:, k] = one.at(time)
            stepped[k] = int(one.steps)
        else:
            ends = (motor.min_control, motor.max_control)
            low[:, k], high[:, k] = (np.clip(end, -UNBOUNDED, UNBOUNDED) if np.isinf(end) else end for end in ends)
        if (low[:, k] > high[:, k]).any():
            at = int(np.argmax(low[:, k] > high[:, k]))
            raise InvalidInput(
                f"the control of {motor.name!r} is to lie between {low[at, k]:g} and {high[at, k]:g} at {time[at]:g} s"
            )
    return low, high, stepped


def _at(desired: DesiredMotion, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    motion = desired.motion(points.ravel())
    return tuple(_shaped(x, points.shape) for x in (motion.q, motion.u, motion.udot))  # type: ignore[return-value]


def _shaped(values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    return np.ascontiguousarray(values.reshape(*shape, *values.shape[1:]))
