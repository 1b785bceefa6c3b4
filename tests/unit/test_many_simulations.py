"""Many simulations in one call: each is what `simulate` gives, whatever the threads, and one that fails stays alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from musculo import read_osim, simulate, simulate_many
from musculo.demo import arm
from musculo.errors import InvalidInput
from support.recorded_data import DATA, NO_DATA

TIMES = np.linspace(0.0, 0.2, 5)
# Both take the same steps; independent and dependent coordinates are put together in another order.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def model():
    return arm()


@pytest.fixture(scope="module")
def excitations(model) -> list[dict]:
    random = np.random.default_rng(5)
    return [dict(zip(model.muscle_names, random.uniform(0.02, 0.5, 6), strict=True)) for _ in range(5)]


@pytest.fixture(scope="module")
def found(model, excitations):
    return simulate_many(model, None, None, TIMES, excitations=excitations, threads=1)


def test_each_is_what_simulate_gives(model, excitations, found) -> None:
    assert len(found) == 5
    assert set(found.status) == {"finished"}
    for k, given in enumerate(excitations):
        one = simulate(model, None, None, TIMES, excitations=given)
        assert_allclose(found.q[k], one.q, atol=ROUNDING)
        assert_allclose(found.fiber_length[k], one.muscles.fiber_length, atol=ROUNDING)
        assert_allclose(found.activation[k], one.muscles.activation, atol=ROUNDING)


def test_threads_and_order_change_no_bit(model, excitations, found) -> None:
    for threads in (2, 3):
        again = simulate_many(model, None, None, TIMES, excitations=excitations, threads=threads)
        assert_array_equal(again.q, found.q)
    turned = simulate_many(model, None, None, TIMES, excitations=excitations[::-1], threads=2)
    assert_array_equal(turned.q[::-1], found.q)
    assert_array_equal(turned.fiber_length[::-1], found.fiber_length)


def test_starts_and_models_may_differ(model) -> None:
    starts = np.array([[0.1, 0.5], [0.3, 1.0], [0.5, 1.5]])
    found = simulate_many(model, starts, None, TIMES, excitations=0.1, activation=np.full((3, 6), 0.2))
    assert_allclose(found.q[:, 0], starts)
    assert_allclose(found.activation[:, 0], 0.2)
    heavier = [model, model.with_body(model.body_names[-1], mass=3.0)]
    both = simulate_many(heavier, [0.3, 1.0], None, TIMES, excitations=0.1)
    assert np.abs(both.q[0, -1] - both.q[1, -1]).max() > 1e-3
    assert_allclose(both.q[1], simulate(heavier[1], [0.3, 1.0], None, TIMES, excitations=0.1).q, atol=ROUNDING)


def test_results_have_labels(found) -> None:
    data = found.to_xarray()
    assert data["q"].dims == ("time", "simulation", "coordinate")
    assert "5 of 'arm'" in repr(found)


def test_mistakes_name_the_simulation(model) -> None:
    with pytest.raises(InvalidInput, match=r"simulation 2: .*brachialiss"):
        simulate_many(model, None, None, TIMES, excitations=[0.1, 0.2, {"brachialiss": 0.1}])
    with pytest.raises(InvalidInput, match=r"simulation 1: .*simulate takes, but not simulate_many"):
        simulate_many(model, None, None, TIMES, excitations=[0.1, {"brachialis": lambda t: 0.1}])


def test_lists_must_agree(model, excitations) -> None:
    with pytest.raises(InvalidInput, match="excitations 5, q 2"):
        simulate_many(model, np.zeros((2, 2)), None, TIMES, excitations=excitations)
    with pytest.raises(InvalidInput, match="empty"):
        simulate_many(model, None, None, TIMES, excitations=[])
    with pytest.raises(InvalidInput, match="threads"):
        simulate_many(model, None, None, TIMES, excitations=excitations, threads=0)


@pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)
def test_a_second_pass_that_comes_late_changes_no_bit() -> None:
    """Where a path first needs the second pass, the same step is taken again, whichever simulation came to it."""
    walker = read_osim(DATA / "rajagopal_walk" / "subject_walk_scaled.osim")
    random = np.random.default_rng(0)
    given = [dict(zip(walker.muscle_names, random.uniform(0.01, 0.1, 80), strict=True)) for _ in range(6)]
    one, other = (simulate_many(walker, None, None, (0.0, 0.1), excitations=x, threads=1) for x in (given, given[::-1]))
    assert_array_equal(other.q[::-1], one.q)
