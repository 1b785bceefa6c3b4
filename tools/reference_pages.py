"""Reference pages from docstrings: a line `::: musculo.name` of a page becomes that name's signature and docstring.

A Sphinx extension. Docstrings are Markdown with sections: Args, Returns and Raises as in Google's style; Source,
Departs and Guarantees as CONTRIBUTING asks for formulas. Keys such as [Seth2010] become links to the bibliography.
"""

from __future__ import annotations

import importlib
import inspect
import re
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

LINE = re.compile(r"^::: +([\w.]+)$", flags=re.M)
REFERENCES = Path(__file__).parents[1] / "docs" / "theory" / "references.md"

_SECTION = re.compile(r"^(Source|Sources|Departs|Guarantees):[ ]+(\S.*)$")
_LISTS = ("Args:", "Returns:", "Raises:")
# A field of a class with the comment behind it; a value of an enumeration with the docstring below it.
_FIELD = re.compile(r"^    (\w+): [^#\n]*?(?:  # (.*))?$", flags=re.M)
_VALUE = re.compile(r'^    ([A-Z]\w*) = .*\n    """(.*?)"""', flags=re.M | re.S)
_ITEM = re.compile(r"^([*\w][\w*, ]*): (.*)$")


def markdown_of(name: str) -> str:
    """The whole entry of a public name, `musculo.kinematics` for instance."""
    module, _, leaf = name.rpartition(".")
    value = getattr(importlib.import_module(module), leaf)
    if inspect.isclass(value):
        parts = [markdown_of_docstring(_doc(value)), _fields(value), *_members(value)]
        return _block("class", name, value, "\n\n".join(part for part in parts if part))
    if callable(value):
        return _block("function", name, value, markdown_of_docstring(_doc(value)))
    return f"```{{py:data}} {leaf}\n:module: {module}\n\n{value!r}\n```"


def markdown_of_docstring(text: str) -> str:
    """A docstring as Markdown.

    >>> print(markdown_of_docstring("Short.\\n\\nSource:  a\\n         book.\\n\\nArgs:\\n    q: (n,)\\n        [m]."))
    Short.
    <BLANKLINE>
    - **Source.** a book.
    <BLANKLINE>
    <BLANKLINE>
    **Args**
    <BLANKLINE>
    - `q`: (n,) [m].
    """
    made: list[str] = []
    section = ""
    for line in text.splitlines():
        bare = line.strip()
        if found := _SECTION.match(line):
            section = found[1]
            made += [f"- **{section}.** {found[2]}"]
        elif line in _LISTS:
            section = line
            made += ["", f"**{line[:-1]}**", ""]
        elif section and line.startswith("    ") and bare:
            if section in _LISTS and not line.startswith("     ") and (item := _ITEM.match(bare)):
                names = ", ".join(f"`{part.strip()}`" for part in item[1].split(","))
                made.append(f"- {names}: {item[2]}")
            elif section in _LISTS and not made[-1]:
                made.append(bare)
            else:
                made[-1] += " " + bare
        else:
            if section and bare:
                made.append("")
            section = "" if bare else section
            made.append(line)
    return _with_links("\n".join(made))


def _doc(value: Any) -> str:
    text = value.__doc__ or ""
    # A dataclass without a docstring has its signature for one.
    return "" if text.startswith(f"{getattr(value, '__name__', '')}(") else inspect.cleandoc(text)


def _block(kind: str, name: str, value: Any, body: str) -> str:
    module, _, leaf = name.rpartition(".")
    fence = "`" * 6 if kind == "class" else "`" * 4
    return f"{fence}{{py:{kind}}} {leaf}{_signature(value)}\n:module: {module}\n\n{body}\n{fence}\n"


def _fields(value: type) -> str:
    """Fields and what their comments say; not where the docstring lists them."""
    try:
        source = inspect.getsource(value)
    except (OSError, TypeError):
        return ""
    if "Args:" in _doc(value):
        return ""
    head = re.split(r"^    (?:@|def )", source, maxsplit=1, flags=re.M)[0]
    found = _VALUE.findall(head) or [(name, told) for name, told in _FIELD.findall(head) if name != "kind"]
    lines = [f"- `{name}`" + (f": {' '.join(told.split())}" if told else "") for name, told in found if name[0] != "_"]
    return "\n".join(["**Fields**", "", *lines]) if any(told for name, told in found if name[0] != "_") else ""


def _members(value: type) -> list[str]:
    """Methods and properties that have a docstring, in the order of the source."""
    found = []
    for name, member in vars(value).items():
        if name.startswith("_"):
            continue
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        text = markdown_of_docstring(_doc(plain)) if isinstance(plain, property | cached_property) else ""
        if text:
            found.append(f"````{{py:property}} {name}\n\n{text}\n````")
        elif inspect.isfunction(plain) and plain.__doc__:
            kind = "classmethod" if isinstance(member, classmethod) else "method"
            head = f"{{py:{kind}}} {name}{_signature(plain, method=True)}"
            found.append(f"````{head}\n\n{markdown_of_docstring(_doc(plain))}\n````")
    return found


def _signature(value: Any, method: bool = False) -> str:
    """As the source has it, defaults and annotations included."""
    if inspect.isclass(value) and issubclass(value, BaseException | Enum):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = list(signature.parameters.values())
    if method:
        parameters = parameters[1:]
    # What begins with an underscore is filled in by the package.
    parameters = [parameter for parameter in parameters if not parameter.name.startswith("_")]
    texts = []
    keyword_only = False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            keyword_only = True
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            texts.append("*")
            keyword_only = True
        star = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        texts.append(star + parameter.name + _default(parameter))
    return f"({', '.join(texts)})"


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return ""
    text = repr(parameter.default)
    # Objects show themselves at length, or with an address.
    return "=" + (text if len(text) < 40 and "<" not in text else "...")


def _with_links(text: str) -> str:
    """Keys of the bibliography as links, but in formulas and code."""
    keys = re.findall(r"^### (\w+)$", REFERENCES.read_text(encoding="utf-8"), flags=re.M)
    known = re.compile(rf"(?<![\w`\[/#])\[?\b({'|'.join(keys)})\b\]?(?![`\w])")
    lines = text.split("\n")
    for k, line in enumerate(lines):
        if not line.startswith("    "):
            lines[k] = known.sub(lambda found: f"[{found[1]}](/theory/references.md#{found[1].lower()})", line)
    return "\n".join(lines)


def _expand(app: Any, page: str, content: list[str]) -> None:
    content[0] = LINE.sub(lambda found: markdown_of(found[1]), content[0])


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _expand)
    return {"parallel_read_safe": True}
