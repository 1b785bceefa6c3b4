"""Euler parameters: the identities of Antunes2025, appendices A and B."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.absolute.euler_parameters import (
    continuous,
    matrix_G,
    matrix_L,
    matrix_minus,
    matrix_plus,
    norm_constraint,
    product,
    relative_euler_parameters,
    rotation_matrix,
)
from musculo.absolute.given_motion import GivenNumbers, GivenOrientation
from musculo.errors import InvalidInput
from musculo.spatial.rotation import from_quaternion, skew
from support.complex_kernels import slope, step

# Products of a few numbers of size one.
ROUNDING = 1e-14


@pytest.fixture
def motion():
    """p, pdot, pddot of a body with some angular velocity and acceleration in its axes."""
    rng = np.random.default_rng(5)
    p = rng.normal(size=4)
    p /= np.linalg.norm(p)
    w, alpha = rng.normal(size=(2, 3))
    pdot = 0.5 * matrix_L(p).T @ w
    return p, pdot, 0.5 * matrix_L(p).T @ alpha - 0.25 * (w @ w) * p, w, alpha


def close(a, b):
    assert_allclose(a, b, atol=ROUNDING, rtol=ROUNDING)


def test_matrices(motion):
    """Eq. 26, 27: G G^T = L L^T = 1, G p = L p = 0, G^T G = 1 - p p^T, A = G L^T."""
    p = motion[0]
    G, L = matrix_G(p), matrix_L(p)
    close(G @ G.T, np.eye(3))
    close(L @ L.T, np.eye(3))
    close(G @ p, 0.0)
    close(L @ p, 0.0)
    close(G.T @ G, np.eye(4) - np.outer(p, p))
    close(rotation_matrix(p), from_quaternion(p))


def test_rates(motion):
    """Eq. 28, 31, 32, 35."""
    p, pdot, pddot, w, alpha = motion
    G, L, Gdot, Ldot = matrix_G(p), matrix_L(p), matrix_G(pdot), matrix_L(pdot)
    A = rotation_matrix(p)
    close(G @ pdot, -Gdot @ p)
    close(L @ pdot, -Ldot @ p)
    close(Gdot @ pdot, 0.0)
    close(Ldot @ pdot, 0.0)
    close(G @ Ldot.T, Gdot @ L.T)
    close(2 * L @ pdot, w)
    close(2 * G @ pdot, A @ w)
    close(pdot, 0.5 * G.T @ (A @ w))
    close(2 * L @ pddot, alpha)
    close(2 * G @ pddot, A @ alpha)
    close(pddot, 0.5 * G.T @ (A @ alpha) - 0.25 * (w @ w) * p)
    # Adot = A w~
    close(slope(rotation_matrix(step(p, pdot))), A @ skew(w))


def test_skew_matrices(motion):
    """Eq. 29, 30, and eq. 15 with the sign that it needs: d(A s)/dt = 2 G s- pdot = G s- L^T omega'."""
    p, pdot, _, w, _ = motion
    a = np.array([0.3, -0.8, 0.5])
    close(matrix_G(p).T @ a, matrix_plus(a) @ p)
    close(matrix_L(p).T @ a, matrix_minus(a) @ p)
    moved = slope(rotation_matrix(step(p, pdot)) @ a)
    close(moved, 2 * matrix_G(p) @ matrix_minus(a) @ pdot)
    close(moved, matrix_G(p) @ matrix_minus(a) @ matrix_L(p).T @ w)


def test_relative_euler_parameters(motion):
    """Eq. 18, 33, 34, 37, 38."""
    rng = np.random.default_rng(6)
    p_i, pdot_i, _, w_i, _ = motion
    p_j = rng.normal(size=4)
    p_j /= np.linalg.norm(p_j)
    w_j = rng.normal(size=3)
    pdot_j = 0.5 * matrix_L(p_j).T @ w_j
    close(matrix_L(p_i) @ p_j, -matrix_L(p_j) @ p_i)
    close(matrix_G(p_i) @ p_j, -matrix_G(p_j) @ p_i)
    close(matrix_L(p_i) @ pdot_j, -matrix_L(pdot_j) @ p_i)
    p_ij = relative_euler_parameters(p_i, p_j)
    close(rotation_matrix(p_ij), rotation_matrix(p_j).T @ rotation_matrix(p_i))
    close(product(p_j, p_ij), p_i)
    rate = slope(relative_euler_parameters(step(p_i, pdot_i), step(p_j, pdot_j)))
    above = np.vstack([p_j, matrix_L(p_j)]) @ matrix_L(p_i).T @ w_i
    below = np.vstack([p_i, -matrix_L(p_i)]) @ matrix_L(p_j).T @ w_j
    close(rate, 0.5 * (above + below))


def test_norm_constraint(motion):
    """Residual and right-hand sides of p^T p - 1, by the complex step."""
    p, pdot, pddot, _, _ = motion
    residual, jacobian, nu, gamma = norm_constraint(p, pdot)
    close(residual, 0.0)
    close(jacobian, 2 * p)
    close(jacobian @ pdot, nu)
    close(jacobian @ pddot, gamma)
    close(slope(norm_constraint(step(p, pdot), pdot)[0]), jacobian @ pdot)


def test_continuous():
    angle = np.linspace(0.0, 4 * np.pi, 200)
    p = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=1)
    flipped = p * np.where(np.arange(200) % 3 == 0, -1.0, 1.0)[:, None]
    found = continuous(flipped)
    close(found, p * found[0, 0])


def test_given_orientation():
    """Derivatives of the Euler parameters of a turn about an axis; what does not fit is refused."""
    t = np.linspace(0.0, 1.0, 7)
    turn = GivenOrientation.about((0.0, 2.0, 0.0), 3 * t**2, 6 * t, 6 + 0 * t)
    half = 1.5 * t**2
    first, second = turn.rates
    close(turn.parameters[:, 2], np.sin(half))
    close(first[:, 2], np.cos(half) * 3 * t)
    close(second[:, 2], np.cos(half) * 3 - np.sin(half) * 9 * t**2)
    # derivatives by time: those of the motion, up to what a spline through 200 frames misses inside
    t = np.linspace(0.0, 1.0, 200)
    angle, rate, second = np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t)
    turn = GivenOrientation.about((1.0, 2.0, 3.0), angle, rate, second)
    inside = slice(20, -20)
    for sampled in (
        GivenOrientation.about((1.0, 2.0, 3.0), angle, time=t),
        GivenOrientation.of(turn.parameters * np.sign(np.sin(40 * t + 0.1))[:, None], time=t),
        GivenOrientation.of(rotation_matrix(turn.parameters), time=t),
    ):
        assert_allclose(rotation_matrix(sampled.parameters), rotation_matrix(turn.parameters), atol=ROUNDING)
        assert_allclose(sampled.omega[inside], turn.omega[inside], atol=1e-8)
        assert_allclose(sampled.alpha[inside], turn.alpha[inside], atol=1e-6)
    with pytest.raises(InvalidInput, match="both times and derivatives"):
        GivenNumbers.of(angle, rate, time=t)
    with pytest.raises(InvalidInput, match="matrices"):
        GivenOrientation.of(np.ones((5, 3)))
    with pytest.raises(InvalidInput, match="of frame 0 are"):
        GivenOrientation.of(np.zeros((2, 4)))
    with pytest.raises(InvalidInput, match="omega has shape"):
        GivenOrientation.of(np.ones((2, 4)), np.zeros(3))
    with pytest.raises(InvalidInput, match="give all three"):
        GivenNumbers.of(t, t[:3])
