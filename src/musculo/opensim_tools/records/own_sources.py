"""Which code makes results: a hash of the package's own sources, since its version stays the same between releases."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# What comes after the tools in the order of imports: no result depends on it.
_LATER = frozenset({"replications", "viewer", "report", "demo", "cli"})
_ENDINGS = (".py", ".pyc")


@cache
def own_sources() -> str:
    """A hash of the sources that results depend on; empty where neither a folder nor an archive holds them."""
    return sources_of(Path(__file__).parents[2])


def sources_of(package: Path) -> str:
    """A hash of the sources of a package in a folder, or in a folder of a zip archive."""
    digest = hashlib.sha256()
    found = False
    try:
        for name, content in _of_folder(package) if package.is_dir() else _of_archive(package):
            found = True
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
    except (OSError, zipfile.BadZipFile):
        return ""
    return digest.hexdigest() if found else ""


def _of_folder(package: Path) -> Iterator[tuple[str, bytes]]:
    # by os.scandir, which costs a fifth of what pathlib's rglob does: this runs before every step
    waiting = [("", os.fspath(package))]
    while waiting:
        name, folder = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                inner = f"{name}/{entry.name}"
                if entry.is_dir():
                    if entry.name != "__pycache__" and inner.lstrip("/") not in _LATER:
                        waiting.append((inner, entry.path))
                elif entry.name.endswith(_ENDINGS):
                    with open(entry.path, "rb") as stream:
                        yield inner, stream.read()


def _of_archive(package: Path) -> Iterator[tuple[str, bytes]]:
    """The check sums that an archive keeps of its files."""
    archive = next((path for path in package.parents if path.is_file()), None)
    if archive is None:
        return
    inside = f"{package.relative_to(archive).as_posix()}/"
    with zipfile.ZipFile(archive) as held:
        for entry in sorted(held.infolist(), key=lambda entry: entry.filename):
            name = entry.filename.removeprefix(inside)
            if name != entry.filename and name.endswith(_ENDINGS) and name.partition("/")[0] not in _LATER:
                yield name, entry.CRC.to_bytes(4, "big")
