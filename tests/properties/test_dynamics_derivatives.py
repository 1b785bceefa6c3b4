"""Derivatives of dynamics: against the complex step of the recursion, and differences of what users call."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import Model
from musculo.errors import InvalidInput
from musculo.functions import Polynomial, Sine
from musculo.model.model_constraint import CoordinateCoupler
from support.complex_kernels import ComplexKernels, slope, step
from support.dynamics_models import (
    KINDS,
    assert_close,
    difference_nodes,
    extrapolated,
    loads_in_every_frame,
    one_joint,
    random_q,
    random_state,
    random_tree,
)

# Both are exact: rounding over at most 18 joints in a row.
ROUNDING = 1e-12
# Differences lose the rounding of tau, and of accelerations the condition of the mass matrix, over the step (0.005).
DIFFERENCES = 1e-9
SOLVED_DIFFERENCES = 1e-7


def _slopes(f, x: np.ndarray) -> np.ndarray:
    """df/dx (f's shape, len(x)) by extrapolated differences; f takes one x."""
    t = difference_nodes()
    return np.stack([extrapolated(np.stack([f(x + s * unit) for s in t])) for unit in np.eye(len(x))], axis=-1)


def _check(actual: np.ndarray, expected: np.ndarray, scale: float, tolerance: float, what: str) -> None:
    """Close, as a part of `scale`: derivatives that vanish have no scale of their own."""
    assert actual.shape == expected.shape, what
    worst = np.abs(actual - expected).max(initial=0.0)
    assert worst <= tolerance * scale, f"{what}: {worst:.2e} of {scale:.2e}"


def _against_complex_step(model: Model, rng: np.random.Generator) -> None:
    k = ComplexKernels(model)
    q, u, udot = random_state(model, rng)
    found = musculo.inverse_dynamics_derivatives(model, q, u, udot)
    scale = max(1.0, np.abs(found.dtau_dq).max(), np.abs(found.dtau_du).max())
    by_q = np.column_stack([slope(k.rnea(step(q, e), u, udot)) for e in np.eye(len(q))])
    by_u = np.column_stack([slope(k.rnea(q, step(u, e), udot)) for e in np.eye(len(u))])
    _check(found.dtau_dq, by_q, scale, ROUNDING, "dtau/dq")
    _check(found.dtau_du, by_u, scale, ROUNDING, "dtau/du")
    assert_close(found.dtau_dudot, musculo.mass_matrix(model, q), ROUNDING, "dtau/dudot")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "weld"])
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_every_joint_alone(kind, backwards):
    """So that a failure names the joint."""
    _against_complex_step(one_joint(kind, seed=3, backwards=backwards), np.random.default_rng(7))


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_every_joint(seed):
    rng = np.random.default_rng(seed)
    _against_complex_step(random_tree(rng, depth=3 + 5 * (seed % 2)), rng)


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(31)
    model = random_tree(rng)
    return model, *random_state(model, rng)


@pytest.mark.parametrize("which", [*range(5), None], ids=["ground", "body", "point", "force", "own-point", "all"])
def test_loads_stay_constant_in_the_frames_they_are_given_in(case, which):
    model, q, u, udot = case
    every = loads_in_every_frame(model)
    loads = every if which is None else [every[which]]
    found = musculo.inverse_dynamics_derivatives(model, q, u, udot, loads=loads)
    expected = _slopes(lambda x: musculo.inverse_dynamics(model, x, u, udot, loads), q)
    assert_close(found.dtau_dq, expected, DIFFERENCES, "dtau/dq")
    expected = _slopes(lambda x: musculo.inverse_dynamics(model, q, x, udot, loads), u)
    assert_close(found.dtau_du, expected, DIFFERENCES, "dtau/du")


def test_many_frames_are_each_of_them_and_arrays_can_be_used_again(case):
    model, *_ = case
    rng = np.random.default_rng(2)
    frames = 21  # two packs of eight and a rest
    q, u, udot = random_state(model, rng, frames)
    found = musculo.inverse_dynamics_derivatives(model, q, u, udot)
    for f in (0, 7, 8, 20):
        one = musculo.inverse_dynamics_derivatives(model, q[f], u[f], udot[f])
        for name in ("dtau_dq", "dtau_du", "dtau_dudot"):
            assert np.array_equal(getattr(one, name), getattr(found, name)[f]), name
    q, u, udot = random_state(model, rng, frames)
    fresh = musculo.inverse_dynamics_derivatives(model, q, u, udot)
    again = musculo.inverse_dynamics_derivatives(model, q, u, udot, out=found)
    assert np.shares_memory(again.dtau_dq, found.dtau_dq)
    for name in ("dtau_dq", "dtau_du", "dtau_dudot"):
        assert np.array_equal(getattr(fresh, name), getattr(again, name)), name
    with pytest.raises(InvalidInput, match="out is a result"):
        musculo.inverse_dynamics_derivatives(model, q[:3], u[:3], udot[:3], out=found)
    with pytest.raises(InvalidInput, match="out is a result"):
        musculo.inverse_dynamics_derivatives(one_joint("pin"), [0.1], [0.0], [0.0], out=found)


def test_devices_that_cannot_be_are_refused():
    model, x = one_joint("pin"), np.zeros(1)
    found = musculo.inverse_dynamics_derivatives(model, x, x, x)
    with pytest.raises(InvalidInput, match="neither"):
        musculo.inverse_dynamics_derivatives(model, x, x, x, device="tpu")
    with pytest.raises(InvalidInput, match="device='cpu'"):
        musculo.inverse_dynamics_derivatives(model, x, x, x, device="gpu", out=found)


def test_models_without_speeds_and_recordings_without_frames():
    none = np.zeros(0)
    assert musculo.inverse_dynamics_derivatives(one_joint("weld"), none, none, none).dtau_dq.shape == (0, 0)
    model = one_joint("free_quaternion")
    empty = np.zeros((0, 7)), np.zeros((0, 6)), np.zeros((0, 6))
    assert musculo.inverse_dynamics_derivatives(model, *empty).dtau_dq.shape == (0, 6, 7)
    assert musculo.forward_dynamics_derivatives(model, *empty).dudot_dq.shape == (0, 6, 7)


def test_mass_matrix(case):
    model, q, _, _ = case
    k = ComplexKernels(model)
    found = musculo.mass_matrix_derivatives(model, q)
    expected = np.stack([slope(k.crba(step(q, e))) for e in np.eye(len(q))], axis=-1)
    # gravity is in both of the numbers whose difference it is
    assert_close(found, expected, 10 * ROUNDING, "dM/dq")
    assert np.array_equal(musculo.mass_matrix_derivatives(model, np.stack([q, q]))[1], found)


def test_a_displacement_along_a_speed_moves_what_this_speed_moves(case):
    """dtau/dq N u is the rate of tau along the motion, and the columns are N's for joints that turn freely."""
    model, q, u, udot = case
    found = musculo.inverse_dynamics_derivatives(model, q, u, udot)
    rate = found.dtau_dq @ musculo.coordinate_rates(model, q, u)
    assert_close(found.dtau_dmotion @ u, rate, ROUNDING, "rate of tau")
    assert found.dtau_dmotion.shape == (len(u), len(u))


def test_forward_dynamics(case):
    model, q, u, _ = case
    rng = np.random.default_rng(8)
    # gentle forces: what the state asks for, and a little more
    tau = musculo.bias_forces(model, q, u) + 0.1 * rng.normal(size=len(u))
    loads = loads_in_every_frame(model)[1:3]
    found = musculo.forward_dynamics_derivatives(model, q, u, tau, loads=loads)
    assert_close(found.udot, musculo.forward_dynamics(model, q, u, tau, loads), 0.0, "udot")
    for name, f, x in (
        ("dudot_dq", lambda x: musculo.forward_dynamics(model, x, u, tau, loads), q),
        ("dudot_du", lambda x: musculo.forward_dynamics(model, q, x, tau, loads), u),
        ("dudot_dtau", lambda x: musculo.forward_dynamics(model, q, u, x, loads), tau),
    ):
        assert_close(getattr(found, name), _slopes(f, x), SOLVED_DIFFERENCES, name)
    many = musculo.forward_dynamics_derivatives(model, np.stack([q, q]), np.stack([u, u]), np.stack([tau, tau]))
    assert many.dudot_dq.shape == (2, len(u), len(q))


@pytest.fixture(scope="module", params=range(3))
def ruled(request):
    """A tree with couplers of one and two coordinates, a lock, a prescribed motion and a ball partly locked."""
    rng = np.random.default_rng(40 + request.param)
    kinds = ("pin", "slider", "gimbal", "free", "ball", "custom_knee", "screw", "planar")
    model = random_tree(rng, kinds)
    name = {joint.kind if joint.name.startswith("custom") else joint.name.rstrip("0123456789"): joint for joint in
            model.joints}  # fmt: skip
    at = {kind: joint.coordinate_names for kind, joint in name.items()}
    knee = next(joint for joint in model.joints if joint.name.startswith("custom_knee")).coordinate_names[0]
    model = model.with_coordinate(at["slider"][0], prescribed=True, prescribed_function=Sine(0.2, 1.5, 0.2, 0.1))
    model = model.with_coordinate(at["gimbal"][0], locked=True, default_value=0.3)
    model = model.with_coordinate(at["ball"][2], locked=True, default_value=0.2)
    both = musculo.functions.MultivariatePolynomial(2, 3, tuple(rng.uniform(-0.3, 0.3, size=10)))
    mixed = musculo.functions.MultivariatePolynomial(2, 2, tuple(rng.uniform(-0.5, 0.5, size=6)))
    couplers = (
        CoordinateCoupler("one", True, (), at["gimbal"][1], (at["pin"][0],), Sine(0.7, 2.0, 0.3), scale=1.5),
        CoordinateCoupler("two", True, (), at["gimbal"][2], (at["pin"][0], knee), both),
        CoordinateCoupler("chain", True, (), at["screw"][0], (at["gimbal"][1],), Polynomial((0.2, -0.3, 0.5, 0.1))),
        CoordinateCoupler("driven", True, (), at["planar"][0], (at["slider"][0],), Sine(0.4, 1.0, 0.2)),
        CoordinateCoupler("mixed", True, (), at["planar"][2], (at["slider"][0], at["pin"][0]), mixed),
        CoordinateCoupler("turned", True, (), at["planar"][1], (at["free"][1],), Sine(0.4, 1.0, 0.2)),
    )
    model = model.replace(constraints=couplers)
    e = musculo.embedding_of(model)
    z = e.independent(random_q(model, rng))
    zu, zudot = rng.uniform(-1, 1, size=(2, len(e.speed_names)))
    return model, e, z, zu, zudot


TIME = 0.4


def test_embedded_coordinates(ruled):
    """tau_z = J^T tau of what the independent coordinates do; every derivative by differences of that."""
    model, e, z, zu, zudot = ruled

    def tau(z, zu, zudot):
        motion = e.motion(z, zu, zudot, time=TIME)
        return motion.J.T @ musculo.inverse_dynamics(model, motion.q, motion.u, motion.udot)

    motion = e.motion(z, zu, zudot, time=TIME)
    found = musculo.inverse_dynamics_derivatives(model, motion.q, motion.u, motion.udot, time=TIME).independent
    for part, f, x in (
        (found.dtau_dz, lambda x: tau(x, zu, zudot), z),
        (found.dtau_dzu, lambda x: tau(z, x, zudot), zu),
        (found.dtau_dzudot, lambda x: tau(z, zu, x), zudot),
    ):
        assert_close(part, _slopes(f, x), DIFFERENCES, "dtau_z")
    assert_close(found.dtau_dzudot, e.pull_back_mass(motion.q, musculo.mass_matrix(model, motion.q), TIME), 1e-11, "M")


def test_forward_dynamics_of_embedded_coordinates(ruled):
    model, e, z, zu, _ = ruled
    force = np.random.default_rng(1).normal(size=len(model.speed_names))

    def udot(z, zu, tau):
        motion = e.motion(z, zu, time=TIME)
        return musculo.forward_dynamics(model, motion.q, motion.u, tau, time=TIME)

    motion = e.motion(z, zu, time=TIME)
    found = musculo.forward_dynamics_derivatives(model, motion.q, motion.u, force, time=TIME)
    assert found.coordinate_names == e.coordinate_names
    assert found.independent_speed_names == e.speed_names
    for name, f, x in (
        ("dudot_dq", lambda x: udot(x, zu, force), z),
        ("dudot_du", lambda x: udot(z, x, force), zu),
        ("dudot_dtau", lambda x: udot(z, zu, x), force),
    ):
        assert_close(getattr(found, name), _slopes(f, x), SOLVED_DIFFERENCES, name)


def test_regressor(case):
    """tau = Y pi, and derivatives by what bodies are made of, against models of other bodies and gravity."""
    model, q, u, udot = case
    found = musculo.inverse_dynamics_regressor(model, q, u, udot)
    tau = musculo.inverse_dynamics(model, q, u, udot)
    assert_close(np.einsum("ubp,bp->u", found.regressor, found.parameters), tau, ROUNDING, "Y pi")

    def with_body(name: str, x: np.ndarray) -> np.ndarray:
        bodies = tuple(
            musculo.Body(b.name, x[0], tuple(x[1:4]), tuple(x[4:])) if b.name == name else b for b in model.bodies
        )
        return musculo.inverse_dynamics(model.replace(bodies=bodies), q, u, udot)

    for k in (0, 7, 13):
        body = model.bodies[k]
        x = np.array([body.mass, *body.mass_center, *body.inertia])
        expected = _slopes(lambda x, name=body.name: with_body(name, x), x)
        assert_close(found.dtau_dbodies[:, k], expected, DIFFERENCES, body.name)
    expected = _slopes(
        lambda g: musculo.inverse_dynamics(model.replace(gravity=tuple(g)), q, u, udot), np.array(model.gravity)
    )
    assert_close(found.dtau_dgravity, expected, DIFFERENCES, "gravity")
    many = musculo.inverse_dynamics_regressor(model, np.stack([q, q]), np.stack([u, u]), np.stack([udot, udot]))
    assert np.array_equal(many.regressor[1], found.regressor)
