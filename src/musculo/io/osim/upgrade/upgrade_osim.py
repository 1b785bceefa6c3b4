"""Brings a document of any version to the layout of OpenSim 4.6 (40600), at the level of its XML.

The steps are those of OpenSim's own upgrade (RegisterTypes, Model, Body, Joint, Force, Constraint, Controller), so that
an old file means here what it means there. Each step is for documents before the version that changed the spelling
(found by opening one file in every version): in newer ones OpenSim ignores the old spelling, and so does musculo,
which leaves the element where it is. OpenSim prints some numbers with six digits on the way; `opensim_rounding` repeats
that, and otherwise the file's own digits are kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from musculo.io.osim.context import component_path
from musculo.io.osim.elements.known_elements import PROPERTIES
from musculo.io.osim.strays import gather_components, stray_notes
from musculo.io.osim.upgrade.upgrade_geometry import upgrade_geometry
from musculo.io.osim.upgrade.upgrade_joints import INERTIA_TAGS, split_inertia, upgrade_frames, upgrade_joints
from musculo.io.osim.xml import (
    Element,
    describe,
    drop,
    ensure,
    flag,
    objects,
    put,
    resolve_defaults,
    restore_colons,
    text,
)
from musculo.model.coordinate import coordinate_path
from musculo.model.model import Note

_RENAMED = {
    "ActuatorSet": "ForceSet",
    "MuscleWrap": "PathWrap",
    "MuscleWrapSet": "PathWrapSet",
    "MusclePoint": "PathPoint",
    "MusclePointSet": "PathPointSet",
    "MuscleViaPoint": "ConditionalPathPoint",
    "MovingMusclePoint": "MovingPathPoint",
    "NaturalCubicSpline": "SimmSpline",
    "natCubicSpline": "SimmSpline",
    "GeneralizedForce": "CoordinateActuator",
    "Schutte1993Muscle": "Schutte1993Muscle_Deprecated",
    "Delp1990Muscle": "Delp1990Muscle_Deprecated",
}
# These words are common elsewhere; they are actuators only as members of the set of forces.
_RENAMED_FORCES = {"Force": "PointActuator", "Torque": "TorqueActuator"}

# Old properties that name a body, and the socket each became: {set: (version of the change, (old tag, socket)...)}.
_BODY_SOCKETS = {
    "MarkerSet": (30501, (("body", "parent_frame"),)),
    "ContactGeometrySet": (30505, (("body_name", "frame"),)),
    "ConstraintSet": (
        30500,
        tuple((tag, tag) for tag in ("body_1", "body_2", "line_body", "follower_body", "rolling_body", "surface_body")),
    ),
}
# The same for forces, by kind. OpenSim 4.6 never reads the <body> of a BodyActuator.
_FORCE_BODIES: dict[str, tuple[int, tuple[tuple[str, str], ...]]] = {
    "PrescribedForce": (30506, (("body", "frame"),)),
    "BodyActuator": (40700, (("body", "body"),)),
    "PointToPointSpring": (30500, (("body1", "body1"), ("body2", "body2"))),
}
# Properties of one object that OpenSim reads under its class or in an element of the property's name.
_HELD = (
    *("ground", "contact_parameters", "forceFunctions", "pointFunctions", "torqueFunctions"),
    *(f"{motion}{k}" for motion in ("rotation", "translation") for k in (1, 2, 3)),
)
_POINT_COORDINATES = ("coordinate", "x_coordinate", "y_coordinate", "z_coordinate")


def upgrade(model: Element, version: int, opensim_rounding: bool = False) -> list[Note]:
    """Change the `<Model>` element in place to the 40600 layout; the notes tell what was dropped on the way."""
    notes = stray_notes(model, version)
    _rename(model)
    _name_by_property(model)
    notes += _drop_repeated(model)
    resolve_defaults(model)
    _connectors_to_sockets(model, version)
    if version < 30501:
        _split_ground(model)
    notes += gather_components(model)
    split_inertia(model, version, opensim_rounding)
    upgrade_joints(model, version, opensim_rounding)
    upgrade_frames(model, version, opensim_rounding)
    upgrade_geometry(model)
    _upgrade_forces(model, version)
    _upgrade_paths(model, version)
    _upgrade_body_sockets(model, version)
    _upgrade_flags(model, version)
    _upgrade_controllers(model)
    return notes


def body_path(model: Element, name: str) -> str:
    """The socket path of a body; a name that is not a body stays bare, and the reader says so where it is used."""
    if name in ("ground", "/ground"):
        return "/ground"
    known = {body.get("name") for body in objects(model, "BodySet")}
    return f"/bodyset/{name}" if name in known else name


def _drop_repeated(model: Element) -> list[Note]:
    """A property stated twice in one object: the first counts, as in OpenSim."""
    notes = []
    repeated = []
    for owner in model.iter():
        if len(owner) > 1 and owner.tag[:1].isupper():  # an object: its children are properties, not members of a list
            tags = [child.tag for child in owner]
            if len(set(tags)) < len(tags):
                repeated.append(owner)
    for owner in repeated:
        known = PROPERTIES.get(restore_colons(owner.tag), {})
        seen = set()
        for child in list(owner):
            # objects of one class are told apart by the property's name: <TransformAxis name="rotation1">
            by_tag = restore_colons(child.tag) in known or not (len(child) or child.attrib)
            key = child.tag, "" if by_tag else child.get("name", "")
            if key in seen:
                notes.append(Note(describe(child), component_path(owner), "stated twice; the first statement counts"))
                drop(child)
            seen.add(key)
    return notes


def _rename(model: Element) -> None:
    for element in model.iter(*_RENAMED):
        element.tag = _RENAMED[element.tag]
    for holder in (model.find("ForceSet/objects"), model.find("defaults")):
        for force in () if holder is None else holder:
            force.tag = _RENAMED_FORCES.get(force.tag, force.tag)


def _name_by_property(model: Element) -> None:
    """`<rotation1><TransformAxis>` becomes `<TransformAxis name="rotation1">`: the form that the readers know."""
    for holder in list(model.iter(*_HELD)):
        if len(holder) == 1 and restore_colons(holder[0].tag) in PROPERTIES and holder.getparent().tag[:1].isupper():
            inner = holder[0]
            inner.set("name", holder.tag)
            holder.getparent().replace(holder, inner)


def _connectors_to_sockets(model: Element, version: int) -> None:
    """`<connectors><Connector_X_ name="s"><connectee_name>` and `<connector_s_connectee_name>` become `<socket_s>`."""
    for block in [*model.iter("connectors"), *model.iter("sockets")] if version < 30508 else ():
        owner = block.getparent()
        for connector in block:
            connectee = text(connector, "connectee_name") or text(connector, "connectee_names")
            put(owner, f"socket_{connector.get('name')}", connectee)
        drop(block)
    spellings = [before for before, changed in (("connector_", 30510), ("socket_", 30517)) if version < changed]
    for element in model.iter() if spellings else ():
        for before in spellings:
            for after in ("_connectee_name", "_connectee_names"):
                if element.tag.startswith(before) and element.tag.endswith(after):
                    element.tag = "socket_" + element.tag[len(before) : -len(after)]


def _split_ground(model: Element) -> None:
    """Before 4.0 ground was a member of the set of bodies; only its geometry and wrap objects survive."""
    old = next((b for b in objects(model, "BodySet") if b.get("name") == "ground" and b.tag == "Body"), None)
    if old is None:
        return
    drop(old)
    ground = ensure(model, "Ground", name="ground")
    for tag in ("VisibleObject", "WrapObjectSet", "attached_geometry", "FrameGeometry", "components"):
        part = old.find(tag)
        if part is not None and ground.find(tag) is None:
            ground.append(part)
    for part in list(old):
        if part.tag not in PROPERTIES["Body"] and part.tag not in ("Joint", *INERTIA_TAGS):
            ground.append(part)  # what no body has is noted there


# --- forces and paths -----------------------------------------------------------------------------------------------
def _upgrade_forces(model: Element, version: int) -> None:
    for holder in (model.find("ForceSet/objects"), model.find("defaults")):
        for force in () if holder is None else holder:
            if "Muscle" in force.tag:
                _upgrade_muscle(force, version)
            changed, pairs = _FORCE_BODIES.get(force.tag, (0, ()))
            if version < changed:
                _name_sockets(model, force, pairs)


def _upgrade_muscle(muscle: Element, version: int) -> None:
    pennation = muscle.find("pennation_angle")
    if version < 20302 and pennation is not None and muscle.find("pennation_angle_at_optimal") is None:
        pennation.tag = "pennation_angle_at_optimal"
    # Old writers stated the limits of every muscle; OpenSim takes 0 and 1 for "not stated": the class default holds.
    if version < 30513:
        for tag, unstated in (("min_control", 0.0), ("max_control", 1.0)):
            stated = muscle.find(tag)
            if stated is not None and stated.text and _equals(stated.text, unstated):
                drop(stated)
    if version < 20302 and muscle.find("GeometryPath") is None and muscle.find("PathPointSet") is not None:
        path = ensure(muscle, "GeometryPath", name="path")
        for tag in ("PathPointSet", "PathWrapSet"):
            part = muscle.find(tag)
            if part is not None:
                path.append(part)


def _equals(content: str, value: float) -> bool:
    try:
        return float(content) == value
    except ValueError:
        return False  # the reader complains about the word where it uses it


def _upgrade_paths(model: Element, version: int) -> None:
    coordinates: dict[str, str] = {}
    for j, c in _joint_coordinates(model):  # of several the first
        coordinates.setdefault(c.get("name", ""), coordinate_path(j.get("name", ""), c.get("name", "")))
    # a property may stand as <path><GeometryPath>..</path> as well as <GeometryPath name="path">
    for holder in list(model.iter("path")):
        owner, inner = holder.getparent(), [child for child in holder if isinstance(child.tag, str)]
        if owner is not None and len(inner) == 1 and inner[0].tag.endswith("Path"):
            inner[0].set("name", "path")
            owner.replace(holder, inner[0])
    for path in model.iter("GeometryPath"):
        path.set("name", "path")
        for point in path.iter("PathPoint", "ConditionalPathPoint", "MovingPathPoint"):
            _upgrade_path_point(model, point, coordinates, version)


def _joint_coordinates(model: Element) -> list[tuple[Element, Element]]:
    return [(j, c) for j in objects(model, "JointSet") for c in j.iterfind("coordinates/Coordinate")]


def _upgrade_path_point(model: Element, point: Element, coordinates: dict[str, str], version: int) -> None:
    plural = point.find("coordinates")
    if version < 20300 and plural is not None:
        plural.tag = "coordinate"
    for old, new in (("XAttachment", "x_location"), ("YAttachment", "y_location"), ("ZAttachment", "z_location")):
        attachment = point.find(old)
        if version < 30000 and attachment is not None:
            attachment.tag = new
    if version >= 30505:
        return
    body = point.find("body")
    if body is not None and point.find("socket_parent_frame") is None:
        body.tag, body.text = "socket_parent_frame", body_path(model, body.text or "")
    for tag in _POINT_COORDINATES:
        named = point.find(tag)
        if named is not None and point.find(f"socket_{tag}") is None:
            named.tag, named.text = f"socket_{tag}", coordinates.get(named.text or "", named.text)


# --- the rest -------------------------------------------------------------------------------------------------------
def _upgrade_body_sockets(model: Element, version: int) -> None:
    for set_tag, (changed, pairs) in _BODY_SOCKETS.items():
        for member in objects(model, set_tag) if version < changed else ():
            _name_sockets(model, member, pairs)


def _name_sockets(model: Element, member: Element, pairs: Iterable[tuple[str, str]]) -> None:
    for tag, socket in pairs:
        body = member.find(tag)
        if body is not None and member.find(f"socket_{socket}") is None:
            body.tag, body.text = f"socket_{socket}", body_path(model, body.text or "")


def _upgrade_flags(model: Element, version: int) -> None:
    """`isDisabled` became its opposite, under a name that depends on the kind of object."""
    if version >= 30509:
        return
    names = {
        "ForceSet": "appliesForce",
        "ConstraintSet": "isEnforced",
        "ControllerSet": "enabled",
        "ProbeSet": "enabled",
    }
    for set_tag, new in names.items():
        for member in objects(model, set_tag):
            old = member.find("isDisabled")
            if old is not None:
                if member.find(new) is None:
                    put(member, new, "false" if flag(member, "isDisabled", False) else "true")
                drop(old)


def _upgrade_controllers(model: Element) -> None:
    """Up to 4.5 a controller listed the names of its actuators; ALL stands for every actuator, as in OpenSim."""
    forces = list(objects(model, "ForceSet"))
    known = {force.get("name") for force in forces}
    for controller in objects(model, "ControllerSet"):
        old = controller.find("actuator_list")
        if old is None:
            continue
        listed = (old.text or "").split()
        drop(old)
        if listed == ["ALL"]:
            listed = [f.get("name") for f in forces if f.tag.endswith("Actuator") or "Muscle" in f.tag]
        if listed and controller.find("socket_actuators") is None:
            put(controller, "socket_actuators", " ".join(f"/forceset/{n}" if n in known else n for n in listed))
