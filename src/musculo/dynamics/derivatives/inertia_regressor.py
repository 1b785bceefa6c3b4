"""Generalized forces as a linear function of what bodies weigh: for identification, scaling and sensitivities."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import motion_in
from musculo.dynamics.poses import kinematics
from musculo.model.model import Model
from musculo.results.table import Table
from musculo.spatial.rotation import skew


@dataclass(frozen=True, eq=False)
class InverseDynamicsRegressor:
    """tau = sum over bodies of regressor @ parameters; arrays have no frame axis for a single state.

    Parameters of a body are its mass m, its first moment m c, and its inertia tensor about its origin
    (xx, yy, zz, xy, xz, yz), all in its own frame: tau is linear in these.
    """

    model: Model = field(repr=False)
    speed_names: tuple[str, ...]
    body_names: tuple[str, ...]
    regressor: FloatArray = field(repr=False)  # (frames, n_u, bodies, 10) d(tau)/d(parameters)
    parameters: FloatArray = field(repr=False)  # (bodies, 10) of the model
    dtau_dgravity: FloatArray = field(repr=False)  # (frames, n_u, 3) minus the sum of m times Jacobians of mass centers

    @cached_property
    def dtau_dbodies(self) -> FloatArray:
        """(frames, n_u, bodies, 10) by mass at a fixed mass center, by the mass center (3), and by central inertia (6).

        As `Body` has them. With c the mass center: dpi/dm = (1, c, s(c)), dpi/dc_k = (0, m e_k, m ds/dc_k), where
        s(c) = c . c 1 - c c^T.
        """
        chain = np.zeros((len(self.body_names), 10, 10))
        for k, name in enumerate(self.body_names):
            body = self.model.body(name)
            x, y, z = body.mass_center
            chain[k, 0, 0] = 1.0
            chain[k, 1:4, 0] = x, y, z
            chain[k, 4:, 0] = y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z
            chain[k, 1:4, 1:4] = body.mass * np.eye(3)
            chain[k, 4:, 1] = body.mass * np.array([0.0, 2 * x, 2 * x, -y, -z, 0.0])
            chain[k, 4:, 2] = body.mass * np.array([2 * y, 0.0, 2 * y, -x, 0.0, -z])
            chain[k, 4:, 3] = body.mass * np.array([2 * z, 2 * z, 0.0, 0.0, -x, -y])
            chain[k, 4:, 4:] = np.eye(6)
        return np.einsum("...ubp,bpk->...ubk", self.regressor, chain)


def inverse_dynamics_regressor(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    *,
    threads: int | None = None,
) -> InverseDynamicsRegressor:
    """The regressor of inverse dynamics, tau = Y pi, and with it derivatives by masses, mass centers and inertias.

        f = m a + (alpha~ + w~ w~) h,   t = h x a + L(alpha) i + w x L(w) i,   with L(w) i = I w,   a less gravity

    of each body in its own frame about its origin; Y is the transposed Jacobian of this frame times the above.

    Source:     the Newton-Euler equations of one body, which are linear in its ten parameters.
    Guarantees: Y pi is `inverse_dynamics` without loads, to rounding.

    Args:
        model: the model.
        q, u, udot: (frames, n) or (n,) coordinates, speeds and accelerations, as `inverse_dynamics` has them. 80 bytes
            a frame, speed and body are returned.
        threads: the number of threads; all cores by default.
    """
    Q, U, A, single = motion_in(model, q, u, udot)
    motion = kinematics(model, Q, U, A, threads=threads)
    frames, n_u, names = len(Q), U.shape[1], model.body_names
    Y, by_gravity = np.zeros((frames, n_u, len(names), 10)), np.zeros((frames, n_u, 3))
    parameters = np.zeros((len(names), 10))
    for k, name in enumerate(names):
        body = model.body(name)
        R, _ = motion.batch_pose(name)
        J = motion.frame_jacobian(name)
        w, alpha, a = (motion.angular_velocity(name), motion.angular_acceleration(name), motion.acceleration(name))
        w, alpha, a = (np.einsum("fji,fj->fi", R, x) for x in (w, alpha, a - np.array(model.gravity)))
        turn, move = np.einsum("fji,fju->fui", R, J[:, :3]), np.einsum("fji,fju->fui", R, J[:, 3:])
        swing = skew(w)
        spread = skew(alpha) + swing @ swing
        Y[:, :, k, 0] = np.einsum("fui,fi->fu", move, a)
        Y[:, :, k, 1:4] = move @ spread - turn @ skew(a)
        Y[:, :, k, 4:] = turn @ (_tensor_times(alpha) + swing @ _tensor_times(w))
        c, m = np.asarray(body.mass_center, dtype=float), body.mass
        # of the mass center: v + w x c, in ground
        center = J[:, 3:] - skew(np.einsum("fij,j->fi", R, c)) @ J[:, :3]
        by_gravity -= m * np.swapaxes(center, 1, 2)
        xx, yy, zz, xy, xz, yz = body.inertia
        x, y, z = c
        parameters[k, :4] = m, *(m * c)
        parameters[k, 4:7] = xx + m * (y * y + z * z), yy + m * (x * x + z * z), zz + m * (x * x + y * y)
        parameters[k, 7:] = xy - m * x * y, xz - m * x * z, yz - m * y * z
    if single:
        Y, by_gravity = Y[0], by_gravity[0]
    return InverseDynamicsRegressor(model, model.speed_names, names, Y, parameters, by_gravity)


def _tensor_times(w: FloatArray) -> FloatArray:
    """L(w) (frames, 3, 6) with L(w) (xx, yy, zz, xy, xz, yz) = I w."""
    x, y, z = np.moveaxis(w, -1, 0)
    zero = np.zeros_like(x)
    rows = ([x, zero, zero, y, z, zero], [zero, y, zero, x, zero, z], [zero, zero, z, zero, x, y])
    return np.stack([np.stack(row, -1) for row in rows], -2)
