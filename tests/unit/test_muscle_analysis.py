"""Muscle analysis: laws that hold without another program, its shapes, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo.analyses.muscle_analysis import muscle_analysis
from musculo.analyses.recorded_motion import motion_of
from musculo.demo import arm, arm_flexion
from musculo.errors import InvalidInput, UnknownName

# Equilibrium of fibre and tendon is found to rounding of their forces; powers are products with them.
EQUILIBRIUM = 1e-9


@pytest.fixture(scope="module")
def flexion():
    model = arm()
    return model, motion_of(model, arm_flexion())


@pytest.fixture(scope="module")
def result(flexion):
    model, m = flexion
    return muscle_analysis(model, m.q, m.u, 0.3)


@pytest.mark.parametrize("stretch", [None, 1.0005])
def test_powers_of_fibre_and_tendon_add_up(flexion, result, stretch):
    """In equilibrium the tendon keeps its length; with fibres away from it, the tendon moves and has a power."""
    model, m = flexion
    r = result if stretch is None else muscle_analysis(model, m.q, m.u, 0.3, fiber_length=stretch * result.fiber_length)
    parts = r.fiber_active_power + r.fiber_passive_power + r.tendon_power
    right = r.status == 0
    assert right.mean() > 0.9
    scale = max(np.abs(r.muscle_power).max(), np.abs(r.tendon_power).max())
    assert_allclose(parts[right], r.muscle_power[right], rtol=0, atol=EQUILIBRIUM * scale)
    assert (np.abs(r.tendon_power).max() > 0.1) == (stretch is not None)


def test_fibre_and_tendon_make_up_the_length(result):
    along = result.fiber_length * np.cos(result.pennation)
    assert_allclose(along + result.tendon_length, result.length, rtol=1e-13)


def test_pennation_turns_as_its_rate_says(flexion):
    """A fibre of fixed thickness, l sin a = h, on a tendon that does not give; by central differences along the way."""
    model, m = flexion
    step = 1e-5  # [s]
    r = muscle_analysis(model, m.q, m.u, 0.3, tendon="rigid")
    after, before = (muscle_analysis(model, m.q + s * m.u, m.u, 0.3, tendon="rigid") for s in (step, -step))
    slope = (after.pennation - before.pennation) / (2.0 * step)
    assert_allclose(r.pennation_rate, slope, rtol=0, atol=1e-8 * np.abs(slope).max())


def test_moments_of_all_muscles_do_their_power(flexion, result):
    """sum over coordinates of moment times speed is what the muscles give."""
    _, m = flexion
    done = np.einsum("fmc,fc->fm", result.moment, m.u)
    assert_allclose(done, result.muscle_power, rtol=0, atol=1e-12 * np.abs(result.muscle_power).max())


def test_a_single_pose_has_no_frames(flexion, result):
    model, m = flexion
    one = muscle_analysis(model, m.q[7], m.u[7], 0.3)
    assert one.length.shape == (6,)
    assert one.moment_arm.shape == (6, 2)
    assert_allclose(one.tendon_force, result.tendon_force[7], rtol=1e-9)
    with pytest.raises(InvalidInput, match="single pose"):
        one.tables([0.0])


def test_chosen_muscles_and_coordinates(flexion, result):
    model, m = flexion
    tables = result.tables(m.time, muscles=["brachialis", "biceps_long"], coordinates=["elbow_flexion"])
    assert tables["Length"].names == ("brachialis", "biceps_long")
    assert [t for t in tables if t.startswith("Moment")] == ["MomentArm_elbow_flexion", "Moment_elbow_flexion"]
    assert np.array_equal(tables["Length"].column("brachialis"), result.length[:, 5])
    assert muscle_analysis(model, m.q, m.u, coordinates=()).moment_arm.shape == (121, 6, 0)
    with pytest.raises(UnknownName, match="elbow_flexion"):
        muscle_analysis(model, m.q, m.u, coordinates=["elbow_flex"])
    with pytest.raises(UnknownName, match="brachialis"):
        result.tables(m.time, muscles=["brachiali"])


def test_given_fibres_are_kept(flexion, result):
    model, m = flexion
    longer = 1.01 * result.fiber_length
    assert_allclose(muscle_analysis(model, m.q, m.u, 0.3, fiber_length=longer).fiber_length, longer, rtol=1e-15)


@pytest.mark.parametrize("kind", ["Thelen2003Muscle", "Millard2012EquilibriumMuscle", "DeGrooteFregly2016Muscle"])
def test_given_tensions_are_kept(flexion, kind):
    """The inverse of each tendon's curve, slack ones included."""
    _, m = flexion
    model = arm()
    plain = [replace(muscle, kind=kind, parameters=(), curves=()) for muscle in model.muscles]
    model = replace(model, forces=tuple(plain))
    pull = np.linspace(0.0, 1.2, 6) * [muscle.max_isometric_force for muscle in model.muscles]
    held = muscle_analysis(model, m.q, m.u, 0.3, tendon_force=pull)
    assert_allclose(held.tendon_force, np.broadcast_to(pull, held.tendon_force.shape), rtol=1e-9, atol=1e-9)
    with pytest.raises(InvalidInput, match="only pull"):
        muscle_analysis(model, m.q, m.u, 0.3, tendon_force=-pull)
    with pytest.raises(InvalidInput, match="newtons"):
        muscle_analysis(model, m.q, m.u, 0.3, tendon_force=1e6 * pull)
    with pytest.raises(InvalidInput, match="or neither"):
        muscle_analysis(model, m.q, m.u, 0.3, fiber_length=0.1, tendon_force=pull)


def test_locked_coordinates_have_the_arm_they_would_have(leg):
    """Locking the knee takes nothing from its moment arm, the patella that follows it included."""
    e = musculo.embedding_of(leg)
    q = e.coordinates(np.full((2, len(e.coordinate_names)), 0.2))
    free = muscle_analysis(leg, q, 0.0 * q)
    locked = muscle_analysis(leg.with_coordinate("knee_flexion", locked=True, default_value=0.2), q, 0.0 * q)
    assert_allclose(locked.moment_arm, free.moment_arm, rtol=0, atol=1e-15)
    assert np.abs(free.moment_arm[:, :, leg.coordinate_index("knee_flexion")]).max() > 0.0


def test_series_are_labelled(flexion, result):
    _, m = flexion
    data = result.to_xarray(m.time)
    assert data["fiber_active_power"].dims == ("time", "muscle")
    assert data["moment_arm"].dims == ("time", "muscle", "coordinate")
    assert data["tendon_force"].attrs["units"] == "N"
    assert data.attrs["made_by"] == "muscle_analysis"
