"""What the readers of the parts of one document share: its frames, its coordinates, and the notes they leave."""

from __future__ import annotations

import posixpath
from typing import Any

from musculo.errors import InvalidModel, UnknownName
from musculo.io.osim.elements.known_elements import (
    APPLIED,
    BASES,
    PROPERTIES,
    WITH_ELEMENTS,
    Properties,
    no_property,
    stands_by_class,
)
from musculo.io.osim.xml import (
    Element,
    describe,
    invalid,
    objects,
    place,
    refuse_elements,
    restore_colons,
    text,
    to_text,
    vector,
)
from musculo.model.body import GROUND, Frame, Placement
from musculo.model.coordinate import coordinate_path
from musculo.model.model import Note
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import to_xyz

_ZERO = (0.0, 0.0, 0.0)
_OFFSET = "PhysicalOffsetFrame"
HOLDERS_OF_COMPONENTS = ("components", "frames")
# Elements that hold components without being one: they leave no trace in a path.
_HOLDERS = {"objects", "components", "frames", "coordinates", "connectors", "PathPointSet"}
# How documents before 30508 named frames.
_OLD_SOCKETS = {
    *("connectors", "sockets", "body", "body_name", "parent_body", "child_body", "body_1", "body_2"),
    *("line_body", "follower_body", "rolling_body", "surface_body"),
}


# Of what is read here and does not stop OpenSim's users from meeting an error.
REFUSED = "OpenSim 4.6 does not open such a file"


class Context:
    """The `<Model>` element in 40600 layout, with its frames by absolute path."""

    def __init__(self, model: Element) -> None:
        self.model = model
        self.notes: list[Note] = []
        self.body_names = [b.get("name", "") for b in objects(model, "BodySet")]
        self.offset_frames: dict[str, Element] = {}
        for element in model.iter(_OFFSET):
            if not any(ancestor.tag == "defaults" for ancestor in element.iterancestors()):
                self.offset_frames[component_path(element)] = element
        self.coordinates = {  # by the names they have here, with their paths in the file
            c.get("name", ""): coordinate_path(j.get("name", ""), c.get("name", ""))
            for j in objects(model, "JointSet")
            for c in j.iterfind("coordinates/Coordinate")
        }

    def note(self, element: Element, why: str, what: str = "") -> None:
        """Leave a note that something is carried or changed."""
        self.notes.append(Note(what or describe(element), component_path(element), why))

    # --- frames -----------------------------------------------------------------------------------------------------
    def frame_path(self, owner: Element, socket: str) -> str:
        """The absolute path of the frame in a socket of `owner`: absolute, relative, or a bare name in the file."""
        connectee = text(owner, f"socket_{socket}").strip()
        if not connectee:
            old = [c.tag for c in owner if c.tag in _OLD_SOCKETS or c.tag.endswith("_connectee_name")]
            told = f" (<{old[0]}> is a spelling of older documents; OpenSim ignores it here, too)" if old else ""
            raise invalid(
                owner, f"its socket {socket!r} names no frame{told}; add <socket_{socket}> with a body's path"
            )
        start = component_path(owner)
        candidates = [posixpath.normpath(posixpath.join(start, connectee))]
        if connectee.startswith("/"):
            candidates.append("/" + connectee.split("/", 2)[-1])  # 4.0 previews put the model's name first
        else:
            candidates.append(posixpath.normpath(posixpath.join(posixpath.dirname(start), connectee)))
        last = connectee.rsplit("/", 1)[-1]
        candidates += ["/ground" if last == GROUND else f"/bodyset/{last}"]
        alike = [path for path in self.offset_frames if path.endswith(f"/{last}")]
        candidates += alike if len(alike) == 1 else []
        for k, candidate in enumerate(candidates):
            if self._is_frame(candidate):
                if k:
                    self.note(owner, f"OpenSim finds no frame by the path {connectee!r}; {candidate!r} is used")
                return candidate
        known = [GROUND, *self.body_names, *self.offset_frames]
        raise UnknownFrame(connectee, known, owner, socket)

    def frame_key(self, owner: Element, socket: str) -> str:
        """The frame as the model names it: a body's name, `ground`, or the absolute path of an offset frame."""
        return self.key(self.frame_path(owner, socket))

    @staticmethod
    def key(path: str) -> str:
        if path == "/ground":
            return GROUND
        parts = path.split("/")
        return parts[2] if len(parts) == 3 and parts[1] == "bodyset" else path

    def _is_frame(self, path: str) -> bool:
        parts = path.split("/")
        is_body = len(parts) == 3 and parts[1] == "bodyset" and parts[2] in self.body_names
        return path == "/ground" or is_body or path in self.offset_frames

    def placement(self, path: str, name: str) -> Placement:
        """A frame resolved to its body. A single offset keeps its numbers; a chain of them is composed."""
        chain: list[Element] = []
        carried = self.frame_carried(self.offset_frames[path]) if path in self.offset_frames else ()
        while path in self.offset_frames:
            element = self.offset_frames[path]
            if element in chain:
                raise invalid(element, "is placed on itself through other offset frames; place one of them on a body")
            chain.append(element)
            path = self.frame_path(element, "parent")
        body = self.key(path)
        if not chain:
            return Placement(body)
        offsets = [(vector(e, "translation", 3, _ZERO), vector(e, "orientation", 3, _ZERO)) for e in chain]
        if len(offsets) == 1:
            return Placement(body, *offsets[0], name, carried)
        pose = Pose.identity()
        for translation, orientation in reversed(offsets):
            pose = pose @ Pose.from_xyz(orientation, translation)
        p, angles = pose.p.tolist(), to_xyz(pose.R).tolist()
        return Placement(body, tuple(p), tuple(angles), name, carried)

    def joint_placement(self, owner: Element, socket: str) -> Placement:
        """The placement of a joint's or weld's frame; a frame that stands elsewhere is named by its absolute path."""
        path = self.frame_path(owner, socket)
        own = f"{component_path(owner)}/"
        name = path[len(own) :] if path.startswith(own) else path
        return self.placement(path, name if path in self.offset_frames else "")

    def frame_carried(self, element: Element) -> tuple[str, ...]:
        """What an offset frame holds besides its place: drawings, and components other than frames."""
        return carried(element, self)

    def other_frames(self, used: set[str]) -> tuple[Frame, ...]:
        """Every offset frame but those in `used` (paths that joints and constraints already hold), by path."""
        rest = sorted(path for path in self.offset_frames if path not in used)
        return tuple(Frame(path, self.placement(path, path.rsplit("/", 1)[-1])) for path in rest)

    # --- coordinates ------------------------------------------------------------------------------------------------
    def coordinate(self, owner: Element, socket: str) -> str:
        """The name of the coordinate in a socket; empty where the socket is."""
        connectee = text(owner, f"socket_{socket}").strip()
        named = [name for name, path in self.coordinates.items() if path.endswith(f"/{connectee.lstrip('./')}")]
        name = named[0] if connectee and named else connectee.rsplit("/", 1)[-1]
        if name and name not in self.coordinates:
            raise InvalidModel(f"{place(owner)}: {UnknownName('coordinate', name, self.coordinates, describe(owner))}")
        return name


class UnknownFrame(InvalidModel):
    def __init__(self, connectee: str, known: list[str], owner: Element, socket: str) -> None:
        body = connectee.rsplit("/", 1)[-1]
        guess = UnknownName("body or frame", body, known, f"<socket_{socket}> of {describe(owner)}")
        super().__init__(f"{place(owner)}: {guess}; add the body or correct the name")


def component_path(element: Element) -> str:
    """The absolute path of a component, as OpenSim builds it from names."""
    parts: list[str] = []
    node: Any = element
    while node is not None and node.tag != "Model":
        if node.tag in _HOLDERS:
            pass
        elif node.tag.endswith("Set"):
            parts.append(node.tag.lower())
        else:
            parts.append(node.get("name") or restore_colons(node.tag).lower())
        node = node.getparent()
    return "/" + "/".join(reversed(parts))


def carried(element: Element, context: Context, base: str = "") -> tuple[str, ...]:
    """The children that `properties.PROPERTIES` does not call applied, as XML; what it does not know is noted.

    Offset frames are the model's own and left out. `base` says what is known of an object of a class that is not.
    """
    kind = element.tag
    known = PROPERTIES.get(kind)
    kept: list[str] = []
    for child in element:
        tag = child.tag
        if tag in HOLDERS_OF_COMPONENTS:
            kept += carried_components(child, context)
            continue
        use = _use(child, BASES[base] if known is None else known)
        if use == APPLIED:
            if tag not in WITH_ELEMENTS:
                refuse_elements(child)
            continue
        if not (len(child) or child.text or child.attrib):
            continue
        if use is None and known is not None:
            context.note(element, no_property(kind, restore_colons(tag)), kind)
        kept.append(to_text(child))
    return tuple(kept)


def members(parent: Element, set_tag: str, kind: str, context: Context) -> list[Element]:
    """The members of a set that can hold one class only; OpenSim opens no file where another stands in it."""
    holder = parent.find(set_tag)
    if holder is None:
        return []
    account(holder, context)
    found = list(objects(parent, set_tag))
    for member in found:
        if member.tag != kind:
            raise invalid(member, f"stands in a <{set_tag}>, which holds <{kind}> only; correct the element or move it")
    return found


def account(element: Element, context: Context) -> None:
    """Note what is not a property of an object of a known class; for objects of which nothing is carried."""
    kind = restore_colons(element.tag)
    known = PROPERTIES[kind]
    for child in element:
        tag = child.tag
        if tag in HOLDERS_OF_COMPONENTS:
            carried_components(child, context)
        elif tag in known:
            if tag not in WITH_ELEMENTS:
                refuse_elements(child)
        elif _use(child, known) is None and (len(child) or child.text or child.attrib):
            context.note(element, no_property(kind, restore_colons(tag)), kind)


def _use(child: Element, known: Properties) -> str | None:
    """What is done with a child: an object may stand under its own class, with the property's name or with none."""
    use = known.get(child.tag)
    if use is None:
        name = child.get("name", "")
        if name == "frame_geometry" and child.tag != "FrameGeometry":
            return None  # OpenSim opens no such file; readers refuse other objects of a wrong class themselves
        if not name and child.tag in PROPERTIES:  # only functions stand so
            name = "function"
        use = known.get(name if stands_by_class(child.getparent().tag, name) else restore_colons(child.tag))
    return use


def carried_components(holder: Element, context: Context) -> list[str]:
    """The components in `<components>` or `<frames>` other than offset frames, as XML; each is noted."""
    rest = [c for c in holder if c.tag != _OFFSET]
    for component in rest:
        context.note(component, "components of this kind are kept but take no part in the mechanics")
    return [f"<{holder.tag}>" + "".join(to_text(c) for c in rest) + f"</{holder.tag}>"] if rest else []
