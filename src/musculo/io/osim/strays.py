"""Attributes and text that stand where OpenSim reads none: noted by name, and without effect here as there."""

from __future__ import annotations

from lxml import etree

from musculo.io.osim.context import component_path
from musculo.io.osim.xml import Element, describe
from musculo.model.model import Note

# One walk each, in libxml2: there are thousands of elements, and strays are rare.
_ATTRIBUTES = etree.XPath("descendant-or-self::*/@*[name() != 'name']")
_TEXTS = etree.XPath("descendant-or-self::*[*]/text()")


def stray_notes(model: Element) -> list[Note]:
    """Notes of attributes other than `name`, and of text between elements, which is taken out."""
    notes = []
    for attribute in _ATTRIBUTES(model):
        owner = attribute.getparent()
        told = f"the attribute {attribute.attrname}={str(attribute)[:60]!r} is not read, in OpenSim neither"
        notes.append(Note(describe(owner), component_path(owner), told))
    for words in _TEXTS(model):
        place = words.getparent()
        owner = place.getparent() if words.is_tail else place
        if words.is_tail:
            place.tail = None
        else:
            place.text = None
        told = f"the text {str(words).strip()[:60]!r} stands between its elements; it is not read, in OpenSim neither"
        notes.append(Note(describe(owner), component_path(owner), told))
    return notes
