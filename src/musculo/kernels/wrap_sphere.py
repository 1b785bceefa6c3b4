"""OpenSim's path over a sphere."""

from __future__ import annotations

import math

from musculo.kernels.jit import kernel
from musculo.kernels.vector import add, add_scaled, cross, dot, scale, subtract
from musculo.kernels.wrap_math import angle, cosine, largest_cosine, norm, side, unit
from musculo.kernels.wrap_results import INSIDE, MANDATORY, NO_WRAP, WRAPPED

# A segment whose sine with the radius is less than this passes through the centre and has no plane.
_THROUGH_CENTRE = 1e-5


@kernel
def _tangents(p, n, radius):
    """The two points of the circle in the plane with normal n where a line from p touches the sphere."""
    far = norm(p)
    y = scale(-1.0 / far, p)
    z = cross(n, y)
    s = radius / far
    c = math.sqrt(1.0 - s * s)
    along = add_scaled(p, far * c * c, y)
    return add_scaled(along, -far * c * s, z), add_scaled(along, far * c * s, z)


@kernel
def wrap_sphere(p1, p2, radius, k, sign):
    """(code, r1, r2, arc) of a segment p1 p2 over a sphere, as OpenSim 4.6 computes it.

        arc = radius * angle(r1, r2)

    Source:     OpenSim 4.6, WrapSphere, observed behaviour.
    Departs:    nothing by intention: a wrap of the far side has a negative arc, as there.

    Args:
        p1, p2: ends of the segment. k, sign: axis and side of the quadrant, sign 0 for all.
    """
    zero = (0.0, 0.0, 0.0)
    if norm(p1) < radius or norm(p2) < radius:
        return INSIDE, zero, zero, 0.0
    v = subtract(p2, p1)
    a, b = dot(v, v), dot(p1, v)
    root = b * b - a * (dot(p1, p1) - radius * radius)
    if not root > 0.0:
        return NO_WRAP, zero, zero, 0.0
    root = math.sqrt(root)
    enters, leaves = (-b - root) / a, (-b + root) / a
    if not (enters > 0.0 and leaves < 1.0):
        return NO_WRAP, zero, zero, 0.0
    n = cross(unit(subtract(p1, p2)), unit(p2))
    sine = norm(n)
    if not sine >= _THROUGH_CENTRE:
        return NO_WRAP, zero, zero, 0.0
    n = scale(1.0 / sine, n)
    r1a, r1b = _tangents(p1, n, radius)
    r2a, r2b = _tangents(p2, n, radius)
    pair = largest_cosine(cosine(r1a, r2a), cosine(r1a, r2b), cosine(r1b, r2a), cosine(r1b, r2b))
    first_1, first_2 = pair < 2, pair == 0 or pair == 2
    code = WRAPPED
    far = False
    if sign != 0.0:
        on_1, on_2 = side(p1[k]) == sign, side(p2[k]) == sign
        if on_1 or on_2:
            # the closest point of the line, and its distance from p1 in metres: OpenSim compares that with one
            m = add_scaled(p1, -b / a, v)
            way = -b / math.sqrt(a)
            if norm(m) < radius and way > 0.0 and way < 1.0:
                code = MANDATORY
            elif on_1 == on_2 or side(m[k]) == sign:
                return NO_WRAP, zero, zero, 0.0
        if not (on_1 and on_2):
            away = unit(scale(-1.0, add(p1, p2)))
            first_1 = dot(r1a, away) > dot(r1b, away)
            first_2 = dot(r2a, away) > dot(r2b, away)
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
