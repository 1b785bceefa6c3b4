"""OpenSim's path over an ellipsoid: a plane section, its plane and contacts found by loose iterations."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import unfused
from musculo.kernels.paths.path_points import AXIAL, MIDPOINT
from musculo.kernels.wrapping.opensim.opensim_closest import closest_on_ellipsoid
from musculo.kernels.wrapping.opensim.opensim_geometry import (
    add,
    add_scaled,
    cross,
    dot,
    norm,
    scale,
    side,
    subtract,
    unit_or_zero,
)
from musculo.kernels.wrapping.opensim.opensim_outcomes import INSIDE, MANDATORY, NO_WRAP
from musculo.kernels.wrapping.opensim.opensim_tangent import tangent_point

# How deep an end may lie within the surface, and how much in line with the center both ends may be.
_INSIDE = -1e-4
_IN_LINE = 1e-4
# Blend between the plane of an axis and the fan: cosines of the axis where it starts and ends, and its margins.
_FAN_ONLY, _AXIS_ONLY, _MARGIN = 0.7073, 0.9, 0.3
_FAN = 300
# The section is measured by chords of a millimeter, this many at most.
_CHORD = 0.001
_CHORDS = 499


@unfused
def _with(a, k, value):
    """The vector with component k replaced."""
    return (
        value if k == 0 else a[0],
        value if k == 1 else a[1],
        value if k == 2 else a[2],
    )


@unfused
def _crossings(p, v, a):
    """(found, t1, t2): where p + t v enters and leaves the ellipsoid, t1 <= t2."""
    x = (p[0] / a[0], p[1] / a[1], p[2] / a[2])
    y = (v[0] / a[0], v[1] / a[1], v[2] / a[2])
    A, B, C = dot(y, y), 2.0 * dot(y, x), dot(x, x) - 1.0
    root = B * B - 4.0 * A * C
    if not root >= 0.0:
        return False, 0.0, 0.0
    root = math.sqrt(root)
    return True, (-B - root) / (2.0 * A), (-B + root) / (2.0 * A)


@unfused
def _fan_point(i1, D, a):
    """The surface under the middle of the chord, in the mean direction in which the surface lies from the chord."""
    total = (0.0, 0.0, 0.0)
    for i in range(1, _FAN - 1):
        x = add_scaled(i1, i / _FAN, D)
        total = add(total, unit_or_zero(subtract(closest_on_ellipsoid(a, x, -1), x)))
    return closest_on_ellipsoid(a, add(add_scaled(i1, 0.5, D), unit_or_zero(total)), -1)


@unfused
def _plane_point(p1, p2, i1, D, a, method):
    """(c, weight of the fan or -1, parameter of the axis): the third point of the plane."""
    u = unit_or_zero(subtract(p1, p2))
    mu = (math.fabs(u[0]), math.fabs(u[1]), math.fabs(u[2]))
    b = 0
    if mu[1] > mu[b]:
        b = 1
    if mu[2] > mu[b]:
        b = 2
    t = -i1[b] / D[b]
    if method == MIDPOINT:
        return closest_on_ellipsoid(a, add_scaled(i1, 0.5, D), -1), -1.0, t
    # its coordinate on the axis is zero but for rounding, whose sign a quadrant may ask for
    on_axis = closest_on_ellipsoid(a, add_scaled(i1, t, D), b)
    if method == AXIAL:
        return on_axis, -1.0, t
    share = mu[b]
    if share > _FAN_ONLY:
        within = 1.0
        if t < 0.0 or t > 1.0:
            within = 0.0
        elif t < _MARGIN:
            within = t / _MARGIN
        elif t > 1.0 - _MARGIN:
            within = (1.0 - t) / _MARGIN
        if within < 1.0:
            share = _FAN_ONLY + within * (share - _FAN_ONLY)
    c, weight = on_axis, -1.0
    if share < _AXIS_ONLY:
        fan = _fan_point(i1, D, a)
        if share <= _FAN_ONLY:
            c, weight = fan, 1.0
        else:
            tau = (share - _FAN_ONLY) / (_AXIS_ONLY - _FAN_ONLY)
            c = closest_on_ellipsoid(a, add(scale(tau, on_axis), scale(1.0 - tau, fan)), -1)
            weight = 1.0 - tau
    return c, weight, t


@unfused
def _section_point(O, u, w, phi, a):
    """Where the ray from O in direction cos(phi) u + sin(phi) w leaves the ellipsoid."""
    ray = add_scaled(scale(math.cos(phi), u), math.sin(phi), w)
    found, _, t = _crossings(O, ray, a)
    return add_scaled(O, t if found else math.nan, ray)


@unfused
def _section_length(p1, p2, r1, r2, plane, a, f, constrained):
    """Length of the section m . x + m4 = 0, `plane`, from r1 to r2 as a sum of chords, in meters."""
    m, m4 = plane
    straight = norm(subtract(r1, r2)) / f
    if not straight >= _CHORD:
        return straight
    chords = min(_CHORDS, int(straight / _CHORD))
    k = 0
    if math.fabs(m[1]) > math.fabs(m[k]):
        k = 1
    if math.fabs(m[2]) > math.fabs(m[k]):
        k = 2
    O = _with((0.0, 0.0, 0.0), k, -m4 / m[k])
    u, v = unit_or_zero(subtract(r1, O)), unit_or_zero(subtract(r2, O))
    phi = math.acos(min(1.0, max(-1.0, dot(u, v))))
    w = unit_or_zero(add_scaled(v, -dot(u, v), u))
    if constrained and chords >= 2:
        first = _section_point(O, u, w, phi / chords, a)
        last = _section_point(O, u, w, phi * (chords - 1) / chords, a)
        if dot(subtract(p1, r1), subtract(first, r1)) > 0.0 or dot(subtract(p2, r2), subtract(last, r2)) > 0.0:
            phi = phi - 2.0 * math.pi
    length = 0.0
    before = r1
    for i in range(1, chords):
        after = _section_point(O, u, w, phi * i / chords, a)
        length += norm(subtract(after, before))
        before = after
    return (length + norm(subtract(r2, before))) / f


@unfused
def wrap_ellipsoid(p1, p2, axes, k, sign, method):
    """(code, r1, r2, arc) of a segment p1 p2 over an ellipsoid, as OpenSim 4.6 computes it.

    The path lies in a plane through both ends and a third point (`_plane_point`); contacts are where it touches the
    surface, the arc is the plane's section.

    Source:     OpenSim 4.6, WrapEllipsoid, observed behavior.
    Departs:    a segment that only touches stays straight. As there, a plane section is no geodesic, contacts are
                good to 1e-4 of the size, and the length jitters by 1e-7 m with the number of chords.

    Args:
        axes: semi-axes. k, sign: axis and side of the quadrant, sign 0 for all. method: of the plane's third point.
    """
    zero = (0.0, 0.0, 0.0)
    f = 3.0 / (axes[0] + axes[1] + axes[2])
    a, p1, p2 = scale(f, axes), scale(f, p1), scale(f, p2)
    x, y = (p1[0] / a[0], p1[1] / a[1], p1[2] / a[2]), (p2[0] / a[0], p2[1] / a[1], p2[2] / a[2])
    if dot(x, x) - 1.0 < _INSIDE or dot(y, y) - 1.0 < _INSIDE:
        return INSIDE, zero, zero, 0.0
    if math.fabs(dot(unit_or_zero(p1), unit_or_zero(p2)) - 1.0) < _IN_LINE:
        return NO_WRAP, zero, zero, 0.0
    v = subtract(p1, p2)
    found, leaves, enters = _crossings(p2, v, a)
    # a segment that only touches has the length it has without contacts, and no plane
    if not found or not (leaves > 0.0 and enters < 1.0 and leaves < enters):
        return NO_WRAP, zero, zero, 0.0
    i1, i2 = add_scaled(p2, enters, v), add_scaled(p2, leaves, v)
    c, weight, t = _plane_point(p1, p2, i1, subtract(i2, i1), a, method)
    r1, r2 = c, c
    if method == AXIAL and not (t > 0.0 and t < 1.0):
        r1, r2 = i1, i2
    if sign != 0.0 and side(c[k]) != sign:
        c = _with(c, k, -c[k])
        r1, r2 = c, c
        if weight > 0.0:
            c = closest_on_ellipsoid(a, _with(c, k, (1.0 - weight) * c[k]), -1)
    m = unit_or_zero(cross(subtract(p1, p2), subtract(p1, c)))
    m4 = -dot(m, c)
    r1 = tangent_point(p1, r1, a, m, m4)
    r2 = tangent_point(p2, r2, a, m, m4)
    arc = _section_length(p1, p2, r1, r2, (m, m4), a, f, sign != 0.0)
    return MANDATORY, scale(1.0 / f, r1), scale(1.0 / f, r2), arc
