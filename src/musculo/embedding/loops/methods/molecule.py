"""Numerical differentiation: the loop is solved on a computational molecule about each position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.loops.closed_loop import Loop, refuse_unsolved
from musculo.embedding.loops.methods.joint_variables import JointVariables, LoopMethod
from musculo.errors import InvalidInput

_AT_ONCE = 20000


@dataclass(frozen=True, eq=False)
class MoleculeVariables(JointVariables):
    """Differences of solutions at steps of h and 2h along each input and along each pair of them.

        f' = (8 (f_1 - f_-1) - (f_2 - f_-2)) / 12h,   f'' = (16 (f_1 + f_-1) - (f_2 + f_-2) - 30 f_0) / 12h^2
        f_xy = (4 D(h) - D(2h)) / 3,   D(h) = (f_++ - f_+- - f_-+ + f_--) / 4h^2

    Source:     Ehsani2023 3-3, its second method and figure 2.
    Departs:    steps of two lengths, so that errors are of fourth order in h, for any number of inputs.
    Guarantees: errors of fourth order in the step; seven digits of the gradient and six of the Hessian at the default
                one, away from singular positions.
    """

    step: float = 5e-4

    def _molecule(self, X: FloatArray, d: FloatArray, pairs: bool) -> tuple[FloatArray, FloatArray]:
        """Offsets (points, n_x) in steps, and f (frames, points, n_d) there."""
        frames, n = X.shape
        unit = np.eye(n)
        offsets = [s * unit[k] for k in range(n) for s in (1.0, -1.0, 2.0, -2.0)]
        if pairs:
            offsets += [
                s * (a * unit[i] + b * unit[j])
                for i, j in _pairs(n)
                for s in (1.0, 2.0)
                for a in (1.0, -1.0)
                for b in (1.0, -1.0)
            ]
        at = np.array(offsets, dtype=float).reshape(len(offsets), n)
        result = np.zeros((frames, len(at), d.shape[1]))
        size = max(1, _AT_ONCE // max(len(at), 1))
        for start in range(0, frames, size):
            x, own = X[start : start + size], d[start : start + size]
            guess = np.repeat(self.loop.spread(np.hstack([x, own])), len(at), axis=0)
            points = (x[:, None] + self.step * self.loop.scale[:n] * at).reshape(-1, n)
            found = self.loop.follow(points, guess)
            refuse_unsolved(self.loop, found, points, first=start, a_frame=len(at))
            result[start : start + size] = found.dependents.reshape(len(x), len(at), -1)
        return at, result

    def gradient(self, X: FloatArray, d: FloatArray) -> FloatArray:
        frames, n = X.shape
        if not n:
            return np.zeros((frames, d.shape[1], 0))
        _, f = self._molecule(X, d, pairs=False)
        h = self.step * self.loop.scale[:n]
        p, m, pp, mm = np.moveaxis(f.reshape(frames, n, 4, -1), 2, 0)
        return np.swapaxes((8.0 * (p - m) - (pp - mm)) / (12.0 * h[:, None]), 1, 2)

    def hessian(self, X: FloatArray, d: FloatArray) -> FloatArray:
        frames, n = X.shape
        if not n:
            return np.zeros((frames, d.shape[1], 0, 0))
        _, f = self._molecule(X, d, pairs=True)
        h = self.step * self.loop.scale[:n]
        H = np.zeros((frames, d.shape[1], n, n))
        p, m, pp, mm = np.moveaxis(f[:, : 4 * n].reshape(frames, n, 4, -1), 2, 0)
        straight = (16.0 * (p + m) - (pp + mm) - 30.0 * d[:, None]) / (12.0 * (h * h)[:, None])
        H[:, :, range(n), range(n)] = np.swapaxes(straight, 1, 2)
        crossed = f[:, 4 * n :].reshape(frames, -1, 2, 4, d.shape[1])
        D = (crossed[:, :, :, 0] - crossed[:, :, :, 1] - crossed[:, :, :, 2] + crossed[:, :, :, 3]) / 4.0
        mixed = (4.0 * D[:, :, 0] - D[:, :, 1] / 4.0) / 3.0
        for k, (i, j) in enumerate(_pairs(n)):
            H[:, :, i, j] = H[:, :, j, i] = mixed[:, k] / (h[i] * h[j])
        return H


def _pairs(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(i)]


@dataclass(frozen=True)
class Molecule(LoopMethod):
    """Numerical differentiation with steps [rad, or parts of the mechanism's size] about each position."""

    step: float = 5e-4

    def variables(self, loop: Loop, branch: FloatArray) -> MoleculeVariables:
        if not 1e-6 <= self.step <= 0.1:
            raise InvalidInput(f"the molecule's step is {self.step!r}; give one between 1e-6 and 0.1")
        return MoleculeVariables(loop, branch, self.step)
