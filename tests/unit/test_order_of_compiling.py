"""Which driver is compiled next, and how long it is until all are there; no process is started."""

from __future__ import annotations

import pytest

from musculo.kernels.compiler import workers
from musculo.kernels.compiler.build import Built, Job
from musculo.kernels.compiler.code import Layout

# In the order of need, with the seconds that each takes.
DEMO = {"poses": 4.0, "track": 6.0, "moments": 3.0, "paths": 30.0, "capacities": 2.0, "equilibrium": 3.0}


def asked(pool, seconds: dict[str, float], first: bool = False):
    return pool.ask([(Job(f"musculo.kernels.k:{name}", "()", name), took) for name, took in seconds.items()], first)


def taken(pool) -> str:
    return pool._next().job.name


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setattr(workers._Pool, "_start", lambda self: self._processes.append(None))
    monkeypatch.setenv("MUSCULO_COMPILERS", "2")
    return workers._Pool()


def test_the_longest_begins_at_once_and_the_others_come_in_the_order_of_need(pool):
    asked(pool, DEMO)
    assert [taken(pool) for _ in DEMO] == ["paths", "poses", "track", "moments", "capacities", "equilibrium"]
    assert len(pool._processes) == 2


def test_one_processor_keeps_to_the_order_of_need(pool, monkeypatch):
    monkeypatch.setenv("MUSCULO_COMPILERS", "1")
    asked(pool, DEMO)
    assert [taken(pool) for _ in DEMO] == list(DEMO)


def test_drivers_that_take_alike_come_in_the_order_of_need(pool):
    alike = dict.fromkeys("abcdef", 5.0) | {"c": 6.0}
    asked(pool, alike)
    assert [taken(pool) for _ in range(3)] == ["a", "b", "c"]


def test_what_somebody_waits_for_comes_before_the_longest(pool):
    asked(pool, DEMO)
    asked(pool, {"moments": 3.0}, first=True)
    assert taken(pool) == "moments"
    assert taken(pool) == "paths"


def finish(pool, name: str, seconds: float) -> None:
    task = pool._tasks[name]
    task.built = Built(Layout(0, (), "none", 0), b"", seconds)
    pool._took, pool._listed = pool._took + seconds, pool._listed + task.seconds
    task.done.set()


def test_seconds_left_follow_the_schedule_and_the_speed_of_the_machine(pool, monkeypatch):
    now = 100.0
    monkeypatch.setattr(workers.time, "monotonic", lambda: now)
    asked(pool, DEMO)
    taken(pool)
    taken(pool)
    told = pool.progress()
    # 30 s on one processor, 18 on the other
    assert (told.done, told.total, told.part, told.seconds_left) == (0, 6, 0.0, 30.0)
    now = 108.0
    finish(pool, "poses", 8.0)  # twice what it should: 13 s in place of 9, with those that are believed
    taken(pool)
    told = pool.progress()
    assert told.driver == "track"  # the first that is needed of those that are compiled
    assert (told.done, told.total) == (1, 6)
    assert told.seconds_left == pytest.approx(30.0 * 13.0 / 9.0 - 8.0)
    assert 4.0 / 48.0 < told.part < 0.5
    for name in DEMO:
        finish(pool, name, 1.0)
    pool._waiting.clear()
    assert pool.progress()[1:] == (6, 6, 1.0, 0.0)
    asked(pool, {"later": 2.0})
    assert pool.progress()[1:] == (0, 1, 0.0, 2.0 * pool._took / pool._listed)
