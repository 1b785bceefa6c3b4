"""`write_osim`: a `Model` as an OpenSim model file in the layout of 4.6."""

from __future__ import annotations

import os

from lxml import etree

from musculo.errors import InvalidFile, InvalidInput
from musculo.io.osim.document import Document
from musculo.io.osim.elements.bodies import contact_dimension_tags
from musculo.io.osim.writing.write_forces import write_force
from musculo.io.osim.writing.write_joints import write_constraint, write_joint
from musculo.io.osim.xml import Element, ensure, exact, exact_all, from_text, put, restore_colons
from musculo.io.text import write_text
from musculo.model.body import GROUND, Body, Marker
from musculo.model.contact_model import ContactGeometry
from musculo.model.model import Model, Note
from musculo.model.wrap import (
    UnsupportedWrapObject,
    WrapCylinder,
    WrapEllipsoid,
    WrapObject,
    WrapSphere,
    WrapTorus,
)


def write_osim(model: Model, path: str | os.PathLike[str]) -> tuple[Note, ...]:
    """Write a model so that OpenSim 4.6 and `read_osim` open it with every number as it is.

    The file appears complete or not at all. Joints that OpenSim lacks are written as the same joint in another form
    (screw and cylindrical as custom joints), quaternions as angles, and curves that OpenSim lacks as splines.

    Returns:
        What could not be written exactly, and by how much it differs; empty where all is exact.
    """
    if not isinstance(model, Model) or not isinstance(path, str | os.PathLike):
        raise InvalidInput(
            f"write_osim(model, path) needs a Model and a path, not {type(model).__name__} and {type(path).__name__}"
        )
    document = Document(model)
    _write_model(model, document)
    etree.indent(document.root, space="\t")
    content = restore_colons(etree.tostring(document.root, encoding="unicode"))
    write_text(path, ['<?xml version="1.0" encoding="UTF-8" ?>', content])
    return tuple(document.notes)


def _write_model(model: Model, document: Document) -> None:
    for part in model.carried:
        if not part.owner:
            document.element.append(from_text(part.xml))
    put(document.element, "gravity", exact_all(model.gravity))
    ground = etree.SubElement(document.element, "Ground", name=GROUND)
    document.carry(ground, model.ground_carried)
    document.owners["/ground"] = ground
    document.start_sets()
    for body in model.bodies:
        _write_body(body, document)
    for joint in model.joints:
        write_joint(joint, document)
    for constraint in model.constraints:
        write_constraint(constraint, document)
    for force in model.forces:
        write_force(force, document)
    for marker in model.markers:
        _write_marker(marker, document)
    for shape in model.contact_geometries:
        _write_contact(shape, document)
    _write_carried(model, document)
    _write_frames(model, document)
    for wrap in model.wrap_objects:
        _write_wrap(wrap, document)


def _write_body(body: Body, document: Document) -> None:
    element = document.add("BodySet", "Body", body.name)
    document.carry(element, body.carried)
    put(element, "mass", exact(body.mass))
    put(element, "mass_center", exact_all(body.mass_center))
    put(element, "inertia", exact_all(body.inertia))


def _write_marker(marker: Marker, document: Document) -> None:
    element = document.add("MarkerSet", "Marker", marker.name)
    put(element, "socket_parent_frame", document.socket(marker.frame))
    put(element, "location", exact_all(marker.location))
    put(element, "fixed", "true" if marker.fixed else "false")
    document.carry(element, marker.carried)


def _write_contact(shape: ContactGeometry, document: Document) -> None:
    element = document.add("ContactGeometrySet", shape.kind, shape.name)
    put(element, "socket_frame", document.socket(shape.frame))
    put(element, "location", exact_all(shape.location))
    put(element, "orientation", exact_all(shape.orientation))
    tags = contact_dimension_tags(shape.kind)
    if len(tags) == 1:
        put(element, tags[0], exact_all(shape.dimensions))
    else:
        for tag, value in zip(tags, shape.dimensions, strict=True):
            put(element, tag, exact(value))
    if shape.filename:
        put(element, "filename", shape.filename)
    document.carry(element, shape.carried)


def _write_wrap(wrap: WrapObject, document: Document) -> None:
    owner = document.owners[document.socket(wrap.frame)]
    holder = ensure(ensure(owner, "WrapObjectSet", name="wrapobjectset"), "objects")
    tag = wrap.element if isinstance(wrap, UnsupportedWrapObject) else wrap.kind
    element = etree.SubElement(holder, tag, name=wrap.name)
    put(element, "active", "true" if wrap.active else "false")
    put(element, "xyz_body_rotation", exact_all(wrap.orientation))
    put(element, "translation", exact_all(wrap.translation))
    put(element, "quadrant", wrap.quadrant)
    if isinstance(wrap, WrapCylinder):
        put(element, "radius", exact(wrap.radius))
        put(element, "length", exact(wrap.length))
    elif isinstance(wrap, WrapSphere):
        put(element, "radius", exact(wrap.radius))
    elif isinstance(wrap, WrapEllipsoid):
        put(element, "dimensions", exact_all(wrap.semi_axes))
    elif isinstance(wrap, WrapTorus):
        put(element, "inner_radius", exact(wrap.inner_radius))
        put(element, "outer_radius", exact(wrap.outer_radius))
    document.carry(element, wrap.carried)


def _write_frames(model: Model, document: Document) -> None:
    """Frames that belong to no joint go back to the component they stood in; owners before what they own."""
    for frame in sorted(model.frames, key=lambda f: f.path.count("/")):
        owner_path = frame.path.rpartition("/")[0]
        owner = document.owners.get(owner_path)
        if owner is None:
            raise InvalidFile(
                f"frame {frame.path!r} stands in {owner_path!r}, which the model does not have; give it the path of a "
                "body, for instance /bodyset/femur/my_frame"
            )
        document.offset_frame(_frame_holder(owner), frame.path, frame.placement)


def _frame_holder(owner: Element) -> Element:
    if owner.tag == "objects":  # a set
        return owner
    in_list = owner.tag.endswith(("Joint", "WeldConstraint")) or "Bushing" in owner.tag
    return ensure(owner, "frames" if in_list else "components")


def _write_carried(model: Model, document: Document) -> None:
    for part in model.carried:
        if not part.owner:
            continue
        element = from_text(part.xml)
        if part.owner == "components":
            ensure(document.element, "components").append(element)
            document.owners[f"/{element.get('name')}"] = element
            continue
        members = document.owners[f"/{part.owner.lower()}"]
        if element.tag == "groups":
            holder = members.getparent()
            holder.remove(holder.find("groups"))
            holder.append(element)
        elif part.owner in ("ControllerSet", "ProbeSet", "ComponentSet") and element.get("name"):
            members.append(element)
            document.owners[f"/{part.owner.lower()}/{element.get('name')}"] = element
        else:
            members.getparent().append(element)
