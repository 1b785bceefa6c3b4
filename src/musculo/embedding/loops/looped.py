"""Coordinates that follow others because loops are closed; the dependents of one loop are solved together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.couplers.coordinate_rules import Dependence, Rule
from musculo.embedding.loops.closed_loop import LoopSolution, refuse_unsolved
from musculo.embedding.loops.methods.joint_variables import JointVariables


@dataclass(frozen=True)
class Looped(Rule):
    """q[dependent] is number `row` of the dependents of a loop. Inputs are independent or prescribed coordinates."""

    variables: JointVariables
    row: int

    def evaluate(self, x: FloatArray, time: FloatArray) -> Dependence:
        found = self.variables.value(x)
        refuse_unsolved(self.variables.loop, found, x)
        d, k = found.dependents, self.row
        gradient, hessian = self.variables.gradient(x, d)[:, k], self.variables.hessian(x, d)[:, k]
        zero = np.zeros(len(x))
        return Dependence(d[:, k], gradient, hessian, zero, zero)

    def solve(self, x: FloatArray, guess: FloatArray | None) -> LoopSolution:
        """All dependents of the loop at x (frames, m), on the branch of the poses `guess` (frames, n)."""
        return self.variables.value(x, guess)

    def fill_rates(
        self, q: FloatArray, zu: FloatArray, E: FloatArray, e: FloatArray, qdot: FloatArray, s: FloatArray
    ) -> None:
        """Rows of all dependents of the loop in E, e, qdot and s: qdot = E zu + e, qddot = E zudot + s."""
        loop, n = self.variables.loop, len(self.inputs)
        at, own = loop.columns[:n], loop.columns[n:]
        gradient, bend = self.variables.rates(q[:, at], q[:, own], qdot[:, at])
        E[:, own] = gradient @ E[:, at]
        e[:, own] = np.einsum("fdj,fj->fd", gradient, e[:, at])
        qdot[:, own] = np.einsum("fdz,fz->fd", E[:, own], zu) + e[:, own]
        s[:, own] = np.einsum("fdj,fj->fd", gradient, s[:, at]) + bend
