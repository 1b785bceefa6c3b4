"""What joints and constraints of closed loops carry: each body is balanced, and who drives what is as stated."""

from __future__ import annotations

import numpy as np
import pytest

from musculo import (
    ExternalLoad,
    constrained_acceleration,
    embedding_of,
    inverse_dynamics,
    joint_loads,
    joint_reactions,
    kinematics,
)
from musculo.spatial.inertia import tensor
from support.dynamics_models import assert_close
from support.mechanisms import LOOPED

# Elimination of multipliers, whose equations are some hundred times as well conditioned as this allows for.
ROUNDING = 1e-10
FRAMES = 3


@pytest.fixture(scope="module", params=LOOPED)
def moving(request):
    """A model, a motion that keeps its loops closed, and loads from outside."""
    model = LOOPED[request.param]()
    e, rng = embedding_of(model), np.random.default_rng(3)
    z = e.independent(e.branch) + rng.uniform(-0.05, 0.05, (FRAMES, len(e.coordinate_names)))
    zu, zudot = (rng.normal(size=(FRAMES, len(e.speed_names))) for _ in range(2))
    load = ExternalLoad(
        model.body_names[-1], rng.normal(size=(FRAMES, 3)), rng.normal(size=3), rng.normal(size=(FRAMES, 3))
    )
    return model, e.motion(z, zu, zudot), load


def unbalanced(model, motion, load, carried) -> float:
    """The largest force or moment that Newton and Euler miss, by the kinematics of bodies alone."""
    moved = kinematics(model, motion.q, motion.u, motion.udot)
    center = {b.name: moved.position(b.name, b.mass_center) for b in model.bodies}
    force = {b.name: b.mass * np.tile(model.gravity, (FRAMES, 1)) for b in model.bodies}
    moment = {b.name: np.zeros((FRAMES, 3)) for b in model.bodies}

    def push(body, f, t, point):
        if body != "ground":
            force[body] = force[body] + f
            moment[body] = moment[body] + t + np.cross(point - center[body], f)

    push(load.body, load.force, load.moment, load.point)
    for k, body in enumerate(carried.bodies):
        joint = model.joint(carried.joints[k])
        other = joint.parent.body if body == joint.child.body else joint.child.body
        parts = carried.force[:, k], carried.moment[:, k], carried.point[:, k]
        push(body, *parts)
        push(other, -parts[0], -parts[1], parts[2])
    for one in carried.constraints.values():
        push(one.second_body, one.force, one.moment, one.point)
        push(one.first_body, -one.force, -one.moment, one.point)
    worst = 0.0
    for b in model.bodies:
        R = moved.batch_pose(b.name)[0]
        inertia = R @ tensor(b.inertia) @ np.swapaxes(R, 1, 2)
        w, alpha = moved.angular_velocity(b.name), moved.angular_acceleration(b.name)
        spin = np.einsum("fij,fj->fi", inertia, alpha) + np.cross(w, np.einsum("fij,fj->fi", inertia, w))
        left = force[b.name] - b.mass * moved.acceleration(b.name, b.mass_center), moment[b.name] - spin
        worst = max(worst, *(float(np.abs(x).max()) for x in left))
    return worst


def test_constraints_and_joints_balance_every_body(moving):
    model, motion, load = moving
    carried = joint_loads(model, motion.q, motion.u, motion.udot, loads=load)
    scale = max(np.abs(carried.force).max(), np.abs(carried.moment).max())
    assert unbalanced(model, motion, load, carried) < ROUNDING * scale
    assert len(carried.constraints) == len(model.constraints)


def test_independent_coordinates_alone_are_driven(moving):
    """Joints give no generalised force at dependent coordinates, and at the others what moves the mechanism."""
    model, motion, load = moving
    e = embedding_of(model)
    found = joint_reactions(model, motion.q, motion.u, motion.udot, load)
    moment = inverse_dynamics(model, motion.q, motion.u, motion.udot, load)
    scale = np.abs(moment).max()
    free = [model.speed_index(name) for name in e.speed_names]
    others = [k for k in range(len(model.speed_names)) if k not in free]
    assert np.abs(found.tau[:, others]).max() < ROUNDING * scale
    assert_close(found.tau[:, free], e.pull_back(motion.q, moment), ROUNDING, "drive")
    carried = joint_loads(model, motion.q, motion.u, motion.udot, loads=load)
    assert_close(carried.force, found.force, ROUNDING, "force")
    assert np.abs(carried.moment - found.moment).max() < ROUNDING * scale


def test_forces_that_produce_the_motion_leave_no_choice(moving):
    """With the drive stated, and with accelerations sought, loads are those of the multipliers of forward dynamics."""
    model, motion, load = moving
    e = embedding_of(model)
    rng = np.random.default_rng(4)
    tau = rng.normal(size=motion.u.shape)
    sought = joint_loads(model, motion.q, motion.u, tau=tau, loads=load)
    given = joint_loads(model, motion.q, motion.u, sought.udot, tau=tau, loads=load)
    known = constrained_acceleration(model, motion.q, motion.u, tau, load)
    assert_close(sought.udot, known.udot, ROUNDING, "udot")
    for name, one in known.reactions.items():
        for ours in (sought.constraints[name], given.constraints[name]):
            assert_close(ours.force, one.force, ROUNDING, "force of a constraint")
            assert np.abs(ours.moment - one.moment).max() < ROUNDING * np.abs(one.force).max()
    single = joint_loads(model, motion.q[1], motion.u[1], tau=tau[1], loads=frame_of(load, 1))
    assert_close(single.force, sought.force[1], ROUNDING, "one frame")
    assert {one.force.shape for one in single.constraints.values()} == {(3,)}
    assert e.loops


def frame_of(load: ExternalLoad, k: int) -> ExternalLoad:
    return ExternalLoad(load.body, load.force[k], load.point, load.moment[k])
