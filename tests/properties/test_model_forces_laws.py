"""Laws of forces that act by themselves: energy, balance, power, dissipation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import model_forces
from support.force_models import every_state, force, foundations, zoo

# Central differences of step 1e-5 of energies up to 1e3, where springs of meshes come and go.
DIFFERENCE = 1e-6
ROUNDING = 1e-10
# What has no potential, or (SmoothSphereHalfSpaceForce) one that is only close.
NO_POTENTIAL = (
    "ExpressionBasedCoordinateForce", "FunctionBasedBushingForce", "ExpressionBasedBushingForce",
    "ExpressionBasedPointToPointForce", "PrescribedForce", "SmoothSphereHalfSpaceForce", "Ligament",
    "ExpressionBasedPathForce",
)  # fmt: skip
# Speeds of a free joint are no rates of its angles, and as in OpenSim the force acts on the speed.
ON_FREE_ANGLES = ("coil",)
# What only takes energy away besides what it stores.
DAMPED = ("CoordinateLimitForce", "SpringGeneralizedForce", "BushingForce", "PointToPointSpring", "HuntCrossleyForce",
          "ElasticFoundationForce")  # fmt: skip


@pytest.fixture(scope="module", params=["zoo", "foundations"])
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("forces")
    made = {"zoo": zoo, "foundations": foundations}[request.param](folder)
    return made.replace(source=str(folder / "model.osim"))


def test_force_is_minus_the_slope_of_energy(model):
    q, u, time = every_state(model)
    qdot = musculo.coordinate_rates(model, q, u)
    still = model_forces(model, q, time=time)
    h = 1e-5 / np.abs(qdot).max(axis=1, keepdims=True)
    before, after = (model_forces(model, q + sign * h * qdot, time=time).energy for sign in (-1.0, 1.0))
    slope = (after - before) / (2.0 * h)
    for k, (name, kind) in enumerate(zip(still.names, still.kinds, strict=True)):
        if kind in NO_POTENTIAL or name in ON_FREE_ANGLES:
            continue
        power = np.sum(still.of(name).tau * u, axis=1)
        scale = np.abs(power).max()
        assert scale > 1e-3, name
        wrong = np.abs(power + slope[:, k]) > DIFFERENCE * scale
        # a spring of a mesh that enters within the step is a corner of the slope
        assert wrong.sum() <= (3 if kind == "ElasticFoundationForce" else 0), (name, power, slope[:, k])


def test_forces_between_bodies_balance(model):
    q, u, time = every_state(model)
    found = model_forces(model, q, u, time=time)
    for name, kind in zip(found.names, found.kinds, strict=True):
        wrench = found.of(name).wrench
        if kind != "PrescribedForce":
            assert_allclose(wrench.sum(axis=1), 0.0, atol=ROUNDING * max(1.0, np.abs(wrench).max()))


def test_generalised_forces_have_the_power_of_the_wrenches(model):
    """Of those that act on bodies; forces at coordinates have no wrench."""
    q, u, time = every_state(model)
    found = model_forces(model, q, u, time=time)
    motion = musculo.kinematics(model, q, u)
    w, v = (
        np.stack([ask(name) for name in found.body_names], axis=1)
        for ask in (motion.angular_velocity, lambda name: motion.velocity(name))
    )
    p = np.stack([motion.position(name) for name in found.body_names], axis=1)
    for name, kind in zip(found.names, found.kinds, strict=True):
        one = found.of(name)
        force, about_origin = one.wrench[..., 3:], one.wrench[..., :3] - np.cross(p, one.wrench[..., 3:])
        power = np.sum(force * v + about_origin * w, axis=(1, 2))
        if "Coordinate" in kind or "Generalized" in kind:
            assert not one.wrench.any()
        else:
            assert_allclose(np.sum(one.tau * u, axis=1), power, atol=ROUNDING * max(1.0, np.abs(power).max()) * 100)


def test_dampers_and_friction_take_energy(model):
    q, u, time = every_state(model)
    moving, still = model_forces(model, q, u, time=time), model_forces(model, q, time=time)
    for name, kind in zip(moving.names, moving.kinds, strict=True):
        if kind in DAMPED:
            lost = np.sum((moving.of(name).tau - still.of(name).tau) * u, axis=1)
            assert (lost <= ROUNDING * np.abs(lost).max()).all(), name
            assert lost.min() < 0.0 or kind == "PointToPointSpring", name


def test_one_frame_is_a_frame_of_many(model):
    q, u, time = every_state(model, 7)
    many, one = model_forces(model, q, u, time=time), model_forces(model, q[3], u[3], time=time[3])
    assert one.tau.shape == (len(model.speed_names),)
    assert one.wrench.shape == (1 + len(model.bodies), 6)
    for a, b in ((many.tau[3], one.tau), (many.wrench[3], one.wrench), (many.energy[3], one.energy)):
        assert_allclose(b, a, rtol=1e-12, atol=1e-12 * np.abs(a).max())
    name = many.names[0]
    assert_allclose(one.of(name).tau, many.of(name).tau[3], rtol=1e-12)
    assert one.to_table(0.0).values.shape == (1, len(one.reported))


def test_energy_is_kept_in_a_simulation(tmp_path):
    """Without dampers: what bodies lose of motion is in the springs."""
    springs = (
        force("bushing", "BushingForce", socket_frame1="/bodyset/a", socket_frame2="/bodyset/d",
              rotational_stiffness="10 20 30", translational_stiffness="50 40 60"),
        force("cord", "PointToPointSpring", socket_body1="/bodyset/c", socket_body2="/ground", stiffness=30,
              rest_length=0.2, point1="0.1 0 0"),
        force("coil", "SpringGeneralizedForce", coordinate="turn", stiffness=5, rest_length=0.2),
    )  # fmt: skip
    model = zoo(tmp_path).replace(forces=springs, frames=(), contact_geometries=(), gravity=(0.0, -9.81, 0.0))
    q, u = (x[0] for x in every_state(model, 1)[:2])
    done = musculo.simulate(model, 0.3 * q, 0.1 * u, np.linspace(0.0, 0.4, 9), rtol=1e-10, atol=1e-11)
    assert done.status == "finished"
    assert np.ptp(done.kinetic) > 1.0
    assert np.ptp(done.stored) > 1.0
    assert_allclose(done.energy, done.energy[0], atol=1e-7 * np.ptp(done.kinetic))
