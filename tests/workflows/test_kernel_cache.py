"""The cache of compiled kernels heals itself, is never needed, and lies in no folder that others can write to."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import musculo

_SCRIPT = """
import sys
from musculo.kernels import cache_files, jit

{before}

compiled = []
jit.compiling_begins = lambda: compiled.append(1)

@jit.driver
def twice(x):
    return 2.0 * x

print(twice(21.0), len(compiled), cache_files.cache_folder())
"""


class Ended:
    """What the script printed."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        assert done.returncode == 0, done.stderr
        value, compiled, self.folder = done.stdout.split()
        assert value == "42.0"
        self.compiled = compiled == "1"
        self.warned = done.stderr


def _run(folder: Path, before: str = "", **env: str | None) -> Ended:
    """A driver of one line, from the cache in a folder; None takes a variable away."""
    path = folder / "script.py"
    path.write_text(_SCRIPT.format(before=before))
    known = {**os.environ, "MUSCULO_CACHE_DIR": str(folder / "cache"), **env}
    known = {name: value for name, value in known.items() if value is not None}
    return Ended(subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, env=known))


def _files(folder: Path, ending: str) -> list[Path]:
    return sorted((folder / "cache" / "musculo").glob(f"script-*/*{ending}"))


def test_the_second_process_compiles_nothing(tmp_path):
    first, second = _run(tmp_path), _run(tmp_path)
    assert (first.compiled, second.compiled) == (True, False)
    assert first.warned == second.warned == ""
    assert first.folder == str(tmp_path / "cache" / "musculo")


def _flipped(content: bytes) -> bytes:
    """One bit in the middle: still a file of this format, and another function."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "first bytes": lambda content: content[:10],
    "half": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "zeros": lambda content: bytes(len(content)),
    "garbage": lambda content: b"\xff\x80garbage" * 100,
    "as Numba writes it, without a check sum": lambda content: content[32:],
    "one bit": _flipped,
}


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_a_damaged_file_is_compiled_again_and_replaced(tmp_path, ending):
    _run(tmp_path)
    (file,) = _files(tmp_path, ending)
    for kind, damage in DAMAGES.items():
        whole = file.read_bytes()
        file.write_bytes(damage(whole))
        assert _run(tmp_path).compiled, kind
        assert len(file.read_bytes()) == len(whole), kind
    file.unlink()
    assert _run(tmp_path).compiled
    assert not _run(tmp_path).compiled


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_a_folder_in_the_place_of_a_file_stops_nothing(tmp_path, ending):
    _run(tmp_path)
    file = _files(tmp_path, ending)[0]
    file.unlink()
    file.mkdir()
    ended = _run(tmp_path)
    assert ended.compiled
    assert "cannot be kept in" in ended.warned


# A disk that is full: files can be made, and not written.
_FULL = """
import builtins, errno
known = builtins.open
class Full:
    def __init__(self, stream): self.stream = stream
    def __enter__(self): return self
    def __exit__(self, *_): self.stream.close()
    def write(self, content): raise OSError(errno.ENOSPC, "No space left on device")
def full(path, mode="r", *rest, **more):
    found = known(path, mode, *rest, **more)
    return Full(found) if "w" in mode and ".nb" in str(path) else found
builtins.open = full
"""


def test_a_full_disk_stops_nothing(tmp_path):
    ended = _run(tmp_path, before=_FULL)
    assert ended.compiled
    assert ended.warned.count("No space left on device") == 1
    assert not _files(tmp_path, "")  # no half of a file stays


def test_a_place_that_is_no_folder_is_passed_over(tmp_path):
    """Root may write everywhere, but not into a file."""
    (tmp_path / "cache").write_text("taken")
    ended = _run(tmp_path, XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert ended.folder == str(tmp_path / "xdg" / "musculo")
    (tmp_path / "xdg").rename(tmp_path / "old")
    (tmp_path / "xdg").write_text("taken")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".cache").write_text("taken")
    ended = _run(tmp_path, XDG_CACHE_HOME=str(tmp_path / "xdg"), HOME=str(home), TMPDIR=str(home))
    assert Path(ended.folder) == home / f"musculo-{os.getuid()}"
    assert "of MUSCULO_CACHE_DIR cannot be written into" in ended.warned


_NO_TEMPORARY = """
import tempfile
def none(*_, **__): raise FileNotFoundError(2, "No usable temporary directory found")
tempfile.gettempdir = tempfile.mkdtemp = tempfile.TemporaryFile = none
"""


def test_without_any_folder_kernels_are_compiled(tmp_path):
    ended = _run(tmp_path, before=_NO_TEMPORARY)
    assert ended.compiled
    assert "cannot be kept" in ended.warned


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders of Windows have no such modes")
class TestTrust:
    @pytest.mark.parametrize("mode", [0o777, 0o775], ids=oct)
    def test_a_folder_that_others_can_write_into_is_not_used(self, tmp_path, mode):
        _run(tmp_path)
        folder = tmp_path / "cache" / "musculo"
        folder.chmod(mode)
        ended = _run(tmp_path, XDG_CACHE_HOME=str(tmp_path / "xdg"))
        assert ended.compiled
        assert ended.folder == str(tmp_path / "xdg" / "musculo")
        folder.chmod(0o755)
        assert not _run(tmp_path).compiled

    def test_the_warning_says_which_folder_and_what_to_do(self, tmp_path):
        _run(tmp_path)
        folder = tmp_path / "cache" / "musculo"
        folder.chmod(0o777)
        home = {"HOME": "/dev/null", "XDG_CACHE_HOME": None, "TMPDIR": str(tmp_path)}
        ended = _run(tmp_path, **home)
        assert f"chmod go-w {folder}" in ended.warned
        assert ended.folder == str(tmp_path / f"musculo-{os.getuid()}")
        assert Path(ended.folder).stat().st_mode & 0o777 == 0o700

    def test_kernels_in_an_open_folder_inside_are_not_used(self, tmp_path):
        _run(tmp_path)
        (inside,) = (tmp_path / "cache" / "musculo").glob("script-*")
        inside.chmod(0o777)
        ended = _run(tmp_path, TMPDIR=str(tmp_path))
        assert ended.compiled
        assert "others can write into the folder" in ended.warned
        assert not list(tmp_path.glob("musculo-*"))  # what was kept for this process went with it

    def test_a_folder_inside_one_that_is_open_to_all_is_not_used(self, tmp_path):
        _run(tmp_path)
        (tmp_path / "cache").chmod(0o777)
        home = {"HOME": "/dev/null", "XDG_CACHE_HOME": None, "TMPDIR": str(tmp_path)}
        assert "is open to all" in _run(tmp_path, **home).warned
        (tmp_path / "cache").chmod(0o1777)  # others cannot rename there
        assert not _run(tmp_path, **home).compiled

    def test_folders_are_private_whatever_the_umask(self, tmp_path):
        open_to_all = "import os; os.umask(0)"
        _run(tmp_path, open_to_all)
        folder = tmp_path / "cache" / "musculo"
        made = (folder.parent, folder, *folder.glob("script-*"))
        assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3
        assert not _run(tmp_path, open_to_all).compiled

    @pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
    def test_a_folder_of_somebody_else_is_not_used(self, tmp_path):
        _run(tmp_path)
        os.chown(tmp_path / "cache" / "musculo", 12345, 12345)
        ended = _run(tmp_path, HOME="/dev/null", XDG_CACHE_HOME=None, TMPDIR=str(tmp_path))
        assert ended.compiled
        assert "belongs to another user" in ended.warned

    def test_a_temporary_folder_that_somebody_prepared_is_not_used(self, tmp_path):
        home = {"MUSCULO_CACHE_DIR": None, "HOME": "/dev/null", "XDG_CACHE_HOME": None, "TMPDIR": str(tmp_path)}
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / f"musculo-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
        ended = _run(tmp_path, **home)
        assert ended.compiled
        assert not list((tmp_path / "elsewhere").iterdir())
        assert not Path(ended.folder).exists()


_PACKAGE = Path(musculo.__file__).resolve().parent
# As in a container that is started under any number: no home folder, and no entry among users. All modules are loaded
# first, which that user need not be allowed to read here.
_NOBODY = """
import os
import numba
numba.njit(lambda x: x + 1.0)(1.0)
os.setgid(12345)
os.setuid(12345)
"""


def _open_to_all(path: Path) -> bool:
    """Whether any user can read what lies there."""
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in (path, *path.parents))


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif(not _open_to_all(_PACKAGE), reason=f"other users cannot read {_PACKAGE}, where the kernels are")
def test_a_user_without_home_and_entry():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o1777)
        nowhere = {"MUSCULO_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": None}
        ended = _run(folder, _NOBODY, **nowhere, TMPDIR=name)
        assert ended.compiled
        assert ended.folder == str(folder / "musculo-12345")
        assert ended.warned == ""
        assert not _run(folder, _NOBODY, **nowhere, TMPDIR=name).compiled
