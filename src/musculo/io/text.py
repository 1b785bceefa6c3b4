"""Text files of tables: reading bytes of any origin as lines, writing so that a file appears complete or not at all."""

from __future__ import annotations

import codecs
import hashlib
import math
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from musculo.errors import InvalidFile
from musculo.io.foreign import refuse_foreign

PathLike = str | os.PathLike[str]

_LINE_END = re.compile("\r\n|\n|\r")
_PART = 1 << 20  # bytes of a file that are made lines at a time
# How C libraries other than glibc print what is not a number.
_FOREIGN = {"1.#qnan": math.nan, "1.#ind": math.nan, "1.#snan": math.nan, "1.#inf": math.inf}


def checked_path(path: PathLike, kind: str) -> str:
    """The path as text; an error where it cannot be one."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path) or "\0" in str(os.fspath(path)):
        raise InvalidFile(f"the path is {path!r:.60}; give the path of {kind}")
    return str(os.fspath(path))


_hashes: ContextVar[dict[str, str] | None] = ContextVar("hashes of reads", default=None)


@contextmanager
def hashes_of_reads() -> Iterator[dict[str, str]]:
    """SHA-256 of the content of every file that is read inside, by absolute path.

    It is empty where a file was read twice and had changed between.
    """
    found: dict[str, str] = {}
    token = _hashes.set(found)
    try:
        yield found
    finally:
        _hashes.reset(token)


def heard(path: Path, content: bytes) -> bytes:
    """The content of a file that was read, its hash kept for `hashes_of_reads`."""
    found = _hashes.get()
    if found is not None:
        where, digest = str(path.absolute()), hashlib.sha256(content).hexdigest()
        found[where] = digest if found.get(where, digest) == digest else ""
    return content


def heard_before(hashes: Mapping[str, str]) -> None:
    """Hashes of an earlier read, for what is not read again since nothing has changed."""
    found = _hashes.get()
    if found is not None:
        for where, digest in hashes.items():
            found[where] = digest if found.get(where, digest) == digest else ""


def no_file(where: str, beside: str = "", title: str = "in that folder") -> InvalidFile:
    """The error about a file that is not there, with the files of that ending beside it, or those of a pattern."""
    file = Path(where)
    near = sorted(p.name for p in file.parent.glob(beside or f"*{file.suffix}"))[:8] if file.parent.is_dir() else []
    known = f"; {title}: {', '.join(near)}" if near else ""
    return InvalidFile(f"no file {where}{known}; check the path and the working directory ({os.getcwd()})")


def read_bytes(path: PathLike, kind: str) -> bytes:
    """The content of a file; `kind` says what it should be, for instance "a .trc file"."""
    where = checked_path(path, kind)
    file = Path(where)
    try:
        if file.is_dir():
            raise InvalidFile(f"{where} is a folder, not a file; give the path of {kind} inside it")
        content = heard(file, file.read_bytes())
    except FileNotFoundError:
        raise no_file(where) from None
    except OSError as error:
        raise InvalidFile(
            f"{where:.300} cannot be read ({error.strerror}); check the path and its permissions"
        ) from None
    if not content.strip():
        raise InvalidFile(f"{where}:1: the file is empty; it should be {kind}")
    refuse_foreign(content, where, kind)
    return content


def read_lines(path: PathLike, kind: str) -> list[str]:
    """The lines of a text file: UTF-8 with or without a mark, UTF-16 with one, else Latin-1; any line ends."""
    return list(lines_of(path, kind))


def lines_of(path: PathLike, kind: str) -> Iterator[str]:
    """The same one after the other: of large files, only some are there at a time."""
    content = read_bytes(path, kind)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return iter(_LINE_END.split(content.decode("utf-16", errors="replace")))
    if b"\0" in content:
        raise InvalidFile(f"{os.fspath(path)}: holds binary data; it should be {kind}, which is text")
    if not content.isascii():
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            return _lines(content, "latin-1")
    return _lines(content, "utf-8")


def _lines(content: bytes, encoding: str) -> Iterator[str]:
    """Lines of bytes that are decoded in parts; each part but the last ends with a line."""
    start = len(codecs.BOM_UTF8) if encoding == "utf-8" and content.startswith(codecs.BOM_UTF8) else 0
    while True:
        end = content.find(b"\n", start + _PART) + 1
        lines = _LINE_END.split(content[start : end or len(content)].decode(encoding))
        if not end:
            yield from lines
            return
        yield from lines[:-1]
        start = end


def number(word: str) -> float:
    """A number of a table; an empty cell is NaN. Raises ValueError for anything else."""
    word = word.strip()
    if not word:
        return math.nan
    # Python reads 1_000 and digits of other scripts; a table holds neither.
    if "_" in word or not word.isascii():
        raise ValueError(word)
    try:
        return float(word)
    except ValueError:
        bare = word.lower().lstrip("+-")
        if bare in _FOREIGN or re.fullmatch(r"nan\([^)]*\)", bare):
            return _FOREIGN.get(bare, math.nan) * (-1.0 if word.startswith("-") else 1.0)
        # Fortran writes 1.0D+02.
        if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)[dD][+-]?\d+", word):
            return float(word.lower().replace("d", "e"))
        raise ValueError(word) from None


def explain(word: str) -> str:
    """Why a word is not a number, and what to try."""
    shown = repr(word if len(word) <= 40 else word[:37] + "...")
    if re.fullmatch(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*", word):
        return f"{shown} is not a number; decimal commas must become points"
    return f"{shown} is not a number; write nan, or leave the cell empty, where a value is missing"


def exact(value: float) -> str:
    """A number that reads back to the same bits, and as nan where there is none."""
    return "nan" if math.isnan(value) else repr(float(value))


def write_text(path: PathLike, lines: Iterable[str]) -> None:
    """Write lines so that the file appears complete or not at all."""

    def write(part: str) -> None:
        with open(part, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.writelines(f"{line}\n" for line in lines)

    write_beside(path, write)


def write_beside(path: PathLike, write: Callable[[str], None]) -> None:
    """Let `write` fill a file beside the wanted one, then put it in its place: a reader never meets half a file."""
    where = checked_path(path, "the file to write")
    target = Path(os.path.realpath(where))  # a link stays a link
    if target.is_dir():
        raise InvalidFile(f"{where} is a folder; give the name of a file in it")
    if not target.parent.is_dir():
        raise InvalidFile(f"{where} cannot be written: there is no folder {target.parent}; make it first")
    part = str(target.with_name(f".{target.name}.{secrets.token_hex(8)}.part"))
    try:
        # a file that is replaced keeps its mode, and is nobody else's to read until it has it; a new one has the usual
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600))
    except OSError as error:
        raise InvalidFile(f"{where} cannot be written ({error.strerror}); choose another folder") from None
    try:
        write(part)
        if mode is not None:
            os.chmod(part, mode)
        os.replace(part, target)
    except OSError as error:
        raise InvalidFile(f"{where} cannot be written ({error.strerror}); check the disk and permissions") from None
    finally:
        Path(part).unlink(missing_ok=True)
