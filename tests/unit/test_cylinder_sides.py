"""Quadrants of cylinders to which geodesics do not keep are told, from poses that are those of the kernels."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import (
    Body,
    Coordinate,
    Model,
    MusculoWarning,
    Placement,
    kinematics,
    muscle_geometry,
    read_osim,
    write_osim,
)
from musculo.demo import MODEL_FILE, arm
from musculo.model.cylinder_sides import unheld_quadrants
from musculo.model.force import Muscle
from musculo.model.joints import PinJoint
from musculo.model.path import Path, PathPoint, PathWrap
from musculo.model.plain_poses import plain_poses, sampled_coordinates
from musculo.model.wrap import WrapCylinder
from support.recorded_data import DATA, NO_DATA

REACH, RADIUS = 0.3, 0.05
# From the point on ground, this far against the clock from x, to the one on the arm at a turn of zero.
START, APART = math.radians(50.0), math.radians(-10.0)
ROUNDING = 1e-12
RECORDED = ("rajagopal_walk/subject_walk_scaled.osim", "mobl_arms/MoBL_ARMS.osim", "arm26/arm26.osim")


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


def test_a_quadrant_that_the_default_pose_does_not_tell_is_among_the_notes(tmp_path):
    write_osim(wheel(), tmp_path / "wheel.osim")
    model = read_osim(tmp_path / "wheel.osim")
    (note,) = (note for note in model.notes if "quadrant" in note.what)
    assert note.what == "quadrant of 'axle' on the path of 'cord'"
    assert note.where == "/forceset/cord"
    assert "of 65 sampled poses the path does not keep to the side x" in note.why
    # which is so: OpenSim's path is the one on the side of x, ours the shorter one
    assert_allclose(muscle_geometry(model, [FAR], wrapping="opensim").length, over(FAR + APART), rtol=ROUNDING)
    assert_allclose(muscle_geometry(model, [FAR]).length, over(2.0 * math.pi + FAR + APART), rtol=ROUNDING)


def test_a_default_pose_over_the_cylinder_tells_the_side(tmp_path):
    write_osim(wheel(math.radians(-160.0)), tmp_path / "wheel.osim")
    model = read_osim(tmp_path / "wheel.osim")
    assert not [note for note in model.notes if "quadrant" in note.what]
    assert_allclose(muscle_geometry(model, [FAR]).length, over(FAR + APART), rtol=ROUNDING)


def test_a_model_made_in_python_warns_once():
    model = wheel()
    with pytest.warns(MusculoWarning, match=r"'cord' does not keep to the quadrant of 'axle' in \d+ of 65 ") as told:
        muscle_geometry(model, [0.0])
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        muscle_geometry(model, [0.1])


@pytest.mark.parametrize(
    "changes",
    [
        {"quadrant": "all"},
        {"quadrant": "-z"},
        {"span": (-2.0, 1.0)},  # never further than half a turn
        {"quadrant": "-x", "span": (-2.9, 0.1)},  # where the shorter way is the quadrant's
        {"active": False},
        {"length": 0.1, "translation": (0.0, 0.0, 1.0)},  # far away
        {"radius": 0.4},  # with fixed points inside
    ],
)
def test_what_keeps_to_its_quadrant_or_has_none_is_not_told(changes):
    assert not list(unheld_quadrants(wheel(**changes)))


def test_the_count_is_that_of_lengths():
    """In as many of the sampled poses the geodesic is not OpenSim's path."""
    model = wheel()
    ((_, _, lost, poses),) = unheld_quadrants(model)
    turn = sampled_coordinates(model, poses - 1)["turn"]
    with pytest.warns(MusculoWarning, match="quadrant"):
        ours = muscle_geometry(model, turn[:, None])
    theirs = muscle_geometry(model, turn[:, None], wrapping="opensim")
    other = np.abs(ours.length - theirs.length) > 1e-9
    # at the edge of what is held the path may leave it, at a price
    assert lost == (other & (ours.price == 0.0)).sum() > 3


def models():
    yield arm()
    yield read_osim(MODEL_FILE)
    yield from (read_osim(DATA / name) for name in RECORDED if DATA.is_dir())


def test_plain_poses_are_those_of_the_kernels():
    for model in models():
        q = sampled_coordinates(model, 20)
        bodies = plain_poses(model, q)
        k = kinematics(model, np.stack([q[name] for name in model.coordinate_names], axis=-1))
        for name in model.body_names:
            R, p = bodies[name]
            R_W, p_W = k.batch_pose(name)
            assert_allclose(R, R_W, atol=ROUNDING)
            assert_allclose(p, p_W, atol=ROUNDING)


@pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)
def test_real_models_are_not_flooded():
    """Those named here were seen to leave their quadrant in sampled poses, by the kernels' own turns."""
    told = [
        {(f.name, w.wrap_object): n for f, w, n, _ in unheld_quadrants(read_osim(DATA / name))} for name in RECORDED
    ]
    assert told[0] == {}
    assert told[1] == {
        ("PECM1", "PEC12hum"): 2,
        ("PECM2", "PEC12hum"): 5,
        ("PECM3", "PEC3hum"): 9,
        ("LAT3", "LAT_TMAJhh"): 5,
        ("CORB", "CORBhum"): 8,
    }
    assert told[2] == {("TRIlong", "TRIlongglen"): 31}
