"""Actuators that are not muscles: at coordinates, on bodies and along paths, and reserves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.inverse import gravity_forces, inverse_dynamics
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput, InvalidModel, UnknownName
from musculo.forces.actuator_rows import AT_COORDINATE, speed_of
from musculo.forces.stated_forces import body, flag, number, vector
from musculo.model.body import GROUND
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.model.path_force import PathActuator
from musculo.muscle.paths.geometry import PathGeometry

Reserves = float | Mapping[str, float]
ON_BODY = ("PointActuator", "TorqueActuator", "PointToPointActuator")


@dataclass(frozen=True)
class Actuator:
    """What gives control times `optimal_force`: at a coordinate, or as the force of the model says."""

    name: str
    optimal_force: float  # [N, N m]
    min_control: float = -math.inf
    max_control: float = math.inf
    coordinate: str = ""  # the speed it acts on
    force: Force | None = None  # of the model; None for a reserve


def optimal_force(force: Force) -> float | None:
    """What an actuator gives at a control of one [N, N m]; None of a force that is none."""
    if isinstance(force, PathActuator):
        return force.optimal_force
    return number(force, "optimal_force", 1.0) if force.kind in (*AT_COORDINATE, *ON_BODY) else None


def actuators_of(model: Model) -> tuple[Actuator, ...]:
    """The actuators of a model that apply a force and are no muscles, in file order."""
    found = []
    for force in model.forces:
        if not force.applies_force:
            continue
        if isinstance(force, PathActuator):
            found.append(Actuator(force.name, force.optimal_force, force.min_control, force.max_control, force=force))
        elif force.kind in (*AT_COORDINATE, *ON_BODY):
            coordinate = speed_of(model, force) if force.kind in AT_COORDINATE else ""
            found.append(
                Actuator(
                    force.name,
                    number(force, "optimal_force", 1.0),
                    number(force, "min_control", -math.inf),
                    number(force, "max_control", math.inf),
                    coordinate,
                    force,
                )
            )
    for one in found:
        if not math.isfinite(one.optimal_force) or one.min_control > one.max_control:
            raise InvalidModel(
                f"actuator {one.name!r} has optimal force {one.optimal_force:g} and controls from "
                f"{one.min_control:g} to {one.max_control:g}; give a number and controls in order"
            )
    return tuple(found)


def reserves_of(model: Model, reserves: Reserves | None, free: tuple[str, ...]) -> tuple[Actuator, ...]:
    """Reserves without bounds: one of the given optimal force for each speed named, or for all that are free."""
    if reserves is None:
        return ()
    given = reserves if isinstance(reserves, Mapping) else dict.fromkeys(free, reserves)
    taken = {force.name for force in model.forces}
    found = []
    for name, value in given.items():
        if name not in free:
            raise UnknownName("free speed", name, free, "reserves")
        if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0.0:
            raise InvalidInput(f"the reserve of {name!r} has optimal force {value!r}; give a number above zero")
        label = f"{name}_reserve"
        if label in taken:
            raise InvalidInput(f"the model has a force {label!r} already; leave {name!r} out of reserves")
        found.append(Actuator(label, float(value), coordinate=name))
    return tuple(found)


def actuator_columns(
    model: Model,
    Q: FloatArray,
    J: FloatArray,
    g: PathGeometry,
    motors: Sequence[Actuator],
    threads: int | None,
) -> FloatArray:
    """(frames, n_z, actuators): what full control of each does on every independent speed."""
    columns = np.empty((len(Q), J.shape[2], len(motors)))
    for k, motor in enumerate(motors):
        if motor.coordinate or motor.force is None:
            unit = J[:, model.speed_index(motor.coordinate)]
        elif motor.force.path is not None:
            unit = np.einsum("fuz,fu->fz", J, g.moment_arm[:, g.index(motor.name)])
        else:
            unit = np.einsum("fuz,fu->fz", J, generalized_force_on_bodies(model, Q, motor.force, threads))
        columns[:, :, k] = motor.optimal_force * unit
    return columns


def generalized_force_on_bodies(model: Model, q: FloatArray, force: Force, threads: int | None) -> FloatArray:
    """(frames, n_u): what a unit of force or torque of a point or torque actuator does on every speed."""
    loads = unit_loads(model, force, q)
    rest = np.zeros((len(q), len(model.speed_names)))
    # The difference of two inverse dynamics at rest is -J^T load.
    with_load = inverse_dynamics(model, q, rest, rest, loads, threads=threads)
    return gravity_forces(model, q, threads=threads) - with_load


def unit_loads(model: Model, force: Force, q: FloatArray) -> list[ExternalLoad]:
    """What a unit of force or torque of an actuator on bodies does to them, at poses q (frames, n)."""
    if force.kind == "PointToPointActuator":
        return _between(model, force, q)
    return _point(model, force) if force.kind == "PointActuator" else _torque(model, force)


def _between(model: Model, force: Force, q: FloatArray) -> list[ExternalLoad]:
    """Of two points: they are pushed apart along the line between them, as in OpenSim."""
    bodies = [body(force, key, model) for key in ("bodyA", "bodyB")]
    points = [vector(force, key, (0.0, 0.0, 0.0)) for key in ("pointA", "pointB")]
    if flag(force, "points_are_global", False):
        places = [np.broadcast_to(point, (len(q), 3)) for point in points]
    else:
        poses = kinematics(model, q)
        places = [poses.position(body, point) for body, point in zip(bodies, points, strict=True)]
    apart = places[0] - places[1]
    length = np.linalg.norm(apart, axis=1, keepdims=True)
    along = apart / np.where(length > 0.0, length, 1.0)
    both = zip(bodies, places, (along, -along), strict=True)
    return [ExternalLoad(name, push, place) for name, place, push in both if name != GROUND]


def _point(model: Model, force: Force) -> list[ExternalLoad]:
    on = body(force, "body", model)
    force_in = GROUND if flag(force, "force_is_global", False) else on
    point_in = GROUND if flag(force, "point_is_global", False) else on
    direction = vector(force, "direction", (1.0, 0.0, 0.0), unit=True)
    return [ExternalLoad(on, direction, vector(force, "point", (0.0, 0.0, 0.0)), (0, 0, 0), force_in, point_in)]


def _torque(model: Model, force: Force) -> list[ExternalLoad]:
    first, second = body(force, "bodyA", model), body(force, "bodyB", model)
    axis = vector(force, "axis", (0.0, 0.0, 1.0), unit=True)
    frame = GROUND if flag(force, "torque_is_global", True) else first
    both = ((first, axis), (second, -axis))
    return [ExternalLoad(name, moment=turn, force_in=frame) for name, turn in both if name != GROUND]
