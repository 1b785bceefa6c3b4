"""Coordinates of one name in several joints: OpenSim tells them apart by their paths, musculo by `joint/name`."""

from __future__ import annotations

from collections import Counter

from lxml import etree

from musculo.io.osim.context import component_path
from musculo.io.osim.elements.joint_elements import JOINT_ELEMENTS
from musculo.io.osim.xml import Element, describe, ensure, names, objects
from musculo.model.coordinate import coordinate_path
from musculo.model.model import Note

# Where a coordinate stands by its name alone; OpenSim takes the first that has it.
_BY_NAME = ("coordinate", "independent_coordinate_names", "dependent_coordinate_name")


def tell_apart(model: Element) -> list[Note]:
    """Give coordinates whose name is not the only one the name `joint/name`, and so to all that refers to them."""
    notes = [note for joint in objects(model, "JointSet") for note in (*_missing(joint), *_within(joint))]
    held = {joint: _names(joint) for joint in objects(model, "JointSet")}
    count = Counter(name for own in held.values() for name in own)
    first: dict[str, str] = {}
    for joint, own in held.items():
        for name in own:
            if count[name] > 1:
                new = f"{joint.get('name')}/{name}"
                first.setdefault(name, new)
                _rename(joint, name, new)
                where = coordinate_path(joint.get("name", ""), name)
                notes.append(
                    Note(f"coordinate {name!r}", where, f"other joints have one of this name; it is {new!r} here")
                )
    for set_tag in ("ConstraintSet", "ForceSet") if first else ():
        for member in objects(model, set_tag):
            notes += _refer(member, first)
    return notes


def _names(joint: Element) -> tuple[str, ...]:
    """The coordinates of a joint: those described, and those that drive an axis only."""
    stated = [c.get("name", "") for c in joint.iterfind("coordinates/Coordinate")]
    driving = [name for axis in joint.iterfind("SpatialTransform/TransformAxis") for name in names(axis, "coordinates")]
    return tuple(dict.fromkeys(name for name in (*stated, *driving) if name))


def _missing(joint: Element) -> list[Note]:
    """A joint whose file names no coordinates has those that OpenSim gives it."""
    if joint.tag not in JOINT_ELEMENTS or joint.find("coordinates/Coordinate") is not None:
        return []
    names_ = [f"_coord_{k}" for k in range(JOINT_ELEMENTS[joint.tag].n_coordinates)]
    if not names_:
        return []
    for name in names_:
        etree.SubElement(ensure(joint, "coordinates"), "Coordinate", name=name)
    why = f"the file names no coordinates; they are called {', '.join(names_)}, as in OpenSim"
    return [Note(describe(joint), component_path(joint), why)]


def _within(joint: Element) -> list[Note]:
    """Two of one name in one joint: OpenSim counts the second on."""
    taken: set[str] = set()
    notes = []
    for c in joint.iterfind("coordinates/Coordinate"):
        name, count = c.get("name", ""), 0
        while name and name in taken:
            name, count = f"{c.get('name')}_{count}", count + 1
        if name != c.get("name", ""):
            why = f"another coordinate of the joint has this name; it is called {name!r}, as in OpenSim"
            notes.append(Note(describe(c), coordinate_path(joint.get("name", ""), name), why))
            c.set("name", name)
        taken.add(name)
    return notes


def _rename(joint: Element, old: str, new: str) -> None:
    for c in joint.iterfind("coordinates/Coordinate"):
        if c.get("name") == old:
            c.set("name", new)
    for axis in joint.iterfind("SpatialTransform/TransformAxis"):
        listed = axis.find("coordinates")
        if listed is not None:
            listed.text = " ".join(new if name == old else name for name in names(axis, "coordinates"))


def _refer(member: Element, first: dict[str, str]) -> list[Note]:
    """Names in a coupler or force become those of the first coordinate that has them, as OpenSim reads them."""
    notes = []
    for tag in _BY_NAME:
        found = member.find(tag)
        for name in () if found is None else names(member, tag):
            if name in first:
                found.text = " ".join(first.get(word, word) for word in names(member, tag))
                why = (
                    f"{name!r} is the name of several coordinates; the first, {first[name]!r}, is meant, as in OpenSim"
                )
                notes.append(Note(f"<{tag}> of {describe(member)}", component_path(member), why))
                break
    return notes
