"""Simbody's velocity term of joints of functions, where it departs from the truth: as loads that make up for it.

A joint of functions has w = sum_i W_i thetadot_i with W = [a1, R1 a2, R1 R2 a3], and [Seth2010] eq. 28 states

    Wdot = [0, w_1 x W_2, w_12 x W_3],   w_1 = W_1 thetadot_1,   w_12 = W_1 thetadot_1 + W_2 thetadot_2.

Simbody 3.8 (`FunctionBasedImpl::CacheInfo::buildHdot`) selects by coordinate where the equation selects by rotation:
for w_1 it takes what the joint's first coordinate drives, for w_12 what all but its third drive. Both are the same
where each rotation has a coordinate of its own, in order. They differ where the first coordinate also drives the third
rotation, as in Rajagopal's knee. Lagrange's equation decides for eq. 28 (`tests/oracles/test_opensim_dynamics.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.compile.frames import FloatArray
from musculo.dynamics.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.model.joints import CustomJoint
from musculo.model.model import Model
from musculo.spatial.inertia import tensor
from musculo.spatial.pose import Pose


def simbody_loads(model: Model, q: FloatArray, u: FloatArray) -> list[ExternalLoad]:
    """Loads on bodies with which our dynamics gives OpenSim's generalised forces; empty for most models.

    Simbody's angular acceleration of a joint is off by alpha, which turns every body outboard of it:
    force -m alpha x r at its mass centre and moment -I alpha, so that inverse dynamics adds what Simbody adds.
    """
    excess = {j.name: _angular_excess(model, j, q, u) for j in _joints(model)}
    wrong = [j for j in _joints(model) if np.abs(excess[j.name]).max(initial=0.0) > 0.0]
    if not wrong:
        return []
    motion = kinematics(model, q)
    loads = []
    for joint in wrong:
        X_PF, X_BM = (Pose.from_xyz(x.orientation, x.translation) for x in (joint.parent, joint.child))
        R_WF = motion.batch_pose(joint.parent.body)[0] @ X_PF.R
        alpha = np.einsum("fij,fj->fi", R_WF, excess[joint.name])
        origin = motion.position(joint.child.body, X_BM.p)
        for name in _outboard(model, joint.child.body):
            body = model.body(name)
            center = motion.position(name, body.mass_center)
            R = motion.batch_pose(name)[0]
            spin = np.einsum("fij,jk,flk,fl->fi", R, tensor(body.inertia), R, alpha, optimize=True)
            loads.append(ExternalLoad(name, -body.mass * np.cross(alpha, center - origin), center, -spin))
    return loads


def _joints(model: Model) -> Sequence[CustomJoint]:
    """Joints in which one coordinate drives several rotations."""
    found = []
    for joint in model.joints:
        if isinstance(joint, CustomJoint):
            drivers = [name for axis in joint.rotations for name in axis.coordinates[: axis.function.n_arguments]]
            if len(drivers) > len(set(drivers)):
                found.append(joint)
    return found


def _angular_excess(model: Model, joint: CustomJoint, q: FloatArray, u: FloatArray) -> FloatArray:
    """(frames, 3): Simbody's angular acceleration of the joint less the true one, in its parent frame."""
    frames = len(q)
    R = np.broadcast_to(np.eye(3), (frames, 3, 3))
    W, parts, order = [], [], []
    for axis in (*joint.rotations, *joint.translations):
        order += [name for name in axis.coordinates if name not in order]
    for axis in joint.rotations:
        a = np.asarray(axis.direction, dtype=float)
        a = a / np.linalg.norm(a)
        names = axis.coordinates[: axis.function.n_arguments]
        x = [q[:, model.coordinate_index(name)] for name in names]
        gradient = axis.function.gradient(*x) if names else np.zeros((frames, 0))
        speed = [u[:, model.speed_index(name)] for name in names]
        parts.append({name: gradient[:, k] * speed[k] for k, name in enumerate(names)})
        W.append(R @ a)
        angle = axis.function(*x) if names else np.full(frames, float(axis.function(0.0)))
        K = np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
        R = R @ (np.eye(3) + np.sin(angle)[:, None, None] * K + (1.0 - np.cos(angle))[:, None, None] * (K @ K))
    rates = [sum(part.values(), np.zeros(frames)) for part in parts]

    def driven(names: Sequence[str]) -> FloatArray:
        total = np.zeros((frames, 3))
        for w, part in zip(W, parts, strict=True):
            for name in names:
                if name in part:
                    total += w * part[name][:, None]
        return total

    first = driven(order[:1]) - W[0] * rates[0][:, None]
    but_third = driven([name for k, name in enumerate(order) if k != 2])
    but_third -= W[0] * rates[0][:, None] + W[1] * rates[1][:, None]
    return np.cross(first, W[1]) * rates[1][:, None] + np.cross(but_third, W[2]) * rates[2][:, None]


def _outboard(model: Model, body: str) -> list[str]:
    found = [body]
    for name in found:
        found += [j.child.body for j in model.joints if j.parent.body == name]
    return found
