"""What nature keeps, kept over long integrations: energy, momentum, angular momentum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import musculo
from musculo import Body, Coordinate, Model, Placement
from musculo.functions import Polynomial
from musculo.model.joints import FreeJoint
from musculo.model.model_constraint import CoordinateCoupler
from musculo.spatial.rotation import axis_rotation, quaternion_from_xyz, to_xyz
from support.dynamics_models import JOINTS, random_body, random_placement, random_state

# The integrator keeps a relative 1e-10 a step; over the thousand steps of these motions errors add up.
RTOL = 1e-10
DRIFT = 1e-7
# The same for momenta; a spline's third derivative jumps at its knots, where the integrator loses a digit.
MOMENTUM_DRIFT = 1e-7


def simulate(model: Model, q, u, duration: float, samples: int = 60):
    """q and u (samples, n) of the free motion under gravity; coordinates advance by N(q) u."""
    n = len(q)
    tau = np.zeros(len(u))

    def rates(_, state):
        udot = musculo.forward_dynamics(model, state[:n], state[n:], tau, threads=1)
        return np.concatenate([musculo.coordinate_rates(model, state[:n], state[n:]), udot])

    times = np.linspace(0.0, duration, samples)
    done = solve_ivp(rates, (0.0, duration), np.concatenate([q, u]), "DOP853", times, rtol=RTOL, atol=RTOL)
    assert done.success, done.message
    return done.y[:n].T, done.y[n:].T


def chain(kinds, seed: int, gravity=(0.0, -9.80665, 0.0), backwards: bool = False) -> Model:
    rng = np.random.default_rng(seed)
    bodies, joints = [], []
    for k, kind in enumerate(kinds):
        bodies.append(random_body(rng, f"b{k}"))
        inboard = random_placement(rng, "ground" if k == 0 else f"b{k - 1}")
        outboard = random_placement(rng, f"b{k}")
        ends = (outboard, inboard) if backwards and k % 2 else (inboard, outboard)
        joints.append(JOINTS[kind](rng, f"{kind}{k}", *ends))
    return Model("chain", tuple(bodies), tuple(joints), gravity=gravity)


def energy(model, q, u):
    return musculo.kinetic_energy(model, q, u) + musculo.potential_energy(model, q)


@pytest.mark.parametrize(
    ("kinds", "backwards", "duration"),
    [
        (("pin", "pin"), False, 30.0),
        (("pin", "custom_knee", "ball_quaternion"), False, 10.0),
        (("ball_quaternion", "screw", "ellipsoid"), True, 4.0),
        (("pin", "universal", "custom_two_coordinates"), True, 4.0),
    ],
    ids=["pins", "knee", "ellipsoid", "two coordinates"],
)
def test_energy_of_a_swinging_chain_stays(kinds, backwards, duration):
    """Many swings of a chain that falls from rest: the energy lost is that of the integrator."""
    model = chain(kinds, seed=5, backwards=backwards)
    q, u, _ = random_state(model, np.random.default_rng(6))
    q, u = simulate(model, q, np.zeros_like(u), duration)
    total = energy(model, q, u)
    swing = np.ptp(musculo.kinetic_energy(model, q, u))
    assert np.abs(total - total[0]).max() < DRIFT * swing
    assert swing > 1.0  # it did move


def test_energy_of_a_coupled_chain_stays():
    """A coupler is embedded, not constrained: the energy does not drift."""
    model = chain(("pin", "pin", "universal"), seed=2)
    follow = CoordinateCoupler(
        "follow", dependent="pin1_0", independents=("pin0_0",), function=Polynomial((0.5, 0.3, 0.1))
    )
    model = model.replace(constraints=(follow,))
    e = musculo.embedding_of(model)
    tau = np.zeros(4)

    def rates(_, state):
        motion = e.motion(state[:3], state[3:])
        udot = musculo.forward_dynamics(model, motion.q, motion.u, tau)
        return np.concatenate([state[3:], e.independent_speeds(motion.q, udot)])

    done = solve_ivp(
        rates, (0.0, 8.0), [0.3, 0.2, -0.4, 0, 0, 0], "DOP853", np.linspace(0, 8, 40), rtol=RTOL, atol=RTOL
    )
    motion = e.motion(done.y[:3].T, done.y[3:].T)
    total = energy(model, motion.q, motion.u)
    swing = np.ptp(musculo.kinetic_energy(model, motion.q, motion.u))
    assert swing > 1.0
    assert np.abs(total - total[0]).max() < DRIFT * swing


def test_a_free_chain_keeps_its_momenta():
    """Nothing pushes: linear and angular momentum stay, the mass centre goes straight, the energy stays."""
    kinds = ("free_quaternion", "ball_quaternion", "universal", "custom_knee", "slider")
    model = chain(kinds, seed=4, gravity=(0.0, 0.0, 0.0), backwards=True)
    q, u, _ = random_state(model, np.random.default_rng(7))
    q, u = simulate(model, q, u, duration=5.0)
    linear, angular = musculo.momentum(model, q, u)
    for name, momentum in (("linear", linear), ("angular", angular)):
        assert np.abs(momentum - momentum[0]).max() < MOMENTUM_DRIFT * np.abs(momentum[0]).max(), name
    centre = musculo.center_of_mass(model, q)
    straight = centre[0] + np.linspace(0, 5.0, len(q))[:, None] * linear[0] / musculo.total_mass(model)
    assert np.abs(centre - straight).max() < MOMENTUM_DRIFT * np.abs(centre).max()
    total = energy(model, q, u)
    assert np.abs(total - total[0]).max() < DRIFT * total[0]


def test_gravity_changes_the_momentum_of_a_free_chain_by_its_weight():
    model = chain(("free_quaternion", "ball_quaternion", "pin"), seed=8)
    q, u, _ = random_state(model, np.random.default_rng(9))
    q, u = simulate(model, q, u, duration=2.0, samples=20)
    linear, angular = musculo.momentum(model, q, u)
    weight = musculo.total_mass(model) * np.array(model.gravity)
    expected = linear[0] + np.linspace(0, 2.0, 20)[:, None] * weight
    assert np.abs(linear - expected).max() < MOMENTUM_DRIFT * np.abs(expected).max()
    assert np.abs(angular - angular[0]).max() < MOMENTUM_DRIFT * np.abs(angular[0]).max()


# --- through gimbal lock ----------------------------------------------------------------------------------------------
def tumbler(inertia) -> Model:
    names = tuple(map(Coordinate, ("w", "a", "b", "c", "x", "y", "z")))
    joint = FreeJoint("free", Placement("ground"), Placement("body"), names, quaternion=True)
    return Model("tumbler", (Body("body", 1.0, (0, 0, 0), (*inertia, 0, 0, 0)),), (joint,), gravity=(0, 0, 0))


def test_a_steady_spin_passes_gimbal_lock():
    """Spin about y: the second angle goes through 90 degrees, where angles have no rates; quaternions do not notice."""
    model = tumbler((1.0, 2.0, 1.5))
    rate = 2.0
    duration = 2 * math.pi / rate  # once around: 90 degrees after a quarter, 270 after three
    q, _ = simulate(model, [1.0, 0, 0, 0, 0, 0, 0], [0, rate, 0, 0.1, 0, 0], duration, samples=41)
    R = musculo.kinematics(model, q).pose("body").R
    exact = np.stack([axis_rotation([0, 1, 0], rate * t) for t in np.linspace(0, duration, 41)])
    assert np.abs(R - exact).max() < MOMENTUM_DRIFT
    assert np.abs(to_xyz(R)[10, 1]) > math.radians(89.9)


def test_tumbling_about_the_middle_axis():
    """A spin about the axis of middle inertia turns over again and again; energy and angular momentum stay."""
    model = tumbler((1.0, 2.0, 3.0))
    q, u = simulate(model, [1.0, 0, 0, 0, 0, 0, 0], [0.01, 3.0, 0.01, 0, 0, 0], duration=20.0, samples=400)
    motion = musculo.kinematics(model, q, u)
    along = np.einsum("fi,fi->f", motion.pose("body").R[:, :, 1], motion.angular_velocity("body"))
    flips = np.count_nonzero(np.diff(np.sign(along)))
    assert flips >= 2
    assert np.abs(to_xyz(motion.pose("body").R)[:, 1]).max() > math.radians(85)
    angular = musculo.momentum(model, q, u).angular
    assert np.abs(angular - angular[0]).max() < DRIFT * np.linalg.norm(angular[0])
    total = energy(model, q, u)
    assert np.abs(total - total[0]).max() < DRIFT * total[0]
    # the kinematic equation keeps the length of the quaternion
    assert np.abs(np.linalg.norm(q[:, :4], axis=1) - 1.0).max() < DRIFT


def test_angles_and_quaternions_give_one_motion():
    """The same fall with angles and with quaternions, where angles are well away from gimbal lock."""
    angles, quaternions = (chain((kind, "pin"), seed=3) for kind in ("ball", "ball_quaternion"))
    q = np.array([0.2, 0.1, -0.3, 0.4])
    u = np.array([0.3, -0.2, 0.1, 0.5])
    one, u_one = simulate(angles, q, u, duration=0.4, samples=5)
    two, u_two = simulate(quaternions, [*quaternion_from_xyz(q[:3]), q[3]], u, duration=0.4, samples=5)
    assert np.abs(u_one - u_two).max() < MOMENTUM_DRIFT * np.abs(u_one).max()
    R1, R2 = (musculo.kinematics(m, x).pose("b1").R for m, x in ((angles, one), (quaternions, two)))
    assert np.abs(R1 - R2).max() < MOMENTUM_DRIFT
