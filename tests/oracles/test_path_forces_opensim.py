"""Springs, ligaments and actuators along paths against a running OpenSim, over lengths, speeds and controls.

python test_path_forces_opensim.py MODEL.osim STATES.npz OUT.npz      the OpenSim side, in a process of its own
"""

from __future__ import annotations

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Placement, path_geometry, path_tensions, read_osim, write_osim
from musculo.functions import SimmSpline
from musculo.model.joints import SliderJoint
from musculo.model.model_path import Path, PathPoint
from musculo.model.path_force import (
    Blankevoort1991Ligament,
    ClutchedPathSpring,
    ExpressionBasedPathForce,
    Ligament,
    PathActuator,
    PathSpring,
)
from support.opensim_server import in_opensim

# Closed formulas of a length that both sides compute to rounding; relative to the largest tension of a force.
ROUNDING = 1e-9
LENGTHS = np.concatenate([np.linspace(0.05, 0.5, 46), 0.2 * (1.0 + np.array([-1e-9, 1e-9, 0.005, 0.01, 0.06, 0.2]))])
SPEEDS = (-7.0, -0.5, -1e-3, 0.0, 1e-3, 0.5, 7.0)


# --- the OpenSim side -------------------------------------------------------------------------------------------------
def opensim_side(model_file: str, states_file: str, out_file: str) -> None:
    import opensim

    opensim.Logger.setLevelString("off")
    model = opensim.Model(model_file)
    state = model.initSystem()
    slider = model.getCoordinateSet().get(0)
    group = model.getForceSet()
    forces = []
    for i in range(group.getSize()):
        force = group.get(i)
        forces.append(getattr(opensim, force.getConcreteClassName()).safeDownCast(force))
    given = np.load(states_file)
    rows = []
    for length, speed, control, stretch in zip(*(given[k] for k in ("q", "u", "control", "stretch")), strict=True):
        slider.setValue(state, float(length), False)
        slider.setSpeedValue(state, float(speed))
        for path in map(str, given["stretched"]):
            model.setStateVariableValue(state, path, float(stretch))
        controls = opensim.Vector(model.getNumControls(), 0.0)
        for k in range(controls.size()):
            controls.set(k, float(control[k]))
        model.realizeVelocity(state)
        model.setControls(state, controls)
        model.realizeDynamics(state)
        rows.append([tension_of(force, state) for force in forces])
    np.savez(out_file, names=[f.getName() for f in forces], tension=rows)


def tension_of(force, state):
    if hasattr(force, "getTotalForce"):
        return force.getTotalForce(state)
    return force.getActuation(state) if force.getConcreteClassName() == "PathActuator" else force.getTension(state)


# --- one model with every kind ----------------------------------------------------------------------------------------
def along(name):
    return Path((PathPoint(f"{name}-a", "ground", (0.0, 0.03, 0.0)), PathPoint(f"{name}-b", "cart", (0.0, 0.0, 0.04))))


def every_kind():
    bent = SimmSpline((0.9, 1.0, 1.1, 1.4, 2.0), (0.0, 0.1, 0.3, 1.2, 1.3))
    made = [
        PathSpring("spring", resting_length=0.2, stiffness=1500.0, dissipation=0.0),
        PathSpring("damped", resting_length=0.2, stiffness=1500.0, dissipation=0.4),
        Ligament("ligament", resting_length=0.2, pcsa_force=300.0),
        Ligament("bent", resting_length=0.2, pcsa_force=300.0, force_length_curve=bent),
        Blankevoort1991Ligament("knee", slack_length=0.2, linear_stiffness=4000.0),
        Blankevoort1991Ligament(
            "viscous", slack_length=0.2, linear_stiffness=4000.0, transition_strain=0.03, damping_coefficient=25.0
        ),
        PathActuator("motor", optimal_force=250.0),
        ClutchedPathSpring("clutch", stiffness=900.0, dissipation=0.2, initial_stretch=0.01),
        PathActuator("weak", optimal_force=3.0, min_control=-1.0, max_control=1.0),
        ExpressionBasedPathForce("cubic", resting_length=0.2, expression="10*s + 300*s^3*(1 + 0.1*ldot)"),
        ExpressionBasedPathForce("free", resting_length=0.2, expression="a*s-b; a=1e2; b=-ldot^2/7",
                                 clamp_stretch=False),
        ExpressionBasedPathForce(
            "zoo", resting_length=0.1,
            expression="-s^2+2^-s*exp(s)-min(s,0.1)/max(ldot,.5)+sqrt(abs(s))*tanh(ldot)*step(s-0.2)+erf(s)*cube(s)"
            "+sec(s)*recip(1+s)-atan(abs(ldot))^square(s)*delta(s)+log(1+s)/cosh(s)*cot(1+s)-2-3-s",
        ),
    ]  # fmt: skip
    body = Body("cart", 1.0, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    joint = SliderJoint("rail", Placement("ground"), Placement("cart"), (Coordinate("x", range=(0.0, 1.0)),))
    forces = tuple(type(f)(**{**vars(f), "path": along(f.name)}) for f in made)
    return Model("cords", (body,), (joint,), forces=forces)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    pytest.importorskip("opensim")
    folder = tmp_path_factory.mktemp("forces")
    model = every_kind()
    assert not write_osim(model, folder / "model.osim")
    rng = np.random.default_rng(1)
    length, speed = (x.ravel() for x in np.meshgrid(LENGTHS, SPEEDS))
    # the paths have a fixed part across the rail
    q = np.sqrt(np.maximum(length**2 - 0.05**2, 0.0))
    control, stretch = rng.uniform(-0.5, 1.5, (len(q), 3)), rng.uniform(0.0, 0.1, len(q))
    states = {"q": q, "u": speed, "control": control, "stretch": stretch, "stretched": ["/forceset/clutch/stretch"]}
    np.savez(folder / "states.npz", **states)
    in_opensim(opensim_side, *(str(folder / n) for n in ("model.osim", "states.npz", "out.npz")))
    theirs = np.load(folder / "out.npz")
    g = path_geometry(model, q[:, None], speed[:, None])
    ours = path_tensions(model, g.length, g.speed, control, stretch[:, None])
    assert list(theirs["names"]) == list(ours.names)
    return model, folder, g, ours, theirs["tension"]


def test_tensions(both):
    *_, ours, theirs = both
    scale = np.abs(theirs).max(axis=0)
    assert (scale > 1.0).all()
    difference = np.abs(ours.tension - theirs).max(axis=0) / scale
    assert (difference < ROUNDING).all(), dict(zip(ours.names, difference, strict=True))


def test_regimes_are_reached(both):
    """The sweep is no sweep if nothing is slack, damped or pushing."""
    _, _, g, ours, _ = both
    column = {name: ours.tension[:, k] for k, name in enumerate(ours.names)}
    taut = g.length[:, 0] > 0.2
    assert taut.any()
    assert not taut.all()
    for name in ("spring", "damped", "ligament", "knee", "viscous"):
        assert (column[name][~taut] == 0.0).all()
    assert (column["damped"] < 0.0).any()
    assert (column["viscous"] > column["knee"]).any()
    assert (column["motor"] < 0.0).any()


def test_files_keep_every_value(both, tmp_path):
    model, folder, *_ = both
    again = read_osim(folder / "model.osim")
    assert again.forces == model.forces
    write_osim(again, tmp_path / "again.osim")
    assert (tmp_path / "again.osim").read_text() == (folder / "model.osim").read_text()
