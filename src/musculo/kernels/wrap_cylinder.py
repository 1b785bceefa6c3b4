"""OpenSim's path over a cylinder: nearly a helix, its contacts placed by a plane through both ends."""

from __future__ import annotations

import math

from musculo.kernels.jit import kernel
from musculo.kernels.vector import add, add_scaled, cross, dot, subtract
from musculo.kernels.wrap_math import PARALLEL, angle, closest_on_lines, cosine, largest_cosine, norm, side, unit
from musculo.kernels.wrap_results import INSIDE, MANDATORY, NO_WRAP, WRAPPED

# How contacts are slid along the axis: smallest slope of the plane, and farthest way [m].
_SLOPE = 1e-5 / 20.0
_FARTHEST = 10.0
# Tangency of several wraps: angle that is good enough, most steps, over-relaxation, and length of a chord [m].
_TANGENT = 0.1 * math.pi / 180.0
_STEPS = 100
_RELAX = 1.5
_CHORD = 0.002


@kernel
def _tangents(p, d, radius):
    """The two points of the circle at the height of p where a line from p touches it."""
    v = (p[0] / d, p[1] / d, 0.0)
    u = (-v[1], v[0], 0.0)
    foot = radius * radius / d
    across = math.sqrt(radius * radius - foot * foot)
    a = (foot * v[0] + across * u[0], foot * v[1] + across * u[1], p[2])
    b = (foot * v[0] - across * u[0], foot * v[1] - across * u[1], p[2])
    return a, b


@kernel
def _radial(r):
    return r[0], r[1], 0.0


@kernel
def _first_pair(r1a, r1b, r2a, r2b, k, sign):
    """Whether a quadrant asks for the tangents (r1a, r2b); else for (r1b, r2a)."""
    on_1a, on_1b = side(r1a[k]) == sign, side(r1b[k]) == sign
    on_2a, on_2b = side(r2a[k]) == sign, side(r2b[k]) == sign
    if on_1a and on_1b:
        first = not on_2a
    elif on_1a:
        first = True
    elif on_1b or on_2a:
        first = False
    elif on_2b:
        first = True
    else:
        first = angle(_radial(r1a), _radial(r2b)) > angle(_radial(r1b), _radial(r2a))
    return first


@kernel
def _slide(r, z_own, z_other, z_2, normal, centre):
    """r slid along z into the plane through the centre, if it then lies between the two ends."""
    slid = r
    if math.fabs(normal[2]) >= _SLOPE:
        shift = dot(normal, subtract(centre, r)) / normal[2]
        if shift >= -_FARTHEST and shift <= _FARTHEST:
            z = r[2] + shift
            # OpenSim measures along the direction from the origin to the foot of the second end
            seen = z if z_2 != 0.0 else z_own
            if math.fabs(seen - z_other) < math.fabs(z_own - z_other):
                slid = (r[0], r[1], z)
    return slid


@kernel
def _sweep(r1, r2, long):
    """Angle from r1 to r2 about z; the other way round for a long wrap (more than a turn where it is negative)."""
    theta = math.atan2(r1[0] * r2[1] - r1[1] * r2[0], r1[0] * r2[0] + r1[1] * r2[1])
    if long:
        theta = 2.0 * math.pi - theta
    return theta


@kernel
def _adjust(p, r, w):
    """(moved, r): r along its generator towards the line from p to the spiral's next point w."""
    to_r, to_w = subtract(r, p), subtract(w, r)
    moved = False
    new = r
    a, b = to_r[2] / norm(to_r), to_w[2] / norm(to_w)
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


@kernel
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


@kernel
def wrap_cylinder(p1, p2, radius, length, k, sign, several):
    """(code, r1, r2, arc) of a segment p1 p2 over a cylinder about z, as OpenSim 4.6 computes it.

        arc = sqrt((radius theta)^2 + (z2 - z1)^2)

    Source:     OpenSim 4.6, WrapCylinder, observed behaviour.
    Departs:    nothing by intention: not a geodesic for oblique paths, more than a turn for some long wraps.

    Args:
        p1, p2: ends of the segment. k, sign: axis and side of the quadrant, sign 0 for all.
        several: whether the path has several wraps; only then are contacts made tangent to the spiral.
    """
    zero = (0.0, 0.0, 0.0)
    d1, d2 = math.sqrt(p1[0] * p1[0] + p1[1] * p1[1]), math.sqrt(p2[0] * p2[0] + p2[1] * p2[1])
    if d1 < radius or d2 < radius:
        return INSIDE, zero, zero, 0.0
    # closest approach of the segment's line to the axis
    v = subtract(p2, p1)
    across = v[0] * v[0] + v[1] * v[1]
    t = -(p1[0] * v[0] + p1[1] * v[1]) / across
    near = add_scaled(p1, t, v)
    hit = (
        across > PARALLEL * dot(v, v)
        and t > 0.0
        and t < 1.0
        and near[0] * near[0] + near[1] * near[1] < radius * radius
    )
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
    r1a, r1b = _tangents(p1, d1, radius)
    r2a, r2b = _tangents(p2, d2, radius)
    long = False
    if sign == 0.0:
        pair = largest_cosine(
            cosine(_radial(r1a), _radial(r2a)),
            cosine(_radial(r1a), _radial(r2b)),
            cosine(_radial(r1b), _radial(r2a)),
            cosine(_radial(r1b), _radial(r2b)),
        )
        r1 = r1a if pair < 2 else r1b
        r2 = r2a if pair == 0 or pair == 2 else r2b
    else:
        first = _first_pair(r1a, r1b, r2a, r2b, k, sign)
        r1 = r1a if first else r1b
        r2 = r2b if first else r2a
        pull = add(subtract(r1, p1), subtract(r2, p2))
        long = dot(add(_radial(r1), _radial(r2)), pull) < 0.0
    # the plane through both ends and the axis between them; OpenSim's apex of the wrap lies in it, on either side
    m = add_scaled(p1, d1 / (d1 + d2), v)
    centre = (0.0, 0.0, m[2])
    normal = unit(cross(subtract(p1, centre), subtract(p2, centre)))
    r1 = _slide(r1, p1[2], p2[2], p2[2], normal, centre)
    r2 = _slide(r2, p2[2], p1[2], p2[2], normal, centre)
    if math.fabs(r1[2]) > 0.5 * length and math.fabs(r2[2]) > 0.5 * length:
        return NO_WRAP, zero, zero, 0.0
    theta = _sweep(r1, r2, long)
    if several:
        r1, r2, arc = _make_tangent(p1, p2, r1, r2, radius, theta, long)
    else:
        rise = r2[2] - r1[2]
        arc = math.sqrt(radius * radius * theta * theta + rise * rise)
    return code, r1, r2, arc
