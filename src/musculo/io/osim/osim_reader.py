"""`read_osim`: an OpenSim model file as a `Model`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

from musculo.errors import InvalidFile, InvalidModel
from musculo.io.osim.context import Context, account, component_path
from musculo.io.osim.elements.bodies import (
    ground_carried,
    read_bodies,
    read_contact_geometries,
    read_markers,
    read_wrap_objects,
)
from musculo.io.osim.elements.joints import free_joint, read_joints
from musculo.io.osim.elements.known_elements import PROPERTIES, no_property
from musculo.io.osim.elements.osim_constraints import read_constraints
from musculo.io.osim.elements.osim_forces import acts_by_itself, read_forces
from musculo.io.osim.same_names import tell_apart
from musculo.io.osim.upgrade.upgrade_osim import upgrade
from musculo.io.osim.xml import (
    NEWEST_VERSION,
    Element,
    document_version,
    invalid,
    objects,
    parse_document,
    place,
    restore_colons,
    to_text,
    vector,
)
from musculo.model.body import GROUND
from musculo.model.coordinate import coordinate_path
from musculo.model.force import Force
from musculo.model.idle_wraps import idle_wraps
from musculo.model.joint_tree import base_bodies, tree_order
from musculo.model.joints import Joint
from musculo.model.model import STANDARD_GRAVITY, Carried, Model, Note
from musculo.model.wrap import WrapObject

_READ_SETS = ("BodySet", "JointSet", "ConstraintSet", "ForceSet", "MarkerSet", "ContactGeometrySet")
# Sets whose members are carried: what they are, for the note.
_CARRIED_SETS = {
    "ControllerSet": "controllers are kept but take no part in the mechanics",
    "ProbeSet": "probes are kept but not computed",
    "ComponentSet": "components of this kind are kept but take no part in the mechanics",
}


def read_osim(path: str | os.PathLike[str], *, opensim_rounding: bool = False) -> Model:
    """Read an OpenSim model of any version since 1.9.1.

    What musculo cannot compute is carried along and listed in `Model.notes`; `write_osim` writes it back.

    Args:
        path: the .osim file.
        opensim_rounding: repeat the rounding to six digits that OpenSim 4 does when it upgrades joint frames (files
            before 3.5.5) and inertias (before 3.5). By default the file's own digits are kept.

    Raises:
        InvalidFile: no file, no XML, or no OpenSim document.
        InvalidModel: a document that describes no possible model; the message names file, line and object.
    """
    remarks: list[str] = []
    root = parse_document(path, remarks)
    version = document_version(root)
    element = root.find("Model")
    if element is None:
        raise InvalidFile(f"{place(root)}: the document holds no <Model>; it may be a set-up file of an OpenSim tool")
    notes = upgrade(element, version, opensim_rounding)
    _refuse_duplicate_names(element)
    notes += tell_apart(element)
    context = Context(element)
    context.notes += [*(Note("the file", os.fspath(path), remark) for remark in remarks), *notes]
    if version > NEWEST_VERSION:
        context.note(root, f"document version {version} is newer than {NEWEST_VERSION}; it is read as that version")
    return _read_model(context, os.fspath(path))


def _read_model(context: Context, source: str) -> Model:
    bodies = read_bodies(context)
    joints = _with_free_joints(read_joints(context), context)
    for joint in joints:  # those that the file only implies count, too
        for name in joint.coordinate_names:
            context.coordinates.setdefault(name, coordinate_path(joint.name, name))
    _check_tree(joints, context)
    constraints = read_constraints(context)
    forces = read_forces(context)
    wrap_objects = read_wrap_objects(context)
    _check_wraps(forces, wrap_objects, context)
    markers = read_markers(context)
    contact = read_contact_geometries(context)
    model = Model(
        name=context.model.get("name", ""),
        bodies=bodies,
        joints=joints,
        constraints=constraints,
        markers=markers,
        frames=context.other_frames(_frames_in_use(context)),
        wrap_objects=wrap_objects,
        forces=forces,
        contact_geometries=contact,
        gravity=vector(context.model, "gravity", 3, STANDARD_GRAVITY),
        ground_carried=ground_carried(context),
        carried=_read_carried(context),
        source=source,
    )
    return model.replace(notes=_unique([*context.notes, *_without_effect(model)]))


def _without_effect(model: Model) -> Iterable[Note]:
    """What is read and written, but changes no number of the rigid tree."""
    kinds = Counter(force.kind for force in model.forces if force.applies_force)
    for kind, count in kinds.items():
        why = "inverse and forward dynamics apply none of them; simulate does, with excitations"
        if acts_by_itself(kind):
            why = "inverse and forward dynamics ignore them, simulate does not; musculo.model_forces says what they do"
        yield Note(f"{count} {kind}", "/forceset", why)
    for force, wrap, why, _ in idle_wraps(model):
        told = f"{why}, so that the path never slides over it, as in OpenSim"
        yield Note(f"wrap {wrap.wrap_object!r} of {force.name!r}", f"/forceset/{force.name}", told)


def _unique(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Each thing once: where many objects share one remark, the first is named and the others are counted."""
    places: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        where = places.setdefault((note.what, note.why), [])
        if note.where not in where:
            where.append(note.where)
    return tuple(
        Note(what, where[0] if len(where) == 1 else f"{where[0]} and {len(where) - 1} more", why)
        for (what, why), where in places.items()
    )


# What a set may hold, where that is one class.
_ONLY_KIND = {"bodies": ("Body",), "markers": ("Marker",)}


def _refuse_duplicate_names(model: Element) -> None:
    """Two bodies of one name cannot be told apart by any socket."""
    groups = (
        ("bodies", list(objects(model, "BodySet"))),
        ("joints", list(objects(model, "JointSet"))),
        ("markers", list(objects(model, "MarkerSet"))),
    )
    for kind, elements in groups:
        seen: dict[str, Element] = {}
        for element in elements:
            if element.tag not in _ONLY_KIND.get(kind, (element.tag,)):
                raise invalid(element, f"<{element.tag}> is not a kind of {kind}; it should be <{_ONLY_KIND[kind][0]}>")
            name = element.get("name", "")
            if not name:
                raise invalid(element, f"one of the {kind} has no name; give it one")
            if name == GROUND and kind == "bodies":
                raise invalid(element, "a second body is called ground; rename it")
            if name in seen:
                raise invalid(element, f"two {kind} have this name (the first at {place(seen[name])}); rename one")
            seen[name] = element


# --- the tree -------------------------------------------------------------------------------------------------------
def _with_free_joints(joints: tuple[Joint, ...], context: Context) -> tuple[Joint, ...]:
    added = []
    for body in base_bodies(joints, context.body_names):
        joint = free_joint(body)
        added.append(joint)
        context.notes.append(
            Note(
                f"body {body!r}",
                f"/bodyset/{body}",
                f"no joint connects it to ground; it moves freely (FreeJoint {joint.name!r}), as in OpenSim",
            )
        )
    return (*joints, *added)


def _check_tree(joints: tuple[Joint, ...], context: Context) -> None:
    try:
        tree_order(joints, context.body_names)
    except InvalidModel as error:
        at = context.model.find("JointSet")
        raise InvalidModel(f"{place(context.model if at is None else at)}: {error}") from None


def _check_wraps(forces: tuple[Force, ...], wrap_objects: tuple[WrapObject, ...], context: Context) -> None:
    known = Counter(wrap.name for wrap in wrap_objects)
    for force in forces:
        for wrap in force.path.wraps if force.path is not None else ():
            count = known[wrap.wrap_object]
            if count > 1:
                holder = next(one.frame for one in wrap_objects if one.name == wrap.wrap_object)
                why = f"{count} wrap objects have this name; the first, on {holder!r}, is meant, as in OpenSim"
                context.notes.append(Note(f"wrap object {wrap.wrap_object!r}", f"/forceset/{force.name}", why))
            if wrap.wrap_object not in known:
                raise InvalidModel(
                    f"{place(context.model)}: {force.kind} {force.name!r} wraps over {wrap.wrap_object!r}, which no "
                    f"body holds; known: {', '.join(sorted(known)) or 'none'}; correct the name or remove the PathWrap"
                )


def _frames_in_use(context: Context) -> set[str]:
    """Offset frames that joints and weld constraints hold themselves."""
    used = set()
    owners = [(j, ("parent_frame", "child_frame")) for j in objects(context.model, "JointSet")]
    owners += [(c, ("frame1", "frame2")) for c in objects(context.model, "ConstraintSet") if c.tag == "WeldConstraint"]
    for owner, sockets in owners:
        own = component_path(owner) + "/"
        used |= {p for p in (context.frame_path(owner, s) for s in sockets) if p.startswith(own)}
    return used


# --- what is carried ------------------------------------------------------------------------------------------------
def _read_carried(context: Context) -> tuple[Carried, ...]:
    kept: list[Carried] = []
    known = PROPERTIES["Model"]
    for child in context.model:
        if child.tag in ("Ground", "gravity", "defaults"):  # defaults stand in the objects by now
            continue
        if child.tag in _READ_SETS or child.tag in _CARRIED_SETS:
            kept += _set_extras(child, context)
        elif child.tag == "components":
            for component in child:
                if component.tag != "PhysicalOffsetFrame":
                    context.note(component, _CARRIED_SETS["ComponentSet"])
                    kept.append(Carried("components", to_text(component)))
        elif len(child) or child.text or child.attrib:
            kept.append(Carried("", to_text(child)))
            if child.tag.endswith("Set") and len(child.findall("objects/*")):
                context.note(child, "sets of this kind are kept but take no part in the mechanics")
            elif child.tag not in known:
                context.note(context.model, no_property("Model", restore_colons(child.tag)), "Model")
    # By owner, so that a model does not depend on the order in which its file happens to list the sets.
    return tuple(sorted(kept, key=lambda part: part.owner))


def _set_extras(child: Element, context: Context) -> list[Carried]:
    """The members of a set that is only carried, and of every set its groups and other extras."""
    kept: list[Carried] = []
    account(child, context)
    if child.tag in _CARRIED_SETS:
        for member in objects(context.model, child.tag):
            if member.tag != "PhysicalOffsetFrame":
                context.note(member, _CARRIED_SETS[child.tag])
                kept.append(Carried(child.tag, to_text(member)))
    kept += [Carried(child.tag, to_text(extra)) for extra in child if extra.tag != "objects" and len(extra)]
    return kept
