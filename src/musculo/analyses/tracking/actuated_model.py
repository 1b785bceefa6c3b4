"""A model with its actuators, its own forces and external loads as kernels take it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from musculo.analyses.static_optimization.reserves import Actuator, actuators_of
from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.dynamics.embedded_dynamics import embedded_dynamics
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.embedding.speed_rates import turning_joints
from musculo.errors import Unsupported
from musculo.forces.acting_data import acting_data
from musculo.kernels.tracking.actuated_tree import ActuatedTree
from musculo.model.model import Model
from musculo.model.path_force import ClutchedPathSpring
from musculo.results.external_loads import ExternalLoads

# Loads on bodies that poses q (frames, n) and speeds u (frames, n_u) bring with them, in ground.
StateLoads = Callable[[FloatArray, FloatArray], list[ExternalLoad]]
# Whose activation is a state of its own.
_SLOW = "ActivationCoordinateActuator"


class ActuatedModel(NamedTuple):
    """What `actuated_model` makes."""

    tree: ActuatedTree
    actuators: tuple[Actuator, ...]


def refuse_unknown(model: Model) -> None:
    """Refuse models whose accelerations the kernel of actuators does not find.

    Raises:
        Unsupported: closed loops, joints with angular velocities as speeds, muscles and other forces along paths,
            actuators with activation dynamics; names them.
    """
    e = embedding_of(model)
    if e.loops or e.unsolved:
        raise Unsupported(f"the model {model.name!r} has closed loops ({', '.join(e.loop_names)})")
    turning = turning_joints(model)
    if turning or model.coordinate_names != model.speed_names or embedded_dynamics(model) is None:
        names = ", ".join(model.coordinate_names[k] for joint in turning for k in joint.q) or "some joint"
        raise Unsupported(f"the model {model.name!r}: the speeds of {names} are no derivatives of coordinates")
    strange = [f for f in model.forces if f.applies_force and (f.path is not None or f.kind == _SLOW)]
    strange = [f for f in strange if not isinstance(f, ClutchedPathSpring)]
    if strange:
        known = [f"{f.kind} {f.name!r}" for f in strange]
        more = f" and {len(known) - 4} more" if known[4:] else ""
        raise Unsupported(
            f"the model has {', '.join(known[:4])}{more}; residual reduction knows no muscles, no forces along paths "
            "and no activation dynamics: set <replace_force_set> to true, so that actuators of <force_set_files> act "
            "alone, or use computed muscle control"
        )


def actuated_model(model: Model, loads: ExternalLoads | None, carried: Sequence[str] = ()) -> ActuatedModel:
    """The arrays of a model, of its forces and actuators, and of the loads that apply.

    Args: carried: bodies with loads besides, given in ground at points that move with them.

    Raises:
        Unsupported: see `refuse_unknown`.
    """
    refuse_unknown(model)
    c, e, own = compiled(model), embedding_of(model), embedded_dynamics(model)
    assert own is not None
    assert own.rows is not None
    motors = actuators_of(model)
    tree = ActuatedTree(
        c.tree,
        c.table,
        *own.rows,
        own.followers,
        _ints([model.coordinate_index(name) for name in e.coordinate_names]),
        acting_data(
            model, loads=() if loads is None else loads, rows={motor.name: k for k, motor in enumerate(motors)}
        ),
        _ints([model.speed_index(motor.coordinate) if motor.coordinate else -1 for motor in motors]),
        np.array([motor.optimal_force for motor in motors], dtype=float),
        _ints([c.body_node[body] for body in carried]),
    )
    return ActuatedModel(tree, motors)


def _ints(values: Sequence[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def carried_in_nodes(model: Model, loads: Sequence[ExternalLoad], q: FloatArray) -> FloatArray:
    """(frames, loads, 9) loads on bodies in ground at poses q (frames, n), their points in the frames of nodes."""
    found = np.zeros((len(q), len(loads), 9))
    if not loads:
        return found
    c, poses = compiled(model), kinematics(model, q)
    for k, load in enumerate(loads):
        R, p = poses.batch_pose(load.body)
        X = c.body_pose[load.body]
        on_body = np.einsum("fji,fj->fi", R, np.asarray(load.point) - p)
        found[:, k, :3], found[:, k, 3:6], found[:, k, 6:] = load.force, X.p + on_body @ X.R.T, load.moment
    return found
