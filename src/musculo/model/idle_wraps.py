"""Wraps that no pose brings into play: their range holds no two points, or fixed points lie inside the surface."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import UnknownName
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.model.model_path import ConditionalPathPoint, MovingPathPoint, PathWrap
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapObject, WrapSphere, WrapTorus
from musculo.spatial.pose import Pose


class IdleWrap(NamedTuple):
    """A wrap without effect in any pose."""

    force: Force
    wrap: PathWrap
    why: str
    advice: str


def idle_wraps(model: Model) -> Iterator[IdleWrap]:
    """Each wrap without effect in any pose, and why.

    A range goes from a smaller number of a point to a larger; any other has no effect, as in OpenSim. A path does
    not touch a surface between two points of which one is inside it, as in OpenSim; where no two neighbors are
    left, it never does. Points that move, or are on another body, may be inside in some poses only.
    """
    surfaces = {surface.name: surface for surface in reversed(model.wrap_objects)}  # of one name the first counts
    for force in model.forces:
        for wrap in () if force.path is None else force.path.wraps:
            surface = surfaces.get(wrap.wrap_object)
            if surface is not None and surface.active:
                why, advice = _idle(model, force, wrap, surface)
                if why:
                    yield IdleWrap(force, wrap, why, advice)


def _idle(model: Model, force: Force, wrap: PathWrap, surface: WrapObject) -> tuple[str, str]:
    """What keeps a wrap from being used, and what to do; empty where it is used."""
    assert force.path is not None
    points = force.path.points
    first, last = (wrap.range[0] if wrap.range[0] >= 1 else 1), (wrap.range[1] if wrap.range[1] >= 1 else len(points))
    if last <= first:
        why = f"the range {wrap.range[0]} {wrap.range[1]} of this wrap holds no two of its {len(points)} points"
        return why, "give the numbers of the first and the last point, or -1 -1 for all"
    points = points[first - 1 : last]
    try:
        place = model.placement(surface.frame)
        X = Pose.from_xyz(place.orientation, place.translation)
        X = (X @ Pose.from_xyz(surface.orientation, surface.translation)).inverse()
        inside = []
        for point in points:
            at = model.placement(point.frame)
            fixed = at.body == place.body and not isinstance(point, MovingPathPoint)
            x = X.apply(Pose.from_xyz(at.orientation, at.translation).apply(point.location))
            inside.append(fixed and _inside(surface, x))
    except UnknownName:  # of a frame: said where paths are computed
        return "", ""
    outside = [k for k, within in enumerate(inside) if not within]
    for a, b in pairwise(outside):
        if all(isinstance(point, ConditionalPathPoint) for point in points[a + 1 : b]):
            return "", ""
    if not any(inside):
        return "", ""
    why = f"its point {points[inside.index(True)].name!r} lies inside that surface"
    return why, "move the point, make the surface smaller, or drop the wrap"


def _inside(surface: WrapObject, x: FloatArray) -> bool:
    """Whether a point of the surface's frame lies inside it."""
    across = float(np.hypot(x[0], x[1]))
    if isinstance(surface, WrapCylinder):
        return across < surface.radius
    if isinstance(surface, WrapTorus):
        return bool(np.hypot(across - surface.outer_radius, x[2]) < surface.inner_radius)
    if isinstance(surface, WrapSphere):
        return bool(np.linalg.norm(x) < surface.radius)
    if isinstance(surface, WrapEllipsoid) and min(surface.semi_axes) > 0.0:
        return bool(np.linalg.norm(x / np.array(surface.semi_axes)) < 1.0)
    return False
