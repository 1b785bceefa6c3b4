"""Surfaces that paths slide over, as the numbers kernels take."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np

from musculo.errors import InvalidModel, UnknownName, Unsupported
from musculo.kernels.paths.path_points import CYLINDER, ELLIPSOID, SPHERE, TORUS
from musculo.model.validate import check_numbers
from musculo.model.wrap import (
    QUADRANTS,
    UnsupportedWrapObject,
    WrapCylinder,
    WrapEllipsoid,
    WrapObject,
    WrapSphere,
    WrapTorus,
)
from musculo.spatial.pose import Pose

# In the order of the kernels' numbers HYBRID, MIDPOINT, AXIAL.
METHODS = ("hybrid", "midpoint", "axial")


class SurfaceArrays(NamedTuple):
    """One surface: its kind, where it is, its sizes and the side of it that paths are constrained to."""

    kind: int
    node: int
    body: int
    X_NS: Pose
    size: tuple[float, float, float]
    axis: int
    sign: float  # +1 or -1; 0 for all sides
    active: bool


def _sizes(surface: WrapObject) -> tuple[int, dict[str, float]]:
    """The kind of a surface and its sizes by name, in the order kernels take them."""
    if isinstance(surface, WrapCylinder):
        return CYLINDER, {"radius": surface.radius, "length": surface.length}
    if isinstance(surface, WrapSphere):
        return SPHERE, {"radius": surface.radius}
    if isinstance(surface, WrapEllipsoid):
        if np.shape(surface.semi_axes) != (3,):
            raise InvalidModel(f"wrap object {surface.name!r} has semi-axes {surface.semi_axes!r}; give three numbers")
        return ELLIPSOID, dict(zip(("x semi-axis", "y semi-axis", "z semi-axis"), surface.semi_axes, strict=True))
    if isinstance(surface, WrapTorus):
        return TORUS, {"inner radius": surface.inner_radius, "outer radius": surface.outer_radius}
    kind = surface.element if isinstance(surface, UnsupportedWrapObject) else type(surface).__name__
    raise Unsupported(
        f"wrap object {surface.name!r} is a {kind}, which has no mechanics; "
        "use a cylinder, sphere, ellipsoid or torus, or take it out of the paths"
    )


def compile_surface(surface: WrapObject, node: int, body: int, X_NF: Pose) -> SurfaceArrays:
    """A wrap object placed in its node.

    Raises:
        InvalidModel: a size that is not a positive number.
    """
    kind, sizes = _sizes(surface)
    for name, value in sizes.items():
        if not (isinstance(value, Real) and 0.0 < value < np.inf):
            shown = repr(value) if isinstance(value, str) else value
            raise InvalidModel(f"wrap object {surface.name!r} has {name} {shown}; it must be a positive number [m]")
    if kind == TORUS and sizes["inner radius"] >= sizes["outer radius"]:
        raise InvalidModel(
            f"wrap object {surface.name!r} has inner radius {sizes['inner radius']} (of its tube) and outer radius "
            f"{sizes['outer radius']} (of its ring); the tube must be thinner, so that paths can pass through the hole"
        )
    check_numbers(f"wrap object {surface.name!r}: its translation", surface.translation, 3)
    check_numbers(f"wrap object {surface.name!r}: its orientation", surface.orientation, 3)
    if surface.quadrant not in QUADRANTS:
        raise UnknownName("quadrant", surface.quadrant, QUADRANTS, f"wrap object {surface.name!r}")
    if not isinstance(surface.active, bool | np.bool_):
        raise InvalidModel(f"wrap object {surface.name!r} has active {surface.active!r}; it is True or False")
    axis, sign = 0, 0.0
    if surface.quadrant != "all":
        axis, sign = "xyz".index(surface.quadrant[-1]), -1.0 if surface.quadrant[0] == "-" else 1.0
    size = [*sizes.values(), 0.0, 0.0][:3]
    X_NS = X_NF @ Pose.from_xyz(surface.orientation, surface.translation)
    return SurfaceArrays(kind, node, body, X_NS, (size[0], size[1], size[2]), axis, sign, surface.active)
