"""The shoulder girdle from recordings: the clavicle's axial rotation, and chains that close over the rib cage."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from musculo.errors import InvalidInput
from musculo.signals import ShoulderGirdle, clavicle_orientation, close_girdle

# A few products of rotation matrices.
ROUNDING = 1e-12
# The general solver stops where its objective changes by 1e-15 of itself, its slopes are differences.
PEER = 1e-6
FRAMES = 30
GIRDLE = ShoulderGirdle(
    sternoclavicular=(0.02, -0.01, 0.025),
    clavicle=(0.0, 0.0, 0.15),
    points=((-0.06, -0.02, -0.09), (-0.08, -0.14, -0.07)),
    center=(-0.05, -0.15, 0.0),
    radii=(0.10, 0.20, 0.13),
)


def turned(vectors):
    return Rotation.from_rotvec(vectors).as_matrix()


def measured(seed=0, size=0.1):
    """A girdle that moves with the chain closed, and the same with errors of measurement of this size [rad]."""
    rng, t = np.random.default_rng(seed), np.linspace(0.0, 1.0, FRAMES)
    rough_C = turned(np.stack([0.1 * t, -0.6 - 0.3 * t, 0.2 + 0.1 * t], 1))
    rough_S = turned(np.stack([0.1 + 0.2 * t, 0.3 - 0.2 * t, 0.1 * t], 1))
    true = close_girdle(GIRDLE, rough_C, rough_S)
    assert true.found.all()
    noise = size * rng.normal(size=(2, FRAMES, 3))
    return true, true.clavicle @ turned(noise[0]), true.scapula @ turned(noise[1])


# --- axial rotation ---------------------------------------------------------------------------------------------------
def test_axial_rotation_minimizes_the_joint():
    """No other rotation about the clavicle turns the acromioclavicular joint less."""
    rng = np.random.default_rng(2)
    T, S = turned(0.3 * rng.normal(size=(FRAMES, 3))), turned(0.5 * rng.normal(size=(FRAMES, 3)))
    rest = turned([0.2, -0.7, 0.1])
    ac = np.array([-0.03, 0.02, 0.15]) + 0.03 * rng.normal(size=(FRAMES, 3))
    found = clavicle_orientation(np.zeros((FRAMES, 3)), ac, T, S, reference=rest)

    def angle(R):
        return Rotation.from_matrix(rest.T @ np.swapaxes(R, 1, 2) @ S).magnitude()

    assert_allclose(found.rotation[:, :, 2], ac / np.linalg.norm(ac, axis=1, keepdims=True), atol=ROUNDING)
    assert_allclose(angle(found.rotation), found.acromioclavicular, atol=1e-7)
    for more in (-0.5, -1e-3, 1e-3, 0.5, 3.0):
        assert np.all(angle(found.rotation @ turned([0.0, 0.0, more])) > found.acromioclavicular)
    # x of the axes without the axial rotation is across the thorax's y
    back = np.einsum("fij,fjk->fik", found.rotation, turned(np.outer(-found.axial, [0.0, 0.0, 1.0])))
    assert_allclose(np.einsum("fi,fi->f", back[:, :, 0], T[:, :, 1]), 0.0, atol=ROUNDING)


def test_a_rigid_joint_gives_the_axial_rotation_back():
    """A scapula welded to the clavicle shows all of its axial rotation, through more than half a turn."""
    t = np.linspace(0.0, 1.0, FRAMES)
    T = np.tile(np.eye(3), (FRAMES, 1, 1))
    R0 = clavicle_orientation(np.zeros((FRAMES, 3)), np.tile([0.0, 0.05, 0.15], (FRAMES, 1)), T, T).rotation[0]
    axial = 4.0 * t
    C = R0 @ turned(np.outer(axial, [0.0, 0.0, 1.0]))
    S = C @ turned([0.1, -0.6, 0.2])
    found = clavicle_orientation(np.zeros((FRAMES, 3)), 0.15 * C[:, :, 2], T, S)
    assert_allclose(found.axial, axial, atol=1e-9)
    assert_allclose(found.rotation, C, atol=1e-9)
    assert found.acromioclavicular.max() < 1e-7


# --- closed chains ----------------------------------------------------------------------------------------------------
def test_a_closed_chain_stays():
    true, _, _ = measured()
    again = close_girdle(GIRDLE, true.clavicle, true.scapula, weights=(1.0, 5.0))
    assert again.found.all()
    assert max(again.clavicle_change.max(), again.scapula_change.max()) < 1e-9
    assert np.abs(again.gap).max() < 1e-10


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 4.0), ((1.0, 1.0, 0.1), (2.0, 3.0, 4.0))])
def test_the_change_is_the_least(weights):
    """The chain closes, the optimum is that of a general solver, and it is no farther than the truth."""
    true, C, S = measured()
    found = close_girdle(GIRDLE, C, S, weights=weights)
    assert found.found.all()
    assert np.abs(GIRDLE.gaps(found.clavicle, found.scapula)).max() < 1e-10
    w = np.concatenate([np.broadcast_to(part, 3) for part in weights])

    def change(rotations):
        pairs = zip((C, S), rotations, strict=True)
        return np.hstack([Rotation.from_matrix(np.swapaxes(a, 1, 2) @ b).as_rotvec() for a, b in pairs])

    cost = change((found.clavicle, found.scapula)) ** 2 @ w
    assert np.all(cost <= change((true.clavicle, true.scapula)) ** 2 @ w + 1e-12)
    sizes = np.linalg.norm(change((found.clavicle, found.scapula)).reshape(-1, 2, 3), axis=2)
    assert_allclose(np.stack([found.clavicle_change, found.scapula_change], axis=1), sizes, atol=1e-9)
    for k in (0, 11, 29):
        peer = minimize(
            lambda x: w @ x**2,
            np.zeros(6),
            method="SLSQP",
            constraints={
                "type": "eq",
                "fun": lambda x, k=k: 100.0 * GIRDLE.gaps(C[k] @ turned(x[:3]), S[k] @ turned(x[3:]))[0],
            },
            options={"ftol": 1e-15, "maxiter": 300},
        )
        assert_allclose(cost[k], peer.fun, rtol=1e-9)
        assert_allclose(found.clavicle[k], C[k] @ turned(peer.x[:3]), atol=PEER)
        assert_allclose(found.scapula[k], S[k] @ turned(peer.x[3:]), atol=PEER)


def test_chains_that_cannot_close():
    """A clavicle so long that no point of the scapula reaches the ribs, and a frame that was not recorded."""
    long = ShoulderGirdle((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), GIRDLE.points, GIRDLE.center, GIRDLE.radii)
    C = S = np.tile(np.eye(3), (2, 1, 1))
    found = close_girdle(long, C, S)
    assert not found.found.any()
    assert np.isnan(found.clavicle).all()
    _, C, S = measured()
    C[3] = np.nan
    found = close_girdle(GIRDLE, C, S)
    assert np.flatnonzero(~found.found).tolist() == [3]


def test_what_is_refused():
    true, C, S = measured()
    zero = np.zeros((FRAMES, 3))
    for call, message in (
        (lambda: close_girdle(GIRDLE, C[:4], S), "4 frames of the clavicle and 30"),
        (lambda: close_girdle(GIRDLE, 2 * C, S), "frame 0 of clavicle is no rotation matrix"),
        (lambda: close_girdle(GIRDLE, zero, S), "clavicle has shape"),
        (lambda: close_girdle(GIRDLE, C, S, weights=(0.0, 1.0)), "above zero"),
        (lambda: ShoulderGirdle((0, 0, 0), (0, 0), GIRDLE.points, GIRDLE.center, GIRDLE.radii), "clavicle has shape"),
        (lambda: ShoulderGirdle((0, 0, 0), (0, 0, 1), GIRDLE.points, GIRDLE.center, (1, 0, 1)), "three above zero"),
        (lambda: clavicle_orientation(zero, zero, C, S), "in one point"),
        (lambda: clavicle_orientation(zero, zero[:2], C, S), "joint centers have shapes"),
        (lambda: clavicle_orientation(zero, true.clavicle[:, :, 1], true.clavicle, S), "along the thorax's y"),
    ):
        with pytest.raises(InvalidInput, match=message):
            call()
