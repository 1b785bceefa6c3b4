"""A path stretched over surfaces: exact geodesics, several obstacles at once, and what a caller sees of them.

`geodesic_stretch` serves one stretch of a path: from one fixed point to the next, over an ordered list of obstacles.
"""

from __future__ import annotations

import math

from musculo.kernels.geodesic_alone import ABSENT, AS_QUADRANT, FREE, HELD, OTHER, alone
from musculo.kernels.geodesic_march import FINE
from musculo.kernels.geodesic_newton import (
    ACTIVE,
    AXIS,
    AZIMUTHS,
    BEFORE,
    DIRECTION,
    ENDS,
    HOLD,
    KEPT,
    LENGTH,
    OBSTACLE_ROWS,
    ON_END,
    PINNED,
    POSE,
    PRESS,
    SHAPE,
    SHRINK,
    SIGN,
    START,
    TIGHT,
    TURN,
    WAY,
    lay,
    load_shape,
    next_active,
    straighten,
    work_rows,
)
from musculo.kernels.geodesic_surface import (
    CYLINDER,
    ELLIPSOID,
    SPHERE,
    TORUS,
    Surfaces,
    depth,
    depth_gradient,
    shape_of,
)
from musculo.kernels.jit import kernel
from musculo.kernels.tree import load_rotation
from musculo.kernels.vector import dot, load3, rotate, rotate_back, scale, store3, subtract

__all__ = [
    "ABSENT",
    "AS_QUADRANT",
    "CYLINDER",
    "ELLIPSOID",
    "FREE",
    "HELD",
    "SPHERE",
    "TORUS",
    "Surfaces",
    "geodesic_stretch",
    "work_rows",
]

# Rows of an obstacle in `G`. In the common frame: contact (1, 0; on entry -1 for no guess), first and last contact
# point, unit tangents there (both in the direction from start to end), length on the surface, ...
CONTACT, FIRST, LAST, FIRST_TANGENT, LAST_TANGENT, ARC = 0, 1, 4, 7, 10, 13
# ... what the stretch's length gains by shrinking, d(length)/d(p_start) and d(length)/d(p_end), zero unless that end
# lies inside; the factor by which the surface is shrunk (1: not) ...
START_GAIN, END_GAIN, SHRUNK = 14, 17, 20
# ... and, for a warm start: the way round, start point and direction in the obstacle's own frame.
WAY_ROUND, OWN_START, OWN_DIRECTION = 21, 22, 25
# On entry: how the side is held (AS_QUADRANT, FREE, HELD, ABSENT) and, where a cylinder's is HELD, the turn about its
# axis from start to end [rad].
SIDE, SIDE_TURN = 28, 29
RESULT_ROWS = 30

# What `geodesic_stretch` may end in.
CONVERGED, INSIDE, OTHER_SIDE, OVERLAPPED, ROUGH, LEFT_OUT = range(6)

# An end so close to a surface (relative) counts as on it: the length is off by its square root's cube, below 1e-12.
_ON_SURFACE = 1e-8
# A surface that an end shrinks below this part of its size is no obstacle.
_VANISHED = 1e-9
_KEPT_ROWS = 9
_ROUNDS = 8
_ITERATIONS = 30
# Sweeps between two attempts of Newton's method, at most.
_MOST_SWEEPS = 16
# Sweeps stop where no contact point moves by more than this [m].
_SETTLED = 1e-12
_COMES_OR_GOES = 1e300


@kernel
def _set_up(surfaces, obstacles, first, n, p_start, p_end, X, x_row, G, g_row, W, w_row, lane):
    """Fill the workspace: shapes (shrunk where an end lies inside), poses, guesses. Returns 1 where one is shrunk."""
    shrunk = 0
    for k in range(n):
        i = obstacles[first + k, lane]
        o, x, g = w_row + OBSTACLE_ROWS * k, x_row + 12 * k, g_row + RESULT_ROWS * k
        for r in range(12):
            W[o + POSE + r, lane] = X[x + r, lane]
        R, p = load_rotation(X, x, lane), load3(X, x + 9, lane)
        P, Q = rotate_back(R, subtract(p_start, p)), rotate_back(R, subtract(p_end, p))
        shape = shape_of(surfaces, i, 1.0)
        out_P, out_Q = depth(shape, P), depth(shape, Q)
        shrink = min(1.0, min(out_P, out_Q))
        side = G[g + SIDE, lane]
        if side == ABSENT:
            shrink = 0.0
        elif shrink < 1.0:
            shrunk = 1
            shape = shape_of(surfaces, i, max(shrink, _VANISHED))
        W[o + SHRINK, lane] = shrink
        W[o + ON_END, lane] = 1.0 if out_P < shrink * (1.0 + _ON_SURFACE) else 0.0
        W[o + ON_END + 1, lane] = 1.0 if out_Q < shrink * (1.0 + _ON_SURFACE) else 0.0
        W[o + SHAPE, lane] = shape[0]
        W[o + SHAPE + 1, lane], W[o + SHAPE + 2, lane], W[o + SHAPE + 3, lane] = shape[1], shape[2], shape[3]
        W[o + SHAPE + 4, lane], W[o + SHAPE + 5, lane] = shape[4], shape[5]
        sided = side != FREE and surfaces.quadrant_sign[i] != 0.0
        W[o + AXIS, lane] = surfaces.quadrant_axis[i] if sided else -1.0
        W[o + SIGN, lane] = surfaces.quadrant_sign[i]
        W[o + HOLD, lane] = side
        W[o + TURN, lane] = G[g + SIDE_TURN, lane]
        W[o + AZIMUTHS, lane], W[o + AZIMUTHS + 1, lane] = math.atan2(P[1], P[0]), math.atan2(Q[1], Q[0])
        guessed = G[g + CONTACT, lane] > 0.0
        W[o + ACTIVE, lane] = 0.0
        W[o + WAY, lane] = G[g + WAY_ROUND, lane] if guessed else 0.0
        if guessed:
            store3(W, o + START, lane, load3(G, g + OWN_START, lane))
            store3(W, o + DIRECTION, lane, load3(G, g + OWN_DIRECTION, lane))
            W[o + LENGTH, lane] = G[g + ARC, lane]
    return shrunk


@kernel
def _is_inside(W, o, x, lane):
    """Whether a point of the common frame lies inside the obstacle whose rows start at o."""
    R, p = load_rotation(W, o + POSE, lane), load3(W, o + POSE + 9, lane)
    return depth(load_shape(W, o, lane), rotate_back(R, subtract(x, p))) < 1.0 - _ON_SURFACE


@kernel
def _around(W, w, n, k, p_start, p_end, lane):
    """The points on either side of obstacle k: contact points of its neighbours in contact, or the fixed ends.

    Where surfaces overlap, a neighbour's contact may lie inside this one, and the next neighbour counts.
    """
    P, Q = p_start, p_end
    o = w + OBSTACLE_ROWS * k
    first, last = True, True
    for j in range(k - 1, -1, -1):
        if W[w + OBSTACLE_ROWS * j + ACTIVE, lane] != 0.0:
            x = load3(W, w + OBSTACLE_ROWS * j + ENDS + 12, lane)
            if not _is_inside(W, o, x, lane):
                P, first = x, False
                break
    for j in range(k + 1, n):
        if W[w + OBSTACLE_ROWS * j + ACTIVE, lane] != 0.0:
            x = load3(W, w + OBSTACLE_ROWS * j + ENDS, lane)
            if not _is_inside(W, o, x, lane):
                Q, last = x, False
                break
    return P, Q, first, last


@kernel
def _covered(W, w, n, lane):
    """An obstacle in contact at a point inside its neighbour, or -1; of two that are inside each other, the one with
    the shorter geodesic."""
    i = next_active(W, w, 0, n, lane)
    while i < n:
        j = next_active(W, w, i + 1, n, lane)
        if j == n:
            return -1
        a, b = w + OBSTACLE_ROWS * i, w + OBSTACLE_ROWS * j
        i_in_j = _is_inside(W, b, load3(W, a + ENDS + 12, lane), lane)
        j_in_i = _is_inside(W, a, load3(W, b + ENDS, lane), lane)
        if i_in_j and j_in_i:
            return i if W[a + LENGTH, lane] < W[b + LENGTH, lane] else j
        if i_in_j:
            return i
        if j_in_i:
            return j
        i = j
    return -1


@kernel
def _sweep(W, w, n, p_start, p_end, lane):
    """Solve every obstacle alone between its neighbours, in order.

    Returns the largest shift of a contact point (huge where one comes or goes), and 1 where all solves converged,
    OTHER where one took the wrong side, 0 where one failed.
    """
    shift, good = 0.0, 1
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + SHRINK, lane] < _VANISHED:
            W[o + ACTIVE, lane] = 0.0
            continue
        was = W[o + ACTIVE, lane]
        x1, x2 = load3(W, o + ENDS, lane), load3(W, o + ENDS + 12, lane)
        P, Q, first, last = _around(W, w, n, k, p_start, p_end, lane)
        W[o + PINNED, lane] = W[o + ON_END, lane] if first else 0.0
        W[o + PINNED + 1, lane] = W[o + ON_END + 1, lane] if last else 0.0
        found = alone(W, w, n, k, P, Q, lane)
        good = good if found == 1 or good == 0 else found
        if W[o + ACTIVE, lane] != was:
            shift = _COMES_OR_GOES
        elif was != 0.0:
            d1, d2 = subtract(load3(W, o + ENDS, lane), x1), subtract(load3(W, o + ENDS + 12, lane), x2)
            shift = max(shift, math.sqrt(max(dot(d1, d1), dot(d2, d2))))
    return shift, good


@kernel
def pin_neighbours(W, w, n, p_start, p_end, lane):
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
        if W[o + ACTIVE, lane] != 0.0 and W[o + LENGTH, lane] < least:
            worst, least = k, W[o + LENGTH, lane]
    return worst


@kernel
def _touches_down(W, w, n, p_start, p_end, lane):
    """Whether an obstacle out of contact is in its neighbours' way; the first that is comes into contact."""
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + ACTIVE, lane] == 0.0 and W[o + SHRINK, lane] >= _VANISHED:
            P, Q, _, _ = _around(W, w, n, k, p_start, p_end, lane)
            alone(W, w, n, k, P, Q, lane)
            if W[o + ACTIVE, lane] != 0.0:
                return True
    return False


@kernel
def _all_at_once(W, w, n, p_start, p_end, lane):
    """Newton's method on all obstacles in contact; those that lift off are dropped, those in the way are added.

    Returns whether it ends in a path where every geodesic has a length and nothing is in the way.
    """
    for _ in range(2 * n + 1):
        pin_neighbours(W, w, n, p_start, p_end, lane)
        if straighten(W, w, n, 0, n, p_start, p_end, _ITERATIONS, TIGHT, lane) == 0:
            return False
        lifts = _shortest_contact(W, w, n, lane)
        if lifts >= 0:
            W[w + OBSTACLE_ROWS * lifts + ACTIVE, lane] = 0.0
        elif not _touches_down(W, w, n, p_start, p_end, lane):
            return True
    return False


@kernel
def _copy(W, w, n, source, target, lane):
    """Copy the geodesics and contacts of all obstacles to or from where they are kept."""
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        for i in range(_KEPT_ROWS):
            W[o + target + i, lane] = W[o + source + i, lane]


@kernel
def _lay_all(W, w, n, lane):
    """Lay every geodesic in contact from its start, direction and length."""
    k = next_active(W, w, 0, n, lane)
    while k < n:
        lay(W, w, n, k, FINE, lane)
        k = next_active(W, w, k + 1, n, lane)


@kernel
def _outcome(good):
    """The status that a sweep's result means."""
    return CONVERGED if good == 1 else (OTHER_SIDE if good == OTHER else LEFT_OUT)


@kernel
def _solve(W, w, n, p_start, p_end, lane):
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
            _copy(W, w, n, START, BEFORE, lane)
            if _all_at_once(W, w, n, p_start, p_end, lane):
                return _outcome(good)
            # sweeps go on from where they were: Newton's method may hang where two paths have just met and vanished
            _copy(W, w, n, BEFORE, START, lane)
            _lay_all(W, w, n, lane)
        i += 1
        if i == _ROUNDS:
            return ROUGH if good else LEFT_OUT
        sweeps = min(2 * sweeps, _MOST_SWEEPS)
        left = sweeps


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
def _next_open(W, w, k, n, lane):
    """The first cylinder from k on that is in contact and whose side is open, or n."""
    while k < n:
        o = w + OBSTACLE_ROWS * k
        open_side = W[o + AXIS, lane] < 0.0 or W[o + AXIS, lane] > 1.0
        if W[o + SHAPE, lane] == CYLINDER and open_side and W[o + HOLD, lane] != HELD and W[o + ACTIVE, lane] != 0.0:
            break
        k += 1
    return k


@kernel
def _best_of_ways(W, w, n, guessed, p_start, p_end, lane):
    """The taut path, with every choice that is not the model's made by the length. Returns a status.

    After a first solution the path is sent the other way round every cylinder whose side is open, and the shorter is
    kept: sweeps choose such sides one after the other; so they can switch only where both are equally long. Then
    obstacles are left out, one after the other, that their neighbours cover where the path touches them.
    """
    # one loop with one call of the solver: every call is compiled where it stands
    status, whole, k, covered, first = CONVERGED, 0.0, -1, 0, True
    while True:
        outcome = _solve(W, w, n, p_start, p_end, lane)
        if n == 1:
            return outcome
        length = _whole(W, w, n, p_start, p_end, lane)
        if covered > 0:
            status = max(outcome, OVERLAPPED)
        elif first or (outcome <= status and length < whole):
            whole, status = length, outcome
        else:
            _copy(W, w, n, KEPT, START, lane)
            _lay_all(W, w, n, lane)
        first = False
        k = n if guessed or covered > 0 else _next_open(W, w, k + 1, n, lane)
        if k < n:
            _copy(W, w, n, START, KEPT, lane)
            W[w + OBSTACLE_ROWS * k + WAY, lane] = -W[w + OBSTACLE_ROWS * k + WAY, lane]
            continue
        hidden = _covered(W, w, n, lane)
        if hidden < 0 or covered == n:
            return status
        covered += 1
        W[w + OBSTACLE_ROWS * hidden + SHRINK, lane] = 0.0
        W[w + OBSTACLE_ROWS * hidden + ACTIVE, lane] = 0.0


@kernel
def geodesic_stretch(surfaces, obstacles, first, n, p_start, p_end, X, x_row, G, g_row, W, w_row, lane):
    """The taut path from p_start to p_end over n obstacles in order.

        length = sum of straight pieces + sum of geodesics;   d(length) = sum over straight pieces of e . (dv - du)

    where e is a piece's unit vector from its start u to its end v, and contact points move with their obstacle as if
    fixed to it (the path is stationary). That is all a moment arm needs.

    Args:
        surfaces: `Surfaces`, the model's wrap surfaces.
        obstacles: (rows, lanes) int64; rows first .. first + n - 1 are indices into `surfaces`, in the path's order.
        p_start, p_end: tuples of three float64, in the common frame [m] (ground, or any other).
        X: (rows, lanes) poses; from x_row on, 12 rows an obstacle of the stretch: R (row-major, 9) and p (3), the
            surface's frame in the common frame.
        G: (rows, lanes) in and out; from g_row on, RESULT_ROWS an obstacle. On entry the row CONTACT must be -1 (no
            guess) or the whole block an earlier answer for this stretch (a guess); on return:
            CONTACT 1 or 0; where 1: FIRST, LAST (contact points), FIRST_TANGENT, LAST_TANGENT (unit, along the path),
            ARC (length on the surface); START_GAIN, END_GAIN, SHRUNK (below); the rest serves as a guess.
            Where CONTACT is 0, ARC is 0 and the points and tangents mean nothing. SIDE and SIDE_TURN are read only;
            zeros mean that the quadrant decides.
        W: (rows, lanes) workspace, work_rows(n) rows from w_row on.

    Returns (length [m], status):
        CONVERGED   kinks below 1e-12 rad (1e-8 where rounding allows no better); length good to 1e-12 of the size.
        INSIDE      as CONVERGED, but an end lies inside a surface, which is shrunk (SHRUNK < 1).
        OTHER_SIDE  as CONVERGED, but the quadrant's side had no geodesic (ellipsoid) and the other is taken.
        OVERLAPPED  as CONVERGED, but two surfaces overlap where the path goes: it touches the one that covers the other
                    (the other's CONTACT is 0).
        ROUGH       contacts still move by more than 1e-12 m a sweep: a feasible path, not quite taut.
        LEFT_OUT    a surface found no geodesic and is left out (its CONTACT is 0).

    Rules:
        Contact     a surface is in contact where its geodesic has a positive length. It grows from zero, so lift-off
                    and touch-down are continuous.
        Side        with a quadrant (axis and sign in the surface's frame): a cylinder's path never passes the
                    half-plane behind the axis; on sphere and ellipsoid, which are wrapped only where the line between
                    the neighbours cuts them (as in OpenSim), the geodesic on that side of the line is taken.
                    Without: the shortest. The torus is passed through its hole, on the inner side of its tube.
        Guess       an obstacle that the guess has in contact keeps its way round. Nothing else is remembered: the
                    same input gives the same bits, whatever was solved before.
        Jumps       only where a rule must switch: without a quadrant none for one obstacle, as both ways are equally
                    long there; with one, where an end crosses the half-plane behind a cylinder (for a torus, the
                    ring's plane outside it), where the line's point nearest to the centre of a sphere changes side, and
                    where a line whose path goes the long way leaves sphere or ellipsoid. The bound is the difference of
                    the two ways, below the girth of the surface. Several obstacles with open sides: cylinders go
                    the way that makes the whole shorter; an ellipsoid's side is that of the line between the
                    neighbours it first meets, and may switch where the whole paths differ.
        Torus       one contact a surface: a line almost in the ring's plane that touches the tube twice is LEFT_OUT
                    or follows one of the two. List the torus twice to have both.
        Cylinders   are infinite, as in [Scholz2015]: a path that slides off an end would jump.
        Inside      where an end of the stretch lies inside, the surface shrinks about its centre (a torus: its tube)
                    until the end is on it; length stays continuous down to the centre, where the obstacle vanishes.
                    A piece without a length has the direction of the tangent there, and d(length) has the further
                    terms START_GAIN . dp_start + END_GAIN . dp_end, with dp relative to the surface's own motion.

    Source:     [Scholz2015], natural geodesic variations; closed forms for one cylinder or sphere.
    Guarantees: allocates nothing, raises nothing; float64.
    """
    shrunk = _set_up(surfaces, obstacles, first, n, p_start, p_end, X, x_row, G, g_row, W, w_row, lane)
    guessed = False
    for k in range(n):
        guessed = guessed or W[w_row + OBSTACLE_ROWS * k + WAY, lane] != 0.0
    status = _best_of_ways(W, w_row, n, guessed, p_start, p_end, lane)
    length, u = 0.0, p_start
    for k in range(n):
        o, g = w_row + OBSTACLE_ROWS * k, g_row + RESULT_ROWS * k
        touches = W[o + ACTIVE, lane] != 0.0
        G[g + CONTACT, lane] = 1.0 if touches else 0.0
        G[g + ARC, lane] = W[o + LENGTH, lane] if touches else 0.0
        G[g + SHRUNK, lane] = W[o + SHRINK, lane]
        G[g + WAY_ROUND, lane] = W[o + WAY, lane]
        store3(G, g + START_GAIN, lane, (0.0, 0.0, 0.0))
        store3(G, g + END_GAIN, lane, (0.0, 0.0, 0.0))
        if not touches:
            continue
        v = load3(W, o + ENDS, lane)
        piece = subtract(v, u)
        length += math.sqrt(dot(piece, piece)) + W[o + LENGTH, lane]
        u = load3(W, o + ENDS + 12, lane)
        store3(G, g + FIRST, lane, v)
        store3(G, g + LAST, lane, u)
        store3(G, g + FIRST_TANGENT, lane, load3(W, o + ENDS + 3, lane))
        store3(G, g + LAST_TANGENT, lane, load3(W, o + ENDS + 15, lane))
        store3(G, g + OWN_START, lane, load3(W, o + START, lane))
        store3(G, g + OWN_DIRECTION, lane, load3(W, o + DIRECTION, lane))
        if W[o + SHRINK, lane] < 1.0:
            _gain(W, o, p_start, p_end, G, g, lane)
    piece = subtract(p_end, u)
    length += math.sqrt(dot(piece, piece))
    return length, (INSIDE if status == CONVERGED and shrunk else status)


@kernel
def _gain(W, o, p_start, p_end, G, g, lane):
    """How the length changes with the end that shrinks the surface: d(length)/d(ln size) times d(ln size)/dp."""
    shape = load_shape(W, o, lane)
    R, p = load_rotation(W, o + POSE, lane), load3(W, o + POSE + 9, lane)
    P, Q = rotate_back(R, subtract(p_start, p)), rotate_back(R, subtract(p_end, p))
    d_P, d_Q = depth(shape, P), depth(shape, Q)
    x, row = (P, START_GAIN) if d_P <= d_Q else (Q, END_GAIN)
    # depth is 1 on the shrunk surface, so its gradient is that of the logarithm of the size
    store3(G, g + row, lane, rotate(R, scale(W[o + PRESS, lane], depth_gradient(shape, x))))
