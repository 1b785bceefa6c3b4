"""Bring a path taut over obstacles where they are: each alone between its neighbors, then Newton's method on all."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import dot, load3, subtract
from musculo.kernels.wrapping.geodesic.geodesic_curve import FINE
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    BEFORE,
    CONTACT,
    FIRST,
    LAST,
    LENGTH,
    OBSTACLE_ROWS,
    ON_END,
    PINNED,
    SHRINK,
    START,
    lay,
    load_shape,
    next_active,
    seen_from,
)
from musculo.kernels.wrapping.geodesic.one_obstacle import alone
from musculo.kernels.wrapping.geodesic.path_error_newton import TIGHT, straighten
from musculo.kernels.wrapping.geodesic.surface_shape import depth

# What a search for a path may end in.
CONVERGED, INSIDE, OTHER_SIDE, OVERLAPPED, NOT_CONVERGED, LEFT_OUT = range(6)
# What most paths never need is left to a second pass, which is compiled when a path first comes to it.
UNFINISHED = -1

# An end so close to a surface (relative) counts as on it: the length is off by as much, and by the cube of its root.
ON_SURFACE = 1e-9
# A surface that an end shrinks below this part of its size is no obstacle.
VANISHED = 1e-9
_KEPT_ROWS = 9
_ROUNDS = 8
_ITERATIONS = 30
# Sweeps between two attempts of Newton's method, at most.
_MOST_SWEEPS = 16
# Sweeps stop where no contact point moves by more than this [m].
_SETTLED = 1e-12
_COMES_OR_GOES = 1e300


@kernel
def is_inside(W, o, x, lane):
    """Whether a point of the common frame lies inside the obstacle whose rows start at o."""
    return depth(load_shape(W, o, lane), seen_from(W, o, x, lane)) < 1.0 - ON_SURFACE


@kernel
def _around(W, w, n, k, p_start, p_end, lane):
    """The points on either side of obstacle k: contact points of its neighbors in contact, or the fixed ends.

    Where surfaces overlap, a neighbor's contact may lie inside this one, and the next neighbor counts.
    """
    P, Q = p_start, p_end
    o = w + OBSTACLE_ROWS * k
    first, last = True, True
    for j in range(k - 1, -1, -1):
        if W[w + OBSTACLE_ROWS * j + CONTACT, lane] != 0.0:
            x = load3(W, w + OBSTACLE_ROWS * j + LAST, lane)
            if not is_inside(W, o, x, lane):
                P, first = x, False
                break
    for j in range(k + 1, n):
        if W[w + OBSTACLE_ROWS * j + CONTACT, lane] != 0.0:
            x = load3(W, w + OBSTACLE_ROWS * j + FIRST, lane)
            if not is_inside(W, o, x, lane):
                Q, last = x, False
                break
    return P, Q, first, last


@kernel
def _sweep(W, w, n, p_start, p_end, lane):
    """Solve every obstacle alone between its neighbors, in order.

    Returns the largest shift of a contact point (huge where one comes or goes), and whether all solves converged.
    """
    shift, good = 0.0, 1
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + SHRINK, lane] < VANISHED:
            W[o + CONTACT, lane] = 0.0
            continue
        was = W[o + CONTACT, lane]
        x1, x2 = load3(W, o + FIRST, lane), load3(W, o + LAST, lane)
        P, Q, first, last = _around(W, w, n, k, p_start, p_end, lane)
        W[o + PINNED, lane] = W[o + ON_END, lane] if first else 0.0
        W[o + PINNED + 1, lane] = W[o + ON_END + 1, lane] if last else 0.0
        good = min(good, alone(W, w, n, k, P, Q, lane))
        if W[o + CONTACT, lane] != was:
            shift = _COMES_OR_GOES
        elif was != 0.0:
            d1, d2 = subtract(load3(W, o + FIRST, lane), x1), subtract(load3(W, o + LAST, lane), x2)
            shift = max(shift, math.sqrt(max(dot(d1, d1), dot(d2, d2))))
    return shift, good


@kernel
def pin_neighbors(W, w, n, p_start, p_end, lane):
    """The first (last) obstacle in contact starts (ends) in the fixed point, if that lies on it."""
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        _, _, first, last = _around(W, w, n, k, p_start, p_end, lane)
        W[o + PINNED, lane] = W[o + ON_END, lane] if first else 0.0
        W[o + PINNED + 1, lane] = W[o + ON_END + 1, lane] if last else 0.0


@kernel
def _shortest_contact(W, w, n, lane):
    """The obstacle in contact whose geodesic is the most negative, or -1."""
    worst, least = -1, 0.0
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + CONTACT, lane] != 0.0 and W[o + LENGTH, lane] < least:
            worst, least = k, W[o + LENGTH, lane]
    return worst


@kernel
def _touches_down(W, w, n, p_start, p_end, lane):
    """Whether an obstacle out of contact is in its neighbors' way; the first that is comes into contact."""
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + CONTACT, lane] == 0.0 and W[o + SHRINK, lane] >= VANISHED:
            P, Q, _, _ = _around(W, w, n, k, p_start, p_end, lane)
            alone(W, w, n, k, P, Q, lane)
            if W[o + CONTACT, lane] != 0.0:
                return True
    return False


@kernel
def _all_at_once(W, w, n, p_start, p_end, lane):
    """Newton's method on all obstacles in contact; those that lift off are dropped, those in the way are added.

    Returns whether it ends in a path where every geodesic has a length and nothing is in the way.
    """
    for _ in range(2 * n + 1):
        pin_neighbors(W, w, n, p_start, p_end, lane)
        if straighten(W, w, n, (0, n), p_start, p_end, (_ITERATIONS, TIGHT), lane) == 0:
            return False
        lifts = _shortest_contact(W, w, n, lane)
        if lifts >= 0:
            W[w + OBSTACLE_ROWS * lifts + CONTACT, lane] = 0.0
        elif not _touches_down(W, w, n, p_start, p_end, lane):
            return True
    return False


@kernel
def copy_rows(W, w, n, source, target, lane):
    """Copy the geodesics and contacts of all obstacles to or from where they are kept."""
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        for i in range(_KEPT_ROWS):
            W[o + target + i, lane] = W[o + source + i, lane]


@kernel
def lay_all(W, w, n, lane):
    """Lay every geodesic in contact from its start, direction and length."""
    k = next_active(W, w, 0, n, lane)
    while k < n:
        lay(W, w, n, k, FINE, lane)
        k = next_active(W, w, k + 1, n, lane)


@kernel
def _outcome(good):
    """The status that a sweep's result means."""
    return CONVERGED if good == 1 else LEFT_OUT


@kernel
def solve_path(W, w, n, p_start, p_end, lane):
    """Bring the path over all obstacles taut. Returns a status.

    One sweep, then rounds of sweeps, more from round to round, with Newton's method on all obstacles after each; where
    contacts still come and go after the first, it may know.
    """
    # one loop with one call of the sweep: every call is compiled where it stands
    sweeps, left, i = 1, 2, 0
    while True:
        shift, good = _sweep(W, w, n, p_start, p_end, lane)
        if n == 1 or (left <= sweeps and shift <= _SETTLED):
            return _outcome(good)
        left -= 1
        if left > 0:
            continue
        if good and (shift < _COMES_OR_GOES or i > 0):
            copy_rows(W, w, n, START, BEFORE, lane)
            if _all_at_once(W, w, n, p_start, p_end, lane):
                return _outcome(good)
            # sweeps go on from where they were: Newton's method may hang where two paths have just met and vanished
            copy_rows(W, w, n, BEFORE, START, lane)
            lay_all(W, w, n, lane)
        i += 1
        if i == _ROUNDS:
            return NOT_CONVERGED if good else LEFT_OUT
        sweeps = min(2 * sweeps, _MOST_SWEEPS)
        left = sweeps
