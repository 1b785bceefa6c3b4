"""Which driver is compiled next, and how long it is until all are there; no process is started."""

from __future__ import annotations

import pytest

import musculo
from musculo.kernels.compiler import store, workers
from musculo.kernels.compiler.build import Built, Job
from musculo.kernels.compiler.driver_code import Layout

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


def test_the_part_that_is_done_never_falls_until_all_is(pool, monkeypatch):
    """Though a driver takes longer than it should, the machine turns out to be slow, or more is asked for."""
    now = 100.0
    monkeypatch.setattr(workers.time, "monotonic", lambda: now)
    asked(pool, DEMO)
    taken(pool)
    taken(pool)
    parts = []
    for now in (101.0, 103.0, 106.0, 110.0, 112.0):
        if now == 106.0:
            finish(pool, "poses", 40.0)  # ten times what it should
        if now == 112.0:
            asked(pool, {"more": 500.0})
        parts.append(pool.progress().part)
    assert parts == sorted(parts)
    assert parts[0] > 0.0
    for name in pool._tasks:
        finish(pool, name, 1.0)
    pool._waiting.clear()
    assert pool.progress().part == 1.0
    asked(pool, {"later": 2.0})
    assert pool.progress().part == 0.0


@pytest.mark.parametrize(("asked_for", "count"), [("3", 3), (" 2 ", 2), ("0", 0)])
def test_a_number_of_compilers_is_kept_to(monkeypatch, recwarn, asked_for, count):
    monkeypatch.setenv("MUSCULO_COMPILERS", asked_for)
    assert workers._processors() == count
    assert not recwarn


@pytest.mark.parametrize("asked_for", ["two", "-1", "1.5", "²", "2 4"])
def test_a_number_of_compilers_that_is_none_is_told_of_once(monkeypatch, asked_for):
    monkeypatch.delenv("MUSCULO_COMPILERS", raising=False)
    cores = workers._processors()
    monkeypatch.setenv("MUSCULO_COMPILERS", asked_for)
    monkeypatch.setattr(store, "_said", set())
    with pytest.warns(musculo.MusculoWarning) as told:
        assert [workers._processors() for _ in range(2)] == [cores, cores]
    (warning,) = told
    assert f"MUSCULO_COMPILERS is {asked_for!r}" in str(warning.message)
    assert f"{cores} compile, as many as there are cores" in str(warning.message)


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
