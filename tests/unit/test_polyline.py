"""Polylines over solids that overlap: lengths by hand, forces, sides."""

from __future__ import annotations

import math

import numpy as np
import pytest

from musculo.kernels.paths.path_points import CYLINDER, SPHERE, TORUS
from musculo.kernels.wrapping.geodesic.obstacle_workspace import CONSTRAINED, CONTACT, FIRST, LAST, PRESS
from musculo.kernels.wrapping.polyline.polyline_search import WRENCH
from support.geodesic_segments import Surfaces
from support.polyline_segments import solve_polylines

# Polylines have pieces of a fraction of a millimetre: the longest are 2e-8 m off on cylinders of 3 mm.
CLOSE = 2e-9


def surfaces(*rows):
    kind, size = zip(*rows, strict=True)
    return Surfaces(np.array(kind), np.array([(*s, 0.0, 0.0)[:3] for s in size], dtype=float))


def solve(rows, centers, start, end, R=None, hold=None):
    n = len(rows)
    R = np.tile(np.eye(3), (1, n, 1, 1)) if R is None else np.array(R)[None]
    length, ends, solids = solve_polylines(
        surfaces(*rows), np.array([start]), np.array([end]), R, np.array(centers, dtype=float)[None], hold
    )
    return length[0], ends[0], solids[0]


def round_circle(radius, start, end):
    """Length of the shortest line from start to end round a disc about the origin, in its plane."""
    a, b = np.hypot(*start), np.hypot(*end)
    angle = math.acos(np.dot(start, end) / (a * b)) - math.acos(radius / a) - math.acos(radius / b)
    return math.sqrt(a * a - radius**2) + radius * angle + math.sqrt(b * b - radius**2)


def test_one_ball_is_passed_on_a_great_circle():
    length, ends, solids = solve([(SPHERE, (0.03,))], [(0, 0, 0)], (-0.08, 0.01, 0), (0.09, 0, 0))
    assert length == pytest.approx(round_circle(0.03, (-0.08, 0.01), (0.09, 0)), abs=CLOSE)
    # the ball carries what the ends pull
    assert np.abs(solids[0, WRENCH + 3 : WRENCH + 6] + ends.sum(axis=0)).max() < 1e-9


def test_between_two_equal_balls_the_polyline_lies_in_their_groove():
    """The balls meet in a circle of radius sqrt(R^2 - c^2); the polyline follows it, and both carry half of the
    force."""
    R, c = 0.03, 0.02
    start, end = (0.0, -0.08, 0.01), (0.0, 0.07, 0.0)
    length, ends, solids = solve([(SPHERE, (R,)), (SPHERE, (R,))], [(-c, 0, 0), (c, 0, 0)], start, end)
    assert length == pytest.approx(round_circle(math.sqrt(R * R - c * c), start[1:], end[1:]), abs=CLOSE)
    force = solids[:, WRENCH + 3 : WRENCH + 6]
    assert np.abs(force.sum(axis=0) + ends.sum(axis=0)).max() < 1e-9
    assert np.abs(force[0] * [-1, 1, 1] - force[1]).max() < 1e-7
    # normals lean by asin(c / R), so that the balls are pressed apart
    lean = c / math.sqrt(R * R - c * c)
    assert force[1, 0] == pytest.approx(lean * np.linalg.norm(force[1, 1:]), rel=0.02)


def test_two_crossed_rods_are_bridged_where_a_polyline_would_not_lie_in_the_groove():
    """Parallel rods that overlap, across which the polyline runs: it touches both and bridges what is between."""
    r, c = 0.01, 0.008
    start, end = (-0.06, 0.0, 0.0), (0.06, 0.0, 0.0)
    length, _, solids = solve([(CYLINDER, (r, 1.0)), (CYLINDER, (r, 1.0))], [(-c, 0, 0), (c, 0, 0)], start, end)
    reach = 0.06 - c
    angle = math.pi / 2 - math.acos(r / reach)
    expected = 2 * math.sqrt(reach**2 - r * r) + 2 * r * angle + 2 * c
    assert length == pytest.approx(expected, abs=CLOSE)
    assert (solids[:, CONTACT] == 1).all()


def test_a_held_side_is_kept_to_the_long_way_round():
    """A cylinder to be passed by a turn of -300 degrees about its axis, beside a ball that is out of the way."""
    r, turn = 0.01, math.radians(-300)
    start, end = (0.05, 0.0, 0.0), (0.05 * math.cos(math.radians(60)), 0.05 * math.sin(math.radians(60)), 0.0)
    hold = np.array([[CONSTRAINED, turn], [1.0, 0.0]])
    rows = [(CYLINDER, (r, 1.0)), (SPHERE, (0.01,))]
    length, _, solids = solve(rows, [(0, 0, 0), (0, 0, 0.3)], start, end, hold=hold)
    wrap = abs(turn) - 2 * math.acos(r / 0.05)
    assert length == pytest.approx(2 * math.sqrt(0.05**2 - r * r) + r * wrap, abs=CLOSE)
    assert solids[1, CONTACT] == 0


def test_a_ring_between_the_ends_is_passed_through_its_hole():
    """The straight line would pass outside the ring: the polyline hangs on the inside of its tube."""
    tube, ring = 0.01, 0.04
    start, end = (0.06, 0.0, -0.05), (0.06, 0.0, 0.05)
    rows = [(TORUS, (tube, ring)), (SPHERE, (0.01,))]
    hold = np.array([[0.0, 0.0], [1.0, 0.0]])
    length, _, solids = solve(rows, [(0, 0, 0), (-0.3, 0, 0)], start, end, hold=hold)
    # in the plane of ends and axis the tube is a circle about (ring, 0), passed on the inside
    far = math.hypot(0.06 - ring, 0.05)
    angle = 2 * (math.pi - math.atan2(0.05, 0.06 - ring)) - 2 * math.acos(tube / far)
    assert length == pytest.approx(2 * math.sqrt(far**2 - tube**2) + tube * angle, abs=CLOSE)
    assert solids[0, CONTACT] == 1
    assert np.hypot(*solids[0, FIRST : FIRST + 2]) < ring > np.hypot(*solids[0, LAST : LAST + 2])


def test_a_larger_ball_lengthens_the_polyline_by_its_press():
    rows = [(SPHERE, (0.03,)), (SPHERE, (0.025,))]
    start, end, centers = (0.01, -0.08, 0.01), (0.0, 0.07, 0.0), [(-0.02, 0, 0), (0.02, 0.005, 0)]
    _, _, solids = solve(rows, centers, start, end)
    for k in range(2):
        sides = []
        for f in (1 - 1e-4, 1 + 1e-4):
            grown = [
                (kind, tuple(f * s for s in size)) if i == k else (kind, size) for i, (kind, size) in enumerate(rows)
            ]
            sides.append(solve(grown, centers, start, end)[0])
        assert solids[k, PRESS] == pytest.approx((sides[1] - sides[0]) / 2e-4, abs=1e-9)
