"""Couplers, locks and prescribed motion as q = f(z, t), checked by hand and by differences."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, Placement
from musculo.errors import InvalidInput, InvalidModel, UnknownName
from musculo.functions import Constant, Linear, MultivariatePolynomial, Polynomial, SimmSpline, Sine
from musculo.model.joints import BallJoint, PinJoint
from musculo.model.model_constraint import CoordinateCoupler, PointConstraint, UnsupportedConstraint
from support.dynamics_models import assert_allclose, assert_close, difference_nodes, extrapolated, random_q, random_tree

# A handful of products in float64.
ROUNDING = 1e-13
# Differences of differences: rounding divided twice by the smallest step (0.005).
DIFFERENCED = 1e-8

COUNT = 6


def chain(*constraints, **changes) -> Model:
    """Six pins in a row with coordinates q0 .. q5, turned against each other."""
    bodies = tuple(Body(f"b{k}", 1.0, (0.2, 0.1, 0), (0.1, 0.2, 0.15, 0, 0, 0)) for k in range(COUNT))
    joints = tuple(
        PinJoint(
            f"j{k}",
            Placement("ground" if k == 0 else f"b{k - 1}", (0.3, 0, 0), (0.4 * k, 0.3, 0)),
            Placement(f"b{k}"),
            (Coordinate(f"q{k}"),),
        )
        for k in range(COUNT)
    )
    model = Model("chain", bodies, joints, constraints=constraints)
    for name, change in changes.items():
        model = model.with_coordinate(name, **change)
    return model


def coupler(dependent, *independents, function, scale=1.0, name=None, enforced=True) -> CoordinateCoupler:
    return CoordinateCoupler(
        name or f"{dependent}_follows",
        enforced,
        dependent=dependent,
        independents=independents,
        function=function,
        scale=scale,
    )


SQUARE = Polynomial((1.0, 0.0, 0.1))


# --- positions ------------------------------------------------------------------------------------------------------
def test_without_rules_everything_is_independent():
    model = chain()
    e = musculo.embedding_of(model)
    assert e.coordinate_names == model.coordinate_names == model.independent_coordinate_names
    motion = e.motion(np.arange(6.0), np.arange(6.0), np.arange(6.0))
    assert_allclose(motion.q, np.arange(6.0))
    assert_allclose(motion.J, np.eye(6))
    assert_allclose(motion.udot, np.arange(6.0))
    assert e.selects


def test_chains_of_couplers_are_followed_whatever_their_order():
    """q4 = q3 + 1, q3 = q2^2 + 0.1, q2 = 2 q0; listed from the far end."""
    model = chain(
        coupler("q4", "q3", function=Linear(1.0, 1.0)),
        coupler("q3", "q2", function=SQUARE),
        coupler("q2", "q0", function=Linear(1.0, 0.0), scale=2.0),
    )
    e = musculo.embedding_of(model)
    assert e.coordinate_names == ("q0", "q1", "q5") == model.independent_coordinate_names
    q2, u2 = 0.6, 2.0 * 1.5
    motion = e.motion([0.3, 0.7, -0.2], [1.5, 0.0, 0.0], [0.5, 0.0, 0.0])
    assert_allclose(motion.q, [0.3, 0.7, q2, q2**2 + 0.1, q2**2 + 1.1, -0.2], atol=ROUNDING)
    assert_allclose(motion.u, [1.5, 0, u2, 2 * q2 * u2, 2 * q2 * u2, 0], atol=ROUNDING)
    a3 = 2 * q2 * 1.0 + 2 * u2**2
    assert_allclose(motion.udot, [0.5, 0, 1.0, a3, a3, 0], atol=ROUNDING)
    assert_allclose(motion.J[:, 0], [1, 0, 2, 4 * q2, 4 * q2, 0], atol=ROUNDING)


def test_a_coupler_may_have_several_inputs_and_a_constant_none():
    surface = MultivariatePolynomial(2, 2, (0.1, 0.0, 0.3, 0.2, 0.5, 0.0))  # 0.1 + 0.3 y^2 + 0.2 x + 0.5 x y
    model = chain(coupler("q2", "q0", "q1", function=surface, scale=-1.0), coupler("q3", "q0", function=Constant(0.4)))
    x, y, dx, dy = 0.3, -0.6, 1.2, 0.7
    motion = musculo.embedding_of(model).motion([x, y, 0, 0], [dx, dy, 0, 0])
    assert_allclose(motion.q[2], -(0.1 + 0.3 * y**2 + 0.2 * x + 0.5 * x * y), atol=ROUNDING)
    assert_allclose(motion.u[2], -(0.6 * y * dy + 0.2 * dx + 0.5 * (dx * y + x * dy)), atol=ROUNDING)
    assert_allclose(motion.udot[2], -(0.6 * dy**2 + dx * dy), atol=ROUNDING)
    assert_allclose(motion.q[3], 0.4)
    assert_allclose(motion.u[3], 0)


def test_locks_hold_and_beat_prescribed_motion():
    model = chain(
        q1={"locked": True, "default_value": 0.4},
        q2={"prescribed": True, "prescribed_function": Sine(0.5, 2.0, 0.1, 0.2)},
        q3={"locked": True, "default_value": -0.3, "prescribed": True, "prescribed_function": Sine(1, 1, 0, 0)},
        q4={"prescribed": True},
    )
    e = musculo.embedding_of(model)
    assert e.coordinate_names == ("q0", "q4", "q5") == model.independent_coordinate_names
    assert e.selects
    motion = e.motion(np.zeros(3), np.ones(3), time=0.7)
    angle = 2.0 * 0.7 + 0.1
    assert_allclose(motion.q[1:4], [0.4, 0.5 * np.sin(angle) + 0.2, -0.3], atol=ROUNDING)
    assert_allclose(motion.u[1:4], [0, np.cos(angle), 0], atol=ROUNDING)
    assert_allclose(motion.udot[1:4], [0, -2.0 * np.sin(angle), 0], atol=ROUNDING)
    assert_allclose(motion.c, motion.u - motion.J @ np.ones(3), atol=ROUNDING)


def test_couplers_that_are_switched_off_do_nothing():
    model = chain(coupler("q2", "q0", function=Linear(2.0, 0.0), enforced=False))
    assert musculo.embedding_of(model).coordinate_names == model.coordinate_names == model.independent_coordinate_names


def test_a_coupler_may_follow_prescribed_motion():
    model = chain(
        coupler("q2", "q1", function=Polynomial((1.0, 0.0, 0.0))),
        q1={"prescribed": True, "prescribed_function": Linear(3.0, 0.0)},
    )
    motion = musculo.embedding_of(model).motion(np.zeros(4), np.zeros(4), time=0.2)
    assert_allclose([motion.q[2], motion.u[2], motion.udot[2]], [0.36, 2 * 0.6 * 3, 2 * 9], atol=ROUNDING)


# --- what cannot be ---------------------------------------------------------------------------------------------------
def test_cycles_are_refused_and_shown():
    model = chain(
        coupler("q1", "q2", function=SQUARE), coupler("q2", "q3", function=SQUARE), coupler("q3", "q1", function=SQUARE)
    )
    with pytest.raises(InvalidModel, match="cycle: q1 -> q2 -> q3 -> q1"):
        musculo.embedding_of(model)
    with pytest.raises(InvalidModel, match="q0 -> q0"):
        musculo.embedding_of(chain(coupler("q0", "q0", function=SQUARE)))


def test_two_masters_are_refused():
    follow = coupler("q1", "q0", function=SQUARE)
    with pytest.raises(InvalidModel, match=r"'q1' is locked at 0.5 and also coupled to q0 by 'q1_follows'.*switch one"):
        musculo.embedding_of(chain(follow, q1={"locked": True, "default_value": 0.5}))
    with pytest.raises(InvalidModel, match="'q1' is prescribed"):
        musculo.embedding_of(chain(follow, q1={"prescribed": True, "prescribed_function": Constant(0.0)}))
    with pytest.raises(InvalidModel, match=r"'q1' is coupled to q0.*and also coupled to q2"):
        musculo.embedding_of(chain(follow, coupler("q1", "q2", function=SQUARE, name="second")))


def test_couplers_name_what_they_miss():
    with pytest.raises(UnknownName, match=r"no coordinate 'q9' in coupler 'q1_follows'"):
        musculo.embedding_of(chain(coupler("q1", "q9", function=SQUARE)))
    with pytest.raises(InvalidModel, match="q1_follows"):
        musculo.embedding_of(chain(CoordinateCoupler("q1_follows", dependent="q1", independents=("q0",))))
    surface = MultivariatePolynomial(2, 1, (0.0, 1.0, 1.0))
    with pytest.raises(musculo.MusculoError, match="q1_follows"):
        musculo.embedding_of(chain(coupler("q1", "q0", function=surface)))


def test_parts_of_a_quaternion_cannot_be_driven():
    four = tuple(map(Coordinate, "wabc"))
    joint = BallJoint("hip", Placement("ground"), Placement("b"), four, quaternion=True)
    model = Model("m", (Body("b", 1.0, (0, 0, 0), (1, 1, 1, 0, 0, 0)),), (joint,)).with_coordinate("a", locked=True)
    with pytest.raises(InvalidModel, match=r"'hip' has quaternion.*use its angles"):
        musculo.embedding_of(model).motion([1.0, 0, 0], [0.0, 0, 0])


def test_loops_are_listed():
    model = chain(PointConstraint("strut", first_body="b5", enforced=False), UnsupportedConstraint("roll", element="R"))
    e = musculo.embedding_of(model)
    assert e.unsolved == ("roll",)
    assert e.loop_names == ()


def test_states_are_checked():
    e = musculo.embedding_of(chain(coupler("q1", "q0", function=SQUARE)))
    e.check([0.2, 0.14, 0, 0, 0, 0])
    with pytest.raises(InvalidInput, match=r"'q1' is 0.2 at frame 0.*'q1_follows'.*0.14.*coordinates\(z\)"):
        e.check([0.2, 0.2, 0, 0, 0, 0])


# --- speeds, accelerations and forces by differences and by power -----------------------------------------------------
def everything() -> Model:
    """A tree with angle balls whole, locked in part and coupled in part, quaternions, chains of couplers, and time."""
    rng = np.random.default_rng(2)
    kinds = ("pin", "ball", "ball", "ball", "ball_quaternion", "free", "scapulothoracic", "custom_knee", "universal")
    model = random_tree(rng, kinds)
    balls = sorted(j.name for j in model.joints if j.kind == "BallJoint" and not j.quaternion)
    name = {kind: next(j.name for j in model.joints if j.name.startswith(kind)) for kind in kinds if kind != "ball"}
    whole, part, timed = balls
    knots, values = (-2.0, -1.0, 0.0, 1.0, 2.0), (0.3, -0.2, 0.1, 0.4, -0.1)
    surface = MultivariatePolynomial(2, 2, (0.1, 0.2, 0.3, 0.2, 0.5, -0.2))
    constraints = (
        coupler(f"{name['pin']}_0", f"{name['universal']}_0", function=SimmSpline(knots, values)),
        # follows two angles of a ball that turns freely
        coupler(f"{name['universal']}_0", f"{whole}_0", f"{whole}_2", function=surface),
        # one angle of a ball follows another joint, and a second one of its own
        coupler(f"{part}_1", f"{name['custom_knee']}_0", f"{part}_0", function=surface, scale=0.7),
        # an angle that follows time and a translation
        coupler(f"{timed}_0", f"{timed}_1", f"{name['free']}_4", function=surface),
        coupler(f"{name['scapulothoracic']}_3", f"{name['scapulothoracic']}_0", function=SQUARE),
    )
    model = model.replace(constraints=constraints)
    model = model.with_coordinate(f"{timed}_1", prescribed=True, prescribed_function=Sine(0.4, 1.5, 0.2, 0.1))
    return model.with_coordinate(f"{timed}_2", locked=True, default_value=0.3)


TIME = 0.35


class Path:
    """z(t) on a parabola; q(t), and u(t) from differences of q."""

    def __init__(self, model, seed=0):
        rng = np.random.default_rng(seed)
        self.model, self.e = model, musculo.embedding_of(model)
        self.z0 = self.e.independent(random_q(model, rng))
        self.a, self.b = rng.uniform(-1, 1, size=(2, len(self.z0)))

    def q(self, t):
        t = np.asarray(t)
        z = self.z0 + t[..., None] * self.a + 0.5 * t[..., None] ** 2 * self.b
        return self.e.coordinates(z, time=TIME + t)

    def u(self, t):
        return musculo.speeds_from_rates(self.model, self.q(t), extrapolated(self.q(t + difference_nodes())))

    def zu(self, t):
        return self.e.independent_speeds(self.q(t), self.u(t))


@pytest.fixture(scope="module")
def path():
    return Path(everything())


def test_speeds_are_derivatives_of_coordinates(path):
    motion = path.e.motion(path.z0, path.zu(0.0), time=TIME)
    assert_close(motion.q, path.q(0.0), ROUNDING, "q")
    assert_close(motion.u, path.u(0.0), DIFFERENCED, "u")
    assert_close(motion.J @ path.zu(0.0) + motion.c, motion.u, ROUNDING, "J zu + c")
    assert_close(path.e.jacobian(motion.q, time=TIME), motion.J, ROUNDING, "J")
    assert_close(path.e.independent(motion.q), path.z0, ROUNDING, "z")
    assert_close(path.e.independent_speeds(motion.q, motion.u), path.zu(0.0), ROUNDING, "zu")
    path.e.check(motion.q, time=TIME)


def test_accelerations_are_derivatives_of_speeds(path):
    t = difference_nodes()
    udot, zudot = (extrapolated(np.stack([f(x) for x in t])) for f in (path.u, path.zu))
    motion = path.e.motion(path.z0, path.zu(0.0), zudot, time=TIME)
    assert_close(motion.udot, udot, 10 * DIFFERENCED, "udot")
    assert_close(motion.J @ zudot + motion.b, motion.udot, ROUNDING, "J zudot + b")


def test_forward_dynamics_leaves_no_force_along_the_embedding(path):
    """J^T (M udot + bias - tau) = 0, and udot = J zudot + b."""
    model, e = path.model, path.e
    motion = e.motion(path.z0, path.zu(0.0), time=TIME)
    tau = np.random.default_rng(1).normal(size=len(motion.u))
    udot = musculo.forward_dynamics(model, motion.q, motion.u, tau, time=TIME)
    left = motion.J.T @ (musculo.inverse_dynamics(model, motion.q, motion.u, udot) - tau)
    assert np.abs(left).max() < 1e-9 * np.abs(motion.J.T @ tau).max()
    zudot = np.linalg.lstsq(motion.J, udot - motion.b, rcond=None)[0]
    assert_close(motion.J @ zudot + motion.b, udot, 1e-9, "udot")
    assert not e.selects


def test_forces_pull_back_by_power_and_mass_by_energy(path):
    """tau_z . zu = tau . J zu and zu M_z zu / 2 = T of the motion without its driven part."""
    model, e = path.model, path.e
    zu = path.zu(0.0)
    motion = e.motion(path.z0, zu, time=TIME)
    tau = np.random.default_rng(2).normal(size=len(motion.u))
    assert_allclose(e.pull_back(motion.q, tau, time=TIME) @ zu, tau @ (motion.J @ zu), rtol=1e-12)
    M_z = e.pull_back_mass(motion.q, musculo.mass_matrix(model, motion.q), time=TIME)
    assert_allclose(0.5 * zu @ M_z @ zu, musculo.kinetic_energy(model, motion.q, motion.J @ zu), rtol=1e-12)


def test_frames_are_independent_of_each_other(path):
    rng = np.random.default_rng(5)
    z = path.z0 + rng.uniform(-0.1, 0.1, size=(4, len(path.z0)))
    zu = rng.normal(size=(4, len(path.e.speed_names)))
    times = np.linspace(0, 1, 4)
    many = path.e.motion(z, zu, zu, time=times)
    for k in range(4):
        one = path.e.motion(z[k], zu[k], zu[k], time=times[k])
        for a, b in zip(many, one, strict=True):
            assert_allclose(a[k], b, atol=ROUNDING)
    assert path.e.pull_back(many.q, many.u).shape == zu.shape
    assert path.e.pull_back_mass(many.q, musculo.mass_matrix(path.model, many.q)).shape == (4, zu.shape[1], zu.shape[1])


def test_a_ball_locked_altogether_is_a_weld():
    """All three angles locked: no speed is left, and the rest of the model moves as if the joint were rigid."""
    model = random_tree(np.random.default_rng(6), ("ball", "custom_hip"), backwards=0.0, depth=2)
    names = [n for n in model.coordinate_names if n.startswith("ball")]
    for n in names:
        model = model.with_coordinate(n, locked=True, default_value=0.4)
    e = musculo.embedding_of(model)
    assert len(e.speed_names) == 3
    z, zu, zudot = np.random.default_rng(7).uniform(-0.7, 0.7, size=(3, 3))
    motion = e.motion(z, zu, zudot)
    at = [model.coordinate_index(n) for n in names]
    assert_allclose(motion.u[at], 0, atol=ROUNDING)
    assert_allclose(motion.udot[at], 0, atol=ROUNDING)
    tau = musculo.inverse_dynamics(model, motion.q, motion.u, motion.udot)
    assert_allclose(musculo.forward_dynamics(model, motion.q, motion.u, tau), motion.udot, atol=1e-10)
