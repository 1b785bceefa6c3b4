"""The header of a result says what was asked for, so that it can be repeated."""

from __future__ import annotations

import json

import numpy as np
import pytest

import musculo
from musculo import inverse_kinematics, simulate, static_optimization
from musculo.demo import arm
from musculo.model import Fitted
from musculo.results.provenance import Provenance
from musculo.simulation import SimulationEvent
from support.ik_models import motion, planar_arm, recorded
from support.mechanisms import four_bar


def test_names_are_kept_as_json_through_a_file(tmp_path):
    weights = {"heel μ": 2.5, "toe": np.float64(0.1), "knee": np.float32(0.5)}
    made = Provenance.of("something", None, weights=weights)
    table = musculo.Table([0.0, 1.0], ("a",), [[1.0], [2.0]], provenance=made)
    musculo.write_storage(table, tmp_path / "a.sto")
    read = musculo.read_storage(tmp_path / "a.sto").provenance
    assert json.loads(read.options["weights"]) == weights


def test_a_simulation_tells_of_loops_forces_and_events():
    model = four_bar()
    plain = simulate(model, None, None, (0.0, 0.05)).provenance.options
    assert (plain["loops"], plain["model_forces"]) == ("projection", "True")
    assert "events" not in plain
    crank = model.coordinate_names[0]
    fit = Fitted({crank: (-1.0, 1.0)}, samples=101)
    events = [
        SimulationEvent("half", lambda t, q, u: t - 0.025),
        SimulationEvent("late", lambda t, q, u: t - 1.0, terminal=True, direction=-1),
    ]
    told = simulate(model, None, None, (0.0, 0.05), loops=fit, events=events, model_forces=False).provenance.options
    assert told["loops"] == f"Fitted(ranges=(({crank!r}, -1.0, 1.0),), samples=101, degree=5, kind='spline')"
    assert told["events"] == "half, late (falling, terminal)"
    assert told["model_forces"] == "False"
    free = simulate(model, None, None, (0.0, 0.05), formulation="constrained").provenance.options
    assert "loops" not in free


def test_static_optimisation_tells_of_reserves_weights_and_time():
    model = arm()
    n = len(model.coordinate_names)
    first = model.muscle_names[0]
    states = np.zeros((3, n)), np.zeros((3, n))
    given = {"reserves": 10.0, "weights": {first: 3.0}, "time": [0.1, 0.2, 0.4]}
    options = static_optimization(model, *states, np.zeros((3, n)), **given).to_xarray().attrs
    assert options["option_reserves"] == "10.0"
    assert json.loads(options["option_weights"]) == {first: 3.0}
    assert (options["option_start"], options["option_end"]) == ("0.1", "0.4")
    speed = musculo.embedding_of(model).speed_names[0]
    by_name = static_optimization(model, *states, np.zeros((3, n)), reserves={speed: 2})
    assert by_name.options["reserves"] == {speed: 2}
    assert "weights" not in by_name.options


def test_inverse_kinematics_tells_of_weights_tasks_and_start():
    model = planar_arm()
    q = motion(model, 4)
    markers = recorded(model, q)
    usual = inverse_kinematics(model, markers).provenance.options
    assert set(usual) == {"respect_ranges", "accuracy"}
    a, b = model.coordinate_names[:2]
    weights = {name: 1.0 + k for k, name in enumerate(markers.names)}
    start = np.linspace(0.1, 0.2, len(model.coordinate_names))
    told = inverse_kinematics(
        model,
        markers,
        weights=weights,
        tasks={a: (0.5, 0.25), b: (0.0, np.array([0.1, np.nan, 0.2, 0.3]))},
        start=start,
    ).provenance.options
    assert json.loads(told["weights"]) == weights
    assert json.loads(told["tasks"]) == {a: [0.5, 0.25], b: [0.0, "by frame"]}
    assert json.loads(told["start"]) == pytest.approx(dict(zip(model.coordinate_names, start, strict=True)), abs=0.0)


def test_inverse_kinematics_tells_of_sensors():
    model = planar_arm()
    body = model.body_names[0]
    measured = musculo.results.Orientations(np.array([0.0, 0.1]), ("imu",), np.tile([1.0, 0.0, 0.0, 0.0], (2, 1, 1)))
    told = inverse_kinematics(
        model, orientations=measured, orientation_weights={"imu": 2.0}, sensor_frames={"imu": body}
    ).provenance.options
    assert json.loads(told["orientation_weights"]) == {"imu": 2.0}
    assert json.loads(told["sensor_frames"]) == {"imu": body}
