"""Analytical projection: exact derivatives of joint variables, by differentiating the loop's equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.loops.closed_loop import SINGULAR, Loop
from musculo.embedding.loops.methods.joint_variables import JointVariables, LoopMethod
from musculo.errors import SingularSystem

# Frames times pairs of inputs done at once: each holds the poses of the whole tree.
_AT_ONCE = 20000


class TurningPoint(SingularSystem):
    """Inputs turn round in a pose where the loop itself is not singular: others could lead it."""


@dataclass(frozen=True, eq=False)
class ProjectedVariables(JointVariables):
    """Derivatives from the equations g(x, f(x)) = 0.

        A_d df/dx = -A_x,        A_d (xdot^T H xdot) = -gddot   along ydot = (xdot, df/dx xdot) at yddot = 0

    Source:     Ehsani2023 eq. 100-120.
    Departs:    its projections gamma, sigma are the orthogonal elimination of one column after the other; here
                Householder's reflections do the same stably, and accept repeated equations. The right side of eq. 120
                comes from velocities of the tree; mixed derivatives by polarization.
    Guarantees: no finite difference; exact to rounding times the condition of A_d.
    """

    def rates(self, X: FloatArray, d: FloatArray, xdot: FloatArray) -> tuple[FloatArray, FloatArray]:
        if any(map(np.iscomplexobj, (X, d, xdot))):
            return self._stepped(X, d, xdot)
        gradient, bend, margin = self.loop.derivatives(X, d, xdot)
        refuse_singular(self.loop, margin, X, d)
        return gradient, bend

    def _stepped(self, X: FloatArray, d: FloatArray, xdot: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same with an imaginary step: third derivatives of the loop, along x, d and xdot."""
        gradient, bend = self.rates(X.real, d.real, xdot.real)
        still = np.einsum("fdx,fx->fd", gradient, xdot.real)
        Y, real = np.hstack([X, d]).astype(complex), np.hstack([xdot.real, still])
        first, _ = self.loop.slopes_along(Y, real.astype(complex), gradient, bend)
        moved = np.einsum("fdx,fx->fd", gradient, xdot) + 1j * np.einsum("fdx,fx->fd", first, xdot.real)
        first, second = self.loop.slopes_along(Y, np.hstack([xdot, moved]).astype(complex), gradient, bend)
        return gradient + 1j * first, bend + 1j * second

    def gradient(self, X: FloatArray, d: FloatArray) -> FloatArray:
        gradient, _, margin = self.loop.derivatives(X, d, None)
        refuse_singular(self.loop, margin, X, d)
        return gradient

    def bend(self, X: FloatArray, d: FloatArray, xdot: FloatArray) -> FloatArray:
        return self.rates(X, d, xdot)[1]

    def hessian(self, X: FloatArray, d: FloatArray) -> FloatArray:
        frames, n = X.shape
        H = np.zeros((frames, d.shape[1], n, n))
        first, second = np.triu_indices(n)
        directions = np.eye(n)[first] + np.where((first != second)[:, None], np.eye(n)[second], 0.0)
        pairs = len(first)
        if not pairs:
            return H
        step = max(1, _AT_ONCE // pairs)
        for start in range(0, frames, step):
            x, own = X[start : start + step], d[start : start + step]
            some = len(x)
            bent = self.bend(np.repeat(x, pairs, 0), np.repeat(own, pairs, 0), np.tile(directions, (some, 1)))
            b = np.moveaxis(bent.reshape(some, pairs, -1), 1, 2)
            H[start : start + some, :, first, second] = b
        diagonal = np.diagonal(H, axis1=2, axis2=3).copy()
        for i, j in zip(first, second, strict=True):
            if i != j:
                mixed = 0.5 * (H[:, :, i, j] - diagonal[:, :, i] - diagonal[:, :, j])
                H[:, :, i, j] = H[:, :, j, i] = mixed
        return H


def refuse_singular(loop: Loop, margin: FloatArray, X: FloatArray, d: FloatArray) -> None:
    """Refuse positions where the dependents have no derivatives.

    Raises:
        SingularSystem: naming the loop, the frame, and what could be done.
    """
    weak = np.flatnonzero(~(margin > SINGULAR))
    if not weak.size:
        return
    frame = int(weak[0])
    where = ", ".join(f"{name} = {value:.6g}" for name, value in zip(loop.inputs, X[frame], strict=True))
    _, A = loop.evaluate(np.hstack([X, d])[[frame]])
    values = np.linalg.svd(A[0] * loop.scale, compute_uv=False)
    if values[len(loop.dependents) - 1] <= SINGULAR * values[0]:
        raise SingularSystem(
            f"the {loop.title} is in a singular position at frame {frame} ({where}): its equations lose rank there and "
            "branches meet; keep away from it, or change the mechanism's lengths"
        )
    raise TurningPoint(
        f"the {loop.title} is at a turning point at frame {frame}: {', '.join(loop.inputs)} cannot drive it there "
        f"({where}); choose other independent coordinates with embedding_of(model, independent=(...)), for instance "
        f"{loop.dependents[0]!r}"
    )


@dataclass(frozen=True)
class Projection(LoopMethod):
    """Exact derivatives by implicit differentiation; the method to use unless there is a reason for another."""

    def variables(self, loop: Loop, branch: FloatArray) -> ProjectedVariables:
        return ProjectedVariables(loop, branch)
