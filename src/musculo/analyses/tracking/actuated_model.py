"""A model with its actuators and external loads as kernels take it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.analyses.static_optimization.reserves import Actuator, actuators_of, unit_loads
from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.joint_nodes import placed
from musculo.dynamics.embedded_dynamics import embedded_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.embedding.speed_rates import turning_joints
from musculo.errors import Unsupported
from musculo.forces.compiled_forces import compiled_forces
from musculo.kernels.integrate.actuated_tree import ActuatedTree, Actuators, OutsideLoads
from musculo.model.model import Model
from musculo.model.path_force import ClutchedPathSpring
from musculo.results.external_loads import ExternalLoads
from musculo.spatial.pose import Pose


class ActuatedModel(NamedTuple):
    """What `actuated_model` makes."""

    tree: ActuatedTree
    actuators: tuple[Actuator, ...]


def refuse_unknown(model: Model) -> None:
    """Refuse models whose accelerations the kernel of actuators does not find.

    Raises:
        Unsupported: closed loops, joints with angular velocities as speeds, muscles, actuators along paths or between
            two points, springs and other forces that act by themselves; names them.
    """
    e = embedding_of(model)
    if e.loops or e.unsolved:
        raise Unsupported(f"the model {model.name!r} has closed loops ({', '.join(e.loop_names)})")
    turning = turning_joints(model)
    if turning or model.coordinate_names != model.speed_names or embedded_dynamics(model) is None:
        names = ", ".join(model.coordinate_names[k] for joint in turning for k in joint.q) or "some joint"
        raise Unsupported(f"the model {model.name!r}: the speeds of {names} are no derivatives of coordinates")
    strange = [f for f in model.forces if f.applies_force and (f.path is not None or f.kind == "PointToPointActuator")]
    strange = [f for f in strange if not isinstance(f, ClutchedPathSpring)]
    own = compiled_forces(model, "exact").groups
    if strange or own:
        known = [f"{f.kind} {f.name!r}" for f in strange] or ["springs, limits or contacts"]
        more = f" and {len(known) - 4} more" if known[4:] else ""
        raise Unsupported(
            f"the model has {', '.join(known[:4])}{more}; residual reduction knows CoordinateActuator, PointActuator "
            "and TorqueActuator: set <replace_force_set> to true, so that those of <force_set_files> act alone"
        )


def actuated_model(model: Model, loads: ExternalLoads | None) -> ActuatedModel:
    """The arrays of a model, of its actuators, and of the loads that apply.

    Raises:
        Unsupported: see `refuse_unknown`.
    """
    refuse_unknown(model)
    c, e, own = compiled(model), embedding_of(model), embedded_dynamics(model)
    assert own is not None
    assert own.rows is not None
    free = np.array([model.coordinate_index(name) for name in e.coordinate_names], dtype=np.int64)
    motors = actuators_of(model)
    applied = [force for force in loads.forces if force.applies] if loads is not None else []
    outside = OutsideLoads(
        _ints([c.body_node[force.body] for force in applied]),
        _ints([c.body_node[model.placement(force.force_in).body] for force in applied]),
        _ints([c.body_node[model.placement(force.point_in).body] for force in applied]),
    )
    tree = (c.tree, c.table, *own.rows, own.followers, free, _actuators(model, c, motors), outside)
    return ActuatedModel(ActuatedTree(*tree), motors)


def _ints(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def _actuators(model: Model, c: CompiledModel, motors: tuple[Actuator, ...]) -> Actuators:
    whose, node, turns, along_node, along, point_node, point = [], [], [], [], [], [], []
    for i, motor in enumerate(motors):
        if motor.coordinate or motor.force is None:
            continue
        for load in unit_loads(model, motor.force, np.zeros((1, len(model.coordinates)))):
            moment = np.asarray(load.moment, dtype=float)
            turning = bool(moment.any())
            direction = moment if turning else np.asarray(load.force, dtype=float)
            frame, X = _in_node(model, c, load.force_in)
            whose.append(i)
            node.append(c.body_node[load.body])
            turns.append(int(turning))
            along_node.append(frame)
            along.append(X.R @ direction)
            frame, X = _in_node(model, c, load.point_in)
            point_node.append(frame)
            point.append(X.p + X.R @ np.asarray(load.point, dtype=float))
    speed = [model.speed_index(motor.coordinate) if motor.coordinate else -1 for motor in motors]
    vectors = [np.array(v, dtype=float).reshape(-1, 3) for v in (along, point)]
    return Actuators(
        _ints(speed), _ints(whose), _ints(node), _ints(turns), _ints(along_node), vectors[0], _ints(point_node),
        vectors[1],
    )  # fmt: skip


def _in_node(model: Model, c: CompiledModel, frame: str) -> tuple[int, Pose]:
    """The node in which a frame stands still, and its pose there."""
    at = model.placement(frame)
    return c.body_node[at.body], c.body_pose[at.body] @ placed(at)


def loads_in_nodes(model: Model, loads: ExternalLoads | None, time: FloatArray) -> FloatArray:
    """(times, loads, 9) force, point and moment in the frames of nodes."""
    if loads is None:
        return np.zeros((len(time), 0, 9))
    c = compiled(model)
    series = loads.at(time)
    found = np.zeros((len(time), len(series), 9))
    for k, load in enumerate(series):
        _, X = _in_node(model, c, load.force_in)
        found[:, k, :3], found[:, k, 6:] = load.force @ X.R.T, load.moment @ X.R.T
        _, X = _in_node(model, c, load.point_in)
        found[:, k, 3:6] = X.p + load.point @ X.R.T
    return found
