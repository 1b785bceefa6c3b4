"""Compiling is told where it takes a while, and only there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# A kernel's compilation stands in by its lock: held for longer than the line waits, or not at all.
SCRIPT = """
import time
import musculo.compile.compiled
from musculo.compile import waiting
from musculo.kernels import jit
from numba.core.compiler_lock import global_compiler_lock
waiting._AFTER = 0.2
for _ in range(2):
    with global_compiler_lock:
        jit.compiling_begins()
        time.sleep({compiling})
    time.sleep(0.5)
"""


@pytest.mark.parametrize(("compiling", "quiet", "lines"), [(0.6, "", 1), (0.0, "", 0), (0.6, "1", 0), (0.6, "0", 1)])
def test_one_line_where_compiling_takes_a_while(compiling, quiet, lines):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(compiling=compiling)],
        env={**os.environ, "MUSCULO_QUIET": quiet},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("musculo compiles for this machine, once") == lines
    assert done.stdout == ""
