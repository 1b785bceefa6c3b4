"""Which taut path over some obstacles is meant: ways round that the model leaves open, surfaces that overlap."""

from __future__ import annotations

import math

from musculo.kernels.geodesic_alone import HELD
from musculo.kernels.geodesic_newton import bridge_length, misfit
from musculo.kernels.geodesic_surface import CYLINDER, ELLIPSOID, TORUS
from musculo.kernels.geodesic_taut import (
    CONVERGED,
    LEFT_OUT,
    OVERLAPPED,
    VANISHED,
    copy_rows,
    is_inside,
    lay_all,
    solve_path,
)
from musculo.kernels.geodesic_work import (
    ACTIVE,
    AXIS,
    BACKWARD,
    ENDS,
    HOLD,
    JACOBI,
    KEPT,
    LENGTH,
    OBSTACLE_ROWS,
    POSE,
    SHAPE,
    SHRINK,
    START,
    WAY,
    load_shape,
    next_active,
)
from musculo.kernels.jit import kernel
from musculo.kernels.vector import accumulate3, add_scaled, dot, load3, scale, subtract

# Ways to begin, see `seek_path`.
SWEEPS, BACK, APART = range(3)

# Squared kinks below this are none [rad^2].
_NO_KINK = 1e-16
# Overlapping surfaces are drawn apart by this many sizes of the largest, and come together in so many steps, each
# leaving this part of the distance and the last none.
_FAR, _STEPS, _CLOSER = 2.0, 9, 0.6


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
    """Whether all geodesics are shortest for small changes, and none is taken back whole by a piece that runs back."""
    before = -1
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + ACTIVE, lane] == 0.0:
            continue
        # beyond the point where neighbouring geodesics from the same start meet, a geodesic is no longer shortest
        if W[o + JACOBI + 2, lane] <= 0.0:
            return False
        if before >= 0 and W[before + LENGTH, lane] + bridge_length(W, before, o, lane) < 0.0:
            return False
        before = o
    return True


@kernel
def _whole(W, w, n, p_start, p_end, lane):
    """Length of the path."""
    length, u, before = 0.0, p_start, -1
    k = next_active(W, w, 0, n, lane)
    while k < n:
        o = w + OBSTACLE_ROWS * k
        piece = subtract(load3(W, o + ENDS, lane), u)
        straight = bridge_length(W, before, o, lane) if before >= 0 else math.sqrt(dot(piece, piece))
        length += straight + W[o + LENGTH, lane]
        u, before = load3(W, o + ENDS + 12, lane), o
        k = next_active(W, w, k + 1, n, lane)
    piece = subtract(p_end, u)
    return length + math.sqrt(dot(piece, piece))


@kernel
def _next_open(W, w, k, n, ellipsoids, lane):
    """The first cylinder (or ellipsoid, if these are asked for) from k on that is in contact and whose side is open,
    or n."""
    while k < n:
        o = w + OBSTACLE_ROWS * k
        free = W[o + AXIS, lane] < 0.0
        if W[o + SHAPE, lane] == CYLINDER:
            free = (free or W[o + AXIS, lane] > 1.0) and W[o + HOLD, lane] != HELD
        elif W[o + SHAPE, lane] != ELLIPSOID or not ellipsoids:
            free = False
        if free and W[o + ACTIVE, lane] != 0.0:
            break
        k += 1
    return k


@kernel
def _turn_ellipsoids(W, w, n, lane):
    """Ask for another side of every ellipsoid that is in contact and whose side is open; returns how many there are."""
    asked = 0
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + SHAPE, lane] == ELLIPSOID and W[o + AXIS, lane] < 0.0 and W[o + ACTIVE, lane] != 0.0:
            W[o + WAY, lane] = -2.0
            asked += 1
    return asked


@kernel
def _draw_apart(W, w, n, by, along, lane):
    """Shift every obstacle that is there by so much more along a direction than the one before it.

    Returns how much further the end of the stretch goes, over `by`.
    """
    rank = -1
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + SHRINK, lane] >= VANISHED:
            rank += 1
            accumulate3(W, o + POSE + 9, lane, scale(rank * by, along))
    return max(rank, 0)


@kernel
def _largest(W, w, n, lane):
    """The largest size of an obstacle that is there; a cylinder's radius."""
    size = 0.0
    for k in range(n):
        shape = load_shape(W, w + OBSTACLE_ROWS * k, lane)
        if W[w + OBSTACLE_ROWS * k + SHRINK, lane] >= VANISHED:
            flattest = min(shape[1], shape[2]) if shape[0] != ELLIPSOID else min(shape[1], min(shape[2], shape[3]))
            size = max(size, shape[4] + shape[5] if shape[0] == TORUS else 1.0 / math.sqrt(flattest))
    return size


@kernel
def seek_path(W, w, n, guessed, begin, p_start, p_end, lane):
    """The taut path, with every choice that is not the model's made by the length. Returns a status.

    After a first solution the path is sent the other way round every cylinder whose side is open, with SWEEPS to
    another side of every ellipsoid and of all ellipsoids at once, and sought once more by sweeps from its end to its
    start; the shortest is kept: sweeps choose sides one after the other.

    Where surfaces overlap, sweeps may miss the path: they solve each surface alone, from contacts that lie inside the
    next. Two other ways to begin: BACK lets straight pieces run backwards, so that sweeps see lines, not contacts.
    APART draws surfaces (and the end of the stretch) apart along the chord and brings them together again, while
    Newton's method follows the path.
    """
    # one loop with one call of the solver: every call is compiled where it stands
    status, whole, k, first, reverse, turned = CONVERGED, 0.0, -1, True, False, False
    step, far, along, ranks = 0, 0.0, p_start, 0
    if begin == APART:
        chord = subtract(p_end, p_start)
        length = math.sqrt(dot(chord, chord))
        along, far = scale(1.0 / length if length > 0.0 else 0.0, chord), _FAR * _largest(W, w, n, lane)
        ranks = _draw_apart(W, w, n, far, along, lane)
    while True:
        if begin == BACK or step > 0:
            for j in range(n):
                W[w + OBSTACLE_ROWS * j + BACKWARD, lane] = 1.0
        end = add_scaled(p_end, ranks * far, along)
        outcome = solve_path(W, w, n, p_start, end, step > 0, reverse, lane)
        if n == 1:
            return outcome
        length = _whole(W, w, n, p_start, end, lane)
        if step > 0:
            status = outcome
        elif first or (outcome <= status and length < whole):
            whole, status = length, outcome
        else:
            copy_rows(W, w, n, KEPT, START, lane)
            lay_all(W, w, n, lane)
        first = False
        k = n if guessed or reverse or turned or step > 0 else _next_open(W, w, k + 1, n, begin == SWEEPS, lane)
        if k < n:
            copy_rows(W, w, n, START, KEPT, lane)
            W[w + OBSTACLE_ROWS * k + WAY, lane] = -W[w + OBSTACLE_ROWS * k + WAY, lane]
            continue
        if begin == SWEEPS and k == n and not (guessed or reverse or turned):
            turned = True
            copy_rows(W, w, n, START, KEPT, lane)
            if _turn_ellipsoids(W, w, n, lane) > 1:
                continue
            copy_rows(W, w, n, KEPT, START, lane)
        if begin == SWEEPS and not guessed and not reverse and _has_choice(W, w, n, lane):
            copy_rows(W, w, n, START, KEPT, lane)
            for j in range(n):
                W[w + OBSTACLE_ROWS * j + ACTIVE, lane] = 0.0
                W[w + OBSTACLE_ROWS * j + WAY, lane] = 0.0
            reverse = True
            continue
        if begin == APART and status == CONVERGED and step < _STEPS:
            step += 1
            nearer = _CLOSER * far if step < _STEPS else 0.0
            _draw_apart(W, w, n, nearer - far, along, lane)
            far = nearer
            lay_all(W, w, n, lane)
            continue
        sound = _sound(W, w, n, lane)
        if begin == SWEEPS:
            sound = sound and not _covered(W, w, n, lane)
        else:
            # sweeps may come to rest without lines that meet
            sound = sound and misfit(W, w, 0, n, p_start, p_end, lane) < _NO_KINK
        if begin == APART and (far > 0.0 or status != CONVERGED):
            return LEFT_OUT
        return status if sound or status > OVERLAPPED else OVERLAPPED
