"""A closed loop: the equations that tie some coordinates to others, and their solution along a branch.

A loop holds every constraint that shares free coordinates with another one of it. Its coordinates y are inputs x
(independent or prescribed) and dependents d; couplers make the rest of the tree's coordinates from them:

    q = r(y),   g(q) = 0,   dg/dy = A = (dg/dq) (dr/dy) = [A_x A_d],   dd/dx = -A_d^+ A_x

A_d has as many columns as the loop has independent equations; where equations repeat each other (a planar mechanism
stated in space) it has more rows, and least squares by orthogonal factors takes them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from musculo.arrays import BoolArray, FloatArray, IntArray
from musculo.compile.compiled import compiled
from musculo.embedding.couplers.coordinate_rules import Rule
from musculo.embedding.loops.equations.body_equations import BodyEquation
from musculo.embedding.loops.equations.loop_equations import EquationSet
from musculo.embedding.loops.loop_table import loop_table
from musculo.embedding.speed_rates import turning_joints
from musculo.errors import InvalidInput, SingularSystem
from musculo.kernels.constraints.loop_branch import FRESH
from musculo.kernels.constraints.loop_frames import (
    LoopFrames,
    WayFrames,
    least_squares_frames,
    loop_frames,
    way_frames,
)
from musculo.kernels.constraints.loop_space import LoopSystem, Search, Way
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.model import Model

# Newton's correction, scaled, below which the next one is rounding: it squares from step to step.
_QUADRATIC = 1e-9
# A column of A_d that keeps less than this of its length beside the others is taken as dependent on them: poses are
# found to rounding over this, and their slopes to rounding over its square, so that four digits are left.
SINGULAR = 1e-6
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
        E = np.zeros((frames, n, len(self.columns)), Q.dtype)
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
    def compiled(self) -> LoopSystem | None:
        """The loop as kernels evaluate it; None where users' equations or quaternions are part of it."""
        bodies = [e for e in self.equations.equations if isinstance(e, BodyEquation)]
        turned = {k for joint in turning_joints(self.model) if len(joint.q) == 4 for k in joint.q}
        if len(bodies) < len(self.equations.equations) or turned & set(self.columns):
            return None
        return self._system(bodies, self.followers)

    @cached_property
    def _plain(self) -> LoopSystem:
        """The same for kernels that are handed what its equations say."""
        return self._system([], ())

    def _system(self, bodies: Sequence[BodyEquation], followers: Sequence[Rule]) -> LoopSystem:
        c, scales = compiled(self.model), (self.scale, self.row_scale)
        table = loop_table(self.model, bodies, followers, self.columns, len(self.inputs), *scales)
        return LoopSystem(c.tree, c.table, table, SEARCH)

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
        Q = np.tile(self._unfelt, (len(Y), 1)).astype(Y.dtype)
        Q[:, self.columns] = Y
        return Q

    # --- the branch -------------------------------------------------------------------------------------------------
    def follow(self, X: FloatArray, guess: FloatArray) -> LoopSolution:
        """Dependents at inputs X (frames, n_x), on the branch of the poses `guess` (frames, n).

        As `musculo.kernels.constraints.loop_branch.proceed` says.
        """
        n_x, start = len(self.inputs), guess[:, self.columns]
        d, done = (self._followed_in_python if self.compiled is None else self._followed)(X, start)
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

    def slopes_along(
        self, Y: FloatArray, ydot: FloatArray, gradient: FloatArray, bend: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """How dd/dx and xdot^T H xdot change along an imaginary step in y and ydot, which closes the loop.

            A_d d(gradient) = -(dA_x + dA_d gradient),   A_d d(bend) = -(dgddot + dA_d bend)

        Args: Y, ydot: (frames, n_y) complex. gradient, bend: at their real parts, as `derivatives` has them.
        """
        frames, n, n_x, n_d = len(Y), len(self.model.coordinates), len(self.inputs), len(self.dependents)
        A = self.evaluate(Y)[1]
        dA, dg = A.imag, self.curvature(Y, ydot).imag
        right = -(dA[:, :, :n_x] + dA[:, :, n_x:] @ gradient)
        last = -(dg + np.einsum("fmd,fd->fm", dA[:, :, n_x:], bend))
        columns, margin = np.zeros((n_x + 1, frames, n_d)), np.zeros(frames)
        given = np.ascontiguousarray(np.concatenate([right, last[:, :, None]], axis=2).transpose(2, 0, 1))
        over_frames(least_squares_frames, (self._plain, _rows(A.real), given, columns, margin, n), frames, 1)
        return np.ascontiguousarray(columns[:n_x].transpose(1, 2, 0)), columns[n_x]

    def _followed(self, X: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Dependents, and the part of the way to X from the guesses `start` (frames, n_y) that was done."""
        d, done = np.empty((len(X), len(self.dependents))), np.empty(len(X))
        frames = LoopFrames(self.placed(start), np.ascontiguousarray(X), _NONE, d, done, _NONE, _NONE, _NO_FRAMES)
        over_frames(loop_frames, (self.compiled, frames, True, False, False), len(X))
        return d, done

    def _followed_in_python(self, X: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same: all frames are evaluated together, and go on as the kernel says."""
        frames, n = len(X), len(self.model.coordinates)
        n_x, n_d, m = len(self.inputs), len(self.dependents), len(self.row_scale)
        Y, d, each = start.copy(), (frames, n_d), (frames, 1)
        poses = (np.zeros((frames, n_x)), np.ascontiguousarray(X), np.zeros(d), np.zeros(d))
        parts = (np.zeros(each), np.zeros(each), np.zeros(each), np.zeros(each), np.zeros(each), np.zeros(each))
        counts = (np.full(each, FRESH), np.zeros(each, dtype=np.int64), np.zeros(each, dtype=np.int64))
        ways = Way(*poses, np.zeros((frames, m * (n_x + n_d), 1)), *parts, *counts)
        active = np.arange(frames)
        while active.size:
            g, A = self.evaluate(Y[active])
            going = np.zeros(active.size, dtype=np.int64)
            some = WayFrames(active, going, np.ascontiguousarray(g), _rows(A), Y)
            over_frames(way_frames, (self._plain, ways, some, n), active.size, 1)
            active = active[going == 1]
        return Y[:, n_x:], ways.done[:, 0]

    def derivatives(
        self, X: FloatArray, d: FloatArray, xdot: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """dd/dx (frames, n_d, n_x), xdot^T H xdot (frames, n_d), and how far from singular A_d is (frames,)."""
        frames, n, n_x, n_d = len(X), len(self.model.coordinates), len(self.inputs), len(self.dependents)
        Y = np.hstack([X, d])
        bent = xdot is not None and bool(np.any(xdot))
        bend, margin = np.zeros((frames, n_d)), np.zeros(frames)
        if self.compiled is not None:
            gradient = np.zeros((frames, n_d * n_x))
            rates = np.ascontiguousarray(xdot) if bent else np.zeros((1, n_x))
            each = LoopFrames(self.placed(Y), _NONE, rates, _NONE, _NO_FRAMES, gradient, bend, margin)
            over_frames(loop_frames, (self.compiled, each, False, True, bent), frames)
            return gradient.reshape(frames, n_d, n_x), bend, margin
        A = self.evaluate(Y)[1]
        flat, columns = _rows(A), np.zeros((n_x, frames, n_d))
        right = -np.ascontiguousarray(A[:, :, :n_x].transpose(2, 0, 1))
        over_frames(least_squares_frames, (self._plain, flat, right, columns, margin, n), frames, 1)
        gradient = np.ascontiguousarray(columns.transpose(1, 2, 0))
        if xdot is not None and bent:
            ydot = np.hstack([xdot, np.einsum("fdx,fx->fd", gradient, xdot)])
            right = -np.ascontiguousarray(self.curvature(Y, ydot))[None]
            over_frames(least_squares_frames, (self._plain, flat, right, bend[None], margin, n), frames, 1)
        return gradient, bend, margin

    def _loses_rank(self, A: FloatArray) -> BoolArray:
        """Whether all of A, not only A_d, has less than its usual rank."""
        values = np.linalg.svd(A * self.scale, compute_uv=False)
        return np.asarray(values[:, len(self.dependents) - 1] < _RANK_LOST * np.maximum(values[:, 0], 1e-300))


def _rows(A: FloatArray) -> FloatArray:
    """Matrices (frames, m, n) as rows (frames, m n), in C's order."""
    return np.ascontiguousarray(A).reshape(len(A), -1)


def _quaternion_starts(model: Model) -> list[int]:
    """The first column of every quaternion: a loop that does not feel it leaves it unturned."""
    return [
        model.coordinate_index(joint.coordinates[0].name)
        for joint in model.joints
        if getattr(joint, "quaternion", False)
    ]


def refuse_unsolved(loop: Loop, solution: LoopSolution, X: FloatArray, first: int = 0, a_frame: int = 1) -> None:
    """Refuse frames whose loop was not closed; `a_frame` positions belong to each, `first` is the first one's number.

    Raises:
        InvalidInput: inputs out of reach; names the loop, the frame, and how far it came. Or the loop does not close
            from the pose that is given, which has these inputs.
        SingularSystem: a singular position stands in the way.
    """
    failed = np.flatnonzero(solution.status != LoopStatus.SOLVED)
    if not failed.size:
        return
    k = int(failed[0])
    wanted, came = _told_apart(loop.inputs, X[k], solution.reached[k])
    frame = first + k // a_frame
    if solution.status[k] == LoopStatus.SINGULAR:
        raise SingularSystem(
            f"the {loop.title} meets a singular position on the way to {wanted} at frame {frame}, near {came}: there "
            "branches meet; give a pose beyond it, near the wanted one (guess=q of embeddings, q0 of simulate)"
        )
    if np.array_equal(solution.reached[k], X[k]):  # the pose has these inputs, which need not be out of reach
        inputs = ", ".join(f"{name} = {value:.6g}" for name, value in zip(loop.inputs, X[k], strict=True))
        raise InvalidInput(
            f"the {loop.title} is open in the given pose and cannot be closed at frame {frame} from there with "
            f"{inputs or 'its coordinates'}; drop this frame, give a pose nearer to a closed one, or make it with "
            "embedding_of(model).coordinates(z), if these coordinates can be reached"
        )
    raise InvalidInput(
        f"the {loop.title} cannot be closed at frame {frame} with {wanted or 'its coordinates'}; on this branch it "
        f"closes up to {came or 'nowhere'}; drop this frame or keep within reach, start from a pose on another "
        "branch (guess=q of embeddings, q0 of simulate), or choose other independent coordinates (independent=)"
    )


def _told_apart(names: Sequence[str], wanted: FloatArray, came: FloatArray) -> tuple[str, str]:
    """Both as text, with as many digits as it takes to see that they are not the same."""
    for digits in range(6, 18):
        one, other = (
            ", ".join(f"{name} = {value:.{digits}g}" for name, value in zip(names, values, strict=True))
            for values in (wanted, came)
        )
        if one != other:
            break
    return one, other if one != other else "just before that"
