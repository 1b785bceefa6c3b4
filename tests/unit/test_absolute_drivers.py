"""Drivers of rotation: what they drive, where they fail, and which Euler parameters to choose."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Placement
from musculo.absolute import (
    AngleDriver,
    DistanceDriver,
    EulerDriver,
    Frame,
    GivenNumbers,
    GivenOrientation,
    Mechanism,
    OrientationDriver,
    PositionDriver,
    Revolute,
    Spherical,
    Status,
    TangentDriver,
    choose_parameters,
    judge_parameters,
    kinematic_analysis,
)
from musculo.absolute.drivers.angle_driver import ALL_AXES
from musculo.absolute.drivers.euler_driver import E0, E1, E2, E3
from musculo.absolute.euler_parameters import relative_euler_parameters
from musculo.errors import InvalidInput, InvalidModel, MusculoWarning
from musculo.spatial.rotation import from_xyz

# Newton's method stops where its last step is smaller than 1e-10.
STEP = 1e-9
ROD = Body("rod", 2.0, (0.1, -0.3, 0.05), (0.06, 0.01, 0.07, 0.002, 0.001, -0.003))
Z = (0.0, 0.0, 1.0)
T = np.linspace(0.0, 1.0, 101)


def turn(degrees: float, axis=Z) -> GivenOrientation:
    """From zero on at a constant rate."""
    rate = np.radians(degrees)
    return GivenOrientation.about(axis, rate * T, np.full(T.size, rate))


def driven(joint, driver, given, begin=None, **options):
    """One rod on ground; frames off its mass center, turned against its axes. `begin`: where it starts."""
    base = Frame(Placement("ground", (0.1, 0.2, 0.3), (0.4, -0.3, 0.2)))
    tip = Frame(Placement("rod", (0.05, 0.1, -0.1), (-0.2, 0.5, 0.1)))
    made = driver("drive", base, tip)
    follow = OrientationDriver("guide", base, tip)
    equations = (joint("joint", base, tip), made)
    start = kinematic_analysis(
        Mechanism((ROD,), (Spherical("joint", base, tip), follow), chain=((follow.guided, tip),)),
        {"guide": GivenOrientation(*(part[:1] for part in begin or given))},
    ).x[0]
    return kinematic_analysis(Mechanism((ROD,), equations), {"drive": given}, start=start, loads=True, **options), (
        base,
        tip,
    )


def missed(found, frames, given) -> np.ndarray:
    """(frames,) angle between where the second frame is and where it should be [rad]."""
    p = relative_euler_parameters(found.relative(*frames), given.parameters)
    return 2.0 * np.arctan2(np.linalg.norm(p[:, 1:], axis=1), np.abs(p[:, 0]))


def e3(name, base, tip):
    return EulerDriver(name, base, tip, (E3,))


def tangent(name, base, tip):
    return TangentDriver(name, base, tip, (Z,))


def relative_angle(name, base, tip):
    return OrientationDriver(name, base, tip, "z")


HINGE = {"e3": e3, "tangent": tangent, "relative angle": relative_angle, "two angles": AngleDriver}
BALL = {
    "e1 e2 e3": EulerDriver,
    "tangent": TangentDriver,
    "orientation": OrientationDriver,
    "six angles": lambda name, base, tip: AngleDriver(name, base, tip, ALL_AXES),
}


@pytest.mark.parametrize("kind", HINGE)
def test_a_hinge_follows(kind):
    """150 degrees of a hinge: places, velocities, accelerations, and a torque that is the same for all drivers."""
    given = GivenOrientation.about(Z, 2.6 * T**2, 5.2 * T, np.full(T.size, 5.2))
    found, frames = driven(Revolute, HINGE[kind], given)
    assert found.found
    assert missed(found, frames, given).max() < STEP
    expected, _ = driven(Revolute, relative_angle, given)
    assert_allclose(found.v, expected.v, atol=100 * STEP)
    assert_allclose(found.a, expected.a, atol=1000 * STEP)
    # the multiplier of the sine of the angle is the torque about the hinge's axis
    torque = [one.load("drive")[1] @ base_axis(frames) for one in (found, expected)]
    whole = [torque[0] + found.load("joint")[1] @ base_axis(frames), torque[1]]
    assert_allclose(whole[0], whole[1], atol=1e-7 * np.abs(whole[1]).max())
    assert_allclose(np.abs(expected.multipliers[:, -1]), np.abs(torque[1]), atol=1e-9)


def base_axis(frames) -> np.ndarray:
    return from_xyz(frames[0].place.orientation)[:, 2]


@pytest.mark.parametrize("kind", BALL)
def test_a_ball_follows(kind):
    rng = np.random.default_rng(3)
    given = turn(150.0, rng.normal(size=3))
    found, frames = driven(Spherical, BALL[kind], given)
    assert found.found
    assert missed(found, frames, given).max() < STEP


@pytest.mark.parametrize("kind", ["tangent", "relative angle", "two angles"])
def test_two_full_turns(kind):
    """Regular drivers pass half a turn and full ones without a blip; speeds and torques stay."""
    given = turn(720.0)
    found, frames = driven(Revolute, HINGE[kind], given)
    assert found.found
    assert missed(found, frames, given).max() < STEP
    spin = np.linalg.norm(found.v[:, 3:6], axis=1)
    assert_allclose(spin, np.radians(720.0), rtol=STEP)


@pytest.mark.parametrize("kind", ["tangent", "orientation", "six angles"])
def test_a_full_turn_of_a_ball(kind):
    given = turn(400.0, (1.0, 2.0, -0.5))
    found, frames = driven(Spherical, BALL[kind], given)
    assert found.found
    assert missed(found, frames, given).max() < STEP


def test_the_papers_choice_fails_at_half_a_turn():
    """Prescribing e3 loses the hinge at 180 degrees: beyond it, e3 falls again, and the hinge turns back."""
    given = turn(300.0)
    found, frames = driven(Revolute, e3, given)
    off = np.degrees(missed(found, frames, given))
    angle = 300.0 * T
    assert off[angle < 170.0].max() < 1e-6
    assert off[angle > 200.0].min() > 30.0 or not found.found
    choice = judge_parameters(given, (E3,), (Z,))
    assert not choice.good
    assert choice.regularity < 0.01
    assert abs(np.degrees(2 * np.arccos(np.abs(given.parameters[choice.frame, 0])))) > 178.0


def test_gradient_of_the_papers_choice():
    """cos(phi/2)/2: 0.0044 at 179 degrees, 0 at 180."""
    given = GivenOrientation.about(Z, np.radians([0.0, 90.0, 179.0, 180.0]))
    found = [judge_parameters(GivenOrientation(*(x[k : k + 1] for x in given)), (E3,), (Z,)) for k in range(4)]
    assert_allclose([one.regularity / 2 for one in found], [0.5, np.cos(np.pi / 4) / 2, 0.004363, 0.0], atol=1e-6)


def test_one_angle_fails_where_directions_align():
    """The gradient of one pair is sin theta; two pairs pass, and their equations repeat each other."""

    def one_pair(name, base, tip):
        return AngleDriver(name, base, tip, (((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),))

    through_zero = GivenOrientation.about(Z, 1.0 - 2.0 * T, np.full(T.size, -2.0))
    found, frames = driven(Revolute, one_pair, through_zero)
    off = missed(found, frames, through_zero)
    assert off[-1] > 0.1 or not found.found
    both, frames = driven(Revolute, AngleDriver, through_zero)
    assert both.found
    assert missed(both, frames, through_zero).max() < STEP
    d = both.diagnosis
    assert (d.equations, d.unknowns, d.rank) == (7, 6, 6)
    assert "drive" in d.redundant
    assert not d.inconsistent


def test_one_angle_away_from_there():
    """One pair has all of the motion where it has any: accelerations, too."""

    def one_pair(name, base, tip):
        return AngleDriver(name, base, tip, (((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),))

    given = GivenOrientation.about(Z, 0.5 + T**2, 2 * T, np.full(T.size, 2.0))
    found, frames = driven(Revolute, one_pair, given)
    expected, _ = driven(Revolute, relative_angle, given)
    assert missed(found, frames, given).max() < STEP
    assert_allclose(found.a, expected.a, atol=1000 * STEP)


def test_joints_weigh_more_than_drivers():
    """What a hinge cannot follow is left to its driver: the joint is off by the squared weights' part of it."""
    given = turn(60.0, (0.1, 0.0, 1.0))
    equal, _ = driven(Revolute, BALL["six angles"], given, weights=(1.0, 1.0))
    assert np.abs(equal.residual[:, :5]).max() > 1e-3
    found, _ = driven(Revolute, BALL["six angles"], given)
    assert found.found
    joint, driver = np.abs(found.residual[:, :5]).max(), np.abs(found.residual[:, 5:]).max()
    assert driver > 1e-3
    assert joint < 1e-5 * driver
    assert "drive" in found.diagnosis.inconsistent


def test_signs_do_not_matter():
    """p and -p are one orientation, told or as a start."""
    given = turn(120.0)
    flipped = GivenOrientation(-given.parameters, given.omega, given.alpha)
    for told in (given, flipped):
        found, frames = driven(Revolute, e3, told, begin=given)
        assert found.found
        assert missed(found, frames, given).max() < STEP


# --- the choice of parameters -----------------------------------------------------------------------------------------
def test_table_1():
    """A hinge about z has e3; a spherical joint e1, e2, e3; nothing is said where the choice is clear."""
    assert choose_parameters(turn(125.0), (Z,)).names == ("e3",)
    assert choose_parameters(turn(100.0, (0.2, 1.0, 0.1)), ((0.2, 1.0, 0.1),)).names == ("e2",)
    both = GivenOrientation.of(np.stack([np.ones(50), np.linspace(0, 0.6, 50), np.zeros(50), 0.4 * np.ones(50)], 1))
    assert choose_parameters(both, ((1.0, 0.0, 0.0), Z)).names == ("e1", "e3")
    assert choose_parameters(turn(90.0, (1.0, 1.0, 1.0))).names == ("e1", "e2", "e3")


def test_ambiguous_choices_are_told():
    with pytest.warns(MusculoWarning, match="neither dominates"):
        choose_parameters(turn(60.0, (0.0, 1.0, 1.0)), ((0.0, 1.0, 1.0),))
    with pytest.warns(MusculoWarning, match=r"180\.0 degrees of relative rotation"):
        choose_parameters(turn(180.0), (Z,))
    with pytest.raises(InvalidInput, match="not 4"):
        choose_parameters(turn(10.0), (Z,) * 4)


def test_figure_5_is_found():
    """A knee whose axis is nearly z, driven by e1: small inconsistencies become large angles."""
    axis = np.array([0.04, 0.03, 1.0]) / np.linalg.norm([0.04, 0.03, 1.0])
    choice = judge_parameters(turn(60.0, axis), (E1,), (tuple(axis),))
    assert not choice.good
    assert choice.regularity < 0.05
    assert judge_parameters(turn(60.0, axis), (E3,), (tuple(axis),)).good


def test_figure_6_is_found():
    """A hip through zero by e0, e1, e2: the sign of e3 is open, and the motion turns back."""
    angle = np.radians(40.0) * (2.0 * T - 1.0) + 0.003
    given = GivenOrientation.about(Z, angle, np.full(T.size, 2 * np.radians(40.0)))
    choice = judge_parameters(given, (E0, E1, E2))
    assert not choice.good
    assert any("e3 changes sign" in why for why in choice.reasons)

    def wrong(name, base, tip):
        return EulerDriver(name, base, tip, (E0, E1, E2))

    found, frames = driven(Spherical, wrong, given, together=1)
    off = missed(found, frames, given)
    assert off[:45].max() < 1e-6
    # beyond zero the hip goes back the way it came: off by twice its angle
    assert_allclose(off[60:], 2.0 * angle[60:], atol=1e-6)
    right, frames = driven(Spherical, EulerDriver, given, together=1)
    assert missed(right, frames, given).max() < STEP


# --- positions --------------------------------------------------------------------------------------------------------
def test_positions_and_distances():
    """A body whose point is driven along two directions and held at a distance from another point."""
    base, tip, far = Frame("ground"), Frame("rod"), Frame(Placement("ground", (0.0, 0.0, -2.0)))
    turned, place = OrientationDriver("turn", base, tip), PositionDriver("place", base, tip, ((1, 0, 0), (0, 1, 0)))
    rod = DistanceDriver("distance", far, tip)
    m = Mechanism((ROD,), (turned, place, rod), gravity=(0.0, 0.0, -10.0))
    still = GivenOrientation.about(Z, 0.0 * T)
    x, y = 0.3 * T, 0.2 * T**2
    numbers = GivenNumbers.of(
        np.stack([x, y], 1), np.stack([0 * T + 0.3, 0.4 * T], 1), np.stack([0 * T, 0 * T + 0.4], 1)
    )
    given = {"turn": still, "place": numbers, "distance": GivenNumbers.of(2.5 + 0 * T)}
    start = m.positions(np.array([[[0.0, 0.0, 0.4]]]), np.array([[[1.0, 0.0, 0.0, 0.0]]]), np.zeros((1, 0)))[0]
    found = kinematic_analysis(m, given, start=start, loads=True)
    assert found.found
    z = np.sqrt(2.5**2 - x**2 - y**2) - 2.0
    assert_allclose(found.place("rod"), np.stack([x, y, z], 1), atol=STEP)
    # the rod from below carries the weight at the beginning, where it stands upright
    assert_allclose(found.load("distance")[0][0, 2], 20.0 - 2.0 * 0.3**2 / 2.5, atol=1e-6)


def test_what_drivers_refuse():
    base, tip = Frame("ground"), Frame("rod")
    m = Mechanism((ROD,), (Revolute("pin", base, tip), OrientationDriver("drive", base, tip, "z")))
    x = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    with pytest.raises(InvalidInput, match="'drive' is told nothing"):
        kinematic_analysis(m, {}, start=x)
    with pytest.raises(InvalidInput, match="is told an orientation"):
        kinematic_analysis(m, {"drive": GivenNumbers.of(T)}, start=x)
    with pytest.raises(InvalidInput, match="does not say how its 1 bodies are assembled"):
        kinematic_analysis(m, {"drive": turn(10.0)})
    with pytest.raises(InvalidInput, match="axes is 'u'"):
        OrientationDriver("drive", base, tip, "u")
    with pytest.raises(InvalidInput, match="start has shape"):
        kinematic_analysis(m, {"drive": turn(10.0)}, start=x[:3])


def test_free_motion_is_named():
    m = Mechanism((ROD,), (Revolute("pin", Frame("ground"), Frame("rod")),))
    found = kinematic_analysis(m, {}, start=np.array([0.1, -0.3, 0.05, 1.0, 0.0, 0.0, 0.0]))
    assert found.status[0] == Status.NOT_DETERMINED
    assert found.diagnosis.free == ("rod",)
    assert "drive it" in str(found.diagnosis)


def test_contradictions_are_named():
    """A rod between two pins that are further apart than it is long."""
    pins = [Frame(Placement("ground", (x, 0.0, 0.0))) for x in (0.0, 2.0)]
    ends = [Frame(Placement("rod", (x, 0.0, 0.0))) for x in (0.0, 1.0)]
    constraints = [
        Spherical(name, *pair) for name, pair in zip(("left", "right"), zip(pins, ends, strict=True), strict=True)
    ]
    m = Mechanism((ROD,), (*constraints, OrientationDriver("roll", pins[0], ends[0], "x")))
    start = m.positions(np.array([[[0.4, 0.0, 0.0]]]), np.array([[[1.0, 0.0, 0.0, 0.0]]]), np.zeros((1, 0)))[0]
    found = kinematic_analysis(m, {"roll": GivenOrientation.about(Z, [0.0])}, start=start)
    assert found.status[0] == Status.INCONSISTENT
    assert not found.found
    assert set(found.diagnosis.inconsistent) == {"left", "right"}
    # half of what is missing at each end
    assert_allclose(np.abs(found.residual).max(), 0.5, atol=1e-6)


def test_frames_after_one_without_a_position():
    """They start from the last that has one: a distance out of reach for a while."""
    base, tip, far = (
        Frame("ground"),
        Frame(Placement("rod", (1.0, 0.0, 0.0))),
        Frame(Placement("ground", (2.0, 0.0, 0.0))),
    )
    m = Mechanism((ROD,), (Revolute("pin", base, Frame("rod")), DistanceDriver("reach", far, tip)))
    reach = 2.0 + 1.3 * np.sin(np.pi * T)
    start = m.positions(np.zeros((1, 1, 3)), np.array([[[np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]]]), np.zeros((1, 0)))[0]
    found = kinematic_analysis(m, {"reach": GivenNumbers.of(reach)}, start=start, together=1)
    within = reach < 2.99
    assert np.all(found.status[within] == Status.FOUND)
    assert np.abs(found.residual[within]).max() < STEP
    assert np.abs(found.residual[reach > 3.01]).max() > 1e-3


def test_mechanisms_that_are_none():
    with pytest.raises(InvalidModel, match="two bodies are called 'rod'"):
        Mechanism((ROD, ROD), ())
    with pytest.raises(InvalidModel, match="needs a body"):
        Mechanism((), ())
    base, tip = Frame("ground"), Frame("rod")
    with pytest.raises(InvalidModel, match="are called 'pin'"):
        Mechanism((ROD,), (Revolute("pin", base, tip), Spherical("pin", base, tip)))
    m = Mechanism((ROD,), (Revolute("pin", base, tip), OrientationDriver("drive", base, tip, "z")))
    with pytest.raises(InvalidInput, match="not finite"):
        kinematic_analysis(m, {"drive": GivenOrientation.about(Z, [np.nan])}, start=np.eye(7)[3])
    with pytest.raises(InvalidInput, match="give 1 to 8"):
        kinematic_analysis(m, {"drive": turn(10.0)}, start=np.eye(7)[3], together=9)
