"""Which taut path over some obstacles is meant where the model leaves ways round open, and whether surfaces overlap."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import dot, load3, subtract
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    ACTIVE,
    ENDS,
    HOLD,
    JACOBI,
    KEPT,
    LENGTH,
    OBSTACLE_ROWS,
    SHAPE,
    SHRINK,
    START,
    WAY,
    next_active,
)
from musculo.kernels.wrapping.geodesic.one_obstacle import HELD
from musculo.kernels.wrapping.geodesic.surface_shape import CYLINDER, ELLIPSOID
from musculo.kernels.wrapping.geodesic.tighten import (
    CONVERGED,
    OVERLAPPED,
    VANISHED,
    copy_rows,
    is_inside,
    lay_all,
    solve_path,
)

# Ways round so many cylinders are gone through.
_MOST_OPEN = 4


@kernel
def _covered(W, w, n, lane):
    """Whether an obstacle is in contact at a point inside the next, or the next at a point inside it."""
    i = next_active(W, w, 0, n, lane)
    while i < n:
        j = next_active(W, w, i + 1, n, lane)
        if j == n:
            return False
        a, b = w + OBSTACLE_ROWS * i, w + OBSTACLE_ROWS * j
        if is_inside(W, b, load3(W, a + ENDS + 12, lane), lane) or is_inside(W, a, load3(W, b + ENDS, lane), lane):
            return True
        i = j
    return False


@kernel
def _has_choice(W, w, n, lane):
    """Whether several obstacles are in contact, and one of them is no cylinder: the order in which sweeps meet them may
    then decide the way round it."""
    touching, choice = 0, False
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + ACTIVE, lane] != 0.0:
            touching += 1
            choice = choice or W[o + SHAPE, lane] != CYLINDER
    return choice and touching > 1


@kernel
def _sound(W, w, n, lane):
    """Whether all geodesics are shortest for small changes."""
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + ACTIVE, lane] == 0.0:
            continue
        # beyond the point where neighbouring geodesics from the same start meet, a geodesic is no longer shortest
        if W[o + JACOBI + 2, lane] <= 0.0:
            return False
    return True


@kernel
def _whole(W, w, n, p_start, p_end, lane):
    """Length of the path."""
    length, u = 0.0, p_start
    k = next_active(W, w, 0, n, lane)
    while k < n:
        o = w + OBSTACLE_ROWS * k
        piece = subtract(load3(W, o + ENDS, lane), u)
        length += math.sqrt(dot(piece, piece)) + W[o + LENGTH, lane]
        u = load3(W, o + ENDS + 12, lane)
        k = next_active(W, w, k + 1, n, lane)
    piece = subtract(p_end, u)
    return length + math.sqrt(dot(piece, piece))


@kernel
def _is_open(W, o, lane):
    """Whether the obstacle whose rows start at o is a cylinder whose side is open."""
    there = W[o + SHAPE, lane] == CYLINDER and W[o + SHRINK, lane] >= VANISHED
    return there and W[o + HOLD, lane] != HELD


@kernel
def _combinations(W, w, n, lane):
    """In how many ways several cylinders whose side is open may be passed; none for one of them, and of many only the
    first count."""
    several = 0
    for k in range(n):
        several += 1 if _is_open(W, w + OBSTACLE_ROWS * k, lane) else 0
    return 1 << min(several, _MOST_OPEN) if several > 1 else 0


@kernel
def _send_round(W, w, n, ways, lane):
    """Begin anew, the cylinders whose side is open one way round or the other as the bits of `ways` say."""
    at = 0
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        W[o + ACTIVE, lane] = 0.0
        W[o + WAY, lane] = 0.0
        if at < _MOST_OPEN and _is_open(W, o, lane):
            W[o + WAY, lane] = 1.0 if (ways >> at) & 1 else -1.0
            at += 1


@kernel
def _next_open(W, w, k, n, cylinders, lane):
    """The first ellipsoid in contact from k on, or cylinder whose side is open if `cylinders` count; or n."""
    while k < n:
        o = w + OBSTACLE_ROWS * k
        free = _is_open(W, o, lane) if cylinders else False
        free = free or W[o + SHAPE, lane] == ELLIPSOID
        if free and W[o + ACTIVE, lane] != 0.0:
            break
        k += 1
    return k


@kernel
def _turn_ellipsoids(W, w, n, lane):
    """Ask for another side of every ellipsoid that is in contact; returns how many there are."""
    asked = 0
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + SHAPE, lane] == ELLIPSOID and W[o + ACTIVE, lane] != 0.0:
            W[o + WAY, lane] = -2.0
            asked += 1
    return asked


@kernel
def seek_path(W, w, n, p_start, p_end, lane):
    """The taut path, with every choice that is not the model's made by the length. Returns a status.

    After a first solution the path is sent the other way round a cylinder whose side is open, or round several of them
    in all ways there are, to another side of every ellipsoid and of all ellipsoids at once, and sought once more by
    sweeps from its end to its start; the shortest is kept: sweeps choose sides one after the other.

    Where surfaces overlap, sweeps may miss the path: they solve each surface alone, from contacts that lie inside the
    next. The status is then OVERLAPPED.
    """
    # one loop with one call of the solver: every call is compiled where it stands
    status, whole, k, first, reverse, turned = CONVERGED, 0.0, -1, True, False, False
    combinations = _combinations(W, w, n, lane)
    ways = 0
    while True:
        outcome = solve_path(W, w, n, p_start, p_end, reverse, lane)
        if n == 1:
            return outcome
        length = _whole(W, w, n, p_start, p_end, lane)
        if first or (outcome <= status and length < whole):
            whole, status = length, outcome
        else:
            copy_rows(W, w, n, KEPT, START, lane)
            lay_all(W, w, n, lane)
        first = False
        if ways < combinations:
            copy_rows(W, w, n, START, KEPT, lane)
            _send_round(W, w, n, ways, lane)
            ways += 1
            continue
        k = n if reverse or turned else _next_open(W, w, k + 1, n, combinations == 0, lane)
        if k < n:
            copy_rows(W, w, n, START, KEPT, lane)
            W[w + OBSTACLE_ROWS * k + WAY, lane] = -W[w + OBSTACLE_ROWS * k + WAY, lane]
            continue
        if not (reverse or turned):
            turned = True
            copy_rows(W, w, n, START, KEPT, lane)
            if _turn_ellipsoids(W, w, n, lane) > 1:
                continue
            copy_rows(W, w, n, KEPT, START, lane)
        if not reverse and _has_choice(W, w, n, lane):
            copy_rows(W, w, n, START, KEPT, lane)
            for j in range(n):
                W[w + OBSTACLE_ROWS * j + ACTIVE, lane] = 0.0
                W[w + OBSTACLE_ROWS * j + WAY, lane] = 0.0
            reverse = True
            continue
        sound = _sound(W, w, n, lane) and not _covered(W, w, n, lane)
        return status if sound or status > OVERLAPPED else OVERLAPPED
