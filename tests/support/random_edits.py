"""One random edit of a valid XML document: swap, drop, duplicate, rename or rescale one element.

The edit is drawn from a seed, so that a number names a document.
"""

from __future__ import annotations

import random
from copy import deepcopy
from pathlib import Path

import numpy as np
from lxml import etree

# What is only drawn or read by people: edited, but seldom, as there is much of it and it changes no number.
_DRAWN = {"attached_geometry", "VisibleObject", "Appearance", "credits", "publications", "default_color"}
_SELDOM = 0.05
_FACTORS = (0.0, -1.0, 0.5, 1.1, 2.0, 10.0, 1000.0)


def edited(document: Path, seed: int) -> tuple[bytes, str]:
    """The document with one edit, and what was done."""
    rng = random.Random(f"{document.name} {seed}")
    parser = etree.XMLParser(remove_comments=True, remove_blank_text=True)
    root = etree.fromstring(document.read_bytes().replace(b"::", b"-colons-"), parser)
    what = ""
    while not what:
        element = _chosen(root, rng)
        what = rng.choice((_drop, _duplicate, _swap, _rename, _rescale, _rescale))(element, root, rng)
    content = etree.tostring(root, xml_declaration=True, encoding="UTF-8").replace(b"-colons-", b"::")
    return content, what


def _chosen(root: etree._Element, rng: random.Random) -> etree._Element:
    elements = list(root.iter())[1:]
    while True:
        element = rng.choice(elements)
        drawn = any(node.tag in _DRAWN for node in (element, *element.iterancestors()))
        if not drawn or rng.random() < _SELDOM:
            return element


def _path(element: etree._Element) -> str:
    """Where an element stands: tags and names from the root on."""
    nodes = [element, *element.iterancestors()]
    return "/".join(node.get("name") or node.tag for node in reversed(nodes[:-1])) + f" <{element.tag}>"


def _drop(element: etree._Element, _: etree._Element, __: random.Random) -> str:
    what = f"drop {_path(element)}"
    element.getparent().remove(element)
    return what


def _duplicate(element: etree._Element, _: etree._Element, __: random.Random) -> str:
    element.addnext(deepcopy(element))
    return f"duplicate {_path(element)}"


def _swap(element: etree._Element, root: etree._Element, rng: random.Random) -> str:
    """Two siblings change places, or two leaves of one tag their content."""
    after = element.getnext()
    if after is not None and rng.random() < 0.5:
        what = f"swap {_path(element)} with the next, <{after.tag}>"
        after.addnext(element)
        return what
    others = [other for other in root.iter(element.tag) if other is not element and other.text != element.text]
    if len(element) or not others:
        return ""
    other = rng.choice(others)
    what = f"swap content {_path(element)} {element.text!r:.60} with {_path(other)} {other.text!r:.60}"
    element.text, other.text = other.text, element.text
    return what


def _rename(element: etree._Element, root: etree._Element, rng: random.Random) -> str:
    kind = rng.choice(("tag", "name", "text"))
    if kind == "tag":
        tags = sorted({other.tag for other in root.iter()} - {element.tag})
        new = rng.choice((element.tag + "x", element.tag.swapcase(), rng.choice(tags)))
        what = f"rename tag {_path(element)} to <{new}>"
        element.tag = new
        return what
    old = element.get("name") if kind == "name" else element.text
    if not old or (len(element) and kind == "text") or (kind == "text" and _numbers(old)):
        return ""
    same = [other.get("name") if kind == "name" else other.text for other in root.iter(element.tag)]
    new = rng.choice((old + "x", rng.choice([s for s in same if s] or [old])))
    if new == old:
        return ""
    what = f"rename {kind} {_path(element)} {old!r:.60} to {new!r:.60}"
    if kind == "name":
        element.set("name", new)
    else:
        element.text = new
    return what


def _rescale(element: etree._Element, _: etree._Element, rng: random.Random) -> str:
    """One number of a leaf is multiplied; a flag is turned round."""
    if len(element) or not element.text:
        return ""
    if element.text.strip() in ("true", "false"):
        element.text = "false" if element.text.strip() == "true" else "true"
        return f"turn round {_path(element)} to {element.text}"
    values = _numbers(element.text)
    if not values:
        return ""
    at, factor = rng.randrange(len(values)), rng.choice(_FACTORS)
    what = f"rescale {_path(element)} {values[at]:g} times {factor:g}"
    words = element.text.replace(",", " ").split()
    value = values[at] * factor
    # A whole number stays one where it can: some properties are counts.
    whole = "." not in words[at] and np.isfinite(value) and value == int(value)
    words[at] = str(int(value)) if whole else repr(value)
    element.text = " ".join(words)
    return what


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        return []
