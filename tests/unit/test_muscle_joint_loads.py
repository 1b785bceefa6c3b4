"""Loads of joints that muscles press, as node functions: beside `joint_loads`, and slopes beside differences."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
import musculo.demo
from musculo.errors import InvalidInput, Unsupported
from musculo.muscle import fit_paths, with_de_groote_fregly_muscles
from musculo.trajectory import JointLoads, MuscleDriven

# Loads up to 2e3 N by two roads.
ROUNDING = 1e-12
# Central differences of fourth order of loads up to 2e3, in steps of 1e-5.
DIFFERENCES = 1e-6


@pytest.fixture(scope="module")
def arm():
    """Elastic tendons but for one, which is rigid."""
    return with_de_groote_fregly_muscles(musculo.demo.arm()).with_force("biceps_short", ignore_tendon_compliance=True)


@pytest.fixture(scope="module")
def equations(arm):
    return MuscleDriven(arm, reserves=5.0)


def states(f, nodes=6, low=(0.0, 0.3), high=(0.6, 0.6)):
    """By default where no path breaks a rule of the model."""
    rng, x = np.random.default_rng(2), f.layout
    v = rng.normal(0.0, 1.0, (nodes, len(f.inputs)))
    v[:, x.value] = rng.uniform(low, high, (nodes, 2))
    for columns in (x.excitation, x.activation, x.tension):
        v[:, columns] = rng.uniform(0.05, 0.9, (nodes, len(columns)))
    return v


def inputs_of(load, f, v):
    return np.ascontiguousarray(v[:, [f.inputs.index(name) for name in load.inputs]])


@pytest.mark.filterwarnings("ignore:paths pull that break a rule")
@pytest.mark.parametrize("on", ["child", "parent"])
@pytest.mark.parametrize("frame", ["ground", "child", "parent"])
def test_muscles_press_joints_as_joint_loads_says(arm, equations, on, frame):
    load = JointLoads(arm, on=on, frame=frame, muscles=equations)
    # where paths change sides, too: an opened joint must not change them
    v, x = states(equations, 40, (-0.5, 0.1), (2.0, 2.0)), equations.layout
    tension = equations.pull(v, equations.motion(v), bends=False).force
    moved = v[:, x.value], v[:, x.speed], v[:, x.acceleration]
    expected = musculo.joint_loads(arm, *moved, muscle_forces=tension, on=on, frame=frame)
    found = load.values(inputs_of(load, equations, v)).reshape(len(v), -1, 2, 3)
    scale = ROUNDING * np.abs(expected.force).max()
    assert scale > 1e-10
    assert_allclose(found[:, :, 0], expected.force, atol=scale)
    assert_allclose(found[:, :, 1], expected.moment, atol=scale)


def test_slopes(arm, equations):
    load = JointLoads(arm, ("shoulder", "elbow"), frame=("child", "ground"), muscles=equations)
    v = inputs_of(load, equations, states(equations, 3))
    values, entries = load.slopes(v)
    assert_allclose(values, load.values(v), atol=1e-9)
    exact = np.zeros((len(v), len(load.outputs), len(load.inputs)))
    exact[:, load.pattern[0], load.pattern[1]] = entries
    for k, step in enumerate(1e-5 * np.eye(len(load.inputs))):
        near, far = (load.values(v + j * step) - load.values(v - j * step) for j in (1, 2))
        assert_allclose(exact[:, :, k], (8 * near - far) / 12e-5, atol=DIFFERENCES)


def test_polynomials_do_not_press_but_points_beside_them_do(arm):
    fitted = MuscleDriven(fit_paths(arm, tolerance=0.1).model, tendons="rigid")
    with pytest.raises(Unsupported, match="with points"):
        JointLoads(fitted.model, muscles=fitted)
    assert len(JointLoads(arm, "elbow", muscles=fitted).outputs) == 6
    with pytest.raises(InvalidInput, match="other muscles"):
        JointLoads(musculo.demo.arm().replace(forces=()), muscles=fitted)
