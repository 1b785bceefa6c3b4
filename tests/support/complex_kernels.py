"""The kernels of one model on one complex lane, for derivatives by the complex step.

f(x + i h d) = f(x) + i h df/dx d + O(h^2),   h = 1e-30: no difference is taken, so nothing cancels.
"""

from __future__ import annotations

import numpy as np

from musculo import Model
from musculo.compile.compiled import compiled
from musculo.kernels.tree.aba import ARTICULATED_ROWS, SLOT_ROWS, ArticulatedSpace, aba
from musculo.kernels.tree.crba import COMPOSITE_ROWS, crba
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, kinematics
from musculo.kernels.tree.nodes import FORCE, MOMENT, NODE_ROWS, Loads, Motion
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.tree_frames import work_rows

STEP = 1e-30


def step(x: np.ndarray, d: np.ndarray) -> np.ndarray:
    """x with an imaginary step along d."""
    return x + 1j * STEP * d


def slope(f: np.ndarray) -> np.ndarray:
    """The derivative that an imaginary step left in f."""
    return np.imag(f) / STEP


def _lane(x) -> np.ndarray:
    return np.ascontiguousarray(np.asarray(x, dtype=complex)[:, None])


def _motion(q, u, udot) -> Motion:
    return Motion(_lane(q), _lane(u), _lane(udot))


class ComplexKernels:
    """rnea, crba, aba and kinematics in complex128; arrays without a lane axis."""

    def __init__(self, model: Model, merged: bool = True) -> None:
        self.c = compiled(model, merged)
        self.tree, self.table = self.c.tree, self.c.table
        self.n, self.n_u = self.tree.parent.size, self.c.n_u

    def _work(self):
        return np.zeros((work_rows.py_func(self.tree), 1), dtype=complex)

    def rnea(self, q, u, udot):
        tau = _lane(np.zeros(self.n_u))
        rnea(self.tree, self.table, self._work(), _motion(q, u, udot), None, tau, 0)
        return tau[:, 0]

    def wrenches(self, q, u, udot, external=None):
        """(nodes, 6): force and moment through the joint onto each node, in the node's frame; `external` likewise in
        ground, about its origin."""
        W, tau = self._work(), _lane(np.zeros(self.n_u))
        loads = None if external is None else Loads(_lane(np.ravel(external)), True)
        rnea(self.tree, self.table, W, _motion(q, u, udot), loads, tau, 0)
        rows = W[: NODE_ROWS * self.n, 0].reshape(self.n, NODE_ROWS)
        return np.concatenate([rows[:, FORCE : FORCE + 3], rows[:, MOMENT : MOMENT + 3]], axis=1)

    def crba(self, q):
        M, C = _lane(np.zeros(self.n_u**2)), _lane(np.zeros(COMPOSITE_ROWS * self.n))
        crba(self.tree, self.table, _lane(q), self._work(), C, M, 0)
        return M[:, 0].reshape(self.n_u, self.n_u)

    def aba(self, q, u, tau):
        A = _lane(np.ones(ARTICULATED_ROWS * self.n + SLOT_ROWS * self.n_u))
        udot = _lane(np.zeros(self.n_u))
        free = np.zeros(self.n_u, dtype=np.int64)
        motion, space = Motion(_lane(q), _lane(u), udot), ArticulatedSpace(self._work(), A)
        aba(self.tree, self.table, space, motion, _lane(tau), free, None, 0)
        return udot[:, 0]

    def motion(self, q, u, udot):
        """(nodes, MOTION_ROWS): R, p, w, v, alpha, a of each node in ground."""
        out = _lane(np.zeros(MOTION_ROWS * self.n))
        kinematics(self.tree, self.table, self._work(), _motion(q, u, udot), True, out, 0)
        return out[:, 0].reshape(self.n, MOTION_ROWS)

    def coriolis(self, q, u):
        """C(q, u) by Lagrange's equation with exact slopes of M, where every speed is the derivative of a coordinate.

        C_i = sum_kj dM_ij/dq_k u_k u_j - sum_jk dM_jk/dq_i u_j u_k / 2
        """
        slopes = np.stack([slope(self.crba(step(q, e))) for e in np.eye(self.n_u)])
        return np.einsum("kij,k,j->i", slopes, u, u) - 0.5 * np.einsum("kij,i,j->k", slopes, u, u)
