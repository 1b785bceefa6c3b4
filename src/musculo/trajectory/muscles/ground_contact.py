"""Spheres of a model that touch flat ground smoothly: their forces at nodes, with exact slopes.

The law is that of `musculo.kernels.contact.contact_pressure.smooth_wrench`, as a function of how deep a sphere is, how
its center moves and how it turns. Slopes of the law are complex steps; those of how a sphere moves follow from its
Jacobian, and from accelerations, which are quadratic forms of speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.errors import Unsupported
from musculo.forces.contact_shapes import contact_shape, radius_of
from musculo.forces.contact_smooth import SmoothContacts
from musculo.model.body import GROUND
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.spatial.pose import Pose

KIND = "SmoothSphereHalfSpaceForce"
_STEP = 1e-30


class ContactSlopes(NamedTuple):
    """Generalized forces that contacts exert on speeds of the tree, while numbers of their wrenches change."""

    by_q: FloatArray  # (nodes, n_u, n_u) J^T dW/dq: without the change of J
    by_u: FloatArray  # (nodes, n_u, n_u)


class GroundContacts:
    """All smooth contacts of a model with half-spaces of ground.

    Raises:
        Unsupported: a half-space that is fixed to another body.
    """

    def __init__(self, model: Model, forces: Sequence[Force], threads: int | None = None) -> None:
        self.model, self.names, self.threads = model, tuple(force.name for force in forces), threads
        data = SmoothContacts(model, forces).data
        self.bodies: list[str] = []
        points, normals, origins = [], [], []
        for force in forces:
            sphere = contact_shape(force, model, force.text("socket_sphere"), "ContactSphere")
            plane = contact_shape(force, model, force.text("socket_half_space"), "ContactHalfSpace")
            at, floor = (model.placement(shape.frame) for shape in (sphere, plane))
            if floor.body != GROUND:
                raise Unsupported(
                    f"contact {force.name!r} is with a half-space on {floor.body!r}; only ground is known"
                )
            center, place = (
                Pose.from_xyz(p.orientation, p.translation) @ Pose.from_xyz(shape.orientation, shape.location)
                for p, shape in ((at, sphere), (floor, plane))
            )
            self.bodies.append(at.body)
            points.append(center.p)
            normals.append(place.R[:, 0])
            origins.append(place.p)
            radius_of(sphere)
        self.points, self.normals, self.origins = (np.array(x).reshape(-1, 3) for x in (points, normals, origins))
        self.data = data

    # --- the law ------------------------------------------------------------------------------------------------------
    def _law(self, x: Any, v: Any, w: Any) -> tuple[Any, Any]:
        """Force (nodes, contacts, 3) and moment about the center of spheres at depth x that move at v and turn at w."""
        d, n = self.data, self.normals
        lever = d.radius - 0.5 * x
        at = v + np.cross(w, n) * lever[..., None]
        v_n = (at * n).sum(axis=-1)
        hertz = 4.0 / 3.0 * d.stiffness * np.sqrt(d.radius * d.stiffness) * (x * x + d.constant) ** 0.75
        hertz = hertz * (0.5 + 0.5 * np.tanh(d.hertz * x))
        damped = np.isfinite(d.lowest)
        lowest = np.where(damped, d.lowest, 0.0)
        ramp = np.where(damped, 0.5 + 0.5 * np.tanh(d.hunt * (v_n + lowest)), 1.0)
        normal = hertz * (1.0 + 1.5 * d.dissipation * v_n) * ramp
        slide = at - v_n[..., None] * n
        slip = np.sqrt((slide * slide).sum(axis=-1) + d.constant)
        f = d.friction
        r = slip / f.transition
        dry = f.dynamic + 2.0 * (f.static - f.dynamic) / (1.0 + r * r)
        rub = np.where(np.real(r) < 1.0, r, 1.0) * dry + f.viscous * slip
        force = -(normal[..., None] * n + (normal * rub / slip)[..., None] * slide)
        return force, np.cross(lever[..., None] * n, force)

    def _moving(self, at: Kinematics) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Depths, velocities of centers, angular velocities."""
        both = list(zip(self.bodies, self.points, strict=True))
        p = np.stack([at.position(body, point) for body, point in both], axis=1)
        v = np.stack([at.velocity(body, point) for body, point in both], axis=1)
        w = np.stack([at.angular_velocity(body) for body in self.bodies], axis=1)
        return ((p - self.origins) * self.normals).sum(axis=2) + self.data.radius, v, w

    # --- at states ----------------------------------------------------------------------------------------------------
    def forces(self, q: FloatArray, u: FloatArray) -> FloatArray:
        """(nodes, contacts, 3) forces on the spheres, in ground [N]."""
        return self._law(*self._moving(kinematics(self.model, q, u, threads=self.threads)))[0]

    def loads(self, q: FloatArray, u: FloatArray) -> list[ExternalLoad]:
        """The same as loads on bodies, at the centers of spheres."""
        force, moment = self._law(*self._moving(kinematics(self.model, q, u, threads=self.threads)))
        return [
            ExternalLoad(body, force[:, k], self.points[k], moment[:, k], GROUND, body)
            for k, body in enumerate(self.bodies)
        ]

    def slopes(self, q: FloatArray, u: FloatArray) -> ContactSlopes:
        """How generalized forces change with the numbers of wrenches, by coordinates and speeds of the tree."""
        at = kinematics(self.model, q, u, threads=self.threads)
        x, v, w = self._moving(at)
        law = self._law_slopes(x, v, w)  # (nodes, contacts, 6, 7)
        J = np.stack([at.frame_jacobian(b, p) for b, p in zip(self.bodies, self.points, strict=True)], axis=1)
        turn, move = J[:, :, :3], J[:, :, 3:]
        moving = np.flatnonzero((J != 0.0).any(axis=(0, 1, 2)))
        turn_by_q, move_by_q = self._velocity_slopes(q, u, moving)
        depth = np.einsum("ca,kcaj->kcj", self.normals, move)[:, :, None]
        by_q = np.concatenate([depth, move_by_q, turn_by_q], axis=2)
        by_u = np.concatenate([np.zeros_like(depth), move, turn], axis=2)
        # of moments and forces, in the order of the Jacobian
        found = [np.einsum("kcai,kcaj->kij", J, law @ part) for part in (by_q, by_u)]
        return ContactSlopes(*found)

    def _law_slopes(self, x: FloatArray, v: FloatArray, w: FloatArray) -> FloatArray:
        """(nodes, contacts, 6, 7) slopes of moment and force by depth, velocity and angular velocity."""
        found = np.empty((*x.shape, 6, 7))
        for k in range(7):
            parts = [x.astype(complex), v.astype(complex), w.astype(complex)]
            if k == 0:
                parts[0] += 1j * _STEP
            else:
                parts[1 + (k - 1) // 3][..., (k - 1) % 3] += 1j * _STEP
            force, moment = self._law(*parts)
            found[..., :3, k], found[..., 3:, k] = moment.imag / _STEP, force.imag / _STEP
        return found

    def _velocity_slopes(self, q: FloatArray, u: FloatArray, moving: Any) -> tuple[FloatArray, FloatArray]:
        """(nodes, contacts, 3, n) d(w)/dq and dv/dq at constant u.

        dv/dq_j = (a(u + e_j) - a(u) - a(e_j)) / 2, a(u) the acceleration without udot.
        """
        nodes, n = u.shape
        unit = np.eye(n)[moving]
        count = len(unit)
        speeds = np.concatenate(
            [np.broadcast_to(part, (nodes, *part.shape[1:])) for part in (u[:, None], unit[None], u[:, None] + unit)],
            axis=1,
        )
        places = np.broadcast_to(q[:, None], (nodes, 2 * count + 1, q.shape[1])).reshape(-1, q.shape[1])
        rates = speeds.reshape(-1, n)
        at = kinematics(self.model, places, rates, np.zeros_like(rates), threads=self.threads)
        found = []
        for values in (
            [at.angular_acceleration(body) for body in self.bodies],
            [at.acceleration(body, point) for body, point in zip(self.bodies, self.points, strict=True)],
        ):
            a = np.stack(values, axis=1).reshape(nodes, 2 * count + 1, len(self.bodies), 3)
            mixed = 0.5 * (a[:, count + 1 :] - a[:, :1] - a[:, 1 : count + 1])
            slopes = np.zeros((nodes, len(self.bodies), 3, n))
            slopes[..., moving] = np.moveaxis(mixed, 1, 3)
            found.append(slopes)
        return found[0], found[1]
