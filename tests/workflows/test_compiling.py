"""What a shell hears while kernels are compiled: on stderr, once, never on stdout, nothing with --quiet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from musculo.cli.starting import TEXT, tell_of_compiling


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own."""
    path = folder / "script.py"
    path.write_text(text)
    env = {**os.environ, "MUSCULO_QUIET": ""}
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, env=env)


# What a wait for a compiler reports, within the options of a command.
_SCRIPT = """
from musculo.cli import starting
from musculo.kernels.compiler import workers

if {shell}:
    starting.started_by_shell()
starting.tell_of_compiling(quiet={quiet})
for left in (9.0, 8.0):
    if workers.listener is not None:
        workers.listener(workers.Progress("track_frames", 1, 3, 0.5, left))
        workers.listener(None)
print("done")
"""


@pytest.mark.parametrize(
    ("shell", "quiet", "times"), [(True, False, 1), (True, True, 0), (False, False, 0), (False, True, 0)]
)
def test_a_pipe_hears_once_of_it_unless_quiet(tmp_path, shell, quiet, times):
    """Python code that calls a command has no shell: only a terminal or a notebook hears of it."""
    done = run(tmp_path, _SCRIPT.format(shell=shell, quiet=quiet))
    assert done.stdout == "done\n"
    assert done.stderr.count(TEXT.split(":")[0]) == times
    assert quiet <= (done.stderr == "")


_PROCESSES = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from musculo.cli.starting import tell_of_compiling

def compiled(x):
    import time
    from musculo.kernels.compiler import workers

    time.sleep(0.2)  # so that both processes have their share
    if workers.listener is not None:
        workers.listener(workers.Progress("track_frames", 1, 3, 0.5, 9.0))
        workers.listener(None)
    return x + 1.0

if __name__ == "__main__":
    context = get_context("spawn")
    with ProcessPoolExecutor(2, context, tell_of_compiling, ({quiet}, True, context.Value("i", 0))) as pool:
        print(sum(pool.map(compiled, [1.0, 2.0, 3.0])))
"""


@pytest.mark.parametrize(("quiet", "times"), [(False, 1), (True, 0)])
def test_processes_of_a_command_say_it_once(tmp_path, quiet, times):
    done = run(tmp_path, _PROCESSES.format(quiet=quiet))
    assert done.stdout == "9.0\n"
    assert done.stderr.count(TEXT.split(":")[0]) == times


def test_a_terminal_has_a_bar(monkeypatch):
    """In place of the line; it is gone when the wait has ended."""
    from musculo.compile import waiting
    from musculo.kernels.compiler import workers

    shown = []
    monkeypatch.setattr(waiting, "show", shown.append)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(workers, "listener", None)
    monkeypatch.setenv("MUSCULO_QUIET", "")
    tell_of_compiling(quiet=False, shell=True)
    progress = workers.Progress("track_frames", 1, 3, 0.5, 9.0)
    workers.listener(progress)
    workers.listener(None)
    assert shown == [progress, None]
