"""OpenSim's path over a cylinder: nearly a helix, its contacts placed by a plane through both ends."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import unfused
from musculo.kernels.wrapping.opensim.opensim_geometry import (
    EPS,
    PARALLEL,
    add,
    add_scaled,
    closest_on_lines,
    cross,
    dot,
    largest_cosine,
    norm,
    side,
    subtract,
    unit,
    unit_or_zero,
)
from musculo.kernels.wrapping.opensim.opensim_outcomes import INSIDE, MANDATORY, NO_WRAP, WRAPPED

# How contacts are slid along the axis: smallest slope of the plane, half the length of the line that is cut with it
# [m], and how far beyond its ends a cut still counts.
_SLOPE = 1e-5
_REACH = 10.0
_BEYOND = 1e-5
# Tangency of several wraps: angle that is good enough, most steps, over-relaxation, and length of a chord [m].
_TANGENT = 0.1 * math.pi / 180.0
_STEPS = 100
_RELAX = 1.5
_CHORD = 0.002


@unfused
def _foot(p):
    """Height of the axis' point next to p. OpenSim measures from a point of the axis at -1, which costs digits."""
    v = (p[0], p[1], p[2] + 1.0)
    size = norm(v)
    return -1.0 + unit_or_zero(v)[2] * size


@unfused
def _tangents(p, foot, radius):
    """(distance from the axis, the two points at the foot's height where a line from p touches the circle)."""
    v = subtract(p, (0.0, 0.0, foot))
    d = norm(v)
    v = unit_or_zero(v)
    reach = radius * (radius / d)
    near = (reach * v[0], reach * v[1], foot + reach * v[2])
    across = math.sqrt(radius * radius - reach * reach)
    u = (-v[1], v[0], 0.0)
    return d, add_scaled(near, across, u), add_scaled(near, -across, u)


@unfused
def _radial(r, foot):
    return r[0], r[1], r[2] - foot


@unfused
def _bend(a, b):
    """Angle between two vectors; not a number where rounding takes the cosine out of range, as in OpenSim."""
    c = dot(a, b) / (norm(a) * norm(b))
    return math.acos(c) if c >= -1.0 and c <= 1.0 else math.nan


@unfused
def _pair(r1a, r1b, r2a, r2b, f1, f2, k, sign):
    """(whether a quadrant asks for the tangents (r1a, r2b), else for (r1b, r2a); whether that is the far side)."""
    on_1a, on_1b = side(r1a[k]) == sign, side(r1b[k]) == sign
    on_2a, on_2b = side(r2a[k]) == sign, side(r2b[k]) == sign
    wider = _bend(_radial(r1a, f1), _radial(r2b, f2)) > _bend(_radial(r1b, f1), _radial(r2a, f2))
    lost = False
    if on_1a and on_1b:
        first = not on_2a
    elif on_1a:
        first = True
    elif on_1b or on_2a:
        first = False
    elif on_2b:
        first = True
    else:
        first = wider
        lost = True
    return first, lost or first == wider


@unfused
def _apex(p1, p2, d1, d2, radius, far):
    """The point of the cylinder through which the plane of the path is laid."""
    t = d1 / (d1 + d2)
    m = add_scaled(p1, t, subtract(p2, p1))
    center = (0.0, 0.0, _foot(m))
    n = unit(cross(unit_or_zero(subtract(p1, center)), unit_or_zero(subtract(p2, center))))
    n = unit_or_zero(n)
    up = unit_or_zero((-n[1], n[0], 0.0))
    a, b = add_scaled(center, radius, up), add_scaled(center, -radius, up)
    to_a, to_b = subtract(m, a), subtract(m, b)
    nearer = dot(to_a, to_a) < dot(to_b, to_b)
    return a if nearer != far else b


@unfused
def _slide(r, normal, offset):
    """(whether it can be, r slid along z into the plane)."""
    slid = r
    found = False
    slope = 2.0 * _REACH * normal[2]
    if math.fabs(slope) >= _SLOPE:
        low = r[2] - _REACH
        t = (-offset - normal[0] * r[0] - normal[1] * r[1] - normal[2] * low) / slope
        if t >= -_BEYOND and t <= 1.0 + _BEYOND:
            found = True
            slid = (r[0], r[1], low + t * ((r[2] + _REACH) - low))
    return found, slid


@unfused
def _between(slid, first, other, far, heading):
    """Whether a slid contact, seen from the first foot along `heading`, is nearer to `other` than `far` is.

    OpenSim looks along the direction from the origin to the foot of the second end, +1 or -1. Where that foot is the
    origin there is none: the first contact then stays, and the second is slid without question.
    """
    v = (slid[0], slid[1], slid[2] - first)
    seen = first + unit_or_zero(v)[2] * heading * norm(v) * heading
    return (seen - other) * (seen - other) < (far - other) * (far - other)


@unfused
def _closest_to_axis(p1, p2, length, within):
    """(whether the segment cuts the cylinder, its line's point next to the axis).

    OpenSim leaves that point unset where the line is parallel to the axis; zero is what is mostly found there.
    """
    v, axis = unit_or_zero(subtract(p2, p1)), (0.0, 0.0, 1.0 if length >= EPS else 0.0)
    n = cross(v, axis)
    nn = dot(n, n)
    if not nn > PARALLEL:
        return False, (0.0, 0.0, 0.0)
    w = subtract((0.0, 0.0, -0.5 * length), p1)
    s = dot(w, cross(axis, n)) / nn
    t = dot(w, cross(v, n)) / nn
    near, on_axis = add_scaled(p1, s, v), -0.5 * length + t
    apart = (near[0], near[1], near[2] - on_axis)
    size = norm(subtract(p2, p1))
    return dot(apart, apart) < within and s / size > 0.0 and s / size < 1.0, near


@unfused
def _sweep(r1, r2, long):
    """Angle from r1 to r2 about z; the other way round for a long wrap (more than a turn where it is negative)."""
    theta = math.atan2(r1[0] * r2[1] - r1[1] * r2[0], r1[0] * r2[0] + r1[1] * r2[1])
    if long:
        theta = 2.0 * math.pi - theta
    return theta


@unfused
def _adjust(p, r, w):
    """(moved, r): r along its generator towards the line from p to the spiral's next point w."""
    to_r, to_w = subtract(r, p), subtract(w, r)
    moved = False
    new = r
    a, b = unit_or_zero(to_r)[2], unit_or_zero(to_w)[2]
    # angles differ by no less than their cosines, which are cheaper
    if math.fabs(a - b) > _TANGENT:
        moved = True
    else:
        a, b = min(1.0, max(-1.0, a)), min(1.0, max(-1.0, b))
        moved = math.fabs(math.acos(a) - math.acos(b)) > _TANGENT
    if moved:
        moved, _, s = closest_on_lines(p, w, (r[0], r[1], p[2]), (r[0], r[1], w[2]))
        if moved:
            z = p[2] + s * (w[2] - p[2])
            new = (r[0], r[1], r[2] + _RELAX * (z - r[2]))
    return moved, new


@unfused
def _make_tangent(p1, p2, r1, r2, radius, theta, long):
    """Slide both contacts until the spiral leaves them in the direction of the straight parts: (r1, r2, arc).

    Contacts move along z alone, so the sweep and, while their number stays, the chords' ends turn by the same angles.
    """
    way = -theta if long else theta
    known = 0
    c1, s1, c2, s2 = 1.0, 0.0, 1.0, 0.0
    arc = 0.0
    for step in range(_STEPS + 1):
        rise = r2[2] - r1[2]
        arc = math.sqrt(radius * radius * theta * theta + rise * rise)
        chords = max(1, int(arc / _CHORD)) if arc < 1e6 else 1
        if chords < 2 or step == _STEPS:
            break
        t = 1.0 / chords
        if chords != known:
            known = chords
            c1, s1 = math.cos(t * way), math.sin(t * way)
            c2, s2 = math.cos((1.0 - t) * way), math.sin((1.0 - t) * way)
        w = (c1 * r1[0] - s1 * r1[1], s1 * r1[0] + c1 * r1[1], r1[2] + t * rise)
        moved_1, r1 = _adjust(p1, r1, w)
        w = (c2 * r1[0] - s2 * r1[1], s2 * r1[0] + c2 * r1[1], r1[2] + (1.0 - t) * rise)
        moved_2, r2 = _adjust(p2, r2, w)
        if not (moved_1 or moved_2):
            break
    return r1, r2, arc


@unfused
def wrap_cylinder(p1, p2, radius, length, k, sign, several):
    """(code, r1, r2, arc) of a segment p1 p2 over a cylinder about z, as OpenSim 4.6 computes it.

        arc = sqrt((radius theta)^2 + (z2 - z1)^2)

    Source:     OpenSim 4.6, WrapCylinder, observed behavior.
    Departs:    nothing by intention: not a geodesic for oblique paths, more than a turn for some long wraps.

    Args:
        p1, p2: ends of the segment. k, sign: axis and side of the quadrant, sign 0 for all.
        several: whether the path has several wraps; only then are contacts made tangent to the spiral.
    """
    zero = (0.0, 0.0, 0.0)
    within = radius * radius
    if p1[0] * p1[0] + p1[1] * p1[1] < within or p2[0] * p2[0] + p2[1] * p2[1] < within:
        return INSIDE, zero, zero, 0.0
    hit, near = _closest_to_axis(p1, p2, length, within)
    code = MANDATORY
    if sign == 0.0:
        if not hit:
            return NO_WRAP, zero, zero, 0.0
    elif side(p1[k]) == sign or side(p2[k]) == sign:
        if not hit:
            code = WRAPPED
            if side(p1[k]) == side(p2[k]) or side(near[k]) == sign:
                return NO_WRAP, zero, zero, 0.0
    else:
        code = WRAPPED
    f1, f2 = _foot(p1), _foot(p2)
    d1, r1a, r1b = _tangents(p1, f1, radius)
    d2, r2a, r2b = _tangents(p2, f2, radius)
    long, far = False, False
    if sign == 0.0:
        u1a, u1b = unit_or_zero(_radial(r1a, f1)), unit_or_zero(_radial(r1b, f1))
        u2a, u2b = unit_or_zero(_radial(r2a, f2)), unit_or_zero(_radial(r2b, f2))
        pair = largest_cosine(dot(u1a, u2a), dot(u1a, u2b), dot(u1b, u2a), dot(u1b, u2b))
        r1 = r1a if pair < 2 else r1b
        r2 = r2a if pair == 0 or pair == 2 else r2b
    else:
        first, far = _pair(r1a, r1b, r2a, r2b, f1, f2, k, sign)
        r1 = r1a if first else r1b
        r2 = r2b if first else r2a
        pull = add(subtract(r1, p1), subtract(r2, p2))
        long = dot(add(_radial(r1, f1), _radial(r2, f2)), pull) < 0.0
    apex = _apex(p1, p2, d1, d2, radius, far)
    normal = unit(cross(unit_or_zero(subtract(p1, apex)), unit_or_zero(subtract(p2, apex))))
    offset = -p1[0] * normal[0] - p1[1] * normal[1] - p1[2] * normal[2]
    heading = 0.0
    if math.fabs(f2) >= EPS:
        heading = side(f2)
    found_1, s1 = _slide(r1, normal, offset)
    found_2, s2 = _slide(r2, normal, offset)
    if found_1 and _between(s1, f1, f2, f1, heading):
        r1 = s1
    if found_2 and _between(s2, f1, f1, f2, heading):
        r2 = s2
    if math.fabs(r1[2]) > 0.5 * length and math.fabs(r2[2]) > 0.5 * length:
        return NO_WRAP, zero, zero, 0.0
    theta = _sweep(r1, r2, long)
    if several:
        r1, r2, arc = _make_tangent(p1, p2, r1, r2, radius, theta, long)
    else:
        x, rise = radius * theta, r2[2] - r1[2]
        arc = math.sqrt(x * x + rise * rise)
    return code, r1, r2, arc
