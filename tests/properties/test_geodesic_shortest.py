"""A brute-force shortest path, by minimising over many points on the surface, agrees with the geodesic."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from musculo.kernels.paths.path_points import ELLIPSOID, TORUS
from support import geodesic_segments as gd
from support.geodesic_segments import Surfaces, solve_segments

# Chords of n and 2 n pieces, extrapolated: what remains of the fourth order, and what the minimiser leaves.
BRUTE_FORCE = 5e-6


def on_surface(kind, size, angles):
    """Points and outward normals (..., 3) from two angles a point (..., 2)."""
    u, v = angles[..., 0], angles[..., 1]
    if kind == ELLIPSOID:
        x = np.stack([np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v)], axis=-1) * size
        normal = x / size**2
    else:
        ring = np.stack([np.cos(u), np.sin(u), 0 * u], axis=-1)
        normal = np.cos(v)[..., None] * ring + np.sin(v)[..., None] * [0, 0, 1]
        x = size[1] * ring + size[0] * normal
    return x, normal / np.sqrt(np.sum(normal**2, axis=-1, keepdims=True))


def angles_of(kind, size, x):
    if kind == ELLIPSOID:
        y = x / size
        return np.column_stack([np.unwrap(np.arctan2(y[:, 1], y[:, 0])), np.arcsin(np.clip(y[:, 2], -1, 1))])
    out = np.hypot(x[:, 0], x[:, 1]) - size[1]
    return np.column_stack([np.unwrap(np.arctan2(x[:, 1], x[:, 0])), np.unwrap(np.arctan2(x[:, 2], out))])


def shortest(kind, size, start, end, waypoints, pieces):
    """Least of |start x_0| + sqrt(n sum |x_i x_(i+1)|^2) + |x_n end| where both ends see their points from outside."""
    s = np.linspace(0, 1, pieces + 1)
    first = np.column_stack([np.interp(s, np.linspace(0, 1, len(waypoints)), c) for c in waypoints.T])

    # z may be one point or many (..., 2 (pieces + 1)), and complex
    def length(z):
        x, _ = on_surface(kind, size, z.reshape(*z.shape[:-1], -1, 2))
        surface = np.sqrt(pieces * np.sum(np.diff(x, axis=-2) ** 2, axis=(-2, -1)))
        reach = np.sqrt(np.sum((x[..., 0, :] - start) ** 2, axis=-1))
        return reach + surface + np.sqrt(np.sum((x[..., -1, :] - end) ** 2, axis=-1))

    def sight(z):
        x, normal = on_surface(kind, size, z.reshape(*z.shape[:-1], -1, 2))
        first = np.sum(normal[..., 0, :] * (start - x[..., 0, :]), axis=-1)
        return np.stack([first, np.sum(normal[..., -1, :] * (end - x[..., -1, :]), axis=-1)], axis=-1)

    def slope(of, z):
        return np.imag(of(z + 1e-30j * np.eye(z.size))).T / 1e-30

    found = minimize(
        length,
        first.ravel(),
        method="SLSQP",
        jac=lambda z: slope(length, z),
        constraints={"type": "ineq", "fun": sight, "jac": lambda z: slope(sight, z)},
        options={"maxiter": 500, "ftol": 1e-16},
    )
    return found.fun


@pytest.mark.parametrize(
    ("kind", "size", "start", "end"),
    [
        (ELLIPSOID, (1.0, 0.6, 0.8), (-1.5, 0.3, 0.2), (1.4, 0.2, -0.1)),
        (ELLIPSOID, (0.3, 1.0, 0.5), (-0.9, 0.4, 0.3), (0.8, -0.2, 0.1)),
        (ELLIPSOID, (1.0, 0.5, 0.3), (-0.2, -1.2, 0.15), (0.5, 1.0, 0.1)),
        (TORUS, (0.3, 1.0, 0.0), (1.1, 0.5, -1.2), (1.0, -0.4, 1.0)),
        (TORUS, (0.5, 1.0, 0.0), (0.7, 0.6, -0.9), (1.4, -0.1, 1.1)),
    ],
)
def test_brute_force_finds_the_same_length(kind, size, start, end):
    size, start, end = np.array(size), np.array(start), np.array(end)
    surfaces = Surfaces(np.array([kind]), size[None])
    length, _, G = solve_segments(surfaces, start[None], end[None], np.eye(3)[None, None], np.zeros((1, 1, 3)))
    assert G[0, 0, gd.CONTACT] == 1
    # from a straight line between contacts that are five percent off, lifted onto the surface
    rng = np.random.default_rng(29)
    contacts = [G[0, 0, gd.FIRST : gd.FIRST + 3], G[0, 0, gd.LAST : gd.LAST + 3]]
    line = np.linspace(*contacts, 9) + 0.05 * size[0] * rng.normal(size=3)
    waypoints = angles_of(
        kind, size, line / np.linalg.norm(line / size, axis=1)[:, None] if kind == ELLIPSOID else line
    )
    coarse, fine = (shortest(kind, size, start, end, waypoints, pieces) for pieces in (16, 32))
    assert coarse < fine
    assert_allclose((4 * fine - coarse) / 3, length[0], atol=BRUTE_FORCE, rtol=0)
