"""The paths of muscles and ligaments from the 40600 layout."""

from __future__ import annotations

from typing import Any

from musculo.errors import InvalidModel
from musculo.functions import Constant
from musculo.io.osim.context import REFUSED, Context, account, carried, members
from musculo.io.osim.elements.functions import read_function, read_named_function
from musculo.io.osim.xml import Element, invalid, names, objects, text, to_text, vector
from musculo.model.function_path import FunctionPath
from musculo.model.model_path import (
    ConditionalPathPoint,
    MovingPathPoint,
    Path,
    PathPoint,
    PathWrap,
    UnsupportedPath,
)

_ZERO = (0.0, 0.0, 0.0)
_KINDS = {"GeometryPath", "FunctionBasedPath", "Scholz2015GeometryPath"}
_METHODS = ("hybrid", "midpoint", "axial")


def is_path(element: Element) -> bool:
    return element.tag in _KINDS or (element.get("name") == "path" and element.tag.endswith("Path"))


def read_path(element: Element, context: Context) -> Path:
    if element.tag == "FunctionBasedPath":
        return _read_function_path(element, context)
    if element.tag != "GeometryPath":
        context.note(element, "paths of this kind are kept but cannot be computed", f"<{element.tag}>")
        return UnsupportedPath(name=element.get("name", "path"), element=element.tag, carried=(to_text(element),))
    held = element.find("PathPointSet")
    if held is not None:
        account(held, context)
    points = _unique(tuple(_read_point(e, context) for e in objects(element, "PathPointSet")))
    return Path(
        points,
        tuple(_read_wraps(element, len(points), context)),
        element.get("name", "path"),
        carried(element, context),
    )


def _read_function_path(element: Element, context: Context) -> Path:
    name, places = element.get("name", "path"), names(element, "coordinate_paths")
    length = read_named_function(element, "length_function", context)
    if length is None or not places:
        carried(element, context)  # for its notes
        what = "coordinates" if length is not None else "function for its length"
        context.note(element, f"it has no {what}, is kept and cannot be computed; {REFUSED}", f"<{element.tag}>")
        return UnsupportedPath(name=name, element=element.tag, carried=(to_text(element),))
    arms = tuple(read_function(f, context) for f in element.iterfind("moment_arm_functions/*"))
    speed = read_named_function(element, "lengthening_speed_function", context)
    coordinates = tuple(_coordinate_at(place, element, context) for place in places)
    try:
        path = FunctionPath(
            name=name,
            carried=carried(element, context),
            coordinates=coordinates,
            length_function=length,
            moment_arm_functions=arms,
            lengthening_speed_function=speed,
        )
    except InvalidModel as error:
        raise invalid(element, str(error)) from None
    stated = [what for what, there in (("moment arms", arms), ("lengthening speed", speed is not None)) if there]
    if stated:
        what = " and its ".join(stated)
        context.note(
            element, f"functions for its {what} count with like='opensim'; else these are slopes of its length"
        )
    for function in (length, *arms, *(() if speed is None else (speed,))):
        if isinstance(function, Constant):
            context.note(element, f"a <Constant> is no function of its coordinates; {REFUSED}")
    return path


def _coordinate_at(place: str, element: Element, context: Context) -> str:
    """The name of the coordinate at an absolute path."""
    for name, path in context.coordinates.items():
        if path == f"/{place.lstrip('/')}":
            return name
    alike = [name for name, path in context.coordinates.items() if path.endswith(f"/{place.rsplit('/', 1)[-1]}")]
    if len(alike) != 1:
        raise invalid(
            element,
            f"no coordinate stands at {place!r} of its <coordinate_paths>; known: "
            f"{', '.join(context.coordinates.values())}",
        )
    context.note(element, f"no coordinate stands at {place!r}, {alike[0]!r} is used; {REFUSED}")
    return alike[0]


def _unique(points: tuple[PathPoint, ...]) -> tuple[PathPoint, ...]:
    """OpenSim counts on where two points of one path share a name."""
    taken: set[str] = set()
    result = []
    for point in points:
        name, count = point.name, 0
        while name in taken:
            name, count = f"{point.name}_{count}", count + 1
        taken.add(name)
        result.append(point if name == point.name else type(point)(**{**vars(point), "name": name}))
    return tuple(result)


def _read_point(element: Element, context: Context) -> PathPoint:
    common: dict[str, Any] = {
        "name": element.get("name") or element.tag.lower(),
        "frame": context.frame_key(element, "parent_frame"),
        "location": vector(element, "location", 3, _ZERO),
    }
    if element.tag == "PathPoint":
        return PathPoint(**common, carried=carried(element, context))
    if element.tag == "ConditionalPathPoint":
        if not context.coordinate(element, "coordinate"):
            context.note(element, f"names no coordinate and never counts; {REFUSED}")
        return ConditionalPathPoint(
            **common,
            coordinate=context.coordinate(element, "coordinate"),
            range=vector(element, "range", 2, (0.0, 0.0)),
            carried=carried(element, context),
        )
    if element.tag == "MovingPathPoint":
        common["location"] = _ZERO  # the functions say where it is
        for axis in "xyz":
            if element.find(f"{axis}_location") is not None and element.find(f"{axis}_location/*") is None:
                raise invalid(element, f"its <{axis}_location> is empty; put a function into it")
        functions: dict[str, Any] = {
            a: read_named_function(element, f"{a}_location", context) or Constant(0.0) for a in "xyz"
        }
        coordinates: dict[str, Any] = {f"{a}_coordinate": context.coordinate(element, f"{a}_coordinate") for a in "xyz"}
        if len(set(coordinates.values())) > 1:
            context.note(element, f"its x, y and z do not depend on one and the same coordinate; {REFUSED}")
        for axis in "xyz":
            if element.find(f"{axis}_location") is None:
                context.note(element, f"states no <{axis}_location>, for which zero is used; {REFUSED}")
        return MovingPathPoint(
            **common,
            **functions,
            **coordinates,
            carried=carried(element, context),
        )
    raise invalid(
        element,
        f"<{element.tag}> is not a kind of path point; known: PathPoint, ConditionalPathPoint, MovingPathPoint",
    )


def _read_wraps(path: Element, n_points: int, context: Context) -> list[PathWrap]:
    wraps: list[PathWrap] = []
    taken: set[str] = set()
    for element in members(path, "PathWrapSet", "PathWrap", context):
        base = element.get("name") or "pathwrap"
        name, count = base, 0
        while name in taken:
            name, count = f"{base}_{count}", count + 1
        taken.add(name)
        target = names(element, "wrap_object")
        if not target:
            raise invalid(element, "names no wrap object; fill <wrap_object> or remove the <PathWrap>")
        method = (text(element, "method") or "hybrid").lower()
        if method not in _METHODS:
            raise invalid(element, f"its method is {method!r}; known: {', '.join(_METHODS)}")
        span = vector(element, "range", 2, (-1.0, -1.0))
        if max(span) > n_points or any(v != round(max(v, -1e6)) for v in span):
            raise invalid(element, f"its range {span[0]:g} {span[1]:g} does not count among {n_points} path points")
        first, last = int(span[0]), int(span[1])
        wraps.append(
            PathWrap(
                name,
                text(element, "wrap_object"),
                method,
                (first, last),
                carried(element, context),
            )
        )
    return wraps
