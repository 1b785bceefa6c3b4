"""Contact of a sphere with a half-space whose force is smooth in all it depends on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.errors import InvalidModel
from musculo.forces import stated_forces as stated
from musculo.forces.contact_shapes import contact_shape, radius_of, shape_place
from musculo.forces.placed import Acting, Columns, Found, Moving, between, cross, vector_columns
from musculo.kernels.contact.contact_pressure import Friction, SmoothPairs
from musculo.model.force import Force
from musculo.model.model import Model


class SmoothContacts:
    """`<SmoothSphereHalfSpaceForce>`: Hertz and Hunt-Crossley with tanh in place of every corner but one.

    The law is `musculo.kernels.contact.contact_pressure.smooth_wrench`.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        spheres = [contact_shape(force, model, force.text("socket_sphere"), "ContactSphere") for force in forces]
        planes = [contact_shape(force, model, force.text("socket_half_space"), "ContactHalfSpace") for force in forces]
        self.first, self.second = shape_place(model, planes), shape_place(model, spheres)

        def of(key: str, default: float) -> np.ndarray:
            return np.array([stated.finite(force, key, default) for force in forces], dtype=float)

        stiffness = of("stiffness", 1.0)
        for force, E in zip(forces, stiffness, strict=True):
            if E < 0.0:
                raise InvalidModel(f"{stated.described(force)}: its stiffness is {E:g}; give zero or more")
        dissipation = of("dissipation", 0.0)
        with np.errstate(divide="ignore"):
            lowest = np.where(dissipation != 0.0, 2.0 / (3.0 * dissipation), np.inf)
        self.data = SmoothPairs(
            self.first.frames,
            self.second.frames,
            np.ascontiguousarray(self.first.R[:, :, 0]),
            np.array([radius_of(sphere) for sphere in spheres], dtype=float),
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

    def acting(self, s: Moving, found: Found) -> Acting:
        return between(self.first, self.second, found)

    def columns(self, s: Moving, acting: Acting) -> Columns:
        found: Columns = []
        n = len(self.names)
        of_plane, of_sphere = self.first.body_origin(s), self.second.body_origin(s)
        for k, name in enumerate(self.names):
            for origin, row, label in ((of_sphere, n + k, "Sphere"), (of_plane, k, "HalfSpace")):
                F = acting.wrench[:, row, 3:]
                T = acting.wrench[:, row, :3] - cross(origin[:, k], F)
                found += vector_columns(k, f"{name}.{label}.force", F)
                found += vector_columns(k, f"{name}.{label}.torque", T)
        return found
