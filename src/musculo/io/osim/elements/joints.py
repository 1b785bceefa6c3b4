"""Joints and their coordinates from the 40600 layout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from musculo.functions import Constant, Function, Linear
from musculo.io.osim.context import REFUSED, Context, account, carried
from musculo.io.osim.elements.functions import is_function, read_function, read_named_function
from musculo.io.osim.elements.joint_elements import JOINT_ELEMENTS, Numbers
from musculo.io.osim.xml import Element, flag, invalid, names, number, objects, vector
from musculo.model.body import GROUND, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.joints import Axis, CustomJoint, FreeJoint, Joint, UnsupportedJoint

_AXIS_NAMES = ("rotation1", "rotation2", "rotation3", "translation1", "translation2", "translation3")
_DEFAULT_AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# OpenSim calls two axes parallel when the norm of their cross product is below this.
_PARALLEL = 1e-5
# OpenSim lets the default value of a clamped coordinate leave its range by this [rad, m].
_OUTSIDE = math.sqrt(np.finfo(float).eps)


def read_joints(context: Context) -> tuple[Joint, ...]:
    return tuple(_read_joint(element, context) for element in objects(context.model, "JointSet"))


def _read_joint(element: Element, context: Context) -> Joint:
    common: dict[str, Any] = {
        "name": element.get("name", ""),
        "parent": context.joint_placement(element, "parent_frame"),
        "child": context.joint_placement(element, "child_frame"),
        "carried": carried(element, context, "Joint"),
    }
    if common["parent"].body == common["child"].body:
        raise invalid(element, f"joins body {common['parent'].body!r} to itself; correct its parent or child frame")
    stated = tuple(_read_coordinate(c, context) for c in element.iterfind("coordinates/Coordinate"))
    for other in element.iterfind("coordinates/*"):
        if other.tag != "Coordinate":
            context.note(other, "is not a coordinate and is ignored, as in OpenSim", f"<{other.tag}>")
    if element.tag == CustomJoint.kind:
        return _read_custom(element, context, common, stated)
    known = JOINT_ELEMENTS.get(element.tag)
    if known is not None:
        if len(stated) != known.n_coordinates:
            raise invalid(
                element, f"needs {known.n_coordinates} coordinates and states {len(stated)}; complete its <coordinates>"
            )
        own: dict[str, Any] = {numbers.field: _read_numbers(element, numbers) for numbers in known.numbers}
        return known.joint(**common, coordinates=stated, **own)
    context.note(element, "joints of this kind are kept but cannot be computed")
    return UnsupportedJoint(
        **common,
        coordinates=stated,
        element=element.tag,
        reason="OpenSim's own equations are inconsistent"
        if element.tag == "ConstantCurvatureJoint"
        else "unknown kind",
    )


def _read_numbers(element: Element, numbers: Numbers) -> float | tuple[float, ...]:
    if numbers.size == 1 and numbers.default is not None:
        return number(element, numbers.element, *numbers.default)
    return vector(element, numbers.element, numbers.size, numbers.default)


def _read_coordinate(element: Element, context: Context) -> Coordinate:
    low, high = vector(element, "range", 2, (-10.0, 10.0))
    if low > high:
        raise invalid(element, f"its range starts at {low:g} and ends at {high:g}; swap the two numbers")
    default, clamped = number(element, "default_value", 0.0), flag(element, "clamped", False)
    if clamped and not low - _OUTSIDE < default < high + _OUTSIDE:
        context.note(element, f"its default value {default:g} is outside its range; {REFUSED}")
    return Coordinate(
        name=element.get("name") or "coordinate",
        default_value=default,
        default_speed=number(element, "default_speed_value", 0.0),
        range=(low, high),
        clamped=clamped,
        locked=flag(element, "locked", False),
        prescribed=flag(element, "prescribed", False),
        prescribed_function=read_named_function(element, "prescribed_function", context),
        free_to_satisfy_constraints=flag(element, "is_free_to_satisfy_constraints", False),
        carried=carried(element, context),
    )


# --- custom joints --------------------------------------------------------------------------------------------------
def _read_custom(
    element: Element, context: Context, common: dict[str, Any], stated: tuple[Coordinate, ...]
) -> CustomJoint:
    transform = element.find("SpatialTransform")
    if transform is not None:
        account(transform, context)
    found = {} if transform is None else {axis.get("name"): axis for axis in transform}
    axes = tuple(
        _read_axis(found.get(name), element, context, default)
        for name, default in zip(_AXIS_NAMES, _DEFAULT_AXES * 2, strict=True)
    )
    for kind, triple in (("rotation", axes[:3]), ("translation", axes[3:])):
        _refuse_parallel(element, kind, triple)
    order = list(dict.fromkeys(name for axis in axes for name in axis.coordinates))
    by_name = {c.name: c for c in stated}
    for name in order:
        if name not in by_name:
            context.note(element, f"coordinate {name!r} drives an axis but is not described; defaults are used")
            by_name[name] = Coordinate(name)
    for name in by_name:
        if name not in order:
            context.note(element, f"coordinate {name!r} drives no axis of the joint")
    # OpenSim sorts coordinates by first appearance in the axes, whatever order the file lists them in.
    sorted_names = [*order, *(n for n in by_name if n not in order)]
    return CustomJoint(
        **common,
        coordinates=tuple(by_name[n] for n in sorted_names),
        rotations=axes[:3],
        translations=axes[3:],
    )


def _read_axis(element: Element | None, joint: Element, context: Context, default: tuple[float, ...]) -> Axis:
    if element is None:
        return Axis(default)  # type: ignore[arg-type]
    if element.tag != "TransformAxis":
        raise invalid(element, f"<{element.tag}> is not a TransformAxis (joint {joint.get('name')!r}); correct the tag")
    account(element, context)
    # The default of the class: those of the six axes are for joints that leave an axis out altogether.
    direction = vector(element, "axis", 3, _DEFAULT_AXES[0])
    if not any(direction):
        raise invalid(element, f"the axis is zero (joint {joint.get('name')!r}); give it a direction")
    coordinates = names(element, "coordinates")
    function = _axis_function(element, len(coordinates), context)
    if function is None:
        return Axis(direction, Constant(0.0), coordinates)  # as in OpenSim: not the coordinate itself
    wanted = function.n_arguments
    if wanted not in (0, len(coordinates)):
        raise invalid(
            element,
            f"its {type(function).__name__} takes {wanted} argument(s) and the axis names {len(coordinates)} "
            f"coordinate(s) (joint {joint.get('name')!r}); name the coordinate or make the function a Constant",
        )
    return Axis(direction, function, coordinates)


def _axis_function(element: Element, n_coordinates: int, context: Context) -> Function | None:
    """`<function><SimmSpline>..`, or a function that stands in the axis itself, called `function` or nothing.

    As OpenSim does: an empty `<function/>` is the coordinate itself, where an axis without the element stays at zero.
    """
    function = read_named_function(element, "function", context)
    if function is None and element.find("function") is not None:
        if n_coordinates > 1:
            raise invalid(element, f"its <function> is empty and it names {n_coordinates} coordinates; put one into it")
        return Linear(1.0, 0.0) if n_coordinates else Constant(0.0)
    if function is not None:
        return function
    for child in element:
        named = child.get("name", "")
        if (named == "function" and len(child)) or (is_function(child) and named in ("", "function")):
            return read_function(child, context)
    return None


def _refuse_parallel(element: Element, kind: str, axes: tuple[Axis, ...]) -> None:
    units = []
    for axis in axes:
        direction = np.array(axis.direction)
        largest = float(np.abs(direction).max())
        if not (math.isfinite(largest) and largest > 0.0):
            raise invalid(element, f"a {kind} axis is {tuple(axis.direction)}; give three finite numbers, not all zero")
        # sums of squares of huge or tiny numbers leave float64
        scaled = direction / largest
        units.append(scaled / np.linalg.norm(scaled))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        if np.linalg.norm(np.cross(units[i], units[j])) < _PARALLEL:
            raise invalid(element, f"{kind} axes {i + 1} and {j + 1} are parallel; choose axes that span space")


# --- bodies that no joint holds ---------------------------------------------------------------------------------------
def free_joint(body: str) -> FreeJoint:
    """The joint that OpenSim gives a body which nothing connects to ground, with the names it gives."""
    name = f"free_{body}"
    coordinates = tuple(Coordinate(f"{name}_coord_{k}") for k in range(6))
    return FreeJoint(name, Placement(GROUND), Placement(body), coordinates)
