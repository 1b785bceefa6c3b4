"""A file that several steps of a run read is read once, as long as it does not change."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from musculo.io.text import hashes_of_reads, heard_before
from musculo.results.made_once import made_once

T = TypeVar("T")
# When a file was changed, and what it was then: as much as can be known without reading it.
Stamp = tuple[int, ...]


def stamp_of(path: Path) -> Stamp:
    try:
        now = path.stat()
    except OSError:
        return ()
    return (now.st_mtime_ns, now.st_size, now.st_ino)


class _Read(NamedTuple):
    """What a reader gave, and the files that it read: their hashes, and what they were then."""

    value: Any
    hashes: dict[str, str]
    stamps: dict[str, Stamp]

    @property
    def holds(self) -> bool:
        return all(stamp_of(Path(path)) == stamp and self.hashes[path] for path, stamp in self.stamps.items())


def read_once(reader: Callable[[Path], T], path: Path) -> T:
    """What a reader makes of a file; steps of one run read it once, as long as it does not change."""

    def read() -> _Read:
        with hashes_of_reads() as hashes:
            value = reader(path)
        return _Read(value, hashes, {name: stamp_of(Path(name)) for name in hashes})

    how = (reader.func, *sorted(reader.keywords.items())) if isinstance(reader, partial) else (reader,)
    done = made_once((*how, str(path), str(path.absolute())), (), read, lambda earlier: earlier.holds)
    heard_before(done.hashes)
    value: T = done.value
    return value
