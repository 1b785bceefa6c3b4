"""Euler parameters of a lane as tuples (e0, e1, e2, e3): products, rotations, and steps by an angular velocity."""

from __future__ import annotations

from musculo.kernels.compiler.parts import inline, traced
from musculo.kernels.scalar.scalars import sincos, square_root


@traced
def product(p, q):
    """p q, the orientation q on top of p."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3],
        p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1],
    )


@traced
def relative(p, q):
    """p^-1 q of unit Euler parameters: the orientation q as p has it, (e0, e) = [p^T; L_p] q (Antunes2025 eq. 18)."""
    return (
        p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3],
        p[0] * q[1] - p[1] * q[0] - p[2] * q[3] + p[3] * q[2],
        p[0] * q[2] - p[2] * q[0] - p[3] * q[1] + p[1] * q[3],
        p[0] * q[3] - p[3] * q[0] - p[1] * q[2] + p[2] * q[1],
    )


@traced
def rotation(p):
    """A = G L^T, row by row, of unit Euler parameters (Antunes2025 eq. 26, 27)."""
    w, x, y, z = p[0], p[1], p[2], p[3]
    return (
        w * w + x * x - y * y - z * z,
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        w * w - x * x + y * y - z * z,
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        w * w - x * x - y * y + z * z,
    )


@inline
def about(axis, angle):
    """(cos(angle / 2), axis sin(angle / 2)) (Antunes2025 eq. 16, 17)."""
    s, c = sincos(0.5 * angle)
    return c, s * axis[0], s * axis[1], s * axis[2]


@inline
def unit(p):
    """p with its length made one."""
    n = 1.0 / square_root(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    return p[0] * n, p[1] * n, p[2] * n, p[3] * n


@inline
def turned(p, d):
    """p + L^T d / 2, made unit: what a small rotation d in body axes makes of p (Antunes2025 eq. 31)."""
    w, x, y, z = p[0], p[1], p[2], p[3]
    a, b, c = 0.5 * d[0], 0.5 * d[1], 0.5 * d[2]
    return unit(
        (
            w - x * a - y * b - z * c,
            x + w * a - z * b + y * c,
            y + z * a + w * b - x * c,
            z - y * a + x * b + w * c,
        )
    )
