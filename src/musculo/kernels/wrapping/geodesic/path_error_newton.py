"""Newton's method for a path over several smooth obstacles: straight pieces that continue geodesics without a path
error.

An obstacle's geodesic is its start point x, its unit tangent t and its length. It varies in four natural ways:
alpha along t, beta along b = n x t, phi about n, and the length; its far end follows by the Jacobi fields.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.scalar.vectors import add_scaled, dot, load3, scale, store3, subtract
from musculo.kernels.wrapping.geodesic.geodesic_curve import COARSE, FINE, GEODESIC_STATE
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    BENDING,
    DIRECTION,
    ENDS,
    FIRST,
    JACOBI,
    LAST,
    LENGTH,
    OBSTACLE_ROWS,
    PINNED,
    SAVED,
    SHAPE,
    START,
    lay,
    load_shape,
    next_active,
)
from musculo.kernels.wrapping.geodesic.surface_shape import along_surface, frame_at, onto, slope, unit

# A path error below this [rad] counts as none: the length is then off by its square.
TIGHT = 1e-12
# Where rounding stops the iteration early, this much is accepted still.
_LOOSE = 1e-8
# From squared path errors below this on, geodesics are followed with full accuracy.
_NEARLY = 1e-8
# No variation may turn a normal by more than this in one step, for the linearization to mean something.
_LARGEST_TURN = 0.6
_MOST_HALVINGS = 8
# A fixed point that is no farther above the surface (over its size) may be on it.
_ABOVE = 1e-7
# Lengths and pivots that are not above this count as none.
_TINY = 1e-300


@inline
def system_row(w, n):
    """First row of the linear system in the workspace of n obstacles."""
    return w + OBSTACLE_ROWS * n + GEODESIC_STATE


@kernel
def _piece(u, v):
    """Unit vector from u to v and its length."""
    d = subtract(v, u)
    l = math.sqrt(dot(d, d))
    return scale(1.0 / l if l > 0.0 else 0.0, d), l


@kernel
def _squared_error_at(W, o, end, e, fixed, lane):
    """|e - t|^2 of a straight piece with direction e at an obstacle's end; for a pinned end its squared offset, but for
    a hair that the fixed point may be above the surface."""
    r = o + ENDS + 12 * end
    if W[o + PINNED + end, lane] != 0.0:
        d = scale(1.0 / W[o + SHAPE + 4, lane], subtract(load3(W, r, lane), fixed))
        n = load3(W, r + 6, lane)
        above = dot(d, n)
        if math.fabs(above) < _ABOVE:
            d = add_scaled(d, -above, n)
    else:
        d = subtract(load3(W, r + 3, lane), e)
    return dot(d, d)


@kernel
def _squared_error(W, w, span, P, Q, lane):
    """Sum over all ends of the squared path error [rad^2] of the path P, obstacles lo .. hi - 1 in contact, Q."""
    total, (lo, hi) = 0.0, span
    before, u = -1, P
    k = next_active(W, w, lo, hi, lane)
    while True:
        v = Q
        if k < hi:
            v = load3(W, w + OBSTACLE_ROWS * k + FIRST, lane)
        e, _ = _piece(u, v)
        o = w + OBSTACLE_ROWS * k if k < hi else -1
        if before >= 0:
            total += _squared_error_at(W, before, 1, e, v, lane)
        if o < 0:
            return total
        total += _squared_error_at(W, o, 0, e, u, lane)
        before, u = o, load3(W, o + LAST, lane)
        k = next_active(W, w, k + 1, hi, lane)


@kernel
def _variation(W, o, end, j, lane):
    """What variation j (alpha, beta, phi, length) does at an end: (along t, along b, turn of t towards b)."""
    if end == 0:
        return 1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0
    if j == 0 or j == 3:
        return 1.0, 0.0, 0.0
    y = o + JACOBI + 2 * (j - 1)
    return 0.0, W[y, lane], W[y + 1, lane]


@kernel
def _end_rows(W, system, a, o, end, piece, beyond, lane):
    """Two rows of the linear system: the path error e . n, e . b at an end, by its own and its neighbor's variations.

    Args:
        system: its first row in W and its width. a: number of the obstacle among those in contact. o: its first row.
        end: 0 where the piece ends here, 1 where it starts here. piece: its direction e and length.
        beyond: first row of the obstacle at the piece's far end, whose columns lie 4 before or after, -1 for a fixed
            point; and that point.
    """
    (M, width), (e, l), (other, fixed) = system, piece, beyond
    row, col, own, other_end = 4 * a + 2 * end, 4 * a, 1.0 - 2.0 * end, 1 - end
    r = o + ENDS + 12 * end
    t, n, b = load3(W, r + 3, lane), load3(W, r + 6, lane), load3(W, r + 9, lane)
    g = o + BENDING + 3 * end
    tt, tb, bb = W[g, lane], W[g + 1, lane], W[g + 2, lane]
    pinned = W[o + PINNED + end, lane] != 0.0
    first, second = M + row * width, M + (row + 1) * width
    if pinned:
        off = scale(1.0 / W[o + SHAPE + 4, lane], subtract(load3(W, r, lane), fixed))
        W[first + width - 1, lane] = -dot(off, t)
        W[second + width - 1, lane] = -dot(off, b)
    else:
        W[first + width - 1, lane] = -dot(e, n)
        W[second + width - 1, lane] = -dot(e, b)
    for j in range(4):
        s, y, turn = _variation(W, o, end, j, lane)
        if pinned:
            W[first + col + j, lane] = s / W[o + SHAPE + 4, lane]
            W[second + col + j, lane] = y / W[o + SHAPE + 4, lane]
            continue
        dx = add_scaled(scale(s, t), y, b)
        de = scale(own / l, add_scaled(dx, -dot(e, dx), e))
        dn_t, dn_b = -(tt * s + tb * y), -(tb * s + bb * y)
        W[first + col + j, lane] = dot(de, n) + dn_t * dot(e, t) + dn_b * dot(e, b)
        W[second + col + j, lane] = dot(de, b) - turn * dot(e, t) - dn_b * dot(e, n)
        if other >= 0:
            r2 = other + ENDS + 12 * other_end
            s2, y2, _ = _variation(W, other, other_end, j, lane)
            dx = add_scaled(scale(s2, load3(W, r2 + 3, lane)), y2, load3(W, r2 + 9, lane))
            de = scale(-own / l, add_scaled(dx, -dot(e, dx), e))
            c = col - 4 if own > 0.0 else col + 4
            W[first + c + j, lane] = dot(de, n)
            W[second + c + j, lane] = dot(de, b)


@kernel
def assemble(W, w, system, span, P, Q, lane):
    """Fill the linear system (first row, width) of the obstacles in contact: rows of path errors, columns of
    variations, minus the errors."""
    (M, width), (lo, hi) = system, span
    for i in range((width - 1) * width):
        W[M + i, lane] = 0.0
    before, u, a = -1, P, 0
    k = next_active(W, w, lo, hi, lane)
    while True:
        o = w + OBSTACLE_ROWS * k if k < hi else -1
        v = Q
        if o >= 0:
            v = load3(W, o + FIRST, lane)
        e, l = _piece(u, v)
        l = max(l, _TINY)
        if before >= 0:
            _end_rows(W, system, a - 1, before, 1, (e, l), (o, v), lane)
        if o < 0:
            return
        _end_rows(W, system, a, o, 0, (e, l), (before, u), lane)
        before, u, a = o, load3(W, o + LAST, lane), a + 1
        k = next_active(W, w, k + 1, hi, lane)


@kernel
def eliminate(W, M, size, width, lane):
    """Solve in place by Gauss with row pivots: `size` equations in rows of `width`, right-hand sides in the columns
    from `size` on. False where the matrix is singular."""
    for c in range(size):
        pivot, best = c, -1.0
        for r in range(c, size):
            value = math.fabs(W[M + r * width + c, lane])
            if value > best:
                pivot, best = r, value
        if not best > _TINY:
            return False
        if pivot != c:
            for j in range(c, width):
                swap = W[M + c * width + j, lane]
                W[M + c * width + j, lane] = W[M + pivot * width + j, lane]
                W[M + pivot * width + j, lane] = swap
        inverse = 1.0 / W[M + c * width + c, lane]
        for r in range(c + 1, size):
            f = W[M + r * width + c, lane] * inverse
            if f != 0.0:
                for j in range(c + 1, width):
                    W[M + r * width + j, lane] -= f * W[M + c * width + j, lane]
    for column in range(size, width):
        for c in range(size - 1, -1, -1):
            value = W[M + c * width + column, lane]
            for j in range(c + 1, size):
                value -= W[M + c * width + j, lane] * W[M + j * width + column, lane]
            W[M + c * width + column, lane] = value / W[M + c * width + c, lane]
    return True


@kernel
def _turn_of_step(W, w, M, lo, hi, size, lane):
    """The largest turn of a normal or a tangent that the full step makes anywhere [rad]."""
    width = size + 1
    largest, a = 0.0, 0
    k = next_active(W, w, lo, hi, lane)
    while k < hi:
        o = w + OBSTACLE_ROWS * k
        alpha, beta = W[M + 4 * a * width + size, lane], W[M + (4 * a + 1) * width + size, lane]
        phi, length = W[M + (4 * a + 2) * width + size, lane], W[M + (4 * a + 3) * width + size, lane]
        g = o + BENDING
        t1, t2 = max(math.fabs(W[g, lane]), math.fabs(W[g + 1, lane])), math.fabs(W[g + 3, lane])
        b1 = max(math.fabs(W[g + 2, lane]), math.fabs(W[g + 1, lane]))
        largest = max(largest, max(math.fabs(alpha) * t1, max(math.fabs(beta) * b1, math.fabs(phi))))
        largest = max(largest, math.fabs(alpha + length) * t2)
        a += 1
        k = next_active(W, w, k + 1, hi, lane)
    return largest


@kernel
def _apply(W, w, n, span, size, factor, error_a_step, lane):
    """Move every geodesic from its saved state by `factor` times the step, and lay it anew."""
    M, width, (lo, hi) = system_row(w, n), size + 1, span
    a = 0
    k = next_active(W, w, lo, hi, lane)
    while k < hi:
        o = w + OBSTACLE_ROWS * k
        shape = load_shape(W, o, lane)
        x, t = load3(W, o + SAVED, lane), load3(W, o + SAVED + 3, lane)
        _, b = frame_at(shape, x, t)
        s = M + 4 * a * width + size
        alpha, beta = factor * W[s, lane], factor * W[s + width, lane]
        phi, length = factor * W[s + 2 * width, lane], factor * W[s + 3 * width, lane]
        x = onto(shape, add_scaled(add_scaled(x, alpha, t), beta, b))
        store3(W, o + START, lane, x)
        store3(W, o + DIRECTION, lane, along_surface(unit(slope(shape, x)), add_scaled(t, phi, b)))
        W[o + LENGTH, lane] = W[o + SAVED + 6, lane] + length
        lay(W, w, n, k, error_a_step, lane)
        a += 1
        k = next_active(W, w, k + 1, hi, lane)


@kernel
def _lay_all(W, w, n, lo, hi, lane):
    """Lay every geodesic in contact with full accuracy."""
    k = next_active(W, w, lo, hi, lane)
    while k < hi:
        lay(W, w, n, k, FINE, lane)
        k = next_active(W, w, k + 1, hi, lane)


@kernel
def straighten(W, w, n, span, P, Q, limits, lane):
    """Take the path errors out of the path P, obstacles lo .. hi - 1 = span in contact, Q, from geodesics already laid.

    Newton's method with the exact derivative, steps limited to 0.6 rad and halved until the squared path errors shrink;
    limits: at most so many iterations, until all path errors are below so much, `tight` [rad]. Geodesics are followed
    as accurately as the path errors deserve.

    Source:     [Scholz2015], eq. 21-31; [Ruggiero2020] eq. 25 for one obstacle met half-way.
    Departs:    from Ruggiero's third row, which needs the binormal in place of the tangent.
    Guarantees: the squared path errors never grow. Where a fixed end lies on the surface, the geodesic starts in that
    point.
    Returns:    1 where all path errors are below `tight` (or below 1e-8 and rounding allows no better), else 0.
    """
    (lo, hi), (most, tight) = span, limits
    m, k = 0, next_active(W, w, lo, hi, lane)
    while k < hi:
        m += 1
        k = next_active(W, w, k + 1, hi, lane)
    if m == 0:
        return 1
    size = 4 * m
    M = system_row(w, n)
    error = _squared_error(W, w, span, P, Q, lane)
    fine = tight > TIGHT
    for _ in range(most):
        if error < tight * tight or (error < _NEARLY and not fine):
            if fine:
                return 1
            fine = True
            _lay_all(W, w, n, lo, hi, lane)
            error = _squared_error(W, w, span, P, Q, lane)
            if error < tight * tight:
                return 1
        assemble(W, w, (M, size + 1), span, P, Q, lane)
        if not eliminate(W, M, size, size + 1, lane):
            break
        for k in range(lo, hi):
            o = w + OBSTACLE_ROWS * k
            for i in range(7):
                W[o + SAVED + i, lane] = W[o + START + i, lane]
        turn = _turn_of_step(W, w, M, lo, hi, size, lane)
        if not turn < 1e300:
            break
        factor = 1.0 if turn <= _LARGEST_TURN else _LARGEST_TURN / turn
        error_a_step = FINE if fine and tight <= TIGHT else min(COARSE, max(FINE, 1e-3 * error))
        better = False
        for _ in range(_MOST_HALVINGS):
            _apply(W, w, n, span, size, factor, error_a_step, lane)
            trial = _squared_error(W, w, span, P, Q, lane)
            if trial < error:
                better = True
                error = trial
                break
            factor *= 0.5
        if not better:
            _apply(W, w, n, span, size, 0.0, FINE, lane)
            if fine:
                break
            fine = True
            error = _squared_error(W, w, span, P, Q, lane)
    return 1 if error < _LOOSE * _LOOSE and (fine or error < tight * tight) else 0
