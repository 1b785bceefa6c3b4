"""The actuators of a model that run along no path, as kernels take them, and the controls that they ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import UnknownName
from musculo.forces import stated_forces as stated
from musculo.forces.placed import Placed, placed
from musculo.kernels.forces.actuator_laws import (
    Actuators,
    BodyActuators,
    CoordinateActuators,
    PairActuators,
    PointActuators,
    TorqueActuators,
)
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.spatial.pose import Pose

AT_COORDINATE = ("CoordinateActuator", "ActivationCoordinateActuator")
KINDS = (*AT_COORDINATE, "PointActuator", "TorqueActuator", "PointToPointActuator", "BodyActuator")
_ZERO = (0.0, 0.0, 0.0)
# Controls of a BodyActuator: three of torque, three of force.
_SIX = 6


def controlled_forces(model: Model) -> tuple[Force, ...]:
    """The actuators that apply, in file order."""
    return tuple(force for force in model.forces if force.applies_force and force.kind in KINDS)


def control_names(model: Model) -> tuple[str, ...]:
    """Controls of these actuators as OpenSim names them: `name`, or `name_0` to `name_5` of a BodyActuator."""
    names: list[str] = []
    for force in controlled_forces(model):
        six = force.kind == "BodyActuator"
        names += [f"{force.name}_{k}" for k in range(_SIX)] if six else [force.name]
    return tuple(names)


def actuator_rows(model: Model, rows: Mapping[str, int] | None = None) -> Actuators:
    """The actuators as kernels take them.

    Args:
        model: the model.
        rows: of the controls, by the names of actuators, of a BodyActuator the first of six; actuators without a row
            do nothing. By default those of `control_names`.

    Raises:
        UnknownName: an actuator names a coordinate or body that there is not.
        InvalidModel: its numbers cannot be used.
    """
    forces = controlled_forces(model)
    if rows is None:
        rows, count = {}, 0
        for force in forces:
            rows[force.name] = count
            count += _SIX if force.kind == "BodyActuator" else 1
    given = rows

    def of(*kinds: str) -> tuple[list[Force], IntArray]:
        found = [force for force in forces if force.kind in kinds and force.name in given]
        return found, np.array([given[force.name] for force in found], dtype=np.int64)

    return Actuators(
        _coordinate(model, *of(*AT_COORDINATE)),
        _point(model, *of("PointActuator")),
        _torque(model, *of("TorqueActuator")),
        _pair(model, *of("PointToPointActuator")),
        _body(model, *of("BodyActuator")),
    )


def speed_of(model: Model, force: Force) -> str:
    """The speed that an actuator at a coordinate acts on."""
    name = force.text("coordinate").strip()
    if name not in model.speed_names:
        raise UnknownName("speed", name, model.speed_names, stated.described(force))
    return name


def _vectors(rows: Sequence[FloatArray]) -> FloatArray:
    return np.array(rows, dtype=float).reshape(-1, 3)


def _flags(forces: Sequence[Force], key: str, default: bool) -> IntArray:
    return np.array([stated.flag(force, key, default) for force in forces], dtype=np.int64)


def _strengths(forces: Sequence[Force]) -> FloatArray:
    return np.array([stated.finite(force, "optimal_force", 1.0) for force in forces], dtype=float)


def _at(model: Model, bodies: Sequence[str], points: FloatArray) -> Placed:
    return placed(model, bodies, [Pose(np.eye(3), point) for point in points])


def _in_nodes(vectors: FloatArray, at: Placed, in_ground: IntArray) -> FloatArray:
    """Vectors given in bodies or in ground, in nodes or in ground."""
    turned = np.einsum("kij,kj->ki", at.R, vectors)
    return np.ascontiguousarray(np.where(in_ground[:, None] == 1, vectors, turned))


def _coordinate(model: Model, forces: Sequence[Force], control: IntArray) -> CoordinateActuators:
    speeds = [model.speed_index(speed_of(model, force)) for force in forces]
    return CoordinateActuators(control, np.array(speeds, dtype=np.int64), _strengths(forces))


def _point(model: Model, forces: Sequence[Force], control: IntArray) -> PointActuators:
    points = _vectors([stated.vector(force, "point", _ZERO) for force in forces])
    at = _at(model, [stated.body(force, "body", model) for force in forces], points)
    directions = _vectors([stated.vector(force, "direction", (1.0, 0.0, 0.0), unit=True) for force in forces])
    in_ground = _flags(forces, "force_is_global", False)
    force = _in_nodes(_strengths(forces)[:, None] * directions, at, in_ground)
    return PointActuators(control, at.frames, points, _flags(forces, "point_is_global", False), force, in_ground)


def _torque(model: Model, forces: Sequence[Force], control: IntArray) -> TorqueActuators:
    first, second = (placed(model, [stated.body(f, key, model) for f in forces]) for key in ("bodyA", "bodyB"))
    axes = _vectors([stated.vector(force, "axis", (0.0, 0.0, 1.0), unit=True) for force in forces])
    in_ground = _flags(forces, "torque_is_global", True)
    torque = _in_nodes(_strengths(forces)[:, None] * axes, first, in_ground)
    return TorqueActuators(control, first.node, second.node, torque, in_ground)


def _pair(model: Model, forces: Sequence[Force], control: IntArray) -> PairActuators:
    p_1, p_2 = (_vectors([stated.vector(force, key, _ZERO) for force in forces]) for key in ("pointA", "pointB"))
    one, two = ([stated.body(force, key, model) for force in forces] for key in ("bodyA", "bodyB"))
    in_ground = _flags(forces, "points_are_global", False)
    both = _at(model, one, p_1).frames, _at(model, two, p_2).frames
    return PairActuators(control, *both, p_1, p_2, in_ground, _strengths(forces))


def _body(model: Model, forces: Sequence[Force], control: IntArray) -> BodyActuators:
    points = _vectors([stated.vector(force, "point", _ZERO) for force in forces])
    at = _at(model, [stated.frame(force, "body", model) for force in forces], points)
    return BodyActuators(
        control,
        at.frames,
        points,
        _flags(forces, "point_is_global", False),
        _flags(forces, "spatial_force_is_global", True),
        at.frames.R,
    )
