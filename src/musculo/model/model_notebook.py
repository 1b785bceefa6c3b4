"""How a model shows itself in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable


def facts_html(title: str, facts: Iterable[tuple[str, object]], below: str = "") -> str:
    """A heading and rows of what and how much; all text is escaped."""
    rows = "".join(
        f"<tr><th style='text-align:left;font-weight:600'>{html.escape(str(what))}</th>"
        f"<td style='text-align:left'>{html.escape(str(found))}</td></tr>"
        for what, found in facts
    )
    return f"<div><strong>{html.escape(title)}</strong><table>{rows}</table>{below}</div>"
