"""OpenSim's path through the hole of a torus: a cylinder laid along the tube where the segment comes nearest."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import unfused
from musculo.kernels.wrapping.opensim.opensim_cylinder import wrap_cylinder
from musculo.kernels.wrapping.opensim.opensim_geometry import add, add_scaled, cross, dot, scale, side, subtract, unit
from musculo.kernels.wrapping.opensim.opensim_outcomes import NO_WRAP, WRAPPED

# Options of the solver as OpenSim sets them: tolerances, first step, most evaluations (those for slopes not counted).
_TOLERANCE = 1e-4
_FACTOR = 0.2
_EVALUATIONS = 500
# OpenSim's copy of the solver has a step of its own for forward differences, whatever the unknown [m].
_DIFFERENCE = 1e-5
_EPS = 1.2e-16
_TINY = 1e-38
_TUBE_LENGTH = 10000.0


@unfused
def _residual(x, ring, start, c3, c4, c5):
    """Slope of the squared distance from the ring, but with twice its second term, as OpenSim has it."""
    return 2.0 * (start + x) - 4.0 * ring * (c4 * x + c3) / math.sqrt(c4 * x * x + 2.0 * c3 * x + c5)


@unfused
def _damping(r, d, qtb, delta, par):
    """(step, par): MINPACK's lmpar for one unknown."""
    x = qtb / r if r != 0.0 else 0.0
    size = math.fabs(d * x)
    over = size - delta
    if over <= 0.1 * delta:
        return x, 0.0
    low = 0.0
    if r != 0.0:
        slope = d * (d * x / size) / r
        low = over / delta / slope / slope
    gradient = math.fabs(r * qtb / d)
    high = gradient / delta
    if high == 0.0:
        high = _TINY / min(delta, 0.1)
    par = min(max(par, low), high)
    if par == 0.0:
        par = gradient / size
    for count in range(10):
        if par == 0.0:
            par = max(_TINY, 0.001 * high)
        pivot = math.sqrt(r * r + par * d * d)
        x = r * qtb / (pivot * pivot)
        size = math.fabs(d * x)
        before, over = over, size - delta
        if math.fabs(over) <= 0.1 * delta or (low == 0.0 and over <= before and before < 0.0) or count == 9:
            break
        slope = d * (d * x / size) / pivot
        more = over / delta / slope / slope
        if over > 0.0:
            low = max(low, par)
        else:
            high = min(high, par)
        par = max(low, par + more)
    return x, par


@unfused
def _lmdif(ring, start, c3, c4, c5):
    """The root MINPACK's lmdif ends at, from zero, for one equation in one unknown; stops early, so step by step.

    Where the residual has no root the solver ends near its least value, at a place that the slope's error decides:
    the step of the difference quotient is part of the recipe.
    """
    x = 0.0
    f = _residual(x, ring, start, c3, c4, c5)
    used = 1
    par, delta, d, x_size = 0.0, 0.0, 1.0, 0.0
    first = True
    going = True
    while going:
        J = (_residual(x + _DIFFERENCE, ring, start, c3, c4, c5) - f) / _DIFFERENCE
        if first:
            d = math.fabs(J) if J != 0.0 else 1.0
            x_size = math.fabs(d * x)
            delta = _FACTOR * x_size
            if delta == 0.0:
                delta = _FACTOR
        # the gradient test: one equation is either solved or has no slope
        if f == 0.0 or J == 0.0 or f != f:
            break
        d = max(d, math.fabs(J))
        ratio = 0.0
        while going and ratio < 1e-4:
            step, par = _damping(-J, d, -f, delta, par)
            step = -step
            new = x + step
            size = math.fabs(d * step)
            if first:
                delta = min(delta, size)
            f_new = _residual(new, ring, start, c3, c4, c5)
            used += 1
            actual = -1.0
            if 0.1 * math.fabs(f_new) < math.fabs(f):
                actual = 1.0 - (f_new / f) * (f_new / f)
            straight = J * step / f
            straight = straight * straight
            damped = par * size * size / (f * f)
            predicted = straight + 2.0 * damped
            slope = -(straight + damped)
            ratio = actual / predicted if predicted != 0.0 else 0.0
            if ratio <= 0.25:
                shrink = 0.5 if actual >= 0.0 else 0.5 * slope / (slope + 0.5 * actual)
                if 0.1 * math.fabs(f_new) >= math.fabs(f) or shrink < 0.1:
                    shrink = 0.1
                delta = shrink * min(delta, size / 0.1)
                par = par / shrink
            elif par == 0.0 or ratio >= 0.75:
                delta = size / 0.5
                par = 0.5 * par
            if ratio >= 1e-4:
                x, f = new, f_new
                x_size = math.fabs(d * x)
                first = False
            if math.fabs(actual) <= _TOLERANCE and predicted <= _TOLERANCE and 0.5 * ratio <= 1.0:
                going = False
            if delta <= _TOLERANCE * x_size or delta <= _EPS * x_size:
                going = False
            if used >= _EVALUATIONS or ratio != ratio:
                going = False
    return x


@unfused
def _nearest(a, b, ring):
    """(x, squared distance from the ring's center line) where the solver ends, started at a towards b."""
    n = unit(subtract(b, a))
    c3 = a[0] * n[0] + a[1] * n[1]
    c4 = n[0] * n[0] + n[1] * n[1]
    c5 = a[0] * a[0] + a[1] * a[1]
    x = add_scaled(a, _lmdif(ring, dot(a, n), c3, c4, c5), n)
    return x, dot(x, x) + ring * ring - 2.0 * ring * math.sqrt(x[0] * x[0] + x[1] * x[1])


@unfused
def _into(X, Y, Z, v):
    """v in the frame of these axes."""
    return dot(X, v), dot(Y, v), dot(Z, v)


@unfused
def _out_of(X, Y, Z, v):
    """Back from the frame of these axes."""
    return add(add(scale(v[0], X), scale(v[1], Y)), scale(v[2], Z))


@unfused
def wrap_torus(p1, p2, tube, ring, k, sign, several):
    """(code, r1, r2, arc) of a segment p1 p2 through a torus about z, as OpenSim 4.6 computes it.

    Source:     OpenSim 4.6, WrapTorus, observed behavior; Moré, Garbow, Hillstrom 1980, MINPACK-1 (lmdif, lmpar).
    Departs:    nothing by intention: the point that is looked for is not quite the nearest one, as there, and a
                segment that misses the tube is WRAPPED, with an arc that is not a number.

    Args:
        tube, ring: radii. k, sign: axis and side of the quadrant, sign 0 for all. several: see `wrap_cylinder`.
    """
    zero = (0.0, 0.0, 0.0)
    x_1, far_1 = _nearest(p1, p2, ring)
    x_2, far_2 = _nearest(p2, p1, ring)
    on_1, on_2 = True, True
    if sign != 0.0:
        on_1, on_2 = side(x_1[k]) == sign, side(x_2[k]) == sign
        if not (on_1 or on_2):
            return NO_WRAP, zero, zero, 0.0
    x = x_1 if on_1 and (not on_2 or far_1 < far_2) else x_2
    out = math.sqrt(x[0] * x[0] + x[1] * x[1])
    Q = (ring * x[0] / out, ring * x[1] / out, 0.0)
    X = unit(scale(-1.0, Q))
    Y = (0.0, 0.0, -1.0)
    Z = cross(X, Y)
    center = _into(X, Y, Z, scale(-1.0, Q))
    a, b = add(_into(X, Y, Z, p1), center), add(_into(X, Y, Z, p2), center)
    code, r1, r2, arc = wrap_cylinder(a, b, tube, _TUBE_LENGTH, 0, 1.0, several)
    if code < WRAPPED:
        # OpenSim calls this wrapped, too, which counts in `wrap_opensim`; without a length it is never taken
        arc = math.nan
    return WRAPPED, _out_of(X, Y, Z, subtract(r1, center)), _out_of(X, Y, Z, subtract(r2, center)), arc
