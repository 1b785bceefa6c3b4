"""Poses nearest to what was recorded among those that close the loops of a model: many frames at once.

    minimize J(q)   subject to   g(q) = 0,   lower <= q <= upper

Iterates are closed poses. A step d lies in the null space of A = dg/dq, and what its end leaves open is closed by the
shortest correction that A has for it:

    P = I - A^+ A,   A A^T lambda = -A dJ,   P (H + sum_k lambda_k d2g_k) P d = -P dJ

which is Newton's method on the surface of closed poses: the second-order model of J after the correction is exact.
Coordinates at a bound are not part of A and P.

Source: Nocedal & Wright 2006, ch. 18.1 (Hessian of the Lagrangian), 18.2 (least-squares multipliers), 4 (regions in
        which a model is trusted).
Departs: bounds are held and released one set at a time, by the sign of the Lagrangian's slope.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import BoolArray, FloatArray
from musculo.embedding.couplers.coordinate_rules import Coupled
from musculo.embedding.couplers.embedding_tables import EmbeddingTables
from musculo.embedding.loops.equations.loop_equations import EquationSet
from musculo.kernels.fit.bounded_step import Unknowns
from musculo.kernels.fit.misfit_frames import FitFrames, fit_frames
from musculo.kernels.fit.pose_fit import Misfit, Recorded
from musculo.kernels.fit.pose_search import CONVERGED, SLOW, UNDETERMINED
from musculo.kernels.tree.tree_frames import over_frames

# Newton's corrections square from one to the next: after one of this size the next would be rounding [rad, m].
_CLOSED = 1e-8
_CORRECTIONS = 40
# What is left of an equation beside so small a correction, if it can be met [rad, m].
_OPEN = 1e-6
# Singular values below this part of the largest are rounding: their equations repeat others.
_RANK = 1e-9
# Curvature below this part of the largest: nothing recorded says where that direction ends.
_FLAT = 1e-10
# Half the difference by which the equations' curvature is found [rad, m]: its error is the square of it.
_STEP = 1e-5
# No unknown moves further in one iteration [rad, m].
_LONGEST_STEP = 0.5
_FIRST_DAMPING, _MOST_DAMPING = 1e-3, 1e9
# Changes of J below this times sqrt(J), or below the second number, are rounding [m^2].
_ROUNDING, _NOTHING = 4e-15, 1e-30
# Poses worked on at once: each holds the slopes of all equations on either side of it.
_AT_ONCE = 128


class Poses(NamedTuple):
    """What a search found, frame by frame."""

    q: FloatArray  # (frames, n)
    objective: FloatArray  # (frames,)
    status: NDArray[np.int64]
    iterations: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClosedSearch:
    """The search for closed poses of one model and recording."""

    kernel: tuple[Any, ...]  # of the model with its loops open
    unknowns: Unknowns
    tables: EmbeddingTables  # likewise
    equations: EquationSet
    recorded: Recorded
    given: FloatArray  # (frames, given) locked and prescribed coordinates
    accuracy: float
    most: int
    threads: int | None

    # --- the equations ----------------------------------------------------------------------------------------------
    def completed(self, q: FloatArray) -> FloatArray:
        """q with what couplers make of it."""
        still = np.zeros(len(q))
        for rule in self._couplers:
            q[:, self._column(rule.dependent)] = rule.evaluate(q[:, self._inputs(rule)], still).value
        return q

    @cached_property
    def _couplers(self) -> list[Coupled]:
        return [rule for rule in self.tables.embedding.rules if isinstance(rule, Coupled)]

    def _column(self, name: str) -> int:
        return self.equations.model.coordinate_index(name)

    def _inputs(self, rule: Coupled) -> list[int]:
        return [self._column(name) for name in rule.inputs]

    def closure(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """g (frames, m) and A (frames, m, free) by the unknowns, at completed poses."""
        found = self.equations.by_coordinates(q, threads=self.threads)
        by_q = found.jacobian
        still = np.zeros(len(q))
        for rule in reversed(self._couplers):
            at = self._inputs(rule)
            slope = rule.evaluate(q[:, at], still).gradient
            by_q[:, :, at] += by_q[:, :, [self._column(rule.dependent)]] * slope[:, None]
        A = by_q[:, :, self.unknowns.coordinate]
        turns = self.unknowns.coordinate < 0
        if turns.any():
            by_u = self.equations.by_speeds(q, threads=self.threads).jacobian
            A[:, :, turns] = by_u[:, :, self.unknowns.speed[turns]]
        return found.residual, A

    def moved(self, q: FloatArray, d: FloatArray) -> FloatArray:
        """q + d within the bounds, couplers followed; quaternions turn and keep unit length."""
        new, own = q.copy(), self.unknowns.coordinate
        plain = own >= 0
        values = np.clip(q[:, own[plain]] + d[:, plain], self.unknowns.lower[plain], self.unknowns.upper[plain])
        new[:, own[plain]] = values
        for rows in self.unknowns.quaternion:
            w, v = q[:, rows[:1]], q[:, rows[1:4]]
            half = 0.5 * d[:, rows[4:]]
            turned = np.hstack([w - np.sum(v * half, axis=1, keepdims=True), v + w * half + np.cross(half, v)])
            new[:, rows[:4]] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        return self.completed(new)

    def _room(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far each unknown may go down and up."""
        own = self.unknowns.coordinate
        here = np.where(own >= 0, q[:, own], 0.0)
        return self.unknowns.lower - here, self.unknowns.upper - here

    def closed(self, q: FloatArray) -> tuple[FloatArray, BoolArray]:
        """The poses with their loops closed by shortest corrections, and whether that was possible."""
        q = self.moved(q, np.zeros((len(q), self.unknowns.speed.size)))
        done = np.zeros(len(q), dtype=bool)
        left = np.arange(len(q))
        for _ in range(_CORRECTIONS):
            g, A = self.closure(q[left])
            down, up = self._room(q[left])
            d = -_solved(A, g)
            out = (d < down) | (d > up)
            if out.any():
                fixed = np.where(out, np.clip(d, down, up), 0.0)
                d = fixed - _solved(A * ~out[:, None], g + np.einsum("fmi,fi->fm", A, fixed))
            size = np.abs(d).max(axis=1, initial=0.0)
            # a long correction is cut: beyond it the equations bend away
            d *= np.minimum(1.0, _LONGEST_STEP / np.maximum(size, 1e-300))[:, None]
            q[left] = self.moved(q[left], d)
            over = size <= _CLOSED
            # equations that contradict each other stay open without asking for a correction
            done[left[over]] = np.abs(g[over]).max(axis=1, initial=0.0) < _OPEN
            left = left[~over]
            if not left.size:
                break
        return q, done

    # --- the search -------------------------------------------------------------------------------------------------
    def solve(self, frames: NDArray[np.int64], start: FloatArray) -> Poses:
        """Search the given frames (each may come more than once), from poses (len(frames), n)."""
        parts = [self._some(frames[k : k + _AT_ONCE], start[k : k + _AT_ONCE]) for k in range(0, len(frames), _AT_ONCE)]
        return Poses(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def at(self, frames: NDArray[np.int64], q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, Misfit]:
        """J, its gradient (frames, free) and Hessian (frames, free, free) at poses, and how far each target is."""
        n, free = len(frames), self.unknowns.speed.size
        recorded = Recorded(*(np.ascontiguousarray(array[frames]) for array in self.recorded))
        targets = self.kernel[4]
        misfit = Misfit(np.empty((n, max(targets.node.size, 1))), np.empty((n, max(targets.sensor_node.size, 1))))
        J, gradient, hessian = np.empty(n), np.empty((n, free)), np.empty((n, free * free))
        poses = np.ascontiguousarray(q)
        over_frames(
            fit_frames,
            (self.kernel, self.unknowns, recorded, True, FitFrames(poses, misfit, J, gradient, hessian)),
            n,
            self.threads,
        )
        H = hessian.reshape(n, free, free)
        return J, gradient, 0.5 * (H + np.swapaxes(H, 1, 2)), misfit

    def _some(self, frames: NDArray[np.int64], start: FloatArray) -> Poses:
        n = len(frames)
        q, closed = self.closed(self.with_given(frames, start))
        J, gradient, H, _ = self.at(frames, q)
        J[~closed] = np.inf
        status = np.full(n, SLOW, dtype=np.int64)
        iterations = np.zeros(n, dtype=np.int64)
        damping = np.zeros(n)
        left = np.flatnonzero(closed)
        model = self._second_order(q[left], gradient[left], H[left])
        for _ in range(self.most):
            if not left.size:
                break
            iterations[left] += 1
            d, fall, flat = self._step(model, damping[left])
            longest = np.abs(d).max(axis=1, initial=0.0)
            small = (longest <= 0.01 * self.accuracy) | (
                (fall <= _ROUNDING * np.sqrt(J[left]) + _NOTHING) & (longest <= 0.1 * np.sqrt(self.accuracy))
            )
            ended = small & (damping[left] <= 1.0)
            status[left[ended]] = np.where(flat[ended], UNDETERMINED, CONVERGED)
            ended |= damping[left] > _MOST_DAMPING
            if ended.any():
                left, d, fall, longest = left[~ended], d[~ended], fall[~ended], longest[~ended]
                model = model.part(~ended)
                if not left.size:
                    break
            d *= np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, 1e-300))[:, None]
            trial, closed = self.closed(self.moved(q[left], d))
            new, gradient, H, _ = self.at(frames[left], trial)
            better = closed & (new <= J[left] - 0.1 * fall + _ROUNDING * np.sqrt(J[left]) + _NOTHING)
            good = better & (new <= J[left] - 0.5 * fall)
            worse = np.maximum(_FIRST_DAMPING, 8.0 * damping[left])
            eased = np.where(damping[left] > _FIRST_DAMPING, 0.1 * damping[left], 0.0)
            damping[left] = np.where(better, np.where(good, eased, damping[left]), worse)
            taken = left[better]
            q[taken], J[taken] = trial[better], new[better]
            if better.any():
                fresh = self._second_order(trial[better], gradient[better], H[better])
                model = fresh if better.all() else model.mixed(better, fresh)
        return Poses(q, J, status, iterations)

    def with_given(self, frames: NDArray[np.int64], start: FloatArray) -> FloatArray:
        """Poses with the locked and prescribed coordinates of their frames."""
        q, columns = start.copy(), self.tables.couplings.given
        q[:, columns] = self.given[frames][:, : columns.size]
        return q

    def _second_order(self, q: FloatArray, gradient: FloatArray, H: FloatArray) -> _Model:
        """Slopes and curvature of the Lagrangian at closed poses."""
        _, A = self.closure(q)
        down, up = self._room(q)
        edge_down, edge_up = down >= 0.0, up <= 0.0
        on_edge = edge_down | edge_up
        multipliers, held = np.zeros(A.shape[:2]), np.zeros_like(on_edge)
        for _ in range(3):  # multipliers of the coordinates that are free, which are free by the sign of the slope
            multipliers = -_solved(np.swapaxes(A * ~held[:, None], 1, 2), gradient * ~held)
            slope = gradient + np.einsum("fmi,fm->fi", A, multipliers)
            now = on_edge & ((edge_down & (slope > 0.0)) | (edge_up & (slope < 0.0)))
            if (now == held).all():
                break
            held = now
        return _Model(A, gradient, H + self._bend(q, multipliers), held, down, up)

    def _bend(self, q: FloatArray, multipliers: FloatArray) -> FloatArray:
        """sum_k lambda_k d2g_k (frames, free, free), by differences of exact slopes on either side."""
        frames, n = len(q), self.unknowns.speed.size
        steps = np.concatenate([np.eye(n), -np.eye(n)]) * _STEP
        free = replace(self, unknowns=self.unknowns._replace(lower=np.full(n, -np.inf), upper=np.full(n, np.inf)))
        poses = free.moved(np.repeat(q, 2 * n, axis=0), np.tile(steps, (frames, 1)))
        slopes = np.einsum("fsmi,fm->fsi", self.closure(poses)[1].reshape(frames, 2 * n, -1, n), multipliers)
        bend = (slopes[:, :n] - slopes[:, n:]) / (2.0 * _STEP)
        return np.asarray(0.5 * (bend + np.swapaxes(bend, 1, 2)))

    def _step(self, m: _Model, damping: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Steps within the bounds, how far J falls by them, and whether a direction is left that nothing sees."""
        held, fixed = m.held.copy(), np.zeros_like(m.gradient)
        for _ in range(m.held.shape[1] + 1):
            d, flat = m.step(held, fixed, damping)
            out = ~held & ((d < m.down) | (d > m.up))
            if not out.any():
                break
            fixed = np.where(out, np.clip(d, m.down, m.up), fixed)
            held = held | out
        d = np.clip(d, m.down, m.up)
        fall = -np.einsum("fi,fi->f", d, m.gradient) - 0.5 * np.einsum("fi,fij,fj->f", d, m.curvature, d)
        return d, fall, flat


class _Model(NamedTuple):
    """The second-order model of J on closed poses, frame by frame."""

    A: FloatArray  # (frames, m, free)
    gradient: FloatArray  # (frames, free)
    curvature: FloatArray  # (frames, free, free) of the Lagrangian
    held: BoolArray  # (frames, free) by a bound
    down: FloatArray  # (frames, free) how far each may go
    up: FloatArray

    def part(self, rows: BoolArray) -> _Model:
        """Some of the frames."""
        return _Model(*(array[rows] for array in self))  # type: ignore[arg-type]

    def mixed(self, rows: BoolArray, fresh: _Model) -> _Model:
        """Some frames anew."""
        whole = _Model(*(array.copy() for array in self))  # type: ignore[arg-type]
        for array, new in zip(whole, fresh, strict=True):
            array[rows] = new
        return whole

    def step(self, held: BoolArray, fixed: FloatArray, damping: FloatArray) -> tuple[FloatArray, BoolArray]:
        """The step of least model value, with held unknowns at `fixed`; curvatures count by their size."""
        free = ~held
        A = self.A * free[:, None]
        inverse = np.linalg.pinv(A, rcond=_RANK)
        P = (np.eye(held.shape[1]) - inverse @ A) * free[:, None] * free[:, :, None]
        base = fixed - np.einsum("fim,fm->fi", inverse, np.einsum("fmi,fi->fm", self.A, fixed))
        slope = self.gradient + np.einsum("fij,fj->fi", self.curvature, base)
        values, vectors = np.linalg.eigh(P @ self.curvature @ P)
        size = np.abs(values)
        largest = np.maximum(size.max(axis=1, initial=0.0), 1e-300)[:, None]
        seen = size > _FLAT * largest
        along = np.einsum("fij,fi->fj", vectors, np.einsum("fij,fj->fi", P, slope))
        along = np.where(seen, along / (np.where(seen, size, 1.0) + damping[:, None] * largest), 0.0)
        open_ways = np.round(np.trace(P, axis1=1, axis2=2)).astype(int)
        # unknowns that neither equations nor targets feel are no fault of the fit
        blind = ~np.abs(self.A).any(axis=1) & ~np.abs(self.curvature).any(axis=1) & free
        flat = seen.sum(axis=1) + blind.sum(axis=1) < open_ways
        return base - np.einsum("fij,fj->fi", vectors, along), flat


def _solved(A: FloatArray, b: FloatArray) -> FloatArray:
    """A^+ b over frames: the shortest of the best solutions."""
    return np.einsum("fim,fm->fi", np.linalg.pinv(A, rcond=_RANK), b)
