"""Joints, bodies and two-frame elements of old documents, brought to the 40600 layout."""

from __future__ import annotations

from lxml import etree

from musculo.io.osim.xml import Element, drop, ensure, exact, flag, invalid, number, objects, put, text, vector

_ZERO = (0.0, 0.0, 0.0)
INERTIA_TAGS = ("inertia_xx", "inertia_yy", "inertia_zz", "inertia_xy", "inertia_xz", "inertia_yz")
_OLD_INERTIA = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # OpenSim's defaults up to 3.x [kg m^2]
_TWO_FRAME_FIELDS = ("location_body_1", "orientation_body_1", "location_body_2", "orientation_body_2")


def rounded(values: tuple[float, ...], opensim_rounding: bool) -> str:
    """Numbers as text; with `opensim_rounding` as OpenSim's upgrade prints them, to six significant digits."""
    return " ".join(exact(float(f"{v:.6g}") if opensim_rounding else v) for v in values)


def split_inertia(model: Element, version: int, opensim_rounding: bool) -> None:
    """`inertia_xx` ... became one vector in 30500. In files before that, what is missing is 1 1 1 0 0 0."""
    for body in objects(model, "BodySet") if version < 30500 else ():
        stated = any(body.find(tag) is not None for tag in INERTIA_TAGS)
        if not stated and body.find("inertia") is not None:
            continue
        values = tuple(number(body, tag, default) for tag, default in zip(INERTIA_TAGS, _OLD_INERTIA, strict=True))
        for tag in INERTIA_TAGS:
            drop(body.find(tag))
        if body.find("inertia") is None:
            put(body, "inertia", rounded(values, opensim_rounding))


def upgrade_joints(model: Element, version: int, opensim_rounding: bool) -> None:
    """Joints leave their bodies for the set of joints; locations become offset frames; `reverse` swaps the frames."""
    for body in objects(model, "BodySet") if version < 30501 else ():
        holder = body.find("Joint")
        if holder is None:
            continue
        for joint in holder:
            if joint.find("child_body") is None:
                put(joint, "child_body", body.get("name", ""))
            ensure(ensure(model, "JointSet"), "objects").append(joint)
        drop(holder)
    _name_the_unnamed(model)
    for joint in objects(model, "JointSet"):
        _upgrade_joint(model, joint, version, opensim_rounding)


def _name_the_unnamed(model: Element) -> None:
    """OpenSim names an object without a name after its class, and counts on where that name is taken."""
    for tag in ("JointSet", "ForceSet", "ConstraintSet", "ContactGeometrySet", "ControllerSet", "ProbeSet"):
        members = list(objects(model, tag))
        taken = {m.get("name") for m in members if m.get("name")}
        for member in members:
            if not member.get("name"):
                base = member.tag.lower()
                name, count = base, 0
                while name in taken:
                    name, count = f"{base}_{count}", count + 1
                member.set("name", name)
                taken.add(name)


def _upgrade_joint(model: Element, joint: Element, version: int, opensim_rounding: bool) -> None:
    coordinate_set = joint.find("CoordinateSet")
    if version < 30507 and coordinate_set is not None:
        if joint.find("coordinates") is None:
            holder = ensure(joint, "coordinates")
            for coordinate in coordinate_set.iterfind("objects/Coordinate"):
                holder.append(coordinate)
        drop(coordinate_set)
    for coordinate in joint.iterfind("coordinates/Coordinate"):
        # The kind of motion follows from the joint; an initial value has not been used since 2.0.
        for tag in ("motion_type", "initial_value"):
            drop(coordinate.find(tag))
    if version < 30505:
        _place_joint(model, joint, version, opensim_rounding)
    reverse = joint.find("reverse")
    if version < 30514 and reverse is not None:
        if flag(joint, "reverse", False):
            parent, child = joint.find("socket_parent_frame"), joint.find("socket_child_frame")
            if parent is not None and child is not None:  # else the reader says which is missing
                parent.text, child.text = child.text, parent.text
        drop(reverse)


def _place_joint(model: Element, joint: Element, version: int, opensim_rounding: bool) -> None:
    for old, new in (("location", "location_in_child"), ("orientation", "orientation_in_child")):
        for element in joint.findall(old) if version < 30500 else ():
            element.tag = new  # of both spellings the first in the file counts
    sides = (
        ("parent", ("parent_body", "socket_parent_body"), "location_in_parent", "orientation_in_parent"),
        ("child", ("child_body", "socket_child_body"), "location_in_child", "orientation_in_child"),
    )
    old_tags = {tag for _, tags, location, orientation in sides for tag in (*tags, location, orientation)}
    if not any(joint.find(tag) is not None for tag in old_tags):
        return
    for side, body_tags, location, orientation in sides:
        socket = f"socket_{side}_frame"
        body = next((text(joint, tag) for tag in (*body_tags, socket) if text(joint, tag)), "")
        if not body:
            raise invalid(joint, f"names no {side} body; add <{body_tags[0]}>")
        body = body.rsplit("/", 1)[-1]
        name = f"{body}_offset"
        add_offset_frame(
            model,
            ensure(joint, "frames"),
            name,
            body,
            rounded(vector(joint, location, 3, _ZERO), opensim_rounding),
            rounded(vector(joint, orientation, 3, _ZERO), opensim_rounding),
        )
        for tag in (*body_tags, socket, location, orientation):
            for element in joint.findall(tag):
                drop(element)
        put(joint, socket, name)


def add_offset_frame(
    model: Element, frames: Element, name: str, body: str, translation: str, orientation: str
) -> Element:
    """Append a PhysicalOffsetFrame on a body to a list of frames."""
    known = {b.get("name") for b in objects(model, "BodySet")}
    frame = etree.SubElement(frames, "PhysicalOffsetFrame", name=name)
    put(frame, "socket_parent", "/ground" if body == "ground" else f"/bodyset/{body}" if body in known else body)
    put(frame, "translation", translation)
    put(frame, "orientation", orientation)
    return frame


def upgrade_frames(model: Element, version: int, opensim_rounding: bool) -> None:
    """Weld constraints and bushings place their frames on bodies; the set of frames becomes components of the model."""
    members = [*objects(model, "ConstraintSet"), *objects(model, "ForceSet")]
    for member in members if version < 30505 else ():
        two_bodies = member.tag == "WeldConstraint" or "Bushing" in member.tag
        if two_bodies and any(member.find(tag) is not None for tag in ("body_1", "body_2", *_TWO_FRAME_FIELDS)):
            _place_two_frames(model, member, opensim_rounding)
    if version < 30512:
        for frame in objects(model, "FrameSet"):
            ensure(model, "components").append(frame)
        drop(model.find("FrameSet"))


def _place_two_frames(model: Element, member: Element, opensim_rounding: bool) -> None:
    for side in (1, 2):
        tags = (f"body_{side}", f"socket_frame{side}", f"socket_body_{side}")
        body = next((text(member, tag) for tag in tags if text(member, tag)), "")
        if not body:
            raise invalid(member, f"names no body {side}; add <body_{side}>")
        body = body.rsplit("/", 1)[-1]
        location, orientation = f"location_body_{side}", f"orientation_body_{side}"
        frames = ensure(member, "frames")
        name = f"{body}_offset"
        if any(frame.get("name") == name for frame in frames):  # both sides on one body
            name += "_0"
        add_offset_frame(
            model,
            frames,
            name,
            body,
            rounded(vector(member, location, 3, _ZERO), opensim_rounding),
            rounded(vector(member, orientation, 3, _ZERO), opensim_rounding),
        )
        for tag in (*tags, location, orientation):
            drop(member.find(tag))
        put(member, f"socket_frame{side}", name)
