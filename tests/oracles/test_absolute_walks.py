"""Recorded motions: both formulations agree on the torques and on all reactions of joints."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import absolute
from musculo.spatial.rotation import from_xyz
from support.dynamics_models import one_joint, random_state
from support.recorded_data import DATA, NO_DATA

# The goal; both are O(n) in float64, and differ by 1e-14.
AGREED = 1e-9
WALKS = {
    "arm26": ("arm26/arm26.osim", "arm26/ref/arm26_InverseKinematics.mot", None),
    "gait10dof18musc": (
        "gait10dof18musc/subject01.osim",
        "gait10dof18musc/ref/subject01_walk_IK.mot",
        "gait10dof18musc/subject01_walk_grf.xml",
    ),
    "rajagopal": (
        "rajagopal_walk/subject_walk_scaled.osim",
        "rajagopal_walk/coordinates.sto",
        "rajagopal_walk/grf_walk.xml",
    ),
}


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.filterwarnings("ignore::musculo.errors.MusculoWarning")
def test_recorded_motions(walk):
    if not DATA.is_dir():
        pytest.skip(NO_DATA)
    model_file, motion_file, loads_file = WALKS[walk]
    model = musculo.read_osim(DATA / model_file)
    m = musculo.motion_of(model, musculo.read_storage(DATA / motion_file), 6.0)
    loads = musculo.read_external_loads(DATA / loads_file).at(m.time) if loads_file else ()
    found = absolute.agreement(model, m.q, m.u, m.udot, loads)
    assert found.agree
    assert found.difference < AGREED
    assert found.frames == len(m.time)


def test_loads_in_joint_axes():
    """The moment about a hinge's axis is its torque, from parent to child, however the joint is declared."""
    rng = np.random.default_rng(2)
    for backwards in (False, True):
        model = one_joint("pin", 5, backwards=backwards)
        q, u, udot = random_state(model, rng, 4)
        found = absolute.loads_by_multipliers(model, q, u, udot)
        for axes in ("parent", "child"):
            force, moment = found.in_joint_axes(axes)
            np.testing.assert_allclose(moment[:, 0, 2], found.tau[:, 0], rtol=1e-10)
            np.testing.assert_allclose(np.linalg.norm(force, axis=2), np.linalg.norm(found.force, axis=2), rtol=1e-12)
        force, moment = found.in_joint_axes()
        np.testing.assert_allclose(moment[:, 0, 0], found.tau[:, 0], rtol=1e-10)
    # a joint whose frames are apart
    for backwards in (False, True):
        model = one_joint("slider", 5, backwards=backwards)
        q, u, udot = random_state(model, rng, 4)
        force, moment = absolute.loads_by_multipliers(model, q, u, udot).in_joint_axes("child")
        given = musculo.joint_loads(model, q, u, udot, on="child", model_forces=False)
        child = model.joint("j").child
        R = from_xyz(child.orientation)
        if child.body != "ground":
            R = musculo.kinematics(model, q).batch_pose(child.body)[0] @ R
        for ours, theirs in ((force, given.force), (moment, given.moment)):
            expected = np.einsum("...ji,...j->...i", R, theirs[:, 0])
            np.testing.assert_allclose(ours[:, 0], expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    with pytest.raises(musculo.errors.InvalidInput, match="'jcs', 'parent' or 'child'"):
        found.in_joint_axes("ground")
