"""Where OpenSim's wrapping has no length, that is said, and an analysis goes on without it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from musculo import MusculoWarning, embedding_of, muscle_analysis, muscle_geometry, read_osim
from musculo.muscle.fibers.equilibrium import Status

# Independent coordinates [rad] of MoBL-ARMS: the default pose, and one in which DELT3 is NaN long in OpenSim 4.6 too.
POSES = [[0.0, 0.52, 0.0, 0.0, 0.0], [1.9, 2.0, 0.24, 0.79, -0.98]]


@pytest.fixture(scope="module")
def model(data_folder):
    return read_osim(data_folder / "mobl_arms" / "MoBL_ARMS.osim")


@pytest.fixture(scope="module")
def q(model):
    return embedding_of(model).coordinates(np.array(POSES))


def test_a_length_that_opensim_does_not_have_is_told(model, q):
    with pytest.warns(
        MusculoWarning, match=r"NaN at 1 of 2 frames, frame 1 .* for DELT3, as OpenSim.*without it there is a length"
    ) as told:
        g = muscle_geometry(model, q, like="opensim")
    assert told[0].filename == __file__
    assert np.argwhere(np.isnan(g.length)).tolist() == [[1, g.index("DELT3")]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(muscle_geometry(model, q).length).all()


def test_an_analysis_goes_on_without_it(model, q):
    with pytest.warns(MusculoWarning, match="for DELT3"):
        r = muscle_analysis(model, q, np.zeros((2, len(model.speed_names))), 0.3, wrapping="opensim", coordinates=())
    k = model.muscle_names.index("DELT3")
    lost = np.zeros(r.length.shape, dtype=bool)
    lost[1, k] = True
    for name in ("length", "fiber_length", "tendon_force", "fiber_force", "pennation", "muscle_power"):
        assert np.array_equal(np.isnan(getattr(r, name)), lost), name
    assert r.status[1, k] == Status.NOT_CONVERGED
    assert not (r.status[~lost] == Status.NOT_CONVERGED).any()
    arms = muscle_analysis(model, q[:1], np.zeros((1, len(model.speed_names))), 0.3, wrapping="opensim")
    with pytest.warns(MusculoWarning, match="for DELT3"):
        both = muscle_analysis(model, q, np.zeros((2, len(model.speed_names))), 0.3, wrapping="opensim")
    assert np.array_equal(both.moment[0], arms.moment[0])
    assert np.isnan(both.moment[1, k]).any()
    assert np.isfinite(np.delete(both.moment[1], k, axis=0)).all()
