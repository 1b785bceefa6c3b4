"""Any model in absolute coordinates: a body with Euler parameters for each body, equations for each joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from musculo.absolute.constraints.constraint import Equations
from musculo.absolute.constraints.coordinate_function import CoordinateFunction
from musculo.absolute.constraints.distance import Distance
from musculo.absolute.constraints.point_on_line import PointOnLine
from musculo.absolute.constraints.rigid import Rigid
from musculo.absolute.constraints.spherical import Spherical
from musculo.absolute.drivers.coordinate_driver import CoordinateDriver
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import Given, GivenNumbers, GivenOrientation, GivenPose
from musculo.absolute.joint_equations import JointEquations, joint_equations
from musculo.absolute.load_of import LoadOf
from musculo.absolute.mechanism import Mechanism
from musculo.arrays import FloatArray
from musculo.compile.compiled import check_model
from musculo.embedding.embedding import embedding_of
from musculo.embedding.speed_rates import turning_joints
from musculo.errors import InvalidInput, Unsupported
from musculo.functions.elementary_functions import Constant
from musculo.model.body import Placement, Vec3
from musculo.model.joint_tree import tree_order
from musculo.model.joints.joint import BallMotion, EllipsoidMotion, FreeMotion
from musculo.model.model import Model
from musculo.model.model_constraint import (
    ConstantDistanceConstraint,
    Constraint,
    CoordinateCoupler,
    PointConstraint,
    PointOnLineConstraint,
    WeldConstraint,
)
from musculo.spatial.rotation import quaternion_from_xyz, to_xyz

Driven = Literal["tree", "independent", "none"]
JointForm = Literal["functions", "textbook"]


@dataclass(frozen=True, eq=False)
class AbsoluteModel:
    """A model as a mechanism that is driven, and where its generalized forces are found.

    `driven` is "tree" where every coordinate is driven and constraints of the model are left out, as in OpenSim's
    inverse dynamics; "independent" where the independent coordinates, and those locked or prescribed, are driven and
    constraints do the rest; or "none" where only locked and prescribed ones are driven, and forces move the others.
    """

    model: Model
    mechanism: Mechanism
    driven: Driven
    speed_names: tuple[str, ...]  # whose generalized forces come out, as the recursion has them
    joints: Mapping[str, JointEquations]
    speed_rows: tuple[tuple[int, int], ...]  # of each speed: (its driver's equation, -1), or (a load, a component)

    def __repr__(self) -> str:
        return f"AbsoluteModel({self.model.name!r}, driven={self.driven!r}, {self.mechanism!r})"

    def given(self, q: FloatArray, u: FloatArray, udot: FloatArray) -> dict[str, Given]:
        """What the drivers are told for a motion (frames, n), (frames, n_u), (frames, n_u) of the model."""
        told: dict[str, Given] = {}
        column = {name: k for k, name in enumerate(self.model.coordinate_names)}
        speed = {name: k for k, name in enumerate(self.model.speed_names)}
        rates, seconds = self.angle_rates(q, u, udot)
        for driver in self.mechanism.drivers:
            if isinstance(driver, CoordinateDriver):
                k, n = column[driver.coordinate], speed.get(driver.coordinate, -1)
                first = rates.get(driver.coordinate, u[:, n])
                second = seconds.get(driver.coordinate, udot[:, n])
                told[driver.name] = GivenNumbers(q[:, k : k + 1], first[:, None], second[:, None])
        for name, joint in self.joints.items():
            if joint.driver is not None and joint.motion is not None:
                speeds = [speed[label] for label in self.model.joint(name).speed_names]
                places = [column[label] for label in joint.motion.coordinates]
                told[joint.driver.name] = _pose(joint.motion, q[:, places], u[:, speeds], udot[:, speeds])
        return told

    def angle_rates(
        self, q: FloatArray, u: FloatArray, udot: FloatArray
    ) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        """Derivatives of angles that are driven by themselves though their joint's speeds are an angular velocity."""
        rates: dict[str, FloatArray] = {}
        seconds: dict[str, FloatArray] = {}
        for name, joint in self.joints.items():
            if joint.motion is None or joint.motion.coordinates[0] not in self.mechanism.coordinates:
                continue
            columns = [self.model.coordinate_index(label) for label in joint.motion.coordinates[:3]]
            speeds = [self.model.speed_index(label) for label in self.model.joint(name).speed_names[:3]]
            first, second = angle_derivatives(q[:, columns], u[:, speeds], udot[:, speeds])
            for k, label in enumerate(joint.motion.coordinates[:3]):
                rates[label], seconds[label] = first[:, k], second[:, k]
        return rates, seconds

    def coordinates(self, q: FloatArray) -> FloatArray:
        """(frames, n) of q that are unknowns of the mechanism."""
        index = self.model.coordinate_index
        return np.ascontiguousarray(q[:, [index(name) for name in self.mechanism.coordinates]])

    def generalized_forces(self, multipliers: FloatArray, force: FloatArray, moment: FloatArray) -> FloatArray:
        """(frames, speeds) from multipliers and the loads that are reported."""
        columns = []
        for first, component in self.speed_rows:
            if component < 0:
                columns.append(-multipliers[:, first])
            else:
                columns.append((moment if component < 3 else force)[:, first, component % 3])
        return np.stack(columns, axis=1) if columns else np.zeros((len(multipliers), 0))


def from_model(model: Model, *, driven: Driven = "tree", joints: JointForm = "functions") -> AbsoluteModel:
    """A model in absolute coordinates, made once.

    Every body gets a position and Euler parameters, every joint of the tree its equations, and couplers and loops
    theirs. Coordinates of joints are unknowns beside the bodies' positions, each tied to a driver.

    Args:
        model: the model.
        driven: "tree" drives every coordinate and ignores the model's constraints, as OpenSim's inverse dynamics does;
            "independent" drives the independent coordinates (`embedding_of`), and those locked or prescribed;
            "none" drives the locked and prescribed ones alone.
        joints: "functions" has every joint with coordinates as a `FunctionJoint`; "textbook" has hinges, sliders,
            cylindrical and planar joints by their own equations.

    Raises:
        Unsupported: constraints that musculo carries only, or that are equations in Python.
    """
    check_model(model)
    if driven not in ("tree", "independent", "none") or joints not in ("functions", "textbook"):
        raise InvalidInput(
            f"driven is {driven!r} and joints {joints!r}; give 'tree', 'independent' or 'none', and 'functions' or "
            "'textbook'"
        )
    return model.derived(("absolute", driven, joints), lambda: _from_model(model, driven, joints == "textbook"))


def _from_model(model: Model, driven: Driven, textbook: bool) -> AbsoluteModel:
    free, partly = _driven(model, driven)
    found = {j.name: joint_equations(j, textbook, j.name in partly) for j in model.joints}
    if driven == "none":
        found = {name: part.released() for name, part in found.items()}
    chain, loads = [], {}
    for edge in tree_order(model.joints, model.body_names):
        joint = model.joints[edge.joint_index]
        part = found[joint.name]
        chain.append((part.outside, part.inside) if edge.reversed else (part.inside, part.outside))
        inner, outer = (joint.child, joint.parent) if edge.reversed else (joint.parent, joint.child)
        names = [e.name for e in part.constraints] + ([part.driver.name] if part.driver is not None else [])
        loads[joint.name] = LoadOf(joint.name, tuple(names), Frame(outer), Frame(inner))
    equations: list[Equations] = [e for part in found.values() for e in part.constraints]
    equations += [part.driver for part in found.values() if part.driver is not None]
    poses = {name for part in found.values() if part.motion is not None for name in part.motion.coordinates}
    poses -= {name for j in model.joints if j.name in partly for name in j.coordinate_names}
    for name in model.coordinate_names:
        if name in free and name not in poses:
            equations.append(CoordinateDriver(f"drive {name}", name))
    listed = [loads[name] for name in model.joint_names]
    for name, part in found.items():
        if part.driver is not None and name not in partly and driven != "none":
            axes = part.driver.frames[0]
            listed.append(LoadOf(part.driver.name, (part.driver.name,), part.outside, axes, axes))
    if driven != "tree":
        taken = {e.name for e in equations}
        for constraint in model.constraints:
            if constraint.enforced:
                name = constraint.name if constraint.name not in taken else f"constraint {constraint.name}"
                one = _constraint(model, constraint, name, poses)
                equations.append(one)
                if one.place is not None:
                    listed.append(LoadOf(name, (name,), one.place[1], one.place[0]))
    coordinates = tuple(name for name in model.coordinate_names if name not in poses)
    mechanism = Mechanism(model.bodies, tuple(equations), model.gravity, coordinates, tuple(chain), tuple(listed))
    speeds: tuple[str, ...] = ()
    if driven != "none":
        speeds = model.speed_names if driven == "tree" else embedding_of(model).speed_names
    return AbsoluteModel(model, mechanism, driven, speeds, found, _where(model, mechanism, found, speeds))


def _driven(model: Model, driven: Driven) -> tuple[set[str], set[str]]:
    """Coordinates that are driven, and joints that have angular velocities and coordinates that are not."""
    if driven == "tree":
        return set(model.coordinate_names), set()
    held = {c.name for c in model.coordinates if c.locked or c.prescribed}
    if driven == "none":
        couplers = [c for c in model.constraints if isinstance(c, CoordinateCoupler) and c.enforced]
        known = held.union(*map(_tied, couplers))
        names = model.coordinate_names
        return held, {j.joint for j in turning_joints(model) if known.intersection(names[k] for k in j.q)}
    e = embedding_of(model)
    return {*e.coordinate_names, *held}, {joint.joint for joint in e.partly_turning}


def _tied(coupler: CoordinateCoupler) -> tuple[str, ...]:
    return (coupler.dependent, *coupler.independents)


def _where(
    model: Model, mechanism: Mechanism, joints: Mapping[str, JointEquations], speeds: Sequence[str]
) -> tuple[tuple[int, int], ...]:
    """Where the generalized force of each speed is found."""
    rows = {name: k for k, name in reversed(list(enumerate(mechanism.row_names)))}
    loads = {load.name: k for k, load in enumerate(mechanism.loads)}
    whole: dict[str, tuple[int, int]] = {}
    for joint in model.joints:
        part = joints[joint.name]
        if part.driver is not None and part.driver.name in loads and part.motion is not None:
            # a joint may have coordinates besides those of this motion, behind them
            turning = 3 if not isinstance(part.motion, FreeMotion) else 6
            for k, name in enumerate(joint.speed_names[:turning]):
                whole[name] = (loads[part.driver.name], k)
    return tuple(whole[name] if name in whole else (rows[f"drive {name}"], -1) for name in speeds)


def _constraint(model: Model, constraint: Constraint, name: str, poses: set[str]) -> Equations:
    """A constraint of the model beyond its tree."""
    match constraint:
        case CoordinateCoupler():
            inside = [c for c in (constraint.dependent, *constraint.independents) if c in poses]
            if inside:
                raise Unsupported(
                    f"coupler {name!r} ties {inside[0]!r}, an angle of a joint whose speeds are angular velocities"
                )
            function = constraint.function or Constant(0.0)
            return CoordinateFunction(name, constraint.dependent, constraint.independents, function, constraint.scale)
        case WeldConstraint():
            return Rigid(name, constraint.first, constraint.second)
        case PointConstraint() | ConstantDistanceConstraint():
            first = Placement(constraint.first_body, constraint.first_location)
            second = Placement(constraint.second_body, constraint.second_location)
            if isinstance(constraint, PointConstraint):
                return Spherical(name, first, second)
            return Distance(name, first, second, constraint.distance)
        case PointOnLineConstraint():
            line = Placement(constraint.line_body, constraint.point_on_line, _z_along(constraint.line_direction))
            return PointOnLine(name, line, Placement(constraint.follower_body, constraint.point_on_follower))
    raise Unsupported(
        f"absolute coordinates have no equations for constraint {name!r} of kind {type(constraint).__name__}; "
        "switch it off (enforced=False), or drive the tree (driven='tree')"
    )


def _z_along(direction: Vec3) -> Vec3:
    """Body-fixed x, y, z angles of a frame whose z axis has this direction."""
    z = np.asarray(direction, dtype=float)
    z = z / np.linalg.norm(z)
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x = x / np.linalg.norm(x)
    a, b, c = to_xyz(np.column_stack([x, np.cross(z, x), z])).tolist()
    return (a, b, c)


def _pose(
    motion: BallMotion | FreeMotion | EllipsoidMotion, q: FloatArray, u: FloatArray, udot: FloatArray
) -> GivenPose:
    """What the driver of a joint with angular velocities is told."""
    quaternion = not isinstance(motion, EllipsoidMotion) and motion.quaternion
    p = q[:, :4] / np.linalg.norm(q[:, :4], axis=1, keepdims=True) if quaternion else quaternion_from_xyz(q[:, :3])
    omega, alpha = u[:, :3], udot[:, :3]
    still = np.zeros_like(omega)
    place = GivenNumbers(still, still, still)
    if isinstance(motion, FreeMotion):
        place = GivenNumbers(q[:, -3:], u[:, 3:6], udot[:, 3:6])
    elif isinstance(motion, EllipsoidMotion):
        e0, e1, e2, e3 = p.T
        z = np.stack([2 * (e1 * e3 + e0 * e2), 2 * (e2 * e3 - e0 * e1), e0 * e0 - e1 * e1 - e2 * e2 + e3 * e3], axis=1)
        r = np.asarray(motion.radii)
        rate = np.cross(omega, z)
        place = GivenNumbers(r * z, r * rate, r * (np.cross(alpha, z) + np.cross(omega, rate)))
    return GivenPose(GivenOrientation(p, omega, alpha), place)


def angle_derivatives(angles: FloatArray, omega: FloatArray, alpha: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and second derivatives (frames, 3) of body-fixed x, y, z angles that turn with omega, alpha, in F.

    omega = E adot,   alpha = E addot + Edot adot,   E = [x, R1 y, R1 R2 z]
    """
    (sa, sb, _), (ca, cb, _) = np.sin(angles).T, np.cos(angles).T
    zero, one = np.zeros_like(sa), np.ones_like(sa)
    E = np.array([[one, zero, sb], [zero, ca, -sa * cb], [zero, sa, ca * cb]]).transpose(2, 0, 1)
    first = np.linalg.solve(E, omega[..., None])[..., 0]
    a, b, _ = first.T
    changes = [
        [zero, zero, cb * b],
        [zero, -sa * a, -ca * cb * a + sa * sb * b],
        [zero, ca * a, -sa * cb * a - ca * sb * b],
    ]
    rest = alpha - np.einsum("ijf,fj->fi", np.array(changes), first)
    return first, np.linalg.solve(E, rest[..., None])[..., 0]
