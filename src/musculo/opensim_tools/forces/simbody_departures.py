"""Where Simbody departs from our mechanics: a velocity term of joints of functions, and loops that speeds leave open.

The term is made up for by loads.

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

from musculo.arrays import FloatArray
from musculo.dynamics.constrained_dynamics import constraint_equations
from musculo.dynamics.inverse import mass_matrix
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.embedding.loops.equations.body_equations import BodyEquation
from musculo.kernels.constraints.body_loop_equations import COINCIDENT, WELDED
from musculo.model.body import GROUND
from musculo.model.joints import CustomJoint
from musculo.model.model import Model
from musculo.spatial.inertia import tensor
from musculo.spatial.pose import Pose

# Singular values of G M^-1 G^T below this part of the largest are rounding: their equations repeat others.
_REPEATED = 1e-12


def simbody_loads(model: Model, q: FloatArray, u: FloatArray) -> list[ExternalLoad]:
    """Loads on bodies with which our dynamics gives OpenSim's generalized forces; empty for most models.

    Simbody's angular acceleration of a joint is off by alpha, which turns every body outboard of it:
    force -m alpha x r at its mass center and moment -I alpha, so that inverse dynamics adds what Simbody adds.
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


def departs(model: Model) -> bool:
    """Whether there are ever such loads."""
    return bool(_joints(model))


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


# --- closed loops ---------------------------------------------------------------------------------------------------
def simbody_loop_accelerations(model: Model, q: FloatArray, u: FloatArray, velocity_error: FloatArray) -> FloatArray:
    """(frames, n_u): what Simbody adds to udot where speeds leave loops open; zero where they do not.

    Two points P of body 1 and S of body 2 that coincide have v = v_S - v_P = 0. Where u has v != 0, as OpenSim's speeds
    of joints whose speeds are no derivatives do, derivatives of this depend on who looks:

        ours, as body 1 sees it:                a_S - a_P = 2 w_1 x v
        Simbody, as the common ancestor A does: a_S - a_P = 2 w_A x v          (`Constraint::Ball`, `Weld`)

        udot += M^-1 G^T (G M^-1 G^T)^+ d,      d = 2 R_1^T ((w_A - w_1) x v),  v = R_1 gdot

    Args:
        model: the model.
        q, u: (frames, n), (frames, n_u).
        velocity_error: (frames, m) gdot of `constraint_equations(model)`.
    """
    system = constraint_equations(model)
    d, motion, poses = np.zeros_like(velocity_error), kinematics(model, q, u), system.poses(q)
    for equation, rows in zip(system.equations, system.rows, strict=True):
        if not isinstance(equation, BodyEquation) or equation.kind not in (COINCIDENT, WELDED):
            continue
        at = np.arange(velocity_error.shape[1])[rows][-3:]
        R = poses.R[:, equation.nodes[0]] @ equation.poses[0].R
        v = np.einsum("fij,fj->fi", R, velocity_error[:, at])
        ancestor = _common_ancestor(model, equation.first_body, equation.second_body)
        w = [motion.angular_velocity(body) if body != GROUND else 0.0 for body in (ancestor, equation.first_body)]
        d[:, at] = 2.0 * np.einsum("fji,fj->fi", R, np.cross(np.broadcast_to(w[0] - w[1], v.shape), v))
    if not d.any():
        return np.zeros_like(u)
    G, M = system.by_speeds(q).jacobian, mass_matrix(model, q)
    spread = np.linalg.solve(M, np.swapaxes(G, 1, 2))
    multipliers = np.einsum("fij,fj->fi", np.linalg.pinv(G @ spread, rcond=_REPEATED, hermitian=True), d)
    return np.einsum("fij,fj->fi", spread, multipliers)


def _common_ancestor(model: Model, first: str, second: str) -> str:
    """The body nearest to both on their ways to ground."""
    inboard = {joint.child.body: joint.parent.body for joint in model.joints}

    def way(body: str) -> list[str]:
        found = [body]
        while found[-1] in inboard and len(found) <= len(inboard):
            found.append(inboard[found[-1]])
        return found

    other = way(second)
    return next((body for body in way(first) if body in other), GROUND)
