"""One step of Newton's method with Levenberg and Marquardt's damping, within the bounds of the unknowns.

`musculo.kernels.fit.pose_search` decides how often, and how much each is damped.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel

# A pivot smaller than this part of its diagonal element is zero to rounding: the matrix is not positive definite.
_SMALLEST_PIVOT = 1e-11
# Of the largest diagonal element: below it nothing recorded sees the unknown, and it stays where it is.
_SEEN = 1e-14
# Why an unknown does not move: it may, a bound holds it, or nothing sees it.
FREE, BOUND, BLIND = 0.0, 1.0, 2.0


class Unknowns(NamedTuple):
    """What the solver moves."""

    speed: IntArray  # (free,) row of u
    coordinate: IntArray  # (free,) row of q; -1 for a speed of a quaternion
    lower: FloatArray  # (free,)
    upper: FloatArray  # (free,)
    usual: FloatArray  # (free, 2) the range the model states, whether or not it binds
    quaternion: IntArray  # (quaternions, 7) rows of q (w, x, y, z), then which unknowns turn it


@kernel
def _factor(unknowns, space, damping, lane):
    """H + damping diag(H) = L^T L over the unknowns no bound holds; False where it is not positive definite.

    From the last unknown to the first, so that zeros between branches of the tree stay (Featherstone 2008, 6.5).
    """
    n = unknowns.speed.size
    n_u = space.gradient.shape[0]
    F, held = space.factor, space.held
    for i in range(n):
        for j in range(i + 1):
            free = held[i, lane] == FREE and held[j, lane] == FREE
            F[i * n + j, lane] = space.hessian[unknowns.speed[i] * n_u + unknowns.speed[j], lane] if free else 0.0
        if held[i, lane] == FREE:
            F[i * n + i, lane] += damping * abs(F[i * n + i, lane])
        else:
            F[i * n + i, lane] = 1.0
    for k in range(n - 1, -1, -1):
        pivot = F[k * n + k, lane]
        own = space.hessian[unknowns.speed[k] * n_u + unknowns.speed[k], lane]
        if held[k, lane] == FREE and not pivot > _SMALLEST_PIVOT * abs(own):
            return False
        root = math.sqrt(pivot)
        F[k * n + k, lane] = root
        for i in range(k):
            F[k * n + i, lane] /= root
        for i in range(k):
            x = F[k * n + i, lane]
            if x != 0.0:
                for j in range(i + 1):
                    F[i * n + j, lane] -= x * F[k * n + j, lane]
    return True


@kernel
def bounded_step(unknowns, q, space, damping, lane):
    """The step that minimizes the damped second-order model within the bounds; returns whether there is one.

    Unknowns that would leave their range are put on its edge and the others solved again, until none leaves.
    """
    n = unknowns.speed.size
    n_u = space.gradient.shape[0]
    F, d, held = space.factor, space.step, space.held
    pushed = False
    for i in range(n):
        d[i, lane] = 0.0
    for _ in range(n + 1):
        if not _factor(unknowns, space, damping, lane):
            return False
        for i in range(n):
            if held[i, lane] == FREE:
                row = unknowns.speed[i]
                right = -space.gradient[row, lane]
                if pushed:
                    for j in range(n):
                        if held[j, lane] != FREE:
                            right -= space.hessian[row * n_u + unknowns.speed[j], lane] * d[j, lane]
                d[i, lane] = right
        # L^T y = right, then L d = y; held unknowns have unit rows and keep what they have
        for i in range(n - 1, -1, -1):
            d[i, lane] /= F[i * n + i, lane]
            if held[i, lane] == FREE:
                for j in range(i):
                    d[j, lane] -= F[i * n + j, lane] * d[i, lane]
        for i in range(n):
            if held[i, lane] == FREE:
                value = d[i, lane]
                for j in range(i):
                    value -= F[i * n + j, lane] * d[j, lane]
                d[i, lane] = value / F[i * n + i, lane]
        # F is zero between free and held unknowns, so neither sweep has mixed them
        left = False
        for i in range(n):
            c = unknowns.coordinate[i]
            if c >= 0 and held[i, lane] == FREE:
                if q[c, lane] + d[i, lane] < unknowns.lower[i]:
                    d[i, lane] = unknowns.lower[i] - q[c, lane]
                    held[i, lane] = BOUND
                    left = True
                elif q[c, lane] + d[i, lane] > unknowns.upper[i]:
                    d[i, lane] = unknowns.upper[i] - q[c, lane]
                    held[i, lane] = BOUND
                    left = True
        if not left:
            break
        pushed = True
    return True


@kernel
def hold(unknowns, q, space, lane):
    """Mark the unknowns that a bound holds against the gradient, and those that nothing sees."""
    n_u = space.gradient.shape[0]
    largest = 0.0
    for i in range(unknowns.speed.size):
        largest = max(largest, abs(space.hessian[unknowns.speed[i] * (n_u + 1), lane]))
    for i in range(unknowns.speed.size):
        c, g = unknowns.coordinate[i], space.gradient[unknowns.speed[i], lane]
        on_edge = c >= 0 and (
            (q[c, lane] <= unknowns.lower[i] and g > 0.0) or (q[c, lane] >= unknowns.upper[i] and g < 0.0)
        )
        seen = abs(space.hessian[unknowns.speed[i] * (n_u + 1), lane]) > _SEEN * largest
        space.held[i, lane] = BLIND if not seen else BOUND if on_edge else FREE


@kernel
def move(unknowns, q, space, length, trial, lane):
    """trial = q + length step, within the bounds; quaternions turn by qdot = (0, w) q / 2 and keep unit length."""
    for k in range(q.shape[0]):
        trial[k, lane] = q[k, lane]
    for i in range(unknowns.speed.size):
        c = unknowns.coordinate[i]
        if c >= 0:
            value = q[c, lane] + length * space.step[i, lane]
            trial[c, lane] = min(max(value, unknowns.lower[i]), unknowns.upper[i])
    for k in range(unknowns.quaternion.shape[0]):
        rows = unknowns.quaternion[k]
        w, x, y, z = q[rows[0], lane], q[rows[1], lane], q[rows[2], lane], q[rows[3], lane]
        a = 0.5 * length * space.step[rows[4], lane]
        b = 0.5 * length * space.step[rows[5], lane]
        c = 0.5 * length * space.step[rows[6], lane]
        w, x, y, z = (
            w - x * a - y * b - z * c,
            x + w * a + z * b - y * c,
            y - z * a + w * b + x * c,
            z + y * a - x * b + w * c,
        )
        size = math.sqrt(w * w + x * x + y * y + z * z)
        trial[rows[0], lane], trial[rows[1], lane] = w / size, x / size
        trial[rows[2], lane], trial[rows[3], lane] = y / size, z / size


@kernel
def predicted(unknowns, space, length, lane):
    """How much the undamped second-order model falls along length times the step."""
    n_u = space.gradient.shape[0]
    fall = 0.0
    for i in range(unknowns.speed.size):
        row = unknowns.speed[i]
        bent = 0.0
        for j in range(unknowns.speed.size):
            bent += space.hessian[row * n_u + unknowns.speed[j], lane] * space.step[j, lane]
        fall -= length * space.step[i, lane] * (space.gradient[row, lane] + 0.5 * length * bent)
    return fall
