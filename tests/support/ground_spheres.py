"""Models with spheres that touch flat ground smoothly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from musculo import Model
from musculo.model import ContactGeometry
from musculo.model.force import Force

RADIUS = 0.03


def with_spheres(
    model: Model,
    places: Mapping[str, tuple[str, tuple[float, ...]]],
    floor: float = 0.0,
    stiffness: float = 3e6,
    tilt: tuple[float, float, float] = (0.0, 0.0, -np.pi / 2),
    **law: float,
) -> Model:
    """The model with spheres of 3 cm: body and place by name. `tilt`: how the half-space is turned."""
    stated = {
        "stiffness": stiffness,
        "dissipation": 2.0,
        "static_friction": 0.8,
        "dynamic_friction": 0.7,
        "viscous_friction": 0.5,
        "transition_velocity": 0.2,
    } | law
    shapes = [ContactGeometry("floor", "ContactHalfSpace", "ground", location=(0.0, floor, 0.0), orientation=tilt)]
    forces = []
    for name, (body, place) in places.items():
        shapes.append(ContactGeometry(name, "ContactSphere", body, location=place, dimensions=(RADIUS,)))
        sockets = {
            "socket_sphere": f"/contactgeometryset/{name}",
            "socket_half_space": "/contactgeometryset/floor",
        }
        properties = {key: repr(float(value)) for key, value in stated.items()} | sockets
        forces.append(Force(f"under_{name}", "SmoothSphereHalfSpaceForce", properties=tuple(properties.items())))
    return model.replace(contact_geometries=tuple(shapes), forces=(*model.forces, *forces))
