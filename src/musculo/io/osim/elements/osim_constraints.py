"""Constraints from the 40600 layout."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from musculo.errors import UnknownName
from musculo.io.osim.context import Context, carried
from musculo.io.osim.elements.functions import read_named_function
from musculo.io.osim.xml import Element, flag, invalid, names, number, objects, text, vector
from musculo.model.model_constraint import (
    ConstantDistanceConstraint,
    Constraint,
    CoordinateCoupler,
    PointConstraint,
    PointOnLineConstraint,
    UnsupportedConstraint,
    WeldConstraint,
)

_ZERO = (0.0, 0.0, 0.0)


def read_constraints(context: Context) -> tuple[Constraint, ...]:
    elements = list(objects(context.model, "ConstraintSet"))
    found = [_read_constraint(element, context) for element in elements]
    taken = {constraint.name for constraint in found}
    seen: set[str] = set()
    for k, (element, constraint) in enumerate(zip(elements, found, strict=True)):
        if constraint.name in seen:
            # OpenSim loads such files; reactions and messages here go by name
            stem = constraint.name or "constraint"
            name = next(new for n in range(2, len(found) + 2) if (new := f"{stem}_{n}") not in taken)
            context.note(element, f"another constraint has the same name; it is called {name!r} here")
            found[k] = replace(constraint, name=name)
            taken.add(name)
        seen.add(found[k].name)
    return tuple(found)


def _read_constraint(element: Element, context: Context) -> Constraint:
    common: dict[str, Any] = {
        "name": element.get("name", ""),
        "enforced": flag(element, "isEnforced", True),
        "carried": carried(element, context, "Constraint"),
    }
    if element.tag == "CoordinateCouplerConstraint":
        return _read_coupler(element, context, common)
    if element.tag == "WeldConstraint":
        return WeldConstraint(
            **common,
            first=context.joint_placement(element, "frame1"),
            second=context.joint_placement(element, "frame2"),
        )
    if element.tag in ("PointConstraint", "ConstantDistanceConstraint"):
        ends: dict[str, Any] = {
            "first_body": _base_body(element, "body_1", context),
            "second_body": _base_body(element, "body_2", context),
            "first_location": vector(element, "location_body_1", 3, _ZERO),
            "second_location": vector(element, "location_body_2", 3, _ZERO),
        }
        if element.tag == "PointConstraint":
            return PointConstraint(**common, **ends)
        distance = number(element, "constant_distance", None)
        return ConstantDistanceConstraint(**common, **ends, distance=distance)
    if element.tag == "PointOnLineConstraint":
        return PointOnLineConstraint(
            **common,
            line_body=_base_body(element, "line_body", context),
            follower_body=_base_body(element, "follower_body", context),
            line_direction=vector(element, "line_direction_vec", 3, None),
            point_on_line=vector(element, "point_on_line", 3, _ZERO),
            point_on_follower=vector(element, "point_on_follower", 3, _ZERO),
        )
    context.note(element, "constraints of this kind are kept but not enforced")
    return UnsupportedConstraint(**common, element=element.tag)


def _base_body(element: Element, socket: str, context: Context) -> str:
    """OpenSim takes these locations in the base body, whatever offset frame the socket names."""
    path = context.frame_path(element, socket)
    body = context.placement(path, "").body
    if path in context.offset_frames:
        context.note(element, f"its location is measured in body {body!r}, not in the frame {path}, as OpenSim does")
    return body


def _read_coupler(element: Element, context: Context, common: dict[str, Any]) -> CoordinateCoupler:
    function = read_named_function(element, "coupled_coordinates_function", context)
    if function is None:
        raise invalid(element, "couples by no function; fill <coupled_coordinates_function>")
    dependent = text(element, "dependent_coordinate_name")
    independents = names(element, "independent_coordinate_names")
    for name in (dependent, *independents):
        if name not in context.coordinates:
            raise invalid(element, str(UnknownName("coordinate", name, context.coordinates)))
    if function.n_arguments not in (0, len(independents)):
        raise invalid(
            element, f"its function takes {function.n_arguments} argument(s), but {len(independents)} are named"
        )
    return CoordinateCoupler(
        **common,
        dependent=dependent,
        independents=independents,
        function=function,
        scale=number(element, "scale_factor", 1.0),
    )
