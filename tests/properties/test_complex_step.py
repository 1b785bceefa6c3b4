"""Kernels in complex128: the same values as on packs of float64, and derivatives to rounding by the complex step."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from support.complex_kernels import ComplexKernels, slope, step
from support.dynamics_models import KINDS, assert_close, difference_nodes, extrapolated, random_state, random_tree

# The same formulas in another scalar type, products fused or not: rounding over at most 18 joints in a row.
ROUNDING = 1e-12
# Solving for accelerations multiplies rounding by the condition of the mass matrix (1e4 to 1e6 for these trees).
SOLVED = 1e-9


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(20)
    model = random_tree(rng)
    assert len(model.joints) == len(KINDS)
    return model, ComplexKernels(model), *random_state(model, rng)


def test_complex_lanes_give_the_values_of_packs(case):
    model, k, q, u, udot = case
    tau = musculo.inverse_dynamics(model, q, u, udot)
    M = musculo.mass_matrix(model, q)
    solved = k.aba(q, u, tau)
    for name, value, expected, tolerance in (
        ("tau", k.rnea(q, u, udot), tau, ROUNDING),
        ("M", k.crba(q), M, ROUNDING),
        ("udot", solved, musculo.forward_dynamics(model, q, u, tau), SOLVED),
    ):
        assert_close(value.real, expected, tolerance, name)
        assert not value.imag.any(), name
    motion, rows = musculo.kinematics(model, q, u, udot), k.motion(q, u, udot)
    assert not rows.imag.any()
    assert_close(rows.real[:, :9].reshape(-1, 3, 3), motion._R[0], ROUNDING, "R")
    assert_close(rows.real[:, 9:].reshape(-1, 5, 3), motion._motion[0], ROUNDING, "p, w, v, alpha, a")


def test_velocity_is_the_derivative_of_position_along_the_motion(case):
    """d(R, p)/dq . N u = (w~ R, v), to rounding."""
    model, k, q, u, udot = case
    qdot = musculo.coordinate_rates(model, q, u)
    rows, now = k.motion(step(q, qdot), u, udot), k.motion(q, u, udot).real
    assert_close(slope(rows)[:, 9:12], now[:, 15:18], ROUNDING, "v")
    Rdot, R = slope(rows)[:, :9].reshape(-1, 3, 3), now[:, :9].reshape(-1, 3, 3)
    expected = np.cross(now[:, None, 12:15], np.swapaxes(R, 1, 2)).swapaxes(1, 2)
    assert_close(Rdot, expected, ROUNDING, "w~ R")


def test_acceleration_is_the_derivative_of_velocity_along_the_motion(case):
    """d(w, v)/dq . N u + d(w, v)/du . udot = (alpha, a), to rounding; the bias of every mobilizer is in it."""
    model, k, q, u, udot = case
    rows = k.motion(step(q, musculo.coordinate_rates(model, q, u)), step(u, udot), udot)
    now = k.motion(q, u, udot).real
    assert_close(slope(rows)[:, 12:18], now[:, 18:24], ROUNDING, "(alpha, a)")


def test_mass_matrix_is_the_slope_of_inverse_dynamics(case):
    model, k, q, u, udot = case
    columns = [slope(k.rnea(q, u, step(udot, e))) for e in np.eye(k.n_u)]
    assert_close(np.column_stack(columns), musculo.mass_matrix(model, q), ROUNDING, "d tau / d udot")


def test_inverse_mass_matrix_is_the_slope_of_forward_dynamics(case):
    model, k, q, u, _ = case
    M = musculo.mass_matrix(model, q)
    direction = np.random.default_rng(0).normal(size=k.n_u)
    change = slope(k.aba(q, u, step(np.zeros(k.n_u), direction)))
    assert_close(M @ change, direction, SOLVED, "M d udot / d tau")


def test_power_is_the_rate_of_the_energy(case):
    """dT/dt + dV/dt = tau . u with T = u M(q) u / 2 and V from the mass centres, to rounding."""
    model, k, q, u, udot = case
    qdot = musculo.coordinate_rates(model, q, u)
    U = step(u, udot)
    T_rate = slope(0.5 * U @ k.crba(step(q, qdot)) @ U)
    V_rate = -musculo.momentum(model, q, u).linear @ np.array(model.gravity)
    tau = musculo.inverse_dynamics(model, q, u, udot)
    assert_close(T_rate + V_rate, tau @ u, ROUNDING * 10, "power")


def test_bias_forces_follow_from_the_slopes_of_the_mass_matrix():
    """Lagrange's equation for the speeds that are coordinate derivatives, with exact slopes of M.

    tau_k = (Mdot u)_k - u dM/dq_k u / 2 + dV/dq_k where u = qdot for all; models with freely turning joints are judged
    by differences elsewhere. Splines, functions of two coordinates and three rotations of one coordinate are in it.
    """
    rng = np.random.default_rng(21)
    kinds = ("pin", "custom_knee", "custom_two_coordinates", "custom_six", "universal", "screw", "custom_hip", "planar")
    model = random_tree(rng, kinds)
    q, u, _ = random_state(model, rng)
    coriolis = ComplexKernels(model).coriolis(q, u)
    bias = musculo.bias_forces(model, q, u) - musculo.gravity_forces(model, q)
    assert_close(bias, coriolis, ROUNDING * 10, "C(q, u)")


def test_derivatives_of_inverse_dynamics_agree_with_differences(case):
    """The complex step against extrapolated differences of the float64 results, for all three arguments."""
    model, k, q, u, udot = case
    rng = np.random.default_rng(1)
    dq, du, da = (0.3 * rng.normal(size=len(x)) for x in (q, u, udot))
    t = difference_nodes()[:, None]
    around = musculo.inverse_dynamics(model, q + t * dq, u + t * du, udot + t * da)
    exact = slope(k.rnea(step(q, dq), step(u, du), step(udot, da)))
    # differences lose the rounding of tau divided by the smallest step (0.005)
    assert_close(exact, extrapolated(around), 1e-9, "d tau")
