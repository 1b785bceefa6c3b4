"""Ground reactions of a walker in two steps, and the joint moments with them, as a node function.

1. Inverse dynamics without contact leaves six generalized forces at the root: what the ground must do. As force F and
   moment M about ground's origin they give the zero-moment point c on the ground (y = 0, up):

       S^T (M, F) = tau_root,    c_x = M_z / F_y,    c_z = -M_x / F_y,    M_y' = M_y - c_z F_x + c_x F_z

   S holds the twists that unit speeds of the root give.
2. This wrench acts on the feet, and inverse dynamics with it leaves nothing at the root. On one foot it acts at c. On
   two feet with the reference points a (trailing) and b (leading), d = b - a, the leading foot carries the part s of
   force and free moment, and both points move sideways together, so that they have c between them:

       s = (c - a) . d / d . d,    e = c - (1 - s) a - s b,    F_b = s F at b + e,    F_a = (1 - s) F at a + e

Source:  [Barman2020], section 5.1, after [XiangArora2009].
Departs: the text on the second step is missing from the copy at hand; it was derived again. The parts act at points
         between which the zero-moment point lies, so that their sum is the whole wrench exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from musculo.arrays import BoolArray, FloatArray, IntArray
from musculo.dynamics.derivatives.dynamics_derivatives import inverse_dynamics_derivatives
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.poses import kinematics
from musculo.errors import unwarned
from musculo.model.model import Model
from musculo.replications.prediction.chain_points import ActiveMotion, speeds_above
from musculo.spatial.cross_product import cross

_ROOT = 6
# Nodes this close to the end of a phase belong to both [s].
_AT_ONCE = 1e-9
# Of differences of exact slopes: rounding over the step and the step itself are both small [rad; of the weight].
_ANGLE_STEP = 1e-7
_WRENCH_STEP = 1e-5


@dataclass(frozen=True)
class Support:
    """Which foot stands where and when, in one step; the left foot leads and the right one trails.

    Args:
        double: end of double support [s].
        toes_begin, toes_end: while the reaction under the leading foot passes from the hindfoot to the toes [s].
        trailing: (x, z) reference point of the trailing foot [m].
        leading: (x, z) reference point of the leading foot [m].
    """

    double: float
    toes_begin: float
    toes_end: float
    trailing: tuple[float, float]
    leading: tuple[float, float]


class _Wrenches(NamedTuple):
    """On bodies, about ground's origin, moment first; and how they follow from the whole."""

    body: str
    wrench: FloatArray  # (nodes, 6)
    slopes: FloatArray  # (nodes, 6, 6)


class _Resultant(NamedTuple):
    wrench: FloatArray  # (nodes, 6) M, F about ground's origin
    point: FloatArray  # (nodes, 2) c_x, c_z
    free: FloatArray  # (nodes,) M_y'
    by_point: FloatArray  # (nodes, 2, 6) slopes by the wrench
    by_free: FloatArray  # (nodes, 6)


class TwoStep:
    """Joint moments with ground reactions, and these, as a node function; slopes are exact.

    Outputs: `c/effort`, the moment as a fraction of its limit, of every active coordinate but the root's;
    `ground/force_x`, `_y`, `_z` as fractions of the weight, `ground/moment_y` [N m], `ground/zmp_x`, `ground/zmp_z`
    [m]; `support/leading`, the part s; and `support/across`, z of e [m]. Inputs: values, speeds and accelerations of
    the active coordinates, and `time`, which slopes ignore: the duration must be a number.

    Args:
        model: whose first six coordinates are those of its root, translations along ground's axes first.
        active: the coordinates that move; others stay at zero.
        support: of the feet, bodies `foot_l`, `toes_l` and `toes_r`.
        strength: the limit of a joint's moment by the name of its coordinate [N m].
    """

    def __init__(self, model: Model, active: Sequence[str], support: Support, strength: Callable[[str], float]) -> None:
        self.motion, self.support = ActiveMotion(model, active), support
        self.moments = tuple(name for name in active if model.coordinate_index(name) >= _ROOT)
        self._rows = np.array([model.coordinate_index(name) for name in self.moments], dtype=np.int64)
        self.inputs = (*self.motion.inputs(2), "time")
        ends = ("force_x", "force_y", "force_z", "moment_y", "zmp_x", "zmp_z")
        self.outputs = (
            *(f"{name}/effort" for name in self.moments),
            *(f"ground/{end}" for end in ends),
            "support/leading",
            "support/across",
        )
        rows, columns = np.indices((len(self.outputs), 3 * len(active)))
        self.pattern: tuple[IntArray, IntArray] = (rows.ravel(), columns.ravel())
        self.curvature_pattern: tuple[IntArray, IntArray] = np.tril_indices(3 * len(active))
        # Far from a solution second derivatives of dynamics mislead a search more than they help; without them squared
        # moments have Gauss and Newton's Hessian.
        self.exact = True
        self.strength = np.array([strength(name) for name in self.moments])
        self.weight = float(np.linalg.norm(model.gravity)) * sum(body.mass for body in model.bodies)
        self._scale = np.concatenate([1.0 / self.strength, np.full(3, 1.0 / self.weight), np.ones(5)])
        self._paths = {body: speeds_above(model, body) for body in ("foot_l", "toes_l", "toes_r")}

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, outputs)."""
        q, u, udot, time = self._given(variables)
        S = kinematics(self.motion.model, q, threads=1).twists().reshape(len(q), -1, 6)
        with unwarned():
            tau = inverse_dynamics(self.motion.model, q, u, udot, threads=1)
        whole = resultant(S[:, :_ROOT], tau[:, :_ROOT])
        feet, leading, across = self.shared(whole, time)
        for one in feet:
            path = self._paths[one.body]
            tau[:, path] -= np.einsum("nks,ns->nk", S[:, path], one.wrench)
        return self._joined(tau, whole, leading[0], across[0])

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, outputs) and (nodes, entries)."""
        q, u, udot, time = self._given(variables)
        model, nodes = self.motion.model, len(q)
        S = kinematics(model, q, threads=1).twists().reshape(nodes, -1, 6)
        with unwarned():
            tau = inverse_dynamics(model, q, u, udot, threads=1)
            d = inverse_dynamics_derivatives(model, q, u, udot, threads=1)
        columns = self.motion.columns
        by = np.concatenate([part[:, :, columns] for part in (d.dtau_dq, d.dtau_du, d.dtau_dudot)], axis=2)
        place = np.full(self.motion.width, -1)
        place[columns] = np.arange(len(columns))

        def add_turned(target: FloatArray, path: IntArray, wrench: FloatArray, sign: float) -> None:
            kept = place[path] >= 0
            part = turned(S[:, path], wrench)[:, :, kept]
            target[:, :, place[path][kept]] += sign * part

        root = np.arange(_ROOT)
        whole = resultant(S[:, :_ROOT], tau[:, :_ROOT])
        right = by[:, :_ROOT].copy()
        add_turned(right, root, whole.wrench, -1.0)
        by_wrench = np.linalg.solve(S[:, :_ROOT], right)  # (nodes, 6, inputs)
        feet, leading, across = self.shared(whole, time)
        for one in feet:
            path = self._paths[one.body]
            tau[:, path] -= np.einsum("nks,ns->nk", S[:, path], one.wrench)
            part = -S[:, path] @ (one.slopes @ by_wrench)
            add_turned(part, path, one.wrench, -1.0)
            by[:, path] += part
        ground = np.concatenate(
            [
                by_wrench[:, 3:],
                np.einsum("ni,nik->nk", whole.by_free, by_wrench)[:, None],
                whole.by_point @ by_wrench,
                np.stack([np.einsum("ni,nik->nk", one[1], by_wrench) for one in (leading, across)], axis=1),
            ],
            axis=1,
        )
        found = np.concatenate([by[:, self._rows], ground], axis=1) * self._scale[:, None]
        return self._joined(tau, whole, leading[0], across[0]), found.reshape(nodes, -1)

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, entries) of the sum over outputs of multipliers times second derivatives; zero unless `exact`.

        With the wrench W as a variable of its own, root equations A W = r as constraints with multipliers sigma, and mu
        the multipliers of moments, the virtual power

            psi(v, W) = (mu + sigma) . tau(v) - T_0 . W - sum over feet of T_b . f_b(W) + kappa . h(W)

        has psi_W = 0, and the second derivative is psi_vv + psi_vW W_v + its transpose + W_v^T psi_WW W_v. T_b is the
        twist of body b at virtual speeds mu, T_0 that of the root at sigma. Slopes of tau are differentiated along
        coordinates by differences, all else exactly.
        """
        if not self.exact:
            return np.zeros((len(variables), len(self.curvature_pattern[0])))
        with unwarned():
            return self._exact_curvatures(variables, multipliers)

    def _exact_curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        q, u, udot, time = self._given(variables)
        model, nodes, n = self.motion.model, len(q), self.motion.width
        S = kinematics(model, q, threads=1).twists().reshape(nodes, -1, 6)
        root = np.arange(_ROOT)
        A = S[:, :_ROOT]
        tau = inverse_dynamics(model, q, u, udot, threads=1)
        whole = resultant(A, tau[:, :_ROOT])
        pull = multipliers * self._scale
        count = len(self.moments)
        mu = np.zeros((nodes, n))
        mu[:, self._rows], kappa = pull[:, :count], pull[:, count:]
        powers = {body: np.einsum("nks,nk->ns", S[:, path], mu[:, path]) for body, path in self._paths.items()}

        def by_wrench(W: FloatArray) -> FloatArray:
            """psi_W without the root's part, at wrenches (several nodes, 6)."""
            several = len(W) // nodes

            def every(values: FloatArray) -> FloatArray:
                return values if several == 1 else np.tile(values, (several, *[1] * (values.ndim - 1)))

            at, pulls = _point_of(W), every(kappa)
            feet, leading, across = self.shared(at, every(time))
            found = pulls[:, 3, None] * at.by_free + np.einsum("nc,nck->nk", pulls[:, 4:6], at.by_point)
            found[:, 3:] += pulls[:, :3]
            found += pulls[:, 6, None] * leading[1] + pulls[:, 7, None] * across[1]
            for one in feet:
                found -= np.einsum("ns,nsk->nk", every(powers[one.body]), one.slopes)
            return found

        sigma: FloatArray = np.asarray(
            np.linalg.solve(np.swapaxes(A, 1, 2), by_wrench(whole.wrench)[:, :, None])[:, :, 0], dtype=float
        )
        virtual = mu.copy()
        virtual[:, :_ROOT] += sigma
        H, D = self._inertial_curvature(q, u, udot, virtual)
        right = D[:, :_ROOT].copy()
        right[:, :, :_ROOT] -= turned(A, whole.wrench)
        W_v = np.linalg.solve(A, right)
        Q = np.zeros((nodes, n, 6))
        feet, _, _ = self.shared(whole, time)
        identity = np.broadcast_to(np.eye(6), (nodes, 6, 6))
        for path, rates, wrench, slopes in (
            (root, sigma, whole.wrench, identity),
            *((self._paths[one.body], mu[:, self._paths[one.body]], one.wrench, one.slopes) for one in feet),
        ):
            Z, bent = _bent_twists(S[:, path], rates, wrench)
            some = np.ix_(np.arange(nodes), path, path)
            H[some] -= bent
            Q[:, path] -= Z @ slopes
        mixed = Q @ W_v
        H[:, :n] += mixed
        H[:, :, :n] += np.swapaxes(mixed, 1, 2)
        step = _WRENCH_STEP * self.weight
        around = whole.wrench + step * np.concatenate([np.eye(6), -np.eye(6)])[:, None]
        ahead, behind = by_wrench(around.reshape(-1, 6)).reshape(2, 6, nodes, 6)
        bend = np.moveaxis((ahead - behind) / (2.0 * step), 0, 2)
        H += np.swapaxes(W_v, 1, 2) @ (0.5 * (bend + np.swapaxes(bend, 1, 2))) @ W_v
        columns = np.concatenate([k * n + self.motion.columns for k in range(3)])
        low = self.curvature_pattern
        return np.asarray(H[:, columns[low[0]], columns[low[1]]])

    def _inertial_curvature(
        self, q: FloatArray, u: FloatArray, udot: FloatArray, mu: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Second derivatives (nodes, 3 n, 3 n) of mu . tau at constant mu, and the slopes (nodes, n, 3 n) of tau.

        d2/dq du, d2/dq dq   by differences of exact slopes
        d2/dq dudot = X      = d(M mu)/dq = dtau/dq(q, 0, mu) - dtau/dq(q, 0, 0), transposed
        d2/du du = 2 X - dtau/du(q, mu)       from tau = M udot + (dM - dM^T / 2) u u
        """
        model, (nodes, n) = self.motion.model, q.shape
        rest = np.zeros_like(q)
        moving = self.motion.columns[self.motion.columns >= 3]  # translations of the root change nothing
        steps = np.zeros((len(moving), n))
        steps[np.arange(len(moving)), moving] = _ANGLE_STEP
        around = (q[:, None] + steps).reshape(-1, n)
        several = len(moving)

        def slopes(*state: FloatArray) -> FloatArray:
            d = inverse_dynamics_derivatives(model, *state, threads=1)
            return np.concatenate([d.dtau_dq, d.dtau_du, d.dtau_dudot], axis=2)

        D = slopes(q, u, udot)
        H = np.zeros((nodes, 3 * n, 3 * n))
        d = inverse_dynamics_derivatives(
            model, around, np.repeat(u, several, 0), np.repeat(udot, several, 0), threads=1
        )
        ahead = [
            (np.repeat(mu, several, 0)[:, None] @ part)[:, 0].reshape(nodes, several, n)
            for part in (d.dtau_dq, d.dtau_du)
        ]
        here = mu[:, None] @ D
        H[:, moving, :n] = (ahead[0] - here[:, :, :n]) / _ANGLE_STEP
        H[:, :n, :n] = 0.5 * (H[:, :n, :n] + np.swapaxes(H[:, :n, :n], 1, 2))
        by_qu = (ahead[1] - here[:, :, n : 2 * n]) / _ANGLE_STEP
        H[:, moving, n : 2 * n] = by_qu
        H[:, n : 2 * n, moving] = np.swapaxes(by_qu, 1, 2)
        X = slopes(q, rest, mu)[:, :, :n] - slopes(q, rest, rest)[:, :, :n]
        H[:, 2 * n :, :n] = X
        H[:, :n, 2 * n :] = np.swapaxes(X, 1, 2)
        H[:, n : 2 * n, n : 2 * n] = 2.0 * X - slopes(q, mu, rest)[:, :, n : 2 * n]
        return H, D

    def reactions(self, variables: FloatArray) -> dict[str, FloatArray]:
        """(nodes, 6) wrench of ground about its origin, moment first, on every body that touches it."""
        q, u, udot, time = self._given(variables)
        S = kinematics(self.motion.model, q, threads=1).twists().reshape(len(q), -1, 6)
        tau = inverse_dynamics(self.motion.model, q, u, udot, threads=1)
        feet, _, _ = self.shared(resultant(S[:, :_ROOT], tau[:, :_ROOT]), time)
        return {one.body: one.wrench for one in feet}

    def _given(self, variables: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        q, u, udot = self.motion.motion(variables, 2)
        return q, u, udot, variables[:, -1]

    def _joined(self, tau: FloatArray, whole: _Resultant, leading: FloatArray, across: FloatArray) -> FloatArray:
        parts = (tau[:, self._rows], whole.wrench[:, 3:], whole.free, whole.point, leading, across)
        return np.column_stack(parts) * self._scale

    def shared(
        self, whole: _Resultant, time: FloatArray
    ) -> tuple[list[_Wrenches], tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """The second step: wrenches on bodies, and s and e_z, each with its slopes by the whole wrench."""
        x = self.support
        a, b = np.array(x.trailing), np.array(x.leading)
        d = b - a
        alone: BoolArray = time > x.double + _AT_ONCE
        s = np.where(alone, 1.0, (whole.point - a) @ d / (d @ d))
        by_s = np.where(alone[:, None], 0.0, np.einsum("i,nik->nk", d, whole.by_point) / (d @ d))
        e = whole.point - a - s[:, None] * d
        by_e = whole.by_point - by_s[:, None] * d[:, None]
        toes = np.clip((time - x.toes_begin) / (x.toes_end - x.toes_begin), 0.0, 1.0)
        trailing = _at_point(whole, 1.0 - s, -by_s, a + e, by_e)
        # alone, s = 1 and e reaches from b to c: it is c either way
        leading = _at_point(whole, s, by_s, b + e, by_e)
        feet = [_Wrenches("toes_r", *trailing)]
        for body, part in (("toes_l", toes), ("foot_l", 1.0 - toes)):
            feet.append(_Wrenches(body, part[:, None] * leading[0], part[:, None, None] * leading[1]))
        return feet, (s, by_s), (e[:, 1], by_e[:, 1])


def resultant(S: FloatArray, tau: FloatArray) -> _Resultant:
    """The first step: from twists of the root's speeds (nodes, 6, 6) and generalized forces (nodes, 6)."""
    return _point_of(np.asarray(np.linalg.solve(S, tau[:, :, None])[:, :, 0], dtype=float))


def _point_of(W: FloatArray) -> _Resultant:
    """The zero-moment point and free moment of a wrench (nodes, 6), with their slopes."""
    Mx, My, Mz, Fx, Fy, Fz = W.T
    x, z = Mz / Fy, -Mx / Fy
    by_point = np.zeros((len(W), 2, 6))
    by_point[:, 0, 2], by_point[:, 0, 4] = 1.0 / Fy, -x / Fy
    by_point[:, 1, 0], by_point[:, 1, 4] = -1.0 / Fy, -z / Fy
    by_free = np.zeros((len(W), 6))
    by_free[:, 1], by_free[:, 3], by_free[:, 5] = 1.0, -z, x
    by_free += by_point[:, 0] * Fz[:, None] - by_point[:, 1] * Fx[:, None]
    return _Resultant(W, np.stack([x, z], axis=1), My - z * Fx + x * Fz, by_point, by_free)


def turned(S: FloatArray, wrench: FloatArray) -> FloatArray:
    """(nodes, chain, chain) d(S_j . W)/dq_k = (S_k x S_j) . W for k inboard of j, else 0; S from root to tip."""
    w, v = S[..., :3], S[..., 3:]
    M, F = wrench[:, None, :3], wrench[:, None, 3:]
    Y = np.concatenate([cross(w, M) + cross(v, F), cross(w, F)], axis=2)
    return np.tril(Y @ np.swapaxes(S, 1, 2), -1)


def _bent_twists(S: FloatArray, rates: FloatArray, wrench: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First derivatives (nodes, chain, 6) of the twist T = sum of rates S by coordinates; second ones of T . wrench.

    dT/dq_k = S_k x (sum of rates S outboard of k),    d2T/dq_l dq_k = S_l x dT/dq_k for l inboard of k, or k
    """
    parts = rates[:, :, None] * S
    beyond = parts.sum(axis=1, keepdims=True) - np.cumsum(parts, axis=1)
    w, v = S[..., :3], S[..., 3:]
    Z = np.concatenate([cross(w, beyond[..., :3]), cross(w, beyond[..., 3:]) + cross(v, beyond[..., :3])], axis=2)
    M, F = wrench[:, None, :3], wrench[:, None, 3:]
    Y = np.concatenate([cross(Z[..., :3], M) + cross(Z[..., 3:], F), cross(Z[..., :3], F)], axis=2)
    upper = np.triu(S @ np.swapaxes(Y, 1, 2))
    return Z, upper + np.swapaxes(np.triu(upper, 1), 1, 2)


def _at_point(
    whole: _Resultant, part: FloatArray, by_part: FloatArray, point: FloatArray, by_point: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A part of force and free moment at a point (x, z) on the ground: wrench about the origin and its slopes."""
    nodes, F = len(part), whole.wrench[:, 3:]
    P = np.zeros((nodes, 3))
    P[:, 0], P[:, 2] = point.T
    force = part[:, None] * F
    by_force = part[:, None, None] * np.eye(6)[3:] + F[:, :, None] * by_part[:, None]
    moment = cross(P, force)
    moment[:, 1] += part * whole.free
    by_moment = np.swapaxes(cross(P[:, None], np.swapaxes(by_force, 1, 2)), 1, 2)
    dx, dz = by_point[:, 0], by_point[:, 1]
    by_moment[:, 0] -= dz * force[:, 1:2]
    by_moment[:, 1] += dz * force[:, :1] - dx * force[:, 2:]
    by_moment[:, 1] += by_part * whole.free[:, None] + part[:, None] * whole.by_free
    by_moment[:, 2] += dx * force[:, 1:2]
    return np.hstack([moment, force]), np.concatenate([by_moment, by_force], axis=1)
