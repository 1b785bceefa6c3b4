"""Shapes of contacts and their materials, as forces name them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from musculo.errors import InvalidModel, MusculoError, UnknownName
from musculo.forces.placed import Placed, placed
from musculo.forces.stated_forces import described, last_name
from musculo.io.osim.xml import from_text
from musculo.model.contact_model import ContactGeometry
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.spatial.pose import Pose


def contact_shape(force: Force, model: Model, stated: str, kind: str = "") -> ContactGeometry:
    """The shape that a force names by its name or path, of a kind where one is needed."""
    name = last_name(stated.strip())
    found = next((shape for shape in model.contact_geometries if shape.name == name), None)
    if found is None:
        raise UnknownName("contact shape", name, [g.name for g in model.contact_geometries], described(force))
    if kind and found.kind != kind:
        raise InvalidModel(f"{described(force)}: {name!r} is a {found.kind}; it needs a {kind}")
    return found


def radius_of(shape: ContactGeometry) -> float:
    """Of a sphere [m]."""
    radius = shape.dimensions[0] if shape.dimensions else 0.0
    if not radius > 0.0 or not math.isfinite(radius):
        raise InvalidModel(f"contact shape {shape.name!r} has radius {radius:g}; give one above zero")
    return radius


def shape_place(model: Model, shapes: Sequence[ContactGeometry]) -> Placed:
    """Where the shapes are: their frames, moved and turned as the shapes say."""
    offsets = [Pose.from_xyz(shape.orientation, shape.location) for shape in shapes]
    return placed(model, [shape.frame for shape in shapes], offsets)


@dataclass(frozen=True)
class Material:
    """What a contact force says about a shape."""

    shape: ContactGeometry
    stiffness: float
    dissipation: float  # [s/m]
    static_friction: float
    dynamic_friction: float
    viscous_friction: float  # [s/m]


_NUMBERS = ("stiffness", "dissipation", "static_friction", "dynamic_friction", "viscous_friction")


def materials(force: Force, model: Model) -> list[Material]:
    """The shapes of a contact force in its order, each with its material.

    They stand in `<...::ContactParametersSet>`, which the force carries as XML.
    """
    found = []
    for xml in force.carried:
        try:
            element = from_text(xml)
        except MusculoError as error:
            raise InvalidModel(f"{described(force)}: {error}") from None
        if not element.tag.endswith("ContactParametersSet"):
            continue
        for parameters in element.iterfind("objects/*"):
            values = [_value(force, parameters.findtext(key) or "0", key) for key in _NUMBERS]
            names = (parameters.findtext("geometry") or "").split()
            found += [Material(contact_shape(force, model, name), *values) for name in names]
    return found


def _value(force: Force, text: str, key: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0.0:
        raise InvalidModel(f"{described(force)}: a {key} is {text.strip()!r:.40}; give a number of zero or more")
    return value
