"""The oracle for shortest paths over several solids (`support.global_path`): closed forms, and polylines pulled from
many starts. Then what it says where the judge of single polylines could not: who is right over overlapping surfaces.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from musculo import read_osim
from support.global_path import Obstacle, right_side, shortest_path
from support.path_lines import SAME
from support.rule_lengths import rule_length
from support.short_steps import MODELS, random_poses
from support.taut_polyline import Solid, spaced, taut
from support.who_is_right import Court

# Lengths are extrapolated from two spacings [m].
EXACT = 2e-9


@pytest.mark.parametrize("r", [0.003, 0.02, 0.05])
@pytest.mark.parametrize("side", ["shorter", "held", "held the long way"])
def test_over_a_cylinder_it_is_the_helix(r, side):
    P, Q = np.array([-0.15, 0.003, -0.05]), np.array([0.25, 0.001, 0.1])
    turn = math.atan2(Q[1], Q[0]) - math.atan2(P[1], P[0])
    turn += 2 * math.pi if side == "held the long way" else 0.0
    d_P, d_Q = math.hypot(*P[:2]), math.hypot(*Q[:2])
    wrap = abs(turn) - math.acos(r / d_P) - math.acos(r / d_Q)
    flat = math.sqrt(d_P**2 - r**2) + r * wrap + math.sqrt(d_Q**2 - r**2)
    cylinder = Obstacle("cylinder", (r,), np.eye(3), np.zeros(3), turn=None if side == "shorter" else turn)
    path = shortest_path(P, Q, [cylinder])
    assert abs(path.length - math.hypot(flat, Q[2] - P[2])) < EXACT


def test_over_two_balls_it_lies_in_the_valley_between_them():
    balls = [Obstacle("sphere", (0.05,), np.eye(3), np.array([x, 0.0, 0.0])) for x in (-0.04, 0.04)]
    path = shortest_path(np.array([0.0, -0.10, 0.0]), np.array([0.0, 0.10, 0.0]), balls)
    d, r = 0.10, 0.03
    assert path.touches == (True, True)
    assert abs(path.length - 2 * math.sqrt(d**2 - r**2) - r * (math.pi - 2 * math.acos(r / d))) < EXACT


@pytest.mark.parametrize("through", [True, False])
def test_a_ring_is_passed_through_its_hole_if_asked(through):
    r, R, out, h = 0.01, 0.04, 0.06, 0.08
    ring = Obstacle("torus", (r, R), np.eye(3), np.zeros(3), through=through)
    P, Q = np.array([R + out, 0.0, -h]), np.array([R + out, 0.0, h])
    d = math.hypot(out, h)
    round_it = 2 * math.sqrt(d**2 - r**2) + r * (2 * math.pi - 2 * math.atan2(h, out) - 2 * math.acos(r / d))
    path = shortest_path(P, Q, [ring])
    assert abs(path.length - (round_it if through else 2 * h)) < EXACT


@pytest.mark.parametrize("seed", range(6))
def test_no_polyline_from_any_start_is_shorter(seed):
    """Two or three solids that overlap, the side of the first, a cylinder, held; polylines from twelve starts."""
    rng = np.random.default_rng(seed)
    kinds = ["cylinder", *rng.choice(["sphere", "ellipsoid", "cylinder"], 1 + seed % 2)]
    P, Q = np.array([[-0.12, 0, 0], [0.12, 0, 0]]) + 0.01 * rng.normal(size=(2, 3))
    obstacles = []
    for i, kind in enumerate(kinds):
        size = tuple(rng.uniform(0.01, 0.04, 3 if kind == "ellipsoid" else 1))
        R = Rotation.from_rotvec([rng.uniform(0, 6.3), 0, 0]) * Rotation.from_rotvec(0.4 * rng.normal(size=3))
        obstacle = Obstacle(kind, size, R.as_matrix(), 0.012 * rng.normal(size=3))
        if i == 0:
            a, b = obstacle.own(P), obstacle.own(Q)
            turn = math.remainder(math.atan2(b[1], b[0]) - math.atan2(a[1], a[0]), 2 * math.pi)
            turn -= math.copysign(2 * math.pi, turn) if seed % 3 == 0 else 0.0
            obstacle = Obstacle(kind, size, R.as_matrix(), obstacle.p, turn=turn)
        obstacles.append(obstacle)
    path = shortest_path(P, Q, obstacles)
    solids = [Solid(o.kind, o.size, o.R, o.p) for o in obstacles]
    assert right_side(obstacles, path.points)
    assert max(solid.deepest(spaced(path.points, np.linspace(0, 1, 5001))) for solid in solids) < 2e-6
    best = math.inf
    for angle in np.arange(0, 2 * math.pi, math.pi / 6):
        out = 0.08 * np.array([0.0, math.cos(angle), math.sin(angle)])
        polyline = taut(solids, np.array([P, 0.7 * P + out, 0.7 * Q + out, Q]))
        if polyline.settled and right_side(obstacles, polyline.points):
            best = min(best, polyline.length)
    assert math.isfinite(best)
    assert path.length < best + 1e-8


# Polylines of MoBL-ARMS and the shoulder that differ from what is pulled tight from the contacts they show: one pays a
# penalty for the side of a sphere (16.7 mm), in two an end lies inside the thorax (0.14 and 0.11 mm).
SETTLED = [
    ("mobl_arms", 68, "LAT1"),
    ("thoracoscapular_shoulder", 0, "Supraspinatus_A"),
    ("thoracoscapular_shoulder", 56, "TeresMajor"),
]


@pytest.mark.parametrize(("name", "pose", "path"), SETTLED)
def test_polylines_are_right_where_contacts_do_not_show_their_way(data_folder, name, pose, path):
    model = read_osim(data_folder / MODELS[name])
    court = Court(model, random_poses(model, 400, np.random.default_rng(6), 0.9)[pose])
    shortest = rule_length(court, path)
    assert abs(court.ours.length[0, court.ours.index(path)] - shortest.length) < 1e-7
    verdict = court.judge(path)
    assert verdict.status == "overlapped"
    assert abs(verdict.unexplained) < SAME
    assert verdict.reason != "ours wrong"
    assert (verdict.penalty, verdict.inside) == (0.0, name != "mobl_arms")
