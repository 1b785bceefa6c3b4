"""The way of a muscle or ligament: points fixed to frames, and the surfaces it may slide over."""

from __future__ import annotations

from dataclasses import dataclass, field

from musculo.functions.base import Function
from musculo.functions.elementary import Constant
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

    Where a coordinate is empty its function is taken at zero, as OpenSim does.
    """

    x: Function = field(default_factory=Constant)
    y: Function = field(default_factory=Constant)
    z: Function = field(default_factory=Constant)
    x_coordinate: str = ""
    y_coordinate: str = ""
    z_coordinate: str = ""


@dataclass(frozen=True)
class PathWrap:
    """A wrap object that the path may touch between points `range` (1-based; below 1 means first or last).

    `method` is hybrid, midpoint or axial and concerns OpenSim's ellipsoids only. Of several wrap objects of one name
    the model's first is meant, as in OpenSim.
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


@dataclass(frozen=True)
class UnsupportedPath(Path):
    """A path of a kind that is carried only (`element`); its XML is in `carried`."""

    element: str = ""
