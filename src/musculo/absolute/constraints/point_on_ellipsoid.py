"""A point that slides over an ellipsoid; two of them are a scapulothoracic joint."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, constant, quadric
from musculo.errors import InvalidModel
from musculo.model.body import Vec3


def checked_radii(radii: Vec3) -> Vec3:
    """Radii that an ellipsoid can have."""
    if len(radii) != 3 or not all(r > 0.0 for r in radii):
        raise InvalidModel(f"radii are {radii}; an ellipsoid has three above zero")
    return radii


@dataclass(frozen=True, eq=False)
class PointOnEllipsoid(Constraint):
    """The second origin is on the ellipsoid around the first: one equation, r / 2 (sum_k (e_k / r_k)^2 - 1).

    With the mean radius r it is about the distance from the surface.

    Source: van der Helm 1991, as in Antunes2025, section 4.1: two points of the scapula on the rib cage.
    """

    radii: Vec3 = (1.0, 1.0, 1.0)

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        radii = checked_radii(self.radii)
        mean = sum(radii) / 3.0
        x, y, z = (mean / (r * r) for r in radii)
        return ((quadric(first, (x, y, z), second), constant(-0.5 * mean)),)
