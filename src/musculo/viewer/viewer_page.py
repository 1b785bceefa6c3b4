"""The page that draws scenes: one HTML file that ships, built from `web/` (see `web/build.mjs`)."""

from __future__ import annotations

import html
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parent / "page.html"
# Where the page keeps its scene.
_SLOT = "@@musculo-scene@@"


@cache
def _parts() -> tuple[str, str]:
    before, slot, after = PAGE.read_text(encoding="utf-8").partition(_SLOT)
    if not slot:
        raise RuntimeError(f"{PAGE} has no place for a scene; build it again (viewer/web/build.mjs)")
    return before, after


def page(scene_json: str) -> str:
    """The whole page around a scene; the JSON must be safe inside a script element (`Scene.json`)."""
    before, after = _parts()
    return before + scene_json + after


def framed(page_html: str, title: str, height: int) -> str:
    """A page inside an element of another page, with styles and scripts of its own."""
    return (
        f'<iframe title="{html.escape(title, quote=True)}" sandbox="allow-scripts" loading="lazy" '
        f'style="width:100%;height:{int(height)}px;border:0;border-radius:8px" '
        f'srcdoc="{html.escape(page_html, quote=True)}"></iframe>'
    )
