"""`<defaults>`: values that objects of a class take where they state none.

OpenSim registers them for the whole process, so that they leak into models read later. Here they are written into the
objects of their own document, and nothing is remembered.
"""

from __future__ import annotations

from copy import deepcopy

from musculo.io.osim.xml import Element


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
