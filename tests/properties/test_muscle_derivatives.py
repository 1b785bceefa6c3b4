"""Kernels in complex128: stiffness is the slope of force, and the equilibrium moves as its own balance says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.kernels.hill import muscle_table as table
from musculo.kernels.hill.hill_frames import MuscleFrames, equilibrium_frames
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.equilibrium import Status, muscle_equilibrium, muscle_force
from support.complex_kernels import slope, step
from support.muscle_rig import MAX_FORCE, OPTIMAL, one_of_each

# Forces of 1e3 N over lengths of 0.1 m: slopes up to 1e5 N/m, and one Newton step from a converged root.
SLOPE = 1e-7 * MAX_FORCE / OPTIMAL
# Fourth-order differences of forces balanced to 1e-9 with this step.
DIFFERENCE, DIFFERENCE_TOLERANCE = 1e-5, 1e-4 * MAX_FORCE / OPTIMAL


@pytest.fixture(scope="module")
def case():
    model = one_of_each()
    rng = np.random.default_rng(11)
    shape = (60, len(model.muscles))
    length, speed = rng.uniform(0.24, 0.38, shape), rng.uniform(-0.3, 0.5, shape)
    activation = rng.uniform(0.05, 1.0, shape)
    return model, length, speed, activation, muscle_equilibrium(model, length, speed, activation)


def complex_equilibrium(model, length, speed, activation):
    L, v, a = (np.ascontiguousarray(x, dtype=complex) for x in (length, speed, activation))
    out = np.empty((table.OUTPUTS, *L.shape), dtype=complex)
    equilibrium_frames(*compiled_muscles(model).arrays, MuscleFrames(L, v, a), False, out, 0, len(L))
    return out, out[table.STATUS].real


def test_complex_lanes_give_the_values_of_real_ones(case):
    model, length, speed, activation, real = case
    out, status = complex_equilibrium(model, length, speed, activation)
    assert (status == real.status).all()
    assert_allclose(out[table.TENDON_FORCE].real, real.tendon_force, atol=1e-9 * MAX_FORCE)
    assert not out.imag.any()


def test_stiffness_is_the_slope_of_force_by_length(case):
    model, length, speed, activation, real = case
    out, _ = complex_equilibrium(model, step(length, np.ones_like(length)), speed, activation)
    assert (real.status == Status.CONVERGED).mean() > 0.9
    assert_allclose(slope(out[table.TENDON_FORCE]), real.stiffness, atol=SLOPE, rtol=1e-7)


@pytest.mark.parametrize("argument", ["length", "speed", "activation"])
def test_complex_slopes_are_those_of_differences(case, argument):
    """The lifted root is the derivative of the solver: extrapolated differences of its answers say the same."""
    model, length, speed, activation, real = case
    at = {"length": length, "speed": speed, "activation": activation}
    direction = np.ones_like(length)
    out, _ = complex_equilibrium(model, **{**at, argument: step(at[argument], direction)})

    def force(d):
        return muscle_equilibrium(model, **{**at, argument: at[argument] + d}).tendon_force

    h = DIFFERENCE
    differences = (8.0 * (force(h) - force(-h)) - (force(2 * h) - force(-2 * h))) / (12.0 * h)
    found = slope(out[table.TENDON_FORCE])
    # kinks of the published curves (Thelen's velocity at zero, his passive force at one) spoil a few differences
    close = np.abs(found - differences) <= DIFFERENCE_TOLERANCE
    assert close[real.status == Status.CONVERGED].mean() > 0.99


def test_equilibria_are_stable(case):
    """A fibre longer than its equilibrium is pulled back, a shorter one drawn out."""
    model, length, _, activation, _ = case
    r = muscle_equilibrium(model, length, 0.0, activation)
    ok = (r.status == Status.CONVERGED) & ~np.isin(model.muscle_names, ["RigidTendonMuscle"])
    eps = 1e-6
    longer = muscle_force(model, length, 0.0, activation, r.fiber_length + eps)
    shorter = muscle_force(model, length, 0.0, activation, r.fiber_length - eps)
    assert (longer.fiber_velocity[ok] < 0.0).all()
    assert (shorter.fiber_velocity[ok] > 0.0).all()
