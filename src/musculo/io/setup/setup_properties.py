"""Properties of a tool as fields of a dataclass: each field carries how it is read, so that a class is its own reader.

    @dataclass(frozen=True)
    class Example:
        accuracy: float = field(default=1e-5, metadata=NUMBER)      # reads <accuracy>

An element that no field reads leaves a note, as does a class of object that is not known.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path, PureWindowsPath
from typing import Any, TypeVar

from musculo.errors import InvalidFile
from musculo.io.osim.xml import (
    Element,
    flag,
    invalid,
    names,
    number,
    parse_xml,
    place,
    restore_colons,
    text,
    vector,
    whole,
)
from musculo.io.text import read_bytes

T = TypeVar("T")
KIND = "a set-up file of an OpenSim tool (.xml)"
HINT = f"check that it is {KIND}, complete and not compressed"
UNASSIGNED = "Unassigned"  # how OpenSim writes a file that is not given


class SetupFile:
    """The file that is being read: its folder, from which paths count, and the notes that its readers leave."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.folder = Path(where).parent
        self.notes: list[str] = []
        self.included: list[Path] = []  # files that hold parts of it

    def note(self, element: Element, why: str) -> None:
        self.notes.append(f"{place(element)}: <{restore_colons(element.tag)}> {why}")

    def file(self, stated: str, element: Element, result: bool = False) -> Path | None:
        """A path of the file, from the folder of the file; None where none is assigned.

        A path of Windows that leads nowhere here is looked for by its last part beside the set-up file; a `result`
        with a drive goes there.
        """
        if not stated or stated == UNASSIGNED:
            return None
        windows = PureWindowsPath(stated)
        if not (windows.drive or "\\" in stated):
            return self.folder / stated
        path, beside = self.folder / windows.as_posix(), self.folder / windows.name
        if path.exists() or (os.name == "nt" and result):
            return path
        if result and windows.drive:
            self.note(element, f"is {stated!r}, a path of Windows: the result is {beside}, beside the set-up file")
            return beside
        if not result and beside.exists():
            self.note(element, f"is {stated!r}, a path of Windows with nothing here; {beside} is used instead")
            return beside
        return path

    def inline(self, element: Element) -> Element:
        """The element itself, or the one in the file that its attribute `file` names."""
        path = self.file(element.get("file", ""), element)
        if path is None:
            return element
        where = os.fspath(path)
        self.included.append(path)
        try:
            content = read_bytes(path, f"a file with <{element.tag}>")
            root = parse_xml(content, where, f"it should hold <{element.tag}>", self.notes)
        except InvalidFile as error:
            raise InvalidFile(f"{place(element)}: <{element.tag}> is in another file: {error}") from None
        found = root if root.tag == element.tag else root.find(element.tag)
        if found is None:
            held = ", ".join(f"<{restore_colons(child.tag)}>" for child in root[:4])
            raise InvalidFile(
                f"{place(element)}: <{element.tag}> is in another file, {where}, which holds {held or 'nothing'}"
            )
        return found

    def refuse_other_words(self, element: Element, word: str, known: tuple[str, ...]) -> None:
        if word not in known:
            raise invalid(element, f"{word!r:.60} is not known; it is one of {', '.join(known)}")


Read = Callable[[Element, str, SetupFile, Any], Any]
How = dict[str, Any]  # the metadata of a field: how it is read, and its tag where that is not the field's name
Kinds = dict[str, Callable[[Element, SetupFile], Any]]


def read_by(read: Read, tag: str = "") -> How:
    """A field read by `read(element, tag, file, default)` where the element states the tag."""
    return {"read": read, "tag": tag}


def _text(element: Element, tag: str, file: SetupFile, default: str) -> str:
    return "" if text(element, tag) == UNASSIGNED else text(element, tag)


def _files(element: Element, tag: str, file: SetupFile, default: Any) -> tuple[Path, ...]:
    paths = (file.file(word, element.find(tag)) for word in text(element, tag).replace(",", " ").split())
    return tuple(path for path in paths if path is not None)


def _file(element: Element, tag: str, file: SetupFile, default: Any) -> Path | None:
    return file.file(text(element, tag), element.find(tag), result=tag.startswith("output_"))


def _folder(element: Element, tag: str, file: SetupFile, default: Any) -> Path:
    return file.file(text(element, tag), element.find(tag), result=True) or file.folder


FLAG = read_by(lambda element, tag, file, default: flag(element, tag, default))
NUMBER = read_by(lambda element, tag, file, default: number(element, tag, default))
WHOLE = read_by(lambda element, tag, file, default: whole(element, tag, default))
VECTOR = read_by(lambda element, tag, file, default: vector(element, tag, len(default), default))
WORDS = read_by(lambda element, tag, file, default: names(element, tag))
TEXT = read_by(_text)  # what is unassigned is empty
NOTES = read_by(_text, "notes")
FILE = read_by(_file)
FILES = read_by(_files)
# A folder that is not given is that of the set-up file.
FOLDER = read_by(_folder)


def members_of(kinds: Kinds, tag: str) -> How:
    """The members of `<tag><objects>`, each by the reader of its kind; others leave a note."""
    return read_by(lambda element, name, file, _: read_members(kinds, file.inline(element.find(name)), file), tag)


def read_members(kinds: Kinds, element: Element, file: SetupFile) -> tuple[Any, ...]:
    """The members of a set; those of another kind are noted."""
    found = []
    for member in element.iterfind("objects/*"):
        reader = kinds.get(member.tag)
        if reader is None:
            file.note(member, f"is ignored of <{element.tag}>, which may hold {', '.join(kinds)}")
        else:
            found.append(reader(file.inline(member), file))
    return tuple(found)


def object_of(kind: type[T], tag: str) -> How:
    """A nested object."""
    return read_by(lambda element, name, file, _: read_properties(kind, file.inline(element.find(name)), file), tag)


# What OpenSim's own writer leaves in any object, and what never had a meaning to these tools.
_SILENT = {"defaults", "components", "groups", "input_directory"}


def read_properties(kind: type[T], element: Element, file: SetupFile, **given: Any) -> T:
    """An object from its element; what no property reads is noted."""
    values: dict[str, Any] = dict(given)
    known: set[str] = set()
    for own in fields(kind):  # type: ignore[arg-type]
        if "read" not in own.metadata:
            continue
        tag = own.metadata["tag"] or own.name
        known.add(tag)
        if element.find(tag) is not None:
            values[own.name] = own.metadata["read"](element, tag, file, own.default)
    for child in element:
        if child.tag not in known and child.tag not in _SILENT:
            file.note(child, f"is not a property of <{restore_colons(element.tag)}>, and is ignored, as OpenSim does")
    return kind(**values)
