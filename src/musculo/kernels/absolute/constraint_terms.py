"""The terms that constraint equations are sums of: value, gradient by the twists of two frames, and bias.

With frames A and B at p_A, p_B, turned by R_A, R_B, and d = p_B - p_A, s = R_A a, t = R_B b:

    DOT       s . t                          NUMBER    what is given over time
    ALONG     s . d                          FUNCTION  a function of coordinates
    LENGTH    |d|                            CONSTANT  1
    QUADRIC   sum_k a_k e_k^2 / 2,  e = R_A^T d
    EULER     a . p_AB,  p_AB the Euler parameters of B relative to A (Antunes2025 eq. 18)

A term is phi, its rate g_A . (w, v)_A + g_B . (w, v)_B, and its second derivative the same of the accelerations plus a
bias of the velocities. Twists are those of the frames' origins in ground.
"""

from __future__ import annotations

from musculo.kernels.absolute.absolute_system import (
    OMEGA,
    PLACE,
    QUATERNION,
    ROTATION,
    VELOCITY,
    frame_row,
)
from musculo.kernels.absolute.euler_parameter_tuples import relative
from musculo.kernels.absolute.moving_frames import four, load4, load9, three
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.scalar.scalars import like, square_root
from musculo.kernels.scalar.vectors import (
    add,
    add_scaled,
    cross,
    dot,
    load3,
    rotate,
    rotate_back,
    scale,
    subtract,
)

DOT, ALONG, LENGTH, QUADRIC, EULER, NUMBER, FUNCTION, CONSTANT = 0, 1, 2, 3, 4, 5, 6, 7


@inline
def _negative(a):
    return -a[0], -a[1], -a[2]


@kernel
def term_gradient(system, t, W, lane):
    """phi and the gradients (w, v)_A, (w, v)_B of a term between two frames."""
    zero = like(W[0, lane], 0.0)
    A, B = frame_row(system, system.first_frame[t]), frame_row(system, system.second_frame[t])
    kind = system.kind[t]
    none = (zero, zero, zero)
    value, wA, vA, wB, vB = zero, none, none, none, none
    d = subtract(load3(W, B + PLACE, lane), load3(W, A + PLACE, lane))
    if kind == DOT:
        s = rotate(load9(W, A + ROTATION, lane), three(system.a, t, zero))
        r = rotate(load9(W, B + ROTATION, lane), three(system.b, t, zero))
        value = dot(s, r)
        wA = cross(s, r)
        wB = _negative(wA)
    elif kind == ALONG:
        s = rotate(load9(W, A + ROTATION, lane), three(system.a, t, zero))
        value = dot(s, d)
        wA, vA, vB = cross(s, d), _negative(s), s
    elif kind == LENGTH:
        value = square_root(dot(d, d))
        vB = scale(1.0 / value, d)
        vA = _negative(vB)
    elif kind == QUADRIC:
        R = load9(W, A + ROTATION, lane)
        e = rotate_back(R, d)
        w = (system.a[t, 0] * e[0], system.a[t, 1] * e[1], system.a[t, 2] * e[2])
        value = 0.5 * dot(w, e)
        vB = rotate(R, w)
        vA, wA = _negative(vB), cross(vB, d)
    elif kind == EULER:
        p = relative(load4(W, A + QUATERNION, lane), load4(W, B + QUATERNION, lane))
        c = four(system.a, t, zero)
        e, u = (p[1], p[2], p[3]), (c[1], c[2], c[3])
        value = c[0] * p[0] + dot(u, e)
        g = add(add_scaled(scale(p[0], u), -c[0], e), cross(u, e))
        wB = rotate(load9(W, B + ROTATION, lane), scale(0.5, g))
        wA = _negative(wB)
    return value, wA, vA, wB, vB


@kernel
def term_bias(system, t, value, wB, vB, W, lane):
    """What the velocities alone add to the second derivative of a term; value, wB, vB from `term_gradient`."""
    zero = like(W[0, lane], 0.0)
    A, B = frame_row(system, system.first_frame[t]), frame_row(system, system.second_frame[t])
    kind = system.kind[t]
    bias = zero
    omega_A, omega_B = load3(W, A + OMEGA, lane), load3(W, B + OMEGA, lane)
    if kind == EULER:
        change = subtract(omega_B, omega_A)
        bias = dot(wB, cross(omega_B, omega_A)) - 0.25 * dot(change, change) * value
    elif kind == DOT:
        s = rotate(load9(W, A + ROTATION, lane), three(system.a, t, zero))
        r = rotate(load9(W, B + ROTATION, lane), three(system.b, t, zero))
        s1, r1 = cross(omega_A, s), cross(omega_B, r)
        bias = dot(cross(omega_A, s1), r) + 2.0 * dot(s1, r1) + dot(s, cross(omega_B, r1))
    else:
        d = subtract(load3(W, B + PLACE, lane), load3(W, A + PLACE, lane))
        d1 = subtract(load3(W, B + VELOCITY, lane), load3(W, A + VELOCITY, lane))
        if kind == ALONG:
            s1 = cross(omega_A, vB)
            bias = dot(cross(omega_A, s1), d) + 2.0 * dot(s1, d1)
        elif kind == LENGTH:
            along = dot(d1, vB)
            bias = (dot(d1, d1) - along * along) / value
        elif kind == QUADRIC:
            swing = cross(omega_A, d)
            e = rotate_back(load9(W, A + ROTATION, lane), subtract(d1, swing))
            bias = system.a[t, 0] * e[0] * e[0] + system.a[t, 1] * e[1] * e[1] + system.a[t, 2] * e[2] * e[2]
            bias = bias + dot(vB, subtract(cross(omega_A, swing), scale(2.0, cross(omega_A, d1))))
    return bias
