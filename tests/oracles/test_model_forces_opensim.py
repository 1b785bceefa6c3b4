"""Every kind of force that acts by itself against a running OpenSim: generalised forces, wrenches, energy, columns."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import model_forces, read_osim, simulate, write_osim
from support.force_models import bouncing_ball, every_state, foundations, zoo
from support.opensim_forces import ask

pytest.importorskip("opensim")

# Closed formulas that both sides compute to rounding; relative to the largest number of a force.
ROUNDING = 1e-9
# Two integrators with errors of 1e-9 a step, which impacts enlarge [m, rad].
INTEGRATED = 1e-6
# After two impacts; springs of a mesh set in one by one, and steps of both sides meet them differently [m, rad].
BOUNCED = {"HuntCrossleyForce": 1e-6, "SmoothSphereHalfSpaceForce": 1e-6, "ElasticFoundationForce": 1e-5}
# What OpenSim makes of energies: it counts bushings twice, and these springs, cords and ligaments not at all.
COUNTED = {"BushingForce": 2.0, "SpringGeneralizedForce": 0.0, "PathSpring": 0.0}


@pytest.fixture(scope="module", params=["zoo", "foundations"])
def both(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    made = {"zoo": zoo, "foundations": foundations}[request.param](folder)
    file = folder / "model.osim"
    assert not write_osim(made, file)
    model = read_osim(file)
    q, u, time = every_state(model)
    (theirs,) = ask([["forces", str(file), q.tolist(), u.tolist(), time.tolist()]], folder)
    assert "error" not in theirs, theirs
    ours = model_forces(model, q, u, time=time, like="opensim")
    return model, ours, theirs


def close(name, what, ours, theirs):
    scale = np.abs(theirs).max()
    worst = np.abs(ours - theirs).max()
    assert worst <= ROUNDING * max(scale, 1.0), (name, what, worst, scale)


def test_nothing_is_left_out(both):
    _, ours, theirs = both
    assert not ours.left_out
    assert set(ours.names) == set(theirs["names"])


def test_generalised_forces_and_wrenches(both):
    _, ours, theirs = both
    assert list(ours.body_names) == theirs["bodies"]
    for k, name in enumerate(theirs["names"]):
        one = ours.of(name)
        assert np.abs(theirs["tau"][k]).max() > 1e-6, f"{name} is never at work"
        close(name, "tau", one.tau, theirs["tau"][k])
        close(name, "wrench", one.wrench, theirs["wrench"][k])


def test_all_together(both):
    _, ours, theirs = both
    close("all", "tau", ours.tau, theirs["tau"].sum(axis=0))
    close("all", "wrench", ours.wrench, theirs["wrench"].sum(axis=0))


def test_energy(both):
    _, ours, theirs = both
    for k, name in enumerate(theirs["names"]):
        counted = COUNTED.get(ours.kinds[ours.names.index(name)], 1.0)
        close(name, "energy", counted * ours.of(name).energy, theirs["energy"][k])


def test_columns_of_the_reporter(both):
    _, ours, theirs = both
    for k, name in enumerate(theirs["names"]):
        mine = [(label, values) for force, label, values in ours.reported if force == name]
        assert [label for label, _ in mine] == theirs["labels"][k]
        close(name, "columns", np.stack([values for _, values in mine], axis=1), theirs["values"][k])


def test_a_ball_that_bounces(data_folder, tmp_path):
    """The motion that both integrators find at tight tolerances, through two impacts, spinning."""
    file = data_folder / "small_models" / "BouncingBall_HuntCrossley.osim"
    model = read_osim(file)
    q, u = np.zeros(6), np.zeros(6)
    at = model.coordinate_index
    q[at("ball_ty")], u[at("ball_tx")], u[at("ball_rz")] = 0.9, 1.0, 3.0
    times = np.linspace(0.0, 0.6, 13)
    (theirs,) = ask([["simulate", str(file), q.tolist(), u.tolist(), times.tolist(), 1e-9]], tmp_path)
    ours = simulate(model, q, u, times, rtol=1e-9, atol=1e-10)
    assert ours.status == "finished", ours.reason
    height = ours.q[:, at("ball_ty")]
    assert (np.diff(height) < 0.0).any()
    assert (np.diff(height) > 0.0).any()
    assert_allclose(ours.q, theirs, rtol=0, atol=INTEGRATED)


@pytest.mark.parametrize("kind", ["HuntCrossleyForce", "SmoothSphereHalfSpaceForce", "ElasticFoundationForce"])
def test_balls_of_every_contact_bounce_in_compiled_steps(kind, tmp_path):
    """Thrown and spinning, through two impacts with friction."""
    file = tmp_path / "ball.osim"
    assert not write_osim(bouncing_ball(kind, tmp_path, dissipation=0.2, friction=0.7), file)
    model = read_osim(file)
    q, u = np.array([0.0, 0.0, 0.0, 0.0, 0.3, 0.0]), np.array([0.0, 0.0, 3.0, 1.0, 0.0, 0.2])
    times = np.linspace(0.0, 0.65, 14)
    (theirs,) = ask([["simulate", str(file), q.tolist(), u.tolist(), times.tolist(), 1e-9]], tmp_path)
    ours = simulate(model, q, u, times, method="rkf45", rtol=1e-10, atol=1e-11)
    assert ours.status == "finished", ours.reason
    height = ours.q[:, 4]
    assert ((np.diff(height)[:-1] < 0.0) & (np.diff(height)[1:] > 0.0)).sum() == 2
    assert_allclose(ours.q, theirs, rtol=0, atol=BOUNCED[kind])
