"""Static optimization with multipliers as unknowns gives what the recursive road gives (Ruggiero2020 on arm26)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo.absolute import static_optimization_by_multipliers
from musculo.errors import Unsupported
from support.dynamics_models import one_joint
from support.recorded_data import DATA, NO_DATA

# Both roads end in the same quadratic program, whose answers are within 1e-9 of the largest activation.
ACTIVATIONS = 1e-8
# Forces of 2 000 N times an arm are eliminated from loads of bodies.
LOADS = 1e-9


@pytest.fixture(scope="module")
def arm():
    if not DATA.is_dir():
        pytest.skip(NO_DATA)
    model = musculo.read_osim(DATA / "arm26" / "arm26.osim")
    table = musculo.read_storage(DATA / "arm26" / "ref" / "arm26_InverseKinematics.mot")
    return model, musculo.motion_of(model, table, 6.0)


@pytest.mark.parametrize("joints", ["functions", "textbook"])
@pytest.mark.parametrize("reserves", [None, 1.0])
@pytest.mark.parametrize("passive", [False, True])
def test_arm26(arm, joints, reserves, passive):
    model, m = arm
    options = {"reserves": reserves, "passive": passive}
    expected = musculo.static_optimization(model, m.q, m.u, m.udot, model_forces=False, **options)
    found = static_optimization_by_multipliers(model, m.q, m.u, m.udot, joints=joints, **options)
    assert_allclose(found.activation, expected.activation, atol=ACTIVATIONS)
    assert_allclose(found.residual_force, expected.reserve, atol=ACTIVATIONS)
    assert np.array_equal(found.status, expected.status)
    assert found.balance_residual.max() < LOADS
    loads = musculo.joint_loads(model, m.q, m.u, m.udot, muscle_forces=expected.force, model_forces=False, on="child")
    for ours, theirs in ((found.joint_force, loads.force), (found.joint_moment, loads.moment)):
        assert np.abs(ours - theirs).max() < LOADS * np.abs(theirs).max()


def test_what_it_cannot_do():
    model = one_joint("ball")
    q = np.zeros((1, 3))
    with pytest.raises(Unsupported, match="part of an angular velocity"):
        static_optimization_by_multipliers(model, q, q, q)
