"""What ties coordinates or bodies together beyond the tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from musculo.functions.function import Function
from musculo.model.body import Placement, Vec3


@dataclass(frozen=True)
class Constraint:
    """Common part. `enforced` is the file's flag; `carried` XML that is written back as it came."""

    name: str
    enforced: bool = True
    carried: tuple[str, ...] = ()


@dataclass(frozen=True)
class CoordinateCoupler(Constraint):
    """dependent = scale * function(independents), on coordinate values."""

    dependent: str = ""
    independents: tuple[str, ...] = ()
    function: Function | None = None
    scale: float = 1.0


@dataclass(frozen=True)
class WeldConstraint(Constraint):
    """Two frames coincide (6 equations)."""

    first: Placement = field(default_factory=lambda: Placement("ground"))
    second: Placement = field(default_factory=lambda: Placement("ground"))


@dataclass(frozen=True)
class PointConstraint(Constraint):
    """Two points coincide (3 equations); locations in the base bodies."""

    first_body: str = "ground"
    second_body: str = "ground"
    first_location: Vec3 = (0.0, 0.0, 0.0)
    second_location: Vec3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PointOnLineConstraint(Constraint):
    """A point of the follower stays on a line of the other body (2 equations)."""

    line_body: str = "ground"
    follower_body: str = "ground"
    line_direction: Vec3 = (1.0, 0.0, 0.0)
    point_on_line: Vec3 = (0.0, 0.0, 0.0)
    point_on_follower: Vec3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ConstantDistanceConstraint(Constraint):
    """Two points stay at `distance` (1 equation)."""

    first_body: str = "ground"
    second_body: str = "ground"
    first_location: Vec3 = (0.0, 0.0, 0.0)
    second_location: Vec3 = (0.0, 0.0, 0.0)
    distance: float = 0.0


@dataclass(frozen=True)
class EquationConstraint(Constraint):
    """Equations of coordinates that hold at all times: every value that `equations` returns is zero.

    `equations` takes the named coordinates, each an array over frames, and returns one expression or a sequence of
    them. It is written with arithmetic and NumPy's functions, which carry exact first and second derivatives along:

        EquationConstraint("lift", coordinates=("crank", "height"), equations=lambda a, h: h - 0.1 * np.sin(a))
    """

    coordinates: tuple[str, ...] = ()
    equations: Callable[..., Any] | None = None


@dataclass(frozen=True)
class UnsupportedConstraint(Constraint):
    """A constraint that is carried only; `element` is its kind."""

    element: str = ""
