"""Where a plane through a point touches an ellipsoid, by OpenSim's damped and early stopped iteration."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import unfused
from musculo.kernels.wrapping.opensim.opensim_geometry import dot, subtract, unit_or_zero

# Sum of squared residuals that is good enough, most steps, most trials within a step.
_SOLVED = 1e-8
_STEPS = 50
_TRIALS = 1000
# An end this close to the surface is its own contact.
_ON_SURFACE = 1e-4


@unfused
def _residuals(r, d, p, a2, m, m4):
    """(on the plane, on the surface, tangent plane holds r, tangent plane holds p)."""
    g = (2.0 * r[0] / a2[0], 2.0 * r[1] / a2[1], 2.0 * r[2] / a2[2])
    return dot(m, r) + m4, 0.5 * dot(g, r) - 1.0, dot(g, r) + d, dot(g, p) + d


@unfused
def _square(e):
    return e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]


@unfused
def _solve(H, b, grow):
    """x of H x = b, H symmetric (00 01 02 03 11 12 13 22 23 33) with its diagonal times `grow`, by L D L^T."""
    d0 = H[0] * grow
    l1, l2, l3 = H[1] / d0, H[2] / d0, H[3] / d0
    d1 = H[4] * grow - l1 * H[1]
    c2, c3 = H[5] - l1 * H[2], H[6] - l1 * H[3]
    k2, k3 = c2 / d1, c3 / d1
    d2 = H[7] * grow - l2 * H[2] - k2 * c2
    e3 = H[8] - l2 * H[3] - k2 * c3
    j3 = e3 / d2
    d3 = H[9] * grow - l3 * H[3] - k3 * c3 - j3 * e3
    y0 = b[0]
    y1 = b[1] - l1 * y0
    y2 = b[2] - l2 * y0 - k2 * y1
    y3 = b[3] - l3 * y0 - k3 * y1 - j3 * y2
    x3 = y3 / d3
    x2 = y2 / d2 - j3 * x3
    x1 = y1 / d1 - k2 * x2 - k3 * x3
    x0 = y0 / d0 - l1 * x1 - l2 * x2 - l3 * x3
    return x0, x1, x2, x3


@unfused
def tangent_point(p, r, a, m, m4):
    """The contact of a line from p, in the plane m . x + m4 = 0, with the ellipsoid of semi-axes a, started at r.

    Unknowns are r and the offset d of the tangent plane; OpenSim stops at a squared residual of 1e-8 and uses twice
    the slope of the third residual, so its steps are taken one by one.
    """
    a2 = (a[0] * a[0], a[1] * a[1], a[2] * a[2])
    on = p[0] * p[0] / a2[0] + p[1] * p[1] / a2[1] + p[2] * p[2] / a2[2] - 1.0
    if math.fabs(on) < _ON_SURFACE:
        return p
    d = -2.0 * (r[0] * r[0] / a2[0] + r[1] * r[1] / a2[1] + r[2] * r[2] / a2[2])
    e = _residuals(r, d, p, a2, m, m4)
    S = _square(e)
    grow = 0.01
    step = 0
    while S > _SOLVED and step < _STEPS:
        step += 1
        kappa = dot(unit_or_zero(subtract(p, r)), unit_or_zero(p))
        damp = 1.0 - kappa**100 if kappa > 0.1 else 1.0
        # rows of the slope matrix, one an unknown: plane, surface, r on tangent plane, p on tangent plane
        g0, g1, g2 = r[0] / a2[0], r[1] / a2[1], r[2] / a2[2]
        h0, h1, h2 = 2.0 * p[0] / a2[0], 2.0 * p[1] / a2[1], 2.0 * p[2] / a2[2]
        q = (
            -(m[0] * e[0] + 2.0 * g0 * e[1] + 4.0 * g0 * e[2] + h0 * e[3]),
            -(m[1] * e[0] + 2.0 * g1 * e[1] + 4.0 * g1 * e[2] + h1 * e[3]),
            -(m[2] * e[0] + 2.0 * g2 * e[1] + 4.0 * g2 * e[2] + h2 * e[3]),
            -(e[2] + e[3]),
        )
        H = (
            m[0] * m[0] + 20.0 * g0 * g0 + h0 * h0,
            m[0] * m[1] + 20.0 * g0 * g1 + h0 * h1,
            m[0] * m[2] + 20.0 * g0 * g2 + h0 * h2,
            4.0 * g0 + h0,
            m[1] * m[1] + 20.0 * g1 * g1 + h1 * h1,
            m[1] * m[2] + 20.0 * g1 * g2 + h1 * h2,
            4.0 * g1 + h1,
            m[2] * m[2] + 20.0 * g2 * g2 + h2 * h2,
            4.0 * g2 + h2,
            2.0,
        )
        before = S
        x = (0.0, 0.0, 0.0, 0.0)
        trial = 0
        while before <= S and trial < _TRIALS:
            trial += 1
            x = _solve(H, q, 1.0 + grow)
            s = damp / 16.0
            x = (s * x[0], s * x[1], s * x[2], s * x[3])
            r = (r[0] + x[0], r[1] + x[1], r[2] + x[2])
            d = d + x[3]
            before = S
            e = _residuals(r, d, p, a2, m, m4)
            S = _square(e)
            grow = 4.0 * grow
        grow = grow / 8.0
        factor = 0.5
        trial = 0
        while before >= S and trial < _TRIALS:
            trial += 1
            factor = 2.0 * factor
            r = (r[0] + factor * x[0], r[1] + factor * x[1], r[2] + factor * x[2])
            d = d + factor * x[3]
            before = S
            e = _residuals(r, d, p, a2, m, m4)
            S = _square(e)
        r = (r[0] - factor * x[0], r[1] - factor * x[1], r[2] - factor * x[2])
        d = d - factor * x[3]
        e = _residuals(r, d, p, a2, m, m4)
        S = _square(e)
    return r
