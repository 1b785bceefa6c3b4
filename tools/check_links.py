"""Links that lead nowhere, and pages that load something from elsewhere.

    python tools/check_links.py [SITE]

Checks the Markdown files of the repository's root (files and headings of the repository), and, where the folder of a
built site is given, every link, image, script and style sheet of its pages. Links to other sites are not followed;
scripts, styles, fonts and images from other sites are refused, for the site works without a network.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
# Attributes that load what they name; others merely lead there.
LOADING = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
# A link element of these kinds loads nothing.
_NAMING = {"canonical", "author", "next", "prev", "search", "index"}
_URL_IN_CSS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
_MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")


class Page(HTMLParser):
    """What a page leads to or loads, and the places in it that links may point at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[tuple[str, bool]] = []  # (address, whether it is loaded)
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        for name in ("href", "src"):
            if name in given:
                loads = (tag, name) in LOADING and not set(given.get("rel", "").split()) & _NAMING
                self.targets.append((given[name], loads))


@cache
def read_page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def problems_of_site(site: Path) -> list[str]:
    """One line for each link that leads nowhere and for each thing from another site."""
    found = []
    for path in sorted(site.rglob("*.html")):
        for address, loads in read_page(path).targets:
            found += [f"{path.relative_to(site)}: {why}" for why in _problem(site, path, address, loads)]
    for path in sorted(site.rglob("*.css")):
        for match in _URL_IN_CSS.finditer(path.read_text(encoding="utf-8")):
            address = match[1] or match[2]
            found += [f"{path.relative_to(site)}: {why}" for why in _problem(site, path, address, True)]
    return found


def _problem(site: Path, page: Path, address: str, loads: bool) -> list[str]:
    parts = urlsplit(address)
    if parts.scheme == "data":
        return []
    if parts.scheme or parts.netloc:
        return [f"loads {address} from another site"] if loads else []
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file():
        return [f"{address} is not there"]
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read_page(target).places:
        return [f"{address}: the page has no such place"]
    return []


def problems_of_markdown(root: Path) -> list[str]:
    """Links of the Markdown files in a folder (not below it) to files and headings that are not there."""
    found = []
    for path in sorted(root.glob("*.md")):
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for address in _MARKDOWN_LINK.findall(text):
            parts = urlsplit(address)
            if parts.scheme:
                continue
            target = path.parent / unquote(parts.path) if parts.path else path
            if not target.exists():
                found.append(f"{path.name}: {address} is not there")
            elif parts.fragment and parts.fragment not in _headings(target):
                found.append(f"{path.name}: {address}: the file has no such heading")
    return found


def _headings(path: Path) -> set[str]:
    """Headings as the addresses that GitHub makes of them."""
    lines = re.findall(r"^#+ +(.+?)\s*$", path.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def main(arguments: list[str]) -> int:
    found = problems_of_markdown(ROOT)
    for argument in arguments:
        site = Path(argument).resolve()
        if not list(site.rglob("*.html")):
            found.append(f"{argument}: no page is there; build the site first")
        found += problems_of_site(site)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
