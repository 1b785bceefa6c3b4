"""Shapes that may touch, fixed to a frame, and forces between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from musculo.errors import InvalidInput
from musculo.model.body import Vec3
from musculo.model.force import Force

ContactKind = Literal["HuntCrossleyForce", "ElasticFoundationForce"]
_KINDS = ("HuntCrossleyForce", "ElasticFoundationForce")
_NUMBERS = ("stiffness", "dissipation", "static_friction", "dynamic_friction", "viscous_friction")


@dataclass(frozen=True)
class ContactGeometry:
    """A contact shape of `kind` (the file's element) in `frame`: a body name, `ground`, or an offset frame's path.

    X_FC = (Rxyz(orientation), location). `dimensions` are, by kind: sphere and cylinder (radius,); ellipsoid its three
    radii; torus (tube radius, ring radius); half space none, it is where its x is positive; mesh none, its file in
    `filename`.
    """

    name: str
    kind: str
    frame: str
    location: Vec3 = (0.0, 0.0, 0.0)
    orientation: Vec3 = (0.0, 0.0, 0.0)
    dimensions: tuple[float, ...] = ()
    filename: str = ""
    carried: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContactMaterial:
    """What shapes of a contact force are made of.

    Args:
        shapes: names of contact shapes.
        stiffness: [N/m^2] of `HuntCrossleyForce` (plane-strain modulus), [N/m^3] of `ElasticFoundationForce`.
        dissipation: [s/m].
        static_friction, dynamic_friction: coefficients.
        viscous_friction: [s/m].
    """

    shapes: tuple[str, ...]
    stiffness: float
    dissipation: float = 0.0
    static_friction: float = 0.0
    dynamic_friction: float = 0.0
    viscous_friction: float = 0.0


def contact_force(
    name: str,
    kind: ContactKind,
    materials: Sequence[ContactMaterial],
    transition_velocity: float = 0.01,
) -> Force:
    """A contact force between all shapes that its materials name, as a file would state it.

    Args:
        name: of the force.
        kind: "HuntCrossleyForce" for spheres and half-spaces, "ElasticFoundationForce" for meshes against them or
            each other.
        materials: of the shapes.
        transition_velocity: of slip at which friction is greatest [m/s].
    """
    if kind not in _KINDS:
        smooth = "; a SmoothSphereHalfSpaceForce has one sphere and states its law in Force(..., properties=...)"
        law = smooth if "Smooth" in kind else ""
        raise InvalidInput(f"contact_force: kind {kind!r} is not known; it is one of {', '.join(_KINDS)}{law}")
    inner = ""
    for material in materials:
        values = [
            ("geometry", " ".join(material.shapes)),
            *((key, repr(float(getattr(material, key)))) for key in _NUMBERS),
        ]
        stated = "".join(f"<{key}>{escape(value, quote=False)}</{key}>" for key, value in values)
        inner += f"<{kind}::ContactParameters>{stated}</{kind}::ContactParameters>"
    tag = f"{kind}::ContactParametersSet"
    xml = f'<{tag} name="contact_parameters"><objects>{inner}</objects><groups/></{tag}>'
    return Force(name, kind, properties=(("transition_velocity", repr(float(transition_velocity))),), carried=(xml,))
