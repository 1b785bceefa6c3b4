"""What stands in a model file where OpenSim reads nothing, or reads something else than people expect.

Attributes and text between elements have no effect, here as there; objects that name another file are read from it.
"""

from __future__ import annotations

import re
from pathlib import Path, PureWindowsPath

from lxml import etree

from musculo.errors import InvalidFile
from musculo.io.osim.context import component_path
from musculo.io.osim.xml import Element, describe, document_version, invalid, parse_xml, place, restore_colons
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
