"""Every power of the activations against arithmetic of 420 digits, on frames of recorded motions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from musculo.analyses.static_optimization import share_load as module
from musculo.analyses.static_optimization.least_effort import Status, least_effort
from support.decimal_effort import certified
from support.static_optimisation_inputs import DATASETS, recorded

# Of the largest x. Measured: 3e-14 (Rajagopal, power 100).
SAME = 1e-12
# Of the sum. Powers multiply rounding of x.
SAME_SUM = 1e-11
POWERS = (3, 5, 10, 20, 50, 100)
FRAMES = 3
# An entry below this part of its column's largest is rounding of an arm that is zero: least_effort says so.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def programs(data_folder):
    """Equations of static optimisation in some frames; what they need is what the muscles and reserves can give."""

    @cache
    def of(name):
        r = recorded(data_folder, name)
        some = np.linspace(0, len(r.q) - 1, FRAMES).astype(int)
        kept = []

        def keep(A, b, lower, upper, weights, *options):
            kept.append((A, b, lower, upper, weights))
            return least_effort(A, b, lower, upper, weights, *options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "least_effort", keep)
            given = {"tau": r.tau[some], "reserves": r.reserves, "wrapping": "opensim", "method": "opensim"}
            module.static_optimization(r.model, r.q[some], r.u[some], **given)
        A, *rest = kept[0]
        size = np.abs(A)
        return np.where(size <= ROUNDING * size.max(axis=1, keepdims=True), 0.0, A), *rest

    return of


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("name", DATASETS)
def test_every_answer_is_the_only_one_there_is(programs, name, power):
    """The conditions of optimality are met in 420 digits by an x that doubles do not tell from ours.

    So each level counts at its own size: those that carry 1e-99 of the largest gradient as well. Multipliers found in
    doubles from our x say otherwise at high powers, since they are sums of numbers that differ by 1e100.
    """
    A, b, lower, upper, weights = programs(name)
    found = least_effort(A, b, lower, upper, weights, float(power), 1)
    assert (found.status == Status.SOLVED).all()
    for rows, goal, x in zip(A, b, found.x, strict=True):
        exact = certified(rows, goal, lower, upper, weights, power, x)
        assert exact is not None
        assert max(exact.imbalance, exact.slope) < 1e-20
        largest = np.abs(exact.x).max()
        assert_allclose(x, exact.x, rtol=0, atol=SAME * largest)
        ours, theirs = (weights @ np.abs(v / largest) ** power for v in (x, exact.x))
        assert_allclose(ours, theirs, rtol=SAME_SUM)


@pytest.mark.parametrize("power", [5, 20, 100])
@pytest.mark.parametrize("name", ["arm26", "leg6dof9musc"])
def test_it_does_not_matter_where_the_digits_begin(programs, name, power):
    """The decimal search from the answer of power two, which is far away, ends where ours ends."""
    A, b, lower, upper, weights = programs(name)
    found = least_effort(A, b, lower, upper, weights, float(power), 1)
    far = least_effort(A, b, lower, upper, weights, 2.0, 1)
    assert np.abs(far.x - found.x).max() > 1e-2
    for rows, goal, x, start in zip(A, b, found.x, far.x, strict=True):
        exact = certified(rows, goal, lower, upper, weights, power, start)
        assert exact is not None
        assert_allclose(x, exact.x, rtol=0, atol=SAME * np.abs(exact.x).max())


def random_program(random):
    """Equations with gaps, motors without bounds in every second one, columns alike, weights over six decades."""
    k = random.integers(1, 6)
    n = random.integers(k, 15)
    A = random.normal(size=(k, n)) * (random.random((k, n)) < random.choice([0.3, 0.6, 1.0]))
    lower, upper, weights = np.full(n, random.choice([0.0, 0.001, 0.01])), np.ones(n), np.ones(n)
    if n > 2 and random.random() < 0.3:
        A[:, 1] = A[:, 0]
    if random.random() < 0.3:
        weights = 10.0 ** random.uniform(-3.0, 3.0, n)
    x = np.maximum(random.uniform(0.0, 1.0, n) * random.choice([1.0, 0.1, 0.001]), lower)
    b = A @ x
    if random.random() < 0.5:
        A = np.hstack([A, np.diag(10.0 ** random.uniform(-1.0, 2.0, k))])
        lower, upper = np.append(lower, np.full(k, -np.inf)), np.append(upper, np.full(k, np.inf))
        weights, b = np.append(weights, np.ones(k)), b + 3.0 * random.normal(size=k)
    return A, b, lower, upper, weights


def test_programs_of_any_make():
    """Six thousand such programs differed by 2e-10 of the largest x at most; some hundred are done here."""
    random = np.random.default_rng(11)
    done = 0
    for _ in range(250):
        A, b, lower, upper, weights = random_program(random)
        power = int(random.choice([3, 4, 7, 15, 40, 100]))
        found = least_effort(A[None], b[None], lower, upper, weights, float(power), 1)
        assert found.status[0] == Status.SOLVED
        free = (found.x[0] > lower) & (found.x[0] < upper)
        # The decimal search eliminates with the free columns, which must span the equations.
        if np.linalg.matrix_rank(A[:, free]) < len(A):
            continue
        exact = certified(A, b, lower, upper, weights, power, found.x[0])
        if exact is not None:
            assert_allclose(found.x[0], exact.x, rtol=0, atol=1e-9 * np.abs(exact.x).max())
            done += 1
    assert done > 120


@pytest.mark.parametrize("power", [1.25, 1.5, 2.0])
@pytest.mark.parametrize("name", DATASETS)
def test_powers_up_to_two(programs, name, power):
    """Fewer digits do: gradients are of one size. Measured: 7e-10 of the largest x (1.25), 5e-10 (1.5)."""
    A, b, lower, upper, weights = programs(name)
    found = least_effort(A, b, lower, upper, weights, power, 1)
    assert (found.status == Status.SOLVED).all()
    for rows, goal, x in zip(A, b, found.x, strict=True):
        start = np.where(x - lower < 1e-8, lower, x)
        exact = certified(rows, goal, lower, upper, weights, power, start, digits=80)
        assert exact is not None
        assert_allclose(x, exact.x, rtol=0, atol=1e-9 * np.abs(exact.x).max())


@pytest.mark.parametrize("name", DATASETS)
def test_power_one_costs_what_its_dual_earns(programs, name):
    """The largest b' y + lower' z_low - upper' z_top, z >= 0, is the least sum: both are linear programs.

    A' y + z_low - z_top is w for what cannot be negative, and between -w and w for motors.
    """
    A, b, lower, upper, weights = programs(name)
    found = least_effort(A, b, lower, upper, weights, 1.0, 1)
    n, muscles = len(lower), lower >= 0.0
    low, top = (np.where(np.isfinite(v), v, 0.0) for v in (lower, upper))
    z = [(0.0, None if np.isfinite(v) else 0.0) for v in (*lower, *upper)]
    for rows, goal, x in zip(A, b, found.x, strict=True):
        table = np.hstack([rows.T, np.eye(n), -np.eye(n)])
        motors = np.vstack([table[~muscles], -table[~muscles]])
        cost = -np.concatenate([goal, low, -top])
        bounds = [(None, None)] * len(rows) + z
        limit = np.tile(weights[~muscles], 2)
        dual = linprog(cost, motors, limit, table[muscles], weights[muscles], bounds, method="highs-ipm")
        assert dual.status == 0
        assert_allclose(weights @ np.abs(x), -dual.fun, rtol=1e-8)


@pytest.mark.parametrize("power", [5.0, 100.0])
def test_rounding_of_arms_that_are_zero_changes_nothing(programs, power):
    """A muscle that does not cross a joint has an arm of 1e-17 there: multipliers of high powers would feel it."""
    A, b, lower, upper, weights = programs("rajagopal_walk")
    noise = 1e-14 * np.random.default_rng(5).normal(size=A.shape) * np.abs(A).max(axis=1, keepdims=True)
    clean, rounded = (
        least_effort(rows, b, lower, upper, weights, power, 1) for rows in (A, np.where(A == 0.0, noise, A))
    )
    assert (rounded.status == Status.SOLVED).all()
    assert_allclose(rounded.x, clean.x, rtol=0, atol=1e-9 * np.abs(clean.x).max())
