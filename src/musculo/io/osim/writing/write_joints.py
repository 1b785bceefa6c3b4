"""Joints, coordinates and constraints as elements of the 40600 layout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from lxml import etree

from musculo.errors import Unsupported
from musculo.functions import Constant, Function
from musculo.io.osim.document import Document
from musculo.io.osim.elements.joint_elements import JOINT_ELEMENTS
from musculo.io.osim.writing.write_functions import Span
from musculo.io.osim.xml import Element, ensure, exact, exact_all, put
from musculo.model.body import Placement
from musculo.model.coordinate import Coordinate, bare_name
from musculo.model.joints import Axis, BallJoint, CustomJoint, FreeJoint, Joint, UnsupportedJoint
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS
from musculo.model.model_constraint import (
    ConstantDistanceConstraint,
    Constraint,
    CoordinateCoupler,
    EquationConstraint,
    PointConstraint,
    PointOnLineConstraint,
    UnsupportedConstraint,
    WeldConstraint,
)
from musculo.spatial.rotation import from_quaternion, to_xyz

_AXES = (X_AXIS, Y_AXIS, Z_AXIS)


def write_joint(joint: Joint, document: Document) -> None:
    written = _with_angles(_as_in_opensim(joint), document)
    tag = written.element if isinstance(written, UnsupportedJoint) else written.kind
    element = document.add("JointSet", tag, joint.name)
    names: list[str] = []
    for socket, placement in (("parent_frame", written.parent), ("child_frame", written.child)):
        write_placement(element, socket, placement, f"/jointset/{joint.name}", names, document)
    coordinates = etree.SubElement(element, "coordinates")
    for coordinate in written.coordinates:
        _write_coordinate(coordinates, bare_name(joint.name, coordinate.name), coordinate, document)
    if isinstance(written, CustomJoint):
        _write_transform(element, written, document)
    known = JOINT_ELEMENTS.get(written.kind)
    for numbers in known.numbers if known is not None else ():
        value = getattr(written, numbers.field)
        put(element, numbers.element, exact(value) if numbers.size == 1 else exact_all(value))
    document.carry(element, joint.carried)


def write_placement(
    element: Element, socket: str, placement: Placement, owner: str, names: list[str], document: Document
) -> None:
    """A socket, and the offset frame it names where there is one. `names` are those taken in this owner."""
    still = not any((*placement.translation, *placement.orientation))
    if placement.name.startswith("/"):
        put(element, f"socket_{socket}", placement.name)
        return
    if not placement.name and still:
        put(element, f"socket_{socket}", document.socket(placement.body))
        return
    name = placement.name or f"{placement.body}_offset"
    while name in names:
        name += "_0"
    names.append(name)
    put(element, f"socket_{socket}", name)
    document.offset_frame(ensure(element, "frames"), f"{owner}/{name}", placement)


def _write_coordinate(holder: Element, name: str, coordinate: Coordinate, document: Document) -> None:
    element = etree.SubElement(holder, "Coordinate", name=name)
    put(element, "default_value", exact(coordinate.default_value))
    put(element, "default_speed_value", exact(coordinate.default_speed))
    put(element, "range", exact_all(coordinate.range))
    put(element, "clamped", _flag(coordinate.clamped))
    put(element, "locked", _flag(coordinate.locked))
    put(element, "prescribed", _flag(coordinate.prescribed))
    put(element, "is_free_to_satisfy_constraints", _flag(coordinate.free_to_satisfy_constraints))
    if coordinate.prescribed_function is not None:
        document.function(element, "prescribed_function", coordinate.prescribed_function, coordinate.name)
    document.carry(element, coordinate.carried)


def _flag(value: bool) -> str:
    return "true" if value else "false"


# --- joints that OpenSim has under another form ---------------------------------------------------------------------
def _as_in_opensim(joint: Joint) -> Joint:
    """Kinds that OpenSim does not have, as screw and cylindrical joints, are custom joints to it, exactly."""
    known = joint.kind in JOINT_ELEMENTS or isinstance(joint, CustomJoint | UnsupportedJoint)
    return joint if known else CustomJoint.of(joint)


def _with_angles(joint: Joint, document: Document) -> Joint:
    """Quaternion coordinates become body-fixed xyz angles, all that OpenSim has."""
    if not isinstance(joint, BallJoint | FreeJoint) or not joint.quaternion:
        return joint
    quaternion = [c.default_value for c in joint.coordinates[:4]]
    angles = to_xyz(from_quaternion(quaternion)).tolist() if np.any(quaternion) else [0.0, 0.0, 0.0]
    speeds = joint.speed_names
    rotations = tuple(
        Coordinate(f"{joint.name}_r{axis}", default_value=angle, range=(-np.pi, np.pi))
        for axis, angle in zip("xyz", angles, strict=True)
    )
    document.note(
        f"{joint.kind} {joint.name!r}",
        f"/jointset/{joint.name}",
        f"OpenSim has no quaternion coordinates; {', '.join(speeds[:3])} are written with the angles "
        f"{', '.join(c.name for c in rotations)}, singular where the second is 90 degrees",
    )
    return replace(joint, coordinates=rotations + joint.coordinates[4:], quaternion=False)


# --- custom joints --------------------------------------------------------------------------------------------------
def _write_transform(element: Element, joint: CustomJoint, document: Document) -> None:
    transform = etree.SubElement(element, "SpatialTransform")
    spans = {c.name: c.range for c in joint.coordinates}
    for kind, axes in (("rotation", joint.rotations), ("translation", joint.translations)):
        for count, axis in enumerate(_three(axes), start=1):
            leaf = etree.SubElement(transform, "TransformAxis", name=f"{kind}{count}")
            put(leaf, "coordinates", " ".join(bare_name(joint.name, name) for name in axis.coordinates))
            put(leaf, "axis", exact_all(axis.direction))
            where = f"{kind}{count} of joint {joint.name!r}"
            document.named_function(leaf, "function", axis.function, where, _span(axis, spans))


def _span(axis: Axis, spans: dict[str, Span]) -> Span | None:
    return spans.get(axis.coordinates[0]) if len(axis.coordinates) == 1 else None


def _three(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """OpenSim wants three axes, no two parallel: still ones are added in the directions that are left."""
    result = list(axes)
    while len(result) < 3:
        taken = np.array([a.direction for a in result]).reshape(-1, 3)
        taken = taken / np.linalg.norm(taken, axis=1, keepdims=True)
        # The direction farthest from those taken.
        free = min(_AXES, key=lambda e: float(np.max(np.abs(taken @ np.array(e)), initial=0.0)))
        result.append(Axis(free))
    return tuple(result)


# --- constraints ----------------------------------------------------------------------------------------------------
def write_constraint(constraint: Constraint, document: Document) -> None:
    if isinstance(constraint, EquationConstraint):
        raise Unsupported(
            f"constraint {constraint.name!r} is a Python function of coordinates, which OpenSim's format cannot hold; "
            "write the model without it, or state it as a coupler"
        )
    if isinstance(constraint, UnsupportedConstraint):
        tag = constraint.element
    else:
        tag = "CoordinateCouplerConstraint" if isinstance(constraint, CoordinateCoupler) else type(constraint).__name__
    element = document.add("ConstraintSet", tag, constraint.name)
    put(element, "isEnforced", _flag(constraint.enforced))
    if isinstance(constraint, CoordinateCoupler):
        _write_coupler(element, constraint, document)
    elif isinstance(constraint, WeldConstraint):
        names: list[str] = []
        for socket, placement in (("frame1", constraint.first), ("frame2", constraint.second)):
            write_placement(element, socket, placement, f"/constraintset/{constraint.name}", names, document)
    elif isinstance(constraint, PointConstraint | ConstantDistanceConstraint):
        put(element, "socket_body_1", document.socket(constraint.first_body))
        put(element, "socket_body_2", document.socket(constraint.second_body))
        put(element, "location_body_1", exact_all(constraint.first_location))
        put(element, "location_body_2", exact_all(constraint.second_location))
        if isinstance(constraint, ConstantDistanceConstraint):
            put(element, "constant_distance", exact(constraint.distance))
    elif isinstance(constraint, PointOnLineConstraint):
        put(element, "socket_line_body", document.socket(constraint.line_body))
        put(element, "socket_follower_body", document.socket(constraint.follower_body))
        put(element, "line_direction_vec", exact_all(constraint.line_direction))
        put(element, "point_on_line", exact_all(constraint.point_on_line))
        put(element, "point_on_follower", exact_all(constraint.point_on_follower))
    document.carry(element, constraint.carried)


def _write_coupler(element: Element, constraint: CoordinateCoupler, document: Document) -> None:
    for name in (constraint.dependent, *constraint.independents):
        document.model.coordinate(name)  # says so where there is none
    function: Function = constraint.function if constraint.function is not None else Constant(0.0)
    span = document.model.coordinate(constraint.independents[0]).range if len(constraint.independents) == 1 else None
    document.function(element, "coupled_coordinates_function", function, f"coupler {constraint.name!r}", span)
    where = f"coupler {constraint.name!r}"
    independents = (document.coordinate_name(name, where) for name in constraint.independents)
    put(element, "independent_coordinate_names", " ".join(independents))
    put(element, "dependent_coordinate_name", document.coordinate_name(constraint.dependent, where))
    put(element, "scale_factor", exact(constraint.scale))
