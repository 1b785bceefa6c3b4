"""Chains from Denavit-Hartenberg tables: against products of matrices, and the paper's arms in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo.errors import InvalidInput
from musculo.model import Body, Placement, denavit_hartenberg

# Products of six matrices, and angles found back from them.
ROUNDING = 1e-13


def _turn(axis: str, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    X = np.eye(4)
    i, j = {"x": (1, 2), "z": (0, 1)}[axis]
    X[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    return X


def _move(axis: str, distance: float) -> np.ndarray:
    X = np.eye(4)
    X["xyz".index(axis), 3] = distance
    return X


@pytest.mark.parametrize("convention", ["classic", "modified"])
def test_frames_are_products_of_matrices(convention):
    rng = np.random.default_rng(1)
    n, joints = 6, "RPRRPR"
    table = rng.uniform(-1.5, 1.5, (n, 4))
    base = Placement("ground", (0.1, 0.2, 0.3), (0.4, -0.5, 0.6))
    model = denavit_hartenberg(table, joints, convention=convention, base=base)
    assert model.coordinate_names == tuple(f"q{k}" for k in range(1, n + 1))
    q = rng.uniform(-1, 1, n)
    poses = musculo.kinematics(model, q)
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = musculo.spatial.rotation.from_xyz(base.orientation), base.translation
    for k, (theta, d, a, alpha) in enumerate(table):
        along = _turn("z", theta + q[k] * (joints[k] == "R")) @ _move("z", d + q[k] * (joints[k] == "P"))
        across = _move("x", a) @ _turn("x", alpha)
        X = X @ (along @ across if convention == "classic" else across @ along)
        pose = poses.pose(f"link{k + 1}")
        assert np.abs(pose.R - X[:3, :3]).max() < ROUNDING
        assert np.abs(pose.p - X[:3, 3]).max() < ROUNDING


def _links(count: int) -> list[Body]:
    """Tables 4.2 and 4.4 of Barman2020: 0.5 kg, 0.1 kg m^2, the mass center in the middle of a link of 0.4 m."""
    return [Body(f"link{k + 1}", 0.5, (-0.2, 0.0, 0.0), (0.0, 0.0, 0.1, 0.0, 0.0, 0.0)) for k in range(count)]


def test_two_link_arm_of_barman():
    """Two revolute joints in a horizontal plane, against Lagrange's equations by hand, and their derivatives."""
    length, r, mass, inertia = 0.4, 0.2, 0.5, 0.1
    model = denavit_hartenberg([[0, 0, length, 0]] * 2, bodies=_links(2), gravity=(0.0, 0.0, -9.81))
    q, u, a = np.array([0.3, -1.1]), np.array([1.2, -2.0]), np.array([4.0, 3.0])

    def tau(q, u, a):
        c, s = mass * length * r * np.cos(q[1]), mass * length * r * np.sin(q[1])
        m22 = inertia + mass * r * r
        m12, m11 = m22 + c, inertia + mass * r * r + mass * length**2 + m22 + 2 * c
        first = m11 * a[0] + m12 * a[1] - s * (2 * u[0] * u[1] + u[1] ** 2)
        return np.array([first, m12 * a[0] + m22 * a[1] + s * u[0] ** 2])

    assert np.abs(musculo.inverse_dynamics(model, q, u, a) - tau(q, u, a)).max() < ROUNDING
    found = musculo.inverse_dynamics_derivatives(model, q, u, a)
    for part, f, x in (
        (found.dtau_dq, lambda x: tau(x, u, a), q),
        (found.dtau_du, lambda x: tau(q, x, a), u),
        (found.dtau_dudot, lambda x: tau(q, u, x), a),
    ):
        step = 1e-30
        expected = np.column_stack([f(x + 1j * step * e).imag / step for e in np.eye(2)])
        assert np.abs(part - expected).max() < 10 * ROUNDING


def test_prismatic_and_revolute_arm():
    """A slider that carries a pendulum: M = [[2 m, -m r s], [.., I + m r^2]] for a link across the slide."""
    # the first link slides along z of ground; the second turns about z of the first, which lies across
    model = denavit_hartenberg(
        [[0, 0, 0, np.pi / 2], [0, 0, 0.4, 0]], "PR", bodies=_links(2), gravity=(0.0, -9.81, 0.0)
    )
    q, a = np.array([0.1, 0.6]), np.array([2.0, 3.0])
    # x of the second link lies in the plane of x and z of ground, and its mass center 0.2 m from the joint
    M = np.array([[1.0, 0.1 * np.cos(q[1])], [0.1 * np.cos(q[1]), 0.1 + 0.5 * 0.04]])
    assert np.abs(musculo.mass_matrix(model, q) - M).max() < ROUNDING
    u = np.array([0.5, -1.5])
    tau = M @ a + np.array([-0.1 * np.sin(q[1]) * u[1] ** 2, 0.0])
    assert np.abs(musculo.inverse_dynamics(model, q, u, a) - tau).max() < ROUNDING


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 0, 1]],), "theta, d, a, alpha"),
        (([["a", 0, 1, 2]],), "not numbers"),
        (([[0, 0, np.nan, 0]],), "finite"),
        (([[0, 0, 1, 0]], "RR"), "letters"),
        (([[0, 0, 1, 0]], "S"), "letters"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        denavit_hartenberg(*arguments)
    for wrong in ({"convention": "other"}, {"bodies": []}, {"coordinates": ["a", "b"]}):
        with pytest.raises(InvalidInput):
            denavit_hartenberg([[0, 0, 1, 0]], **wrong)
