"""The shoulder rhythm in both angles: on a chain of pins with the names of the joints, and on MoBL-ARMS."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import embedding_of, kinematics, read_osim
from musculo.errors import InvalidInput, UnknownName
from musculo.functions import Linear, Sine
from musculo.model import CoordinateCoupler, Model
from musculo.replications.closed_loops.mechanisms import hinge, link
from musculo.replications.shoulder.mobl_arms import FILE, RIGID, with_welds
from musculo.replications.shoulder.shoulder_rhythm import (
    DE_GROOT_BRAND,
    ELEVATION,
    PLANE,
    ROTATION,
    Slopes,
    elevation_slopes,
    with_shoulder_rhythm,
)

# Sums of two products, and twelve rotations one after the other.
ROUNDING = 1e-14
NAMES = (*DE_GROOT_BRAND, PLANE, ELEVATION, ROTATION)


def pins() -> Model:
    """A chain of pins that are called as the joints of the shoulder; the first ten follow the elevation."""
    bodies = tuple(link(f"bar_{name}", 1.0, (0.1, 0.0), 0.02) for name in NAMES)
    parents = ("ground", *(body.name for body in bodies))
    joints = tuple(hinge(name, parents[k], (0.2 * (k > 0), 0.0), f"bar_{name}", 0.0) for k, name in enumerate(NAMES))
    couplers = tuple(
        CoordinateCoupler(f"{name}_con", True, (), name, (ELEVATION,), Linear(0.1 * k, 0.0), scale=2.0)
        for k, name in enumerate(DE_GROOT_BRAND)
    )
    return Model("pins", bodies, joints, couplers)


@pytest.fixture(scope="module")
def mobl(data_folder) -> Model:
    if not (data_folder / FILE).is_file():
        pytest.skip(f"no {FILE} in the recorded data")
    return read_osim(data_folder / FILE)


def test_bones_follow_both_angles():
    model = with_shoulder_rhythm(pins())
    e = embedding_of(model)
    assert set(e.coordinate_names) == {PLANE, ELEVATION, ROTATION}
    rng = np.random.default_rng(2001)
    z = rng.uniform(-1.5, 1.5, (20, 3))
    q, J = e.coordinates(z), e.jacobian(e.coordinates(z))
    at = {name: e.coordinate_names.index(name) for name in e.coordinate_names}
    for name, slope in DE_GROOT_BRAND.items():
        k = model.coordinate_index(name)
        assert_allclose(q[:, k], slope.elevation * z[:, at[ELEVATION]] + slope.plane * z[:, at[PLANE]], atol=ROUNDING)
        assert_allclose(J[:, k, at[PLANE]], slope.plane, atol=ROUNDING)
        assert_allclose(J[:, k, at[ROTATION]], 0.0, atol=0.0)


def test_nothing_else_changes():
    before = pins()
    after = with_shoulder_rhythm(before)
    assert (after.bodies, after.joints, after.forces) == (before.bodies, before.joints, before.forces)
    assert [c.name for c in after.constraints] == [c.name for c in before.constraints]
    one = with_shoulder_rhythm(before, {"unrothum_r1": Slopes(0.3, -0.2)})
    assert [c.name for c in one.constraints if c not in before.constraints] == ["unrothum_r1_con"]


def test_a_file_keeps_the_rhythm(rewrite):
    model = with_shoulder_rhythm(pins())
    again, notes = rewrite(model)
    assert not notes
    z = np.random.default_rng(1).uniform(-1.0, 1.0, (5, 3))
    assert_allclose(embedding_of(again).coordinates(z), embedding_of(model).coordinates(z), atol=ROUNDING)


def test_slopes_of_a_models_own_couplers_are_those_at_rest():
    model = pins()
    name = next(iter(DE_GROOT_BRAND))
    bent = replace(model.constraints[0], function=Sine(0.5, 3.0))
    model = model.with_constraint(bent)
    found = elevation_slopes(model)
    assert found[name] == pytest.approx(2.0 * 0.5 * 3.0)
    assert found["unrothum_r1"] == pytest.approx(2.0 * 0.9)
    # what follows two coordinates has no one slope
    assert elevation_slopes(with_shoulder_rhythm(model)) == {}


def test_a_model_without_the_joints_or_their_couplers_is_refused():
    with pytest.raises(UnknownName, match="no coordinate 'scapula'"):
        with_shoulder_rhythm(pins(), {"scapula": Slopes(0.1, 0.1)})
    model = pins()
    kept = [c for c in model.constraints if c.name not in ("sternoclavicular_r2_con", "unrothum_r1_con")]
    loose = model.replace(constraints=tuple(kept))
    with pytest.raises(InvalidInput, match="no coupler for sternoclavicular_r2, unrothum_r1"):
        with_shoulder_rhythm(loose)


# --- MoBL-ARMS -------------------------------------------------------------------------------------------------------
def poses(model: Model, plane: np.ndarray, elevation: np.ndarray) -> np.ndarray:
    e = embedding_of(model)
    z = np.zeros((len(plane), len(e.coordinate_names)))
    z[:, e.coordinate_names.index(PLANE)], z[:, e.coordinate_names.index(ELEVATION)] = plane, elevation
    return e.coordinates(z)


def test_phantom_bodies_do_not_turn_in_the_thorax(mobl):
    """What the rhythm turns is turned back, in both angles: the arm's angles stay those in the thorax."""
    rng = np.random.default_rng(7)
    model = with_shoulder_rhythm(mobl)
    motion = kinematics(model, poses(model, *rng.uniform((-1.5, 0.1), (2.2, 3.1), (30, 2)).T))
    R_WT = motion.batch_pose("thorax")[0]
    for name in ("clavphant", "scapphant"):
        assert np.abs(motion.batch_pose(name)[0] - R_WT).max() < ROUNDING
    assert np.abs(motion.batch_pose("scapula")[0] - R_WT).max() > 0.1


def test_the_file_has_the_elevations_of_the_regression(mobl):
    """Four of five slopes; the third rotation's is reached at 180 degrees in place of 150."""
    known = elevation_slopes(mobl)
    off = {name: known[name] - slope.elevation for name, slope in DE_GROOT_BRAND.items()}
    written = 1e-5  # six digits of angles
    for name in ("sternoclavicular_r2", "acromioclavicular_r2", "acromioclavicular_r3"):
        assert abs(off[name]) < written
        assert (
            abs(off[name.replace("sternoclavicular", "unrotscap").replace("acromioclavicular", "unrothum")]) < written
        )
    third = DE_GROOT_BRAND["sternoclavicular_r3"].elevation
    assert known["sternoclavicular_r3"] * 180.0 == pytest.approx(third * 150.0, rel=written)
    assert known["acromioclavicular_r1"] == pytest.approx(0.178, rel=written)


def test_bones_go_forwards_with_the_arm(mobl):
    """The acromial end of the clavicle goes forwards and down with the plane of a raised arm, backwards and up with
    its elevation (x forwards, y up in the thorax)."""
    model = with_shoulder_rhythm(mobl)
    motion = kinematics(model, poses(model, np.array([0.0, 1.5, 0.0]), np.array([1.5, 1.5, 0.5])))
    (R_WT, p_WT), (_, p_WC) = motion.batch_pose("thorax"), motion.batch_pose("clavphant")
    side, front, low = np.einsum("fij,fi->fj", R_WT, p_WC - p_WT)
    assert front[0] > side[0] + 0.02
    assert front[1] < side[1] - 0.005
    assert side[0] < low[0] - 0.02
    assert side[1] > low[1] + 0.01


def test_welds_keep_the_pose_at_rest(mobl):
    model = with_welds(mobl, RIGID)
    assert len(embedding_of(model).coordinate_names) == 3
    before, after = (kinematics(one, embedding_of(one).default_pose()[None]) for one in (mobl, model))
    for name in mobl.body_names:
        for a, b in zip(before.batch_pose(name), after.batch_pose(name), strict=True):
            assert_allclose(a, b, atol=1e-13)
