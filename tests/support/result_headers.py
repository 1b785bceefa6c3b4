"""The layout of the header of a result file: what a script that skips lines, or reads keys, depends on."""

from __future__ import annotations

import re
from pathlib import Path


def header_layout(path: Path) -> list[str]:
    """One entry a line: the title, `key=` of a key, `text` of words for people, nothing of an empty line."""
    title, *lines = path.read_text().splitlines()
    end = lines.index("endheader")
    return [title, *(_kind(line) for line in lines[:end]), "endheader"]


def _kind(line: str) -> str:
    key = re.match(r"\w+=", line)
    return key[0] if key else "text" if line.strip() else ""
