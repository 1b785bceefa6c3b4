"""Forward and inverse dynamics by hand: pendulums, locked and coupled joints, and systems that cannot be solved."""

from __future__ import annotations

import math

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, Placement
from musculo.errors import InvalidInput, InvalidModel, SingularSystem, Unsupported
from musculo.functions import Linear, Sine
from musculo.model.joints import Axis, BallJoint, CustomJoint, FreeJoint, GimbalJoint, PinJoint, SliderJoint, WeldJoint
from musculo.model.model_constraint import CoordinateCoupler, PointConstraint, UnsupportedConstraint
from musculo.spatial.inertia import RigidInertia, tensor
from musculo.spatial.pose import Pose
from support.dynamics_models import assert_allclose, random_body, random_placement, random_state, random_tree

# A handful of products in float64.
ROUNDING = 1e-13
# Dense elimination against recursion over 18 joints, times the condition of the mass matrix.
SOLVED = 1e-9

G = 9.80665


def pendulum(**changes) -> Model:
    """Two links along x, pins about z: by hand in any textbook."""
    links = (
        Body("first", 2.0, (0.4, 0, 0), (0, 0.1, 0.15, 0, 0, 0)),
        Body("second", 1.5, (0.3, 0, 0), (0, 0.1, 0.08, 0, 0, 0)),
    )
    joints = (
        PinJoint("hip", Placement("ground"), Placement("first"), (Coordinate("q1"),)),
        PinJoint("knee", Placement("first", (0.9, 0, 0)), Placement("second"), (Coordinate("q2"),)),
    )
    return Model("double pendulum", links, joints, **changes)


def by_hand(q, u):
    """M and C(q, u) + g(q) of the double pendulum."""
    (m1, m2), (c1, c2), (I1, I2), l1 = (2.0, 1.5), (0.4, 0.3), (0.15, 0.08), 0.9
    c, s = math.cos(q[1]), math.sin(q[1])
    M = np.array(
        [
            [I1 + I2 + m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * c), I2 + m2 * (c2**2 + l1 * c2 * c)],
            [I2 + m2 * (c2**2 + l1 * c2 * c), I2 + m2 * c2**2],
        ]
    )
    h = m2 * l1 * c2 * s
    coriolis = np.array([-h * (2 * u[0] * u[1] + u[1] ** 2), h * u[0] ** 2])
    second = m2 * c2 * G * math.cos(q[0] + q[1])
    gravity = np.array([(m1 * c1 + m2 * l1) * G * math.cos(q[0]) + second, second])
    return M, coriolis + gravity


@pytest.mark.parametrize("seed", range(5))
def test_double_pendulum(seed):
    rng = np.random.default_rng(seed)
    model, q, u, tau = pendulum(), *rng.uniform(-2, 2, size=(3, 2))
    M, bias = by_hand(q, u)
    assert_allclose(musculo.mass_matrix(model, q), M, atol=ROUNDING)
    assert_allclose(musculo.bias_forces(model, q, u), bias, atol=10 * ROUNDING)
    assert_allclose(musculo.gravity_forces(model, q), by_hand(q, [0, 0])[1], atol=10 * ROUNDING)
    assert_allclose(musculo.forward_dynamics(model, q, u, tau), np.linalg.solve(M, tau - bias), atol=1e3 * ROUNDING)


def test_a_falling_body_falls():
    """A free body under gravity alone accelerates by g and keeps its spin about a principal axis."""
    body = Body("ball", 3.0, (0, 0, 0), (1.0, 2.0, 2.5, 0, 0, 0))
    names = tuple(map(Coordinate, ("a", "b", "c", "x", "y", "z")))
    model = Model("ball", (body,), (FreeJoint("free", Placement("ground"), Placement("ball"), names),))
    udot = musculo.forward_dynamics(model, np.zeros(6), [0, 0, 5.0, 1, 2, 3], np.zeros(6))
    assert_allclose(udot, [0, 0, 0, 0, -G, 0], atol=ROUNDING)


@pytest.mark.parametrize("kind", ["locked", "prescribed"])
def test_driven_coordinates_take_their_acceleration_and_leave_the_rest_to_the_mass_matrix(kind):
    """M_ff udot_f = tau_f - bias_f - M_fd udot_d, with f the free and d the driven speeds of a random tree."""
    rng = np.random.default_rng(3)
    kinds = ("pin", "slider", "universal", "custom_knee", "custom_hip", "ball", "custom_two_coordinates", "planar")
    model = random_tree(rng, kinds)
    driven = [n for n in model.coordinate_names if not n.startswith("ball") and rng.uniform() < 0.4]
    time = 0.3
    wave = Sine(0.4, 1.3, 0.2, 0.1)
    for name in driven:
        change = (
            {"locked": True, "default_value": 0.3}
            if kind == "locked"
            else {"prescribed": True, "prescribed_function": wave}
        )
        model = model.with_coordinate(name, **change)
    q, u, _ = random_state(model, rng)
    d = [model.coordinate_index(n) for n in driven]
    value, rate, acceleration = (
        (0.3, 0.0, 0.0) if kind == "locked" else (float(wave.derivative(time, order=k)) for k in range(3))
    )
    q[d], u[d] = value, rate
    tau = rng.normal(size=len(u))
    udot = musculo.forward_dynamics(model, q, u, tau, time=time)
    f = [k for k in range(len(u)) if k not in d]
    M, bias = musculo.mass_matrix(model, q), musculo.bias_forces(model, q, u)
    assert len(d) >= 3
    assert_allclose(udot[d], acceleration, atol=ROUNDING)
    expected = np.linalg.solve(M[np.ix_(f, f)], (tau - bias)[f] - M[np.ix_(f, d)] @ udot[d])
    assert_allclose(udot[f], expected, atol=SOLVED * np.abs(expected).max())


def test_a_coupled_pair_moves_as_one():
    """q2 = 0.5 q1 + 0.1: J = (1, 0.5), and no force but along J is left over."""
    coupler = CoordinateCoupler("link", dependent="q2", independents=("q1",), function=Linear(0.5, 0.1))
    model = pendulum(constraints=(coupler,))
    q, u, tau = np.array([0.7, 0.45]), np.array([1.2, 0.6]), np.array([3.0, -1.0])
    M, bias = by_hand(q, u)
    J = np.array([1.0, 0.5])
    zudot = J @ (tau - bias) / (J @ M @ J)
    assert_allclose(musculo.forward_dynamics(model, q, u, tau), J * zudot, atol=1e3 * ROUNDING)


def test_welding_bodies_is_making_one_of_them():
    """A weld half-way through a chain: M, tau and udot are those of the chain with the two bodies merged by hand."""
    rng = np.random.default_rng(4)
    a, b = random_body(rng, "a"), random_body(rng, "b")
    ball = BallJoint("ball", Placement("ground"), random_placement(rng, "a"), tuple(map(Coordinate, ("x", "y", "z"))))
    weld = WeldJoint("weld", random_placement(rng, "a"), random_placement(rng, "b"))
    model = Model("welded", (a, b), (ball, weld))
    q, u, udot = random_state(model, rng)
    place = lambda p: Pose.from_xyz(p.orientation, p.translation)  # noqa: E731
    X_ab = place(weld.parent) @ place(weld.child).inverse()
    parts = [RigidInertia(x.mass, np.array(x.mass_center), tensor(x.inertia)) for x in (a, b)]
    m, c, I = RigidInertia.total([parts[0], parts[1].in_frame(X_ab)])
    one = Body("a", m, tuple(c), (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))
    merged = Model("merged", (one,), (ball,))
    assert_allclose(musculo.mass_matrix(model, q), musculo.mass_matrix(merged, q), atol=ROUNDING)
    tau = musculo.inverse_dynamics(model, q, u, udot)
    assert_allclose(tau, musculo.inverse_dynamics(merged, q, u, udot), atol=100 * ROUNDING)
    # the weld is still reported: it carries what b needs
    force, _ = musculo.joint_reactions(model, q, u, udot).of("weld")
    motion = musculo.kinematics(model, q, u, udot)
    needed = b.mass * (motion.acceleration("b", b.mass_center) - np.array(model.gravity))
    assert_allclose(force, needed, atol=100 * ROUNDING)


def test_a_massless_body_in_between_is_allowed():
    """OpenSim allows zero mass where other bodies hold the mass: two massless links make a universal joint of pins."""
    rng = np.random.default_rng(6)
    end = random_body(rng, "end")
    bodies = (Body("m1", 0.0), Body("m2", 0.0), end)
    joints = (
        PinJoint("j1", Placement("ground"), Placement("m1"), (Coordinate("a"),)),
        PinJoint("j2", Placement("m1", orientation=(math.pi / 2, 0, 0)), Placement("m2"), (Coordinate("b"),)),
        PinJoint(
            "j3", Placement("m2", orientation=(0, math.pi / 2, 0)), random_placement(rng, "end"), (Coordinate("c"),)
        ),
    )
    model = Model("massless", bodies, joints)
    q, u, udot = random_state(model, rng)
    tau = musculo.inverse_dynamics(model, q, u, udot)
    assert_allclose(musculo.forward_dynamics(model, q, u, tau), udot, atol=SOLVED)


# --- what cannot be solved ------------------------------------------------------------------------------------------
def test_a_massless_leaf_is_named():
    model = pendulum()
    model = model.with_body(Body("second", 0.0))
    with pytest.raises(SingularSystem, match=r"'q2' of joint 'knee' at frame 0.*give the body mass"):
        musculo.forward_dynamics(model, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    # everything but solving for accelerations still works
    assert_allclose(musculo.mass_matrix(model, [0.0, 0.0])[1], 0)


def test_the_frame_of_a_singular_batch_is_named():
    """A point mass on the axis of a pin resists nothing when it lies on the axis: here in the third frame alone."""
    bodies = (Body("carriage", 1.0), Body("bead", 1.0))
    joints = (
        PinJoint("spindle", Placement("ground"), Placement("carriage"), (Coordinate("angle"),)),
        SliderJoint("spoke", Placement("carriage"), Placement("bead"), (Coordinate("radius"),)),
    )
    model = Model("wheel", bodies, joints)
    q = np.array([[0.1, 1.0], [0.2, 0.5], [0.3, 0.0]])
    with pytest.raises(SingularSystem, match="'spindle' at frame 2"):
        musculo.forward_dynamics(model, q, np.zeros((3, 2)), np.zeros((3, 2)))
    musculo.forward_dynamics(model, q[:2], np.zeros((2, 2)), np.zeros((2, 2)))


def test_gimbal_lock_is_named():
    """Two axes of a gimbal coincide at 90 degrees: no acceleration about the third direction can be had."""
    body = Body("b", 1.0, (0, 0, 0), (1, 1, 1, 0, 0, 0))
    names = tuple(map(Coordinate, ("rx", "ry", "rz")))
    model = Model("gimbal", (body,), (GimbalJoint("shoulder", Placement("ground"), Placement("b"), names),))
    with pytest.raises(SingularSystem, match=r"joint 'shoulder'.*quaternion"):
        musculo.forward_dynamics(model, [0.0, math.pi / 2, 0.0], np.zeros(3), np.zeros(3))


def test_singular_coupled_systems_are_named():
    """The same through the dense road, which couplers take."""
    coupler = CoordinateCoupler("link", dependent="q1", independents=("q0",), function=Linear(0.5, 0.0))
    links = pendulum()
    first = CustomJoint(
        "idle", Placement("ground"), Placement("first"), (Coordinate("q0"), Coordinate("q1")),
        rotations=(Axis((0, 0, 1)), Axis((0, 1, 0)), Axis((1, 0, 0))),
    )  # fmt: skip
    model = links.replace(joints=(first, links.joints[1]), constraints=(coupler,))
    with pytest.raises(SingularSystem, match="'q0' of joint 'idle'"):
        musculo.forward_dynamics(model, np.zeros(3), np.zeros(3), np.zeros(3))


def test_what_cannot_be_constrained_is_refused_by_name():
    rolling = UnsupportedConstraint("roll", element="RollingOnSurfaceConstraint")
    with pytest.raises(Unsupported, match=r"'roll' is of a kind.*enforced=False"):
        musculo.forward_dynamics(pendulum(constraints=(rolling,)), [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    loop = PointConstraint("strut", first_body="second", second_body="ground")
    with pytest.raises(InvalidModel, match=r"loop 'strut' cannot be closed.*stays open by.*enforced=False"):
        musculo.forward_dynamics(pendulum(constraints=(loop,)), [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    off = PointConstraint("strut", enforced=False, first_body="second", second_body="ground")
    musculo.forward_dynamics(pendulum(constraints=(off,)), [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])


def test_states_that_contradict_the_model_are_refused():
    coupler = CoordinateCoupler("link", dependent="q2", independents=("q1",), function=Linear(0.5, 0.1))
    coupled = pendulum(constraints=(coupler,))
    with pytest.raises(InvalidInput, match=r"'q2' is 0.4 at frame 1.*'link'.*0.45"):
        musculo.forward_dynamics(coupled, [[0.7, 0.45], [0.7, 0.4]], np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(InvalidInput, match=r"speed 'q2' is 1 at frame 0.*0.5"):
        musculo.forward_dynamics(coupled, [0.7, 0.45], [1.0, 1.0], [0.0, 0.0])
    locked = pendulum().with_coordinate("q1", locked=True, default_value=0.2)
    with pytest.raises(InvalidInput, match=r"'q1' is 0.3.*locked at 0.2"):
        musculo.forward_dynamics(locked, [0.3, 0.0], [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(InvalidInput, match="speed 'q1' is 1"):
        musculo.forward_dynamics(locked, [0.2, 0.0], [1.0, 0.0], [0.0, 0.0])
    moving = pendulum().with_coordinate("q1", prescribed=True, prescribed_function=Linear(2.0, 0.0))
    with pytest.raises(InvalidInput, match="function of time"):
        musculo.forward_dynamics(moving, [0.3, 0.0], [2.0, 0.0], [0.0, 0.0], time=0.1)
    musculo.forward_dynamics(moving, [0.2, 0.0], [2.0, 0.0], [0.0, 0.0], time=0.1)
