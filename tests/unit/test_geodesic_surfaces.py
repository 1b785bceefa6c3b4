"""Taut paths whose arcs can be checked by hand, and the rules for sides, lift-off and points inside."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import brentq

from musculo.kernels.paths.path_points import CYLINDER, ELLIPSOID, SPHERE, TORUS
from support import geodesic_segments as gd
from support.geodesic_segments import Surfaces, solve_segments

close = partial(assert_allclose, rtol=0)

# Closed forms in float64: a few roundings.
ROUNDING = 1e-13
# Followed by steps with errors of 1e-11 of the size.
FOLLOWED = 1e-10


def surfaces(*rows):
    """Rows of (kind, size)."""
    kind, size = zip(*rows, strict=True)
    padded = [[*s, 0.0, 0.0][:3] for s in size]
    return Surfaces(np.array(kind), np.array(padded, float))


def solve(rows, start, end):
    """One frame: (length, status, results of every obstacle)."""
    n = len(rows)
    R, p = np.tile(np.eye(3), (1, n, 1, 1)), np.zeros((1, n, 3))
    length, status, G = solve_segments(surfaces(*rows), np.array([start]), np.array([end]), R, p)
    return length[0], status[0], G[0]


def lean(r, d):
    return math.acos(r / d)


def test_quarter_turn_over_a_cylinder():
    # straight down to the cylinder's side, a quarter of a turn, straight away
    length, status, G = solve([(CYLINDER, (1.0,))], (-1.0, -0.5, 0.0), (0.7, 1.0, 0.0))
    assert status == gd.CONVERGED
    close(length, 0.5 + math.pi / 2 + 0.7, atol=ROUNDING)
    close(G[0, gd.FIRST : gd.FIRST + 3], [-1, 0, 0], atol=ROUNDING)
    close(G[0, gd.LAST : gd.LAST + 3], [0, 1, 0], atol=ROUNDING)
    close(G[0, gd.FIRST_TANGENT : gd.FIRST_TANGENT + 3], [0, 1, 0], atol=ROUNDING)
    close(G[0, gd.LAST_TANGENT : gd.LAST_TANGENT + 3], [1, 0, 0], atol=ROUNDING)


def test_helix_is_a_straight_line_on_the_unrolled_cylinder():
    flat = 1 + math.pi / 2 * 2 + 1.5
    length, _, G = solve([(CYLINDER, (2.0,))], (-2.0, -1.0, 1.0), (1.5, 2.0, 8.0))
    close(length, math.hypot(flat, 7.0), atol=10 * ROUNDING)
    close(G[0, gd.FIRST + 2], 1 + 7 * 1 / flat, atol=ROUNDING)


@pytest.mark.parametrize("kind", [SPHERE, ELLIPSOID])
def test_great_circle_in_any_plane(kind):
    size = (0.5,) if kind == SPHERE else (0.5, 0.5, 0.5)
    u, v = np.array([2.0, 1.0, -2.0]) / 3.0, np.array([1.0, 2.0, 2.0]) / 3.0
    start, end = 2.0 * u, 1.5 * (math.cos(2.9) * u + math.sin(2.9) * v)
    wrap = 2.9 - lean(0.5, 2.0) - lean(0.5, 1.5)
    expected = math.sqrt(4 - 0.25) + 0.5 * wrap + math.sqrt(2.25 - 0.25)
    length, _, G = solve([(kind, size)], start, end)
    close(length, expected, atol=FOLLOWED)
    close(G[0, gd.LENGTH], 0.5 * wrap, atol=FOLLOWED)


@pytest.mark.parametrize("plane", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_principal_sections_of_an_ellipsoid(plane):
    """The symmetry planes cut in ellipses that are geodesics: tangents from outside and an elliptic arc between."""
    i, j, k = plane
    semi = np.array([0.9, 0.6, 0.75])
    semi[k] = 3.0  # a long axis across the plane keeps the path in it
    a, b = semi[i], semi[j]
    start, end = np.zeros(3), np.zeros(3)
    start[i], start[j], end[i], end[j] = -1.6, 0.2, 1.4, 0.1
    length, status, _ = solve([(ELLIPSOID, tuple(semi))], start, end)

    def tangent_angle(x, y, low, high):
        return brentq(lambda s: x * math.cos(s) / a + y * math.sin(s) / b - 1.0, low, high, xtol=1e-15)

    s1 = tangent_angle(-1.6, 0.2, 0.5 * math.pi, math.pi - math.atan2(0.2 / b, 1.6 / a))
    s2 = tangent_angle(1.4, 0.1, math.atan2(0.1 / b, 1.4 / a), 0.5 * math.pi)
    arc, _ = quad(lambda s: math.hypot(a * math.sin(s), b * math.cos(s)), s2, s1, epsabs=1e-13)
    straight = math.hypot(a * math.cos(s1) + 1.6, b * math.sin(s1) - 0.2)
    straight += math.hypot(a * math.cos(s2) - 1.4, b * math.sin(s2) - 0.1)
    assert status == gd.CONVERGED
    close(length, straight + arc, atol=FOLLOWED)


def test_meridian_of_a_torus_is_a_circle():
    # in the plane y = 0 the tube is a circle of radius 0.2 about x = 1; the path passes on its inner side
    length, status, G = solve([(TORUS, (0.2, 1.0))], (1.3, 0.0, -2.0), (1.3, 0.0, 2.0))
    d = math.hypot(0.3, 2.0)
    turn = 2 * (math.pi - math.atan2(2.0, 0.3))  # seen from the tube's centre, past the inner side
    wrap = turn - 2 * lean(0.2, d)
    assert status == gd.CONVERGED
    close(length, 2 * math.sqrt(d * d - 0.04) + 0.2 * wrap, atol=FOLLOWED)
    assert 0.5 * (G[0, gd.FIRST] + G[0, gd.LAST]) < 1.0


def test_a_path_through_the_hole_is_straight():
    length, status, G = solve([(TORUS, (0.2, 1.0))], (0.1, 0.2, -2.0), (0.0, -0.3, 2.0))
    assert status == gd.CONVERGED
    assert G[0, gd.CONTACT] == 0
    close(length, math.sqrt(0.01 + 0.25 + 16), atol=ROUNDING)


def test_the_shorter_way_is_taken():
    for kind, size in ((CYLINDER, (1.0,)), (SPHERE, (1.0,)), (ELLIPSOID, (1.0, 0.9, 4.0))):
        for y in (0.2, -0.2):
            _, _, G = solve([(kind, size)], (-2.0, y, 0.0), (2.0, y, 0.0))
            assert y * G[0, gd.FIRST + 1] > 0


@pytest.mark.parametrize(("kind", "size"), [(CYLINDER, (1.0,)), (SPHERE, (1.0,)), (ELLIPSOID, (1.0, 0.7, 0.8))])
def test_touch_down_starts_from_zero_length(kind, size):
    """Lines a hair outside and inside: the arc grows from nothing and the length stays that of the line."""
    top = size[1] if kind == ELLIPSOID else 1.0
    for gap in (1e-4, 1e-7, 1e-10):
        out, _, G_out = solve([(kind, size)], (-2.0, top + gap, 0.0), (2.0, top + gap, 0.0))
        into, _, G_in = solve([(kind, size)], (-2.0, top - gap, 0.0), (2.0, top - gap, 0.0))
        assert (G_out[0, gd.CONTACT], G_in[0, gd.CONTACT]) == (0, 1)
        assert 0 < G_in[0, gd.LENGTH] < 3 * gap
        close([out, into], 4.0, atol=2 * gap**2 + 4 * ROUNDING)


@pytest.mark.parametrize(
    ("kind", "size"),
    [(CYLINDER, (1.0,)), (SPHERE, (1.0,)), (ELLIPSOID, (1.0, 0.7, 0.8)), (TORUS, (0.5, 1.0))],
)
def test_an_inside_end_shrinks_the_surface(kind, size):
    """The length is continuous as an end passes through the surface and on to its centre."""
    centre = np.array([1.0, 0.0, 0.0]) if kind == TORUS else np.zeros(3)
    inwards = np.array([0.3, 0.2, 0.25])
    lengths, statuses, G = [], [], None
    fractions = np.linspace(4.0, 0.0, 4001)
    for f in fractions:
        length, status, G = solve([(kind, size)], centre + f * inwards, centre + np.array([-0.9, -0.8, -2.5]))
        lengths.append(length)
        statuses.append(status)
    assert statuses[0] == gd.CONVERGED
    assert statuses[-2] == gd.INSIDE
    assert G[0, gd.CONTACT] == 0  # at the centre the obstacle is gone
    step = np.linalg.norm(inwards) * (fractions[0] - fractions[1])
    # a surface that shrinks with the end shortens an arc of up to pi as well
    assert np.abs(np.diff(lengths)).max() < 2 * math.pi * step
    close(lengths[-1], np.linalg.norm([-0.9, -0.8, -2.5]), atol=1e-8)
