"""Residual reduction: a motion whose residual forces are small, near a recorded one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from musculo.analyses.static_optimization.reserves import Actuator, actuators_of
from musculo.analyses.tracking.acceleration_targets import AccelerationTargets
from musculo.analyses.tracking.actuated_model import StateLoads, actuated_model, carried_in_nodes
from musculo.analyses.tracking.desired_motion import DesiredMotion
from musculo.analyses.tracking.tracking_arguments import (
    check_limits,
    check_motion_and_targets,
    checked_duration,
    checked_span,
)
from musculo.arrays import FloatArray, IntArray
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, SingularSystem
from musculo.io.controls.control_limits import ControlLimits
from musculo.kernels.tracking.tracked_motion import (
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
from musculo.results.result_base import Result, Series, also

# OpenSim's, which no set-up can change [s].
WINDOW = 0.001
# A part of a window that is a rounding and no step.
_NO_STEP = 1e-6
# What OpenSim makes of controls without bounds.
UNBOUNDED = 10000.0


@dataclass(frozen=True, eq=False, repr=False)
class TrackedMotion(Result):
    """A motion under actuators that follow another, at the nodes; made by `residual_reduction`."""

    made_by: ClassVar[str] = "residual_reduction"

    model: Model = field(repr=False)
    actuator_names: tuple[str, ...]
    task_names: tuple[str, ...]
    time: FloatArray = field(repr=False)  # (nodes,) [s]
    q: FloatArray = field(repr=False)  # (nodes, n)
    u: FloatArray = field(repr=False)  # (nodes, n_u)
    udot: FloatArray = field(repr=False)  # (nodes, n_u)
    force: FloatArray = field(repr=False)  # (nodes, actuators) [N, N m]
    error: FloatArray = field(repr=False)  # (nodes, tasks) desired less reached coordinates [rad, m]
    control_time: FloatArray = field(repr=False)  # (controls,) [s]
    control: FloatArray = field(repr=False)  # (controls, actuators) force by optimal force, linear in between
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()

    actuators = also("actuator_names")
    tasks = also("task_names")

    def __len__(self) -> int:
        return len(self.time)

    def _series(self) -> Iterable[Series]:
        speeds = {"speed": self.model.speed_names}
        yield Series("q", self.q, {"coordinate": self.model.coordinate_names}, "rad or m")
        yield Series("u", self.u, speeds, "rad/s or m/s")
        yield Series("udot", self.udot, speeds, "rad/s^2 or m/s^2")
        yield Series("force", self.force, {"actuator": self.actuator_names}, "N or N m")
        yield Series("error", self.error, {"task": self.task_names}, "rad or m")


def residual_reduction(
    desired: DesiredMotion,
    targets: AccelerationTargets,
    span: tuple[float, float],
    *,
    loads: ExternalLoads | None = None,
    limits: Sequence[ControlLimits] = (),
    departures: StateLoads | None = None,
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
        span: from where to where [s], within the recording; the last node comes a window before the end, as in OpenSim.
        loads: from outside.
        departures: loads by poses and speeds that act besides, as those with which our dynamics gives Simbody's. They
            are taken along the motion to follow.
        limits: of controls by the names of actuators, in the place of what these state themselves.
        like: "opensim" for windows that aim at their ends.
        window: from node to node [s].
        substeps: of the integration, to a window.

    Raises:
        InvalidInput: a span without a window or beyond the recording, limits that leave no room, or an argument that
            is something else than its name says.
        UnknownName: limits of actuators that the model lacks.
        SingularSystem: no mass resists a coordinate; says when.
        Unsupported: what the model has and this does not know.
    """
    check_motion_and_targets(desired, targets)
    model, opensim = desired.model, like_opensim(like)
    start, end = checked_span(span, desired)
    window = checked_duration(window, "window", WINDOW)
    if not isinstance(substeps, int) or substeps < 1:
        raise InvalidInput(f"substeps is {substeps!r}; give a whole number of steps to a window, 1 or more")
    time, step = _nodes(start, end, window)
    parts = np.arange(2 * substeps + 1) / (2 * substeps)
    points = np.concatenate([time[:, None] + step[:, None] * parts, time[:, None] + window], axis=1)
    follow = desired.motion(points.ravel())
    carried = [] if departures is None else departures(follow.q, follow.u)
    made = actuated_model(model, loads, [load.body for load in carried])
    n_a = len(made.actuators)
    if not n_a:
        raise InvalidInput(f"the model {model.name!r} has no actuators; give a file of residual and reserve actuators")
    check_limits(limits, [motor.name for motor in made.actuators], time)
    low, high, stepped = _bounds_of(made.actuators, limits, time)
    course = TrackingCourse(
        time,
        step,
        np.full(len(time), window),
        _shaped(follow.q, points.shape),
        _shaped(follow.u, points.shape),
        _shaped(follow.udot, points.shape),
        np.stack([desired.qdot(time), desired.qdot(time + window)], axis=1),
        _shaped(carried_in_nodes(model, carried, follow.q), points.shape),
        np.ascontiguousarray(low, dtype=float),
        np.ascontiguousarray(high, dtype=float),
        _first_speeds(desired, start),
    )
    t = targets
    law = TrackingLaw(t.coordinate, t.weight, t.ka, t.kv, t.kp, t.limit, stepped, int(not opensim))
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
        model,
        tuple(motor.name for motor in made.actuators),
        t.names,
        time,
        out.q,
        out.u,
        out.udot,
        out.control[:-1] * made.tree.strength,
        out.error,
        control_time,
        out.control[: len(control_time)],
        {"start": start, "end": end, "window": window, "substeps": substeps, "like": like or ""},
        desired.notes,
    )


def _first_speeds(desired: DesiredMotion, start: float) -> FloatArray:
    """(n_u,): the speeds nearest to the desired ones that couplers and locks allow, as Simbody projects them.

        minimize  sum ((u - u_d) / s)^2,   s = max(1, |u_d|),   u = J zu + c

    Columns of coupled coordinates may contradict their couplers; in degrees they do, and change nothing else much.
    Source: Simbody 3.8, relative weights of speeds; found from OpenSim's first rows.
    """
    e = embedding_of(desired.model)
    u = desired.u([start])
    if not e.rules:
        return u[0]
    q = desired.q([start])
    m = e.motion(e.independent(q), e.independent_speeds(q, u), time=start)
    rest = m.u[0] - m.J[0] @ e.independent_speeds(q, u)[0]
    weight = 1.0 / np.maximum(1.0, np.abs(u[0]))
    zu = np.linalg.lstsq(weight[:, None] * m.J[0], weight * (u[0] - rest), rcond=None)[0]
    return np.asarray(m.J[0] @ zu + rest)


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


def _shaped(values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    return np.ascontiguousarray(values.reshape(*shape, *values.shape[1:]))
