"""What the rules about a lone cylinder cost to break: by hand, evenly over the reach, and no more than that."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Coordinate, Model, Placement, muscle_geometry
from musculo.kernels.wrapping.rules.cylinder_penalty import (
    END_RATE,
    NEVER,
    TURN_RATE,
    TURN_REACH,
    penalty_of_end,
    penalty_of_turn,
)
from musculo.model.force import Muscle
from musculo.model.joints import SliderJoint
from musculo.model.model_path import Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder

R, HALF, FAR = 0.03, 0.04, 0.3
# Where a lone cylinder ceases to count, and over how much it may be left out before that.
END, REACH = 1.125 * HALF, 0.25 * HALF
ROUNDING = 1e-12


def model(aside: float) -> Model:
    """A path along y that slides along a cylinder, to be passed on the side of -x, `aside` from its axis."""
    joint = SliderJoint(
        "slide",
        Placement("ground", orientation=(0.0, -math.pi / 2, 0.0)),
        Placement("rod", orientation=(0.0, -math.pi / 2, 0.0)),
        (Coordinate("z", range=(0.0, 0.2)),),
    )
    points = PathPoint("a", "rod", (aside, FAR, 0.0)), PathPoint("b", "rod", (aside, -FAR, 0.0))
    surface = WrapCylinder("s", "ground", quadrant="-x", radius=R, length=2.0 * HALF)
    muscle = Muscle("m", "Thelen2003Muscle", path=Path(points, (PathWrap("w", "s"),)), tendon_slack_length=0.3)
    return Model("rod", (Body("rod", 1.0),), (joint,), wrap_objects=(surface,), forces=(muscle,))


def over(aside: float) -> float:
    """Length over the cylinder on the side of -x, by hand."""
    d = math.hypot(aside, FAR)
    turn = math.pi + 2.0 * math.atan2(aside, FAR)
    return 2.0 * math.sqrt(d * d - R * R) + R * (turn - 2.0 * math.acos(R / d))


@pytest.mark.parametrize("aside", [-0.01, 0.0, 0.05])
def test_a_cylinder_is_left_evenly_about_its_end(aside):
    """Over an eighth of half its length on either side of the end the length falls to the straight one, at END_RATE if
    that saves less."""
    z = np.linspace(0.0, 0.06, 401)
    g = muscle_geometry(model(aside), z[:, None])
    saved = over(aside) - 2.0 * FAR
    x = END - z
    due = np.clip(max(END_RATE, saved / REACH) * x, 0.0, saved)
    expected = 2.0 * FAR + np.where(x < REACH, due, saved)
    assert_allclose(g.length[:, 0], expected, atol=ROUNDING)
    assert np.abs(g.moment_arm).max() <= max(END_RATE, saved / REACH) + ROUNDING
    assert (g.penalty[:, 0] > 0.0).any()


def test_one_case_is_dear_and_one_is_not():
    assert over(0.05) - 2.0 * FAR > END_RATE * REACH > over(-0.01) - 2.0 * FAR > 0.0


def test_the_way_that_is_held_is_left_evenly_over_a_radian():
    """Between ends far off a thin cylinder, so that the other way saves more than TURN_RATE a metre of girth."""
    r, d, reference = 0.002, 0.2, math.pi / 2
    edge = reference + math.pi

    def penalties(turn):
        P, Q = (d, 0.0, 0.0), (d * math.cos(turn), d * math.sin(turn), 0.0)
        return penalty_of_turn(r, reference, P, Q, True)

    def around(turn):
        return 2.0 * math.sqrt(d * d - r * r) + r * (turn - 2.0 * math.acos(r / d))

    for left in (0.05, 0.4, 0.8, 0.999):
        turn, penalty, _, _ = penalties(edge - left)
        other = 2.0 * d * math.sin(0.5 * (2.0 * math.pi - turn))
        assert turn == pytest.approx(edge - left, abs=1e-12)
        saved = around(turn) - other
        assert saved > TURN_RATE * r * TURN_REACH
        assert penalty == pytest.approx(saved * left / TURN_REACH, abs=1e-12)
    assert penalties(edge - 1.001)[1] == NEVER


def test_beside_others_no_rule_is_broken_at_its_reach():
    """They may make a path longer than this cylinder alone does."""
    P, Q = (0.05, FAR, 0.0), (0.05, -FAR, 0.0)

    def penalty(z):
        up = (P[0], P[1], z), (Q[0], Q[1], z)
        return penalty_of_end(HALF, R, True, math.pi, *up, False)[0]

    assert penalty(HALF) == 0.0
    assert 1e3 < penalty(HALF - REACH * (1.0 - 1e-6)) < NEVER
    assert penalty(HALF - REACH * (1.0 + 1e-6)) == NEVER
