"""The way of a muscle or ligament: points fixed to frames, and the surfaces it may slide over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real

from musculo.errors import InvalidModel
from musculo.functions.elementary_functions import Constant
from musculo.functions.function import Function
from musculo.model.body import Vec3


@dataclass(frozen=True)
class PathPoint:
    """A point of the path. `frame` is a body name, `ground`, or the path of an offset frame; location in it [m]."""

    name: str
    frame: str
    location: Vec3 = (0.0, 0.0, 0.0)
    carried: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConditionalPathPoint(PathPoint):
    """Part of the path only while `coordinate` is within `range` (rad or m).

    A path of which it is an end has the status "cut short" (`STATUSES`) while it is out of range.
    """

    coordinate: str = ""
    range: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class MovingPathPoint(PathPoint):
    """Its location in the frame is three functions, each of its own coordinate; `location` is unused.

    They are functions of `musculo.functions`, for instance `SimmSpline(x, y)`; a number is a constant. A
    coordinate may be empty where its function does not vary; OpenSim asks for one even there.
    """

    x: Function = field(default_factory=Constant)
    y: Function = field(default_factory=Constant)
    z: Function = field(default_factory=Constant)
    x_coordinate: str = ""
    y_coordinate: str = ""
    z_coordinate: str = ""

    def __post_init__(self) -> None:
        for axis in "xyz":
            given = getattr(self, axis)
            if isinstance(given, Real) and not isinstance(given, bool):
                object.__setattr__(self, axis, Constant(float(given)))
            elif not isinstance(given, Function):
                raise InvalidModel(
                    f"point {self.name!r} moves along {axis} by {given!r}; give a number or one of musculo.functions, "
                    "for instance musculo.functions.SimmSpline(x, y) or Linear(slope, intercept)"
                )


@dataclass(frozen=True)
class PathWrap:
    """A wrap object that the path may touch between points `range` (1-based; below 1 means first or last).

    `method` is hybrid, midpoint or axial and concerns OpenSim's ellipsoids only. Of several wrap objects of one name
    a file means the first, as in OpenSim; in a model made in Python such a name is refused.
    """

    name: str
    wrap_object: str
    method: str = "hybrid"
    range: tuple[int, int] = (-1, -1)
    carried: tuple[str, ...] = ()


@dataclass(frozen=True)
class Path:
    """Points in order and wraps in order. `carried` holds XML without mechanics (appearance)."""

    points: tuple[PathPoint, ...] = ()
    wraps: tuple[PathWrap, ...] = ()
    name: str = "path"
    carried: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, given, kind in (("points", self.points, PathPoint), ("wraps", self.wraps, PathWrap)):
            where, name = f"path {self.name!r}:", kind.__name__
            if not isinstance(given, Sequence):
                raise InvalidModel(f"{where} its {what} are {given!r}; give a tuple of {name}s")
            for one in given:
                if not isinstance(one, kind):
                    example = "name, frame, location" if kind is PathPoint else f"{str(one)!r}, {str(one)!r}"
                    raise InvalidModel(f"{where} {one!r} among its {what} is not a {name}; give {name}({example})")


@dataclass(frozen=True)
class UnsupportedPath(Path):
    """A path of a kind that is carried only (`element`); its XML is in `carried`."""

    element: str = ""
