"""The cache of compiled kernels heals itself, is never needed, and lies in no folder that others can write to."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import musculo
import musculo.demo
from fuzz.kills import ANSWERS, POWERS, answers_of, kills, script
from musculo.kernels.compiler import store
from musculo.kernels.compiler.driver_code import Layout
from support.kernel_package import make_package, printed, set_step, started

_SCRIPT = """
import sys
from musculo.kernels.compiler import store, workers
from musculo.kernels.compiler.parts import driver

{before}

compiled = []
build = workers.build
workers.build = lambda *job: compiled.append(1) or build(*job)

@driver
def times(x, n):
    return n * x

print(times(21.0, 2), len(compiled), store.cache_folder())
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


def _files(folder: Path, ending: str = "") -> list[Path]:
    return sorted((folder / "cache" / "musculo").glob(f"*/*{ending}"))


def test_the_second_process_compiles_nothing(tmp_path):
    first, second = _run(tmp_path), _run(tmp_path)
    assert (first.compiled, second.compiled) == (True, False)
    assert first.warned == second.warned == ""
    assert first.folder == str(tmp_path / "cache" / "musculo")
    assert [path.suffix for path in _files(tmp_path)] == [".o"]  # no lock stays


def _flipped(content: bytes) -> bytes:
    """One bit in the middle: still a file of this format, and another function."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def _summed(data: bytes) -> bytes:
    """With a check sum that is right."""
    return hashlib.sha256(data).digest() + data


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "first bytes": lambda content: content[:10],
    "half": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "zeros": lambda content: bytes(len(content)),
    "garbage": lambda content: b"\xff\x80garbage" * 100,
    "without a check sum": lambda content: content[32:],
    "one bit": _flipped,
    "no layout": lambda content: _summed(b"[]\nnothing"),
    "no object file": lambda content: _summed(content[32:].split(b"\n")[0] + b"\nnothing"),
}


def test_a_damaged_file_is_compiled_again_and_replaced(tmp_path, monkeypatch):
    _run(tmp_path)
    (file,) = _files(tmp_path, ".o")
    whole = file.read_bytes()
    monkeypatch.setattr(store, "_given", file.parent)
    assert store.find(file.stem) is not None
    for kind, damage in DAMAGES.items():
        file.write_bytes(damage(whole))
        assert store.find(file.stem) is None, kind
    assert _run(tmp_path).compiled
    assert len(file.read_bytes()) == len(whole)
    assert not _run(tmp_path).compiled


def test_a_folder_in_the_place_of_a_file_stops_nothing(tmp_path):
    _run(tmp_path)
    (file,) = _files(tmp_path, ".o")
    file.unlink()
    file.mkdir()
    ended = _run(tmp_path)
    assert ended.compiled
    assert "cannot be kept in" in ended.warned


# A disk that is full: files can be made, and not written.
_FULL = """
import errno, tempfile
known = tempfile.NamedTemporaryFile
def full(*rest, **more):
    stream = known(*rest, **more)
    def write(content): raise OSError(errno.ENOSPC, "No space left on device")
    stream.write = write
    return stream
tempfile.NamedTemporaryFile = full
"""


def test_a_full_disk_stops_nothing(tmp_path):
    ended = _run(tmp_path, before=_FULL)
    assert ended.compiled
    assert ended.warned.count("No space left on device") == 1
    assert not _files(tmp_path)  # no half of a file stays


def test_a_place_that_is_no_folder_is_passed_over(tmp_path):
    """Root may write everywhere, but not into a file."""
    (tmp_path / "cache").write_text("taken")
    ended = _run(tmp_path, XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert ended.folder == str(tmp_path / "xdg" / "musculo")
    told = f"the folder {tmp_path / 'cache'} of MUSCULO_CACHE_DIR cannot be written into"
    assert ended.warned.count(told) == 1
    assert f"compiled kernels are kept in {ended.folder}" in ended.warned
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
        assert f"chmod go-w {folder}" in ended.warned
        assert f"compiled kernels are kept in {ended.folder}" in ended.warned
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
        (inside,) = (tmp_path / "cache" / "musculo").iterdir()
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
        made = (folder.parent, folder, *folder.iterdir())
        assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3
        assert [path.stat().st_mode & 0o777 for path in _files(tmp_path)] == [0o600]
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
import musculo.kernels.compiler.machine_code.entry
from importlib.metadata import version
version("numba")
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


# --- what code is named by --------------------------------------------------------------------------------------------
@pytest.fixture
def package(tmp_path):
    return make_package(tmp_path / "package")


_TOTAL = """
import sys
import numpy as np
from musculo.kernels.small.drivers import Pair, total, weighted
print(total(np.arange(3.0), 3), weighted(Pair({pair}), 2), "numba" in sys.modules)
"""


def test_an_edit_of_a_nested_kernel_gives_the_new_answer(package, tmp_path):
    def run(pair="first=1.0, second=2.0"):
        return printed(started(_TOTAL.format(pair=pair), package, tmp_path / "cache")).split()

    assert run() == ["6.0", "42.0", "False"]
    kept = set(_files(tmp_path, ".o"))
    set_step(package, "x + 10.0")
    assert run() == ["33.0", "42.0", "False"]
    set_step(package, "2.0 * x")
    before = set(_files(tmp_path, ".o"))
    assert kept < before
    assert run() == ["6.0", "42.0", "False"]
    assert set(_files(tmp_path, ".o")) == before  # what was kept of the first text serves again


def test_a_struct_with_other_fields_is_another_code():
    from typing import NamedTuple

    from musculo.kernels.compiler.names import code_name
    from musculo.kernels.compiler.signature import signature_of

    layouts = [("a", "b"), ("b", "a"), ("a", "c"), ("a", "b", "c")]
    values = [
        NamedTuple("Pair", [(field, float) for field in fields])(*map(float, range(len(fields)))) for fields in layouts
    ]
    arguments = [(value, 1) for value in values]
    arguments += [(values[0], 1.0), (values[0],), ((0.0, 1.0), 1), (values[0]._replace(a=1), 1)]
    names = {code_name("driver", _PACKAGE / "kernels" / "tree" / "nodes.py", signature_of(one)) for one in arguments}
    assert len(names) == len(arguments)


_LIKE_EACH_OTHER = """
import sys
from musculo.kernels.compiler.parts import driver, kernel

factor = float(sys.argv[1])
first, second = driver(lambda x, n: n * x), driver(lambda x, n: n + x)

def made(k):
    @driver
    def scaled(x, n):
        return k * x + n
    return scaled

@kernel
def helper(x):
    return factor * x

@driver
def helped(x, n):
    return helper(x) + n

print(first(3.0, 4), second(3.0, 4), made(2.0)(3.0, 4), made(5.0)(3.0, 4), helped(3.0, 4), made(2.0)(3.0, 4))
"""


def test_functions_of_a_script_are_told_apart_by_what_they_do(tmp_path):
    """By their lines, closures and constants, though one file and one name hold many."""
    path = tmp_path / "script.py"
    path.write_text(_LIKE_EACH_OTHER)
    env = {**os.environ, "MUSCULO_CACHE_DIR": str(tmp_path / "cache")}
    for factor, helped in ((1.0, 7.0), (10.0, 34.0), (1.0, 7.0)):
        command = [sys.executable, path, str(factor)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
        assert [float(word) for word in done.stdout.split()] == [12.0, 7.0, 10.0, 19.0, helped, 10.0]
    assert len(_files(tmp_path, ".o")) == 6


def test_code_of_sources_that_are_edited_meanwhile_is_not_kept(package, tmp_path):
    """The name says one text, and the process that compiles reads the other."""
    steps = package / "musculo" / "kernels" / "small" / "inner" / "steps.py"
    edit = f"code.find_code.__globals__['code_name'] = later\n{_TOTAL}"
    text = f"""
from pathlib import Path
from musculo.kernels.compiler import parts as code
known = code.code_name
def later(*rest):
    name = known(*rest)
    Path({str(steps)!r}).write_text(Path({str(steps)!r}).read_text().replace("2.0 * x", "x + 10.0"))
    return name
{edit.format(pair="1.0, 2.0")}"""
    printed(started(text, package, tmp_path / "cache"))
    set_step(package, "2.0 * x")
    out = printed(started(_TOTAL.format(pair="1.0, 2.0"), package, tmp_path / "cache"))
    assert out.split()[0] == "6.0"


# --- several processes ------------------------------------------------------------------------------------------------
def test_a_process_that_is_killed_leaves_nothing_broken():
    """`python tests/fuzz/kills.py 100` does more."""
    counts, wrong = kills(range(4))
    assert wrong == []
    assert sum(counts.values()) == 4


def test_processes_on_one_empty_cache_do_not_repeat_each_others_work(package, tmp_path):
    programs = [started(script(), package, tmp_path / "cache") for _ in range(4)]
    ended = [answers_of(printed(program)) for program in programs]
    assert [numbers for numbers, _ in ended] == [ANSWERS] * 4
    assert sum(compiled for _, compiled in ended) == POWERS
    assert [path.suffix for path in _files(tmp_path)] == [".o"] * POWERS


# --- the folder -------------------------------------------------------------------------------------------------------
@pytest.fixture
def machine(tmp_path, monkeypatch):
    folder = tmp_path / "cache" / "musculo" / "machine"
    monkeypatch.setattr(store, "_given", folder)
    return folder


LAYOUT = Layout(16, (0, 8), "f8", 8)


def test_what_killed_processes_left_is_removed_after_an_hour(machine):
    machine.mkdir(parents=True)
    for name, age in (("a.1.part", 7200), ("b.2.part", 60), ("a.lock", 7200), ("b.lock", 60), ("a.txt", 7200)):
        (machine / name).write_text("")
        os.utime(machine / name, (time.time() - age,) * 2)
    assert store.keep("new", LAYOUT, b"code") == ""
    assert sorted(path.name for path in machine.iterdir()) == ["a.txt", "b.2.part", "b.lock", "new.o"]


def test_what_was_not_used_for_longest_goes_first(machine, monkeypatch):
    for k in range(5):
        store.keep(f"d{k}", LAYOUT, bytes(1000))
        os.utime(machine / f"d{k}.o", (time.time() - (10 - k) * 86400.0,) * 2)
    assert store.read("d0") == (LAYOUT, bytes(1000))  # used today
    monkeypatch.setattr(store, "_LARGEST", 4 * (machine / "d0.o").stat().st_size)
    store.keep("new", LAYOUT, b"")
    assert sorted(path.name for path in machine.iterdir()) == ["d0.o", "d2.o", "d3.o", "d4.o", "new.o"]


def test_a_folder_that_goes_while_it_is_used_is_made_again(machine):
    store.keep("one", LAYOUT, b"code")
    shutil.rmtree(machine.parent)
    assert store.read("one") is None
    with store.alone("one", False) as mine:
        assert mine
        shutil.rmtree(machine)
        assert store.keep("one", LAYOUT, b"code") == ""
    assert store.read("one") == (LAYOUT, b"code")
    assert machine.stat().st_mode & 0o777 == 0o700


class TestLocks:
    def test_one_is_inside(self, machine):
        with store.alone("one", False) as first, store.alone("one", False) as second, store.alone("two", False) as two:
            assert (first, second, two) == (True, False, True)
        assert list(machine.iterdir()) == []
        with store.alone("one", False) as again:
            assert again

    def test_whoever_holds_it_too_long_is_not_waited_for(self, machine, monkeypatch):
        monkeypatch.setattr(store, "_LONGEST", 0.2)
        with store.alone("one", False), store.alone("one", True) as second:
            assert second

    def test_a_lock_whose_file_was_removed_is_none(self, machine):
        """Who held it removed the file; who waited for it must not take what another cannot see."""
        with store.alone("one", False):
            (machine / "one.lock").unlink()
            with store.alone("one", False) as second, store.alone("one", False) as third:
                assert (second, third) == (True, False)

    def test_a_forked_process_does_not_hold_it(self, machine):
        with store.alone("one", False):
            child = os.fork()
            if child == 0:
                time.sleep(60.0)
                os._exit(0)
        try:
            with store.alone("one", False) as mine:
                assert mine
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)

    def test_systems_without_such_locks(self, machine, monkeypatch):
        """Windows: two may do the same work, and the last one's file stays."""
        monkeypatch.setitem(sys.modules, "fcntl", None)
        with store.alone("one", False) as first, store.alone("one", True) as second:
            assert (first, second) == (True, True)
            assert store.keep("one", LAYOUT, b"first") == ""
            assert store.keep("one", LAYOUT, b"second") == ""
        assert store.read("one") == (LAYOUT, b"second")


def test_a_child_does_not_wait_for_a_lock_that_its_parent_holds(tmp_path):
    """A thread compiles while another forks: the child finds its own code."""
    script = tmp_path / "forks.py"
    script.write_text(
        "import os, threading, time\n"
        "from musculo.kernels.compiler import parts\n"
        "held = threading.Event()\n"
        "def hold():\n"
        "    with parts._finding:\n"
        "        held.set()\n"
        "        time.sleep(60)\n"
        "threading.Thread(target=hold, daemon=True).start()\n"
        "held.wait()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if parts._finding.acquire(timeout=5) else 7)\n"
        "os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, script], check=False).returncode == 0


def test_arrays_that_begin_between_two_words_are_taken():
    """As records and files give them."""
    model, q = musculo.demo.arm(), np.array([0.3, 0.4])
    crooked = np.frombuffer(b"x" + q.tobytes(), offset=1)
    assert not crooked.flags.aligned
    assert (musculo.inverse_dynamics(model, crooked, q, q) == musculo.inverse_dynamics(model, q, q, q)).all()
    assert (musculo.mass_matrix(model, crooked) == musculo.mass_matrix(model, q)).all()


def test_code_of_another_driver_under_a_name_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "machine_folder", lambda: tmp_path)
    store.keep("one", Layout(8, (0,), "none", 0), b"image")
    assert store.read("one") is not None
    (tmp_path / "one.o").rename(tmp_path / "other.o")
    assert store.read("other") is None
