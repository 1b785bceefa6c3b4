"""Laws of simulated motion: energy stays, methods agree, both formulations agree, nothing embedded drifts."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
import musculo.demo
from musculo import Body, Coordinate, Model, Placement
from musculo.functions import Polynomial, Sine
from musculo.model import CoordinateCoupler, FreeJoint
from support.mechanisms import five_bar, four_bar, hinge, link

METHODS = ("cvode", "adams", "rkf45", "ida")
# Errors of steps of 1e-11 that add up over a thousand of them, in motions that spread errors apart.
RTOL = 1e-11
AGREE = 1e-7
# Energy lost, as a part of what swings between kinetic and potential.
DRIFT = 1e-7
ROUNDING = 1e-12


def double_pendulum() -> Model:
    bodies = (link("b0", 1.0, (0.0, -0.5), 0.1), link("b1", 0.7, (0.0, -0.4), 0.05))
    joints = (hinge("a", "ground", (0.0, 0.0), "b0"), hinge("b", "b0", (0.0, -1.0), "b1"))
    return Model("double pendulum", bodies, joints)


def flying() -> Model:
    body = Body("b", 2.0, (0.1, 0.0, -0.05), (0.3, 0.4, 0.5, 0.0, 0.0, 0.0))
    angles = tuple(map(Coordinate, ("a", "b", "c", "x", "y", "z")))
    return musculo.model.with_quaternions(
        Model("flying", (body,), (FreeJoint("j", Placement("ground"), Placement("b"), angles),))
    )


def run(model: Model, q, u, times, **options):
    done = musculo.simulate(model, q, u, times, **{"rtol": RTOL, "atol": RTOL, **options})
    assert done.status == "finished", done.reason
    return done


def assert_energy_stays(done) -> None:
    swing = np.ptp(done.kinetic)
    assert swing > 0.1  # it did move
    assert np.ptp(done.energy) < DRIFT * swing


@pytest.mark.parametrize("method", METHODS)
def test_a_double_pendulum_keeps_its_energy_by_every_method(method):
    times = np.linspace(0.0, 2.0, 21)
    done = run(double_pendulum(), [1.2, 0.5], [0.0, 0.3], times, method=method)
    assert_energy_stays(done)
    other = run(double_pendulum(), [1.2, 0.5], [0.0, 0.3], times, method="rkf45", rtol=1e-12, atol=1e-12)
    assert np.abs(done.q - other.q).max() < AGREE


def test_tr_bdf2_comes_nearer_with_its_tolerance():
    """Of second order: a hundredth of the tolerance brings a tenth of the error or less."""
    times = (0.0, 0.5)
    truth = run(double_pendulum(), [1.2, 0.5], [0.0, 0.3], times, method="adams").q[-1]
    errors = [
        np.abs(run(double_pendulum(), [1.2, 0.5], [0.0, 0.3], times, method="tr-bdf2", rtol=x, atol=x).q[-1] - truth)
        for x in (1e-5, 1e-7)
    ]
    assert errors[1].max() < 1e-4
    assert errors[1].max() < 0.1 * errors[0].max()


def test_a_leg_without_muscles_keeps_its_energy():
    """Its patella is coupled to the knee."""
    model = musculo.read_osim(musculo.demo.MODEL_FILE)
    done = run(model, None, None, np.linspace(0.0, 0.3, 16), method="rkf45", rtol=1e-10, atol=1e-10)
    assert_energy_stays(done)
    assert done.drift.position.max() < ROUNDING


@pytest.mark.parametrize("formulation", ["embedded", "constrained"])
@pytest.mark.parametrize("method", ["cvode", "adams", "rkf45"])
def test_a_free_body_with_a_quaternion_keeps_energy_and_angular_momentum(method, formulation):
    model = flying()
    q = np.zeros(len(model.coordinate_names))
    q[0] = 1.0
    u = np.array([1.0, -3.0, 0.5, 0.3, 2.0, -0.4])
    done = run(model, q, u, np.linspace(0.0, 3.0, 31), method=method, formulation=formulation)
    assert np.abs(np.linalg.norm(done.q[:, :4], axis=1) - 1.0).max() < ROUNDING
    assert_energy_stays(done)
    angular = musculo.momentum(model, done.q, done.u).angular
    assert np.abs(angular - angular[0]).max() < DRIFT * np.abs(angular[0]).max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", [four_bar, five_bar])
def test_embedded_and_constrained_are_one_motion(make, method):
    times = np.linspace(0.0, 0.5, 6)
    one = run(make(), None, None, times, method="rkf45")
    two = run(make(), None, None, times, method=method, formulation="constrained")
    assert np.abs(one.q - two.q).max() < AGREE
    assert np.abs(one.udot - two.udot).max() < 1e3 * AGREE
    assert one.drift.position.max() < ROUNDING
    assert one.drift.velocity.max() < ROUNDING
    assert two.drift.position.max() < 1e-8
    assert_energy_stays(two)


def test_projection_holds_where_nothing_else_does():
    """Loose steps leave the loop by themselves; projected steps do not."""
    options = {"method": "rkf45", "formulation": "constrained", "rtol": 1e-5, "atol": 1e-5}
    free, held = (
        run(four_bar(), None, None, (0.0, 2.0), stabilization=way, **options).drift.position.max()
        for way in (0.0, "project")
    )
    assert held < 1e-10
    assert free > 1e3 * held


@pytest.mark.parametrize("formulation", ["embedded", "constrained"])
def test_locks_prescribed_motions_and_couplers_hold(formulation):
    """One pin is driven, one is locked, one follows another: the last of five is free."""
    names = ("driven", "locked", "leader", "follower", "free")
    bodies = tuple(link(f"b{k}", 1.0, (0.0, -0.1), 0.02) for k in range(5))
    joints = tuple(
        hinge(name, "ground" if k == 0 else f"b{k - 1}", (0.0, 0.0 if k == 0 else -0.2), f"b{k}", 0.3)
        for k, name in enumerate(names)
    )
    coupler = CoordinateCoupler("c", True, (), "follower", ("leader",), Polynomial((0.2, 0.5, 0.1)))
    model = Model("arm", bodies, joints, (coupler,))
    model = model.with_coordinate("locked", locked=True)
    model = model.with_coordinate("driven", prescribed=True, prescribed_function=Sine(0.5, 3.0, 0.2))
    times = np.linspace(0.0, 1.0, 11)
    done = run(model, None, None, times, method="adams", formulation=formulation)
    slack = ROUNDING if formulation == "embedded" else 1e-8
    assert np.abs(done.q[:, 0] - 0.5 * np.sin(3.0 * times + 0.2)).max() < slack
    assert np.abs(done.u[:, 0] - 1.5 * np.cos(3.0 * times + 0.2)).max() < 10 * slack
    assert np.abs(done.q[:, 1] - 0.3).max() < slack
    assert done.drift.position.max() < slack
    other = run(model, None, None, times, method="rkf45")
    assert np.abs(done.q - other.q).max() < AGREE


@pytest.mark.parametrize("method", ["cvode", "adams", "ida"])
def test_drift_of_multistep_methods_does_not_grow(method):
    """Baumgarte's rate takes away within a second what ten steps add; the tenth second is as good as the first."""
    options = {"formulation": "constrained", "rtol": 1e-6, "atol": 1e-8, "dense": False}
    done = run(four_bar(), None, None, (0.0, 10.0), method=method, **options)
    assert done.drift is not None
    first, last = (done.drift.position[part].max() for part in (done.time <= 1.0, done.time >= 9.0))
    assert 0.0 < last < 3.0 * first
    projected = run(four_bar(), None, None, (0.0, 10.0), method=method, stabilization="project", **options)
    assert projected.drift is not None
    assert projected.drift.position.max() < ROUNDING
