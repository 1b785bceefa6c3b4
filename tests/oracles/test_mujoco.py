"""MuJoCo as a third opinion: trees of hinges, slides, balls and a free root."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Coordinate, Model, Placement, inverse_dynamics, mass_matrix
from musculo.model.joints import BallJoint, FreeJoint, PinJoint, SliderJoint
from musculo.spatial.inertia import tensor
from musculo.spatial.rotation import from_quaternion, quaternion_from_xyz

mujoco = pytest.importorskip("mujoco")

# Recursions in float64 on trees a dozen bodies deep; MuJoCo reads its model from decimal text of 17 digits.
ROUNDING = 1e-12
FRAMES = 5


def random_tree(seed: int, kinds: str) -> Model:
    """One body a letter: (p)in, (s)lider, (b)all, (f)ree; each hangs on a random body before it."""
    rng = np.random.default_rng(seed)
    bodies, joints = [], []
    for i, kind in enumerate(kinds):
        S = rng.normal(size=(3, 3)) * 0.1
        S = S @ S.T + 0.01 * np.eye(3)
        J = np.trace(S) * np.eye(3) - S
        six = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
        bodies.append(Body(f"b{i}", rng.uniform(0.5, 3.0), tuple(rng.normal(size=3) * 0.1), six))
        inboard = "ground" if i == 0 or kind == "f" else f"b{rng.integers(i)}"
        # MuJoCo states free bodies in ground
        offset = (0.0, 0.0, 0.0) if kind == "f" else tuple(rng.normal(size=3) * 0.2)
        turn = (0.0, 0.0, 0.0) if kind == "f" else tuple(rng.uniform(-1, 1, 3))
        place, child = Placement(inboard, offset, turn), Placement(f"b{i}")
        names = {"p": 1, "s": 1, "b": 4, "f": 7}[kind]
        q = tuple(Coordinate(f"q{i}_{k}") for k in range(names))
        if kind == "p":
            joints.append(PinJoint(f"j{i}", place, child, q))
        elif kind == "s":
            joints.append(SliderJoint(f"j{i}", place, child, q))
        elif kind == "b":
            joints.append(BallJoint(f"j{i}", place, child, q, quaternion=True))
        else:
            joints.append(FreeJoint(f"j{i}", place, child, q, quaternion=True))
    return Model("tree", tuple(bodies), tuple(joints), gravity=(0.3, -0.2, -9.81))


def mjcf(model: Model) -> str:
    """The tree as a MuJoCo document."""

    def numbers(values) -> str:
        return " ".join(repr(float(v)) for v in values)

    def element(name: str) -> str:
        joint = next(j for j in model.joints if j.child.body == name)
        body = model.body(name)
        kind = {
            "PinJoint": '<joint type="hinge" axis="0 0 1"/>',
            "SliderJoint": '<joint type="slide" axis="1 0 0"/>',
            "BallJoint": '<joint type="ball"/>',
            "FreeJoint": '<joint type="free"/>',
        }[joint.kind]
        inside = "".join(element(j.child.body) for j in model.joints if j.parent.body == name)
        quat = numbers(quaternion_from_xyz(joint.parent.orientation))
        return (
            f'<body name="{name}" pos="{numbers(joint.parent.translation)}" quat="{quat}">{kind}'
            f'<inertial pos="{numbers(body.mass_center)}" mass="{body.mass!r}" fullinertia="{numbers(body.inertia)}"/>'
            f"{inside}</body>"
        )

    roots = "".join(element(j.child.body) for j in model.joints if j.parent.body == "ground")
    return (
        f'<mujoco><compiler angle="radian" balanceinertia="false"/><option gravity="{numbers(model.gravity)}"/>'
        f"<worldbody>{roots}</worldbody></mujoco>"
    )


def test_fixture_inertias_are_physical():
    for body in random_tree(0, "pppp").bodies:
        assert np.linalg.eigvalsh(tensor(body.inertia))[0] > 0


@pytest.mark.parametrize(("seed", "kinds"), [(0, "pppppp"), (1, "spspps"), (2, "bpbspb"), (3, "fpbpsp"), (4, "p" * 12)])
def test_mass_matrix_and_inverse_dynamics(seed, kinds):
    model = random_tree(seed, kinds)
    peer = mujoco.MjModel.from_xml_string(mjcf(model))
    data = mujoco.MjData(peer)
    rng = np.random.default_rng(100 + seed)
    q = rng.uniform(-1, 1, size=(FRAMES, len(model.coordinate_names)))
    u, udot = rng.normal(size=(2, FRAMES, len(model.speed_names)))
    masses, forces = mass_matrix(model, q), inverse_dynamics(model, q, u, udot)
    for f in range(FRAMES):
        # per joint: MuJoCo puts the rotation of balls in the body frame, free joints translate first
        T = np.zeros((peer.nv, len(model.speed_names)))
        qpos = np.zeros(peer.nq)
        for joint in model.joints:
            j = mujoco.mj_name2id(peer, mujoco.mjtObj.mjOBJ_BODY, joint.child.body)
            at, to = peer.jnt_qposadr[peer.body_jntadr[j]], peer.jnt_dofadr[peer.body_jntadr[j]]
            own = [model.coordinate_index(name) for name in joint.coordinate_names]
            speeds = [model.speed_index(name) for name in joint.speed_names]
            if joint.kind in ("PinJoint", "SliderJoint"):
                qpos[at] = q[f, own[0]]
                T[to, speeds[0]] = 1.0
                continue
            quaternion = q[f, own[:4]] / np.linalg.norm(q[f, own[:4]])
            R = from_quaternion(quaternion)
            first = 3 if joint.kind == "FreeJoint" else 0
            qpos[at + first : at + first + 4] = quaternion
            # w_body = R^T w_parent; its derivative is R^T wdot_parent, the term w x w being zero
            T[np.ix_(range(to + first, to + first + 3), speeds[:3])] = R.T
            if first:
                qpos[at : at + 3] = q[f, own[4:]]
                T[np.ix_(range(to, to + 3), speeds[3:])] = np.eye(3)
        data.qpos, data.qvel, data.qacc = qpos, T @ u[f], T @ udot[f]
        mujoco.mj_inverse(peer, data)
        full = np.zeros((peer.nv, peer.nv))
        try:
            mujoco.mj_fullM(peer, full, data.qM)
        except (TypeError, AttributeError):
            mujoco.mj_fullM(peer, data, full)
        scale = abs(masses[f]).max()
        assert_allclose(masses[f], T.T @ full @ T, atol=ROUNDING * scale)
        assert_allclose(forces[f], T.T @ data.qfrc_inverse, atol=ROUNDING * max(abs(forces[f]).max(), scale))
