"""Closed loops: their solution along a branch, for eight frames at once or one that strays.

A frame goes along its branch as `proceed` says, whoever evaluates the equations: a kernel (`branch`), or Python where
they are a user's own (`loop_frames.way_frames`). `musculo.embedding.loops.closed_loop` says what a loop is.
"""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.constraints.loop_solution import (
    anchor,
    copy_lanes,
    evaluate_loop,
    factor_loop,
    solve_against,
    solve_loop,
)
from musculo.kernels.scalar.choices import less, where
from musculo.kernels.scalar.linear_equations import factor_rows, orientation
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.scalar.scalars import like

# What g and A are wanted for: nothing is known yet; the guess is closed; a stride ahead is closed, carefully; the
# direction of the branch at a pose that closes; the side on which a stride ended.
FRESH, FAR, GENTLE, STANDING, LANDED = 0, 1, 2, 3, 4
# How a correction came out.
_ON, _THERE, _LOST = 0, 1, 2


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
def _correct(loop, search, w, way):
    """One of Newton's corrections of the dependents in lane 0 of w.Q, where g and A are known.

    Gentle ones give up where they do not shrink, or begin too far away: another branch may be near.
    """
    n_x, gentle = loop.n_x, way.phase[0] == GENTLE
    _openness(loop, w.g, w.size[0])
    if not np.isfinite(w.size[0, 0]):
        return _LOST
    if w.size[0, 0] <= search.shut:
        return _THERE
    factor_loop(loop, w)
    if not w.margin[0, 0] > 0.0:
        return _LOST
    copy_lanes(w.g, w.left)
    solve_loop(loop, w, w.x)
    _length(loop, w.x, w.size[1])
    size = w.size[1, 0]
    short = 1.0
    if gentle:
        if (size > search.quadratic and size > search.contraction * way.before[0]) or size > search.stride:
            return _LOST
        if way.rounds[0] == 1:
            way.ease[0] = size / way.before[0]
    elif size > search.stride:
        # far from a solution a long step leads anywhere
        short = search.stride / size
    for j in range(w.x.shape[0]):
        w.Q[loop.y[n_x + j], 0] -= short * w.x[j, 0]
    way.before[0] = size
    if size <= search.quadratic:
        # equations that repeat others may contradict them: then no step closes what is left
        return _THERE if _left_open(loop, w, 0) <= search.closed else _LOST
    way.rounds[0] += 1
    return _ON if way.rounds[0] < (search.gentle_rounds if gentle else search.far_rounds) else _LOST


@kernel
def _product(loop, w, kept, A, square, lane):
    """kept_d^T A_d (n_d n_d,), both in units of `scale`."""
    n_x, n_y, used, m, scale = loop.n_x, loop.y.size, w.used, w.count[0], loop.scale
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
def _same_side(loop, w, way):
    """Whether A_d keeps its orientation from the last pose that closed: a branch never crosses a singular A_d."""
    _product(loop, w, way.kept, w.A, w.square, 0)
    factor_rows(w.square, w.order, 0)
    return orientation(w.square, w.order, 0) > 0.0


@inline
def _reach(loop, way):
    """How far the inputs go, in units of `scale`."""
    reach = 0.0
    for k in range(way.start.size):
        reach = max(reach, abs(way.target[k] - way.start[k]) / loop.scale[k])
    return reach


@kernel
def _ask(way, phase):
    """Corrections begin; g and A are wanted."""
    way.phase[0], way.rounds[0], way.before[0], way.ease[0] = phase, 0, np.inf, 0.0
    return True


@kernel
def _try(loop, search, w, way):
    """A stride along the tangent into lane 0 of w.Q, to be corrected."""
    n_x = way.start.size
    h = min(min(way.stride[0], 1.0 - way.done[0]), search.stride / max(way.speed[0], 1e-300))
    away = way.done[0] + h
    last = h >= (1.0 - way.done[0]) * (1.0 - 1e-12)
    for k in range(n_x):
        w.Q[loop.y[k], 0] = way.target[k] if last else way.start[k] + away * (way.target[k] - way.start[k])
    for j in range(way.here.size):
        w.Q[loop.y[n_x + j], 0] = way.here[j] + h * way.tangent[j]
    way.tried[0] = h
    return _ask(way, GENTLE)


@kernel
def _shorter(loop, search, w, way):
    """Half the stride; where that is too short the way ends at the last pose that closed."""
    n_x = way.start.size
    way.stride[0] = 0.5 * way.tried[0]
    if not way.stride[0] * _reach(loop, way) < search.shortest:
        return _try(loop, search, w, way)
    for k in range(n_x):
        w.Q[loop.y[k], 0] = way.start[k] + way.done[0] * (way.target[k] - way.start[k])
    for j in range(way.here.size):
        w.Q[loop.y[n_x + j], 0] = way.here[j]
    return False


@kernel
def _stand(loop, search, w, way):
    """The branch's direction where it stands, and a stride along it."""
    n_x, n_y = loop.n_x, loop.y.size
    way.speed[0] = _reach(loop, way)
    factor_loop(loop, w)
    if not w.margin[0, 0] > 0.0:
        return False
    for i in range(w.g.shape[0]):
        w.left[i] = 0.0
        for k in range(n_x):
            w.left[i, 0] -= w.A[i * n_y + k, 0] * (way.target[k] - way.start[k])
    solve_loop(loop, w, w.x)
    for j in range(way.here.size):
        way.tangent[j] = w.x[j, 0]
        way.speed[0] = max(way.speed[0], abs(way.tangent[j]) / loop.scale[n_x + j])
    for i in range(way.kept.shape[0]):
        way.kept[i, 0] = w.A[i, 0]
    return _try(loop, search, w, way)


@kernel
def proceed(loop, search, w, way):
    """Whether g and A are wanted again, at the pose that is then in lane 0 of w.Q; they are known where it was.

    Newton's method corrects the guess at its own inputs. From there the inputs move straight to way.target, in strides
    that shrink until Newton's corrections contract; so the answer depends on these and the guess, and on nothing else.
    In the end w.Q holds the last pose that closed, and way.done the part of the way to it.
    """
    n_x, n_d, phase = loop.n_x, way.here.size, way.phase[0]
    if phase == FRESH:
        for k in range(n_x):
            way.start[k] = w.Q[loop.y[k], 0]
        way.done[0], way.stride[0], way.strides[0] = 0.0, 1.0, 0
        phase = FAR
        _ask(way, FAR)
    if phase in (FAR, GENTLE):
        how = _correct(loop, search, w, way)
        if how == _ON:
            return True
        if phase == GENTLE:
            if how == _LOST:
                return _shorter(loop, search, w, way)
            way.phase[0] = LANDED
            return True
        same = True
        for k in range(n_x):
            same = same and way.start[k] == way.target[k]
        if how == _LOST or same:
            way.done[0] = -1.0 if how == _LOST else 1.0
            return False
        way.phase[0] = STANDING
        return True
    if phase == LANDED:
        if not _same_side(loop, w, way):
            return _shorter(loop, search, w, way)
        h, last = way.tried[0], way.tried[0] >= (1.0 - way.done[0]) * (1.0 - 1e-12)
        way.done[0] = 1.0 if last else way.done[0] + h
        way.stride[0] = 2.0 * h if way.ease[0] < 0.1 else h
        way.strides[0] += 1
    for j in range(n_d):
        way.here[j] = w.Q[loop.y[n_x + j], 0]
    if way.done[0] == 1.0 or way.strides[0] >= search.rounds:
        return False
    return _stand(loop, search, w, way)


@kernel
def branch(s, w, way):
    """From the guess in lane 0 of w.Q to the inputs way.target; the part of the way that was done."""
    way.phase[0] = FRESH
    going = True
    while going:
        evaluate_loop(s, w)
        going = proceed(s.loop, s.search, w, way)
    return way.done[0]


@kernel
def glide(s, a, w, fine):
    """One stride in every lane, from the poses in a.Q to the inputs in w.Q; fine (WIDTH,): 1 where that was all.

    a holds A and its factors at poses that close the loop or nearly so, and w.Q the poses to be, whose dependents are
    found: first along the tangent, with what is still open closed, then by Newton's corrections as `branch` makes them.
    w has A at the result. A lane that is not fine means nothing: it needs `branch`.
    """
    loop, search = s.loop, s.search
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
        evaluate_loop(s, w)
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
        evaluate_loop(s, w)
        factor_loop(loop, w)
    _product(loop, w, lanes(a.A), lanes(w.A), lanes(w.square), 0)
    _steady(n_d, lanes(w.square), lanes(w.size), 0)
    for lane in range(WIDTH):
        if w.size[0, lane] != 1.0:
            fine[lane] = 0.0


@kernel
def follow_branches(s, b, w, real, done):
    """Dependents in w.Q, on the branches of the poses b.a.Q, of the inputs that are there; leaves A and factors in w.

    Args:
        real: lanes that count; those after it are made like the last one.
        done: (WIDTH,) the part of the way that was done: 1 where the loop closes, -1 where the guess does not.
    """
    loop = s.loop
    n_x, n_y = loop.n_x, loop.y.size
    glide(s, b.a, w, b.fine)
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
                b.way.target[k] = w.Q[loop.y[k], lane]
            done[lane] = branch(s, b.alone, b.way)
        else:
            done[lane] = done[real - 1]
        for k in range(n_y):
            w.Q[loop.y[k], lane] = b.alone.Q[loop.y[k], 0] if lane < real else w.Q[loop.y[k], real - 1]
    if strayed:
        anchor(s, w)
