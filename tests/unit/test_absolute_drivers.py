"""Drivers of rotation: what they drive, where they fail, and which Euler parameters to choose."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Placement
from musculo.absolute import (
    AngleDriver,
    EulerDriver,
    Frame,
    FunctionJoint,
    GivenOrientation,
    Mechanism,
    OrientationDriver,
    PositionDriver,
    Revolute,
    Spherical,
    TangentDriver,
    choose_parameters,
    judge_parameters,
    kinematic_analysis,
)
from musculo.absolute.drivers.angle_driver import ALL_AXES
from musculo.absolute.drivers.euler_driver import E0, E1, E2, E3
from musculo.absolute.euler_parameters import (
    matrix_G,
    matrix_L,
    matrix_minus,
    relative_euler_parameters,
    rotation_matrix,
)
from musculo.errors import InvalidInput, MusculoWarning
from musculo.model.joints.joint import FunctionMotion, along
from musculo.spatial.rotation import from_xyz
from support.absolute_rows import ComplexRows
from support.absolute_rows import told as any_motion

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


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_signs_do_not_matter_where_frames_start_by_themselves(sign):
    """Assembled by a coordinate, or from a position for each frame, whose signs jump."""
    given = turn(150.0)
    told = GivenOrientation(sign * given.parameters, given.omega, given.alpha)
    base, tip = Frame("ground"), Frame("rod")
    hinge = Frame("ground", FunctionMotion((along(Z, "angle"),)))
    joint, drive = FunctionJoint("hinge", hinge, tip), e3("drive", base, tip)
    mechanism = Mechanism((ROD,), (joint, drive), chain=((hinge, tip),))
    angle = np.radians(150.0) * T
    found = kinematic_analysis(mechanism, {"drive": told}, coordinates=angle[:, None])
    assert found.found
    assert_allclose(found.coordinate("angle"), angle, atol=STEP)
    start = found.x[:, :7].copy()
    start[::2, 3:] *= -1.0
    again = kinematic_analysis(Mechanism((ROD,), (Revolute("hinge", base, tip), drive)), {"drive": told}, start=start)
    assert again.found
    assert_allclose(again.rotation("rod"), found.rotation("rod"), atol=STEP)


def test_rows_are_those_of_the_paper():
    """In the form of angular velocities: eq. 11, 12, 14 with the signs that they need; eq. 22, 23, 25."""
    rng = np.random.default_rng(4)
    bodies = tuple(Body(name, 1.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0)) for name in "ij")
    v = np.array([0.3, -0.4, 0.8, 0.2])
    pair = ((0.6, 0.0, 0.8), (0.0, -0.8, 0.6))
    # the orientation of i relative to j: j is the first frame
    made = (AngleDriver("angle", "j", "i", (pair[::-1],)), EulerDriver("euler", "j", "i", (v,)))
    given = {d.name: any_motion(d, rng) for d in made}
    rows = ComplexRows(Mechanism(bodies, made), given)
    x, speed = rows.state(rng)
    _, J, nu, gamma = (part.real for part in rows.rows(x, speed, rows.signals, moving=True))
    p = {"i": x[3:7], "j": x[10:14]}
    w = {"i": speed[3:6], "j": speed[9:12]}
    G, L = ({k: f(q) for k, q in p.items()} for f in (matrix_G, matrix_L))
    rate = {k: 0.5 * L[k].T @ w[k] for k in "ij"}
    # angles
    local = dict(zip("ij", map(np.array, pair), strict=True))
    minus = {k: matrix_minus(local[k]) for k in "ij"}
    s = {k: rotation_matrix(p[k]) @ local[k] for k in "ij"}
    sdot = {k: G[k] @ minus[k] @ L[k].T @ w[k] for k in "ij"}
    for k, other, column in (("i", "j", 3), ("j", "i", 9)):
        assert_allclose(J[0, column : column + 3], s[other] @ G[k] @ minus[k] @ L[k].T, atol=1e-14)
    ((_, first, second),) = next(iter(made[0].signals(given["angle"]).values()))
    left = sum(s[o] @ (matrix_G(rate[k]) @ minus[k] @ L[k].T @ w[k]) for k, o in (("i", "j"), ("j", "i")))
    spin = sum(0.5 * (w[k] @ w[k]) * s[o] @ G[k] @ minus[k] @ p[k] for k, o in (("i", "j"), ("j", "i")))
    assert_allclose(nu[0], first, atol=1e-14)
    assert_allclose(gamma[0], second - 2.0 * sdot["i"] @ sdot["j"] - left + spin, atol=1e-13)
    # Euler parameters
    at_j, at_i = np.vstack([p["j"], L["j"]]), np.vstack([p["i"], -L["i"]])
    assert_allclose(J[1, 3:6], 0.5 * v @ at_j @ L["i"].T, atol=1e-14)
    assert_allclose(J[1, 9:12], 0.5 * v @ at_i @ L["j"].T, atol=1e-14)
    told_rate, told_second = given["euler"].rates
    assert_allclose(nu[1], v @ told_rate[0], atol=1e-14)
    both = [2.0 * rate["i"] @ rate["j"], *(matrix_L(rate["j"]) @ rate["i"] - matrix_L(rate["i"]) @ rate["j"])]
    bent = 0.25 * v @ (at_j @ p["i"] * (w["i"] @ w["i"]) + at_i @ p["j"] * (w["j"] @ w["j"]))
    assert_allclose(gamma[1], v @ told_second[0] - v @ np.array(both) + bent, atol=1e-13)


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


@pytest.mark.parametrize("kind", HINGE)
def test_every_driver_of_rotation_assembles(kind):
    """Bodies are placed along the chain by what any of them is told, beyond half a turn, too."""
    base, tip = Frame("ground"), Frame(Placement("rod", (0.05, 0.1, -0.1), (-0.2, 0.5, 0.1)))
    driver, given = HINGE[kind]("drive", base, tip), turn(170.0)
    mechanism = Mechanism((ROD,), (Revolute("hinge", base, tip), driver), chain=((driver.guided, tip),))
    found = kinematic_analysis(mechanism, {"drive": given})
    assert found.found
    assert found.steps.max() == 0
    assert missed(found, (base, tip), given).max() < STEP


def test_letters_name_axes():
    given = turn(100.0)
    vectors, _ = driven(Revolute, tangent, given)
    letters, _ = driven(Revolute, lambda name, base, tip: TangentDriver(name, base, tip, "z"), given)
    assert np.array_equal(vectors.x, letters.x)
    place = PositionDriver("place", "ground", "rod", "xy")
    assert len(place.numbers) == 2
    for wrong in ("w", "", (0, 0, 1), ()):
        with pytest.raises(InvalidInput, match="give letters such as 'xz', or vectors"):
            PositionDriver("place", "ground", "rod", wrong).rows()
