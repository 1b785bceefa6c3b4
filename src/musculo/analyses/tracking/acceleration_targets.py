"""Accelerations that bring a model back to the motion that it follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from musculo.analyses.tracking.desired_motion import DesiredMotion
from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.io.setup.tracking_tasks import CoordinateTracking, TrackingTasks
from musculo.model.model import Model

# Of a task's limit: over so much of it forces become free as its error comes near.
LIMIT_WIDTH = 0.1


@dataclass(frozen=True, eq=False)
class AccelerationTargets:
    """Tasks that follow coordinates: a* = ka a_d + kv (u_d - u) + kp (q_d - q) for each; made by `tracking_targets`."""

    names: tuple[str, ...]  # of the tasks
    coordinate: IntArray  # (tasks,) columns of q
    speed: IntArray  # (tasks,) columns of u
    weight: FloatArray  # (tasks,)
    ka: FloatArray  # (tasks,)
    kv: FloatArray  # (tasks,) [1/s]
    kp: FloatArray  # (tasks,) [1/s^2]
    limit: FloatArray  # (tasks,) [rad, m]; 0 for none

    def errors(
        self, desired: DesiredMotion, time: float, q: FloatArray, u: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """q_d - q and u_d - u (tasks,) of a state."""
        at = [time]
        return (desired.q(at)[0] - q)[self.coordinate], (desired.u(at)[0] - u)[self.speed]

    def accelerations(
        self, desired: DesiredMotion, time: float, q: FloatArray, u: FloatArray, window: float = 0.0
    ) -> FloatArray:
        """a* (tasks,): errors of the state now, accelerations of the motion a window later, as OpenSim has them."""
        off, slow = self.errors(desired, time, q, u)
        return self.ka * desired.udot([time + window])[0][self.speed] + self.kv * slow + self.kp * off

    def stress_weight(self, error: FloatArray) -> float:
        """How much forces count beside accelerations where the errors are these: 1 without limits.

        The least over tasks with a limit L of 1 / (1 + exp((|e| - L) / (0.1 L))). Source: OpenSim 4.6, `CMC.cpp`.
        """
        some = self.limit > 0.0
        if not some.any():
            return 1.0
        L = self.limit[some]
        return float((1.0 / (1.0 + np.exp((np.abs(error[some]) - L) / (LIMIT_WIDTH * L)))).min())


def tracking_targets(model: Model, tasks: TrackingTasks | Sequence[CoordinateTracking]) -> AccelerationTargets:
    """The tasks of coordinates that count, in their order.

    Args:
        model: whose coordinates are followed.
        tasks: of a file, or one by one.

    Raises:
        UnknownName: a task of a coordinate that the model lacks.
        Unsupported: tasks of other kinds that are on, or of parts of a quaternion.
        InvalidInput: no model or no tasks, no task counts, or a weight is negative.
    """
    if not isinstance(model, Model):
        raise InvalidInput(f"model is a {type(model).__name__}; give a Model, as read_osim returns it")
    if not isinstance(tasks, TrackingTasks):
        given = [tasks] if isinstance(tasks, str) or not isinstance(tasks, Iterable) else list(tasks)
        strange = [one for one in given if not isinstance(one, CoordinateTracking)]
        if strange:
            shown = repr(strange[0]) if isinstance(strange[0], str) else f"a {type(strange[0]).__name__}"
            raise InvalidInput(
                f"tasks are {shown}; give what read_tracking_tasks(path) returns, or a list of CoordinateTracking"
            )
    if isinstance(tasks, TrackingTasks):
        where = f"{tasks.source}: " if tasks.source else ""
        counted = tasks.coordinates
        others = [t for t in tasks.tasks if not isinstance(t, CoordinateTracking) and t.on and t not in tasks.points]
        if tasks.points or others:
            names = ", ".join(repr(t.name) for t in (*tasks.points, *others))
            raise Unsupported(
                f"{where}tasks {names} are no <CMC_Joint>, and only coordinates are followed; set their <on> to false, "
                "or follow the coordinates that move the point"
            )
    else:
        where, counted = "", tuple(t for t in tasks if t.on and t.active[0])
    for task in counted:
        if task.coordinate not in model.coordinate_names:
            raise UnknownName("coordinate", task.coordinate, model.coordinate_names, f"{where}task {task.name!r}")
        if task.coordinate not in model.speed_names:
            raise Unsupported(
                f"{where}task {task.name!r}: {task.coordinate!r} is part of a quaternion, without a speed"
            )
        if task.weight[0] < 0.0:
            raise InvalidInput(f"{where}task {task.name!r} has weight {task.weight[0]:g}; weights are not negative")
    if not counted:
        raise InvalidInput(
            f"{where}no task of a coordinate is on and active, so there is nothing to follow; give a <CMC_Joint> with "
            "<on>true</on> and <active>true</active>"
        )

    def of(what: str) -> FloatArray:
        return np.array([getattr(task, what)[0] for task in counted], dtype=float)

    return AccelerationTargets(
        tuple(task.name for task in counted),
        np.array([model.coordinate_index(task.coordinate) for task in counted], dtype=np.int64),
        np.array([model.speed_index(task.coordinate) for task in counted], dtype=np.int64),
        of("weight"),
        of("ka"),
        of("kv"),
        of("kp"),
        np.array([task.limit for task in counted], dtype=float),
    )
