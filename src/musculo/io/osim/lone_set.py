"""A set that stands in a file of its own, put under a model element as it would stand in a model's file."""

from __future__ import annotations

from lxml import etree

from musculo.errors import InvalidFile, InvalidInput
from musculo.io.osim.xml import Element, document_version, ensure, parse_xml, place, restore_colons
from musculo.io.text import PathLike, checked_path, read_bytes
from musculo.model.model import Model


def read_lone_set(path: PathLike, model: Model, kind: str, *tags: str) -> tuple[Element, int]:
    """A `<Model>` that holds nothing but the first set with one of the tags, and the version of the file's layout.

    Args: kind: what the file should be, for messages.

    Raises:
        InvalidFile: no file, no XML, or no such set; the message names the first of the tags.
    """
    if not isinstance(model, Model):
        raise InvalidInput(f"a Model is needed, not {type(model).__name__}; read one with read_osim(path)")
    where = checked_path(path, kind)
    root = parse_xml(read_bytes(path, kind), where, f"it should be {kind}")
    if root.tag != "OpenSimDocument":
        raise InvalidFile(f"{place(root)}: the root element is <{restore_colons(root.tag)}>; it should be {kind}")
    version = document_version(root)
    found = next((child for child in root if child.tag in tags), None)
    if found is None:
        held = ", ".join(f"<{restore_colons(child.tag)}>" for child in root[:4]) or "nothing"
        raise InvalidFile(f"{place(root)}: the document holds {held:.200}, and no <{tags[0]}>")
    element = etree.SubElement(root, "Model", name=model.name)
    element.append(found)
    return element, version


def add_bodies(element: Element, model: Model) -> None:
    """The bodies of the model, by name, for what refers to them."""
    bodies = ensure(ensure(element, "BodySet"), "objects")
    for name in model.body_names:
        etree.SubElement(bodies, "Body", name=name)
