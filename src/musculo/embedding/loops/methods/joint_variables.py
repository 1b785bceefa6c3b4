"""Joint variables f(x) of a closed loop with gradient and Hessian: one interface, three methods [Ehsani2023, 3-3]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.couplers.coordinate_rules import Dependence, Rule
from musculo.embedding.loops.closed_loop import Loop, LoopSolution, refuse_unsolved
from musculo.errors import Unsupported


@dataclass(frozen=True, eq=False)
class JointVariables(ABC):
    """The dependents d = f(x) of one loop. `branch` (n,) is the pose whose branch is meant where no other is given."""

    loop: Loop
    branch: FloatArray

    def value(self, X: FloatArray, guess: FloatArray | None = None) -> LoopSolution:
        """f at X (frames, n_x), on the branch of the poses `guess` (frames, n)."""
        start = np.tile(self.branch, (len(X), 1)) if guess is None else guess
        return self.loop.follow(X, start)

    @abstractmethod
    def gradient(self, X: FloatArray, d: FloatArray) -> FloatArray:
        """df/dx (frames, n_d, n_x), where d = f(x)."""

    @abstractmethod
    def hessian(self, X: FloatArray, d: FloatArray) -> FloatArray:
        """d2f/dx2 (frames, n_d, n_x, n_x)."""

    def rates(self, X: FloatArray, d: FloatArray, xdot: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient and bend together; complex X, d and xdot carry an imaginary step, where a method can."""
        if any(map(np.iscomplexobj, (X, d, xdot))):
            raise Unsupported(
                f"third derivatives of the {self.loop.title} are known where its equations are differentiated; give "
                "embedding_of(model, loops='projection')"
            )
        gradient = self.gradient(X, d)
        return gradient, self.bend(X, d, xdot) if np.any(xdot) else np.zeros_like(d)

    def bend(self, X: FloatArray, d: FloatArray, xdot: FloatArray) -> FloatArray:
        """xdot^T H xdot (frames, n_d): how the dependents accelerate where the inputs do not."""
        return np.asarray(np.einsum("fdij,fi,fj->fd", self.hessian(X, d), xdot, xdot))


class LoopMethod(ABC):
    """A way to differentiate joint variables, with its settings."""

    def check(self, loops: Sequence[Loop], known: Sequence[str]) -> None:  # noqa: B027 (most have nothing to check)
        """Refuse settings that fit none of a model's loops; `known` are its coordinates."""

    @abstractmethod
    def variables(self, loop: Loop, branch: FloatArray) -> JointVariables:
        """The method, ready for one loop."""


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
