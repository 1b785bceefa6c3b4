"""Closed loops: their solution along a branch, for eight frames at once or one that strays.

`musculo.embedding.loops.closed_loop` says what a loop is, and does the same in NumPy for equations that users write
in Python.
"""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.constraints.loop_solution import (
    anchor,
    copy_lanes,
    derive,
    evaluate_loop,
    factor_loop,
    solve_against,
    solve_loop,
)
from musculo.kernels.constraints.loop_space import branch_space, loop_space
from musculo.kernels.scalar.choices import less, where
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.scalar.scalars import like
from musculo.kernels.tree.tree_frames import _give as give
from musculo.kernels.tree.tree_frames import _take as take


@kernel
def _openness(loop, g, size):
    """How far each lane's loop is open, in units of the mechanism, into size (WIDTH,)."""
    size[:] = 0.0
    for i in range(g.shape[0]):
        unit = 1.0 / loop.row_scale[i]
        for lane in range(WIDTH):
            x = abs(g[i, lane]) * unit
            # a number that is none stays
            size[lane] = x if not x <= size[lane] else size[lane]


@kernel
def _length(loop, x, size):
    """The largest element of a change of dependents in each lane, in units of `scale`, into size (WIDTH,)."""
    size[:] = 0.0
    for j in range(x.shape[0]):
        unit = 1.0 / loop.scale[loop.n_x + j]
        for lane in range(WIDTH):
            a = abs(x[j, lane]) * unit
            size[lane] = a if not a <= size[lane] else size[lane]


@kernel
def _left_open(loop, w, lane):
    """What Newton's correction w.x leaves of the equations, in units of `row_scale`: what no dependent can close."""
    n_x, n_y = loop.n_x, loop.y.size
    most = 0.0
    for i in range(w.g.shape[0]):
        rest = w.g[i, lane]
        for j in range(n_y - n_x):
            rest -= w.A[i * n_y + n_x + j, lane] * w.x[j, lane]
        most = max(most, abs(rest) / loop.row_scale[i])
    return most


@kernel
def _correct(tree, table, loop, search, w, gentle):
    """Newton's corrections of the dependents in lane 0 of w.Q: whether they converged, and the first contraction."""
    n_x, n_d = loop.n_x, w.x.shape[0]
    before, ease = np.inf, 0.0
    for k in range(search.gentle_rounds if gentle else search.far_rounds):
        evaluate_loop(tree, table, loop, w)
        _openness(loop, w.g, w.size[0])
        if not np.isfinite(w.size[0, 0]):
            return False, ease
        if w.size[0, 0] <= search.shut:
            return True, ease
        factor_loop(loop, w)
        if not w.margin[0, 0] > 0.0:
            return False, ease
        copy_lanes(w.g, w.left)
        solve_loop(loop, w, w.x)
        _length(loop, w.x, w.size[1])
        size = w.size[1, 0]
        short = 1.0
        if gentle:
            if (size > search.quadratic and size > search.contraction * before) or size > search.stride:
                return False, ease
            if k == 1:
                ease = size / before
        elif size > search.stride:
            short = search.stride / size
        for j in range(n_d):
            w.Q[loop.y[n_x + j], 0] -= short * w.x[j, 0]
        before = size
        if size <= search.quadratic:
            return _left_open(loop, w, 0) <= search.closed, ease
    return False, ease


@kernel
def _product(n_x, n_y, used, m, scale, kept, A, square, lane):
    """kept_d^T A_d (n_d n_d,), both in units of `scale`."""
    n_d = n_y - n_x
    for i in range(n_d):
        for j in range(n_d):
            total = like(A[0, lane], 0.0)
            for r in range(m):
                at = used[r] * n_y + n_x
                total = total + kept[at + i, lane] * A[at + j, lane]
            square[i * n_d + j, lane] = total * (scale[n_x + i] * scale[n_x + j])


@kernel
def _steady(n_d, square, steady, lane):
    """steady (1,): 1 where elimination without exchange meets positive pivots alone, and so the determinant is so."""
    fine = like(square[0, lane], 1.0)
    for k in range(n_d):
        pivot = square[k * n_d + k, lane]
        there = less(0.0, pivot)
        fine = where(there, fine, 0.0)
        inverse = 1.0 / where(there, pivot, 1.0)
        for i in range(k + 1, n_d):
            share = square[i * n_d + k, lane] * inverse
            for j in range(k + 1, n_d):
                square[i * n_d + j, lane] = square[i * n_d + j, lane] - share * square[k * n_d + j, lane]
    steady[0, lane] = fine


@kernel
def _orientation(loop, w, kept):
    """Sign of det(kept_d^T A_d) in lane 0, by elimination with the largest pivots."""
    n_d, square = w.x.shape[0], w.square
    _product(loop.n_x, loop.y.size, w.used, w.count[0], loop.scale, lanes(kept), lanes(w.A), lanes(square), 0)
    sign = 1.0
    for k in range(n_d):
        best = k
        for i in range(k + 1, n_d):
            if abs(square[i * n_d + k, 0]) > abs(square[best * n_d + k, 0]):
                best = i
        if square[best * n_d + k, 0] == 0.0:
            return 0.0
        if best != k:
            sign = -sign
            for j in range(n_d):
                a, b = square[k * n_d + j, 0], square[best * n_d + j, 0]
                square[k * n_d + j, 0], square[best * n_d + j, 0] = b, a
        if square[k * n_d + k, 0] < 0.0:
            sign = -sign
        for i in range(k + 1, n_d):
            share = square[i * n_d + k, 0] / square[k * n_d + k, 0]
            for j in range(k + 1, n_d):
                square[i * n_d + j, 0] -= share * square[k * n_d + j, 0]
    return sign


@kernel
def branch(tree, table, loop, search, w, start, target, here, tangent, kept):
    """From the guess in lane 0 of w.Q to the inputs `target` (n_x,), as `Loop.follow` does; the part of the way done.

    w.Q holds the last pose that closed; `here` keeps its dependents.
    """
    n_x, n_d = loop.n_x, w.x.shape[0]
    n_y = n_x + n_d
    same = True
    for k in range(n_x):
        start[k] = w.Q[loop.y[k], 0]
        same = same and start[k] == target[k]
    found, _ = _correct(tree, table, loop, search, w, False)
    if not found or same:
        return 1.0 if found else -1.0
    reach = 0.0
    for k in range(n_x):
        reach = max(reach, abs(target[k] - start[k]) / loop.scale[k])
    done, stride = 0.0, 1.0
    for j in range(n_d):
        here[j] = w.Q[loop.y[n_x + j], 0]
    evaluate_loop(tree, table, loop, w)
    for _ in range(search.rounds):
        # the branch's direction where it stands
        speed = reach
        factor_loop(loop, w)
        if not w.margin[0, 0] > 0.0:
            return done
        for i in range(w.g.shape[0]):
            w.left[i] = 0.0
            for k in range(n_x):
                w.left[i, 0] -= w.A[i * n_y + k, 0] * (target[k] - start[k])
        solve_loop(loop, w, w.x)
        for j in range(n_d):
            tangent[j] = w.x[j, 0]
            speed = max(speed, abs(tangent[j]) / loop.scale[n_x + j])
        copy_lanes(w.A, kept)
        landed = False
        while not landed:
            h = min(min(stride, 1.0 - done), search.stride / max(speed, 1e-300))
            last = h >= (1.0 - done) * (1.0 - 1e-12)
            for k in range(n_x):
                away = done + h
                w.Q[loop.y[k], 0] = target[k] if last else start[k] + away * (target[k] - start[k])
            for j in range(n_d):
                w.Q[loop.y[n_x + j], 0] = here[j] + h * tangent[j]
            landed, ease = _correct(tree, table, loop, search, w, True)
            if landed:
                evaluate_loop(tree, table, loop, w)
                landed = _orientation(loop, w, kept) > 0.0
            if landed:
                done = 1.0 if last else done + h
                stride = 2.0 * h if ease < 0.1 else h
                for j in range(n_d):
                    here[j] = w.Q[loop.y[n_x + j], 0]
            else:
                stride = 0.5 * h
                if stride * reach < search.shortest:
                    for k in range(n_x):
                        w.Q[loop.y[k], 0] = start[k] + done * (target[k] - start[k])
                    for j in range(n_d):
                        w.Q[loop.y[n_x + j], 0] = here[j]
                    return done
        if done == 1.0:
            return 1.0
    return done


@kernel
def glide(tree, table, loop, search, a, w, fine):
    """One stride in every lane, from the poses in a.Q to the inputs in w.Q; fine (WIDTH,): 1 where that was all.

    a holds A and its factors at poses that close the loop or nearly so, and w.Q the poses to be, whose dependents are
    found: first along the tangent, with what is still open closed, then by Newton's corrections as `branch` makes them.
    w has A at the result. A lane that is not fine means nothing: it needs `branch`.
    """
    n_x, n_d = loop.n_x, w.x.shape[0]
    n_y, m = n_x + n_d, w.g.shape[0]
    _openness(loop, a.g, w.size[0])
    for i in range(m):
        for lane in range(WIDTH):
            # what is open by rounding alone stays so: near singular positions closing it would move the pose
            w.left[i, lane] = a.g[i, lane] if w.size[0, lane] > search.shut else 0.0
        for k in range(n_x):
            for lane in range(WIDTH):
                w.left[i, lane] += a.A[i * n_y + k, lane] * (w.Q[loop.y[k], lane] - a.Q[loop.y[k], lane])
    solve_against(loop, a, w.left, w.x)
    _length(loop, w.x, w.size[1])
    for j in range(n_d):
        for lane in range(WIDTH):
            w.Q[loop.y[n_x + j], lane] = a.Q[loop.y[n_x + j], lane] - w.x[j, lane]
    moving = w.size[2]  # 1 where a lane is not there yet
    for lane in range(WIDTH):
        near = w.size[0, lane] <= search.near and w.size[1, lane] <= search.stride and a.margin[0, lane] > 0.0
        for k in range(n_x):
            way = abs(w.Q[loop.y[k], lane] - a.Q[loop.y[k], lane]) / loop.scale[k]
            near = near and way <= search.stride
        fine[lane] = moving[lane] = 1.0 if near else 0.0
    before = w.size[3]
    before[:] = np.inf
    fresh = False
    for _ in range(search.gentle_rounds):
        busy = 0.0
        for lane in range(WIDTH):
            busy += moving[lane]
        if busy == 0.0:
            break
        evaluate_loop(tree, table, loop, w)
        factor_loop(loop, w)
        copy_lanes(w.g, w.left)
        solve_loop(loop, w, w.x)
        _openness(loop, w.g, w.size[0])
        _length(loop, w.x, w.size[1])
        fresh = True
        for lane in range(WIDTH):
            if moving[lane] == 0.0:
                continue
            size = w.size[1, lane]
            lost = not np.isfinite(w.size[0, lane]) or not w.margin[0, lane] > 0.0 or not size <= search.stride
            if lost or (size > search.quadratic and size > search.contraction * before[lane]):
                fine[lane] = moving[lane] = 0.0
                continue
            before[lane] = size
            if w.size[0, lane] > search.shut and size > search.settled:
                for j in range(n_d):
                    w.Q[loop.y[n_x + j], lane] -= w.x[j, lane]
                fresh = False
            if size <= search.quadratic or w.size[0, lane] <= search.shut:
                moving[lane] = 0.0
                if not _left_open(loop, w, lane) <= search.closed:
                    fine[lane] = 0.0
    for lane in range(WIDTH):
        if moving[lane] != 0.0:
            fine[lane] = 0.0
    if not fresh:
        evaluate_loop(tree, table, loop, w)
        factor_loop(loop, w)
    _product(n_x, n_y, w.used, w.count[0], loop.scale, lanes(a.A), lanes(w.A), lanes(w.square), 0)
    _steady(n_d, lanes(w.square), lanes(w.size), 0)
    for lane in range(WIDTH):
        if w.size[0, lane] != 1.0:
            fine[lane] = 0.0


@kernel
def follow_branches(tree, table, loop, search, b, w, real, done):
    """Dependents in w.Q, on the branches of the poses b.a.Q, of the inputs that are there; leaves A and factors in w.

    Args:
        real: lanes that count; those after it are made like the last one.
        done: (WIDTH,) the part of the way that was done: 1 where the loop closes, -1 where the guess does not.
    """
    n_x, n_y = loop.n_x, loop.y.size
    glide(tree, table, loop, search, b.a, w, b.fine)
    strayed = False
    for lane in range(WIDTH):
        done[lane] = 1.0
        if b.fine[lane] == 1.0:
            continue
        strayed = True
        if lane < real:
            for k in range(w.Q.shape[0]):
                for other in range(WIDTH):
                    b.alone.Q[k, other] = b.a.Q[k, lane]
            for k in range(n_x):
                b.target[k] = w.Q[loop.y[k], lane]
            done[lane] = branch(tree, table, loop, search, b.alone, b.start, b.target, b.here, b.tangent, b.kept)
        else:
            done[lane] = done[real - 1]
        for k in range(n_y):
            w.Q[loop.y[k], lane] = b.alone.Q[loop.y[k], 0] if lane < real else w.Q[loop.y[k], real - 1]
    if strayed:
        anchor(tree, table, loop, w)


@driver
def loop_frames(
    tree, table, loop, search, q, x, followed, derived, xdot, bent, d, done, gradient, bend, margin, start, stop
):
    """A loop over frames start .. stop - 1, as far as asked for.

    Args:
        q: (frames, n) guesses if `followed`, else poses that close the loop. x: (frames, n_x) inputs.
        d: (frames, n_d) takes the dependents if `followed`, and done (frames,) the part of the way from the guess that
        was done; where that is less than 1, d belongs to the last inputs that closed; -1 where the guess does not.
        gradient: (frames, n_d n_x), margin: (frames,) if `derived`. bend: (frames, n_d), along xdot, if `bent`.
    """
    n, n_x, n_d = q.shape[1], loop.n_x, loop.y.size - loop.n_x
    w, b = loop_space(tree, loop, n), branch_space(tree, loop, n)
    X, rate, parts = np.zeros((n_x, WIDTH)), np.zeros((n_x, WIDTH)), np.zeros(WIDTH)
    slope, curve = np.zeros((n_d * n_x, WIDTH)), np.zeros((n_d, WIDTH))
    for block in range(start, stop, WIDTH):
        real = min(WIDTH, stop - block)
        take(q, block, stop, w.Q)
        if followed:
            copy_lanes(w.Q, b.a.Q)
            take(x, block, stop, X)
            for k in range(n_x):
                for lane in range(WIDTH):
                    w.Q[loop.y[k], lane] = X[k, lane]
            anchor(tree, table, loop, b.a)
            follow_branches(tree, table, loop, search, b, w, real, parts)
            for lane in range(real):
                done[block + lane] = parts[lane]
                for j in range(n_d):
                    d[block + lane, j] = w.Q[loop.y[n_x + j], lane]
        if derived:
            if not followed:
                anchor(tree, table, loop, w)
            if bent:
                take(xdot, block, stop, rate)
            derive(tree, table, loop, w, slope, rate, bent, curve)
            give(slope, 0, n_d * n_x, gradient, block, stop)
            for lane in range(real):
                margin[block + lane] = w.margin[0, lane]
            if bent:
                give(curve, 0, n_d, bend, block, stop)
