"""The equations g(q, t) = 0 of a set of constraints on the tree: residual, Jacobian and bias, over all frames."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.embedding.loops.equations.body_equations import BodyEquation, TreePoses, body_equation, tree_poses
from musculo.embedding.loops.equations.coordinate_equations import CoordinateEquation, UserEquation
from musculo.embedding.loops.loop_table import body_equations_table
from musculo.embedding.speed_rates import (
    angle_rates_inverse,
    angle_rates_inverse_dot,
    joint_rates,
    quaternion_rates,
    turning_joints,
)
from musculo.kernels.constraints.body_loop_equations import (
    BodyRowFrames,
    ComplexRows,
    body_rows_frames,
    complex_rows_frames,
)
from musculo.kernels.tree.node_kinematics import MOTION_ROWS
from musculo.kernels.tree.tree_frames import MotionFrames, kinematics_frames, over_frames
from musculo.model.model import Model
from musculo.model.model_constraint import Constraint, EquationConstraint


def _shared(model: Model) -> tuple[list[int], list[int]]:
    """Columns of q and of u with the same name: where a joint has an angular velocity as speed they are overwritten."""
    speeds = {name: k for k, name in enumerate(model.speed_names)}
    pairs = [(k, speeds[name]) for k, name in enumerate(model.coordinate_names) if name in speeds]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _inverse(q: FloatArray) -> FloatArray:
    """N^-1 (frames, 3, 3 or 4) of a joint's own coordinates: w = N^-1 qdot; parts of qdot along a quaternion vanish."""
    if q.shape[1] == 4:
        return 4.0 / np.sum(q * q, axis=1)[:, None, None] * np.swapaxes(quaternion_rates(q), 1, 2)
    return angle_rates_inverse(q)


def by_coordinates(model: Model, Q: FloatArray, G: FloatArray) -> FloatArray:
    """G N^-1 (frames, m, n) of G (frames, m, n_u): rows per speed as rows per coordinate derivative."""
    at, of = model.derived("shared columns", lambda: _shared(model))
    result = np.zeros((*G.shape[:2], Q.shape[1]), np.result_type(Q, G))
    result[:, :, at] = G[:, :, of]
    for joint in model.derived("turning joints", lambda: tuple(turning_joints(model))):
        result[:, :, list(joint.q)] = G[:, :, list(joint.u)] @ _inverse(Q[:, list(joint.q)])
    return result


def by_speeds(model: Model, Q: FloatArray, G: FloatArray, felt: set[int]) -> FloatArray:
    """G N (frames, m, n_u) of G (frames, m, n): rows per coordinate derivative as rows per speed.

    `felt` are the columns of q that G has entries for.
    """
    at, of = model.derived("shared columns", lambda: _shared(model))
    result = np.zeros((*G.shape[:2], len(model.speed_names)), np.result_type(Q, G))
    result[:, :, of] = G[:, :, at]
    for joint in model.derived("turning joints", lambda: tuple(turning_joints(model))):
        if not felt.isdisjoint(joint.q):
            result[:, :, list(joint.u)] = G[:, :, list(joint.q)] @ joint_rates(joint, Q)
    return result


def speeds(model: Model, Q: FloatArray, qdot: FloatArray) -> tuple[FloatArray, FloatArray]:
    """u (frames, n_u), and udot where qddot = 0."""
    at, of = model.derived("shared columns", lambda: _shared(model))
    u, udot = (np.zeros((len(Q), len(model.speed_names)), np.result_type(Q, qdot)) for _ in range(2))
    u[:, of] = qdot[:, at]
    for joint in model.derived("turning joints", lambda: tuple(turning_joints(model))):
        own, rate = Q[:, list(joint.q)], qdot[:, list(joint.q)]
        w = np.einsum("fij,fj->fi", _inverse(own), rate)
        u[:, list(joint.u)] = w
        if len(joint.q) == 4:
            # N(qdot)^T qdot = 0 for every qdot; what is left is the change of the length, which w does not see
            udot[:, list(joint.u)] = -2.0 * (np.sum(own * rate, axis=1) / np.sum(own * own, axis=1))[:, None] * w
        else:
            udot[:, list(joint.u)] = np.einsum("fij,fj->fi", angle_rates_inverse_dot(own, rate), rate)
    return u, udot


def rates(model: Model, Q: FloatArray, U: FloatArray, felt: set[int]) -> tuple[FloatArray, FloatArray]:
    """qdot (frames, n), and qddot where udot = 0; right in the columns `felt` of q."""
    at, of = model.derived("shared columns", lambda: _shared(model))
    qdot, qddot = (np.zeros(Q.shape, np.result_type(Q, U)) for _ in range(2))
    qdot[:, at] = U[:, of]
    for joint in model.derived("turning joints", lambda: tuple(turning_joints(model))):
        if felt.isdisjoint(joint.q):
            continue
        own, w = list(joint.q), U[:, list(joint.u)]
        N = joint_rates(joint, Q)
        rate = np.einsum("fij,fj->fi", N, w)
        qdot[:, own] = rate
        if len(own) == 4:
            qddot[:, own] = np.einsum("fij,fj->fi", quaternion_rates(rate), w)
        else:
            turn = np.einsum("fij,fj->fi", angle_rates_inverse_dot(Q[:, own], rate), rate)
            qddot[:, own] = -np.einsum("fij,fj->fi", N, turn)
    return qdot, qddot


Equation: TypeAlias = BodyEquation | CoordinateEquation


class Residuals(NamedTuple):
    """Equations over frames. `jacobian` and `bias` are per speed or per coordinate derivative, as was asked for."""

    residual: FloatArray  # (frames, m) g
    jacobian: FloatArray  # (frames, m, n_u or n) gdot = jacobian u + rate
    bias: FloatArray  # (frames, m) gddot where udot (or qddot) is zero
    rate: FloatArray  # (frames, m) partial derivative of g by time


def equation_of(model: Model, constraint: Constraint) -> Equation | None:
    """The equations of one constraint; None for couplers and for kinds that are only carried."""
    if isinstance(constraint, EquationConstraint):
        return UserEquation(model, constraint)
    return body_equation(compiled(model), constraint)


class EquationSet:
    """Several constraints as one system of equations, rows in the order of the constraints."""

    def __init__(self, model: Model, equations: Sequence[Equation]) -> None:
        self.model, self.equations = model, tuple(equations)
        self._compiled: CompiledModel = compiled(model)
        edges = np.cumsum([0, *(e.count for e in equations)])
        self.rows = [slice(a, b) for a, b in pairwise(edges.tolist())]
        self.count = int(edges[-1])
        self._bodies = [e for e in self.equations if isinstance(e, BodyEquation)]
        first = [r.start for e, r in zip(self.equations, self.rows, strict=True) if isinstance(e, BodyEquation)]
        self.table = body_equations_table(self._bodies, first)
        self._felt = {k for e in self.equations if not isinstance(e, BodyEquation) for k in e.columns}
        self.names = tuple(e.name for e in equations)
        self.row_names = tuple(e.name for e in equations for _ in range(e.count))

    def name_of(self, row: int) -> str:
        """The constraint that an equation belongs to."""
        return self.row_names[row]

    def poses(self, Q: FloatArray, threads: int | None = None) -> TreePoses:
        """Where all nodes of the tree are."""
        return tree_poses(self._compiled, Q, threads)

    def by_speeds(
        self, Q: FloatArray, U: FloatArray | None = None, time: FloatArray | None = None, threads: int | None = None
    ) -> Residuals:
        """g, G with gdot = G u + rate, and gddot at udot = 0; without speeds the bias is zero."""
        model = self.model
        result = self._empty(len(Q), len(model.speed_names), Q.dtype)
        plain = self._fill_bodies(result, Q, U, threads)
        if not plain:
            still = np.zeros((len(Q), len(model.speed_names)))
            qdot, qddot = rates(model, Q, still if U is None else U, self._felt)
            by_q = self._fill_coordinates(result, Q, qdot, qddot, time)
            for rows, jacobian in by_q:
                result.jacobian[:, rows] = by_speeds(model, Q, jacobian, self._felt)
        return result

    def others_by_speeds(self, Q: FloatArray, U: FloatArray, time: FloatArray) -> Residuals:
        """As `by_speeds`, with the rows of constraints between bodies left at zero."""
        result = self._empty(len(Q), len(self.model.speed_names))
        if len(self._bodies) < len(self.equations):
            qdot, qddot = rates(self.model, Q, U, self._felt)
            for rows, jacobian in self._fill_coordinates(result, Q, qdot, qddot, time):
                result.jacobian[:, rows] = by_speeds(self.model, Q, jacobian, self._felt)
        return result

    def by_coordinates(
        self, Q: FloatArray, qdot: FloatArray | None = None, time: FloatArray | None = None, threads: int | None = None
    ) -> Residuals:
        """g, dg/dq, and gddot at qddot = 0; without derivatives the bias is zero. Complex where Q and qdot are."""
        model = self.model
        U, turn = (None, None) if qdot is None else speeds(model, Q, qdot)
        first = self._empty(len(Q), len(model.speed_names), Q.dtype)
        plain = self._fill_bodies(first, Q, U, threads)
        result = first._replace(jacobian=by_coordinates(model, Q, first.jacobian))
        if turn is not None:
            result.bias[:] += np.einsum("fij,fj->fi", first.jacobian, turn)
        if not plain:
            still = np.zeros_like(Q)
            for rows, jacobian in self._fill_coordinates(result, Q, still if qdot is None else qdot, still, time):
                result.jacobian[:, rows] = jacobian
        return result

    def _empty(self, frames: int, columns: int, kind: Any = float) -> Residuals:
        m = self.count
        shapes = ((frames, m), (frames, m, columns), (frames, m), (frames, m))
        return Residuals(*(np.zeros(shape, kind) for shape in shapes))

    def _fill_bodies(self, result: Residuals, Q: FloatArray, U: FloatArray | None, threads: int | None) -> bool:
        """Rows of constraints between bodies; says whether there are no others."""
        if self._bodies and np.iscomplexobj(Q):
            c, moved = self._compiled, np.zeros((len(Q), self._compiled.n_u), complex) if U is None else U
            results = (result.residual, result.jacobian.reshape(len(Q), -1), result.bias)
            x = ComplexRows(np.ascontiguousarray(Q), np.ascontiguousarray(moved, complex), *results)
            over_frames(complex_rows_frames, (c.tree, c.table, self.table, x), len(Q), threads)
        elif self._bodies:
            c, frames, moving = self._compiled, len(Q), U is not None
            speeds = np.ascontiguousarray(U) if U is not None else np.zeros((1, c.n_u))
            motion = np.empty((frames, MOTION_ROWS * c.tree.parent.size))
            columns = np.empty((frames, 6 * c.n_u))
            given = MotionFrames(np.ascontiguousarray(Q), speeds, np.zeros_like(speeds))
            over_frames(kinematics_frames, (c.tree, c.table, given, moving, motion, columns), frames, threads)
            found = BodyRowFrames(result.residual, result.jacobian.reshape(frames, -1), result.bias)
            over_frames(body_rows_frames, (self.table, motion, columns, moving, found), frames, threads)
        return len(self._bodies) == len(self.equations)

    def _fill_coordinates(
        self, result: Residuals, Q: FloatArray, qdot: FloatArray, qddot: FloatArray, time: FloatArray | None
    ) -> list[tuple[slice, FloatArray]]:
        """Rows of equations of coordinates, and their Jacobians by coordinates."""
        times = np.zeros(len(Q)) if time is None else time
        jacobians: list[tuple[slice, FloatArray]] = []
        for equation, rows in zip(self.equations, self.rows, strict=True):
            if isinstance(equation, BodyEquation):
                continue
            at = equation.columns
            found = equation.rows(Q[:, at], times)
            result.residual[:, rows], result.rate[:, rows] = found.residual, found.rate
            bend = np.einsum("fkij,fi,fj->fk", found.hessian, qdot[:, at], qdot[:, at])
            result.bias[:, rows] = bend + np.einsum("fki,fi->fk", found.jacobian, qddot[:, at]) + found.acceleration
            jacobian = np.zeros((len(Q), equation.count, Q.shape[1]), Q.dtype)
            for k, column in enumerate(at):  # a coordinate may stand twice
                jacobian[:, :, column] += found.jacobian[:, :, k]
            jacobians.append((rows, jacobian))
        return jacobians
