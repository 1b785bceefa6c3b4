"""Where compiled code lies and how it is read and written: what is damaged is compiled again, and nothing fails.

The cache saves time and is never needed: code whose file cannot be read is compiled, and code whose file cannot be
written is compiled by the next process again. What is read here is run, so a folder that others may write into is not
used. No kernel is made of this file, so a change here compiles none again.

A file is one driver for one signature: a check sum, then the layout of its arguments and an object file. It is written
beside and then renamed, so that a process that dies leaves it whole or not there.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import itertools
import json
import os
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from musculo.errors import MusculoWarning
from musculo.kernels.compiler.driver_code import Code, Layout
from musculo.kernels.compiler.file_lock import locked

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_DIGEST = 32  # bytes of a SHA-256
_HOUR, _DAY = 3600.0, 86400.0  # [s]
# More than this is not kept for one machine [bytes]: all drivers of ten versions of the package.
_LARGEST = 200_000_000
# No driver takes so long to compile; whoever holds its lock for longer was stopped, not ended [s].
_LONGEST = 600.0
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
    folder, why = _chosen_folder()
    if why:
        warn_once(f"{why}; compiled kernels are kept in {folder}")
    return folder


def _chosen_folder() -> tuple[Path, str]:
    """The folder, and what is wrong with one that was to be used before it."""
    why = ""
    asked = os.environ.get("MUSCULO_CACHE_DIR")
    for base in filter(None, [asked, os.environ.get("XDG_CACHE_HOME"), "~/.cache"]):
        try:
            folder = Path(base).expanduser() / "musculo"
            _make_private(folder)
            distrust = why_not_trusted(folder)
            if not distrust:
                with tempfile.TemporaryFile(dir=folder):
                    return folder, why
            why = why or f"{distrust}, and compiled code is not loaded from there"
        except (OSError, RuntimeError) as error:  # RuntimeError: no home folder is known
            if base == asked:
                why = f"the folder {base} of MUSCULO_CACHE_DIR cannot be written into ({_reason(error)})"
    return _temporary_folder(), why


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


_given: Path | None = None


def use_folder(folder: Path) -> None:
    """Keep compiled code in this machine folder: a process that compiles for another uses that one's."""
    global _given
    _given = folder


def machine_folder() -> Path:
    """That of code for this processor, by this compiler."""
    return _given or _machine_folder()


@cache
def _machine_folder() -> Path:
    import llvmlite.binding as ll

    features = ll.get_host_cpu_features().flatten()
    text = " ".join((version("numba"), version("llvmlite"), ll.get_process_triple(), ll.get_host_cpu_name(), features))
    return folder_of(hashlib.sha256(text.encode()).hexdigest()[:16])


def _file(name: str) -> Path:
    return machine_folder() / f"{name}.o"


def is_there(name: str) -> bool:
    """Whether code of this name was kept."""
    return _file(name).exists()


def read(name: str) -> tuple[Layout, bytes] | None:
    """Layout and object file that were kept under this name; None where there are none, or they are damaged."""
    try:
        file = _file(name)
        content = file.read_bytes()
        found, data = content[:_DIGEST], content[_DIGEST:]
        if hashlib.sha256(data).digest() != found:
            return None
        header, image = data.split(b"\n", 1)
        own, size, offsets, result, result_size = json.loads(header)
        if own != name:
            return None
        with contextlib.suppress(OSError):  # what is used is not removed
            if time.time() - file.stat().st_mtime > _DAY:
                os.utime(file)
        return Layout(size, tuple(offsets), result, result_size), image
    except Exception:  # whatever is wrong with it, the code can be compiled
        return None


def find(name: str) -> Code | None:
    """Code that was kept under this name."""
    kept = read(name)
    try:
        return None if kept is None else loaded(name, kept[1], kept[0])
    except RuntimeError:  # no object file of this machine
        return None


def keep(name: str, layout: Layout, image: bytes) -> str:
    """Keep code for later processes, as far as it can be; says why it cannot."""
    folder = machine_folder()
    data = json.dumps([name, *layout]).encode() + b"\n" + image
    try:
        _make_private(folder)
        _tidy(folder)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{name}.", suffix=".part", delete=False) as stream:
            try:
                stream.write(hashlib.sha256(data).digest() + data)
                stream.close()
                os.replace(stream.name, _file(name))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(stream.name)
                raise
    except OSError as error:
        return f"compiled kernels cannot be kept in {folder.parent} ({_reason(error)}): each run compiles anew"
    return ""


def _tidy(folder: Path) -> None:
    """Remove what processes that were killed left behind, and what was not used for longest where there is too much."""
    now, kept, total = time.time(), [], 0
    for path in folder.iterdir():
        try:
            found = path.stat()
            if path.suffix in (".part", ".lock") and now - found.st_mtime > _HOUR:
                path.unlink()
            elif path.suffix == ".o":
                kept.append((found.st_mtime, found.st_size, path))
                total += found.st_size
        except OSError:  # another process removed it
            continue
    for _, size, path in sorted(kept):
        if total <= _LARGEST:
            break
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size


@contextlib.contextmanager
def alone(name: str, patient: bool) -> Iterator[bool]:
    """Only one process at a time is inside for a name: another waits for it if `patient`, else it is told False.

    The lock is the system's, on an open file, and goes with the process that holds it, however that ends. Where there
    are no such locks, or one is held for very long, two may do the same work, and the last one's file stays.
    """
    with contextlib.suppress(OSError):
        _make_private(machine_folder())
    with locked(machine_folder() / f"{name}.lock", _LONGEST if patient else 0.0) as mine:
        yield mine


# --- object files in memory -------------------------------------------------------------------------------------------
_links = itertools.count()


@cache
def _linker() -> Any:
    """LLVM's linker in memory."""
    import llvmlite.binding as ll

    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    target = ll.Target.from_triple(ll.get_process_triple())
    return ll.create_lljit_compiler(target.create_target_machine(jit=True))


def loaded(name: str, image: bytes, layout: Layout) -> Code:
    """Code of an object file."""
    import llvmlite.binding as ll

    fill, run = f"fill_{name}", f"run_{name}"
    builder = ll.JITLibraryBuilder().add_object_img(image).add_current_process()
    # a name is used once, even where linking fails
    tracker = builder.export_symbol(fill).export_symbol(run).link(_linker(), f"{name}.{next(_links)}")
    return Code(tracker[fill], tracker[run], layout, tracker)
