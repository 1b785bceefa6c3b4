#!/usr/bin/env python3
"""Processes that compile drivers, or that wait for them, are killed at random moments: no compiled code is ever broken.

    python tests/fuzz/kills.py COUNT [FIRST_SEED]

Each kill begins with an empty cache. It hits the program, one of the processes that compile for it, or all of them. A
program whose compilers die gives the right numbers; after it dies, so do they, and the next program gives the right
numbers, keeps what was whole, and removes what was left behind. Counts are printed at last; the exit status is 1 if
anything went wrong.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.kernel_package import POWERS, make_package, printed, started

# Asks for all drivers at once, as commands do, then calls them one by one.
SCRIPT = """
import numpy as np
from musculo.kernels.compiler import workers
from musculo.kernels.compiler.build import Job
from musculo.kernels.compiler.known_code import has_code
from musculo.kernels.compiler.names import code_name_at
from musculo.kernels.compiler.signature import signature_of
from musculo.kernels.small import drivers

x, n = np.ones(3), 3
used = [getattr(drivers, f"power{{k}}") for k in range(1, {powers} + 1)]
print("begins", flush=True)
text = signature_of((x, n))
pool = workers._the_pool()
for one in used:
    if not has_code(one.where, text):
        pool.ask([(Job(one.where, text, code_name_at(one.where, text)), 1.0)], first=False)
answers = [one(x, n) for one in used]
done = [task.built for task in pool._tasks.values() if task.done.wait(60.0)]
print(answers, sum(built is not None and built.seconds > 0.0 for built in done), flush=True)
"""
ANSWERS = [k * (2.0 + k) ** 3 for k in range(1, POWERS + 1)]
# For a moment after what somebody waits for was killed [s].
PATIENCE = 30.0


def script() -> str:
    return SCRIPT.format(powers=POWERS)


def answers_of(text: str) -> tuple[list[float], int]:
    """The numbers of a program that ended, and how many drivers it compiled."""
    numbers, compiled = text.splitlines()[-1].rsplit(" ", 1)
    return [float(word) for word in numbers.strip("[]").split(",")], int(compiled)


def children(parent: int) -> list[int]:
    """The processes that compile for another."""
    try:
        words = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        more = [p.name for p in Path(f"/proc/{parent}/task").iterdir() if p.name != str(parent)]
        for thread in more:
            words += Path(f"/proc/{parent}/task/{thread}/children").read_text().split()
    except OSError:  # it has ended
        return []
    return [int(word) for word in words]


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def one_kill(package: Path, cache: Path, seed: int, span: float) -> tuple[str, list[str]]:
    """What was killed, and what went wrong then."""
    chance = random.Random(seed)
    shutil.rmtree(cache, ignore_errors=True)
    program = started(script(), package, cache)
    assert program.stdout is not None
    program.stdout.readline()
    time.sleep(chance.uniform(0.0, span))
    victim = chance.choice(["program", "compiler", "all"])
    compilers = children(program.pid)
    if victim in ("program", "all"):
        kill(program.pid)
    if victim == "all":
        for process in compilers:
            kill(process)
    elif victim == "compiler" and compilers:
        kill(chance.choice(compilers))
    return victim, wrong_after(program, victim, compilers, package, cache)


def wrong_after(
    program: subprocess.Popen[str], victim: str, compilers: list[int], package: Path, cache: Path
) -> list[str]:
    """What went wrong: an answer, a process that goes on, a file that stays."""
    wrong: list[str] = []
    out, err = program.communicate(timeout=PATIENCE + 60.0)
    if victim == "compiler" and (program.returncode or err or answers_of(out)[0] != ANSWERS):
        wrong.append(f"the program answered {out!r}, {err!r}")
    end = time.monotonic() + PATIENCE
    while any(map(is_alive, compilers)) and time.monotonic() < end:
        time.sleep(0.02)
    if any(map(is_alive, compilers)):
        wrong.append("a process that compiles outlived its program")
    files = list(cache.glob("musculo/*/*"))
    whole = [path for path in files if path.suffix == ".o"]
    for path in files:  # as if it had been long ago
        if path.suffix != ".o":
            os.utime(path, (0, 0))
    numbers, compiled = answers_of(printed(started(script(), package, cache)))
    if numbers != ANSWERS:
        wrong.append(f"the next program answered {numbers}")
    if compiled != POWERS - len(whole):
        wrong.append(f"{len(whole)} of {POWERS} drivers were there, and {compiled} were compiled")
    left = [path.name for path in cache.glob("musculo/*/*") if path.suffix != ".o"]
    if compiled and left:
        wrong.append(f"{left} stay")
    return wrong


def kills(seeds: range) -> tuple[Counter[str], list[str]]:
    """How many of each kind, and what went wrong."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        package, cache = make_package(Path(name) / "package"), Path(name) / "cache"
        began = time.monotonic()
        numbers, compiled = answers_of(printed(started(script(), package, cache)))
        span = time.monotonic() - began
        assert (numbers, compiled) == (ANSWERS, POWERS)
        for seed in seeds:
            victim, found = one_kill(package, cache, seed, span)
            counts[victim] += 1
            wrong += [f"seed {seed}, {victim}: {text}" for text in found]
    return counts, wrong


def main(words: list[str]) -> Any:
    count, first = int(words[0]), int(words[1]) if len(words) > 1 else 0
    counts, wrong = kills(range(first, first + count))
    print("\n".join(wrong))
    print(f"{sum(counts.values())} kills ({dict(counts)}), {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
