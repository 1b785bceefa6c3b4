"""Optima that are known, and the order in which transcriptions converge to them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.trajectory import (
    BSplines,
    Control,
    Formula,
    HermiteSimpson,
    Integral,
    Problem,
    Radau,
    State,
    Trapezoidal,
)
from support.known_optima import (
    alp_rider,
    alp_rider_mesh,
    brachistochrone,
    double_integrator,
    goddard,
    linear_quadratic,
)

# Measured orders are those of the leading term: at these intervals the next one is a few percent of it.
OF_ORDER = 0.15
TIGHT = 1e-11


def errors(known, transcriptions, **options):
    found = []
    for one in transcriptions:
        motion = known.problem.solve(one, known.guess, **options)
        assert motion.solved
        found.append(abs(motion.objective - known.objective))
    return np.array(found)


@pytest.mark.parametrize(
    ("make", "intervals", "order"),
    [
        (Trapezoidal, (10, 20, 40), 2),
        (HermiteSimpson, (5, 10, 20), 4),
        (lambda n: Radau(n, 2), (5, 10, 20), 3),
        (lambda n: Radau(n, 3), (3, 6, 12), 5),
    ],
)
def test_collocation_converges_in_its_order(make, intervals, order):
    assert make(1).order == order
    found = errors(linear_quadratic(), [make(n) for n in intervals], tolerance=TIGHT)
    assert_allclose(np.log2(found[:-1] / found[1:]), order, atol=OF_ORDER)


@pytest.mark.parametrize("degree", [2, 3])
def test_splines_converge_with_twice_their_degree(degree):
    """The control follows from the spline and its rate, so there are no equations to be met."""
    effort = Formula(lambda x, rate: rate + x, ("x", "x_rate"), "u")
    known = linear_quadratic()
    goals = (Integral("x", 0.5, squared=True), Integral(effort, 0.5, squared=True))
    problem = Problem((State("x", None, 1.0), Control("x_rate")), 1.0, goals=goals)
    known = known._replace(problem=problem)
    found = errors(known, [BSplines(n + degree, degree, 6) for n in (4, 8)], tolerance=TIGHT)
    assert_allclose(np.log2(found[0] / found[1]), 2 * degree, atol=0.3)
    assert errors(known, [BSplines(6, 5, 6)], tolerance=TIGHT)[0] < 1e-8


def test_a_bead_slides_along_a_cycloid():
    known = brachistochrone()
    coarse, middle, fine = errors(known, [Trapezoidal(n) for n in (10, 20, 40)], tolerance=1e-9)
    assert_allclose(np.log2([coarse / middle, middle / fine]), 2.0, atol=0.2)
    assert errors(known, [HermiteSimpson(20), Radau(20, 3)], tolerance=1e-9).max() < 1e-7


def test_a_switch_at_a_node_is_exact():
    assert errors(double_integrator(), [HermiteSimpson(10), Radau(10, 2)], tolerance=1e-9).max() < 1e-7


def test_a_rocket_reaches_the_height_of_cops():
    # five decimals are stated; the singular arc, which no mesh knows, leaves some 1e-5
    assert errors(goddard(), [Trapezoidal(200), HermiteSimpson(100)]).max() < 2e-5


def test_an_alp_rider_stays_above_the_peaks():
    known = alp_rider()
    # many inequalities come and go: the barrier that falls steadily needs a third of the iterations
    found = errors(known, [Radau(alp_rider_mesh(100), 3)], options={"mu_strategy": "monotone"})
    assert found[0] < 5e-4 * known.objective
