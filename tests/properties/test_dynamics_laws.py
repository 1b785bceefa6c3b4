"""Laws that hold for every tree, checked on random trees that hold every kind of joint, some declared backwards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import musculo
from musculo import Body, ExternalLoad
from musculo.model.joint_tree import tree_order
from musculo.spatial.inertia import RigidInertia, tensor
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import from_xyz, quaternion_from_xyz, to_xyz
from support.dynamics_models import (
    JOINTS,
    KINDS,
    Curve,
    assert_close,
    extrapolated,
    lagrange_bias,
    moved,
    one_joint,
    random_state,
    random_tree,
    skew_part,
)

# Both sides are O(n) recursions in float64 over at most 18 joints in a row: rounding, times some tens of operations.
ROUNDING = 1e-12
# Solving for accelerations multiplies rounding by the condition of the mass matrix (1e4 to 1e8 for these trees).
SOLVED_PER_CONDITION = 10 * np.finfo(float).eps
# Extrapolated differences lose the rounding of the function divided by the smallest step (0.005).
DIFFERENCED = 1e-9

EXAMPLES = settings(max_examples=15, deadline=None, derandomize=True)
SEEDS = st.integers(0, 2**32 - 1)


def solved(model, q) -> float:
    """Tolerance for accelerations at q."""
    return SOLVED_PER_CONDITION * np.linalg.cond(musculo.mass_matrix(model, q)).max()


def tree_and_state(seed: int, frames: int | None = None):
    rng = np.random.default_rng(seed)
    model = random_tree(rng)
    return rng, model, *random_state(model, rng, frames)


@EXAMPLES
@given(SEEDS)
def test_inverse_dynamics_is_mass_matrix_times_acceleration_plus_bias(seed):
    _, model, q, u, udot = tree_and_state(seed, frames=3)
    tau = musculo.inverse_dynamics(model, q, u, udot)
    M = musculo.mass_matrix(model, q)
    assert_close(np.einsum("fij,fj->fi", M, udot) + musculo.bias_forces(model, q, u), tau, ROUNDING, "M udot + bias")


@EXAMPLES
@given(SEEDS)
def test_forward_dynamics_undoes_inverse_dynamics(seed):
    rng, model, q, u, udot = tree_and_state(seed, frames=3)
    loads = [random_load(model, rng) for _ in range(3)]
    for external in ([], loads):
        tau = musculo.inverse_dynamics(model, q, u, udot, external)
        assert_close(musculo.forward_dynamics(model, q, u, tau, external), udot, solved(model, q), "udot")


@EXAMPLES
@given(SEEDS)
def test_mass_matrix_is_symmetric_and_positive_definite(seed):
    _, model, q, _, _ = tree_and_state(seed)
    M = musculo.mass_matrix(model, q)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


@EXAMPLES
@given(SEEDS)
def test_mass_matrix_gives_the_kinetic_energy_of_the_bodies(seed):
    _, model, q, u, _ = tree_and_state(seed, frames=4)
    M = musculo.mass_matrix(model, q)
    assert_close(0.5 * np.einsum("fi,fij,fj->f", u, M, u), musculo.kinetic_energy(model, q, u), ROUNDING, "T")


@EXAMPLES
@given(SEEDS)
def test_mass_matrix_is_the_sum_over_bodies(seed):
    """M = sum_B J^T diag(I, m) J with J of each body's mass centre."""
    _, model, q, _, _ = tree_and_state(seed)
    motion = musculo.kinematics(model, q)
    total = 0.0
    for body in model.bodies:
        J = motion.frame_jacobian(body.name, body.mass_center)
        R = motion.pose(body.name).R
        total = total + J[:3].T @ (R @ tensor(body.inertia) @ R.T) @ J[:3] + body.mass * J[3:].T @ J[3:]
    assert_close(musculo.mass_matrix(model, q), total, ROUNDING, "M")


@EXAMPLES
@given(SEEDS)
def test_power_of_the_generalised_forces_changes_the_energy(seed):
    """d(T + V)/dt = tau . u."""
    rng, model, q, u, _ = tree_and_state(seed)
    curve = Curve(model, q, u, rng)
    energy = musculo.kinetic_energy(model, curve.q, curve.u) + musculo.potential_energy(model, curve.q)
    power = musculo.inverse_dynamics(model, q, u, curve.udot0) @ u
    scale = np.abs(energy).max()
    assert abs(extrapolated(energy) - power) <= DIFFERENCED * scale


@EXAMPLES
@given(SEEDS)
def test_bias_forces_follow_from_lagranges_equation(seed):
    """The recursion against derivatives of M and V alone, which know nothing of accelerations."""
    _, model, q, u, _ = tree_and_state(seed)
    assert_close(musculo.bias_forces(model, q, u), lagrange_bias(model, q, u), DIFFERENCED, "bias")


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "weld"])
def test_bias_forces_of_each_joint_follow_from_lagranges_equation(kind, backwards):
    """One joint alone, so that a failure names the kind."""
    model = one_joint(kind, seed=3, backwards=backwards)
    q, u, _ = random_state(model, np.random.default_rng(4))
    assert_close(musculo.bias_forces(model, q, u), lagrange_bias(model, q, u), DIFFERENCED, kind)


@EXAMPLES
@given(SEEDS)
def test_gravity_forces_are_the_slope_of_the_potential_energy(seed):
    _, model, q, _, _ = tree_and_state(seed)
    still = np.zeros(len(model.speed_names))
    assert_close(musculo.gravity_forces(model, q), lagrange_bias(model, q, still), DIFFERENCED, "gravity")
    assert_close(musculo.gravity_forces(model, q), musculo.bias_forces(model, q, still), ROUNDING, "bias at rest")


@EXAMPLES
@given(SEEDS)
def test_velocities_are_jacobians_times_speeds(seed):
    rng, model, q, u, _ = tree_and_state(seed, frames=3)
    motion = musculo.kinematics(model, q, u)
    for joint in model.joints:
        frame = f"/jointset/{joint.name}/{joint.child.name}"
        point = rng.uniform(-1, 1, size=3)
        J = motion.frame_jacobian(frame, point)
        twist = np.concatenate([motion.angular_velocity(frame), motion.velocity(frame, point)], axis=1)
        assert_close(np.einsum("fij,fj->fi", J, u), twist, ROUNDING, frame)
        assert np.array_equal(J[:, 3:], motion.point_jacobian(frame, point))


@EXAMPLES
@given(SEEDS)
def test_velocities_and_accelerations_are_derivatives_of_positions(seed):
    rng, model, q, u, _ = tree_and_state(seed)
    curve = Curve(model, q, u, rng)
    now = musculo.kinematics(model, q, u, curve.udot0)
    around = musculo.kinematics(model, curve.q, curve.u)
    for body in model.bodies:
        point = rng.uniform(-1, 1, size=3)
        Rdot = extrapolated(around.pose(body.name).R)
        w = skew_part(Rdot @ now.pose(body.name).R.T)
        assert_close(now.angular_velocity(body.name), w, DIFFERENCED, f"w of {body.name}")
        v = extrapolated(around.position(body.name, point))
        assert_close(now.velocity(body.name, point), v, DIFFERENCED, f"v of {body.name}")
        alpha = extrapolated(around.angular_velocity(body.name))
        assert_close(now.angular_acceleration(body.name), alpha, DIFFERENCED, f"alpha of {body.name}")
        a = extrapolated(around.velocity(body.name, point))
        assert_close(now.acceleration(body.name, point), a, DIFFERENCED, f"a of {body.name}")


@EXAMPLES
@given(SEEDS)
def test_momentum_and_mass_centre_move_together(seed):
    rng, model, q, u, _ = tree_and_state(seed)
    curve = Curve(model, q, u, rng)
    velocity = extrapolated(musculo.center_of_mass(model, curve.q))
    linear = musculo.momentum(model, q, u).linear
    assert_close(linear, musculo.total_mass(model) * velocity, DIFFERENCED, "linear momentum")


@EXAMPLES
@given(SEEDS)
def test_moving_ground_changes_nothing_within(seed):
    """Turn and shift ground's frame, gravity with it: poses go along, M and tau stay."""
    rng, model, q, u, udot = tree_and_state(seed)
    X = Pose.from_xyz(rng.uniform(-1, 1, size=3), rng.uniform(-2, 2, size=3))
    other = model.replace(
        joints=tuple(_refer(j, {"ground": X}) for j in model.joints), gravity=tuple(X.R @ model.gravity)
    )
    _same_dynamics(other, model, q, u, udot)
    before, after = musculo.kinematics(model, q, u, udot), musculo.kinematics(other, q, u, udot)
    for body in model.bodies:
        pose, new = before.pose(body.name), after.pose(body.name)
        assert_close(new.R, X.R @ pose.R, ROUNDING, "R")
        assert_close(new.p, X.apply(pose.p), ROUNDING, "p")
        assert_close(after.acceleration(body.name), X.R @ before.acceleration(body.name), ROUNDING, "a")


@EXAMPLES
@given(SEEDS)
def test_expressing_bodies_in_other_frames_changes_nothing(seed):
    """Give every body's mass, joints and points in another frame fixed to it: M, tau and the mass centre stay."""
    rng, model, q, u, udot = tree_and_state(seed)
    X = {b.name: Pose.from_xyz(rng.uniform(-1, 1, size=3), rng.uniform(-0.5, 0.5, size=3)) for b in model.bodies}
    bodies = []
    for b in model.bodies:
        m, c, I = RigidInertia(b.mass, np.array(b.mass_center), tensor(b.inertia)).in_frame(X[b.name])
        bodies.append(Body(b.name, m, tuple(c), (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])))
    other = model.replace(bodies=tuple(bodies), joints=tuple(_refer(j, X) for j in model.joints))
    _same_dynamics(other, model, q, u, udot)
    assert_close(musculo.center_of_mass(other, q), musculo.center_of_mass(model, q), ROUNDING, "mass center")


def _refer(joint, X):
    ends = {
        side: moved(X[place.body], place) if place.body in X else place
        for side, place in (("parent", joint.parent), ("child", joint.child))
    }
    return replace(joint, **ends)


def _same_dynamics(other, model, q, u, udot):
    assert_close(musculo.mass_matrix(other, q), musculo.mass_matrix(model, q), ROUNDING, "M")
    tau = musculo.inverse_dynamics(model, q, u, udot)
    assert_close(musculo.inverse_dynamics(other, q, u, udot), tau, ROUNDING, "tau")
    assert_close(musculo.forward_dynamics(other, q, u, tau), udot, solved(model, q), "udot")


# --- loads and reactions --------------------------------------------------------------------------------------------
def random_load(model, rng) -> ExternalLoad:
    frames = ["ground", *model.body_names, *(f"/jointset/{j.name}/{j.parent.name}" for j in model.joints)]
    return ExternalLoad(
        str(rng.choice(model.body_names)),
        force=rng.normal(size=3) * 10,
        point=rng.uniform(-1, 1, size=3),
        moment=rng.normal(size=3),
        force_in=str(rng.choice(frames)),
        point_in=str(rng.choice(frames)),
    )


def load_in_ground(motion, load):
    """(force, moment, point) in ground."""
    R = motion.pose(load.force_in).R
    return R @ np.asarray(load.force), R @ np.asarray(load.moment), motion.position(load.point_in, load.point)


@EXAMPLES
@given(SEEDS)
def test_external_loads_enter_through_their_jacobian(seed):
    """tau = ... - J^T F, whatever frame the load is given in."""
    rng, model, q, u, udot = tree_and_state(seed)
    motion = musculo.kinematics(model, q)
    loads = [random_load(model, rng) for _ in range(4)]
    expected = musculo.inverse_dynamics(model, q, u, udot)
    for load in loads:
        force, moment, point = load_in_ground(motion, load)
        pose = motion.pose(load.body)
        J = motion.frame_jacobian(load.body, pose.R.T @ (point - pose.p))
        expected = expected - J.T @ np.concatenate([moment, force])
    assert_close(musculo.inverse_dynamics(model, q, u, udot, loads), expected, ROUNDING, "tau")


@EXAMPLES
@given(SEEDS)
def test_joint_reactions_balance_every_body(seed):
    """Newton and Euler for each body, with the loads of all joints on it, welds included."""
    rng, model, q, u, udot = tree_and_state(seed)
    loads = [random_load(model, rng) for _ in range(4)]
    motion = musculo.kinematics(model, q, u, udot)
    reactions = musculo.joint_reactions(model, q, u, udot, loads)
    assert_close(reactions.tau, musculo.inverse_dynamics(model, q, u, udot, loads), ROUNDING, "tau")
    force = {b.name: b.mass * np.array(model.gravity) for b in model.bodies}
    moment = {b.name: np.zeros(3) for b in model.bodies}
    center = {b.name: motion.position(b.name, b.mass_center) for b in model.bodies}

    def push(body, f, t, point):
        if body != "ground":
            force[body] = force[body] + f
            moment[body] = moment[body] + t + np.cross(point - center[body], f)

    for joint in model.joints:
        f, t = reactions.of(joint.name)
        outboard, inboard = _ends(model, joint)
        frame = outboard.name and f"/jointset/{joint.name}/{outboard.name}"
        point = motion.position(frame)
        assert_close(reactions.point[model.joint_names.index(joint.name)], point, ROUNDING, "point")
        push(outboard.body, f, t, point)
        push(inboard.body, -f, -t, point)
    for load in loads:
        push(load.body, *load_in_ground(motion, load))
    scale = max(np.abs(reactions.force).max(), np.abs(reactions.moment).max())
    for body in model.bodies:
        I = motion.pose(body.name).R @ tensor(body.inertia) @ motion.pose(body.name).R.T
        w, alpha = motion.angular_velocity(body.name), motion.angular_acceleration(body.name)
        assert (
            np.abs(force[body.name] - body.mass * motion.acceleration(body.name, body.mass_center)).max()
            < ROUNDING * scale
        )
        assert np.abs(moment[body.name] - I @ alpha - np.cross(w, I @ w)).max() < ROUNDING * scale


def _ends(model, joint):
    """(outboard, inboard) placements of a joint: the outboard body is the one that moves when only this joint does."""
    edge = next(e for e in tree_order(model.joints, model.body_names) if model.joints[e.joint_index] is joint)
    return (joint.parent, joint.child) if edge.reversed else (joint.child, joint.parent)


def test_reaction_times_hinge_is_the_generalised_force():
    """The load through a joint, projected on the motion that the joint grants, is its tau; checked for every kind."""
    for kind in JOINTS:
        model = one_joint(kind, seed=11)
        q, u, udot = random_state(model, np.random.default_rng(12))
        reactions = musculo.joint_reactions(model, q, u, udot)
        f, t = reactions.of("j")
        motion = musculo.kinematics(model, q)
        pose = motion.pose("body")
        point = reactions.point[0]
        J = motion.frame_jacobian("body", pose.R.T @ (point - pose.p))
        assert np.abs(J.T @ np.concatenate([t, f]) - reactions.tau).max(initial=0.0) < ROUNDING * np.abs(f).max()


def test_frames_do_not_depend_on_each_other_or_on_threads():
    """A batch is the same numbers as its frames one by one, in any number of threads and any order."""
    rng = np.random.default_rng(5)
    model = random_tree(rng)
    q, u, udot = random_state(model, rng, frames=1030)
    tau = musculo.inverse_dynamics(model, q, u, udot, threads=1)
    assert np.array_equal(musculo.inverse_dynamics(model, q, u, udot, threads=4), tau)
    order = rng.permutation(len(q))
    assert np.array_equal(musculo.inverse_dynamics(model, q[order], u[order], udot[order]), tau[order])
    assert np.array_equal(
        np.stack([musculo.inverse_dynamics(model, *x) for x in zip(q[:20], u[:20], udot[:20], strict=True)]), tau[:20]
    )
    M = musculo.mass_matrix(model, q[:20])
    assert np.array_equal(np.stack([musculo.mass_matrix(model, x) for x in q[:20]]), M)
    out = musculo.forward_dynamics(model, q, u, tau, threads=3)
    assert np.array_equal(musculo.forward_dynamics(model, q[7], u[7], tau[7]), out[7])


@EXAMPLES
@given(SEEDS)
def test_angles_and_quaternions_of_a_ball_are_the_same_joint(seed):
    """Ball and free joints with angles against quaternions: same poses, M, tau and accelerations."""
    rng = np.random.default_rng(seed)
    for angles, quaternion, extra in (("ball", "ball_quaternion", 0), ("free", "free_quaternion", 3)):
        a = one_joint(angles, seed=seed % 1000)
        b = one_joint(quaternion, seed=seed % 1000)
        q, u, udot = random_state(a, rng)
        q4 = np.concatenate([quaternion_from_xyz(q[:3]), q[3 : 3 + extra]])
        assert_close(musculo.mass_matrix(b, q4), musculo.mass_matrix(a, q), ROUNDING, "M")
        tau = musculo.inverse_dynamics(a, q, u, udot)
        assert_close(musculo.inverse_dynamics(b, q4, u, udot), tau, ROUNDING, "tau")
        assert_close(musculo.kinematics(b, q4).pose("body").R, musculo.kinematics(a, q).pose("body").R, ROUNDING, "R")
        # the length of a quaternion does not matter
        stretched = np.concatenate([3.0 * q4[:4], q4[4:]])
        assert_close(musculo.inverse_dynamics(b, stretched, u, udot), tau, ROUNDING, "tau of a long quaternion")
        assert_close(musculo.speeds_from_rates(b, q4, musculo.coordinate_rates(b, q4, u)), u, ROUNDING, "N^-1 N u")
        assert_close(musculo.speeds_from_rates(a, q, musculo.coordinate_rates(a, q, u)), u, ROUNDING, "N^-1 N u")
        assert_close(to_xyz(from_xyz(q[:3])), q[:3], ROUNDING, "angles")
