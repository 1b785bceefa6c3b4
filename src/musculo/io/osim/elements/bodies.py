"""Bodies, ground, markers, wrap objects and contact shapes from the 40600 layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from musculo.io.osim.context import Context, account, carried, component_path, members
from musculo.io.osim.elements.known_elements import PROPERTIES
from musculo.io.osim.xml import Element, flag, invalid, number, objects, text, vector
from musculo.model.body import Body, Marker
from musculo.model.contact_model import ContactGeometry
from musculo.model.validate import negative_moment
from musculo.model.wrap import (
    QUADRANTS,
    UnsupportedWrapObject,
    WrapCylinder,
    WrapEllipsoid,
    WrapObject,
    WrapSphere,
    WrapTorus,
)
from musculo.spatial.inertia import tensor

_ZERO = (0.0, 0.0, 0.0)
# A principal moment may exceed the sum of the others by this share of it before a note is made (six printed digits).
TRIANGLE_TOLERANCE = 1e-5


def read_bodies(context: Context) -> tuple[Body, ...]:
    return tuple(_read_body(element, context) for element in members(context.model, "BodySet", "Body", context))


def _read_body(element: Element, context: Context) -> Body:
    mass = number(element, "mass", None)
    if mass < 0.0 or not np.isfinite(mass):
        raise invalid(element, f"its mass is {mass:g} kg; give a finite mass of zero or more")
    inertia = vector(element, "inertia", 6, (0.0,) * 6)
    if mass == 0.0 and any(inertia):
        context.note(element, "it has inertia but no mass; zero inertia is used, as OpenSim does")
        inertia = (0.0,) * 6
    _check_inertia(element, inertia, context)
    return Body(
        name=element.get("name", ""),
        mass=mass,
        mass_center=vector(element, "mass_center", 3, _ZERO),
        inertia=inertia,
        carried=carried(element, context),
    )


def _check_inertia(element: Element, inertia: tuple[float, ...], context: Context) -> None:
    if not all(np.isfinite(inertia)):
        raise invalid(element, "its inertia is not finite; correct <inertia>")
    if negative_moment(inertia) is not None:
        return  # the model notes it
    moments = np.linalg.eigvalsh(tensor(inertia))
    excess = moments[2] - moments[0] - moments[1]
    if excess > TRIANGLE_TOLERANCE * moments[2]:
        context.note(
            element,
            f"its largest principal moment exceeds the sum of the others by {excess / moments[2]:.1%}, which no body "
            "can have; it is used as it stands, as OpenSim does",
        )


def ground_carried(context: Context) -> tuple[str, ...]:
    ground = context.model.find("Ground")
    return () if ground is None else carried(ground, context)


def read_markers(context: Context) -> tuple[Marker, ...]:
    return tuple(
        Marker(
            name=element.get("name", ""),
            frame=context.frame_key(element, "parent_frame"),
            location=vector(element, "location", 3, _ZERO),
            fixed=flag(element, "fixed", False),
            carried=carried(element, context),
        )
        for element in members(context.model, "MarkerSet", "Marker", context)
    )


# --- shapes -----------------------------------------------------------------------------------------------------------
def read_wrap_objects(context: Context) -> tuple[WrapObject, ...]:
    """Wrap objects of all frames: ground first, then bodies and offset frames in file order."""
    found: list[WrapObject] = []
    ground = context.model.find("Ground")
    owners = [] if ground is None else [ground]
    owners += [*objects(context.model, "BodySet"), *context.offset_frames.values()]
    for owner in owners:
        held = owner.find("WrapObjectSet")
        if held is None:
            continue
        account(held, context)
        frame = context.key(component_path(owner))
        for element in held.iterfind("objects/*"):
            found.append(_read_wrap(element, frame, context))
    return tuple(found)


def _read_wrap(element: Element, frame: str, context: Context) -> WrapObject:
    common: dict[str, Any] = {
        "name": element.get("name", ""),
        "frame": frame,
        "translation": vector(element, "translation", 3, _ZERO),
        "orientation": vector(element, "xyz_body_rotation", 3, _ZERO),
        "quadrant": (text(element, "quadrant") or "all").lower().replace("unassigned", "all"),
        "active": flag(element, "active", True),
        "carried": carried(element, context, "WrapObject"),
    }
    if common["quadrant"] not in QUADRANTS:
        raise invalid(element, f"its quadrant is {common['quadrant']!r}; known: {', '.join(QUADRANTS)}")
    if element.tag == "WrapCylinder":
        sizes = {"radius": number(element, "radius", 1.0), "length": number(element, "length", 1.0)}
        return WrapCylinder(**common, **_positive(element, sizes))
    if element.tag == "WrapSphere":
        return WrapSphere(**common, **_positive(element, {"radius": number(element, "radius", 0.05)}))
    if element.tag == "WrapEllipsoid":
        axes = vector(element, "dimensions", 3, (0.05, 0.05, 0.05))
        _positive(element, {"dimensions": min(axes)})
        return WrapEllipsoid(**common, semi_axes=axes)
    if element.tag == "WrapTorus":
        sizes = {
            "inner_radius": number(element, "inner_radius", 0.01),
            "outer_radius": number(element, "outer_radius", 0.05),
        }
        return WrapTorus(**common, **_positive(element, sizes))
    context.note(element, "wrap objects of this kind are kept; paths ignore them")
    return UnsupportedWrapObject(**common, element=element.tag)


def _positive(element: Element, sizes: dict[str, float]) -> dict[str, Any]:
    for name, value in sizes.items():
        if not value > 0.0:
            raise invalid(element, f"its {name} is {value:g} m; give a length above zero")
    return sizes


_CONTACT_DIMENSIONS = {
    "ContactSphere": ("radius",),
    "ContactCylinder": ("radius",),
    "ContactEllipsoid": ("radii",),
    "ContactTorus": ("tube_radius", "torus_radius"),
}


def contact_dimension_tags(kind: str) -> tuple[str, ...]:
    """The properties that hold the dimensions of a contact shape, in order."""
    return _CONTACT_DIMENSIONS.get(kind, ())


def read_contact_geometries(context: Context) -> tuple[ContactGeometry, ...]:
    shapes = []
    for element in objects(context.model, "ContactGeometrySet"):
        if element.tag not in PROPERTIES:
            context.note(element, "contact shapes of this kind are kept; contact forces ignore them")
        tags = contact_dimension_tags(element.tag)
        dimensions: tuple[float, ...] = ()
        for tag in tags:
            dimensions += vector(element, tag, 3 if tag == "radii" else 1, None)
        shapes.append(
            ContactGeometry(
                name=element.get("name", ""),
                kind=element.tag,
                frame=context.frame_key(element, "frame"),
                location=vector(element, "location", 3, _ZERO),
                orientation=vector(element, "orientation", 3, _ZERO),
                dimensions=dimensions,
                filename=text(element, "filename"),
                carried=carried(element, context, "ContactGeometry"),
            )
        )
    return tuple(shapes)
