"""Random trees against Pinocchio, for every joint that it has: poses, velocities, Jacobians, M, tau, udot.

Pinocchio's spherical, free-flyer and planar joints have their speeds in the body frame, ours in the parent frame:
v_pin = S(q) u, so tau = S^T tau_pin and M = S^T M_pin S.
"""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import Model
from musculo.functions import Linear
from musculo.model.joints import (
    Axis,
    BallJoint,
    CustomJoint,
    CylindricalJoint,
    FreeJoint,
    GimbalJoint,
    PinJoint,
    PlanarJoint,
    ScrewJoint,
    SliderJoint,
    UniversalJoint,
    WeldJoint,
)
from musculo.spatial.inertia import RigidInertia, tensor
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import from_quaternion, from_xyz, quaternion_from_xyz
from support.dynamics_models import (
    assert_close,
    difference_nodes,
    extrapolated,
    named,
    random_body,
    random_placement,
    random_q,
    random_unit,
)

pin = pytest.importorskip("pinocchio")

# Both are O(n) recursions in float64 over paths of up to 60 joints: rounding, times some hundred operations.
ROUNDING = 1e-12
# Differences of a rotation and its speeds lose rounding over the step (0.005).
DIFFERENCES = 1e-10
# Accelerations: rounding times the condition of the mass matrix.
SOLVED_PER_CONDITION = 10 * np.finfo(float).eps

X, Y, Z = np.eye(3)


def composite(*models):
    joint = pin.JointModelComposite()
    for model in models:
        joint.addJoint(model)
    return joint


def axes(*directions, coordinates):
    made = [Axis(tuple(d), Linear(1.0, 0.0), (c.name,)) for d, c in zip(directions, coordinates, strict=True)]
    still = [Axis(tuple(e)) for e in np.eye(3)]
    return tuple(made + still[len(made) :])


class Kind:
    """One joint: how to build it on both sides, and how its state maps; the plain one has equal states."""

    n = 1

    def __init__(self, ours, theirs, n=1):
        self.n, self._ours, self._theirs = n, ours, theirs

    def build(self, rng, name, parent, child):
        return self._ours(rng, name, parent, child), self._theirs

    def state(self, q, u, udot):
        """(q, v, vdot, S) of Pinocchio."""
        return q, u, udot, np.eye(len(u))


class Slanted(Kind):
    """An axis that is no coordinate axis."""

    def build(self, rng, name, parent, child):
        axis = random_unit(rng)
        coordinate = named(name, 1)
        turns = {"rotations" if self._ours == "turn" else "translations": axes(axis, coordinates=coordinate)}
        joint = CustomJoint(name, parent, child, coordinate, **turns)
        return joint, self._theirs(axis)


class Screw(Kind):
    def build(self, rng, name, parent, child):
        pitch = rng.uniform(-0.5, 0.5)
        return ScrewJoint(name, parent, child, named(name, 1), pitch=pitch), pin.JointModelHZ(pitch)


class Turning(Kind):
    """Ball and free joints, with angles or quaternions."""

    def _rotation(self, q):
        if len(q) in (4, 7):
            return q[:4], from_quaternion(q[:4])
        return quaternion_from_xyz(q[:3]), from_xyz(q[:3])

    def state(self, q, u, udot):
        (w, x, y, z), R = self._rotation(q)
        S = R.T
        if len(u) == 3:
            return np.array([x, y, z, w]), S @ u, S @ udot, S
        omega, v = u[:3], u[3:]
        S = np.block([[np.zeros((3, 3)), R.T], [R.T, np.zeros((3, 3))]])
        turned = np.concatenate([udot[:3], udot[3:] - np.cross(omega, v)])
        return np.array([*q[-3:], x, y, z, w]), S @ u, S @ turned, S


class Planar(Kind):
    def state(self, q, u, udot):
        c, s = np.cos(q[0]), np.sin(q[0])
        S = np.array([[0, c, s], [0, -s, c], [1, 0, 0]])
        drift = u[0] * np.array([0, u[2], -u[1]])  # -omega x v in the plane
        return np.array([q[1], q[2], c, s]), S @ u, S @ (udot + drift), S


def _simple(kind, n):
    return lambda rng, name, parent, child: kind(name, parent, child, named(name, n))


def _turning(kind, n, quaternion):
    return lambda rng, name, parent, child: kind(name, parent, child, named(name, n), quaternion=quaternion)


def _zyx(rng, name, parent, child):
    coordinates = named(name, 3)
    return CustomJoint(name, parent, child, coordinates, rotations=axes(Z, Y, X, coordinates=coordinates))


def _translation(rng, name, parent, child):
    coordinates = named(name, 3)
    return CustomJoint(name, parent, child, coordinates, translations=axes(X, Y, Z, coordinates=coordinates))


KINDS = {
    "pin": Kind(_simple(PinJoint, 1), pin.JointModelRZ()),
    "slider": Kind(_simple(SliderJoint, 1), pin.JointModelPX()),
    "slanted_pin": Slanted("turn", pin.JointModelRevoluteUnaligned),
    "slanted_slider": Slanted("slide", pin.JointModelPrismaticUnaligned),
    "screw": Screw(None, None),
    "universal": Kind(_simple(UniversalJoint, 2), pin.JointModelUniversal(X, Y), 2),
    "gimbal": Kind(_simple(GimbalJoint, 3), composite(pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ()), 3),
    "zyx": Kind(_zyx, pin.JointModelSphericalZYX(), 3),
    "translation": Kind(_translation, pin.JointModelTranslation(), 3),
    "cylindrical": Kind(_simple(CylindricalJoint, 2), composite(pin.JointModelRZ(), pin.JointModelPZ()), 2),
    "planar": Planar(_simple(PlanarJoint, 3), pin.JointModelPlanar(), 3),
    "ball": Turning(_turning(BallJoint, 3, False), pin.JointModelSpherical(), 3),
    "ball_quaternion": Turning(_turning(BallJoint, 4, True), pin.JointModelSpherical(), 3),
    "free": Turning(_turning(FreeJoint, 6, False), pin.JointModelFreeFlyer(), 6),
    "free_quaternion": Turning(_turning(FreeJoint, 7, True), pin.JointModelFreeFlyer(), 6),
    "weld": Kind(_simple(WeldJoint, 0), None, 0),
}


def se3(X):
    return pin.SE3(np.asarray(X.R), np.asarray(X.p))


def placed(placement):
    return Pose.from_xyz(placement.orientation, placement.translation)


class Pair:
    """One random tree in both libraries, with the same state."""

    def __init__(self, n: int, seed: int, kinds=tuple(KINDS), depth: int = 6):
        rng = np.random.default_rng(seed)
        gravity = rng.normal(size=3) * 5
        bodies, edges = [], []
        for k in range(n):
            kind = KINDS[kinds[k] if k < len(kinds) else rng.choice(list(kinds))]
            bodies.append(random_body(rng, f"b{k}"))
            parent = "ground" if k == 0 else str(rng.choice(["ground", *(b.name for b in bodies[:-1])][-depth:]))
            joint, theirs = kind.build(rng, f"j{k}", random_placement(rng, parent), random_placement(rng, f"b{k}"))
            edges.append((kind, joint, theirs))
        joints = [edge[1] for edge in edges]
        self.model = Model("tree", tuple(bodies), tuple(joints[i] for i in rng.permutation(n)), gravity=tuple(gravity))
        self.pin = pin.Model()
        self.pin.gravity.linear = gravity
        self.chosen = self._build(edges)
        self.data = self.pin.createData()
        self.q = random_q(self.model, rng)
        self.u, self.udot = rng.uniform(-1, 1, size=(2, len(self.model.speed_names)))
        self.q_pin, self.v, self.vdot, self.S = self.state_at(self.q, self.u, self.udot)

    def _build(self, edges):
        """Add the joints to Pinocchio, depth first: its mass matrix wants the joints of a subtree side by side."""
        children: dict[str, list] = {}
        for edge in edges:
            children.setdefault(edge[1].parent.body, []).append(edge)
        chosen, waiting = [], [(edge, 0, Pose.identity()) for edge in reversed(children["ground"])]
        while waiting:
            (kind, joint, theirs), at, X_JP = waiting.pop()
            body = self.model.body(joint.child.body)
            X_JF, X_MB = X_JP @ placed(joint.parent), placed(joint.child).inverse()
            if theirs is None:
                index, X_JB = at, X_JF @ X_MB
            else:
                index, X_JB = self.pin.addJoint(at, theirs, se3(X_JF), joint.name), X_MB
                chosen.append((kind, joint, index))
            m, c, I = RigidInertia(body.mass, np.array(body.mass_center), tensor(body.inertia)).in_frame(X_JB)
            self.pin.appendBodyToJoint(index, pin.Inertia(m, c, I), pin.SE3.Identity())
            self.pin.addFrame(pin.Frame(body.name, index, 0, se3(X_JB), pin.FrameType.OP_FRAME))
            waiting += [(edge, index, X_JB) for edge in children.get(body.name, [])]
        return chosen

    def state_at(self, q, u, udot):
        """(q, v, vdot, S) of Pinocchio at a state of ours."""
        q_pin, v, vdot = pin.neutral(self.pin), np.zeros(self.pin.nv), np.zeros(self.pin.nv)
        S = np.zeros((self.pin.nv, len(u)))
        for kind, joint, index in self.chosen:
            at_q = [self.model.coordinate_index(x) for x in joint.coordinate_names]
            at_u = [self.model.speed_index(x) for x in joint.speed_names]
            there = self.pin.joints[index]
            rows = slice(there.idx_v, there.idx_v + there.nv)
            own = kind.state(q[at_q], u[at_u], udot[at_u])
            q_pin[there.idx_q : there.idx_q + there.nq], v[rows], vdot[rows], S[rows, at_u] = own
        return q_pin, v, vdot, S

    def flat_state(self, q, u):
        """v, vdot and S one after the other, at our accelerations."""
        return np.concatenate([x.ravel() for x in self.state_at(q, u, self.udot)[1:]])


CASES = [pytest.param(n, seed, id=f"{n}-{seed}") for n in (5, 16, 30, 60) for seed in range(4)]
EACH = [pytest.param((kind,), id=kind) for kind in KINDS if kind != "weld"]


def check_kinematics(pair):
    pin.forwardKinematics(pair.pin, pair.data, pair.q_pin, pair.v, pair.vdot)
    pin.updateFramePlacements(pair.pin, pair.data)
    pin.computeJointJacobians(pair.pin, pair.data, pair.q_pin)
    motion = musculo.kinematics(pair.model, pair.q, pair.u, pair.udot)
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for body in pair.model.bodies:
        frame = pair.pin.getFrameId(body.name)
        pose = motion.pose(body.name)
        assert_close(pose.R, pair.data.oMf[frame].rotation, ROUNDING, "R")
        assert_close(pose.p, pair.data.oMf[frame].translation, ROUNDING, "p")
        v = pin.getFrameVelocity(pair.pin, pair.data, frame, aligned)
        assert_close(motion.angular_velocity(body.name), v.angular, ROUNDING, "w")
        assert_close(motion.velocity(body.name), v.linear, ROUNDING, "v")
        a = pin.getFrameClassicalAcceleration(pair.pin, pair.data, frame, aligned)
        assert_close(motion.angular_acceleration(body.name), a.angular, ROUNDING, "alpha")
        assert_close(motion.acceleration(body.name), a.linear, ROUNDING, "a")
        J = pin.getFrameJacobian(pair.pin, pair.data, frame, aligned).reshape(6, -1) @ pair.S
        assert_close(motion.frame_jacobian(body.name), np.vstack([J[3:], J[:3]]), ROUNDING, "J")


# Pinocchio's derivatives take the axes of a joint as constant in its frame. Of these joints they are not, and its
# derivatives differ from differences of its own inverse dynamics by as much as they differ from ours.
AXES_THAT_TURN = ("universal", "gimbal", "zyx")
FIXED_AXES = tuple(kind for kind in KINDS if kind not in AXES_THAT_TURN)


def close_of(scale, actual, expected, tolerance, what):
    """As `assert_close`, as a part of a given scale: some derivatives vanish."""
    worst = np.abs(actual - expected).max()
    assert worst <= tolerance * scale, f"{what}: {worst:.2e} of {scale:.2e}"


def check_derivatives(pair):
    """Of tau by displacements along our speeds, by u and by udot.

    v_pin = S(q) u and vdot_pin = S(q) udot + s(q, u), so at constant u and udot Pinocchio's state changes with q, too:

        dtau/dq = S^T (dtau_pin/dq S + dtau_pin/dv dv/dq + M_pin dvdot/dq) + (dS/dq)^T tau_pin

    The changes of S and s, which are those of one rotation, are taken by extrapolated differences.
    """
    model, q, u, udot, S = pair.model, pair.q, pair.u, pair.udot, pair.S
    parts = pin.computeRNEADerivatives(pair.pin, pair.data, pair.q_pin, pair.v, pair.vdot)
    by_q, by_v, mass = (part.copy() for part in parts)
    mass = np.triu(mass) + np.triu(mass, 1).T
    tau = pin.rnea(pair.pin, pair.data, pair.q_pin, pair.v, pair.vdot)
    found = musculo.inverse_dynamics_derivatives(model, q, u, udot)
    assert_close(found.dtau_dudot, S.T @ mass @ S, ROUNDING, "dtau/dudot")
    t, N = difference_nodes(), np.column_stack([musculo.coordinate_rates(model, q, e) for e in np.eye(len(u))])

    def along(x, y):
        """Slopes of v, vdot and S, one after the other, along x of q and y of u."""
        return extrapolated(np.stack([pair.flat_state(q + s * x, u + s * y) for s in t]))

    n, k = len(tau), len(u)
    expected_q, expected_u = np.zeros((k, k)), np.zeros((k, k))
    for j, e in enumerate(np.eye(k)):
        changed = along(N[:, j], 0.0 * u)
        dv, dvdot, dS = changed[:n], changed[n : 2 * n], changed[2 * n :].reshape(n, k)
        expected_q[:, j] = S.T @ (by_q @ S[:, j] + by_v @ dv + mass @ dvdot) + dS.T @ tau
        changed = along(0.0 * q, e)
        expected_u[:, j] = S.T @ (by_v @ changed[:n] + mass @ changed[n : 2 * n])
    scale = max(np.abs(expected_q).max(), np.abs(expected_u).max(), np.abs(tau).max())
    close_of(scale, found.dtau_dmotion, expected_q, DIFFERENCES, "dtau/dq")
    close_of(scale, found.dtau_du, expected_u, DIFFERENCES, "dtau/du")


def check_dynamics(pair):
    model, q, u, udot, S = pair.model, pair.q, pair.u, pair.udot, pair.S
    tau_pin = pin.rnea(pair.pin, pair.data, pair.q_pin, pair.v, pair.vdot)
    tau = musculo.inverse_dynamics(model, q, u, udot)
    assert_close(tau, S.T @ tau_pin, ROUNDING, "rnea")
    M_pin = pin.crba(pair.pin, pair.data, pair.q_pin)
    M_pin = np.triu(M_pin) + np.triu(M_pin, 1).T
    M = musculo.mass_matrix(model, q)
    assert_close(M, S.T @ M_pin @ S, ROUNDING, "crba")
    gravity = pin.computeGeneralizedGravity(pair.pin, pair.data, pair.q_pin)
    assert_close(musculo.gravity_forces(model, q), S.T @ gravity, ROUNDING, "gravity")
    # accelerations: v = S u, so vdot = S udot + Sdot u, and Sdot u is what both states differ by
    force = np.random.default_rng(0).normal(size=len(u))
    vdot = pin.aba(pair.pin, pair.data, pair.q_pin, pair.v, np.linalg.solve(S.T, force))
    expected = np.linalg.solve(S, vdot - (pair.vdot - S @ udot))
    tolerance = SOLVED_PER_CONDITION * np.linalg.cond(M)
    assert_close(musculo.forward_dynamics(model, q, u, force), expected, tolerance, "aba")
    pin.computeCentroidalMomentum(pair.pin, pair.data, pair.q_pin, pair.v)
    linear, angular = musculo.momentum(model, q, u)
    theirs = np.concatenate([pair.data.hg.linear, pair.data.hg.angular])
    assert_close(np.concatenate([linear, angular]), theirs, ROUNDING, "momentum")
    assert_close(musculo.center_of_mass(model, q), pin.centerOfMass(pair.pin, pair.data, pair.q_pin), ROUNDING, "com")
    kinetic = pin.computeKineticEnergy(pair.pin, pair.data, pair.q_pin, pair.v)
    potential = pin.computePotentialEnergy(pair.pin, pair.data, pair.q_pin)
    assert_close(musculo.kinetic_energy(model, q, u), kinetic, ROUNDING, "T")
    assert_close(musculo.potential_energy(model, q), potential, ROUNDING, "V")


@pytest.mark.parametrize("kinds", EACH)
def test_one_joint_alone(kinds):
    """So that a failure names the joint."""
    pair = Pair(1, seed=1, kinds=kinds)
    check_kinematics(pair)
    check_dynamics(pair)
    if kinds[0] not in AXES_THAT_TURN:
        check_derivatives(pair)


@pytest.mark.parametrize(("n", "seed"), CASES)
def test_positions_velocities_accelerations_and_jacobians(n, seed):
    check_kinematics(Pair(n, seed))


@pytest.mark.parametrize(("n", "seed"), CASES)
def test_forces_masses_and_accelerations(n, seed):
    check_dynamics(Pair(n, seed))


@pytest.mark.parametrize("kind", AXES_THAT_TURN)
def test_derivatives_where_axes_turn(kind):
    """Differences of Pinocchio's recursion are the judge: ours agree with them, its own derivatives do not."""
    pair = Pair(3, seed=1, kinds=(kind,), depth=1)
    t, data = difference_nodes(), pair.pin.createData()

    def tau(v):
        return pin.rnea(pair.pin, data, pin.integrate(pair.pin, pair.q_pin, v), pair.v, pair.vdot)

    by_v = np.column_stack([extrapolated(np.stack([tau(s * unit) for s in t])) for unit in np.eye(pair.pin.nv)])
    found = musculo.inverse_dynamics_derivatives(pair.model, pair.q, pair.u, pair.udot)
    assert_close(found.dtau_dq, pair.S.T @ by_v @ pair.S, DIFFERENCES, "dtau/dq")
    theirs = pin.computeRNEADerivatives(pair.pin, data, pair.q_pin, pair.v, pair.vdot)[0]
    assert np.abs(theirs - by_v).max() > 0.01 * np.abs(by_v).max(), "Pinocchio's agree now: drop AXES_THAT_TURN"


@pytest.mark.parametrize(("n", "seed"), CASES[::2])
def test_derivatives_of_inverse_dynamics(n, seed):
    check_derivatives(Pair(n, seed, kinds=FIXED_AXES))


def test_a_long_chain():
    """Sixty bodies in a row, one kind after the other."""
    pair = Pair(60, seed=99, depth=1)
    check_kinematics(pair)
    check_dynamics(pair)
    check_derivatives(Pair(60, seed=99, kinds=FIXED_AXES, depth=1))
