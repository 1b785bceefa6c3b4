"""Where a path over an ellipsoid or a torus starts its search: plane sections, and a cylinder in place of the tube."""

from __future__ import annotations

import math

import numpy as np

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import add_scaled, cross, dot, subtract
from musculo.kernels.wrapping.geodesic.surface_shape import along_surface, depth, onto, slope, unit

# Planes about the chord that are tried; minima of the length between them are refined.
PLANES = 32
_REFINEMENTS = 12
# Parts of the arc of a section whose length is a bound.
_PANELS = 12
# Points along the part of the chord that may meet a ring's tube, at which the distance is sampled; every minimum is
# refined, as the chord may come near the tube on both sides of the hole. What is not near it is so deep.
_SAMPLES = 32
_FAR = 1e300
# Azimuths at which a cylinder is laid along a torus' tube before the best is refined.
_AZIMUTHS = 16
# Gauss-Legendre nodes and weights on [-1, 1] for the arc of a plane section.
_NODES = np.array([-0.9324695142031521, -0.6612093864662645, -0.2386191860831969, 0.2386191860831969, 0.6612093864662645, 0.9324695142031521])  # fmt: skip  # noqa: E501
_WEIGHTS = np.array([0.17132449237917, 0.36076157304814, 0.46791393457269, 0.46791393457269, 0.36076157304814, 0.17132449237917])  # fmt: skip  # noqa: E501


@kernel
def chord_frame(shape, P, Q):
    """The chord in coordinates in which the ellipsoid is the unit sphere.

    Returns (u, f, w, v, p, q, hit): unit direction, nearest point to the center, unit vectors w (along f) and v that
    complete a right-handed frame, coordinates of both ends along u, and whether the chord cuts the sphere's inside.
    """
    a = (math.sqrt(shape[1]), math.sqrt(shape[2]), math.sqrt(shape[3]))
    P = (a[0] * P[0], a[1] * P[1], a[2] * P[2])
    Q = (a[0] * Q[0], a[1] * Q[1], a[2] * Q[2])
    u = unit(subtract(Q, P))
    p, q = dot(P, u), dot(Q, u)
    f = add_scaled(P, -p, u)
    far = math.sqrt(dot(f, f))
    if far > 1e-9:
        w = unit(f)
    else:
        pick = 0
        if math.fabs(u[1]) < math.fabs(u[pick]):
            pick = 1
        if math.fabs(u[2]) < math.fabs(u[pick]):
            pick = 2
        e = (1.0 if pick == 0 else 0.0, 1.0 if pick == 1 else 0.0, 1.0 if pick == 2 else 0.0)
        w = unit(add_scaled(e, -dot(e, u), u))
    return u, f, w, cross(u, w), p, q, far < 1.0 and p < 0.0 and q > 0.0


@kernel
def _section(frame, psi):
    """The plane section whose path passes on the side w(psi) = cos(psi) w + sin(psi) v of the chord.

    Returns (side, center, radius, first and last angle of contact from `side` towards u).
    """
    _, f, w, v, p, q, _ = frame
    c, s = math.cos(psi), math.sin(psi)
    side = (c * w[0] + s * v[0], c * w[1] + s * v[1], c * w[2] + s * v[2])
    y = dot(f, side)
    center = add_scaled(f, -y, side)
    radius = math.sqrt(max(1e-24, 1.0 - dot(center, center)))
    d_P, d_Q = math.sqrt(p * p + y * y), math.sqrt(q * q + y * y)
    a_P = math.atan2(p, y) + (math.acos(radius / d_P) if d_P > radius else 0.0)
    a_Q = math.atan2(q, y) - (math.acos(radius / d_Q) if d_Q > radius else 0.0)
    return side, center, radius, a_P, a_Q


@kernel
def _real(shape, x):
    """Length of a vector given in the sphere's coordinates."""
    return math.sqrt(x[0] * x[0] / shape[1] + x[1] * x[1] / shape[2] + x[2] * x[2] / shape[3])


@kernel
def section_path(shape, frame, psi):
    """The taut path within a plane section: (length, arc, side, start, its direction, end; all but lengths in the
    sphere's coordinates).

    A plane through the chord cuts the sphere in a circle; the path runs along its tangents and over the arc on `side`.
    Guarantees: `length` is that of a feasible path, so no shorter than the shortest (up to the quadrature of the arc).
    """
    u, f, _, _, p, q, _ = frame
    side, center, radius, a_P, a_Q = _section(frame, psi)
    c, s = math.cos(a_P), math.sin(a_P)
    x = add_scaled(add_scaled(center, radius * c, side), radius * s, u)
    t = add_scaled((-s * side[0], -s * side[1], -s * side[2]), c, u)
    y = add_scaled(add_scaled(center, radius * math.cos(a_Q), side), radius * math.sin(a_Q), u)
    arc = 0.0
    for i in range(_NODES.size):
        angle = 0.5 * (a_P + a_Q) + 0.5 * (a_Q - a_P) * _NODES[i]
        c, s = math.cos(angle), math.sin(angle)
        arc += _WEIGHTS[i] * _real(shape, add_scaled((-s * side[0], -s * side[1], -s * side[2]), c, u))
    arc *= 0.5 * (a_Q - a_P) * radius
    length = arc + _real(shape, subtract(add_scaled(f, p, u), x)) + _real(shape, subtract(add_scaled(f, q, u), y))
    return length, arc, side, x, t, y


@kernel
def section_bound(shape, frame, psi):
    """Length of the path within a plane section, its arc in parts: no less than the shortest, but for quadrature."""
    u, _, _, _, _, _, _ = frame
    length, arc, side, _, _, _ = section_path(shape, frame, psi)
    _, _, radius, a_P, a_Q = _section(frame, psi)
    fine, step = 0.0, (a_Q - a_P) / _PANELS
    for k in range(_PANELS):
        for i in range(_NODES.size):
            angle = a_P + step * (k + 0.5 + 0.5 * _NODES[i])
            c, s = math.cos(angle), math.sin(angle)
            fine += _WEIGHTS[i] * _real(shape, add_scaled((-s * side[0], -s * side[1], -s * side[2]), c, u))
    return length - arc + 0.5 * step * radius * fine


@kernel
def chord_length(shape, frame):
    """Length of the straight line between both ends."""
    u, _, _, _, p, q, _ = frame
    return (q - p) * _real(shape, u)


@kernel
def refine_section(shape, frame, psi):
    """The angle near `psi` where the section's length is least, by shrinking brackets."""
    h = 2.0 * math.pi / PLANES
    value = section_path(shape, frame, psi)[0]
    for _ in range(_REFINEMENTS):
        left, right = section_path(shape, frame, psi - h)[0], section_path(shape, frame, psi + h)[0]
        bend = left - 2.0 * value + right
        shift = 0.5 * h * (left - right) / bend if bend > 0.0 else (0.0 if value <= min(left, right) else h)
        if bend <= 0.0 and left < right:
            shift = -shift
        shift = min(h, max(-h, shift))
        trial = section_path(shape, frame, psi + shift)[0]
        if trial < value:
            psi, value = psi + shift, trial
        h *= 0.4
    return psi


@kernel
def section_guess(shape, frame, psi):
    """Start point, unit direction, length and end point of the section's arc, on the ellipsoid."""
    _, arc, _, x, t, y = section_path(shape, frame, psi)
    a = (1.0 / math.sqrt(shape[1]), 1.0 / math.sqrt(shape[2]), 1.0 / math.sqrt(shape[3]))
    x = onto(shape, (a[0] * x[0], a[1] * x[1], a[2] * x[2]))
    t = (a[0] * t[0], a[1] * t[1], a[2] * t[2])
    y = onto(shape, (a[0] * y[0], a[1] * y[1], a[2] * y[2]))
    return x, along_surface(unit(slope(shape, x)), t), max(arc, 0.0), y


@kernel
def _within_reach(shape, P, D):
    """The part of the chord P + t D (first and last t) that lies between the planes that touch a torus from above and
    below, and in the cylinder round it; the first is larger where there is none."""
    lower, upper = 0.0, 1.0
    if D[2] != 0.0:
        a, b = (-shape[4] - P[2]) / D[2], (shape[4] - P[2]) / D[2]
        lower, upper = max(lower, min(a, b)), min(upper, max(a, b))
    elif math.fabs(P[2]) > shape[4]:
        return 1.0, 0.0
    reach = shape[4] + shape[5]
    a, b, c = D[0] * D[0] + D[1] * D[1], P[0] * D[0] + P[1] * D[1], P[0] * P[0] + P[1] * P[1] - reach * reach
    if a > 0.0:
        root = b * b - a * c
        if root < 0.0:
            return 1.0, 0.0
        root = math.sqrt(root)
        lower, upper = max(lower, (-b - root) / a), min(upper, (root - b) / a)
    elif c > 0.0:
        return 1.0, 0.0
    return lower, upper


@kernel
def ring_approach(shape, P, Q, free):
    """Where the chord comes nearest to the ring of a torus, and what that means.

    Returns (nearest point, depth there, outside): `outside` where the chord crosses the ring's plane beyond the ring,
    so that a path through the hole must be pulled in (unless it is `free` to pass by); the point is then that crossing.
    Where the chord keeps away from the tube the depth is huge.
    """
    D = subtract(Q, P)
    if (P[2] > 0.0) != (Q[2] > 0.0) and not free:
        x = add_scaled(P, P[2] / (P[2] - Q[2]), D)
        if x[0] * x[0] + x[1] * x[1] > shape[5] * shape[5]:
            return x, depth(shape, x), True
    lower, upper = _within_reach(shape, P, D)
    best, at = _FAR, 0.0
    if not lower <= upper:
        return P, best, False
    step = (upper - lower) / _SAMPLES
    before, here = _FAR, depth(shape, add_scaled(P, lower, D))
    for i in range(_SAMPLES + 1):
        t, after = lower + i * step, _FAR
        if i < _SAMPLES:
            after = depth(shape, add_scaled(P, t + step, D))
        if here <= before and here <= after:
            least, h = here, step
            while h > 1e-12:
                a, b = max(lower, t - h), min(upper, t + h)
                left, right = depth(shape, add_scaled(P, a, D)), depth(shape, add_scaled(P, b, D))
                if left < least and left <= right:
                    least, t = left, a
                elif right < least:
                    least, t = right, b
                else:
                    h *= 0.5
            if least < best:
                best, at = least, t
        before, here = here, after
    return add_scaled(P, at, D), best, False


@kernel
def _crossing(shape, out, into):
    """Where the line from a point outside to one inside meets the surface, by halving."""
    for _ in range(50):
        middle = (0.5 * (out[0] + into[0]), 0.5 * (out[1] + into[1]), 0.5 * (out[2] + into[2]))
        if depth(shape, middle) > 1.0:
            out = middle
        else:
            into = middle
    return onto(shape, out)


@kernel
def dip_start(shape, P, Q, nearest):
    """Start, direction, length and end of a path over the skin that a shallow chord dips under."""
    x, y = _crossing(shape, P, nearest), _crossing(shape, Q, nearest)
    d = subtract(y, x)
    return x, along_surface(unit(slope(shape, x)), d), math.sqrt(dot(d, d)), y


@kernel
def _tube_path(shape, P, Q, theta):
    """The taut path over the cylinder that touches the torus along its tube at the azimuth theta, on the inner side.

    Returns (length, wrap [rad], start, direction, arc, end); the length counts no wrap below zero.
    """
    r, ring = shape[4], shape[5]
    c, s = math.cos(theta), math.sin(theta)
    # local axes: inwards X, down Y, along the tube Z
    pX, pY, pZ = ring - c * P[0] - s * P[1], -P[2], -s * P[0] + c * P[1]
    qX, qY, qZ = ring - c * Q[0] - s * Q[1], -Q[2], -s * Q[0] + c * Q[1]
    d_P, d_Q = math.sqrt(pX * pX + pY * pY), math.sqrt(qX * qX + qY * qY)
    a_P, a_Q = math.atan2(pY, pX), math.atan2(qY, qX)
    way = 1.0 if a_Q >= a_P else -1.0
    lean_P = math.acos(r / d_P) if d_P > r else 0.0
    lean_Q = math.acos(r / d_Q) if d_Q > r else 0.0
    swept = way * (a_Q - a_P)
    wrap = swept - lean_P - lean_Q
    turn = max(1e-3, wrap)
    h_P, h_Q = math.sqrt(max(0.0, d_P * d_P - r * r)), math.sqrt(max(0.0, d_Q * d_Q - r * r))
    flat = h_P + r * turn + h_Q
    rise = qZ - pZ
    whole = math.sqrt(flat * flat + rise * rise)
    a, z = a_P + way * lean_P, pZ + rise * h_P / flat
    X = ring - r * math.cos(a)
    x = (c * X - s * z, s * X + c * z, -r * math.sin(a))
    tX, tY, tZ = -way * math.sin(a) * flat / whole, way * math.cos(a) * flat / whole, rise / whole
    t = (-c * tX - s * tZ, -s * tX + c * tZ, -tY)
    a, z = a + way * turn, pZ + rise * (h_P + r * turn) / flat
    X = ring - r * math.cos(a)
    y = (c * X - s * z, s * X + c * z, -r * math.sin(a))
    return whole, wrap, x, t, r * turn * whole / flat, y


@kernel
def _pull(shape, P, Q, theta):
    """Length of the path over the tube's cylinder at theta, or a negative number where it is not in contact."""
    path = _tube_path(shape, P, Q, theta)
    return path[0] if path[1] > 0.0 else path[1]


@kernel
def tube_azimuth(shape, P, Q, nearest):
    """Where along its ring the path touches a torus, by cylinders laid along its tube.

    The hole is where all these cylinders leave room, so the path hangs on the one that makes it longest.
    """
    theta = math.atan2(nearest[1], nearest[0])
    best = _pull(shape, P, Q, theta)
    start = theta
    for i in range(1, _AZIMUTHS):
        value = _pull(shape, P, Q, start + 2.0 * math.pi * i / _AZIMUTHS)
        if value > best:
            theta, best = start + 2.0 * math.pi * i / _AZIMUTHS, value
    h = math.pi / _AZIMUTHS
    for _ in range(_REFINEMENTS):
        left, right = _pull(shape, P, Q, theta - h), _pull(shape, P, Q, theta + h)
        if left > best and left >= right:
            theta, best = theta - h, left
        elif right > best:
            theta, best = theta + h, right
        else:
            h *= 0.5
    return theta


@kernel
def tube_start(shape, P, Q, theta):
    """Start, direction, length and end, on the torus, of the path over the cylinder along its tube at theta."""
    _, _, x, t, arc, y = _tube_path(shape, P, Q, theta)
    x = onto(shape, x)
    return x, along_surface(unit(slope(shape, x)), t), arc, onto(shape, y)
