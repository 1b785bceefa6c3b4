"""XML as people have it: parsed by the rules, and, where that fails, after the repairs that OpenSim's parser implies.

OpenSim passes bytes on as they stand, whatever encoding the file declares, and takes stray ampersands, control
characters and any comment. Such files are read here, too, and it is said what was changed. Nothing is fetched and no
entity is expanded.
"""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Callable
from typing import Any

from lxml import etree

from musculo.errors import InvalidFile, MusculoWarning

_DECLARATION = re.compile(r"\A\s*<\?xml\b[^>]*\?>")
_ENCODING = re.compile(rb"\A[^<]*<\?xml\b[^>]*\bencoding\s*=\s*[\"']([A-Za-z][\w.:-]*)[\"']")
# Characters that XML 1.0 does not know; to OpenSim they are blanks or part of a text.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_AMPERSAND = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)")
_REFERENCE = re.compile(r"&#(?:(\d{1,7})|x([0-9A-Fa-f]{1,6}));")


def parse_text(
    content: bytes,
    where: str,
    hint: str,
    remarks: list[str] | None = None,
    prepared: Callable[[bytes], bytes] = bytes,
) -> Any:
    """The root element of an XML file that is at hand.

    Args:
        where, hint: for the messages of errors.
        remarks: takes what had to be changed, one sentence each; without it, that is a `MusculoWarning`.
        prepared: makes XML of what is nearly XML.
    """
    try:
        return etree.fromstring(prepared(content), _parser(), base_url=where)
    except (etree.XMLSyntaxError, ValueError) as error:
        first = error
    text, changes = _repaired(content)
    try:
        root = etree.fromstring(prepared(text.encode()), _parser(), base_url=where)
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if root is None or not changes:  # the complaint about the file as it is helps more
        if isinstance(first, etree.XMLSyntaxError):
            raise InvalidFile(f"{where}:{first.lineno or 1}: not well-formed XML ({first.msg}); {hint}") from None
        raise InvalidFile(f"{where}: not readable as XML ({first}); {hint}") from None
    if remarks is None:
        warnings.warn(f"{where}: {'; '.join(changes)}", MusculoWarning, stacklevel=2)
    else:
        remarks += changes
    return root


def _parser() -> Any:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        remove_blank_text=True,
    )


def _repaired(content: bytes) -> tuple[str, list[str]]:
    """The text without its declaration, and what was changed."""
    changes: list[str] = []
    text = _DECLARATION.sub(lambda m: "\n" * m.group().count("\n"), _decoded(content, changes), count=1)
    text = text.rstrip("\0")
    if "<!DOCTYPE" in text or "<!ENTITY" in text or "\0" in text:
        return text, changes  # entities may mean something; they are refused later
    literal = "<![CDATA[" in text  # where comments and ampersands are text
    if not literal:
        text, count = _without_comments(text)
        if count:
            changes.append(f"{count} comment(s) hold --, which XML does not allow; they are ignored")
    clean = _FORBIDDEN.sub(" ", text)
    if clean != text:
        changes.append("control characters are read as blanks")
    if not literal:
        escaped = _AMPERSAND.sub(lambda m: "&" if _is_reference(clean, m.start()) else "&amp;", clean)
        if escaped != clean:
            changes.append("an & that begins no character reference is read as the character &")
        clean = escaped
    return clean, changes or ["blanks before the first line or after the last are ignored"]


def _is_reference(text: str, at: int) -> bool:
    found = _REFERENCE.match(text, at)
    if found is None:
        return False
    code = int(found[1]) if found[1] else int(found[2], 16)
    return code <= 0x10FFFF and _FORBIDDEN.match(chr(code)) is None


def _without_comments(text: str) -> tuple[str, int]:
    """The text without its comments, line by line where it was, and how many of them break the rules."""
    parts, at, odd = [], 0, 0
    while (begin := text.find("<!--", at)) >= 0:
        end = text.find("-->", begin + 4)
        if end < 0:
            break
        inside = text[begin + 4 : end]
        odd += "--" in inside or inside.endswith("-")
        parts += [text[at:begin], "\n" * inside.count("\n")]
        at = end + 3
    return "".join([*parts, text[at:]]), odd


def _decoded(content: bytes, changes: list[str]) -> str:
    """The text by its mark or its declaration; bytes that are no text there are characters of Windows (1252)."""
    for mark, wide in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"<\0", "utf-16-le"), (b"\0<", "utf-16-be")):
        if content.startswith(mark):
            return content.decode(wide, errors="replace")
    encoding = _declared(content, changes)
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        changes.append(
            f"it is not all {encoding.upper()} (byte 0x{content[error.start]:02x} in line {line} is the first that is "
            "not); such bytes are read as characters of Windows (code page 1252)"
        )
    return content.decode(encoding, errors=_HANDLER)


def _declared(content: bytes, changes: list[str]) -> str:
    """The declared encoding where it is one of single bytes that Python knows, else UTF-8."""
    found = _ENCODING.match(content.removeprefix(codecs.BOM_UTF8))
    if found is None:
        return "utf-8"
    declared = found[1].decode()
    letters = bytes(range(32, 127))
    try:
        if letters.decode(declared) == letters.decode("ascii"):
            return declared
    except (LookupError, UnicodeError, ValueError):
        pass
    changes.append(f"it declares the encoding {declared!r:.40}, which it does not have; it is read as UTF-8")
    return "utf-8"


def _as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    # the few bytes that the code page leaves open are control characters of Latin-1
    odd = error.object[error.start : error.end]
    return "".join(bytes([b]).decode("cp1252", errors="ignore") or chr(b) for b in odd), error.end


_HANDLER = "musculo.windows_1252"
codecs.register_error(_HANDLER, _as_windows_1252)
