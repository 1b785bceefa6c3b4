"""The skeleton of walking and lifting, its points and ground reactions: laws and derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from musculo import inverse_dynamics, read_osim, write_osim
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.errors import unwarned
from musculo.replications.prediction.gait_problem import FROZEN, GaitParts, Walk, gait_parts, strength_of
from musculo.replications.prediction.lifting_problem import FROZEN as SYMMETRIC
from musculo.replications.prediction.lifting_problem import sagittal
from musculo.replications.prediction.skeleton import mirror_of, skeleton
from musculo.replications.prediction.skeleton_bodies import sizes

# Central differences of exact values and slopes, of size 100 at most, with steps of 1e-5.
DIFFERENCE = 1e-6
# Second derivatives take differences of exact slopes in one place.
CURVATURE = 1e-4
ROUNDING = 1e-9


@pytest.fixture(scope="module", params=["pelvis", "left_foot"])
def parts(request) -> GaitParts:
    return gait_parts(Walk(), request.param, band=1e-3, speed_band=1e-2)


def some_states(parts: GaitParts, seed: int = 0) -> np.ndarray:
    """Inputs of the ground reactions in double support, with a flat foot and after heel-off."""
    n = len(parts.active)
    v = np.random.default_rng(seed).normal(size=(3, 3 * n + 1)) * 0.1
    v[:, n:-1] *= 3.0
    v[:, -1] = 0.02, 0.2, 0.4
    return v


def differences(function, v: np.ndarray, columns: int) -> np.ndarray:
    step = 1e-5
    return np.stack(
        [(function(v + step * e) - function(v - step * e)) / (2 * step) for e in np.eye(v.shape[1])[:columns]], -1
    )


def test_it_has_55_coordinates_38_of_them_active() -> None:
    model = skeleton()
    assert len(model.coordinate_names) == 55
    assert len(skeleton(frozen=FROZEN).coordinate_names) == 38
    assert sum(body.mass for body in model.bodies) == pytest.approx(73.0)
    assert model.notes == ()
    hip = kinematics(model, np.zeros(55)).position("pelvis")
    assert hip[1] == pytest.approx(sizes().hip_height)
    # a hip stands at 0.53 of stature by another table
    assert hip[1] / 1.741 == pytest.approx(0.530, abs=0.01)


def test_the_mass_center_is_at_the_known_height() -> None:
    model = skeleton()
    k = kinematics(model, np.zeros(55))
    center = sum(body.mass * k.position(body.name, body.mass_center) for body in model.bodies) / 73.0
    # of standing men, 0.55 to 0.57 of stature; in the middle
    assert 0.55 < center[1] / 1.741 < 0.58
    assert abs(center[2]) < ROUNDING


def test_both_roots_are_one_skeleton() -> None:
    """With the foot where the pelvis' tree has it, the other tree has the same poses and joint moments."""
    a, b = skeleton(), skeleton(root="left_foot")
    rng = np.random.default_rng(1)
    names = [name for name in a.coordinate_names if not name.startswith("pelvis")]
    q = dict(zip(names, 0.2 * rng.normal(size=len(names)), strict=True))
    qa = np.array([q.get(name, 0.0) for name in a.coordinate_names])
    qb = np.array([q.get(name, 0.0) for name in b.coordinate_names])
    ka, kb = kinematics(a, qa), kinematics(b, qb)
    for body in ("pelvis", "hand_r", "toes_r", "head"):
        one, other = ka.pose("toes_l"), kb.pose("toes_l")
        R = one.R.T @ ka.pose(body).R, other.R.T @ kb.pose(body).R
        p = one.R.T @ (ka.pose(body).p - one.p), other.R.T @ (kb.pose(body).p - other.p)
        np.testing.assert_allclose(R[0], R[1], atol=ROUNDING)
        np.testing.assert_allclose(p[0], p[1], atol=ROUNDING)


def test_mirrored_poses_are_mirrored() -> None:
    model = skeleton()
    column, sign = mirror_of(model.coordinate_names)
    q = 0.2 * np.random.default_rng(2).normal(size=55)
    one, other = kinematics(model, q), kinematics(model, sign * q[column])
    for left, right in (("hand_l", "hand_r"), ("toes_r", "toes_l"), ("head", "head"), ("clavicle_l", "clavicle_r")):
        np.testing.assert_allclose(one.position(left) * [1, 1, -1], other.position(right), atol=ROUNDING)


def test_it_is_written_and_read(tmp_path) -> None:
    model = skeleton()
    write_osim(model, tmp_path / "skeleton.osim")
    again = read_osim(tmp_path / "skeleton.osim")
    # OpenSim has the coordinates of a joint in the order of its axes: turns first
    order = [model.coordinate_names.index(name) for name in again.coordinate_names]
    q, u, a = (0.1 * np.random.default_rng(k).normal(size=55) for k in range(3))
    written = inverse_dynamics(again, q[order], u[order], a[order])
    np.testing.assert_allclose(written, inverse_dynamics(model, q, u, a)[order], atol=1e-7)


def test_ground_reactions_leave_nothing_at_the_root(parts: GaitParts) -> None:
    v, n = some_states(parts), len(parts.active)
    q, u, a = v[:, :n], v[:, n : 2 * n], v[:, 2 * n : 3 * n]
    loads = [ExternalLoad(body, force=W[:, 3:], moment=W[:, :3]) for body, W in parts.forces.reactions(v).items()]
    with unwarned():
        tau = inverse_dynamics(parts.model, q, u, a, loads)
    np.testing.assert_allclose(tau[:, :6], 0.0, atol=1e-8)
    effort = parts.forces.values(v)[:, : len(parts.forces.moments)]
    strength = np.array([strength_of(name) for name in parts.forces.moments])
    np.testing.assert_allclose(tau[:, 6:], effort * strength, atol=1e-8)


def test_standing_upright_the_ground_carries_the_weight() -> None:
    parts = gait_parts(Walk(), "pelvis")
    v = np.zeros((1, len(parts.forces.inputs)))
    v[0, -1] = 0.2
    found = dict(zip(parts.forces.outputs, parts.forces.values(v)[0], strict=True))
    assert found["ground/force_y"] == pytest.approx(1.0)
    k = kinematics(parts.model, np.zeros(38))
    center = sum(body.mass * k.position(body.name, body.mass_center) for body in parts.model.bodies) / 73.0
    assert found["ground/zmp_x"] == pytest.approx(center[0])
    assert found["ground/zmp_z"] == pytest.approx(center[2], abs=ROUNDING)


def test_slopes_are_those_of_values(parts: GaitParts) -> None:
    v = some_states(parts)
    for function, columns in ((parts.forces, v.shape[1] - 1), (parts.points, 2 * len(parts.active))):
        at = np.ascontiguousarray(v[:, : len(function.inputs)])
        values, slopes = function.slopes(at)
        np.testing.assert_allclose(values, function.values(at), atol=ROUNDING)
        full = np.zeros((len(v), len(function.outputs), columns))
        full[:, function.pattern[0], function.pattern[1]] = slopes
        np.testing.assert_allclose(full, differences(function.values, at, columns), atol=DIFFERENCE)


def test_curvatures_are_those_of_slopes(parts: GaitParts) -> None:
    v, rng = some_states(parts), np.random.default_rng(3)
    for function, columns in ((parts.forces, v.shape[1] - 1), (parts.points, 2 * len(parts.active))):
        at = np.ascontiguousarray(v[:, : len(function.inputs)])
        pull = rng.normal(size=(len(v), len(function.outputs)))

        def gradient(x, function=function, pull=pull, columns=columns):
            full = np.zeros((len(x), len(function.outputs), columns))
            full[:, function.pattern[0], function.pattern[1]] = function.slopes(x)[1]
            return np.einsum("no,noi->ni", pull, full)

        full = np.zeros((len(v), columns, columns))
        full[:, function.curvature_pattern[0], function.curvature_pattern[1]] = function.curvatures(at, pull)
        full = np.tril(full) + np.swapaxes(np.tril(full, -1), 1, 2)
        np.testing.assert_allclose(full, differences(gradient, at, columns), atol=CURVATURE)


def test_one_limb_stands_for_both_in_symmetric_motion() -> None:
    """Moments of the skeleton in its sagittal plane are those of the whole skeleton, of both sides together."""
    whole = skeleton(root="left_foot", frozen=SYMMETRIC)
    half, rng = sagittal(whole), np.random.default_rng(5)
    folded = [name.replace("_r", "_l") if name.endswith("_r") else name for name in whole.coordinate_names]
    place = [half.coordinate_names.index(name) for name in folded]
    motion = [0.4 * rng.normal(size=(4, len(half.coordinate_names))) for _ in range(3)]
    tau = inverse_dynamics(whole, *(np.ascontiguousarray(one[:, place]) for one in motion))
    summed = np.zeros((4, len(half.coordinate_names)))
    np.add.at(summed.T, place, tau.T)
    np.testing.assert_allclose(inverse_dynamics(half, *motion), summed, atol=ROUNDING)
    assert kinematics(whole, motion[0][:, place]).position("foot_r")[:, :2] == pytest.approx(
        kinematics(whole, motion[0][:, place]).position("foot_l")[:, :2]
    )
