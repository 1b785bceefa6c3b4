"""OpenSim's path over a sphere."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import unfused
from musculo.kernels.wrapping.opensim.opensim_geometry import (
    add,
    add_scaled,
    angle,
    cross,
    dot,
    largest_cosine,
    norm,
    scale,
    side,
    subtract,
    unit_or_zero,
)
from musculo.kernels.wrapping.opensim.opensim_outcomes import INSIDE, MANDATORY, NO_WRAP, WRAPPED

# A segment whose sine with the radius is less than this passes through the center and has no plane.
_THROUGH_CENTER = 1e-5


@unfused
def _tangents(p, n, radius):
    """The two points of the circle in the plane with normal n where a line from p touches the sphere."""
    far = norm(p)
    y = unit_or_zero(scale(-1.0, p))
    z = cross(n, y)
    # with an end on the sphere the angle is a right one but for rounding
    tilt = math.asin(radius / far) if far >= radius else math.nan
    c, s = math.cos(tilt), math.sin(tilt)
    along, across = scale(c, y), scale(s, z)
    return add_scaled(p, far * c, subtract(along, across)), add_scaled(p, far * c, add(along, across))


@unfused
def wrap_sphere(p1, p2, radius, k, sign):
    """(code, r1, r2, arc) of a segment p1 p2 over a sphere, as OpenSim 4.6 computes it.

        arc = radius * angle(r1, r2)

    Source:     OpenSim 4.6, WrapSphere, observed behavior.
    Departs:    nothing by intention: a wrap of the far side has a negative arc, as there.

    Args:
        p1, p2: ends of the segment. k, sign: axis and side of the quadrant, sign 0 for all.
    """
    zero = (0.0, 0.0, 0.0)
    if norm(p1) < radius or norm(p2) < radius:
        return INSIDE, zero, zero, 0.0
    v = subtract(p1, p2)
    a, b, c = dot(v, v), 2.0 * dot(p2, v), dot(p2, p2) - radius * radius
    root = b * b - 4.0 * a * c
    if not root >= 0.0:
        return NO_WRAP, zero, zero, 0.0
    root = math.sqrt(root)
    leaves, enters = (-b - root) / (2.0 * a), (-b + root) / (2.0 * a)
    if not (leaves > 0.0 and enters < 1.0):
        return NO_WRAP, zero, zero, 0.0
    n = cross(unit_or_zero(v), unit_or_zero(p2))
    if not norm(n) >= _THROUGH_CENTER:
        # OpenSim calls this wrapped, which counts in `wrap_opensim`; without a length it is never taken
        return WRAPPED, zero, zero, math.nan
    n = unit_or_zero(n)
    r1a, r1b = _tangents(p1, n, radius)
    r2a, r2b = _tangents(p2, n, radius)
    u1a, u1b, u2a, u2b = unit_or_zero(r1a), unit_or_zero(r1b), unit_or_zero(r2a), unit_or_zero(r2b)
    pair = largest_cosine(dot(u1a, u2a), dot(u1a, u2b), dot(u1b, u2a), dot(u1b, u2b))
    first_1, first_2 = pair < 2, pair == 0 or pair == 2
    code = WRAPPED
    far = False
    if sign != 0.0:
        on_1, on_2 = side(p1[k]) == sign, side(p2[k]) == sign
        if on_1 or on_2:
            # the closest point of the line, and its distance from p1 in meters: OpenSim compares that with one
            along = unit_or_zero(v)
            way = dot(p1, along)
            m = add_scaled(p1, -way, along)
            if norm(m) < radius and way > 0.0 and way < 1.0:
                code = MANDATORY
            elif on_1 == on_2 or side(m[k]) == sign:
                return NO_WRAP, zero, zero, 0.0
        if not (on_1 and on_2):
            away = unit_or_zero(scale(-1.0, add(p1, p2)))
            first_1 = dot(u1a, away) > dot(u1b, away)
            first_2 = dot(u2a, away) > dot(u2b, away)
            r1 = r1a if first_1 else r1b
            r2 = r2a if first_2 else r2b
            if (r1[k] - p1[k] + r2[k] - p2[k]) * sign < 0.0:
                first_1, first_2 = not first_1, not first_2
            r1 = r1a if first_1 else r1b
            r2 = r2a if first_2 else r2b
            pull = add(subtract(r1, p1), subtract(r2, p2))
            far = dot(add(r1, r2), pull) < 0.0
    r1 = r1a if first_1 else r1b
    r2 = r2a if first_2 else r2b
    arc = radius * angle(r1, r2)
    if far:
        arc = -radius * (2.0 * math.pi - angle(r1, r2))
    return code, r1, r2, arc
