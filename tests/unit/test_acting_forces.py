"""What acts on a tree at one state, as kernels compute it: power, agreement with many frames, loads from recordings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import Table, model_forces
from musculo.compile.compiled import compiled
from musculo.errors import InvalidInput, UnknownName
from musculo.forces.actuator_rows import control_names
from musculo.forces.compiled_forces import passive_paths
from musculo.model.model import Model
from musculo.results.external_loads import ExternalForce, ExternalLoads
from musculo.simulation.forces.model_force import ModelForce, PathForce
from support.acting import generalized, wrenches
from support.force_models import driven, every_state, foundations, zoo

# Sums of products in another order, relative to the largest.
ROUNDING = 1e-11
MODELS = {"zoo": zoo, "foundations": foundations, "driven": driven}


@pytest.fixture(scope="module", params=MODELS)
def case(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    model = MODELS[request.param](folder)
    model = model.replace(source=str(folder / "model.osim"))
    q, u, time = every_state(model)
    controls = np.random.default_rng(1).uniform(-2.0, 2.0, (len(q), max(1, len(control_names(model)))))
    return model, q, u, controls, time


def recorded(rows: int = 50, forces: int = 4, seed: int = 2) -> ExternalLoads:
    """Loads in ground and in moving frames, at points and without, with torques and without."""
    rng = np.random.default_rng(seed)
    names = [f"{k}_{part}{axis}" for k in range(4) for part in ("f_v", "f_p", "m_") for axis in "xyz"]
    time = np.linspace(0.2, 1.7, rows) if rows > 1 else np.array([0.4])
    values = 0.1 * np.cumsum(rng.normal(size=(rows, len(names))), axis=0)
    stated = (
        ExternalForce("plate", "a", "0_f_v", "0_f_p", "0_m_"),
        ExternalForce("strap", "c", "1_f_v", "1_f_p", "", "/bodyset/b", "/bodyset/d"),
        ExternalForce("wrench", "d", "", "", "2_m_", "c"),
        ExternalForce("centre", "b", "3_f_v", "", "3_m_"),
    )
    off = ExternalForce("off", "b", "0_f_v", "", "", applies=False)
    return ExternalLoads("loads", (*stated[:forces], off), Table(time, names, values))


def as_python_has_them(model, q, u, loads, time):
    """J^T F by inverse dynamics with and without the loads."""
    rest = np.zeros_like(u)
    without = musculo.inverse_dynamics(model, q, rest, rest)
    with_loads = musculo.inverse_dynamics(model, q, rest, rest, list(loads.at(time)))
    return without - with_loads


def close(ours, theirs):
    assert_allclose(ours, theirs, rtol=0, atol=ROUNDING * np.abs(theirs).max())


def test_one_state_is_one_of_many(case):
    """`simulate` computes state by state what `model_forces` does for all frames."""
    model, q, u, _, time = case
    known = model_forces(model, q, u, time=time, paths=False).tau
    one = ModelForce(model)
    close(np.array([one.as_function(*state) for state in zip(time, q, u, strict=True)]), known)
    assert one.any == known.any()


def test_contacts_that_opensim_loses_are_lost_at_one_state_too(tmp_path):
    model = zoo(tmp_path)
    q, u, time = every_state(model)
    known = model_forces(model, q, u, time=time, paths=False, like="opensim").tau
    exact = model_forces(model, q, u, time=time, paths=False).tau
    assert 3 < np.count_nonzero(np.abs(known - exact).max(axis=1) > 1.0) < len(q)
    one = ModelForce(model, method="opensim")
    close(np.array([one.as_function(*state) for state in zip(time, q, u, strict=True)]), known)


def test_ligaments_and_springs_along_paths_are_compiled_too(tmp_path):
    model = zoo(tmp_path)
    q, u, time = every_state(model)
    known = model_forces(model, q, u, time=time)
    mine = [name for name in known.names if name in ("cord", "band", "knee_band", "rule")]
    assert len(mine) == 4
    tau = sum(known.of(name).tau for name in mine)
    one = PathForce(passive_paths(model))
    close(np.array([one.as_function(*state) for state in zip(time, q, u, strict=True)]), tau)


def test_power_is_that_of_all_wrenches(case):
    """tau . u + sum over nodes of wrench . twist, whatever acts."""
    model, q, u, controls, time = case
    loads = recorded()
    E, tau = wrenches(model, q, u, controls, time, loads=loads)
    whole = generalized(model, q, u, controls, time, loads=loads)
    motion = musculo.kinematics(model, q, u).node_rows.reshape(len(q), -1, 24)
    p, w, v = (motion[:, :, k : k + 3] for k in (9, 12, 15))
    moment = E[..., 3:] - np.cross(p, E[..., :3])
    power = np.sum(E[..., :3] * v + moment * w, axis=(1, 2)) + np.sum(tau * u, axis=1)
    assert np.abs(power).max() > 1.0
    assert_allclose(np.sum(whole * u, axis=1), power, rtol=0, atol=ROUNDING * np.abs(E).max() * np.abs(u).max())
    # between bodies of the model everything balances, ground among them, but what comes from outside
    inside, _ = wrenches(model.replace(forces=[f for f in model.forces if paired(f.kind)]), q, u, time=time, rows={})
    assert_allclose(inside.sum(axis=1), 0.0, atol=ROUNDING * max(np.abs(inside).max(), 1.0))


def paired(kind: str) -> bool:
    return kind != "PrescribedForce" and "Actuator" not in kind


def test_what_acts_on_no_body_asks_for_no_motion(tmp_path):
    model = zoo(tmp_path)
    plain = model.replace(forces=[f for f in model.forces if "Coordinate" in f.kind or "Generalized" in f.kind])
    q, u, time = every_state(plain, 5)
    one = ModelForce(plain)
    assert one.data[0].forces.on_bodies == 0
    assert ModelForce(model).data[0].forces.on_bodies == 1
    found = np.array([one.as_function(*state) for state in zip(time, q, u, strict=True)])
    close(found, model_forces(plain, q, u, time=time).tau)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 50])
def test_loads_of_a_recording_are_those_of_python(tmp_path, rows):
    """Splines, lines and constants, in the data and beyond its ends, in every frame."""
    model = zoo(tmp_path).replace(forces=())
    q, u, time = every_state(model, 40)
    time[:3] = (-0.3, 0.2, 1.7)
    loads = recorded(rows)
    known = as_python_has_them(model, q, u, loads, time)
    close(generalized(model, q, u, time=time, loads=loads), known)
    one = ModelForce(model, loads=loads)
    close(np.array([one.as_function(*state) for state in zip(time, q, u, strict=True)]), known)


def test_loads_act_in_a_simulation_as_a_function_of_them_does(tmp_path):
    model = zoo(tmp_path)
    some = [f for f in model.forces if f.kind in ("SpringGeneralizedForce", "PointToPointSpring", "BushingForce")]
    model = model.replace(forces=some, contact_geometries=())
    q, u, _ = (0.1 * x[0] for x in every_state(model, 1))
    loads = recorded(30)
    options = {"method": "rkf45", "rtol": 1e-9, "atol": 1e-10}

    def function(t, q, u):
        return [musculo.ExternalLoad(*(part[0] if isinstance(part, np.ndarray) else part for part in load))
                for load in loads.at(t)]  # fmt: skip

    ours = musculo.simulate(model, q, u, (0.5, 0.6), loads=loads, **options)
    theirs = musculo.simulate(model, q, u, (0.5, 0.6), loads=function, **options)
    free = musculo.simulate(model, q, u, (0.5, 0.6), **options)
    assert ours.status == theirs.status == "finished"
    assert np.abs(ours.q[-1] - free.q[-1]).max() > 1e-3
    assert_allclose(ours.q[-1], theirs.q[-1], rtol=0, atol=1e-9)
    assert_allclose(ours.udot[0], theirs.udot[0], rtol=0, atol=1e-9 * np.abs(theirs.udot[0]).max())
    assert ours.provenance.options["forces"] == "model_forces, external loads"


def test_constant_loads_act_where_they_say(tmp_path):
    model = zoo(tmp_path).replace(forces=())
    q, u, _ = every_state(model, 20)
    loads = [
        musculo.ExternalLoad("a", (1.0, 2.0, 3.0), (0.1, 0.2, 0.3), (3.0, 2.0, 1.0)),
        musculo.ExternalLoad("c", (1.0, -2.0, 3.0), (0.1, 0.2, -0.3), (1.0, 2.0, 1.0), "/bodyset/b", "/bodyset/d"),
    ]
    rest = np.zeros_like(u)
    without, under = (musculo.inverse_dynamics(model, q, rest, rest, x) for x in ((), loads))
    close(generalized(model, q, u, loads=loads), without - under)
    times = np.linspace(0.0, 0.1, 3)
    for given in (loads, loads[0]):
        ours = musculo.simulate(model, q[0], u[0], times, loads=given)
        theirs = musculo.simulate(model, q[0], u[0], times, loads=lambda t, q, u, given=given: given)
        assert ours.status == "finished"
        assert_allclose(ours.q, theirs.q, rtol=0, atol=1e-7)


def test_loads_that_do_not_fit_are_refused(tmp_path):
    model = zoo(tmp_path)
    q, u, _ = (x[0] for x in every_state(model, 1))
    loads = recorded()
    with pytest.raises(InvalidInput, match=r"2 to 3 s, lies outside .* 'loads', which last from 0.2 to 1.7 s"):
        musculo.simulate(model, q, u, (2.0, 3.0), loads=loads)
    elsewhere = replace(loads, forces=(replace(loads.forces[0], body="boat"),))
    with pytest.raises(UnknownName, match=r"'boat'.* external force 'plate'"):
        musculo.simulate(model, q, u, (0.5, 0.6), loads=elsewhere)
    table = loads.table.values.copy()
    table[3, 0] = np.nan
    gap = loads.with_table(Table(loads.table.time, loads.table.names, table))
    with pytest.raises(InvalidInput, match="have gaps, the first at"):
        musculo.simulate(model, q, u, (0.5, 0.6), loads=gap)


def test_empty_models_of_forces_do_nothing():
    bar = musculo.Body("bar", 1.0)
    pin = musculo.PinJoint("pin", musculo.Placement("ground"), musculo.Placement("bar"), (musculo.Coordinate("turn"),))
    one = ModelForce(Model("pendulum", (bar,), (pin,)))
    assert not one.any
    assert one.as_function(0.0, np.ones(1), np.ones(1)).tolist() == [0.0]
    assert compiled(Model("pendulum", (bar,), (pin,))).tree.parent.size == 2
