"""How benchmarks time: warm-up apart, median and spread of several runs, peers in the same process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Timing(NamedTuple):
    """Seconds a unit of work."""

    median: float
    spread: float  # (largest - smallest) / median

    def __str__(self) -> str:
        return f"{self.median * 1e6:8.2f} us (spread {self.spread:.0%})"


def time_of(run: Callable[[], Any], units: int, repeats: int = 7) -> Timing:
    """Median time a unit over `repeats` runs, after one to warm up and compile."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) / units)
    middle = statistics.median(times)
    return Timing(middle, (max(times) - min(times)) / middle)


def report(what: str, ours: Timing, peer: str, theirs: Timing, goal: str) -> None:
    """One line: both times, their ratio, the goal."""
    print(f"{what:34s} musculo {ours}   {peer} {theirs}   ratio {theirs.median / ours.median:6.1f}x   goal {goal}")
