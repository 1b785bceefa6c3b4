"""Barman2020's manipulators: the least time, and time against effort."""

from __future__ import annotations

import pytest

from musculo.replications.prediction import prismatic, two_link
from musculo.replications.study import Settings


@pytest.fixture(scope="module")
def least_time():
    return two_link.study(Settings())


@pytest.fixture(scope="module")
def against_effort():
    return prismatic.study(Settings())


def test_two_links_move_in_the_least_time(least_time):
    rows = {row.quantity: row for row in least_time.rows}
    assert not [row.quantity for row in least_time.short if not row.timed]
    # computed with 0.391853 and 0.391862 s by methods that see the limits at different nodes
    assert 0.39180 < rows["least time, to five figures"].ours < 0.39186


def test_splines_approach_the_least_time_from_above(least_time):
    direct, _, splines, _ = least_time.parts
    times = [one.ours for one in splines.quantities]
    assert sorted(times, reverse=True) == times
    assert times[0] > 0.41
    assert 0 < times[-1] - direct.quantities[0].ours < 1e-4


def test_no_reading_gives_the_papers_time_by_its_weight(against_effort):
    times = [row.ours for row in against_effort.rows if row.quantity.startswith("optimal time")]
    # the figures that independent computations of the three readings gave
    assert times == pytest.approx([0.586, 0.646, 0.713], abs=6e-4)
    assert {row.quantity for row in against_effort.short if not row.timed} == {
        f"optimal time, zero at {name}" for name in prismatic.READINGS
    }


def test_a_smaller_weight_gives_the_papers_time(against_effort):
    weights = against_effort.parts[-1].quantities
    assert 0 < weights[1].ours < weights[0].ours < 0.01
    assert "longer" in weights[2].note


def test_what_searches_took_are_numbers(least_time, against_effort):
    """In JSON, too, beside the words of the table."""
    for study, count in ((least_time, 9), (against_effort, 15)):
        told = [part for part in study.to_json()["parts"] if part["title"].endswith(": searches")]
        found = {f"{part['title']} {one['name']}": one for part in told for one in part["quantities"]}
        for what in ("iterations", "time on the clock", "processor time", "violation on a grid 10 times finer"):
            numbers = [one["ours"] for name, one in found.items() if name.endswith(f": {what}")]
            assert len(numbers) == count
            assert all(isinstance(one, float) and one >= 0.0 for one in numbers)
            assert what.startswith("violation") or min(numbers) > 0.0
        assert not [one for one in found.values() if one["note"]]
    _, searches, *_ = least_time.parts
    between = [one.ours for one in searches.quantities if "finer" in one.name]
    assert between[0] > 0.1 > between[-1]  # a parabola overshoots where its interval holds a switch
