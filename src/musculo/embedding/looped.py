"""Coordinates that follow others because loops are closed; the dependents of one loop are solved together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.compile.frames import FloatArray
from musculo.embedding.loop import LoopSolution
from musculo.embedding.outcome import refuse_unsolved
from musculo.embedding.rules import Dependence, Rule
from musculo.embedding.variables import JointVariables


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
