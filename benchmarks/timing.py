"""How benchmarks time: warm-up apart, median and spread of several runs, peers in the same process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Timing(NamedTuple):
    """Seconds a unit of work."""

    middle: float  # median, or the least
    spread: float  # (largest - smallest) / middle

    def __str__(self) -> str:
        return f"{self.middle * 1e6:8.2f} us (spread {self.spread:.0%})"


def time_of(
    run: Callable[[], Any], units: int, repeats: int = 7, of: Callable[[list[float]], float] = statistics.median
) -> Timing:
    """Median time a unit over `repeats` runs, after one to warm up and compile; or the least (of=min)."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) / units)
    middle = of(times)
    return Timing(middle, (max(times) - min(times)) / middle)


def report(what: str, ours: Timing, peer: str, theirs: Timing, goal: str) -> None:
    """One line: both times, their ratio, the goal."""
    print(f"{what:34s} musculo {ours}   {peer} {theirs}   ratio {theirs.middle / ours.middle:6.1f}x   goal {goal}")
