"""What is left of the equations of motion and of constraints at one state, for implicit methods: bound once, no checks.

The functions of `musculo.dynamics` say what is wrong with their arguments; whoever finds no numbers here asks them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.compile.compiled import compiled
from musculo.compile.frame_arrays import FloatArray
from musculo.embedding.loops.equations.body_equations import BodyEquation
from musculo.embedding.loops.equations.loop_equations import EquationSet
from musculo.kernels.constraints.body_loop_equations import BodyRowFrames, body_rows_frames
from musculo.kernels.tree.node_kinematics import MOTION_ROWS
from musculo.kernels.tree.tree_frames import LoadFrames, MotionFrames, TorqueFrames, kinematics_frames, rnea_frames
from musculo.model.model import Model

_NO_WRENCH = np.zeros((0, 6))


class ImplicitEquations(NamedTuple):
    """Of one state; the same arrays at every call."""

    tau: FloatArray  # (n_u,) M udot + C + gravity
    residual: FloatArray  # (m,) g
    jacobian: FloatArray  # (m, n_u) G with gdot = G u
    bias: FloatArray  # (m,) gddot where udot is zero


class ImplicitState:
    """`inverse_dynamics` and `EquationSet.by_speeds` of one state after the other.

    Args:
        model: the model.
        system: its constraints; `serves` says whether they can be these.
    """

    def __init__(self, model: Model, system: EquationSet) -> None:
        c, m = compiled(model), system.count
        self._q, self._u, self._udot = (np.zeros((1, n)) for n in (len(model.coordinate_names), c.n_u, c.n_u))
        tau, residual, bias = np.zeros((1, c.n_u)), np.zeros((1, m)), np.zeros((1, m))
        jacobian = np.zeros((1, m * c.n_u))
        motion, columns = np.zeros((1, MOTION_ROWS * c.tree.parent.size)), np.zeros((1, 6 * c.n_u))
        tree, still = (c.tree, c.table), np.zeros((1, c.n_u))
        moving = MotionFrames(self._q, self._u, self._udot)
        self._calls = (
            rnea_frames.bound(*tree, moving, LoadFrames(_NO_WRENCH, False), TorqueFrames(tau, _NO_WRENCH), 0, 1),
            kinematics_frames.bound(*tree, MotionFrames(self._q, self._u, still), True, motion, columns, 0, 1),
            body_rows_frames.bound(system.table, motion, columns, True, BodyRowFrames(residual, jacobian, bias), 0, 1),
        )
        self._found = ImplicitEquations(tau[0], residual[0], jacobian.reshape(m, c.n_u), bias[0])

    @staticmethod
    def serves(system: EquationSet) -> bool:
        """Whether there are constraints, and all are between bodies."""
        return bool(system.equations) and all(isinstance(e, BodyEquation) for e in system.equations)

    def __call__(self, q: FloatArray, u: FloatArray, udot: FloatArray) -> ImplicitEquations | None:
        """At coordinates q (n,), speeds u (n_u,) and accelerations udot (n_u,); None where they are not finite."""
        self._q[0], self._u[0], self._udot[0] = q, u, udot
        for call in self._calls:
            call()
        return self._found if np.isfinite(self._found.tau).all() else None
