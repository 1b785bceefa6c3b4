"""Arrays that cannot be meant: each a MusculoError that says which argument, where, and what it should be."""

from __future__ import annotations

import math

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, MusculoError, Placement
from musculo.errors import InvalidInput, SingularSystem, UnknownName
from musculo.functions import Linear
from musculo.model.joints import BallJoint, FreeJoint, PinJoint
from support.dynamics_models import assert_allclose


@pytest.fixture
def model() -> Model:
    bodies = tuple(Body(n, 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1, 0, 0, 0)) for n in ("upper", "lower"))
    joints = (
        PinJoint("shoulder", Placement("ground"), Placement("upper"), (Coordinate("q1"),)),
        PinJoint("elbow", Placement("upper", (1.0, 0, 0)), Placement("lower"), (Coordinate("q2"),)),
    )
    return Model("arm", bodies, joints)


OK = np.zeros(2)
# Every public function, as a function of one argument that may be bad, and that argument's name.
CALLS = {
    "kinematics.q": ("q", lambda m, x: musculo.kinematics(m, x)),
    "kinematics.u": ("u", lambda m, x: musculo.kinematics(m, OK, x)),
    "kinematics.udot": ("udot", lambda m, x: musculo.kinematics(m, OK, OK, x)),
    "inverse_dynamics.q": ("q", lambda m, x: musculo.inverse_dynamics(m, x, OK, OK)),
    "inverse_dynamics.u": ("u", lambda m, x: musculo.inverse_dynamics(m, OK, x, OK)),
    "inverse_dynamics.udot": ("udot", lambda m, x: musculo.inverse_dynamics(m, OK, OK, x)),
    "bias_forces.u": ("u", lambda m, x: musculo.bias_forces(m, OK, x)),
    "gravity_forces.q": ("q", lambda m, x: musculo.gravity_forces(m, x)),
    "mass_matrix.q": ("q", lambda m, x: musculo.mass_matrix(m, x)),
    "joint_reactions.udot": ("udot", lambda m, x: musculo.joint_reactions(m, OK, OK, x)),
    "forward_dynamics.q": ("q", lambda m, x: musculo.forward_dynamics(m, x, OK, OK)),
    "forward_dynamics.u": ("u", lambda m, x: musculo.forward_dynamics(m, OK, x, OK)),
    "forward_dynamics.tau": ("tau", lambda m, x: musculo.forward_dynamics(m, OK, OK, x)),
    "coordinate_rates.u": ("u", lambda m, x: musculo.coordinate_rates(m, OK, x)),
    "speeds_from_rates.qdot": ("qdot", lambda m, x: musculo.speeds_from_rates(m, OK, x)),
    "kinetic_energy.u": ("u", lambda m, x: musculo.kinetic_energy(m, OK, x)),
    "potential_energy.q": ("q", lambda m, x: musculo.potential_energy(m, x)),
    "center_of_mass.q": ("q", lambda m, x: musculo.center_of_mass(m, x)),
    "momentum.u": ("u", lambda m, x: musculo.momentum(m, OK, x)),
    "embedding.coordinates.z": ("z", lambda m, x: musculo.embedding_of(m).coordinates(x)),
    "embedding.motion.zu": ("zu", lambda m, x: musculo.embedding_of(m).motion(OK, x)),
    "embedding.motion.zudot": ("zudot", lambda m, x: musculo.embedding_of(m).motion(OK, OK, x)),
    "embedding.pull_back.q": ("q", lambda m, x: musculo.embedding_of(m).pull_back(x, OK)),
    "embedding.pull_back.tau": ("tau", lambda m, x: musculo.embedding_of(m).pull_back(OK, x)),
    "embedding.jacobian.q": ("q", lambda m, x: musculo.embedding_of(m).jacobian(x)),
    "embedding.check.q": ("q", lambda m, x: musculo.embedding_of(m).check(x)),
}


@pytest.mark.parametrize("call", [call for call in CALLS if call.endswith(".q")])
def test_none_for_an_array_is_called_none(model, call):
    _, run = CALLS[call]
    with pytest.raises(InvalidInput, match=r"q is None; it needs \(2,\) or \(frames, 2\), one column each for q1, q2"):
        run(model, None)


@pytest.mark.parametrize("call", CALLS)
def test_wrong_shapes_name_the_argument_and_the_columns(model, call):
    name, run = CALLS[call]
    for bad in (np.zeros(3), np.zeros((4, 1)), np.zeros((1, 1, 2)), 1.0, []):
        with pytest.raises(InvalidInput, match=rf"^{name} has shape.*\(2,\) or \(frames, 2\).*q1, q2"):
            run(model, bad)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_placed(model, call, value):
    name, run = CALLS[call]
    with pytest.raises(InvalidInput, match=rf"^{name} holds {value} at frame 0, column 'q2'"):
        run(model, [0.0, value])


@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_array_of_numbers_is_refused(model, call):
    name, run = CALLS[call]
    for bad in (["a", "b"], [[0.0, 1.0], [0.0]], {"q1": 0.0}, np.array([1.0 + 1e-20j, 0.0])):
        with pytest.raises(InvalidInput, match=rf"^{name} "):
            run(model, bad)


def test_arrays_of_different_lengths_are_counted(model):
    many, few = np.zeros((3, 2)), np.zeros((2, 2))
    with pytest.raises(InvalidInput, match="q: 3, u: 2, udot: 3"):
        musculo.inverse_dynamics(model, many, few, many)
    with pytest.raises(InvalidInput, match="q: 3, u: 3, tau: 2"):
        musculo.forward_dynamics(model, many, many, few)
    with pytest.raises(InvalidInput, match="different numbers of frames"):
        musculo.kinematics(model, many, few)
    with pytest.raises(InvalidInput, match="different numbers of frames"):
        musculo.inverse_dynamics(model, many, OK, OK)


def test_times_must_fit_and_be_numbers(model):
    driven = model.with_coordinate("q1", prescribed=True, prescribed_function=Linear(1.0, 0.0))
    z = np.zeros((3, 1))
    assert_allclose(musculo.embedding_of(driven).coordinates(z, time=[0.0, 1.0, 2.0])[:, 0], [0.0, 1.0, 2.0])
    for bad in ([0.0, 1.0], np.zeros((3, 1)), math.nan, [0.0, math.inf, 1.0], "now"):
        with pytest.raises(InvalidInput, match=r"^time "):
            musculo.embedding_of(driven).coordinates(z, time=bad)


def test_points_must_be_numbers(model):
    motion = musculo.kinematics(model, OK, OK, OK)
    for bad in ([0.0, math.nan, 0.0], ["a", "b", "c"], [1.0, 2.0]):
        for ask in (
            motion.position,
            motion.velocity,
            motion.acceleration,
            motion.point_jacobian,
            motion.frame_jacobian,
        ):
            with pytest.raises(InvalidInput, match="a point of 'lower'"):
                ask("lower", bad)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: m.body("uper"), "no body 'uper'.*did you mean 'upper'"),
        (lambda m: m.joint("wrist"), "no joint 'wrist'"),
        (lambda m: m.coordinate("q3"), "no coordinate 'q3'"),
        (lambda m: m.coordinate_index("q3"), "no coordinate 'q3'"),
        (lambda m: m.speed_index("q3"), "no speed 'q3'"),
        (lambda m: m.marker("hand"), "there is no marker at all"),
        (lambda m: m.with_coordinate("q3", locked=True), "no coordinate 'q3'"),
        (lambda m: m.placement("/jointset/elbow/nowhere"), "no frame"),
        (lambda m: musculo.kinematics(m, OK).pose("hand"), "no frame 'hand'"),
        (lambda m: musculo.kinematics(m, OK).markers(["hand"]), "no marker 'hand'"),
    ],
)
def test_unknown_names_show_the_nearest(model, ask, message):
    with pytest.raises(UnknownName, match=message):
        ask(model)


def test_a_device_that_is_none_is_refused(model):
    with pytest.raises(InvalidInput, match="'tpu'"):
        musculo.inverse_dynamics(model, OK, OK, OK, device="tpu")


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_rates_at_gimbal_lock_are_refused(kind):
    """At a second angle of 90 degrees no rate of the angles gives the angular velocity."""
    names = tuple(map(Coordinate, "abcxyz"[: 3 if kind == "ball" else 6]))
    make = BallJoint if kind == "ball" else FreeJoint
    model = Model(
        "m",
        (Body("b", 1.0, (0, 0, 0), (1, 1, 1, 0, 0, 0)),),
        (make("hip", Placement("ground"), Placement("b"), names),),
    )
    q = np.zeros((2, len(names)))
    q[1, 1] = math.pi / 2
    with pytest.raises(SingularSystem, match=r"'hip'.*frame 1.*quaternion"):
        musculo.coordinate_rates(model, q, np.ones_like(q))
    # the way back is never singular, nor are the dynamics, whose speeds are the angular velocity
    assert np.isfinite(musculo.speeds_from_rates(model, q, np.ones_like(q))).all()
    assert np.isfinite(musculo.forward_dynamics(model, q, np.ones_like(q), np.zeros_like(q))).all()


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_a_quaternion_of_zero_length_is_refused(kind):
    """It is no rotation; dividing by its length would give NaN without a word."""
    names = tuple(map(Coordinate, "wabcxyz"[: 4 if kind == "ball" else 7]))
    make = BallJoint if kind == "ball" else FreeJoint
    joint = make("hip", Placement("ground"), Placement("b"), names, quaternion=True)
    model = Model("m", (Body("b", 1.0, (0, 0, 0), (1, 1, 1, 0, 0, 0)),), (joint,))
    q, u = np.zeros(len(names)), np.zeros(len(names) - 1)
    for run in (
        lambda: musculo.kinematics(model, q),
        lambda: musculo.mass_matrix(model, q),
        lambda: musculo.inverse_dynamics(model, q, u, u),
        lambda: musculo.forward_dynamics(model, q, u, u),
        lambda: musculo.speeds_from_rates(model, q, q),
    ):
        with pytest.raises(MusculoError, match=r"'hip'.*frame 0"):
            run()
