"""Recorded walks and an arm: our poses fit no worse than OpenSim's, and are those it finds when it converges."""

from __future__ import annotations

import numpy as np
import pytest

from musculo import embedding_of, inverse_kinematics, read_storage
from support.ik_setups import DATASETS, OpenSimSolver, read_setup

# OpenSim prints eight decimals of degrees and metres: what that does to an objective at its minimum is far below this.
PRINTED = 1e-15  # [m^2]
# OpenSim at its default accuracy is this far from its own minimum [deg]; see below for the one set where it is further.
DEFAULT_DEG = 0.15
# And when asked for eleven digits, so much is left [deg].
TIGHT_DEG = 0.01
TIGHT_ACCURACY = 1e-11
TIGHT_FRAMES = 4


@pytest.mark.parametrize("folder", DATASETS)
def test_no_frame_fits_worse_than_opensims(data_folder, folder):
    motion = read_storage(data_folder / "oracle" / DATASETS[folder] / "ik.mot")
    setup = read_setup(data_folder / folder, motion.time)
    assert len(setup.markers) == len(motion) > 100
    theirs = motion.coordinates(setup.model)
    ours = inverse_kinematics(setup.model, setup.markers, weights=setup.all_weights, tasks=setup.tasks)
    assert ours.converged
    objective = setup.objective(ours.q)
    np.testing.assert_allclose(ours.objective, objective, rtol=1e-12)
    assert (objective <= setup.objective(theirs) + PRINTED).all()
    # couplers hold to the last bit, so nothing of the fit is lost to them
    assert (ours.q == embedding_of(setup.model).coordinates(ours.z)).all()
    # Rajagopal's couplers make OpenSim use IPOPT, which at its default accuracy stops up to 23 degrees (pronation)
    # short of the minimum that it does find when asked for more: the test below.
    if folder != "rajagopal_walk":
        assert np.degrees(np.abs(ours.q - theirs).max()) < DEFAULT_DEG


@pytest.mark.parametrize("folder", DATASETS)
def test_poses_are_opensims_when_it_converges(data_folder, folder):
    pytest.importorskip("opensim")
    setup = read_setup(data_folder / folder)
    times = setup.markers.time[:TIGHT_FRAMES]
    theirs = OpenSimSolver(setup, TIGHT_ACCURACY).track(times)
    markers = setup.markers.between(times[0], times[-1])
    ours = inverse_kinematics(setup.model, markers, weights=setup.all_weights, tasks=setup.tasks)
    assert np.degrees(np.abs(ours.q - theirs).max()) < TIGHT_DEG
