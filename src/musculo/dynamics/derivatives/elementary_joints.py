"""A model as a tree of elementary joints: one turn or slide each, by one variable f(z) of independent coordinates.

So Ehsani2023 writes multibody systems (section 1-3): a joint with several motions is a row of elementary ones with
bodies without mass between them, and whatever constrains the system is in the functions f.

Departs: the paper slides first and then turns, by one variable and one constant; here a constant pose X comes first and
the one motion E after it, A_4 = X E(f), so that the joint matrix of dA_4/df = A_4 A^ is constant for both kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.embedding.couplers.coordinate_rules import Prescribed
from musculo.embedding.embedding import Embedding
from musculo.embedding.loops.methods.joint_variables import Looped
from musculo.errors import Unsupported
from musculo.functions.function_table import FunctionTable
from musculo.kernels.functions.function_values import evaluate_lanes, evaluate_many_lanes
from musculo.kernels.tree.nodes import BALL, ELLIPSOID, FREE, FUNCTION, PRISMATIC, REVOLUTE
from musculo.model.model import Model

_X, _Y, _Z = np.eye(3)


class Local(NamedTuple):
    """A joint variable over frames, to second order in the m coordinates it reads."""

    value: FloatArray  # (frames,)
    gradient: FloatArray  # (frames, m)
    hessian: FloatArray  # (frames, m, m)


class Variable(ABC):
    """A joint variable as a function of some columns of q."""

    columns: tuple[int, ...]

    @abstractmethod
    def at(self, x: FloatArray) -> Local:
        """At coordinates x (frames, m)."""


@dataclass(frozen=True)
class _Coordinate(Variable):
    """f = q."""

    columns: tuple[int, ...]

    def at(self, x: FloatArray) -> Local:
        return Local(x[:, 0], np.ones((len(x), 1)), np.zeros((len(x), 1, 1)))


@dataclass(frozen=True, eq=False)
class _OfTable(Variable):
    """f = a function of the model; without columns a constant."""

    columns: tuple[int, ...]
    table: FunctionTable
    index: int

    def at(self, x: FloatArray) -> Local:
        frames, m = x.shape
        if m < 2:
            out = np.zeros((4, frames))
            evaluate_lanes(self.table, self.index, np.ascontiguousarray(x[:, 0]) if m else np.zeros(frames), out)
            return Local(out[0], out[1][:, None][:, :m], out[2][:, None, None][:, :m, :m])
        out = np.zeros((1 + m + m * m, frames))
        evaluate_many_lanes(self.table, self.index, np.ascontiguousarray(x.T), np.arange(m), out)
        return Local(out[0], out[1 : 1 + m].T, out[1 + m :].T.reshape(frames, m, m))


@dataclass(frozen=True)
class _OnEllipsoid(Variable):
    """f = radius R_k2(a, b), a component of diag(radii) R e_z: (sin b, -sin a cos b, cos a cos b)."""

    columns: tuple[int, ...]
    radius: float
    part: int

    def at(self, x: FloatArray) -> Local:
        (sa, sb), (ca, cb), zero = np.sin(x.T), np.cos(x.T), np.zeros(len(x))
        if self.part == 0:
            f, slope, bend = sb, (zero, cb), ((zero, zero), (zero, -sb))
        elif self.part == 1:
            f, slope, bend = -sa * cb, (-ca * cb, sa * sb), ((sa * cb, ca * sb), (ca * sb, sa * cb))
        else:
            f, slope, bend = ca * cb, (-sa * cb, -ca * sb), ((-ca * cb, sa * sb), (sa * sb, -ca * cb))
        gradient, hessian = np.stack(slope, -1), np.stack([np.stack(row, -1) for row in bend], -2)
        return Local(self.radius * f, self.radius * gradient, self.radius * hessian)


@dataclass(frozen=True, eq=False)
class ElementaryTree:
    """Elementary joints, parents before children; each with its outboard frame, a body of the paper."""

    parent: tuple[int, ...]  # -1: ground
    fixed: FloatArray  # (joints, 4, 4) X: the constant pose before the motion
    joint_matrix: FloatArray  # (joints, 4, 4) A^ with dA_4/df = A_4 A^
    variables: tuple[Variable, ...]
    node_frame: tuple[int, ...]  # node of the compiled model -> the elementary frame that is its own; -1: ground
    compiled: CompiledModel

    def above(self, i: int) -> list[int]:
        """i and all joints between it and ground, base first: Anc(i) and i."""
        chain: list[int] = []
        while i >= 0:
            chain.append(i)
            i = self.parent[i]
        return chain[::-1]


def elementary_tree(model: Model) -> ElementaryTree:
    """The tree of elementary joints of a model, made once.

    Raises:
        Unsupported: a joint with a quaternion, whose four numbers are no independent variables.
    """
    return model.derived("elementary tree", lambda: _make(compiled(model)))


def _make(c: CompiledModel) -> ElementaryTree:
    tree = c.tree
    parent: list[int] = []
    fixed: list[FloatArray] = []
    matrices: list[FloatArray] = []
    variables: list[Variable] = []
    node_frame = [-1]
    for i in range(1, tree.parent.size):
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = tree.R_PF[i].reshape(3, 3), tree.p_PF[i]
        frame = node_frame[tree.parent[i]]
        for matrix, variable in _steps(c, i):
            parent.append(frame)
            fixed.append(X)
            matrices.append(matrix)
            variables.append(variable)
            frame, X = len(parent) - 1, np.eye(4)
        node_frame.append(frame)
    X_all, K_all = np.array(fixed).reshape(-1, 4, 4), np.array(matrices).reshape(-1, 4, 4)
    return ElementaryTree(tuple(parent), X_all, K_all, tuple(variables), tuple(node_frame), c)


def _turn(axis: FloatArray) -> FloatArray:
    x, y, z = axis
    return np.array([[0.0, -z, y, 0.0], [z, 0.0, -x, 0.0], [-y, x, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])


def _slide(axis: FloatArray) -> FloatArray:
    matrix = np.zeros((4, 4))
    matrix[:3, 3] = axis
    return matrix


def _steps(c: CompiledModel, i: int) -> list[tuple[FloatArray, Variable]]:
    """Joint matrices and variables of one node, inboard first: X_FM = T(p) R1 R2 R3."""
    tree = c.tree
    kind, first = int(tree.kind[i]), int(tree.q_first[i])
    rows = [int(k) for k in tree.q_rows[first:]]
    if kind == REVOLUTE:
        return [(_turn(_Z), _Coordinate((rows[0],)))]
    if kind == PRISMATIC:
        return [(_slide(_Z), _Coordinate((rows[0],)))]
    steps: list[tuple[FloatArray, Variable]] = []
    if kind == FUNCTION:
        for j in (3, 4, 5, 0, 1, 2):
            index = int(tree.function[i, j])
            if index >= 0:
                start, count = int(tree.argument_first[i, j]), int(c.table.n_arguments[index])
                columns = tuple(int(k) for k in tree.argument_rows[start : start + count])
                matrix = (_turn if j < 3 else _slide)(tree.axes[i, j])
                steps.append((matrix, _OfTable(columns, c.table, index)))
    elif kind in (BALL, FREE, ELLIPSOID):
        if tree.quaternion[i]:
            raise Unsupported(
                f"joint {c.node_joint[i]!r} has quaternion coordinates, four numbers that depend on each other; the "
                "equations in coordinates and their derivatives need its angles"
            )
        if kind == FREE:
            steps += [(_slide(axis), _Coordinate((rows[3 + k],))) for k, axis in enumerate((_X, _Y, _Z))]
        if kind == ELLIPSOID:
            columns = (rows[0], rows[1])
            parts = [_OnEllipsoid(columns, float(tree.radii[i, k]), k) for k in range(3)]
            steps += [(_slide(axis), part) for axis, part in zip((_X, _Y, _Z), parts, strict=True)]
        steps += [(_turn(axis), _Coordinate((rows[k],))) for k, axis in enumerate((_X, _Y, _Z))]
    if tree.reversed[i]:
        # the inverse of a row of motions is the inverses in the other order
        steps = [(-matrix, variable) for matrix, variable in reversed(steps)]
    if not steps:
        steps = [(np.zeros((4, 4)), _Nothing())]
    return steps


class _Nothing(Variable):
    """f = 0: a frame that does not move on its parent."""

    columns = ()

    def at(self, x: FloatArray) -> Local:
        return Local(np.zeros(len(x)), np.zeros((len(x), 0)), np.zeros((len(x), 0, 0)))


class ElementaryPoses(NamedTuple):
    """All elementary joints over frames; n counts independent coordinates, and time where something is prescribed."""

    step: FloatArray  # (frames, joints, 4, 4) A_4 of each frame in its parent's
    A: FloatArray  # (frames, joints, 4, 4) A_4 of each frame in ground
    gradient: FloatArray  # (frames, joints, n) of f
    hessian: FloatArray  # (frames, joints, n, n)


def elementary_poses(tree: ElementaryTree, e: Embedding, Q: FloatArray, time: FloatArray) -> ElementaryPoses:
    """Poses and joint variables at coordinates Q (frames, n_q) that satisfy the embedding."""
    E, H = coordinate_derivatives(e, Q, time)
    frames, joints, n = len(Q), len(tree.parent), E.shape[2]
    step, A = np.empty((frames, joints, 4, 4)), np.empty((frames, joints, 4, 4))
    gradient, hessian = np.zeros((frames, joints, n)), np.zeros((frames, joints, n, n))
    for j, (parent, variable) in enumerate(zip(tree.parent, tree.variables, strict=True)):
        at = list(variable.columns)
        f = variable.at(Q[:, at])
        K = tree.joint_matrix[j]
        # exp(f A^) of a turn is 1 + sin f A^ + (1 - cos f) A^^2, of a slide 1 + f A^
        turned = np.sin(f.value)[:, None, None] * K + 2.0 * (np.sin(0.5 * f.value) ** 2)[:, None, None] * (K @ K)
        motion = np.eye(4) + (turned if K[:3, :3].any() else f.value[:, None, None] * K)
        step[:, j] = tree.fixed[j] @ motion
        A[:, j] = step[:, j] if parent < 0 else A[:, parent] @ step[:, j]
        if at:
            gradient[:, j] = np.einsum("fm,fmn->fn", f.gradient, E[:, at])
            hessian[:, j] = np.swapaxes(E[:, at], 1, 2) @ f.hessian @ E[:, at]
            hessian[:, j] += np.einsum("fm,fmab->fab", f.gradient, H[:, at])
    return ElementaryPoses(step, A, gradient, hessian)


def moves_by_itself(e: Embedding) -> bool:
    """Whether some coordinate follows time, so that time counts as one coordinate more."""
    return any(isinstance(rule, Prescribed) for rule in e.rules)


def coordinate_derivatives(e: Embedding, Q: FloatArray, time: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradient (frames, n_q, n) and Hessian (frames, n_q, n, n) of all coordinates by the independent ones.

    Where motion is prescribed time is the last of the n: a coordinate whose rate is one.
    """
    model = e.model
    n_z = len(e.coordinate_names)
    n = n_z + int(moves_by_itself(e))
    E, H = np.zeros((*Q.shape, n)), np.zeros((*Q.shape, n, n))
    for k, name in enumerate(e.coordinate_names):
        E[:, model.coordinate_index(name), k] = 1.0
    for rule, dependents in e.steps:
        at = [model.coordinate_index(name) for name in rule.inputs]
        own = [model.coordinate_index(name) for name in dependents]
        if isinstance(rule, Looped):
            first = rule.variables.gradient(Q[:, at], Q[:, own])
            second = rule.variables.hessian(Q[:, at], Q[:, own])
        else:
            d = rule.evaluate(Q[:, at], time)
            first, second = d.gradient[:, None], d.hessian[:, None]
            if isinstance(rule, Prescribed):
                E[:, own[0], -1], H[:, own[0], -1, -1] = d.rate, d.acceleration
        if at:
            E[:, own] = first @ E[:, at]
            inner = E[:, at][:, None]
            H[:, own] = np.swapaxes(inner, 2, 3) @ second @ inner + np.einsum("fdm,fmab->fdab", first, H[:, at])
    return E, H
