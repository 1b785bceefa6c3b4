"""A closed loop: the equations that tie some coordinates to others, and their solution along a branch.

A loop holds every constraint that shares free coordinates with another one of it. Its coordinates y are inputs x
(independent or prescribed) and dependents d; couplers make the rest of the tree's coordinates from them:

    q = r(y),   g(q) = 0,   dg/dy = A = (dg/dq) (dr/dy) = [A_x A_d],   dd/dx = -A_d^+ A_x

A_d has as many columns as the loop has independent equations; where equations repeat each other (a planar mechanism
stated in space) it has more rows, and least squares by orthogonal factors takes them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from musculo.arrays import BoolArray, FloatArray, IntArray
from musculo.compile.compiled import compiled
from musculo.embedding.couplers.coordinate_rules import Rule
from musculo.embedding.loops.body_equations import BodyEquation
from musculo.embedding.loops.loop_equations import EquationSet
from musculo.embedding.loops.loop_table import loop_table
from musculo.kernels.constraints.loop_branch import loop_frames
from musculo.kernels.constraints.loop_space import LoopTable, Search
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.model import Model

# Newton's correction, scaled, below which the next one is rounding: it squares from step to step.
_QUADRATIC = 1e-9
# A column of A_d that keeps less than this of its length beside the others is taken as dependent on them: poses are
# found to rounding over this, and their slopes to rounding over its square, so that four digits are left.
SINGULAR = 1e-6
_EXACTLY = 1e-15
# Corrections shrink at least so near a solution [Deuflhard2011, section 5.1.3: 1/4 in theory, 1/2 to give up].
_CONTRACTION = 0.5
# The longest stride along a branch: radians, or lengths in units of the mechanism's size.
_STRIDE = 0.3
_SHORTEST = 1e-7
_ROUNDS = 20000
_GENTLE_ROUNDS, _FAR_ROUNDS = 12, 80
# What may be left of equations that others leave no freedom to satisfy [rad, or units of the mechanism's size].
CLOSED = 1e-8
_SHUT = 1e-15
# Near the end of a branch: a singular value below this part of the largest is on its way to zero.
_RANK_LOST = 1e-3


_NONE, _NO_FRAMES = np.zeros((0, 0)), np.zeros(0)
# Guesses that are open by no more are closed on the way; others first, where they stand.
_NEAR = 1e-4
# Corrections below this are rounding already.
_SETTLED = 1e-14
_LIMITS = (_QUADRATIC, CLOSED, _SHUT, _CONTRACTION, _STRIDE, _SHORTEST)
SEARCH = Search(*_LIMITS, _ROUNDS, _GENTLE_ROUNDS, _FAR_ROUNDS, _NEAR, _SETTLED)


class LoopStatus(IntEnum):
    """How a frame came out."""

    SOLVED = 0
    UNREACHABLE = 1  # the dependents come to an end before the inputs are where they should be
    SINGULAR = 2  # the branch ends in a position where the mechanism has more freedom than its equations say


class LoopSolution(NamedTuple):
    """Dependents d (frames, n_d), how each frame came out, and how far the inputs came (frames, n_x)."""

    dependents: FloatArray
    status: IntArray
    reached: FloatArray


@dataclass(frozen=True, eq=False)
class Loop:
    """Constraints that belong together; made by `musculo.embedding.loops.loop_choice.choose_loops`."""

    model: Model
    equations: EquationSet
    inputs: tuple[str, ...]  # independent and prescribed coordinates
    dependents: tuple[str, ...]
    followers: tuple[Rule, ...]  # couplers, sorted
    constants: dict[str, float]  # locked coordinates
    scale: FloatArray = field(repr=False)  # (n_y,) units of change of each coordinate: 1 rad, or the mechanism's size
    row_scale: FloatArray = field(repr=False)  # (m,) likewise of each equation
    redundant: int = 0  # equations that repeat others

    @property
    def names(self) -> tuple[str, ...]:
        """The constraints of the loop."""
        return self.equations.names

    @property
    def title(self) -> str:
        """The loop in words, for messages."""
        names = ", ".join(repr(name) for name in self.names[:6]) + (", ..." if len(self.names) > 6 else "")
        return f"loop {names}" if len(self.names) == 1 else f"loop of {names}"

    @cached_property
    def columns(self) -> list[int]:
        """Columns of q that y holds: inputs, then dependents."""
        return [self.model.coordinate_index(name) for name in (*self.inputs, *self.dependents)]

    # --- coordinates and equations ----------------------------------------------------------------------------------
    def spread(self, Y: FloatArray) -> FloatArray:
        """q = r(y) (frames, n); coordinates that the loop does not feel are zero."""
        Q = self.placed(Y)
        still = np.zeros(len(Y))
        for rule in self.followers:
            x = Q[:, [self.model.coordinate_index(name) for name in rule.inputs]]
            Q[:, self.model.coordinate_index(rule.dependent)] = rule.evaluate(x, still).value
        return Q

    def _slopes(self, Q: FloatArray, ydot: FloatArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """dq/dy (frames, n, n_y), qdot, and qddot where yddot = 0."""
        frames, n = Q.shape
        E = np.zeros((frames, n, len(self.columns)))
        E[:, self.columns, range(len(self.columns))] = 1.0
        qdot, qddot = np.zeros_like(Q), np.zeros_like(Q)
        if ydot is not None:
            qdot[:, self.columns] = ydot
        for rule in self.followers:
            at = [self.model.coordinate_index(name) for name in rule.inputs]
            k = self.model.coordinate_index(rule.dependent)
            d = rule.evaluate(Q[:, at], np.zeros(frames))
            E[:, k] = np.einsum("fj,fjy->fy", d.gradient, E[:, at])
            qdot[:, k] = np.einsum("fj,fj->f", d.gradient, qdot[:, at])
            bend = np.einsum("fjk,fj,fk->f", d.hessian, qdot[:, at], qdot[:, at])
            qddot[:, k] = np.einsum("fj,fj->f", d.gradient, qddot[:, at]) + bend
        return E, qdot, qddot

    def evaluate(self, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """g (frames, m) and A = dg/dy (frames, m, n_y)."""
        Q = self.spread(Y)
        found = self.equations.by_coordinates(Q)
        if not self.followers:
            return found.residual, found.jacobian[:, :, self.columns]
        return found.residual, found.jacobian @ self._slopes(Q, None)[0]

    def curvature(self, Y: FloatArray, ydot: FloatArray) -> FloatArray:
        """gddot (frames, m) along ydot where yddot = 0."""
        Q = self.spread(Y)
        _, qdot, qddot = self._slopes(Q, ydot)
        found = self.equations.by_coordinates(Q, qdot)
        return found.bias + np.einsum("fij,fj->fi", found.jacobian, qddot)

    @cached_property
    def table(self) -> LoopTable | None:
        """The loop as kernels take it; None where users' equations or quaternions are part of it."""
        bodies = [e for e in self.equations.equations if isinstance(e, BodyEquation)]
        if len(bodies) < len(self.equations.equations):
            return None
        return loop_table(
            self.model, bodies, self.followers, self.columns, len(self.inputs), self.scale, self.row_scale
        )

    @cached_property
    def _unfelt(self) -> FloatArray:
        """(n,) coordinates that no y determines: locked ones, and those that the loop does not feel."""
        Q = np.zeros(len(self.model.coordinates))
        for name, value in self.constants.items():
            Q[self.model.coordinate_index(name)] = value
        Q[[k for k in _quaternion_starts(self.model) if k not in self.columns]] = 1.0
        return Q

    def placed(self, Y: FloatArray) -> FloatArray:
        """q (frames, n) with y in its places; couplers are left to what comes next."""
        Q = np.tile(self._unfelt, (len(Y), 1))
        Q[:, self.columns] = Y
        return Q

    # --- linear algebra ---------------------------------------------------------------------------------------------
    def factor(self, A: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Q, R of A_d with columns in units of `scale`, and how far from singular each frame is (frames,)."""
        n_x, unit = len(self.inputs), self.scale[len(self.inputs) :]
        q, r = np.linalg.qr(A[:, :, n_x:] * unit)
        size = np.abs(np.diagonal(r, axis1=1, axis2=2))
        lengths = np.sqrt(np.sum(r * r, axis=1))
        with np.errstate(invalid="ignore", divide="ignore"):
            margin = np.min(np.where(lengths > 0.0, size / lengths, 0.0), axis=1, initial=1.0)
        return q, r, np.nan_to_num(margin)

    def solve_for_dependents(self, factors: tuple[FloatArray, FloatArray, FloatArray], b: FloatArray) -> FloatArray:
        """A_d^+ b (frames, n_d, k) for b (frames, m, k); frames without a solution hold NaN."""
        q, r, margin = factors
        good = margin > _EXACTLY
        right = np.swapaxes(q, 1, 2) @ b
        if good.all():
            x = np.linalg.solve(r, right)
        else:
            x = np.full(right.shape, np.nan)
            x[good] = np.linalg.solve(r[good], right[good])
        return np.asarray(x * self.scale[len(self.inputs) :, None])

    # --- the branch -------------------------------------------------------------------------------------------------
    def follow(self, X: FloatArray, guess: FloatArray) -> LoopSolution:
        """Dependents at inputs X (frames, n_x), on the branch of the poses `guess` (frames, n).

        Newton's method corrects the guess at its own inputs. From there the inputs move straight to X, in strides that
        shrink until Newton's corrections contract; so the answer depends on X and the guess, and on nothing else.
        """
        n_x = len(self.inputs)
        start = guess[:, self.columns]
        x_0 = start[:, :n_x]
        if self.table is not None:
            return self._follow_compiled(X, start)
        d, good, _ = self._correct(x_0, start[:, n_x:], gentle=False)
        there = np.all(x_0 == X, axis=1)
        way = _Way(x_0, X - x_0, d, there.astype(float), np.ones(len(X)), np.where(good, 0, LoopStatus.UNREACHABLE))
        active = np.flatnonzero(good & ~there)
        A = self.evaluate(np.hstack([x_0[active], d[active]]))[1] if active.size else np.zeros((0, 0, 0))
        for _ in range(_ROUNDS):
            if not active.size:
                break
            active, A = self._advance(way, active, A)
        way.status[active] = LoopStatus.UNREACHABLE
        reached = np.where((way.done == 1.0)[:, None], X, way.inputs())
        return LoopSolution(way.d, way.status, reached)

    def _follow_compiled(self, X: FloatArray, start: FloatArray) -> LoopSolution:
        c, n_x = compiled(self.model), len(self.inputs)
        d, done = np.empty((len(X), len(self.dependents))), np.empty(len(X))
        inputs = (c.tree, c.table, self.table, SEARCH, self.placed(start), np.ascontiguousarray(X), True)
        over_frames(loop_frames, (*inputs, False, _NONE, False, d, done, _NONE, _NONE, _NO_FRAMES), len(X))
        if np.all(done == 1.0):
            return LoopSolution(d, np.zeros(len(X), dtype=np.int64), X)
        way = np.where(done == 1.0, 1.0, np.maximum(done, 0.0))[:, None]
        reached = np.where(way == 1.0, X, start[:, :n_x] + way * (X - start[:, :n_x]))
        status = np.where(done == 1.0, LoopStatus.SOLVED, LoopStatus.UNREACHABLE)
        lost = np.flatnonzero((done >= 0.0) & (done < 1.0))
        if lost.size:
            _, A = self.evaluate(np.hstack([reached[lost], d[lost]]))
            status[lost] = np.where(self._loses_rank(A), LoopStatus.SINGULAR, LoopStatus.UNREACHABLE)
        return LoopSolution(d, status, reached)

    def derivatives(
        self, X: FloatArray, d: FloatArray, xdot: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """dd/dx (frames, n_d, n_x), xdot^T H xdot (frames, n_d), and how far from singular A_d is (frames,)."""
        frames, n_x, n_d = len(X), len(self.inputs), len(self.dependents)
        Y = np.hstack([X, d])
        bent = xdot is not None and bool(np.any(xdot))
        if self.table is not None:
            c = compiled(self.model)
            gradient, bend, margin = np.zeros((frames, n_d * n_x)), np.zeros((frames, n_d)), np.zeros(frames)
            rates = np.ascontiguousarray(xdot) if bent else np.zeros((1, n_x))
            inputs = (c.tree, c.table, self.table, SEARCH, self.placed(Y), _NONE, False, True, rates, bent)
            over_frames(loop_frames, (*inputs, _NONE, _NO_FRAMES, gradient, bend, margin), frames)
            return gradient.reshape(frames, n_d, n_x), bend, margin
        _, A = self.evaluate(Y)
        factors = self.factor(A)
        gradient = -self.solve_for_dependents(factors, A[:, :, :n_x])
        bend = np.zeros((frames, n_d))
        if xdot is not None and bent:
            ydot = np.hstack([xdot, np.einsum("fdx,fx->fd", gradient, xdot)])
            bend = -self.solve_for_dependents(factors, self.curvature(Y, ydot)[:, :, None])[:, :, 0]
        return gradient, bend, factors[2]

    def _advance(self, way: _Way, active: IntArray, A: FloatArray) -> tuple[IntArray, FloatArray]:
        """One stride of the active frames, in place; returns those that are not there yet, with their A."""
        n_x, unit = len(self.inputs), self.scale
        ahead, done = way.whole[active], way.done[active]
        slope = -self.solve_for_dependents(self.factor(A), A[:, :, :n_x] @ ahead[:, :, None])[:, :, 0]
        slope = np.nan_to_num(slope, nan=np.inf)
        speed = np.max(np.abs(np.hstack([ahead, slope])) / unit, axis=1)
        h = np.minimum(np.minimum(way.stride[active], 1.0 - done), _STRIDE / np.maximum(speed, 1e-300))
        last = h >= (1.0 - done) * (1.0 - 1e-12)
        target = way.inputs(active) + h[:, None] * ahead
        target[last] = (way.start + way.whole)[active[last]]
        with np.errstate(invalid="ignore"):
            trial, good, ease = self._correct(target, way.d[active] + h[:, None] * slope, gentle=True)
        new = A.copy()
        if good.any():
            new[good] = self.evaluate(np.hstack([target[good], trial[good]]))[1]
        good &= self._same_side(A, new)
        A = np.where(good[:, None, None], new, A)
        landed, failed = active[good], active[~good]
        way.d[landed] = trial[good]
        way.done[landed] = np.where(last[good], 1.0, done[good] + h[good])
        way.stride[landed] = np.where(ease[good] < 0.1, 2.0 * h[good], h[good])
        way.stride[failed] = 0.5 * h[~good]
        lost = way.stride[active] * np.max(np.abs(ahead) / unit[:n_x], axis=1) < _SHORTEST
        lost &= ~good
        if lost.any():
            way.status[active[lost]] = np.where(self._loses_rank(A[lost]), LoopStatus.SINGULAR, LoopStatus.UNREACHABLE)
        on = (way.done[active] < 1.0) & ~lost
        return active[on], A[on]

    def _correct(self, X: FloatArray, d: FloatArray, gentle: bool) -> tuple[FloatArray, BoolArray, FloatArray]:
        """Newton's corrections of d at X: the dependents, which frames converged, and the first contraction.

        `gentle` refuses a frame whose corrections do not shrink, or begin too far away: another branch may be near.
        """
        n_x, unit = len(self.inputs), self.scale[len(self.inputs) :]
        d = d.copy()
        good: BoolArray = np.asarray(np.isfinite(d).all(axis=1))
        before, ease = np.full(len(d), np.inf), np.zeros(len(d))
        active = np.flatnonzero(good)
        for k in range(_GENTLE_ROUNDS if gentle else _FAR_ROUNDS):
            if not active.size:
                return d, good, ease
            g, A = self.evaluate(np.hstack([X[active], d[active]]))
            step = -self.solve_for_dependents(self.factor(A), g[:, :, None])[:, :, 0]
            size = np.nan_to_num(np.max(np.abs(step) / unit, axis=1, initial=0.0), nan=np.inf)
            # in a singular position no step is known, and none is needed where nothing is open
            shut = np.max(np.abs(g) / self.row_scale, axis=1, initial=0.0) <= _SHUT
            step[shut], size[shut] = 0.0, 0.0
            bad = ~np.isfinite(size)
            if gentle:
                ratio = size / before[active]
                bad |= ((size > _QUADRATIC) & (ratio > _CONTRACTION)) | (size > _STRIDE)
                if k == 1:
                    ease[active] = ratio
            else:
                # far from a solution a long step leads anywhere
                step *= np.minimum(1.0, _STRIDE / np.maximum(size, 1e-300))[:, None]
            step[bad] = 0.0
            d[active] += step
            before[active] = size
            converged = ~bad & (size <= _QUADRATIC)
            # equations that repeat others may contradict them: then no step closes what is left
            left = np.abs(g + np.einsum("fij,fj->fi", A[:, :, n_x:], step)) / self.row_scale
            bad |= converged & ~(np.max(left, axis=1, initial=0.0) <= CLOSED)
            good[active[bad]] = False
            active = active[~bad & ~converged]
        good[active] = False
        return d, good, ease

    def _same_side(self, A: FloatArray, new: FloatArray) -> BoolArray:
        """Whether A_d keeps its orientation from one position to the next: a branch never crosses a singular A_d."""
        n_x = len(self.inputs)
        a, b = A[:, :, n_x:], new[:, :, n_x:]
        return np.asarray(np.linalg.det(np.swapaxes(a, 1, 2) @ b) > 0.0)

    def _loses_rank(self, A: FloatArray) -> BoolArray:
        """Whether all of A, not only A_d, has less than its usual rank."""
        values = np.linalg.svd(A * self.scale, compute_uv=False)
        return np.asarray(values[:, len(self.dependents) - 1] < _RANK_LOST * np.maximum(values[:, 0], 1e-300))


class _Way(NamedTuple):
    """Frames on their way along the branch; arrays are changed in place."""

    start: FloatArray  # (frames, n_x) inputs of the guess
    whole: FloatArray  # (frames, n_x) from there to where they should be
    d: FloatArray  # (frames, n_d)
    done: FloatArray  # (frames,) part of the way
    stride: FloatArray  # (frames,) next part to try
    status: IntArray  # (frames,)

    def inputs(self, at: IntArray | slice = slice(None)) -> FloatArray:
        return np.asarray(self.start[at] + self.done[at, None] * self.whole[at])


def _quaternion_starts(model: Model) -> list[int]:
    """The first column of every quaternion: a loop that does not feel it leaves it unturned."""
    return [
        model.coordinate_index(joint.coordinates[0].name)
        for joint in model.joints
        if getattr(joint, "quaternion", False)
    ]
