"""How long calls take, measured side by side so that a busy machine bears on all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def seconds_per_call(
    calls: Mapping[str, Callable[[], object]], *, rounds: int = 7, at_least: float = 0.02
) -> dict[str, float]:
    """The least processor time of one call of each, in seconds.

    Each call is made once before (what compiles or caches does so then), and is repeated within a round until
    `at_least` seconds have passed. Rounds take the calls in turn; what others do on the machine only adds time, so the
    least of the rounds is nearest to what the call itself needs. Processor time counts the threads of this process.
    """
    repeats = {}
    for name, call in calls.items():
        call()
        repeats[name] = max(1, int(at_least / max(_seconds(call, 1), 1e-9)))
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            least[name] = min(least[name], _seconds(call, repeats[name]) / repeats[name])
    return least


def _seconds(call: Callable[[], object], repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        call()
    return time.process_time() - start
