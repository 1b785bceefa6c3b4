"""What stands in a model file where nobody expects it: what OpenSim does not read there, and what belongs to a set.

Attributes and text between elements have no effect, here as there; objects that name another file are read from it.
Bodies, joints, forces and their like in `<components>`, of the model, of a body or of any object, are parts of the
model to OpenSim wherever they stand. Here each becomes a member of the set of its kind, with every socket that names
it; so it takes part in the mechanics, and is written as a member of that set.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path, PureWindowsPath

from lxml import etree

from musculo.errors import InvalidFile
from musculo.io.osim.context import component_path
from musculo.io.osim.xml import (
    Element,
    describe,
    document_version,
    ensure,
    invalid,
    objects,
    parse_xml,
    place,
    restore_colons,
)
from musculo.io.text import read_bytes
from musculo.model.model import Note

# One walk each, in libxml2: there are thousands of elements, and strays are rare.
_ATTRIBUTES = etree.XPath("descendant-or-self::*/@*[name() != 'name']")
_TEXTS = etree.XPath("descendant-or-self::*[*]/text()")
_BRACKETS = etree.XPath("descendant::*[contains(text(), '(') or contains(text(), ',')]")
# Numbers in brackets, or with a comma and no blank between them.
_ODD_NUMBERS = re.compile(r"[\s\d.eE+-]*([(]|\d,[^\s]).*")
_NUMBERS = re.compile(r"[\s\d.,eE+()-]+")
# OpenSim reads lists of numbers in either spelling in these objects, and nowhere else.
_LISTS = ("SimmSpline", "GCVSpline", "PiecewiseLinearFunction", "PiecewiseConstantFunction", "LinearFunction")


def stray_notes(model: Element, version: int) -> list[Note]:
    """Notes of what is not read, and of what is read here and not in OpenSim; text between elements is taken out."""
    notes = []

    def note(element: Element, why: str) -> None:
        notes.append(Note(describe(element), component_path(element), why))

    for attribute in _ATTRIBUTES(model):
        owner = attribute.getparent()
        if attribute.attrname == "file" and _read_other_file(owner, str(attribute), version):
            note(owner, f"it is read from the file {str(attribute)!r}, which it names; what stands here is not read")
        else:
            note(owner, f"the attribute {attribute.attrname}={str(attribute)[:60]!r} is not read, as in OpenSim")
    for words in _TEXTS(model):
        stray = words.getparent()
        owner = stray.getparent() if words.is_tail else stray
        if words.is_tail:
            stray.tail = None
        else:
            stray.text = None
        told = str(words).strip()[:60]
        note(owner, f"the text {told!r} stands between its elements; it is not read, as in OpenSim")
    for leaf in _BRACKETS(model):
        words = leaf.text or ""
        if _NUMBERS.fullmatch(words) and _ODD_NUMBERS.match(words) and leaf.getparent().tag not in _LISTS:
            note(leaf, f"{words[:60]!r} is read as numbers; OpenSim 4.6 ignores it and uses the default")
    return notes


def _read_other_file(element: Element, stated: str, version: int) -> bool:
    """Fill an object from the file that it names; False where OpenSim does not look at the name either.

    That is in lists, such as the members of a set. A file that is not there is refused; OpenSim logs an error and goes
    on with an empty object.
    """
    parent = element.getparent()
    if not stated or parent is None or not parent.tag[:1].isupper() or parent.tag == "OpenSimDocument":
        return False
    name = PureWindowsPath(stated).as_posix() if "\\" in stated else stated
    path = Path(element.getroottree().docinfo.URL or ".").parent / name
    tag = restore_colons(element.tag)
    try:
        root = parse_xml(read_bytes(path, f"a file with <{tag}>"), str(path), f"it should hold <{tag}>")
    except InvalidFile as error:
        raise InvalidFile(f"{place(element)}: <{tag}> is in another file: {error}") from None
    found = root.find(element.tag)
    if found is None:
        raise invalid(element, f"names the file {stated!r}, which holds no <{tag}>; correct the name or the file")
    if document_version(root) != version:
        raise invalid(
            element,
            f"names the file {stated!r} of version {document_version(root)}, and this one is of version {version}; "
            "open the model in OpenSim and save it, or put the content of that file here",
        )
    element[:] = found[:]
    element.text = found.text
    return True


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
