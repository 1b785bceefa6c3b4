"""Where Simbody's function-based mobilizer departs from Seth2010 eq. 28, and by how much.

A joint of functions has w = sum_i W_i thetadot_i with W = [a1, R1 a2, R1 R2 a3], and eq. 28 states

    Wdot = [0, w_1 x W_2, w_12 x W_3],   w_1 = W_1 thetadot_1,   w_12 = W_1 thetadot_1 + W_2 thetadot_2.

Simbody 3.8 (`FunctionBasedImpl::CacheInfo::buildHdot`) selects by coordinate where the equation selects by rotation:
for w_1 it takes the part of w that the joint's first coordinate drives, for w_12 the part that all but its third
coordinate drive. Both are the same where each rotation has a coordinate of its own, in order, as in a hip. They differ
where the first coordinate also drives the third rotation: w_1 then holds W_3 thetadot_3 too, and with it the angular
acceleration is off by thetadot_2 thetadot_3 W_3 x W_2 (Rajagopal's knee, whose angle drives all three rotations).
A third rotation does not disturb itself (W_3 x W_3 = 0), so sharing between the first two or the last two is harmless.

The joint's first coordinate is the one that its axes name first, rotations before translations.
"""

from __future__ import annotations

import numpy as np

from musculo import Model, kinematics
from musculo.model.joints import CustomJoint
from musculo.spatial.inertia import tensor
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import axis_rotation


def _coordinate_order(joint: CustomJoint) -> list[str]:
    names: list[str] = []
    for axis in (*joint.rotations, *joint.translations):
        names += [name for name in axis.coordinates if name not in names]
    return names


def angular_excess(joint: CustomJoint, value: dict[str, float], speed: dict[str, float]) -> np.ndarray:
    """Simbody's angular acceleration of M in F less the true one, in F, at coordinates and speeds by name."""
    R = np.eye(3)
    W, slopes = [], []  # columns of W, and d theta_i / d q by coordinate
    for axis in joint.rotations:
        a = np.asarray(axis.direction, dtype=float)
        names = axis.coordinates[: axis.function.n_arguments]
        x = [value[name] for name in names]
        W.append(R @ (a / np.linalg.norm(a)))
        gradient = np.atleast_1d(axis.function.gradient(*x)) if names else np.zeros(0)
        slopes.append({name: float(g) for name, g in zip(names, gradient, strict=True)})
        R = R @ axis_rotation(a, float(axis.function(*(x or [0.0]))))
    rates = [sum(d[name] * speed[name] for name in d) for d in slopes]
    order = _coordinate_order(joint)

    def driven_by(names) -> np.ndarray:
        return sum((w * d[n] * speed[n] for w, d in zip(W, slopes, strict=True) for n in names if n in d), np.zeros(3))

    first = driven_by(order[:1])
    but_third = driven_by([name for k, name in enumerate(order) if k != 2])
    true = [np.zeros(3), W[0] * rates[0], W[0] * rates[0] + W[1] * rates[1]]
    return np.cross(first - true[1], W[1]) * rates[1] + np.cross(but_third - true[2], W[2]) * rates[2]


def simbody_excess(model: Model, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """(frames, n_u): OpenSim's generalised forces of a motion less the true ones.

    Each joint's excess alpha (about the origin of its M) turns all bodies outboard of it:
    delta tau = sum_B J_B^T (I_B alpha, m_B alpha x r_B).
    """
    joints = [j for j in model.joints if isinstance(j, CustomJoint)]
    excess = np.zeros((len(q), len(model.speed_names)))
    for frame in range(len(q)):
        value = dict(zip(model.coordinate_names, q[frame], strict=True))
        speed = dict(zip(model.speed_names, u[frame], strict=True))
        for joint in joints:
            alpha_F = angular_excess(joint, value, speed)
            if np.abs(alpha_F).max() > 0:
                excess[frame] += _forces(model, q[frame], joint, alpha_F)
    return excess


def _forces(model: Model, q: np.ndarray, joint: CustomJoint, alpha_F: np.ndarray) -> np.ndarray:
    motion = kinematics(model, q)
    X_PF, X_BM = (Pose.from_xyz(x.orientation, x.translation) for x in (joint.parent, joint.child))
    alpha = motion.pose(joint.parent.body).R @ X_PF.R @ alpha_F
    origin = motion.position(joint.child.body, X_BM.p)
    total = np.zeros(len(model.speed_names))
    for name in _outboard(model, joint.child.body):
        body = model.body(name)
        J = motion.frame_jacobian(name, body.mass_center)
        R = motion.pose(name).R
        force = body.mass * np.cross(alpha, motion.position(name, body.mass_center) - origin)
        total += J.T @ np.concatenate([R @ tensor(body.inertia) @ R.T @ alpha, force])
    return total


def _outboard(model: Model, body: str) -> list[str]:
    found = [body]
    for name in found:
        found += [j.child.body for j in model.joints if j.parent.body == name]
    return found


def simbody_load_excess(model: Model, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(force, moment), each (frames, joints, 3) in ground: OpenSim's loads on children less the true ones, same udot.

    A joint's excess alpha turns all bodies outboard of it, and what that needs goes through every joint inboard of
    them, up to the joint itself and beyond to ground.
    """
    force, moment = np.zeros((len(q), len(model.joints), 3)), np.zeros((len(q), len(model.joints), 3))
    outboard = {joint.name: set(_outboard(model, joint.child.body)) for joint in model.joints}
    motion = kinematics(model, q)
    centers = {
        joint.name: motion.position(joint.child.body, joint.child.translation).reshape(-1, 3) for joint in model.joints
    }
    for source in (j for j in model.joints if isinstance(j, CustomJoint)):
        alpha_F = np.stack(
            [
                angular_excess(
                    source,
                    dict(zip(model.coordinate_names, q[f], strict=True)),
                    dict(zip(model.speed_names, u[f], strict=True)),
                )
                for f in range(len(q))
            ]
        )
        if not np.abs(alpha_F).max() > 0:
            continue
        R_F = motion.pose(source.parent.body).R @ Pose.from_xyz(source.parent.orientation, (0, 0, 0)).R
        alpha = np.einsum("fij,fj->fi", R_F, alpha_F)
        for name in outboard[source.name]:
            body = model.body(name)
            R, c = motion.pose(name).R, motion.position(name, body.mass_center)
            push = body.mass * np.cross(alpha, c - centers[source.name])
            turn = np.einsum("fij,jk,flk,fl->fi", R, tensor(body.inertia), R, alpha)
            for k, joint in enumerate(model.joints):
                if name in outboard[joint.name]:
                    force[:, k] += push
                    moment[:, k] += turn + np.cross(c - centers[joint.name], push)
    return force, moment
