#!/usr/bin/env python3
"""Install a wheel into an environment of its own and run one workflow of each kind from it: nothing may be compiled.

    python tools/check_wheel.py dist/musculo-*.whl [--keep FOLDER]

Prints wall and processor seconds of each first run. Fails where a command fails, where Numba is imported by an everyday
command, or where compiled code was put into the cache.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

# Of a closed loop, in Python; it says whether Numba came in.
LOOP = """
import sys, numpy as np, musculo
from musculo.replications.closed_loops.mechanisms import four_bar
done = musculo.simulate(four_bar(), None, None, np.linspace(0.0, 0.2, 11))
assert np.isfinite(done.q).all()
assert "numba" not in sys.modules
"""


def steps(musculo: Path, python: Path) -> list[tuple[str, list[str]]]:
    """What is run, in a folder in which the demo has left its files."""
    shell, demo = str(musculo), "musculo-demo"
    model, motion = f"{demo}/arm.osim", f"{demo}/arm_ik.mot"
    return [
        ("demo", [shell, "demo"]),
        ("info", [shell, "info", model]),
        ("ik", [shell, "ik", model, f"{demo}/arm_markers.trc", "-o", "out"]),
        ("id", [shell, "id", model, motion, "--lowpass", "6", "-o", "out"]),
        ("so", [shell, "so", model, motion, "--lowpass", "6", "--reserve", "1", "-o", "out"]),
        ("jr", [shell, "jr", model, motion, "--lowpass", "6", "-o", "out"]),
        ("muscles", [shell, "muscles", model, motion, "-o", "out"]),
        ("scale", [shell, "scale", model, "-o", "out/scaled.osim", "--factors", "humerus=1.1"]),
        ("simulate a loop", [str(python), "-c", LOOP]),
        ("reproduce andrews", [shell, "reproduce", "andrews"]),
    ]


def check(wheel: Path, folder: Path) -> list[str]:
    """What is wrong with it, a line each."""
    environment, cache, work = folder / "env", folder / "cache", folder / "work"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", str(wheel)], check=True)
    work.mkdir()
    known = {name: value for name, value in os.environ.items() if not name.startswith(("MUSCULO_", "PYTHON"))}
    known["MUSCULO_CACHE_DIR"] = str(cache)
    wrong = []
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    for name, command in steps(environment / "bin" / "musculo", python):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(command, cwd=work, env=known, capture_output=True, text=True, check=False)
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{name:20} {wall:5.2f} s of wall time, {cpu:5.2f} s of a processor", flush=True)
        if done.returncode:
            wrong.append(f"{name} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
        compiled = sorted(path.name for path in cache.rglob("*.o"))
        if compiled:
            wrong.append(f"{name} compiled {', '.join(compiled)}")
            break
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder for the environment, which is kept")
    asked = parser.parse_args()
    if asked.keep is not None:
        asked.keep.mkdir(parents=True)
        wrong = check(asked.wheel.resolve(), asked.keep.resolve())
    else:
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(asked.wheel.resolve(), Path(folder))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
