"""Safe parsing of OpenSim documents, and the small vocabulary with which the other files read an element.

Nothing is fetched, no entity is expanded, and every complaint names the file, the line and the object.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path as FilePath
from typing import Any

from lxml import etree

from musculo.errors import InvalidFile, InvalidModel
from musculo.io.foreign import refuse_foreign
from musculo.io.text import heard, no_file
from musculo.io.xml_text import parse_text

Element = Any  # lxml.etree._Element: lxml ships no types

OLDEST_VERSION = 10901  # OpenSim 4.6 refuses anything older, too
NEWEST_VERSION = 40600  # the layout of OpenSim 4.6

# OpenSim writes C++ names such as <HuntCrossleyForce::ContactParameters>, which namespaces forbid in XML names.
_COLONS = "-colons-"
_CPP_TAG = re.compile(rb"(</?[A-Za-z_]\w*)::(?=[A-Za-z_])")
_CPP_TEXT = re.compile(r"(</?[A-Za-z_]\w*)" + _COLONS)

_HINT = "check that it is an OpenSim model file (.osim), complete and not compressed"


def parse_document(path: str | os.PathLike[str], remarks: list[str] | None = None) -> Element:
    """The root element of a document; raises `InvalidFile` for everything that is not an OpenSim document.

    `remarks` takes what had to be changed for the file to be XML; without it, that is a warning.
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidFile(f"the path is {path!r:.60}, a {type(path).__name__}; give the path of an .osim file")
    where = os.fspath(path)
    root = parse_xml(_read_bytes(where), where, _HINT, remarks)
    if root.tag != "OpenSimDocument":
        raise InvalidFile(
            f"{where}:{root.sourceline}: the root element is <{restore_colons(root.tag)}>, not <OpenSimDocument>; "
            f"{_HINT}"
        )
    return root


def parse_xml(content: bytes, where: str, hint: str, remarks: list[str] | None = None) -> Element:
    """The root element of an XML file that is at hand; see `musculo.io.xml_text.parse_text`."""
    root = parse_text(content, where, hint, remarks, lambda text: _CPP_TAG.sub(rb"\1" + _COLONS.encode(), text))
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise InvalidFile(
            f"{where}:1: the document defines XML entities, which musculo refuses because they can be made to exhaust "
            "memory or to read other files; remove the DOCTYPE block"
        )
    _strip_whitespace(root)
    return root


def document_version(root: Element) -> int:
    """The version of the layout, for instance 30000 for OpenSim 3.0."""
    stated = root.get("Version", "")
    try:
        version = int(stated)
    except ValueError:
        raise InvalidFile(f'{place(root)}: <OpenSimDocument> has Version="{stated}", not a number; {_HINT}') from None
    if version < OLDEST_VERSION:
        raise InvalidFile(
            f"{place(root)}: document version {version} is older than {OLDEST_VERSION}, the oldest layout that can be "
            "read; open it in OpenSim 2.4 or 3.x, save it, and read the saved file"
        )
    return version


def _read_bytes(where: str) -> bytes:
    if not where:
        raise InvalidFile("the path is empty; give the path of an .osim file")
    file = FilePath(where)
    if file.is_dir():
        raise InvalidFile(f"{where} is a folder, not a file; give the path of an .osim file inside it")
    if not file.exists():
        raise no_file(where, "*.osim", "models in that folder")
    try:
        content = heard(file, file.read_bytes())
    except OSError as error:
        raise InvalidFile(f"{where} cannot be read ({error.strerror}); check its permissions") from None
    if not content.strip():
        raise InvalidFile(f"{where}:1: the file is empty; {_HINT}")
    refuse_foreign(content, where, "an OpenSim model (.osim)")
    return content


def _strip_whitespace(root: Element) -> None:
    """Layout only: text stands in leaves, so blanks around elements say nothing and would spoil comparisons."""
    for element in root.iter():
        text, tail = element.text, element.tail
        if text is not None and (stripped := text.strip()) != text:
            element.text = stripped or None
        if tail is not None:
            element.tail = tail.strip() or None


# --- where something stands -----------------------------------------------------------------------------------------
def place(element: Element) -> str:
    """`file:line` of an element, or of the nearest enclosing one that came from the file."""
    node = element
    while node is not None and not node.sourceline:
        node = node.getparent()
    return f"{element.getroottree().docinfo.URL or 'XML'}:{node.sourceline if node is not None else '?'}"


def describe(element: Element) -> str:
    """The object an element belongs to, for instance `Body 'femur_r'`."""
    node = element
    while node is not None and not node.get("name"):
        node = node.getparent()
    if node is None:
        return f"<{restore_colons(element.tag)}>"
    label = f"{restore_colons(node.tag)} {node.get('name')!r}"
    return label if node is element else f"<{restore_colons(element.tag)}> of {label}"


def invalid(element: Element, what: str) -> InvalidModel:
    """An error that says where: `raise invalid(element, "the mass is negative; ...")`."""
    return InvalidModel(f"{place(element)}: {describe(element)}: {what}")


# --- reading values -------------------------------------------------------------------------------------------------
def text(element: Element, tag: str, default: str = "") -> str:
    found = element.find(tag)
    if found is None:
        return default
    refuse_elements(found)
    return found.text or ""


def refuse_elements(leaf: Element) -> None:
    """OpenSim does not open a file that has elements where a value should stand."""
    if len(leaf):
        raise invalid(leaf, f"holds <{restore_colons(leaf[0].tag)}> where a value should stand; write the value itself")


def names(element: Element, tag: str) -> tuple[str, ...]:
    """A list of names: separated by blanks or commas, quotes and brackets of old files dropped."""
    return tuple(re.sub(r"[(),\"]", " ", text(element, tag)).split())


def flag(element: Element, tag: str, default: bool) -> bool:
    found = element.find(tag)
    if found is None or not found.text:
        return default
    word = found.text.lower()
    if word in ("true", "1"):
        return True
    if word in ("false", "0"):
        return False
    raise invalid(found, f"{found.text!r} is neither true nor false")


def number(element: Element, tag: str, default: float | None) -> float:
    """One number; an absent or empty element takes the default, and is an error where there is none."""
    found = element.find(tag)
    if found is None or not found.text:
        if default is None:
            raise invalid(element, f"states no <{tag}>; add it")
        return default
    values = _floats(found)
    if len(values) != 1:
        raise invalid(found, f"must be one number, found {len(values)}: {_short(found.text)}")
    return values[0]


def whole(element: Element, tag: str, default: int) -> int:
    """One whole number."""
    value = number(element, tag, float(default))
    if not math.isfinite(value) or value != int(value):
        raise invalid(element, f"its {tag} is {value:g}; give a whole number")
    if "." in text(element, tag):
        raise invalid(element, f"its {tag} is {text(element, tag)!r}; write it without a point, as OpenSim reads it")
    return int(value)


def vector(element: Element, tag: str, size: int, default: tuple[float, ...] | None) -> tuple[Any, ...]:
    """`size` numbers; an absent or empty element takes the default, and is an error where there is none."""
    found = element.find(tag)
    if found is None or not found.text:
        if default is None:
            raise invalid(element, f"states no <{tag}>; add its {size} numbers")
        return default
    values = _floats(found)
    if len(values) != size:
        raise invalid(found, f"must be {size} numbers, found {len(values)}: {_short(found.text)}")
    return values


def numbers(element: Element, tag: str) -> tuple[float, ...]:
    found = element.find(tag)
    return () if found is None else _floats(found)


def _floats(element: Element) -> tuple[float, ...]:
    values = []
    if "_" in (element.text or ""):  # digits in groups are Python's, and nobody else's
        raise invalid(element, f"{_short(element.text)} is not a number")
    for word in re.sub(r"[(),]", " ", element.text or "").split():
        try:
            value = float(word)
        except ValueError:
            raise invalid(element, f"{_short(word)} is not a number") from None
        if math.isnan(value):
            raise invalid(element, "holds NaN (not a number); put a value in its place")
        values.append(value)
    return tuple(values)


def _short(words: str) -> str:
    return repr(words if len(words) <= 60 else words[:57] + "...")


# --- structure ------------------------------------------------------------------------------------------------------
def objects(parent: Element | None, tag: str) -> Iterator[Element]:
    """The members of a set, `<Set><objects>...`; nothing where the set is absent."""
    found = None if parent is None else parent.find(f"{tag}/objects")
    return iter(()) if found is None else iter(list(found))


def ensure(parent: Element, tag: str, **attributes: str) -> Element:
    """The child of that tag, made if it is missing."""
    found = parent.find(tag)
    return etree.SubElement(parent, tag, **attributes) if found is None else found


def put(parent: Element, tag: str, content: str, **attributes: str) -> Element:
    """Append a leaf."""
    leaf = etree.SubElement(parent, tag, **attributes)
    leaf.text = content or None
    return leaf


def drop(element: Element | None) -> None:
    if element is not None and element.getparent() is not None:
        element.getparent().remove(element)


# --- carrying what has no mechanics ---------------------------------------------------------------------------------
def to_text(element: Element) -> str:
    """An element as one line of XML, as it is kept in a model."""
    return restore_colons(etree.tostring(element, encoding="unicode", with_tail=False))


def from_text(content: str) -> Element:
    """The element of one line kept in a model."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        element = etree.fromstring(_CPP_TAG.sub(rb"\1" + _COLONS.encode(), content.encode()), parser)
    except etree.XMLSyntaxError as error:
        raise InvalidModel(f"carried XML is not well-formed ({error.msg}): {_short(content)}") from None
    _strip_whitespace(element)
    return element


def restore_colons(xml: str) -> str:
    """C++ names as OpenSim spells them, in a tag alone or in a whole document."""
    return _CPP_TEXT.sub(r"\1::", xml) if "<" in xml else xml.replace(_COLONS, "::")


def exact(value: float) -> str:
    """A number that reads back to the same bits; infinities as OpenSim spells them."""
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    # Whole numbers without a point, as people write them; minus zero and large ones as floats.
    plain = value == int(value) and abs(value) < 1e15 and math.copysign(1.0, value) > 0.0
    return str(int(value)) if plain else repr(float(value))


def exact_all(values: Any) -> str:
    return " ".join(exact(float(v)) for v in values)


def resolve_defaults(model: Element) -> None:
    """Give each object of the model what the `<defaults>` of its class state and itself does not."""
    block = model.find("defaults")
    if block is None:
        return
    for default in block:
        # A class named twice: the last registration counts, so it must not find the places already taken.
        if any(later.tag == default.tag for later in default.itersiblings()):
            continue
        for element in list(model.iter(default.tag)):
            if element is not default and not _inside(element, block):
                _fill(element, default)


def _fill(element: Element, default: Element) -> None:
    stated = {_key(child, default) for child in element}
    for child in default:
        if _key(child, default) not in stated:
            element.append(deepcopy(child))


def _key(child: Element, default: Element) -> tuple[str, str]:
    """Children of one tag are one property, unless the default itself has several told apart by their names."""
    repeated = len(default.findall(child.tag)) > 1
    return child.tag, child.get("name", "") if repeated else ""


def _inside(element: Element, block: Element) -> bool:
    return any(ancestor is block for ancestor in element.iterancestors())
