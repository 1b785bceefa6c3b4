"""The human of 26 bodies and 27 joints: counts of Antunes2025, sizes, and how its parts move."""

from __future__ import annotations

import numpy as np
import pytest

from musculo.absolute.absolute_analysis import kinematic_analysis
from musculo.absolute.diagnosis import jacobian
from musculo.absolute.given_motion import GivenNumbers, GivenOrientation, GivenPose
from musculo.model.anthropometry import segment_length
from musculo.replications.drivers.analyzed_movement import Movement, agreement_with_recursion, analyzed
from musculo.replications.drivers.arm_movements import MOVEMENTS, generated
from musculo.replications.drivers.driven_human import driven_human
from musculo.replications.drivers.human import (
    LOWER_BODY,
    RIB_CAGE_CENTER,
    RIB_CAGE_RADII,
    RIGHT_ARM,
    WHOLE_BODY,
    at_rest,
    human,
)
from musculo.replications.drivers.relative_motion import about_axes, body_fixed_angles, composed
from musculo.spatial.inertia import is_physical, tensor
from musculo.spatial.rotation import to_quaternion

# Angles of a few turns, in float64.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def man():
    return human()


@pytest.fixture(scope="module")
def combing():
    movement = next(m for m in MOVEMENTS if m.name == "combing")
    return Movement(movement.name, generated(movement, 12))


def test_bodies_and_joints(man):
    assert (len(man.bodies), len(man.joints)) == (26, 27)
    both = {name[:-2] for name in man.bodies if name.endswith("_l")}
    bones = {"clavicle", "scapula", "humerus", "ulna", "radius", "hand"} | {
        "femur",
        "patella",
        "tibia",
        "talus",
        "foot",
    }
    assert both == bones | {"toes"}
    assert set(man.bodies) == {"thorax", "pelvis"} | {f"{name}_{side}" for name in both for side in "rl"}


def test_masses_are_those_of_the_mean_man(man):
    assert sum(b.mass for b in man.bodies.values()) == pytest.approx(73.0, abs=1e-9)
    for body in man.bodies.values():
        assert is_physical(body.mass, tensor(body.inertia)), body.name
    left, right = ({n: b for n, b in man.bodies.items() if n.endswith(side)} for side in ("_l", "_r"))
    for name, body in right.items():
        mirror = left[name[:-1] + "l"]
        assert mirror.mass == body.mass
        assert np.multiply(mirror.mass_center, (1, 1, -1)) == pytest.approx(body.mass_center)
    assert -man.joint("knee_r").parent.translation[1] == pytest.approx(segment_length("thigh", "male", 1.741))


def test_scapulae_rest_on_the_rib_cage(man):
    """The points that glide are on the ellipsoid where the girdle rests, on the left as on the right."""
    clavicle, scapula = at_rest("r")
    joint = np.array(man.joint("SC_r").parent.translation) + clavicle @ man.joint("AC_r").parent.translation
    for point in man.glide["r"]:
        away = (joint + scapula @ point - RIB_CAGE_CENTER) / np.array(RIB_CAGE_RADII)
        assert away @ away == pytest.approx(1.0, abs=ROUNDING)
    assert np.multiply(man.glide["l"], (1, 1, -1)) == pytest.approx(np.array(man.glide["r"]))


# Of each joint, then of all: Antunes2025, section 4.1 and table 3, with norms.
COUNTS = {"root": 6, "SC_r": 3, "AC_r": 3, "GH_r": 3, "ST_r": 2, "HU_r": 5, "RU_r": 5, "RC_r": 4}


def test_constraints_of_the_right_arm(man):
    euler, angle = (driven_human(man, RIGHT_ARM, driver) for driver in ("euler", "angle"))
    assert {name: euler.mechanism.count(name) for name in COUNTS} == COUNTS
    assert len(euler.mechanism.bodies) == euler.mechanism.n_norms == 7
    assert euler.joint_constraints() == angle.joint_constraints() == 38
    assert euler.mechanism.n_equations + 7 == 49
    assert angle.mechanism.n_equations + 7 == 64
    assert angle.mechanism.count("drive AC_r") == 6
    assert euler.mechanism.count("drive AC_r") == 1
    assert euler.mechanism.n_unknowns == euler.mechanism.n_equations == 42


def test_constraints_of_the_lower_body(man):
    euler, angle = (driven_human(man, LOWER_BODY, driver) for driver in ("euler", "angle"))
    assert len(euler.mechanism.bodies) == euler.mechanism.n_norms == 13
    assert euler.mechanism.n_equations + 13 == 91
    assert angle.mechanism.n_equations + 13 == 105
    assert euler.mechanism.n_unknowns == euler.mechanism.n_equations == 78


def test_the_whole_body_has_as_many_equations_as_unknowns(man):
    driven = driven_human(man, ("pelvis", *(name for name in man.bodies if name != "pelvis")), "euler")
    m = driven.mechanism
    assert m.n_equations == m.n_unknowns == 6 * 26
    assert len([j for j in driven.joints if m.count(j.name)]) == 27


def test_the_human_stands(man):
    """All joints fit at rest without a step, the root carries the weight, and left and right carry alike."""
    driven = driven_human(man, WHOLE_BODY, "tangent")
    turns = {one.name: np.eye(3) for one in driven.mechanism.drivers}
    for side in "rl":
        clavicle, scapula = at_rest(side)
        turns |= {f"drive SC_{side}": clavicle, f"drive AC_{side}": clavicle.T @ scapula, f"drive GH_{side}": scapula.T}
    told = {name: GivenOrientation.of(to_quaternion(R)) for name, R in turns.items()}
    told["root"] = GivenPose(told["root"], GivenNumbers.of(np.zeros((1, 3))))
    found = kinematic_analysis(driven.mechanism, told, loads=True)
    assert (found.found, int(found.steps[0])) == (True, 0)
    assert found.load("root")[0][0] == pytest.approx([0.0, 73.0 * 9.80665, 0.0], abs=1e-9)
    for joint in ("SC", "AC", "ST", "GH", "hip", "knee", "ankle", "MTP"):
        right, left = (np.concatenate([x[0] for x in found.load(f"{joint}_{side}")]) for side in "rl")
        # a mirror turns moments about x and y
        assert left * (1, 1, -1, -1, -1, 1) == pytest.approx(right, abs=1e-8), joint


def test_angle_based_drivers_repeat_each_other_and_euler_based_ones_do_not(man, combing):
    for driver, rank in (("euler", 42), ("angle", 42)):
        case = analyzed(man, combing, driver)
        assert case.found.found
        _, J = jacobian(case.driven.mechanism, case.found.x[5], case.found.signals[5])
        assert np.linalg.matrix_rank(J) == rank
    assert len(J) == 57


def test_loads_are_those_of_the_recursion(man, combing):
    for driver in ("euler", "angle"):
        apart, _ = agreement_with_recursion(analyzed(man, combing, driver))
        assert apart < 1e-9


@pytest.mark.parametrize("order", ["zxy", "yxz", "yxy", "xyz", "zyx", "zxz"])
def test_angles_of_composed_rotations(order):
    angles = np.array([[0.3, -0.4, 0.7], [2.0, -1.2, -1.5]])
    told = about_axes(order, [GivenNumbers.of(a) for a in angles.T])
    assert body_fixed_angles(order, told.parameters) == pytest.approx(angles, abs=ROUNDING)


def test_composed_motion_has_the_derivatives_of_its_orientation():
    """Central differences, whose error is that of third derivatives."""
    h, t = 1e-4, 0.3 + np.arange(3) * 1e-4

    def angle(a, b):
        return GivenNumbers.of(a * np.sin(b * t), a * b * np.cos(b * t), -a * b * b * np.sin(b * t))

    told = composed(about_axes("yx", [angle(0.9, 1.0), angle(0.5, 2.0)]), about_axes("z", [angle(0.7, 1.5)]))
    first, second = told.rates
    slope = (told.parameters[2] - told.parameters[0]) / (2.0 * h)
    bend = (told.parameters[2] - 2.0 * told.parameters[1] + told.parameters[0]) / h**2
    assert first[1] == pytest.approx(slope, abs=1e-7)
    assert second[1] == pytest.approx(bend, abs=1e-6)
