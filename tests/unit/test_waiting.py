"""Compiling is told where it takes a while, and only there: a bar in a terminal, one line elsewhere."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from musculo.compile import waiting
from musculo.kernels.compiler.workers import Progress

# What a wait reports stands in for one: for longer than the line waits, or not.
SCRIPT = """
import time
from musculo.compile import waiting
from musculo.kernels.compiler import workers
from musculo.kernels.compiler.workers import Progress
waiting._AFTER = 0.2
for _ in range(2):
    for left in (3.0, 2.0):
        workers.listener(Progress("track_frames", 1, 3, 0.5, left))
        time.sleep({compiling})
    workers.listener(None)
"""


@pytest.mark.parametrize(("compiling", "quiet", "lines"), [(0.3, "", 2), (0.0, "", 0), (0.3, "1", 0), (0.3, "0", 2)])
def test_one_line_a_wait_where_compiling_takes_a_while(compiling, quiet, lines):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(compiling=compiling)],
        env={**os.environ, "MUSCULO_QUIET": quiet},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("musculo compiles for this machine, once: about 2 s") == lines
    assert done.stderr.count("\n") == lines
    assert done.stdout == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def shown(self) -> str:
        """What stands in its last line."""
        line = ""
        for part in self.getvalue().split("\r"):
            line = part + line[len(part) :]
        return line.rstrip()


def terminal_of(monkeypatch) -> Terminal:
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("MUSCULO_QUIET", "")
    return made


def test_a_terminal_has_a_bar_that_goes_away(monkeypatch):
    terminal = terminal_of(monkeypatch)
    monkeypatch.setattr(waiting, "_AFTER", -1.0)
    waiting.announce(Progress("geodesic_path_frames", 3, 12, 0.25, 21.4))
    assert terminal.shown() == "[=====               ] compiling, once: 3 of 12 done, 21 s left (geodesic_path_frames)"
    waiting.announce(Progress("track_frames", 11, 12, 0.9, 0.2))
    assert terminal.shown() == "[==================  ] compiling, once: 11 of 12 done, 1 s left (track_frames)"
    waiting.announce(None)
    assert terminal.shown() == ""
    assert "\n" not in terminal.getvalue()


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (88, "[=====               ] compiling, once: 3 of 12 done, 21 s left (geodesic_path_frames)"),
        (80, "[=====               ] compiling, once: 3 of 12 done, 21 s left"),
        (40, "[==        ] compiling, 21 s left"),
        (20, "21 s left"),
        (5, ""),
    ],
)
def test_a_narrow_terminal_has_fewer_words_and_none_is_cut(monkeypatch, columns, shown):
    terminal = terminal_of(monkeypatch)
    monkeypatch.setenv("COLUMNS", str(columns))
    waiting.show(Progress("geodesic_path_frames", 3, 12, 0.25, 21.4))
    assert terminal.shown() == shown


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="Windows has no such terminals")
@pytest.mark.parametrize(("columns", "shown"), [(40, 33), (0, 63)])
def test_the_width_is_that_of_the_terminal_that_has_the_bar(monkeypatch, columns, shown):
    """Not that of stdout, which may be a file; a terminal that does not know its width has 80 columns."""
    import fcntl
    import struct
    import termios

    there, here = os.openpty()
    os.set_blocking(there, False)
    monkeypatch.delenv("COLUMNS", raising=False)
    fcntl.ioctl(here, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(here, "w") as stream, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stream)
        waiting.show(Progress("geodesic_path_frames", 3, 12, 0.25, 21.4))
        written = os.read(there, 1000).decode()
        waiting.show(None)
    os.close(there)
    assert len(written.strip("\r")) == shown


def test_no_bar_where_it_is_asked_for_quiet(monkeypatch):
    terminal = terminal_of(monkeypatch)
    monkeypatch.setattr(waiting, "_AFTER", -1.0)
    monkeypatch.setenv("MUSCULO_QUIET", "1")
    waiting.announce(Progress("track_frames", 0, 1, 0.0, 9.0))
    waiting.announce(None)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stderr", ["None", "open('/dev/full', 'w')"])
def test_nobody_needs_to_listen(stderr):
    """Services have no stderr, and whoever reads it may have gone: the computation goes on."""
    script = SCRIPT.replace("import time", f"import sys, time\nsys.stderr = {stderr}", 1).format(compiling=0.3)
    script += "\nimport os; print('done', flush=True); os._exit(0)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"
