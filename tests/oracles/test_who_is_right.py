"""Where the two wrapping methods differ by more than 0.1 mm, a polyline pulled tight says who is right.

One typical case of every reason that docs/theory/taut_paths.md names, in poses of the recorded tables. The polyline
(`support.taut_polyline`) shares no code with the kernels; the first tests show what it is worth.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from musculo import read_osim
from support.path_lines import SAME, TOUCHES
from support.taut_polyline import Solid, taut
from support.who_is_right import Court

# The polyline is extrapolated from two spacings; what remains is far below a micrometre.
POLYLINE = 1e-8
# The difference that the issue asks about [m].
DIFFERENT = 1e-4


# --- the polyline
# -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("r", [0.003, 0.02, 0.05])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_polyline_over_a_cylinder_is_the_helix(r, side):
    P, Q = np.array([-0.15, 0.003, -0.05]), np.array([0.25, 0.001, 0.1])
    turn = math.atan2(Q[1], Q[0]) - math.atan2(P[1], P[0])
    turn = abs(turn) if side > 0 else 2 * math.pi - abs(turn)
    d_P, d_Q = math.hypot(*P[:2]), math.hypot(*Q[:2])
    wrap = turn - math.acos(r / d_P) - math.acos(r / d_Q)
    flat = math.sqrt(d_P**2 - r**2) + r * wrap + math.sqrt(d_Q**2 - r**2)
    polyline = taut([Solid("cylinder", (r,), np.eye(3), np.zeros(3))], np.array([P, [0.0, 1.5 * side * r, 0.0], Q]))
    assert polyline.settled
    assert abs(polyline.length - math.hypot(flat, Q[2] - P[2])) < POLYLINE


def test_polyline_over_two_spheres_slides_into_the_valley_between_them():
    # two balls of radius 5 with centres 8 apart meet in a circle of radius 3; a polyline across stays in that circle
    balls = [Solid("sphere", (0.05,), np.eye(3), np.array([x, 0.0, 0.0])) for x in (-0.04, 0.04)]
    P, Q = np.array([0.0, -0.10, 0.0]), np.array([0.0, 0.10, 0.0])
    polyline = taut(balls, np.array([P, [0.001, 0.0, 0.05], Q]))
    d, r = 0.10, 0.03
    exact = 2 * math.sqrt(d**2 - r**2) + r * (math.pi - 2 * math.acos(r / d))
    assert polyline.touches == (True, True)
    assert abs(polyline.length - exact) < SAME


# --- who is right -----------------------------------------------------------------------------------------------------
# (model, pose of its table, path, reason, who is right); the page explains the reasons
CASES = [
    ("rajagopal_walk", 1, "addlong_l", "not shortest", "ours"),  # one cylinder, a spiral of wrong pitch
    ("thoracoscapular_shoulder", 2, "SerratusAnterior_S", "not shortest", "ours"),  # one ellipsoid, a plane section
    ("mobl_arms", 0, "SUP", "miscounted", "ours"),  # one cylinder, more than a full turn counted
    ("rajagopal_walk", 1, "gaslat_l", "stale", "ours"),  # two cylinders
    ("thoracoscapular_shoulder", 24, "Infraspinatus_I", "stale", "ours"),  # cylinder and ellipsoid
    ("thoracoscapular_shoulder", 27, "DeltoideusScapula_P", "through", "ours"),
    ("mobl_arms", 13, "EDCM", "other way", "ours"),  # a ring taken by the wrong segment
    ("mobl_arms", 1, "EDCM", "other way", "both"),
    ("arm26", 47, "TRIlong", "end", "neither"),
    ("arm26", 3, "BIClong", "inside", "neither"),
    ("mobl_arms", 8, "FCU", "not shortest", "ours"),  # one ellipsoid with a quadrant, a plane section
]


@pytest.fixture(scope="module")
def court(data_folder):
    models: dict[str, tuple] = {}

    def at(name: str, pose: int) -> Court:
        if name not in models:
            facts = json.loads((data_folder / "oracle" / f"{name}.json").read_text())
            model = read_osim(data_folder / facts["model"])
            order = [facts["coordinates"].index(n) for n in model.coordinate_names]
            models[name] = model, np.load(data_folder / "oracle" / f"{name}.npz")["q"][:, order]
        model, q = models[name]
        return Court(model, q[pose])

    return at


@pytest.mark.parametrize(("model", "pose", "path", "reason", "right"), CASES)
def test_polyline_decides(court, model, pose, path, reason, right):
    v = court(model, pose).judge(path)
    assert abs(v.difference) > DIFFERENT
    assert v.settled
    # our length is that of the polyline over the same surfaces, and the penalties that the rules put on it
    assert abs(v.ours - v.ours_taut - v.penalty) < SAME
    assert v.through_ours < TOUCHES
    assert (v.reason, v.right) == (reason, right)
    if right == "ours":
        assert v.penalty == 0.0
        assert not v.inside
        assert abs(v.opensim - v.opensim_taut) > 10 * SAME or v.through_opensim > TOUCHES
    elif right == "both":
        assert abs(v.opensim_taut - v.ours_taut) > DIFFERENT
        assert v.through_opensim < TOUCHES
    elif right == "opensim":
        assert abs(v.opensim - v.opensim_taut) < 10 * SAME
