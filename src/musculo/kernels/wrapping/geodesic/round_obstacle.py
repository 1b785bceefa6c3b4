"""One cylinder or one sphere between two points: the taut path in closed form."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import cross, dot
from musculo.kernels.wrapping.geodesic.surface_shape import unit

# Ends and center in line to this sine: the plane of a path over a sphere is then chosen, not computed.
_IN_LINE = 1e-12


@kernel
def principal(angle):
    """The same angle within (-pi, pi]."""
    return angle - 2.0 * math.pi * math.ceil((angle - math.pi) / (2.0 * math.pi))


@kernel
def tangent(r, d):
    """The tangent from a point at distance d: its length, and the angle it is seen under from the center; zero inside.

    Both vanish together, so that rounding at a point on the surface leaves the path's length alone.
    """
    h = math.sqrt((d - r) * (d + r)) if d > r else 0.0
    return h, math.atan2(h, r)


@kernel
def taut_cylinder(r, P, Q, constrained, turn):
    """The taut path from P to Q over the infinite cylinder x^2 + y^2 = r^2.

        wrap = |turn| - acos(r / d_P) - acos(r / d_Q),   contact where wrap > 0
        length^2 = (h_P + r wrap + h_Q)^2 + (z_Q - z_P)^2,   h = sqrt(d^2 - r^2)

    turn is the angle from P to Q about z: the given one where it is `constrained`, else the smaller one.

    Departs:    from OpenSim, whose cylinder ends; a path that slides over an end would jump there.
    Guarantees: the exact helix; continuous wherever `turn` is, that is unless the two ways round are equally long (the
                length stays continuous there).
    Returns:    wrap [rad], start point, unit tangent there, length on the surface.
    """
    d_P, d_Q = math.sqrt(P[0] * P[0] + P[1] * P[1]), math.sqrt(Q[0] * Q[0] + Q[1] * Q[1])
    a_P, a_Q = math.atan2(P[1], P[0]), math.atan2(Q[1], Q[0])
    if not constrained:
        turn = principal(a_Q - a_P)
    way = 1.0 if turn >= 0.0 else -1.0
    h_P, lean_P = tangent(r, d_P)
    h_Q, lean_Q = tangent(r, d_Q)
    wrap = way * turn - lean_P - lean_Q
    flat = h_P + r * wrap + h_Q
    rise = Q[2] - P[2]
    whole = math.sqrt(flat * flat + rise * rise)
    if not wrap > 0.0:
        return wrap, P, P, 0.0
    c, s = math.cos(a_P + way * lean_P), math.sin(a_P + way * lean_P)
    x = (r * c, r * s, P[2] + rise * h_P / flat)
    t = (-way * s * flat / whole, way * c * flat / whole, rise / whole)
    return wrap, x, t, r * wrap * whole / flat


@kernel
def taut_sphere(r, P, Q):
    """The taut path from P to Q over the sphere |x| = r: a great circle in the plane of P, Q and the center.

        wrap = turn - acos(r / d_P) - acos(r / d_Q),   contact where wrap > 0

    turn is the angle at the center.

    Guarantees: the length is continuous for all P and Q.
    Returns:    as `taut_cylinder`.
    """
    d_P, d_Q = math.sqrt(dot(P, P)), math.sqrt(dot(Q, Q))
    normal = cross(P, Q)
    sine = math.sqrt(dot(normal, normal))
    turn = math.atan2(sine, dot(P, Q))
    lean_P, lean_Q = tangent(r, d_P)[1], tangent(r, d_Q)[1]
    wrap = turn - lean_P - lean_Q
    if sine <= _IN_LINE * d_P * d_Q:
        # any plane is as good: take the one through the axis least along P
        pick = 0
        if math.fabs(P[1]) < math.fabs(P[pick]):
            pick = 1
        if math.fabs(P[2]) < math.fabs(P[pick]):
            pick = 2
        normal = cross(P, (1.0 if pick == 0 else 0.0, 1.0 if pick == 1 else 0.0, 1.0 if pick == 2 else 0.0))
    if not wrap > 0.0:
        return wrap, P, P, 0.0
    u = unit(P)
    v = unit(cross(normal, u))
    c, s = math.cos(lean_P), math.sin(lean_P)
    x = (r * (c * u[0] + s * v[0]), r * (c * u[1] + s * v[1]), r * (c * u[2] + s * v[2]))
    t = (c * v[0] - s * u[0], c * v[1] - s * u[1], c * v[2] - s * u[2])
    return wrap, x, t, r * wrap
