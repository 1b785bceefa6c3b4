"""The scapula on the rib cage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.constraints.point_on_ellipsoid import PointOnEllipsoid
from musculo.absolute.frame import Frame
from musculo.absolute.terms import Row
from musculo.errors import InvalidModel
from musculo.model.body import Placement, Vec3


@dataclass(frozen=True, eq=False)
class Scapulothoracic(Constraint):
    """Two points of the scapula stay on the ellipsoid around the first frame's origin: two equations.

    Args:
        first: the ellipsoid's frame on the thorax.
        second: the scapula, at whose frame the load is stated.
        points: of the scapula, in its body's frame [m].
        radii: of the ellipsoid [m].

    Source: Antunes2025, section 4.1, after van der Helm 1991. OpenSim's joint of this name is a `SethEllipsoid`.
    """

    points: tuple[Vec3, Vec3] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    radii: Vec3 = (1.0, 1.0, 1.0)

    @cached_property
    def _contacts(self) -> tuple[PointOnEllipsoid, ...]:
        if len(self.points) != 2 or tuple(self.points[0]) == tuple(self.points[1]):
            raise InvalidModel(f"points are {self.points}; give two that differ")
        first, second = self.frames
        frames = (Frame(Placement(second.body, point)) for point in self.points)
        return tuple(PointOnEllipsoid(self.name, first, frame, self.radii) for frame in frames)

    def rows(self) -> tuple[Row, ...]:
        return tuple(row for contact in self._contacts for row in contact.rows())
