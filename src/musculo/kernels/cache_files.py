"""Where compiled kernels lie and how they are read and written: what is damaged is compiled again, and nothing fails.

The cache saves minutes and is never needed: a kernel whose files cannot be read is compiled, and one whose files cannot
be written is compiled by the next process again. What is read here is run, so a folder that others may write into is
not used. No kernel is made of this file, so a change here compiles none again.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.serialize import dumps

from musculo.errors import MusculoWarning

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_DIGEST = 32  # bytes of a SHA-256
_said: set[str] = set()


def warn_once(text: str) -> None:
    """Warn, once in a process."""
    if text not in _said:
        _said.add(text)
        warnings.warn(text, MusculoWarning, stacklevel=2)


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept: $MUSCULO_CACHE_DIR, else the user's cache folder, else a temporary one.

    A folder that cannot be written into, or that others can write into or own, is passed over with a warning, as far as
    somebody chose it or made it.
    """
    why = ""
    asked = os.environ.get("MUSCULO_CACHE_DIR")
    for base in filter(None, [asked, os.environ.get("XDG_CACHE_HOME"), "~/.cache"]):
        try:
            folder = Path(base).expanduser() / "musculo"
            _make_private(folder)
            distrust = why_not_trusted(folder)
            if not distrust:
                with tempfile.TemporaryFile(dir=folder):
                    return folder
            why = why or f"{distrust}, and compiled code is not loaded from there"
        except (OSError, RuntimeError) as error:  # RuntimeError: no home folder is known
            if base == asked:
                why = f"the folder {base} of MUSCULO_CACHE_DIR cannot be written into ({_reason(error)})"
    folder = _temporary_folder()
    if why:
        warn_once(f"{why}; compiled kernels are kept in {folder}")
    return folder


def folder_of(name: str) -> Path:
    """The folder of some kernels in that of all."""
    folder = cache_folder() / name
    why = why_not_trusted(folder) if os.path.lexists(folder) else ""
    if not why:
        return folder
    warn_once(f"{why}, and compiled code is not loaded from there; delete it")
    return _own_folder() / name


def why_not_trusted(folder: Path) -> str:
    """Why compiled code is not to be loaded from a folder: others own it, or can write into it; empty where it may be.

    Windows keeps folders of users by other means, and is trusted.
    """
    if not hasattr(os, "getuid"):
        return ""
    try:
        here = folder.lstat()
        if stat.S_ISLNK(here.st_mode):
            here = folder.stat()
        if not stat.S_ISDIR(here.st_mode):
            return f"{folder} is no folder"
        if here.st_uid != os.getuid():
            return f"the folder {folder} belongs to another user"
        if here.st_mode & _OTHERS_WRITE:
            return f"others can write into the folder {folder} (chmod go-w {folder})"
        for parent in folder.resolve().parents:
            mode = parent.stat().st_mode
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                return f"others can replace the folder {folder}, since {parent} is open to all"
    except OSError as error:
        return f"the folder {folder} cannot be looked at ({_reason(error)})"
    return ""


def _make_private(folder: Path) -> None:
    """Make a folder and all that it lies in, where they are missing, for this user alone, whatever the umask."""
    for path in (*reversed(folder.parents), folder):
        if not path.exists():
            path.mkdir(mode=0o700, exist_ok=True)


def _temporary_folder() -> Path:
    """One for all processes of a user among temporary files, where nobody else made it before."""
    try:
        user = getattr(os, "getuid", lambda: 0)()
        folder = Path(tempfile.gettempdir()) / f"musculo-{user}"
        folder.mkdir(exist_ok=True, mode=0o700)
        if folder.is_symlink() or why_not_trusted(folder):
            return _own_folder()
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return _own_folder()


@cache
def _own_folder() -> Path:
    """One for this process alone, which goes with it; where not even that can be made, one that never is."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="musculo-"))
    except OSError:
        return Path(os.devnull)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class CheckedFiles(IndexDataCacheFile):
    """Numba's files of a kernel, each with a check sum in front: damaged machine code would run, and give anything.

    What is damaged, empty, cut or unreadable counts as missing, and is replaced when the kernel is compiled.
    """

    def _load_index(self) -> dict[Any, str]:
        try:
            version, stamp, overloads = self._read(self._index_path)
        except Exception:  # whatever a damaged file may raise
            return {}
        known = (version, stamp) == (self._version, self._source_stamp)
        return overloads if known else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._replace(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        try:
            return self._read(self._data_path(name))
        except Exception as error:
            raise OSError(f"{name} cannot be used: {error}") from error  # as if it were missing

    def _save_data(self, name: str, data: Any) -> None:
        self._replace(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        with open(path, "rb") as stream:
            content = stream.read()
        found, data = content[:_DIGEST], content[_DIGEST:]
        if hashlib.sha256(data).digest() != found:
            raise OSError(f"{path} is damaged")
        return pickle.loads(data)

    def _replace(self, path: str, value: Any) -> None:
        data = dumps(value)
        with self._open_for_write(path) as stream:
            stream.write(hashlib.sha256(data).digest() + data)


class HealingCache(FunctionCache):
    """The cache of a kernel, which is of use where it can be and stops nothing where it cannot."""

    _impl_class: Any = None  # where the cache lies, said by those who use it

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = CheckedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever is wrong with it, the kernel can be compiled
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        folder = Path(self._cache_path)
        try:
            # before Numba does, which lets others in where the umask does
            _make_private(folder)
            super().save_overload(sig, data)
        except Exception as error:
            warn_once(f"compiled kernels cannot be kept in {folder.parent} ({_reason(error)}): each run compiles anew")
