"""The document being written: sets, frames by path, functions, and the notes about what could not be said exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable

from lxml import etree

from musculo.errors import InvalidModel
from musculo.functions import Function
from musculo.io.osim.writing.write_functions import Span, function_element
from musculo.io.osim.xml import NEWEST_VERSION, Element, ensure, exact_all, from_text, put
from musculo.model.body import GROUND, Placement
from musculo.model.coordinate import coordinate_path
from musculo.model.model import Model, Note

# Where no range is known, a function that must be resampled is sampled over a turn to both sides.
_DEFAULT_SPAN: Span = (-2.0 * math.pi, 2.0 * math.pi)
REFUSED_CHARACTERS = " \\*+/"  # in names, by OpenSim; control characters too
_SETS = (
    "BodySet",
    "JointSet",
    "ControllerSet",
    "ConstraintSet",
    "ForceSet",
    "MarkerSet",
    "ContactGeometrySet",
    "ProbeSet",
    "ComponentSet",
)


class Document:
    """An `<OpenSimDocument>` in 40600 layout that grows by the parts of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.notes: list[Note] = []
        self.root = etree.Element("OpenSimDocument", Version=str(NEWEST_VERSION))
        name = "".join("_" if c in REFUSED_CHARACTERS or not c.isprintable() else c for c in model.name)
        if name != model.name:
            self.note(f"model {model.name!r}", "/", f"OpenSim refuses such a name; it is written as {name!r}")
        self.element = etree.SubElement(self.root, "Model", name=name)
        self.owners: dict[str, Element] = {"": self.element}
        self.coordinate_paths = {
            c.name: coordinate_path(joint.name, c.name) for joint in model.joints for c in joint.coordinates
        }

    def start_sets(self) -> None:
        for tag in _SETS:
            holder = etree.SubElement(self.element, tag, name=tag.lower())
            self.owners[f"/{tag.lower()}"] = etree.SubElement(holder, "objects")
            etree.SubElement(holder, "groups")

    def add(self, set_tag: str, tag: str, name: str) -> Element:
        """A new member of a set, under a name that OpenSim takes."""
        if not name or not name.isprintable() or set(name) & set(REFUSED_CHARACTERS):
            raise InvalidModel(
                f"a <{tag}> is named {name!r}, which OpenSim refuses to open: names may not be empty nor hold spaces, "
                f"line breaks or any of {' '.join(REFUSED_CHARACTERS.strip())}; rename it"
            )
        element = etree.SubElement(self.owners[f"/{set_tag.lower()}"], tag, name=name)
        self.owners[f"/{set_tag.lower()}/{name}"] = element
        return element

    def note(self, what: str, where: str, why: str) -> None:
        self.notes.append(Note(what, where, why))

    def socket(self, frame: str) -> str:
        """The path of a frame given as a body's name, `ground` or a path; an error where there is none."""
        self.model.placement(frame)
        if frame == GROUND:
            return "/ground"
        return frame if frame.startswith("/") else f"/bodyset/{frame}"

    def offset_frame(self, holder: Element, path: str, placement: Placement) -> None:
        element = etree.SubElement(holder, "PhysicalOffsetFrame", name=path.rsplit("/", 1)[-1])
        put(element, "socket_parent", self.socket(placement.body))
        put(element, "translation", exact_all(placement.translation))
        put(element, "orientation", exact_all(placement.orientation))
        self.carry(element, placement.carried)
        self.owners[path] = element

    def carry(self, element: Element, parts: Iterable[str]) -> None:
        """Put carried XML back; lists of frames and components join those that are there."""
        for xml in parts:
            part = from_text(xml)
            if part.tag in ("frames", "components"):
                for component in list(part):
                    ensure(element, part.tag).append(component)
            else:
                element.append(part)

    def coordinate_name(self, name: str, where: str) -> str:
        """What OpenSim calls a coordinate that is referred to by its name; it takes the first that has it."""
        bare = self.coordinate_paths[name].rsplit("/", 1)[-1]
        first = next(own for own, path in self.coordinate_paths.items() if path.endswith(f"/{bare}"))
        if first != name:
            self.note(where, self.coordinate_paths[name], f"OpenSim finds {bare!r} by this name, and takes {first!r}")
        return bare

    # --- functions --------------------------------------------------------------------------------------------------
    def function(self, owner: Element, name: str, function: Function, where: str, span: Span | None = None) -> None:
        """A property `<name><SimmSpline>...`."""
        self.function_in(etree.SubElement(owner, name), function, where, span)

    def function_in(self, holder: Element, function: Function, where: str, span: Span | None = None) -> None:
        """One of the functions of a list, `<SimmSpline>...`."""
        holder.append(self._function(function, where, span))

    def named_function(
        self, owner: Element, name: str, function: Function, where: str, span: Span | None = None
    ) -> None:
        """A property `<SimmSpline name="name">`."""
        element = self._function(function, where, span)
        element.set("name", name)
        owner.append(element)

    def _function(self, function: Function, where: str, span: Span | None) -> Element:
        known = span is not None and all(math.isfinite(v) for v in span) and span[0] < span[1]
        return function_element(
            function,
            span if known and span is not None else _DEFAULT_SPAN,
            lambda why: self.note(type(function).__name__, where, why),
        )
