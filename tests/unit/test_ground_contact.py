"""Smooth contacts with ground at the nodes of a mesh: forces beside `model_forces`, slopes beside differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import musculo
import musculo.demo
from musculo import Table
from musculo.dynamics.inverse import inverse_dynamics
from musculo.errors import InvalidInput, Unsupported
from musculo.functions import Linear
from musculo.model import ContactGeometry, CoordinateCoupler
from musculo.model.force import Force
from musculo.muscle import with_de_groote_fregly_muscles
from musculo.replications.moco import predicted_step
from musculo.results.external_loads import ExternalForce, ExternalLoads
from musculo.trajectory import (
    MuscleDriven,
    Trapezoidal,
    ground_forces,
    predict_step,
    softer_contacts,
    track_step,
)
from musculo.trajectory.solvers.outcome import SolverStatus
from support.dynamics_models import random_tree
from support.ground_spheres import with_spheres
from support.recorded_data import DATA, NO_DATA

STEP = 1e-6
# Central differences in steps of 1e-6 of forces whose third derivatives are some 1e8 [N/m^3], over the largest slope.
DIFFERENCES = 1e-5
# Curvatures are forward differences of exact slopes in such steps.
CURVATURE = 1e-2
# Both compute the same law, one compiled, one with arrays.
ROUNDING = 1e-11

PLANAR = DATA / "gait10dof18musc" / "moco_track"


@pytest.fixture(scope="module")
def touching():
    """The demo's arm without muscles, spheres at its end, and states at which they touch."""
    model = musculo.demo.arm().replace(forces=())
    body = model.body_names[-1]
    q = np.random.default_rng(1).uniform(0.4, 0.8, (4, 2))
    height = musculo.kinematics(model, q, np.zeros_like(q)).position(body, (0.0, -0.2, 0.0))[:, 1]
    places = {"one": (body, (0.0, -0.2, 0.0)), "two": (body, (0.02, -0.21, 0.03))}
    return with_spheres(model, places, floor=float(height.mean()) - 0.02), q


def test_forces_are_those_of_model_forces(touching):
    model, q = touching
    u = np.random.default_rng(2).normal(0.0, 1.0, q.shape)
    f = MuscleDriven(model, reserves=1.0)
    acting = musculo.model_forces(model, q, u).tau
    assert np.abs(acting).max() > 10.0
    rest = np.zeros_like(q)
    less = inverse_dynamics(model, q, rest, rest, wrenches=f.contacts.wrenches(q, u))
    found = musculo.inverse_dynamics(model, q, rest, rest) - less
    assert found == pytest.approx(acting, abs=ROUNDING * np.abs(acting).max())


def turning(coupled):
    """A ball on a limb that turns about three axes, over states at which it touches; or one of them follows a pin."""
    rng = np.random.default_rng(0)
    model = random_tree(rng, ("pin", "gimbal"), depth=1)
    pin, gimbal = (next(x.coordinate_names for x in model.joints if kind in x.name) for kind in ("pin", "gimbal"))
    if coupled:
        coupler = CoordinateCoupler("together", True, (), gimbal[1], (pin[0],), Linear(0.7, 0.1))
        model = model.replace(constraints=(coupler,))
    e, body = musculo.embedding_of(model), next(name for name in model.body_names if "gimbal" in name)
    z = rng.uniform(0.3, 0.7, (1, len(e.coordinate_names))) + rng.normal(0.0, 0.002, (4, 1))
    height = musculo.kinematics(model, e.motion(z, 0.0 * z, 0.0 * z).q).position(body)[:, 1]
    return with_spheres(model, {"ball": (body, (0.0, 0.0, 0.0))}, floor=float(height.mean()) + 0.01), z


def pushed(model):
    """Loads over time on the limb that turns: given in ground, and force or point in the limb."""
    limb = next(name for name in model.body_names if "gimbal" in name)
    time = np.linspace(0.0, 1.0, 6)
    names = tuple(f"{part}_{axis}" for part in "fpm" for axis in "xyz")
    values = np.random.default_rng(6).normal(size=(len(time), 9)) * np.repeat((30.0, 0.1, 3.0), 3)
    frames = (("ground", "ground"), ("ground", limb), (limb, "ground"))
    forces = [ExternalForce(f"in {a} and {b}", limb, "f_", "p_", "m_", a, b) for a, b in frames]
    return ExternalLoads("loads", tuple(forces), Table(time, names, values))


@pytest.mark.parametrize("case", ["plane", "space", "coupled", "loaded"])
def test_slopes_and_curvatures(touching, case):
    model, q = touching if case == "plane" else turning(case == "coupled")
    f = MuscleDriven(model, loads=pushed(model) if case == "loaded" else (), reserves=1.0)
    v = np.random.default_rng(3).normal(0.0, 1.0, (len(q), len(f.inputs)))
    v[:, f.layout.value] = q
    v[:, f.layout.speed] *= 0.2
    v[:, f.layout.time] = np.linspace(0.1, 0.9, len(v))
    n = len(f.names)
    multipliers = np.random.default_rng(4).normal(size=(len(q), n))
    assert np.abs(f.contacts.forces(f.motion(v).q, f.motion(v).u)).max() > 10.0

    def dense(at):
        found = np.zeros((len(at), n, len(f.inputs)))
        found[:, f.pattern[0], f.pattern[1]] = f.slopes(at)[1]
        return found

    exact = dense(v)
    rows, columns = f.curvature_pattern
    second = np.zeros((len(v), len(f.inputs), len(f.inputs)))
    second[:, rows, columns] = second[:, columns, rows] = f.curvatures(v, multipliers)
    for k in range(len(f.inputs) - 1):
        step = STEP * np.eye(len(f.inputs))[k]
        slope = (f.values(v + step) - f.values(v - step)) / (2 * STEP)
        assert exact[:, :, k] == pytest.approx(slope, abs=DIFFERENCES * (1.0 + np.abs(slope).max()))
        bend = np.einsum("koi,ko->ki", dense(v + step) - dense(v - step), multipliers) / (2 * STEP)
        assert second[:, k] == pytest.approx(bend, abs=CURVATURE * (1.0 + np.abs(bend).max()))


def test_softer_ground(touching):
    model, _ = touching
    soft = dict(softer_contacts(model, 0.1).forces[0].properties)
    assert float(soft["stiffness"]) == pytest.approx(3e5)
    assert float(soft["transition_velocity"]) > 0.2
    assert softer_contacts(model, 1.0).forces[0].kind == model.forces[0].kind
    with pytest.raises(InvalidInput, match="softness"):
        softer_contacts(model, 0.0)


def test_other_forces_are_refused():
    model = musculo.demo.arm().replace(forces=())
    spring = Force("spring", "SpringGeneralizedForce", properties=(("coordinate", "elbow_flexion"),))
    with pytest.raises(Unsupported, match="SpringGeneralizedForce"):
        MuscleDriven(model.replace(forces=(spring,)))
    tilted = with_spheres(model, {"one": (model.body_names[-1], (0.0, 0.0, 0.0))})
    floor, *rest = tilted.contact_geometries
    moved = tilted.replace(contact_geometries=(ContactGeometry("floor", floor.kind, model.body_names[0]), *rest))
    with pytest.raises(Unsupported, match="only ground"):
        MuscleDriven(moved)


def test_predicted_step():
    """A planar walker with 18 muscles: a step that follows its recording, then one faster than that."""
    if not PLANAR.is_dir():
        pytest.skip(NO_DATA)
    model = predicted_step.walker(PLANAR)
    tracked = predicted_step.tracked(model, PLANAR, 16)
    assert tracked.solved
    for name in ("pelvis_tilt", "pelvis_tx", "pelvis_ty"):
        assert np.abs(tracked[f"{name}_reserve/control"]).max() < 0.1  # 10 N or 10 N m
    step = predict_step(model, 1.2, tracked, reserves=predicted_step.TORSO)
    assert step.solved
    assert step["pelvis_tx/value"][-1] == pytest.approx(1.2 * step.duration, abs=1e-3)
    assert step["knee_angle_l/value"][-1] == pytest.approx(step["knee_angle_r/value"][0], abs=1e-3)
    # what ground does over a step carries the weight
    upward = sum(force[:, 1] for force in ground_forces(step).values())
    mean = np.trapezoid(upward, step.time) / step.duration
    assert mean == pytest.approx(9.80665 * musculo.total_mass(model), rel=0.05)


def test_an_interrupt_ends_all_searches_of_a_step():
    """Ctrl-C means the step, not the first of its four searches."""
    if not PLANAR.is_dir():
        pytest.skip(NO_DATA)
    heard = []

    def interrupt(at):
        heard.append(at.iteration)
        return False

    model = predicted_step.walker(PLANAR)
    table = predicted_step.over_ground(model, PLANAR)
    start, end = predicted_step.STRIKES
    given = {"start": start, "end": end, "residuals": predicted_step.PELVIS, "reserves": predicted_step.TORSO}
    found = track_step(model, table, Trapezoidal(8), progress=interrupt, **given)
    assert found.status.name == "STOPPED"
    assert len(heard) == 1


def test_the_time_of_all_searches_of_a_step_is_limited():
    if not PLANAR.is_dir():
        pytest.skip(NO_DATA)
    model = predicted_step.walker(PLANAR)
    table = predicted_step.over_ground(model, PLANAR)
    start, end = predicted_step.STRIKES
    given = {"start": start, "end": end, "residuals": predicted_step.PELVIS, "reserves": predicted_step.TORSO}
    heard = []
    limited = {"time_limit": 1e-3, "progress": lambda at: heard.append(at.iteration)}
    found = track_step(model, table, Trapezoidal(8), **limited, **given)
    assert found.status == SolverStatus.ITERATIONS
    assert heard.count(0) == 1
    heard.clear()
    step = predict_step(model, 1.2, found, reserves=predicted_step.TORSO, **limited)
    assert step.status == SolverStatus.ITERATIONS
    assert heard.count(0) == 1
    with pytest.raises(InvalidInput, match="time_limit is 0"):
        predict_step(model, 1.2, found, time_limit=0)


def test_a_step_without_ground_is_refused():
    model, motion = with_de_groote_fregly_muscles(musculo.demo.arm()), musculo.demo.arm_flexion()
    spheres = with_spheres(model, {"one": (model.body_names[-1], (0.0, 0.0, 0.0))})
    off = spheres.replace(forces=tuple(replace(force, applies_force=False) for force in spheres.forces))
    for none in (model, off):
        with pytest.raises(InvalidInput, match=r"touches the ground.*add a Force of the kind 'SmoothSph"):
            track_step(none, motion, Trapezoidal(5), start=0.0, end=1.0, residuals={})
        with pytest.raises(InvalidInput, match=r"predict_step: nothing of .* touches the ground"):
            predict_step(none, 1.0, None)
