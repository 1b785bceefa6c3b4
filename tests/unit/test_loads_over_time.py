"""External loads of a file in Python: taken at the frames, refused without times, and warned of where they are odd."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, ExternalLoad, Model, MusculoWarning, PinJoint, Placement, Table
from musculo.errors import InvalidInput
from musculo.model import FreeJoint
from musculo.results import ExternalForce, ExternalLoads

FRAMES = 60
TIME = np.linspace(0.0, 1.0, FRAMES)


def walker() -> Model:
    """A pelvis that is free in space, with two feet on long pins."""
    feet = tuple(
        PinJoint(
            f"hip_{side}", Placement("pelvis", (0.0, 0.0, z)), Placement(f"foot_{side}"), (Coordinate(f"h_{side}"),)
        )
        for side, z in (("r", 0.2), ("l", -0.2))
    )
    bodies = (
        Body("pelvis", 30.0, inertia=(1, 1, 1, 0, 0, 0)),
        *(Body(f"foot_{s}", 5.0, (0.0, -0.9, 0.0), (0.1, 0.1, 0.1, 0, 0, 0)) for s in "rl"),
    )
    names = ("rx", "ry", "rz", "tx", "ty", "tz")
    base = FreeJoint("base", Placement("ground"), Placement("pelvis"), tuple(Coordinate(n) for n in names))
    return Model("walker", bodies, (base, *feet))


def standing() -> tuple[np.ndarray, np.ndarray]:
    q = np.zeros((FRAMES, 8))
    q[:, 4] = 1.0 + 0.01 * np.sin(TIME)
    return q, np.zeros((FRAMES, 8))


@pytest.fixture
def loads(tmp_path) -> ExternalLoads:
    """A plate under the right foot whose force grows, from a file, at times between those of the frames."""
    time = np.linspace(-0.1, 1.1, 150)
    data = np.column_stack([0 * time, 300.0 + 90.0 * time, 0 * time, 0.05 + 0 * time, 0 * time, 0.2 + 0 * time])
    table = Table(time, [f"f_{k}{a}" for k in "vp" for a in "xyz"], data)
    given = ExternalLoads("plates", (ExternalForce("plate", "foot_r", "f_v", "f_p"),), table)
    musculo.io.write_external_loads(given, tmp_path / "loads.xml")
    return musculo.read_external_loads(tmp_path / "loads.xml")


def calls(model, q, u, loads, **time):
    """The three functions that take loads of a file, each by what it makes of them."""
    reserves = {"reserves": 100.0}
    return {
        "inverse_dynamics": musculo.inverse_dynamics(model, q, u, u, loads, **time),
        "static_optimization": musculo.static_optimization(model, q, u, u, loads=loads, **reserves, **time).reserve,
        "joint_loads": musculo.joint_loads(model, q, u, u, loads=loads, **time).force,
    }


def test_a_file_is_taken_at_the_frames(loads):
    model, (q, u) = walker(), standing()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = calls(model, q, u, [ExternalLoad(*one) for one in loads.at(TIME)])
        table = Table(TIME, model.coordinate_names, q)
        ways = [
            calls(model, q, u, loads, time=TIME),
            calls(model, q, u, loads.at(TIME)),
            calls(model, q, u, loads.at(TIME)[0]),
            calls(model, table, u, loads),
            calls(model, table.to_xarray("coordinate"), u, loads),
        ]
    for found in ways:
        for name, values in found.items():
            assert np.array_equal(values, known[name]), name
    # by hand: the last frame stands on 390 N, of 40 kg
    assert known["inverse_dynamics"][-1, 4] == pytest.approx(40.0 * 9.80665 - 390.0, abs=1e-6)
    forward = musculo.forward_dynamics(model, q, u, u, loads, time=TIME)
    assert np.array_equal(forward, musculo.forward_dynamics(model, q, u, u, loads.at(TIME)))


@pytest.mark.parametrize("time", [{}, {"time": 0.5}])
def test_times_of_the_frames_are_asked_for(loads, time):
    model, (q, u) = walker(), standing()
    for call in (
        lambda: musculo.inverse_dynamics(model, q, u, u, loads, **time),
        lambda: musculo.static_optimization(model, q, u, u, loads=loads, reserves=100.0, **time),
        lambda: musculo.joint_loads(model, q, u, u, loads=loads, **time),
        lambda: musculo.joint_reactions(model, q, u, u, loads),
    ):
        with pytest.raises(InvalidInput, match=r"give the times of the 60 frames .*loads.at\(motion.time\)"):
            call()
    with pytest.raises(InvalidInput, match="loads are part of tau already"):
        musculo.static_optimization(model, q, u, tau=u, loads=loads, time=TIME)


@pytest.mark.parametrize("name", ["grf.xml", Path("grf.xml")])
def test_the_name_of_a_file_is_no_load(name):
    model, (q, u) = walker(), standing()
    with pytest.raises(InvalidInput, match=r"loads are 'grf.xml', the name of a file.*read_external_loads"):
        musculo.inverse_dynamics(model, q, u, u, loads=name)


def test_one_pose_at_one_time(loads):
    model, (q, u) = walker(), standing()
    tau = musculo.inverse_dynamics(model, q[0], u[0], u[0], loads, time=0.0)
    assert np.array_equal(tau, musculo.inverse_dynamics(model, q, u, u, loads, time=TIME)[0])


def test_what_the_shell_says_of_loads_is_warned_of_and_noted(loads):
    """On the other foot, in millimetres, and ending before the frames: each in every function, once, and on results."""
    model, (q, u) = walker(), standing()
    other = replace(loads, forces=(replace(loads.forces[0], body="foot_l"),))
    values = np.array(loads.table.values)
    values[:, 3:] *= 1e4
    far = loads.with_table(replace(loads.table, values=values))
    short = loads.with_table(loads.table.between(-1.0, 0.5))
    for bad, words in (
        (other, "the external load on foot_l acts .* from foot_r .*is it on the wrong foot"),
        (far, "points are in meters: are they in cm, or in millimeters"),
        (short, "of 60 frames lie outside the external loads"),
    ):
        for call in (
            lambda bad=bad: musculo.inverse_dynamics(model, q, u, u, bad, time=TIME),
            lambda bad=bad: musculo.static_optimization(model, q, u, u, loads=bad, reserves=100.0, time=TIME),
            lambda bad=bad: musculo.joint_loads(model, q, u, u, loads=bad, time=TIME),
        ):
            with pytest.warns(MusculoWarning, match=words) as told:
                result = call()
            assert told[0].filename == __file__
            assert len(told) == 1
            notes = getattr(result, "notes", None)
            assert notes is None or notes == (str(told[0].message),)


def test_loads_of_another_trial_are_refused(loads):
    model, (q, u) = walker(), standing()
    with pytest.raises(InvalidInput, match=r"all 60 frames, 50 to 51 s, lie outside .*of the same trial"):
        musculo.inverse_dynamics(model, q, u, u, loads, time=TIME + 50.0)


def test_a_small_force_by_hand_is_no_recording_in_other_units():
    """A push of 2 N on a walker of 40 kg: for all frames alike, or in a few poses."""
    model, (q, u) = walker(), standing()
    point = np.array([0.05, 0.0, 0.2])
    with warnings.catch_warnings():
        warnings.simplefilter("error", MusculoWarning)
        musculo.inverse_dynamics(model, q, u, u, ExternalLoad("foot_r", force=(0.0, 2.0, 0.0), point=point))
        few = ExternalLoad("foot_r", force=np.tile([0.0, 2.0, 0.0], (3, 1)), point=point)
        musculo.inverse_dynamics(model, q[:3], u[:3], u[:3], few)
    many = ExternalLoad("foot_r", force=np.tile([0.0, 2.0, 0.0], (FRAMES, 1)), point=point)
    with pytest.warns(MusculoWarning, match="are forces in kN"):
        musculo.inverse_dynamics(model, q, u, u, many)
