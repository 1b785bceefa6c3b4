"""Forward dynamics under couplers in one kernel against the dense equation, and who is blamed where it fails."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import (
    Body,
    ExternalLoad,
    Model,
    PinJoint,
    Placement,
    embedding_of,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    read_osim,
)
from musculo.dynamics.embedded_dynamics import embedded_dynamics
from musculo.errors import InvalidInput, SingularSystem
from musculo.functions import Polynomial, Sine
from musculo.model import CoordinateCoupler
from musculo.model.coordinate import Coordinate
from support.recorded_data import NO_DATA, recorded

FILES = recorded("**/*.osim")
# A Cholesky factor of matrices whose condition is 1e4 at most.
AGREEMENT = 1e-11


def tree(*couplers: CoordinateCoupler, tip_mass: float = 1.0) -> Model:
    """A trunk with two arms of two links each, on pins that are not parallel."""
    inertia = (0.02, 0.03, 0.04, 0.0, 0.0, 0.0)
    names = (("trunk", "ground"), ("left", "trunk"), ("hand", "left"), ("right", "trunk"), ("palm", "right"))
    bodies, joints = [], []
    for k, (name, parent) in enumerate(names):
        light = name == "palm"
        mass = tip_mass if light else 1.0 + k
        tensor = tuple(tip_mass * x for x in inertia) if light else inertia
        bodies.append(Body(name, mass, (0.1, -0.2, 0.05), tensor))
        place = Placement(parent, (0.1, -0.3, 0.05 * k), (0.3 * k, 0.2, 0.1))
        joints.append(PinJoint(f"{name}_pin", place, name, (Coordinate(name),)))
    return Model("tree", tuple(bodies), tuple(joints), couplers)


def coupler(dependent, inputs, function):
    return CoordinateCoupler(f"{dependent}_follows", dependent=dependent, independents=inputs, function=function)


def dense(model, q, u, tau, load, time=0.0):
    """J z + b with J^T M J z = J^T (tau - what b needs)."""
    e = embedding_of(model)
    m = e.motion(e.independent(q), e.independent_speeds(q, u), time=time)
    force = np.einsum("fuz,fu->fz", m.J, tau - inverse_dynamics(model, q, u, m.b, load))
    mass = np.swapaxes(m.J, 1, 2) @ mass_matrix(model, q) @ m.J
    return np.einsum("fuz,fz->fu", m.J, np.linalg.solve(mass, force[..., None])[..., 0]) + m.b


def compare(model, frames=19, time=0.0):
    e, rng = embedding_of(model), np.random.default_rng(1)
    assert embedded_dynamics(model) is not None
    assert not e.selects
    low, high = np.array([np.clip(sorted(model.coordinate(n).range), -1.0, 1.0) for n in e.coordinate_names]).T
    z = rng.uniform(low, high, (frames, len(low))) if (low < high).any() else rng.normal(size=(frames, len(low)))
    m = e.motion(z, rng.normal(size=(frames, len(e.speed_names))), time=time)
    tau = 10 * rng.normal(size=m.u.shape)
    load = ExternalLoad(model.body_names[-1], rng.normal(size=(frames, 3)), (0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    ours, known = forward_dynamics(model, m.q, m.u, tau, load, time), dense(model, m.q, m.u, tau, load, time)
    assert np.abs(ours - known).max() < AGREEMENT * np.abs(known).max()
    one = forward_dynamics(
        model, m.q[3], m.u[3], tau[3], ExternalLoad(load.body, load.force[3], load.point, load.moment), time
    )
    assert_allclose(one, ours[3], rtol=1e-12, atol=1e-12 * np.abs(known).max())
    return ours


SQUARE = Polynomial((0.3, -0.5, 0.1))


@pytest.mark.parametrize(
    "couplers",
    [
        (coupler("hand", ("left",), SQUARE),),
        (coupler("palm", ("left",), SQUARE),),  # ties two branches together
        (coupler("right", ("hand",), Sine(0.5, 1.2, 0.3)), coupler("palm", ("right",), SQUARE)),  # a chain
        (coupler("hand", ("trunk",), SQUARE), coupler("palm", ("trunk",), SQUARE)),
    ],
    ids=["inside a branch", "across branches", "chain", "two of one"],
)
def test_couplers_of_all_shapes(couplers):
    compare(tree(*couplers))


def test_locked_and_prescribed_coordinates_beside_couplers():
    model = tree(coupler("palm", ("left",), SQUARE)).with_coordinate("trunk", locked=True, default_value=0.4)
    udot = compare(model)
    assert_allclose(udot[:, 0], 0.0, atol=0)
    wave = Sine(0.5, 2.0, 0.1)
    driven = tree(coupler("palm", ("right",), SQUARE)).with_coordinate(
        "right", prescribed=True, prescribed_function=wave
    )
    # what follows a prescribed coordinate is given by time, too
    udot = compare(driven, time=0.7)
    assert_allclose(udot[:, 3], wave.derivative(np.array(0.7), order=2), rtol=1e-14)


@pytest.mark.skipif(not FILES, reason=NO_DATA)
def test_models_with_couplers():
    models = [read_osim(file) for file in FILES]
    tied = [m for m in models if m.constraints and all(isinstance(c, CoordinateCoupler) for c in m.constraints)]
    coupled = [model for model in tied if not embedding_of(model).selects]
    assert len(coupled) > 5
    for model in coupled:
        compare(model)


def test_a_massless_tip_is_blamed():
    model = tree(coupler("hand", ("left",), SQUARE), tip_mass=0.0)
    q = embedding_of(model).coordinates(np.zeros((2, 4)))
    u = embedding_of(model).motion(np.zeros((2, 4)), np.zeros((2, 4))).u
    with pytest.raises(SingularSystem, match="palm"):
        forward_dynamics(model, q, u, np.zeros_like(u))


def test_speeds_that_do_not_follow_are_refused():
    model = tree(coupler("hand", ("left",), SQUARE))
    q = embedding_of(model).coordinates(np.zeros((2, 4)))
    with pytest.raises(InvalidInput, match="hand"):
        forward_dynamics(model, q, np.ones_like(q), np.zeros_like(q))
