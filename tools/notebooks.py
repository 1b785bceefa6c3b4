#!/usr/bin/env python3
"""The gallery as notebooks: text cells and code cells of a page, with the files that it needs made first.

    python tools/notebooks.py FOLDER [PAGE.md ...]

The pages themselves are run by the tests, so the code of the notebooks is.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```\n", flags=re.M | re.S)
_FIRST = "# The files that this page reads.\n!musculo demo --quiet"


def notebook(page: Path) -> dict[str, Any]:
    """A page as a notebook of format 4: `python` and `sh` blocks become code, what was printed is left away."""
    text = page.read_text(encoding="utf-8")
    cells: list[dict[str, Any]] = [_code(_FIRST)]
    end = 0
    for fence in _FENCE.finditer(text):
        cells += _text(text[end : fence.start()])
        kind, body = fence.group(1), fence.group(2).rstrip("\n")
        if kind == "python":
            cells.append(_code(body))
        elif kind == "sh":
            cells.append(_code("\n".join(f"!{line}" for line in body.splitlines())))
        elif kind != "text":  # what was printed is printed again
            cells += _text(fence.group(0))
        end = fence.end()
    cells += _text(text[end:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}


def _code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": _lines(source)}


def _text(source: str) -> list[dict[str, Any]]:
    told = source.strip("\n")
    return [{"cell_type": "markdown", "metadata": {}, "source": _lines(told)}] if told.strip() else []


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def write_notebooks(folder: Path, pages: list[Path]) -> list[Path]:
    """Write a notebook for each page, by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in pages:
        path = folder / f"{page.stem}.ipynb"
        path.write_text(json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    given = [Path(name) for name in sys.argv[2:]] or sorted(GALLERY.glob("*.md"))
    for made in write_notebooks(Path(sys.argv[1]), given):
        print(made)
