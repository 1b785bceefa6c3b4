"""The arm that ships: the figures of Ruggiero2020's tables, its motion, and that OpenSim sees the same arm."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo.analyses.muscle_analysis import muscle_analysis
from musculo.demo import ARM_FILE, arm, arm_flexion
from musculo.spatial.rotation import from_xyz
from support.muscle_analysis_tool import muscle_analysis_files

# Half of the last digit that the tables print, and a little more: some of their figures are cut, not rounded.
_MASS, _METRE, _AXIS, _ANGLE = 0.006, 6e-5, 1e-4, 1e-3

# Tables 1 and 2: mass [kg], inertia xx, yy, zz [g m^2], height of the mass centre [m].
BODIES = {"humerus": (1.86, (14.81, 4.55, 13.19), -0.180), "forearm": (1.53, (19.28, 1.57, 20.06), -0.181)}
# Tables 3 and 4: where, and about what.
JOINTS = {
    "shoulder": ((-0.0175, -0.0070, 0.1700), (-0.0589, 0.0023, 0.9983)),
    "elbow": ((0.0061, -0.2904, -0.0123), (0.0494, 0.0366, 0.9981)),
}
# Table 5: largest force [N], optimal fibre length [m], slack length of the tendon [m], pennation [rad].
MUSCLES = {
    "triceps_long": (798.52, 0.1340, 0.1430, 0.209),
    "triceps_lateral": (624.30, 0.1138, 0.0980, 0.157),
    "triceps_medial": (624.30, 0.1138, 0.0908, 0.157),
    "biceps_long": (624.30, 0.1157, 0.2723, 0.0),
    "biceps_short": (435.56, 0.1321, 0.1923, 0.0),
    "brachialis": (987.26, 0.0858, 0.0535, 0.0),
}
# Table 6: where [m], how turned [rad], how large [mm], and whom it meets (text of section 3).
SURFACES = {
    "scapula_cylinder": ((-0.0439, -0.0039, 0.1478), (1.3753, -0.2946, 2.4360), (3, 30), {"triceps_long"}),
    "shoulder_ellipsoid_back": (
        (-0.0078, -0.0041, -0.0014),
        (3.0016, -0.8535, 2.5742),
        (35, 20, 20),
        {"triceps_long"},
    ),
    "shoulder_ellipsoid_front": (
        (0.0033, 0.0073, 0.0003),
        (-2.0043, -1.0016, 0.9755),
        (25, 20, 20),
        {"biceps_long"},
    ),
    "elbow_cylinder": (
        (0.0028, -0.2919, -0.0069),
        (-0.1402, -0.0063, 0.1550),
        (16, 50),
        {"triceps_long", "triceps_lateral", "triceps_medial", "brachialis"},
    ),
}


def test_bodies_are_those_of_tables_1_and_2():
    model = arm()
    assert model.body_names == tuple(BODIES)
    for body in model.bodies:
        mass, inertia, height = BODIES[body.name]
        assert abs(body.mass - mass) < _MASS
        assert_allclose(1e3 * np.array(body.inertia[:3]), inertia, atol=_MASS)
        assert body.inertia[3:] == (0.0, 0.0, 0.0)
        assert_allclose(body.mass_center, (0.0, height, 0.0), atol=6e-4)  # three digits are printed


def test_joints_are_those_of_tables_3_and_4():
    model = arm()
    for joint in model.joints:
        place, axis = JOINTS[joint.name]
        assert_allclose(joint.parent.translation, place, atol=_METRE)
        assert_allclose(from_xyz(joint.parent.orientation)[:, 2], axis, atol=_AXIS)
        assert joint.parent.orientation == joint.child.orientation  # the zero pose turns nothing


def test_muscles_are_those_of_table_5():
    model = arm()
    assert model.muscle_names == tuple(MUSCLES)
    for muscle in model.muscles:
        force, fiber, tendon, pennation = MUSCLES[muscle.name]
        assert (muscle.max_isometric_force, muscle.optimal_fiber_length) == (force, fiber)
        assert muscle.tendon_slack_length == tendon
        assert abs(muscle.pennation_angle_at_optimal - pennation) < _ANGLE
        assert muscle.max_contraction_velocity == 10.0


def test_wrap_surfaces_are_those_of_table_6():
    model = arm()
    for surface in model.wrap_objects:
        place, turned, size, met = SURFACES[surface.name]
        assert_allclose(surface.translation, place, atol=_METRE)
        assert_allclose(surface.orientation, turned, atol=_AXIS)
        ours = surface.semi_axes if hasattr(surface, "semi_axes") else (surface.radius, surface.length)
        assert_allclose(1e3 * np.array(ours), size, rtol=1e-12)
        assert {m.name for m in model.muscles for w in m.path.wraps if w.wrap_object == surface.name} == met
    assert {s.name for s in model.wrap_objects if s.frame == "ground"} == {"scapula_cylinder"}


def test_the_elbow_flexes_by_ninety_degrees_in_a_second():
    flexion = arm_flexion()
    assert (flexion.time[0], flexion.time[-1], flexion.degrees) == (0.0, 1.0, True)
    elbow, shoulder = flexion.column("elbow_flexion"), flexion.column("shoulder_flexion")
    assert_allclose(elbow, 45.0 * (1.0 - np.cos(np.pi * flexion.time)), atol=1e-11)
    assert not shoulder.any()


def test_opensim_sees_the_same_arm(tmp_path):
    """It opens there, and every path has the same length and moment arms."""
    pytest.importorskip("opensim", reason="OpenSim is not installed; pip install 'musculo[oracles]'")
    model = arm()
    q = np.random.default_rng(0).uniform((-0.5, 0.0), (1.5, 2.2), (20, 2))
    names = {"coordinates": np.array(model.coordinate_names), "muscles": np.array(model.muscle_names)}
    a = np.full((20, 6), 0.2)
    folder = muscle_analysis_files(ARM_FILE, tmp_path, True, q=q, u=0.0 * q, activation=a, **names)
    ours = muscle_analysis(model, q, 0.0 * q, a, like="opensim").tables(np.arange(20) / 100.0)
    for title in ("Length", "MomentArm_shoulder_flexion", "MomentArm_elbow_flexion"):
        theirs = musculo.read_storage(folder / f"run_MuscleAnalysis_{title}.sto")
        assert_allclose(ours[title].values, theirs.values, rtol=0, atol=1e-13)  # [m]
