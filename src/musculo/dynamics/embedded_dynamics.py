"""Accelerations of models with couplers and loops, all in one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import compiled
from musculo.embedding.couplers.coordinate_rules import Coupled, Locked, Prescribed, Rule
from musculo.embedding.couplers.rule_table import rule_rows
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loops.closed_loop import SINGULAR, refuse_unsolved
from musculo.embedding.loops.methods.joint_variables import Looped
from musculo.embedding.loops.methods.loop_projection import ProjectedVariables
from musculo.embedding.speed_rates import turning_joints
from musculo.functions.function_table import FunctionTable
from musculo.kernels.constraints.closed_acceleration import ClosedFrames, closed_frames
from musculo.kernels.constraints.coupler_frames import RuledFrames, rule_frames
from musculo.kernels.constraints.coupler_rows import RuleRows
from musculo.kernels.constraints.embedded_acceleration import EmbeddedFrames, Followers, embedded_frames
from musculo.kernels.constraints.loop_space import LoopSystem
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.model import Model

_NO_WRENCH = np.zeros((0, 6))


@dataclass(frozen=True, eq=False)
class EmbeddedDynamics:
    """The embedding of a model as the kernel takes it."""

    followers: Followers
    rules: tuple[tuple[Rule, list[int], list[int]], ...]  # steps, with the columns of dependents and inputs
    loop: LoopSystem | None  # the only rule there is, where that is a loop that kernels solve
    rows: tuple[RuleRows, FunctionTable] | None  # the rules as a kernel follows them, where no loop is among them

    def slopes_and_bias(
        self, Q: FloatArray, U: FloatArray, time: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Slopes (frames, inputs), udot at zero free accelerations, and q and u as the rules make them."""
        q, u, bias = Q.copy(), U.copy(), np.zeros_like(U)
        slopes = np.zeros((len(Q), max(len(self.followers.inputs), 1)))
        if self.rows is not None:
            frames = RuledFrames(Q, U, q, u, bias, slopes)
            over_frames(rule_frames, (*self.rows, time, frames), len(Q), 1)
            return slopes, bias, q, u
        at = 0
        for rule, own, inputs in self.rules:
            x = u[:, inputs]
            if isinstance(rule, Looped):
                # the given pose picks the branch
                found = rule.solve(q[:, inputs], Q)
                refuse_unsolved(rule.variables.loop, found, q[:, inputs])
                gradient, bend = rule.variables.rates(q[:, inputs], found.dependents, x)
                q[:, own] = found.dependents
                u[:, own] = np.einsum("fdi,fi->fd", gradient, x)
                bias[:, own] = np.einsum("fdi,fi->fd", gradient, bias[:, inputs]) + bend
                size = len(own) * len(inputs)
                slopes[:, at : at + size] = gradient.reshape(len(Q), size)
                at += size
                continue
            (k,) = own
            d = rule.evaluate(q[:, inputs], time)
            q[:, k] = d.value
            u[:, k] = np.einsum("fi,fi->f", d.gradient, x) + d.rate
            bias[:, k] = np.einsum("fi,fi->f", d.gradient, bias[:, inputs]) + d.acceleration
            bias[:, k] += np.einsum("fij,fi,fj->f", d.hessian, x, x)
            slopes[:, at : at + len(inputs)] = d.gradient
            at += len(inputs)
        return slopes, bias, q, u

    def accelerations(
        self,
        model: Model,
        Q: FloatArray,
        U: FloatArray,
        tau: FloatArray,
        slopes: FloatArray,
        bias: FloatArray,
        wrenches: FloatArray | None,
        threads: int | None,
    ) -> tuple[FloatArray, FloatArray]:
        """udot (frames, n_u), and how far from singular each free speed is (one: not at all, zero: it is)."""
        c = compiled(model)
        udot, pivot = np.empty_like(U), np.ones_like(U)
        external = _NO_WRENCH if wrenches is None else wrenches
        frames = EmbeddedFrames(Q, U, tau, bias, slopes, external, udot, pivot)
        over_frames(embedded_frames, (c.tree, c.table, self.followers, frames, wrenches is not None), len(Q), threads)
        return udot, pivot

    def closed(
        self, model: Model, Q: FloatArray, U: FloatArray, tau: FloatArray, wrenches: FloatArray | None,
        threads: int | None,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:  # fmt: skip
        """udot and how far from singular it is, and q and u as the loop makes them, all in one kernel.

        None where that does not serve: other rules than one loop, or frames that do not close or are singular, of
        which the slower way says more.
        """
        if self.loop is None:
            return None
        frames = len(Q)
        q, u, udot, pivot = Q.copy(), U.copy(), np.empty_like(U), np.ones_like(U)
        done, margin = np.zeros(frames), np.zeros(frames)
        external = _NO_WRENCH if wrenches is None else wrenches
        closed = ClosedFrames(Q, q, u, tau, external, udot, pivot, done, margin)
        over_frames(closed_frames, (self.loop, self.followers, closed, wrenches is not None), frames, threads)
        if not (np.all(done == 1.0) and np.all(margin > SINGULAR)):
            return None
        return udot, pivot, q, u


def embedded_dynamics(model: Model) -> EmbeddedDynamics | None:
    """As the kernel takes it, made once; None where it does not.

    It knows couplers, locks, prescribed motions and loops of coordinates whose derivatives are speeds.
    """
    return model.derived("embedded dynamics", lambda: _make(model))


def _make(model: Model) -> EmbeddedDynamics | None:
    e = embedding_of(model)
    turning = {model.coordinate_names[k] for joint in turning_joints(model) for k in joint.q}
    named = {name for rule in e.rules for name in (rule.dependent, *rule.inputs)}
    # Coordinates and speeds have the same columns only where no quaternion stands between.
    if named & turning or model.coordinate_names != model.speed_names:
        return None
    if not all(isinstance(rule, Coupled | Locked | Prescribed | Looped) for rule in e.rules):
        return None
    column = {name: k for k, name in enumerate(model.speed_names)}
    rules = tuple(
        (rule, [column[name] for name in dependents], [column[name] for name in rule.inputs])
        for rule, dependents in e.steps
    )
    ties = [(dependent, inputs) for _, own, inputs in rules if inputs for dependent in own]
    given = {dependent for _, own, _ in rules for dependent in own}
    free = [int(row) for row in compiled(model).tree.u_rows if int(row) not in given]
    pattern = _pattern(model, free, ties)
    followers = Followers(
        dependent=_ints([dependent for dependent, _ in ties]),
        first_input=_ints(np.cumsum([0, *(len(inputs) for _, inputs in ties)])),
        inputs=_ints([k for _, inputs in ties for k in inputs]),
        free=_ints(free),
        first_row=_ints(np.cumsum([0, *(len(row) for row in pattern)])),
        row_index=_ints([i for row in pattern for i in row]),
    )
    only = rules[0][0] if len(rules) == 1 else None
    exact = isinstance(only, Looped) and isinstance(only.variables, ProjectedVariables)
    rows = None
    if not e.loops:
        rows = rule_rows(model, [(rule, [*inputs, *own], -1) for rule, own, inputs in rules])
    return EmbeddedDynamics(followers, rules, e.loops[0].compiled if exact else None, rows)


def _ints(values: ArrayLike) -> IntArray:
    return np.asarray(values, dtype=np.int64)


def _pattern(model: Model, free: Sequence[int], ties: Sequence[tuple[int, list[int]]]) -> list[list[int]]:
    """For each free speed those before it in its row of the factor."""
    c = compiled(model)
    # Two speeds share an element of M where one moves the node of the other.
    node = np.empty(c.n_u, dtype=np.int64)
    node[c.tree.u_rows] = np.repeat(np.arange(c.tree.n_u.size), c.tree.n_u)
    moves = c.moved_by[node] != 0.0
    related = moves | moves.T
    for dependent, inputs in reversed(ties):
        for a in inputs:
            related[a] |= related[dependent]
            related[:, a] |= related[:, dependent]
    pattern = related[np.ix_(free, free)]
    for k in range(len(free) - 1, -1, -1):
        row = np.flatnonzero(pattern[k, :k])
        pattern[np.ix_(row, row)] = True
    return [[int(i) for i in np.flatnonzero(pattern[k, :k])] for k in range(len(free))]
