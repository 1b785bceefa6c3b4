"""Files appear complete or not at all, with the permissions that are usual, and the same on any system."""

from __future__ import annotations

import os
import stat

import pytest

import musculo
import musculo.demo
from musculo.errors import InvalidFile
from musculo.io.text import write_beside, write_text

POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions of files are POSIX's")


def _mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _write_osim(path) -> None:
    musculo.write_osim(musculo.demo.arm(), path)


WRITERS = pytest.mark.parametrize("write", [lambda path: write_text(path, ["x"]), _write_osim], ids=["text", "osim"])


@POSIX
@WRITERS
def test_files_have_the_usual_mode_and_the_umask_is_left_alone(write, tmp_path, monkeypatch):
    """The umask belongs to all threads of the process: none may meet another one for a moment."""
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as watched:
            watched.setattr(os, "umask", lambda mask: pytest.fail("the umask is changed"))
            write(tmp_path / "new")
            (tmp_path / "private").touch(mode=0o600)
            (tmp_path / "open").touch()
            (tmp_path / "open").chmod(0o666)
            (tmp_path / "kept").touch(mode=0o444)
            for name in ("private", "open", "kept"):
                write(tmp_path / name)
    finally:
        os.umask(before)
    modes = {path.name: _mode(path) for path in tmp_path.iterdir()}
    assert modes == {"new": 0o640, "private": 0o600, "open": 0o666, "kept": 0o440}
    assert all(path.stat().st_size for path in tmp_path.iterdir())


@POSIX
def test_what_replaces_a_private_file_is_private_from_the_start(tmp_path):
    (tmp_path / "private").touch(mode=0o600)
    seen = []
    write_beside(tmp_path / "private", lambda part: seen.append(os.stat(part).st_mode & 0o777))
    assert seen == [0o600]


@WRITERS
def test_lines_end_alike_on_every_system(write, tmp_path, monkeypatch):
    """On Windows, text that is written without a word about line ends has two characters for each."""
    opened = []

    def spy(*args, **options):
        opened.append(options.get("newline"))
        return real(*args, **options)

    real = open
    monkeypatch.setattr("builtins.open", spy)
    write(tmp_path / "file")
    monkeypatch.undo()
    assert opened == ["\n"]
    assert b"\r" not in (tmp_path / "file").read_bytes()
    assert (tmp_path / "file").read_bytes().endswith(b"\n")


def test_a_failed_write_leaves_what_was_there(tmp_path):
    (tmp_path / "file").write_text("before")

    def fail(part):
        with open(part, "w") as stream:
            stream.write("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InvalidFile, match="No space left"):
        write_beside(tmp_path / "file", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "before"
