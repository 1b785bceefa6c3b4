"""Quadrants of cylinders: geodesics keep to them wherever OpenSim's paths do, from pose to pose on one side."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Coordinate, Model, Placement, muscle_geometry, read_osim
from musculo.model.force import Muscle
from musculo.model.joints import PinJoint
from musculo.model.model_path import Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder
from musculo.muscle.wrapping.cylinder_sides import constrained_side
from support.recorded_data import DATA, NO_DATA

REACH, RADIUS = 0.3, 0.05
# From the point on ground, this far against the clock from x, to the one on the arm at a turn of zero.
START, APART = math.radians(50.0), math.radians(-10.0)
ROUNDING = 1e-12


def wheel(default=0.0, span=(-3.8, 0.1), quadrant="x", **surface):
    """A cord from ground to a wheel, over its axle: the way on the side of x is as long as the wheel has turned."""
    a, b = START, START + APART
    ends = (
        PathPoint("a", "ground", (REACH * math.cos(a), REACH * math.sin(a), 0.0)),
        PathPoint("b", "wheel", (REACH * math.cos(b), REACH * math.sin(b), 0.0)),
    )
    cord = Muscle("cord", "Thelen2003Muscle", path=Path(ends, (PathWrap("w", "axle"),)))
    pin = PinJoint("pin", Placement("ground"), Placement("wheel"), (Coordinate("turn", default, range=span),))
    axle = WrapCylinder("axle", "ground", **({"radius": RADIUS, "length": 1.0, "quadrant": quadrant} | surface))
    return Model("wheel", (Body("wheel", 1.0),), (pin,), wrap_objects=(axle,), forces=(cord,))


def over(turn):
    """Length of the cord that goes by so much about the axle."""
    lean = math.acos(RADIUS / REACH)
    return 2.0 * math.sqrt(REACH**2 - RADIUS**2) + RADIUS * (abs(turn) - 2.0 * lean)


FAR = math.radians(-185.0)  # the way on the side of x is 195 degrees, the other one 165


@pytest.mark.parametrize("default", [0.0, math.radians(-160.0)], ids=["beside the axle", "over the axle"])
def test_the_quadrant_is_kept_over_the_whole_range(default):
    """Whether or not the default pose has a path over the axle, which would tell the side."""
    model = wheel(default)
    turn = np.linspace(-3.8, 0.1, 40)
    ours, theirs = (muscle_geometry(model, turn[:, None], wrapping=w) for w in ("geodesic", "opensim"))
    assert_allclose(ours.length, theirs.length, rtol=ROUNDING)
    assert_allclose(muscle_geometry(model, [FAR]).length, over(FAR + APART), rtol=ROUNDING)
    assert ours.notes == theirs.notes == ()


def test_the_default_pose_is_kept_where_paths_flip():
    """From one point to another, 200 degrees over the front of the axle; then the same way back; then 170."""

    def seen(*degrees):
        return [(REACH * math.cos(math.radians(a)), REACH * math.sin(math.radians(a)), 0.0) for a in degrees]

    x = np.array([seen(100.0, -100.0), seen(-100.0, 100.0), seen(85.0, -85.0)])

    def held(poses):
        """The middle of what is held [degrees]: the shift is from the straight line, which turns by 160 and -170."""
        shift, lost = constrained_side(x[poses], [(0, 1)], RADIUS, 1.0, 0, 1.0)
        return math.degrees(shift[0, 1]) + {0: 160.0, 2: -170.0}[poses[0]], lost

    # half a turn either way, as far on as the pose that turns least stays 1 rad from the edge
    for poses in ([0, 1, 2], [2, 1]):
        assert held(poses) == (pytest.approx(-170.0 - 180.0 + math.degrees(1.0)), 1)
    assert held([0, 1]) == (pytest.approx(-200.0 - 180.0 + math.degrees(1.0)), 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"quadrant": "all", "span": (-6.2, 6.2)},
        {"quadrant": "-z", "span": (-6.2, 6.2)},
        {"quadrant": "-x", "span": (-2.9, 0.1)},
        {"active": False, "span": (-6.2, 6.2)},
        {"length": 0.1, "translation": (0.0, 0.0, 1.0), "span": (-6.2, 6.2)},  # far away
    ],
)
def test_what_keeps_to_its_quadrant_or_has_none_is_not_told(changes):
    assert muscle_geometry(wheel(**changes), [0.0]).model_notes == ()


@pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rajagopal_walk/subject_walk_scaled.osim", set()),
        ("mobl_arms/MoBL_ARMS.osim", {"CORB"}),
        ("arm26/arm26.osim", set()),
    ],
)
def test_real_models_keep_to_their_quadrants(name, told):
    """But CORB, whose path in OpenSim flips to the other side of the humerus."""
    model = read_osim(DATA / name)
    notes = muscle_geometry(model, [c.default_value for c in model.coordinates]).model_notes
    assert {note.split("'")[1] for note in notes} == told


def knee(radius, thigh, shank, length, span, away=0.0):
    """A cord in front of a cylinder about a hinge, from so far above it to so far below, at z = away."""
    front = radius + 0.005
    ends = PathPoint("a", "ground", (front, thigh, away)), PathPoint("b", "shank", (front, -shank, away))
    cord = Muscle("cord", "Thelen2003Muscle", path=Path(ends, (PathWrap("w", "condyle"),)))
    pin = PinJoint("knee", Placement("ground"), Placement("shank"), (Coordinate("flexion", range=span),))
    condyle = WrapCylinder("condyle", "ground", radius=radius, length=length, quadrant="x")
    return Model("knee", (Body("shank", 1.0),), (pin,), wrap_objects=(condyle,), forces=(cord,))


def assert_stays(model):
    """As OpenSim's path does, up to 140 degrees of flexion."""
    flexion = np.radians(np.linspace(-140.0, 0.0, 57))[:, None]
    ours, theirs = (muscle_geometry(model, flexion, wrapping=w) for w in ("geodesic", "opensim"))
    assert_allclose(ours.length, theirs.length, rtol=ROUNDING)
    assert_allclose(ours.moment_arm, theirs.moment_arm, atol=ROUNDING)
    assert not ours.penalty.any()


@pytest.mark.parametrize("away", [0.0, 0.01, 0.018])
@pytest.mark.parametrize("length", [0.05, 0.15])
def test_a_knee_extensor_stays_one(length, away):
    """Over the inner three quarters of a cylinder, where the way behind the knee is some 0.1 m shorter; it was once
    given up from 87 degrees on."""
    assert_stays(knee(0.03, 0.2, 0.06, length, (-2.6, 0.2), away))


@pytest.mark.parametrize("span", [(-2.55, 0.0), (-1.6, 0.0), (-10.0, 10.0), (-math.pi, math.pi)], ids=str)
@pytest.mark.parametrize(("radius", "limb"), [(0.03, 0.2), (0.02, 0.3), (0.01, 0.4)])
def test_thin_pulleys_of_long_limbs_are_kept(radius, limb, span):
    """Whatever range is stated: the straight way is up to 0.5 m shorter, and was once taken from 55 degrees on."""
    assert_stays(knee(radius, limb, limb, 0.2, span))


def chain(radii, bones, distal, bend):
    """A cord along the back of joints that bend by up to `bend`, over cylinders about their axes, quadrant +x; on the
    body beyond each joint (`distal`) or before it."""
    bodies, joints, surfaces = [], [], []
    for i, (radius, bone) in enumerate(zip(radii, bones, strict=True)):
        before = f"bone_{i - 1}" if i else "ground"
        place = Placement(before, (0.0, -bone, 0.0))
        bodies.append(Body(f"bone_{i}", 1.0))
        joints.append(
            PinJoint(f"joint_{i}", place, Placement(f"bone_{i}"), (Coordinate(f"q_{i}", range=(-bend, 0.1)),))
        )
        on = Placement(f"bone_{i}") if distal[i] else place
        surfaces.append(WrapCylinder(f"axle_{i}", on.body, on.translation, quadrant="+x", radius=radius, length=0.1))
    far = radii[-1] + 0.002
    ends = PathPoint("a", "ground", (radii[0] + 0.004, 0.0, 0.0)), PathPoint("b", bodies[-1].name, (far, -0.03, 0.0))
    cord = Muscle("cord", "Thelen2003Muscle", path=Path(ends, tuple(PathWrap(s.name, s.name) for s in surfaces)))
    return Model("chain", tuple(bodies), tuple(joints), wrap_objects=tuple(surfaces), forces=(cord,))


@pytest.mark.parametrize("bend", [1.6, 2.1, 2.5])
@pytest.mark.parametrize("radius", [0.004, 0.02])
def test_a_cylinder_that_turns_with_the_far_bone_is_kept(radius, bend):
    """Its quadrant turns away from the path: OpenSim flips to the other way round, and then lets go."""
    model = chain([radius], [0.3], [True], bend)
    q = np.linspace(-bend, -0.5, 40)
    assert_allclose(muscle_geometry(model, q[:, None]).moment_arm[:, 0, 0], radius, atol=1e-9)


@pytest.mark.parametrize("distal", [(1, 1, 1), (0, 1, 0), (0, 0, 0)], ids=str)
def test_a_finger_makes_a_fist(distal):
    """Once the cord lies on a cylinder its moment arm is the radius, in all combinations of joints; to what polylines
    are good for where it meets cylinders that overlap in a closed fist."""
    radii = (0.006, 0.005, 0.004)
    model = chain(radii, (0.06, 0.045, 0.025), distal, math.pi / 2)
    q = np.random.default_rng(3).uniform(-math.pi / 2, -0.4, (200, 3))
    g = muscle_geometry(model, q)
    assert_allclose(g.moment_arm[:, 0], np.broadcast_to(radii, (200, 3)), atol=2e-6)
    assert g.notes == ()
