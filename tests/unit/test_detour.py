"""The detour over a quadrant's side of an ellipsoid: by hand, by a search over all sides, and its slopes."""

from __future__ import annotations

import math
from functools import partial

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ellipeinc

from musculo.kernels.scalar.scalar_jets import angle, cosine, minus, over, plus, root, sine, times, weigh
from musculo.kernels.wrapping.rules.detour import STEEP, detour_of_side, detour_slopes
from musculo.kernels.wrapping.rules.least_penalty import least_toll_of_side
from musculo.kernels.wrapping.rules.least_penalty_slopes import least_toll_slopes
from musculo.kernels.wrapping.rules.side_penalty import PRICE, toll_of_side
from support.section_lengths import least_length, section_lengths, side_detour

# The kernel's 16 to 112 Gauss points over an arc, against 96 [m]; axes are as 6 to 1 at most, and 60 mm long.
SEARCHED = 1e-7
# A price is continuous: what is left of a step after bisecting it [m].
JUMP = 1e-9
# Central differences with steps of 1e-4 of the size: their square, and rounding over the step.
DIFFERENCED = 1e-6


def f_by_hand(x, y):
    """A formula of all operations, for numbers of any kind that numpy knows."""
    return np.sqrt(x * y + 2.0) / (1.0 + x * x) * np.sin(x + 2.0 * y) - np.cos(y) * np.arctan2(y, x)


@numba.njit
def f_of_jets(x, y):
    one, two = (1.0, 0.0, 0.0, 0.0), (2.0, 0.0, 0.0, 0.0)
    first = over(root(plus(times(x, y), two)), plus(one, times(x, x)))
    first = times(first, sine(plus(x, weigh(2.0, y))))
    return minus(first, times(cosine(y), angle(y, x)))


def central(f, h):
    """f'(0) by differences of the eighth order."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    return sum(w * (f(k * h) - f(-k * h)) for k, w in enumerate(weights, 1)) / h


def test_numbers_with_slopes_have_the_derivatives_of_the_formula():
    for p, by_a, by_b in np.random.default_rng(1).uniform(0.3, 1.2, (20, 3, 2)):
        x, y = zip(p, by_a, by_b, (0.0, 0.0), strict=True)
        value, a, b, ab = f_of_jets(x, y)
        assert value == pytest.approx(f_by_hand(*p), abs=1e-14)

        def moved(s, along, p=p):
            return f_by_hand(*(p + s * along))

        def slope(s, p=p, by_a=by_a, by_b=by_b):
            x, y = zip(p + s * by_b, by_a, (0.0, 0.0), (0.0, 0.0), strict=True)
            return f_of_jets(x, y)[1]

        assert a == pytest.approx(central(partial(moved, along=by_a), 5e-3), abs=1e-11)
        assert b == pytest.approx(central(partial(moved, along=by_b), 5e-3), abs=1e-11)
        assert ab == pytest.approx(central(slope, 5e-3), abs=1e-10)


def test_a_root_of_nothing_has_no_slopes():
    assert root((0.0, 1.0, 2.0, 3.0)) == (0.0, 0.0, 0.0, 0.0)


def test_over_a_sphere_by_hand():
    """The line passes 0.3 below the centre, the quadrant is above: the great circle over it, less that below."""
    P, Q = np.array([-2.0, -0.3, 0.0]), np.array([2.0, -0.3, 0.0])

    def over(y):
        # tangents to the great circle from ends at the height y, over its top
        lean = math.acos(1.0 / math.hypot(2.0, y))
        return 2 * math.sqrt(3.0 + y * y) + 2 * math.atan2(2.0, y) - 2 * lean

    found, to_P, to_Q = detour_of_side((1.0, 1.0, 1.0), 1, 1.0, tuple(P), tuple(Q))
    assert found == pytest.approx(over(-0.3) - over(0.3), abs=1e-13)
    # the same line moved down: the detour grows
    assert to_P[1] + to_Q[1] < -0.1
    assert detour_of_side((1.0, 1.0, 1.0), 1, -1.0, tuple(P), tuple(Q)) == (0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def test_the_length_in_a_plane_is_that_of_an_ellipse():
    """The line along x through the centre, the side along y: an arc of the ellipse with axes a and b."""
    a = np.array([0.04, 0.02, 0.03])
    P, Q = np.array([-3.0, 0.0, 0.0]), np.array([2.0, 0.0, 0.0])
    first, last = -math.pi / 2 + math.acos(1 / 3), math.pi / 2 - math.acos(1 / 2)
    arc = a[0] * (ellipeinc(last, 1 - 0.25) - ellipeinc(first, 1 - 0.25))
    ends = [(3.0, first), (2.0, last)]
    straight = sum(math.hypot(a[0] * (d - abs(math.sin(t))), a[1] * math.cos(t)) for d, t in ends)
    found = section_lengths(a, P, Q, np.array([[0.0, 1.0, 0.0]]))[0]
    assert found == pytest.approx(arc + straight, abs=1e-14)


def cases(count, seed):
    """Ellipsoids with axes as 1 to 6 at most, and lines that cut them, in the ellipsoid's frame."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        a = rng.uniform(0.01, 0.06, 3)
        u, m = rng.normal(size=(2, 3))
        u /= np.linalg.norm(u)
        m -= (m @ u) * u
        m *= rng.uniform(0.0, 0.95) / np.linalg.norm(m)
        P, Q = (m - u * rng.uniform(1.05, 6.0)) * a, (m + u * rng.uniform(1.05, 6.0)) * a
        yield a, int(rng.integers(3)), float(rng.choice([-1.0, 1.0])), P, Q


def test_the_detour_is_found_by_a_search_over_all_sides():
    seen = 0
    for a, axis, sign, P, Q in cases(150, 2):
        found = detour_of_side(tuple(a), axis, sign, tuple(P), tuple(Q))[0]
        assert found == pytest.approx(side_detour(a, axis, sign, P, Q), abs=SEARCHED)
        seen += found > 0.0
    assert 40 < seen < 110


def test_a_shortest_path_of_its_own_on_the_quadrants_half_is_what_it_is_longer():
    """A long ellipsoid crossed near its middle: the way over either end is far, so that there is a shortest path below
    and one above. The line passes below the centre, the quadrant is above."""
    a, P, Q = np.array([0.02, 0.09, 0.025]), np.array([-0.07, 0.002, -0.004]), np.array([0.05, -0.003, -0.003])
    below, above = (least_length(a, P / a, Q / a, 2, sign) for sign in (-1.0, 1.0))
    found, to_P, to_Q = detour_of_side(tuple(a), 2, 1.0, tuple(P), tuple(Q))
    assert found == pytest.approx(above - below, abs=1e-12)
    assert found > 1e-3
    # nearer to the centre both are as long
    assert to_P[2] + to_Q[2] < 0.0


def test_one_side_of_the_two_is_free():
    """What one quadrant pays, the opposite one does not."""
    paid = 0
    for a, axis, sign, P, Q in cases(40, 3):
        x, y = (detour_of_side(tuple(a), axis, s, tuple(P), tuple(Q))[0] for s in (sign, -sign))
        assert min(x, y) == 0.0
        paid += max(x, y) > 0.0
    assert paid > 35


def test_slopes_are_those_of_the_detour():
    rng = np.random.default_rng(4)
    seen = 0
    for a, axis, sign, P, Q in cases(150, 5):
        given = tuple(a), axis, sign
        here, to_P, to_Q = detour_of_side(*given, tuple(P), tuple(Q))
        dP, dQ = rng.normal(size=(2, 3))
        h = 1e-4 * a.min()
        before, after = (detour_of_side(*given, tuple(P + s * h * dP), tuple(Q + s * h * dQ)) for s in (-1, 1))
        if min(before[0], here, after[0]) <= 0.0:
            continue
        slopes = np.array(after[1:]) - np.array(before[1:])
        if np.abs(slopes).max() > 0.1:
            # between the two the least side of a half changes from one to another
            continue
        seen += 1
        slope = np.dot(to_P, dP) + np.dot(to_Q, dQ)
        assert slope == pytest.approx((after[0] - before[0]) / (2 * h), abs=DIFFERENCED)
        bends = np.array(detour_slopes(*given, tuple(P), tuple(Q), tuple(dP), tuple(dQ)))
        assert_allclose(bends, slopes / (2 * h), rtol=0, atol=STEEP * DIFFERENCED / a.min())
    assert seen > 40


def test_the_toll_is_at_most_the_detour_and_ends_where_its_rule_does():
    """Down to the edges of the rule, where the line passes the centre and where it leaves the surface, it goes to zero
    as the distance does."""
    a = (0.05, 0.03, 0.04)
    for axis in range(3):
        u = np.roll([1.0, 0.0, 0.0], axis + 1)
        for depth in (1e-3, 1e-5, 1e-7):
            for m in (-depth, -1.0 + depth):
                P, Q = (np.array(a) * (m * np.eye(3)[axis] + s * 3.0 * u) for s in (-1, 1))
                price = least_toll_of_side(a, axis, 1.0, tuple(P), tuple(Q))[0]
                assert 0.0 <= price <= PRICE * max(a) * depth * (1 + 1e-6)
    for a, axis, sign, P, Q in cases(60, 6):
        given = tuple(a), axis, sign, tuple(P), tuple(Q)
        assert least_toll_of_side(*given)[0] == min(toll_of_side(*given)[0], detour_of_side(*given)[0])


def test_a_line_along_the_quadrants_axis_has_no_sides():
    P, Q = (0.01, 0.2, 0.003), (0.01, -0.3, 0.003)
    assert least_toll_of_side((0.05, 0.03, 0.04), 1, 1.0, P, Q)[0] == 0.0
    assert detour_of_side((0.05, 0.03, 0.04), 1, 1.0, P, Q)[0] == 0.0


def flat_cases(count, seed, ratio, least):
    """Ellipsoids with axes as 1 to `ratio` at most; ends from `least` of the surface's size on."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        a = 0.05 * ratio ** -rng.uniform(0.0, 1.0, 3)
        P, Q = rng.normal(size=(2, 3))
        P *= (least + 3.0 * rng.random()) / np.linalg.norm(P)
        if rng.random() < 0.7:
            Q = -P * rng.uniform(0.5, 1.5) + 0.3 * rng.normal(size=3)
        Q *= max(1.0, least / np.linalg.norm(Q))
        yield tuple(a), int(rng.integers(3)), float(rng.choice([-1.0, 1.0])), P * a, Q * a, rng.normal(size=(2, 3)) * a


@pytest.mark.parametrize("ratio", [3.0, 20.0])
@pytest.mark.parametrize("least", [0.3, 1.001])
def test_the_price_of_a_side_is_continuous(ratio, least):
    """Steps of 2e-3 of the size; what its slopes at both ends do not explain is bisected."""
    seen = 0
    for a, axis, sign, P, Q, (dP, dQ) in flat_cases(4000, 8, ratio, least):

        def price(s, a=a, axis=axis, sign=sign, P=P, Q=Q, dP=dP, dQ=dQ):
            return least_toll_of_side(a, axis, sign, tuple(P + s * dP), tuple(Q + s * dQ))

        low, high = 0.0, 2e-3
        before, after = price(low), price(high)
        seen += before[0] > 0.0
        slope = sum(np.dot(x[1], dP) + np.dot(x[2], dQ) for x in (before, after))
        if abs(after[0] - before[0] - 0.5 * high * slope) < 1e-8:
            continue
        first, last = before[0], after[0]
        for _ in range(40):
            middle = 0.5 * (low + high)
            here = price(middle)[0]
            if abs(here - first) > abs(last - here):
                high, last = middle, here
            else:
                low, first = middle, here
        assert abs(last - first) < JUMP, (a, axis, sign, P, Q)
    assert seen > 500


@pytest.mark.parametrize("least", [0.3, 1.001])
def test_slopes_of_the_least_toll_with_ends_inside(least):
    seen = 0
    for a, axis, sign, P, Q, (dP, dQ) in flat_cases(600, 9, 4.0, least):
        given = a, axis, sign

        def price(s, given=given, P=P, Q=Q, dP=dP, dQ=dQ):
            return least_toll_of_side(*given, tuple(P + s * dP), tuple(Q + s * dQ))

        here = price(0.0)
        if here[0] <= 0.0:
            continue
        values = [price(s) for s in (-2e-4, -1e-4, 1e-4, 2e-4)]
        slopes = np.array([np.dot(x[1], dP) + np.dot(x[2], dQ) for x in values])
        w = np.array([1.0, -8.0, 8.0, -1.0]) / 12e-4
        if abs(w @ slopes - (slopes[2] - slopes[1]) / 2e-4) > 1e-6:
            # another side, or another rule, on the way
            continue
        seen += 1
        assert np.dot(here[1], dP) + np.dot(here[2], dQ) == pytest.approx(w @ [x[0] for x in values], abs=1e-9)
        bends = np.array(least_toll_slopes(*given, tuple(P), tuple(Q), tuple(dP), tuple(dQ)))
        expected = np.einsum("i,ijk->jk", w, np.array([x[1:] for x in values]))
        assert_allclose(bends, expected, rtol=0, atol=DIFFERENCED)
    assert seen > 40
