"""Least effort by hand: shares of two that pull together, bounds, what cannot be served, and every power."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from musculo import static_optimization
from musculo.analyses.static_optimization.least_effort import Status, check_power, least_effort
from musculo.errors import InvalidInput

# Equations are in the working set from the start; every answer is within 1e-9 of the largest x.
ROUNDING, CONVERGED = 1e-12, 2e-9
ARMS = np.array([3.0, 2.0])
POWERS = (1.3, 1.5, 2.0, 2.5, 3.0, 4.0, 10.0, 30.0, 100.0)


def solve(A, b, low=0.0, top=1.0, weights=1.0, power=2.0, threads=1):
    A, b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
    full = [np.broadcast_to(np.asarray(v, dtype=float), A.shape[2:]) for v in (low, top, weights)]
    return least_effort(A, b, *full, power, threads)


@pytest.mark.parametrize("power", POWERS)
def test_two_share_by_their_arms(power):
    """d/dx: p w x^(p-1) = lambda c, so x goes with (c / w)^(1 / (p-1))."""
    w = np.array([1.0, 2.0])
    share = (ARMS / w) ** (1.0 / (power - 1.0))
    found = solve([[ARMS]], [[1.5]], weights=w, power=power)
    right = share * 1.5 / (ARMS @ share)
    assert_allclose(found.x[0], right, rtol=0, atol=CONVERGED * right.max())
    assert found.status[0] == Status.SOLVED


def test_power_one_takes_the_strongest_first():
    found = solve([[ARMS]] * 2, [[1.5], [4.0]], power=1.0)
    assert_allclose(found.x, [[0.5, 0.0], [1.0, 0.5]], atol=CONVERGED)


@pytest.mark.parametrize("power", [1.0, *POWERS])
def test_efforts_count_in_both_directions(power):
    """A motor beside a muscle that pulls the wrong way: only the motor's size costs."""
    found = solve([[[1.0, 2.0]]], [[-3.0]], low=[0.01, -np.inf], top=[1.0, np.inf], power=power)
    assert_allclose(found.x[0], [0.01, -1.505], atol=CONVERGED)


@pytest.mark.parametrize("power", [p for p in POWERS if p <= 10.0])  # higher ones share alike, and stay inside
def test_who_is_at_the_bound_leaves_the_rest_to_the_other(power):
    found = solve([[ARMS]], [[4.9]], power=power, top=[0.99, 1.0])
    assert_allclose(found.x[0], [0.99, (4.9 - 0.99 * 3.0) / 2.0], atol=CONVERGED)


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 3.0, 20.0, 100.0])
def test_what_cannot_be_served_stops_no_other_frame(power):
    found = solve([[ARMS]] * 3, [[1.0], [7.0], [1.0]], power=power)
    assert list(found.status) == [Status.SOLVED, Status.INFEASIBLE, Status.SOLVED]
    assert_allclose(found.x[1], [1.0, 1.0], rtol=0, atol=ROUNDING)
    assert_allclose(found.x[2], found.x[0], atol=CONVERGED)


@pytest.mark.parametrize("power", [2.0, 3.0, 100.0])
def test_least_effort_among_those_that_miss_least(power):
    """The second equation needs 3 and gets at most 1; the first is shared by two as if nothing were wrong."""
    A = [[[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]
    found = solve(A, [[0.8, 3.0]], power=power)
    assert_allclose(found.x[0], [0.4, 0.4, 1.0], rtol=0, atol=CONVERGED)
    assert found.status[0] == Status.INFEASIBLE


@pytest.mark.parametrize("power", [2.0, 3.0, 100.0])
def test_equations_that_say_the_same_twice(power):
    found = solve([[ARMS, 2.0 * ARMS, 0.0 * ARMS]], [[1.3, 2.6, 0.0]], power=power)
    assert found.status[0] == Status.SOLVED
    share = ARMS ** (1.0 / (power - 1.0))
    assert_allclose(found.x[0], share * 1.3 / (ARMS @ share), rtol=CONVERGED)


@pytest.mark.parametrize("power", [1.5, 2.0, 3.0, 100.0])
def test_equations_that_nobody_can_serve(power):
    found = solve(np.zeros((2, 1, 3)), [[0.0], [1.0]], low=0.1, power=power)
    assert list(found.status) == [Status.SOLVED, Status.INFEASIBLE]
    assert_allclose(found.x, 0.1, rtol=1e-7)


def test_nobody_there():
    found = solve(np.zeros((2, 1, 0)), [[0.0], [1.0]])
    assert list(found.status) == [Status.SOLVED, Status.INFEASIBLE]


def random_programs(frames=33, k=6, n=25):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(frames, k, n))
    return A, np.einsum("fkn,fn->fk", A, rng.uniform(0.1, 0.6, (frames, n)))


@pytest.mark.parametrize("power", POWERS)
def test_no_step_that_keeps_the_equations_costs_less(power):
    A, b = random_programs()
    found = solve(A, b, low=0.02, power=power)
    assert (found.status == Status.SOLVED).all()
    assert np.abs(np.einsum("fkn,fn->fk", A, found.x) - b).max() < 1e-9 * np.abs(b).max()
    rng = np.random.default_rng(2)
    for rows, x in zip(A[:12], found.x[:12], strict=True):
        kept = np.linalg.svd(rows)[2][len(rows) :]
        at_low, at_top = x < 0.02 + 1e-7, x > 1.0 - 1e-7
        for _ in range(8):
            # a random direction, bent until it leaves no bound
            d = rng.normal(size=len(kept)) @ kept
            for _ in range(60):
                d = np.where((at_low & (d < 0.0)) | (at_top & (d > 0.0)), 0.0, d)
                d = kept.T @ (kept @ d)
            outward = np.abs(d[at_low & (d < 0.0)]).sum() + np.abs(d[at_top & (d > 0.0)]).sum()
            # no direction goes downhill, up to the slope of what is left of leaving the bounds
            slope = power * np.abs(x) ** (power - 1.0)
            assert slope @ d > -1e-6 * slope.max() * np.abs(d).sum() - outward * slope.max() * 1.01


def test_frames_do_not_depend_on_their_neighbours():
    A, b = random_programs()
    forward, backward = solve(A, b).x, solve(A[::-1], b[::-1]).x[::-1]
    assert np.abs(forward - backward).max() < 1e-9
    assert np.abs(forward - solve(A, b, threads=2).x).max() < 1e-9


def least_largest(A, b):
    """The least that the largest x can be, by a linear program."""
    n = A.shape[1]
    below = np.block([[np.eye(n), -np.ones((n, 1))], [-np.eye(n), -np.ones((n, 1))]])
    equal = np.column_stack([A, np.zeros(len(A))])
    cost = np.append(np.zeros(n), 1.0)
    return linprog(cost, below, np.zeros(2 * n), equal, b, [(0.0, 1.0)] * n + [(0.0, None)]).fun


@pytest.mark.parametrize("size", [1.0, 0.01])
def test_high_powers_approach_the_least_largest(size):
    """max |x| <= (sum |x|^p)^(1/p) <= n^(1/p) times the least largest one; and it falls with the power.

    Powers of small numbers vanish, so sizes are part of it.
    """
    rng = np.random.default_rng(3)
    A = rng.uniform(0.5, 1.5, (6, 4, 20)) * rng.choice([-1.0, 1.0], (6, 4, 20))
    b = size * np.einsum("fkn,fn->fk", A, rng.uniform(0.0, 1.0, (6, 20)))
    least = np.array([least_largest(A[f], b[f]) for f in range(6)])
    last = np.full(6, np.inf)
    for power in (2.0, 5.0, 20.0, 50.0, 100.0):
        found = solve(A, b, power=power)
        assert (found.status == Status.SOLVED).all()
        largest = found.x.max(axis=1)
        norm = largest * ((found.x / largest[:, None]) ** power).sum(axis=1) ** (1.0 / power)
        assert (largest >= least * (1.0 - 1e-9)).all()
        assert (norm <= 20 ** (1.0 / power) * least).all()
        assert (largest <= last * (1.0 + 1e-9)).all()
        last = largest
    assert (last <= 1.01 * least).all()


@pytest.mark.parametrize("power", [4.0, 10.0, 40.0, 100.0])
def test_a_large_one_elsewhere_changes_nothing(power):
    """A motor that must give 50 of its units, with equations of its own, leaves all others what they are without it."""
    rng = np.random.default_rng(4)
    A, b = rng.uniform(0.5, 1.5, (3, 2, 5)), np.full((3, 2), 1.0)
    alone = solve(A, b, power=power)
    both = np.zeros((3, 3, 6))
    both[:, :2, :5], both[:, 2, 5] = A, 1.0
    top = [1.0] * 5 + [np.inf]
    found = solve(both, np.column_stack([b, np.full(3, 50.0)]), top=top, power=power)
    assert (found.status == Status.SOLVED).all()
    assert_allclose(found.x[:, 5], 50.0, rtol=ROUNDING)
    assert_allclose(found.x[:, :5], alone.x, atol=1e-6)


def test_the_powers_that_are_stated_are_those_that_are_taken():
    assert (check_power(1), check_power(100)) == (1.0, 100.0)
    for power in (0.99, 100.5, "2"):
        with pytest.raises(InvalidInput, match="1 to 100"):
            check_power(power)
    for documented in (check_power, least_effort, static_optimization):
        assert "1 to 100" in documented.__doc__
