"""Loops whose equations repeat each other: the plane, the start and the method do not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from musculo import (
    Model,
    constrained_acceleration,
    embedding_of,
    forward_dynamics,
    kinematics,
    simulate,
)
from musculo.dynamics.constrained_dynamics import constraint_equations
from musculo.dynamics.constraint_rank import scales_of
from musculo.dynamics.loads.loop_loads import loop_loads
from musculo.errors import SingularSystem
from musculo.simulation.simulate import METHODS
from musculo.spatial.rotation import from_xyz
from support.redundant import PLANAR, bennett, coupled_cranks

OFFSETS = (0.0, 1e-9, 1e-8, 1e-7, 1e-6)
MOVABLE = {"cranks": coupled_cranks, "Bennett": bennett}
REPEATED = {"point": 1, "weld": 3, "line": 1, "six-bar": 2}


def states(model: Model, frames: int = 9, seed: int = 1):
    """Closed poses and their speeds beside the default pose."""
    e, rng = embedding_of(model), np.random.default_rng(seed)
    assert e.branch is not None
    z = e.independent(e.branch) + rng.uniform(-0.1, 0.1, (frames, len(e.coordinate_names)))
    motion = e.motion(z, 3.0 * rng.normal(size=(frames, len(e.speed_names))))
    return motion.q, motion.u, rng.normal(size=motion.u.shape)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", PLANAR)
def test_the_plane_of_a_planar_loop_does_not_matter(kind, seed):
    angles = (0.0, 0.0, 0.0) if seed == 0 else np.random.default_rng(seed).uniform(-3.0, 3.0, 3)
    R = from_xyz(np.asarray(angles)) if seed != 3 else from_xyz(np.array([1e-9, 0.0, 0.0]))
    model, flat = PLANAR[kind](R), PLANAR[kind](np.eye(3))
    q, u, tau = states(flat)
    found = constrained_acceleration(model, q, u, tau)
    size = np.abs(found.udot).max()
    np.testing.assert_allclose(found.udot, forward_dynamics(model, q, u, tau), atol=1e-8 * size)
    np.testing.assert_allclose(found.udot, forward_dynamics(flat, q, u, tau), atol=1e-6 * size)
    assert np.all(found.redundant == REPEATED[kind])
    # multipliers balance forces, and are no larger than these
    right = constrained_acceleration(flat, q, u, tau)
    np.testing.assert_allclose(found.generalized, right.generalized, atol=1e-6 * np.abs(right.generalized).max())
    assert np.linalg.norm(found.multipliers) <= 10.0 * np.linalg.norm(right.multipliers)


def off(model: Model, d: float) -> np.ndarray:
    e = embedding_of(model)
    assert e.branch is not None
    return e.branch + d * np.array([0.3, 1.0, -1.0, 0.5])


@pytest.mark.parametrize("d", OFFSETS)
@pytest.mark.parametrize("name", MOVABLE)
def test_a_pose_that_is_a_little_off_gives_what_the_next_closed_one_does(name, d):
    model = MOVABLE[name]()
    e, q = embedding_of(model), off(model, d)
    u = e.motion(e.independent(q), [2.0], guess=e.branch).u
    found = constrained_acceleration(model, q, u, np.zeros(4))
    closed = e.motion(e.independent(q), [2.0], guess=e.branch)
    right = forward_dynamics(model, closed.q, closed.u, np.zeros(4))
    assert np.abs(found.udot - right).max() <= (1e-9 + 30.0 * d) * np.abs(right).max()
    assert found.redundant == constraint_equations(model).count - 3
    exact = constrained_acceleration(model, closed.q, closed.u, np.zeros(4))
    assert np.abs(found.multipliers - exact.multipliers).max() <= (1e-8 + 100.0 * d) * np.abs(exact.multipliers).max()


@pytest.mark.parametrize("name", MOVABLE)
def test_what_loops_carry_does_not_jump_with_the_error_of_a_pose(name):
    model = MOVABLE[name]()
    u, tau = np.zeros((1, 4)), np.zeros((1, 4))
    carried = []
    for d in OFFSETS[:4]:
        q = off(model, d)[None]
        found = loop_loads(model, q, u, forward_dynamics(model, embedding_of(model).branch[None], u, tau), tau, [])
        carried.append(np.concatenate([np.ravel(part) for one in found.values() for part in (one.force, one.moment)]))
    for d, one in zip(OFFSETS[1:4], carried[1:], strict=True):
        assert np.abs(one - carried[0]).max() <= 100.0 * d * np.abs(carried[0]).max()


def test_the_unit_of_an_equation_does_not_matter():
    model = bennett()
    system = constraint_equations(model)
    scales = scales_of(system)
    assert scales.usual == 3
    # angles come first in a weld, then lengths
    assert np.ptp(scales.weight[:3]) == 0.0
    assert np.ptp(scales.weight[3:]) == 0.0
    assert scales.weight[3] > 2.0 * scales.weight[0]


def test_without_a_known_number_each_pose_tells():
    # the default pose is singular, so that the embedding has no number
    model = coupled_cranks(angle=0.0)
    with pytest.raises(SingularSystem):
        embedding_of(model)
    assert scales_of(constraint_equations(model)).usual == -1
    usual = coupled_cranks()
    for d in OFFSETS:
        q = off(usual, d)
        found = constrained_acceleration(model, q, np.zeros(4), np.zeros(4))
        right = constrained_acceleration(usual, q, np.zeros(4), np.zeros(4)).udot
        np.testing.assert_allclose(found.udot, right, rtol=1e-9 + d)


def test_a_singular_pose_is_named():
    flat = coupled_cranks()
    with pytest.raises(SingularSystem, match=r"constraint 'pin[23]' is in a singular position at frame 0"):
        constrained_acceleration(flat, np.zeros(4), np.zeros(4), np.zeros(4))


# "imex" needs muscles, which are stiff by themselves
@pytest.mark.parametrize("method", [method for method in METHODS if method != "imex"])
@pytest.mark.parametrize("name", ["cranks", "Bennett", "weld", "line"])
def test_all_methods_agree_with_the_embedding(name, method, capfd):
    model = MOVABLE[name]() if name in MOVABLE else PLANAR[name](from_xyz(np.array([0.5, -0.4, 1.0])))
    q = off(model, 1e-8) if name in MOVABLE else embedding_of(model).branch
    times = np.linspace(0.0, 0.1, 3)
    right = simulate(model, q, None, times, rtol=1e-9)
    tolerance = 1e-6 if method == "tr-bdf2" else 1e-8
    done = simulate(
        model, q, None, times, method=method, formulation="constrained", rtol=tolerance, atol=1e-2 * tolerance
    )
    assert done.status == "finished", done.reason
    np.testing.assert_allclose(done.q, right.q, atol=30.0 * tolerance)
    np.testing.assert_allclose(done.u, right.u, atol=1e3 * tolerance)
    assert capfd.readouterr() == ("", "")


def test_points_of_a_tilted_loop_move_as_those_of_a_flat_one():
    R = from_xyz(np.array([0.5, 0.0, 0.3]))
    flat, tilted = PLANAR["weld"](np.eye(3)), PLANAR["weld"](R)
    done = [
        simulate(model, None, None, (0.0, 0.1, 0.2), formulation="constrained", method="rkf45")
        for model in (flat, tilted)
    ]
    ends = [
        kinematics(model, one.q).position("rocker", (0.4, 0.0, 0.0))
        for model, one in zip((flat, tilted), done, strict=True)
    ]
    np.testing.assert_allclose(ends[1], ends[0] @ R.T, atol=1e-8)


def test_equations_that_contradict_are_told_from_those_that_repeat():
    model = coupled_cranks()
    # the third crank's hole is a millimetre off: the pin cannot hold beside the others
    wrong = replace(model.constraints[1], first_location=(0.401, 0.0, 0.0))
    model = model.replace(constraints=(model.constraints[0], wrong))
    q = np.array([0.9, -0.9, 0.9, 0.9])
    with pytest.raises(SingularSystem, match="the pose is off the constraints by"):
        constrained_acceleration(model, q, np.zeros(4), np.zeros(4), stabilization=10.0)
