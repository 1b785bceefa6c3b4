"""Muscles, forces and their paths as elements of the 40600 layout."""

from __future__ import annotations

from dataclasses import fields

from lxml import etree

from musculo.functions import Function
from musculo.io.osim.document import Document
from musculo.io.osim.xml import Element, ensure, exact, exact_all, put
from musculo.model.force import Force, Muscle
from musculo.model.function_path import FunctionPath
from musculo.model.model_path import ConditionalPathPoint, MovingPathPoint, Path, PathPoint, UnsupportedPath
from musculo.model.muscle_parameters import Scalar
from musculo.model.path_force import PATH_FORCES

_NUMBERS = (
    "max_isometric_force",
    "optimal_fiber_length",
    "tendon_slack_length",
    "pennation_angle_at_optimal",
    "max_contraction_velocity",
    "min_control",
    "max_control",
)
_FORCE_FIELDS = {field.name for field in fields(Force)}
_FLAGS = ("ignore_tendon_compliance", "ignore_activation_dynamics")


def write_force(force: Force, document: Document) -> None:
    element = document.add("ForceSet", force.kind, force.name)
    put(element, "appliesForce", "true" if force.applies_force else "false")
    if force.path is not None:
        _write_path(element, force.path, document)
    for key, content in force.properties:
        named = key == "coordinate" and content in document.coordinate_paths
        put(element, key, document.coordinate_name(content, f"{force.kind} {force.name!r}") if named else content)
    if isinstance(force, Muscle):
        _write_muscle(element, force)
    elif isinstance(force, PATH_FORCES):
        _write_path_force(element, force, document)
    for name, function in force.functions:
        where = f"{name} of {force.kind} {force.name!r}"
        group, slash, _ = name.partition("/")
        if slash:  # a member of a set, by its number
            found = next((child for child in element if child.get("name") == group), None)
            holder = etree.SubElement(element, "FunctionSet", name=group) if found is None else found
            document.named_function(ensure(holder, "objects"), name.replace("/", "_"), function, where)
        else:
            document.function(element, name, function, where)
    document.carry(element, force.carried)


def _write_path_force(element: Element, force: Force, document: Document) -> None:
    """Every value a kind of its own has, whether the file it came from stated it or left it to OpenSim."""
    for own in fields(force):
        if own.name in _FORCE_FIELDS:
            continue
        value = getattr(force, own.name)
        if isinstance(value, Function):
            document.function(element, own.name, value, f"{own.name} of {force.kind} {force.name!r}")
        else:
            put(element, own.name, _text(value))


def _write_muscle(element: Element, muscle: Muscle) -> None:
    for name in _NUMBERS:
        put(element, name, exact(getattr(muscle, name)))
    for name in _FLAGS:
        put(element, name, _text(getattr(muscle, name)))
    for key, value in muscle.parameters:
        put(element, key, _text(value))
    for curve in muscle.curves:
        holder = etree.SubElement(element, curve.element, name=curve.name or curve.element)
        for key, number in curve.parameters:
            put(holder, key, exact(number))


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return exact(value) if isinstance(value, float | int) else value


def _write_path(element: Element, path: Path, document: Document) -> None:
    if isinstance(path, UnsupportedPath):
        document.carry(element, path.carried)
        return
    if isinstance(path, FunctionPath):
        _write_function_path(element, path, document)
        return
    holder = etree.SubElement(element, "GeometryPath", name=path.name or "path")
    document.carry(holder, path.carried)
    points = ensure(etree.SubElement(holder, "PathPointSet"), "objects")
    for point in path.points:
        _write_point(points, point, document)
    wraps = ensure(etree.SubElement(holder, "PathWrapSet"), "objects")
    for wrap in path.wraps:
        leaf = etree.SubElement(wraps, "PathWrap", name=wrap.name)
        put(leaf, "wrap_object", wrap.wrap_object)
        put(leaf, "method", wrap.method)
        put(leaf, "range", f"{wrap.range[0]} {wrap.range[1]}")
        document.carry(leaf, wrap.carried)


def _write_function_path(element: Element, path: FunctionPath, document: Document) -> None:
    holder = etree.SubElement(element, "FunctionBasedPath", name=path.name or "path")
    document.carry(holder, path.carried)
    put(holder, "coordinate_paths", " ".join(_coordinate(name, document) for name in path.coordinates))
    where = f"path {path.name!r} of {element.get('name')!r}"
    document.function(holder, "length_function", path.length_function, where)
    if path.moment_arm_functions:
        arms = etree.SubElement(holder, "moment_arm_functions")
        for function in path.moment_arm_functions:
            document.function_in(arms, function, where)
    if path.lengthening_speed_function is not None:
        document.function(holder, "lengthening_speed_function", path.lengthening_speed_function, where)


def _write_point(holder: Element, point: PathPoint, document: Document) -> None:
    element = etree.SubElement(holder, type(point).__name__, name=point.name)
    put(element, "socket_parent_frame", document.socket(point.frame))
    if isinstance(point, MovingPathPoint):
        for axis in "xyz":
            name = getattr(point, f"{axis}_coordinate")
            if name:
                put(element, f"socket_{axis}_coordinate", _coordinate(name, document))
            where = f"{axis} of path point {point.name!r}"
            span = document.model.coordinate(name).range if name else None
            document.function(element, f"{axis}_location", getattr(point, axis), where, span)
    else:
        put(element, "location", exact_all(point.location))
    if isinstance(point, ConditionalPathPoint):
        if point.coordinate:
            put(element, "socket_coordinate", _coordinate(point.coordinate, document))
        put(element, "range", exact_all(point.range))
    document.carry(element, point.carried)


def _coordinate(name: str, document: Document) -> str:
    document.model.coordinate(name)  # says so where there is none
    return document.coordinate_paths[name]
