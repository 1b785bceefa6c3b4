"""Contact of a sphere with a half-space whose force is smooth in all it depends on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.errors import InvalidModel
from musculo.forces import stated_forces as stated
from musculo.forces.contact_shapes import contact_shape, radius_of, shape_place
from musculo.forces.placed import Acting, Columns, Moving, cross, on_bodies, vector_columns
from musculo.kernels.contact.contact_pressure import Friction, SmoothPairs, smooth_frames
from musculo.model.force import Force
from musculo.model.model import Model


class SmoothContacts:
    """`<SmoothSphereHalfSpaceForce>`: Hertz and Hunt-Crossley with tanh in place of every corner but one.

        x    = R + n . (p_S - p_H)               n into the half-space, its x axis; x is negative where they are apart
        f_H  = 4/3 k sqrt(R k) (x^2 + c_f)^(3/4) (1 + tanh(b_d x)) / 2,    k = E^(2/3) / 2
        f    = f_H (1 + 3/2 c v_n) (1 + tanh(b_v (v_n + 2 / (3 c)))) / 2,  v_n the speed of approach
        v_s  = sqrt(|v_t|^2 + c_f),   friction f mu(v_s) v_t / v_s          (`kernels.contact._friction`)
        V    = 2/5 f_H x

    The sphere feels -(f n + friction) at the point half way between the surfaces, the half-space the opposite.

    Source:     [Serrancoli2019]; OpenSim 4.6, observed behavior.
    Departs:    nothing by intention. V is OpenSim's, and no integral of f_H: it is only close to one, and negative
                where the surfaces are apart. min(v_s / v_t, 1) of friction is a corner that is left. Without
                dissipation the last factor of f is 1, as its limit is.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        spheres = [contact_shape(force, model, force.text("socket_sphere"), "ContactSphere") for force in forces]
        planes = [contact_shape(force, model, force.text("socket_half_space"), "ContactHalfSpace") for force in forces]
        self._sphere, self._plane = shape_place(model, spheres), shape_place(model, planes)

        def of(key: str, default: float) -> np.ndarray:
            return np.array([stated.finite(force, key, default) for force in forces])

        stiffness = of("stiffness", 1.0)
        for force, E in zip(forces, stiffness, strict=True):
            if E < 0.0:
                raise InvalidModel(f"{stated.described(force)}: its stiffness is {E:g}; give zero or more")
        dissipation = of("dissipation", 0.0)
        with np.errstate(divide="ignore"):
            lowest = np.where(dissipation != 0.0, 2.0 / (3.0 * dissipation), np.inf)
        self._pairs = SmoothPairs(
            self._plane.node,
            self._sphere.node,
            self._plane.offset,
            self._sphere.offset,
            np.ascontiguousarray(self._plane.R[:, :, 0]),
            np.array([radius_of(sphere) for sphere in spheres]),
            0.5 * stiffness ** (2.0 / 3.0),
            dissipation,
            lowest,
            of("constant_contact_force", 1e-5),
            of("hertz_smoothing", 300.0),
            of("hunt_crossley_smoothing", 50.0),
            Friction(
                of("static_friction", 0.0),
                of("dynamic_friction", 0.0),
                of("viscous_friction", 0.0),
                of("transition_velocity", 0.01),
            ),
        )

    def act(self, s: Moving) -> Acting:
        frames, n = len(s.q), len(self.names)
        wrench, energy = np.empty((frames, n, 6)), np.empty((frames, n))
        smooth_frames(self._pairs, s.R, s.motion, wrench, energy, 0, frames)
        every = np.arange(n)
        rows = np.concatenate([every, every]), np.concatenate([self._sphere.body, self._plane.body])
        return on_bodies(frames, *rows, np.concatenate([-wrench, wrench], axis=1), energy, n)

    def columns(self, s: Moving, acting: Acting) -> Columns:
        found: Columns = []
        n = len(self.names)
        of_sphere, of_plane = self._sphere.body_origin(s), self._plane.body_origin(s)
        for k, name in enumerate(self.names):
            for origin, row, label in ((of_sphere, k, "Sphere"), (of_plane, n + k, "HalfSpace")):
                F = acting.wrench[:, row, 3:]
                T = acting.wrench[:, row, :3] - cross(origin[:, k], F)
                found += vector_columns(k, f"{name}.{label}.force", F)
                found += vector_columns(k, f"{name}.{label}.torque", T)
        return found
