"""What a shell hears while kernels are compiled: on stderr, once, never on stdout, nothing with --quiet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from musculo.cli.compiling import TEXT


def run_without_cache(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """A script in a process that finds nothing compiled."""
    path = folder / "script.py"
    path.write_text(text)
    env = {**os.environ, "MUSCULO_CACHE_DIR": str(folder / "cache"), "MUSCULO_QUIET": ""}
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, env=env)


# A driver that no cache holds, called within the options of a command.
_SCRIPT = """
import sys
from musculo.cli import compiling
from musculo.kernels.compiler.parts import driver

if {shell}:
    compiling.started_by_shell()
compiling.tell_of_compiling(quiet={quiet})

@driver
def first(x):
    return x + 1.0

@driver
def second(x):
    return x + 2.0

print(first(1.0) + second(1.0))
"""


@pytest.mark.parametrize(
    ("shell", "quiet", "times"), [(True, False, 1), (True, True, 0), (False, False, 0), (False, True, 0)]
)
def test_a_pipe_hears_once_of_it_unless_quiet(tmp_path, shell, quiet, times):
    """Python code that calls a command has no shell: only a terminal or a notebook hears of it."""
    done = run_without_cache(tmp_path, _SCRIPT.format(shell=shell, quiet=quiet))
    assert done.stdout == "5.0\n"
    assert done.stderr.count(TEXT.split(":")[0]) == times
    assert quiet <= (done.stderr == "")


_PROCESSES = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from musculo.cli.compiling import tell_of_compiling

def compiled(x):
    from musculo.kernels.compiler.parts import driver
    import time

    @driver
    def once(x):
        return x + 1.0

    time.sleep(0.2)  # so that both processes have their share
    return once(x)

if __name__ == "__main__":
    context = get_context("spawn")
    with ProcessPoolExecutor(2, context, tell_of_compiling, ({quiet}, True, context.Value("i", 0))) as pool:
        print(sum(pool.map(compiled, [1.0, 2.0, 3.0])))
"""


@pytest.mark.parametrize(("quiet", "times"), [(False, 1), (True, 0)])
def test_processes_of_a_command_say_it_once(tmp_path, quiet, times):
    done = run_without_cache(tmp_path, _PROCESSES.format(quiet=quiet))
    assert done.stdout == "9.0\n"
    assert done.stderr.count(TEXT.split(":")[0]) == times
