"""The drivers that are compiled ahead, with the types that the package calls them with: `canonical.json` lists them.

    {"types": {"musculo.kernels.tree.nodes:Tree": "parent=i8[1],..."},
     "drivers": [["module:name", "signature", seconds], ...]}

In signatures a named tuple is written `@module:name`, and its fields stand once, in `types`. The order is that of need;
the seconds are those that compiling took on the machine that wrote the list, and serve to say how long it will take.
`tools/build_kernels.py --record` writes it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("canonical.json")
_NAMED = re.compile(r"@([\w.]+:\w+)")


class Listed(NamedTuple):
    """A driver of the list."""

    where: str  # module:name
    signature: str
    seconds: float


@cache
def listed() -> tuple[Listed, ...]:
    """All of them, in the order of need."""
    if not _FILE.exists():
        return ()
    content = json.loads(_FILE.read_text(encoding="utf-8"))
    known: dict[str, str] = {}

    def spelled(text: str) -> str:
        return _NAMED.sub(lambda match: f"{match[1]}({fields(match[1])})", text)

    def fields(name: str) -> str:
        if name not in known:
            known[name] = spelled(content["types"][name])
        return known[name]

    return tuple(Listed(where, spelled(signature), seconds) for where, signature, seconds in content["drivers"])


@cache
def _by_driver() -> dict[str, tuple[Listed, ...]]:
    found: dict[str, tuple[Listed, ...]] = {}
    for entry in listed():
        found[entry.where] = (*found.get(entry.where, ()), entry)
    return found


def of(where: str) -> tuple[Listed, ...]:
    """What the list says about a driver; nothing where it is not on it."""
    return _by_driver().get(where, ())


def signatures(where: str) -> tuple[str, ...]:
    """Those with which the package calls a driver; none where it is not on the list."""
    return tuple(entry.signature for entry in of(where))
