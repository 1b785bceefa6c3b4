"""Computed torque control: the accelerations that it gives, and how errors decay under it."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import computed_torque
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.functions import Constant, MultivariatePolynomial, Sine
from musculo.model import CoordinateCoupler
from support.mechanisms import chain, four_bar

# Accelerations follow forces through a mass matrix whose condition is a few hundred.
ROUNDING = 1e4 * float(np.finfo(float).eps)
# Of a run whose steps err by 1e-10.
DECAY = 1e-8


def ruled():
    """A lock, a drive, and couplers of one and of two coordinates, one of which follows another."""
    model = chain("ruled", (0.3, 0.4, 0.2, 0.3, 0.2, 0.1), 0.5, (0.3, 0.2, -0.4, 0.5, 0.1, 0.2))
    both = MultivariatePolynomial(2, 2, (0.1, 0.2, 0.3, -0.4, 0.5, 0.6))
    couplers = (
        CoordinateCoupler("two", True, (), "q4", ("q1", "q3"), both),
        CoordinateCoupler("one", True, (), "q3", ("q2",), Sine(0.7, 2.0, 0.3), scale=1.5),
    )
    drive = {"prescribed": True, "prescribed_function": Sine(0.4, 3.0, 0.2)}
    model = model.replace(constraints=couplers).with_coordinate("q0", **drive)
    return model.with_coordinate("q5", locked=True, default_value=0.2)


def free():
    return chain("free", (0.3, 0.4, 0.2), 0.5, (0.3, 0.2, -0.4)).replace(constraints=())


GOALS = {"q0": Sine(0.3, 1.0), "q1": Sine(0.4, 2.0, 0.1, 0.2), "q2": Constant(0.3)}


def controlled(model, kp=400.0, kv=30.0):
    goals = {name: GOALS[name] for name in embedding_of(model).coordinate_names}
    return computed_torque(model, goals, kp, kv)


@pytest.mark.parametrize("make", [free, ruled])
def test_accelerations_are_those_of_the_error_equation(make):
    """At any state, and with any forces that act already."""
    model = make()
    control, e = controlled(model), embedding_of(model)
    rng = np.random.default_rng(5)
    n, frames = len(e.coordinate_names), 20
    t, z, zu = rng.uniform(0.0, 2.0, frames), rng.normal(size=(frames, n)), rng.normal(size=(frames, n))
    motion = e.motion(z, zu, time=t)
    known = rng.normal(size=motion.u.shape)
    added = control.torques(t, motion.q, motion.u, known)
    udot = musculo.forward_dynamics(model, motion.q, motion.u, known + added, time=t)
    f, f1, f2 = control.desired(t)
    wanted = f2 - 30.0 * (zu - f1) - 400.0 * (z - f)
    found = udot[:, [model.speed_index(name) for name in e.speed_names]]
    np.testing.assert_allclose(found, wanted, rtol=ROUNDING, atol=ROUNDING * np.abs(wanted).max())
    followers = [k for k, name in enumerate(model.speed_names) if name not in e.speed_names]
    assert np.all(added[:, followers] == 0.0)


@pytest.mark.parametrize("formulation", ["embedded", "constrained"])
def test_errors_decay_as_those_of_a_critically_damped_oscillator(formulation):
    """e(t) = (e_0 + k e_0 t) exp(-k t) from rest, of each coordinate by itself."""
    model = ruled()
    k = np.array([6.0, 9.0])
    goals = {"q1": 0.1, "q2": -0.2}
    control = computed_torque(model, goals, kp=k**2)
    z0 = np.array([0.4, 0.3])
    motion = embedding_of(model).motion(z0, np.zeros(2))
    times = np.linspace(0.0, 1.0, 11)
    tight = {"method": "rkf45", "rtol": 1e-10, "atol": 1e-11}
    done = musculo.simulate(model, motion.q, motion.u, times, forces=control, formulation=formulation, **tight)
    assert done.status == "finished"
    e = z0 - np.array([0.1, -0.2])
    kt = k * times[:, None]
    wanted = np.array([0.1, -0.2]) + e * (1.0 + kt) * np.exp(-kt)
    np.testing.assert_allclose(embedding_of(model).independent(done.q), wanted, atol=DECAY)


def test_it_starts_on_the_motion_and_stays_there():
    model = free()
    control = controlled(model)
    q0, u0 = control.start(0.5)
    times = np.linspace(0.5, 1.5, 5)
    done = musculo.simulate(model, q0, u0, times, forces=control, method="rkf45", rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(done.q, control.desired(times)[0], atol=DECAY)
    assert done.provenance.options["forces"] == "kernels"  # none of it in Python


def test_gains_come_as_one_number_as_many_and_by_name():
    model = free()
    goals = dict.fromkeys(model.coordinate_names, 0.0)
    state = 0.0, np.array([0.3, 0.1, 0.2]), np.array([1.0, -1.0, 0.5])
    same = [
        computed_torque(model, goals, kp, kv).as_function(*state)
        for kp, kv in ((9.0, None), (9.0, 6.0), ([9.0] * 3, [6.0] * 3), (dict.fromkeys(goals, 9.0), 6.0))
    ]
    assert all(np.array_equal(one, same[0]) for one in same)
    assert not np.array_equal(computed_torque(model, goals, 9.0, 5.0).as_function(*state), same[0])


def test_what_does_not_fit_is_named():
    model = ruled()
    goals = {"q1": 0.0, "q2": 0.0}
    for wrong, said in (
        (lambda: computed_torque(model, {"q1": 0.0}, 1.0), "no function for q2"),
        (lambda: computed_torque(model, {**goals, "q3": 0.0}, 1.0), "q3.*follows others"),
        (lambda: computed_torque(model, {**goals, "q1": "up"}, 1.0), "a function of musculo.functions"),
        (lambda: computed_torque(model, goals, [1.0, 2.0, 3.0]), "give one number, or 2"),
        (lambda: computed_torque(model, goals, -1.0), "not negative"),
        (lambda: computed_torque(model, goals, {"q1": 1.0}), "kp has no gain for q2"),
    ):
        with pytest.raises(InvalidInput, match=said):
            wrong()
    with pytest.raises(UnknownName, match="q1"):
        computed_torque(model, {**goals, "q11": 0.0}, 1.0)
    with pytest.raises(Unsupported, match="loop"):
        computed_torque(four_bar(), {}, 1.0)
