"""Bodies, joints, forces and their like that stand in `<components>`, of the model, of a body or of any object.

To OpenSim they are parts of the model wherever they stand. Here each becomes a member of the set of its kind, with
every socket that names it; so it takes part in the mechanics, and is written as a member of that set.
"""

from __future__ import annotations

import posixpath

from musculo.io.osim.context import component_path
from musculo.io.osim.xml import Element, describe, ensure, objects
from musculo.model.model import Note

_KINDS = {"Body": "BodySet", "Marker": "MarkerSet"}
_ENDINGS = {
    "Joint": "JointSet",
    "Constraint": "ConstraintSet",
    "Controller": "ControllerSet",
    "Probe": "ProbeSet",
    **dict.fromkeys(("Force", "Actuator", "Muscle", "Muscle_Deprecated", "Spring", "Ligament"), "ForceSet"),
}
# What OpenSim does for members of the set alone.
_LESS = {
    "ForceSet": " (whose tools that list muscles and forces of the ForceSet ignore it)",
    "ConstraintSet": " (which assembles its initial pose for members of the ConstraintSet only)",
}
# Besides sockets, properties that hold paths.
_PATHS = ("coordinate_paths",)


def gather_components(model: Element) -> list[Note]:
    """Move what stands in `<components>` and the ComponentSet to the sets of its kind; offset frames stay."""
    held = [*model.iterfind("ComponentSet/objects"), *model.iter("components")]
    moved = [(child, kind) for holder in held for child in holder if (kind := _set_of(child.tag))]
    moved = [(child, kind) for child, kind in moved if not any(a.tag == "defaults" for a in child.iterancestors())]
    if not moved:
        return []
    notes, renamed = [], {}
    taken = {kind: {member.get("name") for member in objects(model, kind)} for _, kind in moved}
    for child, kind in moved:
        before = component_path(child)
        stem = child.get("name") or child.tag.lower()
        name, count = stem, 1
        while name in taken[kind]:
            name, count = f"{stem}_{count + 1}", count + 1
        taken[kind].add(name)
        renamed[before] = f"/{kind.lower()}/{name}"
        notes.append(Note(describe(child), before, _told(kind, renamed[before], name != stem)))
    _absolute_paths(model, renamed, {child for child, _ in moved})
    for (child, kind), new in zip(moved, renamed.values(), strict=True):
        child.set("name", posixpath.basename(new))
        ensure(ensure(model, kind), "objects").append(child)
    return notes


def _set_of(tag: str) -> str:
    """The set of a kind of object; empty for what belongs to none."""
    if tag in _KINDS:
        return _KINDS[tag]
    if tag.startswith("Contact") and not tag.endswith(("Force", "Set")):
        return "ContactGeometrySet"
    return next((kind for ending, kind in _ENDINGS.items() if tag.endswith(ending)), "")


def _told(kind: str, path: str, renamed: bool) -> str:
    why = f"stands in <components>; it is read as a member of the {kind}, {path}, and acts as in OpenSim"
    if renamed:
        why += ", under another name because the set has one of its own"
    return why + _LESS.get(kind, "")


def _absolute_paths(model: Element, renamed: dict[str, str], moved: set[Element]) -> None:
    """Paths that lead to or from what is moved, absolute and as they will be."""
    for element in model.iter():
        if not element.text or not (element.tag.startswith("socket_") or element.tag in _PATHS):
            continue
        owner = element.getparent()
        start = component_path(owner)
        travels = any(node in moved for node in (owner, *owner.iterancestors()))
        words = []
        for word in element.text.split():
            path = posixpath.normpath(posixpath.join(start, word))
            new = _renamed(path, renamed)
            words.append(new if new != path or (travels and not word.startswith("/")) else word)
        element.text = " ".join(words)


def _renamed(path: str, renamed: dict[str, str]) -> str:
    """The path with its longest beginning that is renamed."""
    start = path
    while len(start) > 1:
        if start in renamed:
            return renamed[start] + path[len(start) :]
        start = posixpath.dirname(start)
    return path
