"""What all results have: a status, notes, provenance, labelled forms and a short text."""

from __future__ import annotations

import sys
from dataclasses import fields
from enum import Enum

import numpy as np
import pytest

import musculo
from musculo.demo import arm, arm_flexion
from musculo.errors import InvalidInput
from musculo.model import Force
from musculo.opensim import CoordinateTracking
from musculo.results import (
    EffortStatus,
    MuscleStatus,
    Outcome,
    PathStatus,
    PoseStatus,
    Provenance,
    Result,
    SimulationStatus,
)
from musculo.simulation import desired_motion, residual_reduction, tracking_targets

FRAMES = 5


def results() -> dict[str, Result]:
    """One of each, over a few frames."""
    model = arm()
    motion = musculo.motion_of(model, arm_flexion())
    motion = motion.rows(slice(0, FRAMES))
    q, u, udot = motion.q, motion.u, motion.udot
    paths = musculo.path_geometry(model, q, u)
    found = (
        motion,
        paths,
        musculo.muscle_equilibrium(model, paths.length, paths.speed, 0.5),
        musculo.muscle_analysis(model, q, u, 0.5),
        musculo.static_optimization(model, q, u, udot, reserves=1.0),
        musculo.joint_loads(model, q, u, udot),
        musculo.model_forces(model, q, u),
        musculo.body_kinematics(model, q, u, udot),
        musculo.point_kinematics(model, q, u, udot, "forearm"),
        musculo.equations_of_motion(model, q, u),
        musculo.simulate(model, q[0], u[0], np.linspace(0.0, 0.01, FRAMES)),
        tracked(),
    )
    return {type(one).__name__: one for one in found}


def tracked() -> Result:
    """The arm, driven by motors along its flexion."""
    motors = [
        Force(f"{name}_motor", "CoordinateActuator", properties=(("coordinate", name), ("optimal_force", "10")))
        for name in arm().coordinate_names
    ]
    model = arm().replace(forces=tuple(motors))
    tasks = [CoordinateTracking(name, coordinate=name, active=(True, False, False)) for name in model.coordinate_names]
    desired, end = desired_motion(model, arm_flexion(), 6.0), 0.001 * FRAMES
    return residual_reduction(desired, tracking_targets(model, tasks), (0.0, end))


@pytest.fixture(scope="module")
def every():
    return results()


NAMES = (
    *("Motion", "PathGeometry", "MuscleForces", "MuscleAnalysis", "StaticOptimum", "JointLoads", "ModelForces"),
    *("BodyKinematics", "PointKinematics", "EquationsOfMotion", "Simulation", "TrackedMotion"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_says_how_it_went_and_what_made_it(every, name):
    one = every[name]
    assert isinstance(one, Result)
    assert issubclass(one.statuses, Enum)
    for code in np.ravel(np.asarray(one.status, dtype=object)):
        one.statuses(code)
    assert isinstance(one.notes, tuple)
    assert isinstance(one.provenance, Provenance)
    assert one.provenance.made_by in {f for f in (*dir(musculo), *dir(musculo.simulation)) if not f.startswith("_")}
    assert one._frames() == FRAMES


@pytest.mark.parametrize("name", NAMES)
def test_labelled_forms_hold_the_same_numbers(every, name):
    one = every[name]
    labelled = one.to_xarray()
    dim = "time" if "time" in labelled.sizes else "frame"
    assert labelled.sizes[dim] == FRAMES
    assert labelled.attrs["made_by"] == one.provenance.made_by
    frame = one.to_pandas()
    assert len(frame) == FRAMES
    assert frame.index.name == dim
    numbers = {key: array for key, array in labelled.data_vars.items() if array.dims}
    assert frame.shape[1] == sum(array.size // FRAMES for array in numbers.values())
    for key, array in numbers.items():
        columns = [c for c in frame.columns if c == key or c.startswith(f"{key}/")]
        flat = array.transpose(dim, ...).values.reshape(FRAMES, -1)
        np.testing.assert_array_equal(frame[columns].values, flat, err_msg=str(key))
    assert len(one.to_table()) == FRAMES


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_short(every, name):
    text = repr(every[name])
    assert text.startswith(f"{name}(")
    assert len(text) < 200
    assert "\n" not in text
    assert "array" not in text


def test_texts_count_what_there_is(every):
    assert repr(every["StaticOptimum"]) == ("StaticOptimum(5 frames, 6 muscles, 2 actuators, 2 coordinates, 5 solved)")
    assert repr(every["Motion"]) == "Motion(5 frames, 2 coordinates, 2 speeds)"
    assert repr(every["BodyKinematics"]) == "BodyKinematics(5 frames, 2 bodies)"
    assert repr(every["Simulation"]).endswith("finished)")
    assert repr(every["TrackedMotion"]) == "TrackedMotion(5 frames, 2 actuators, 2 tasks)"


def test_times_are_given_or_the_results_own(every):
    loads, times = every["JointLoads"], 0.1 * np.arange(FRAMES)
    assert loads.to_pandas(times).index.name == "time"
    np.testing.assert_array_equal(loads.to_xarray(times)["time"], times)
    np.testing.assert_array_equal(loads.to_table().time, np.arange(FRAMES))
    np.testing.assert_array_equal(every["Motion"].to_table().time, every["Motion"].time)
    with pytest.raises(InvalidInput, match="time has shape"):
        loads.to_xarray([0.0, 1.0])


def test_a_single_pose_has_no_frames():
    model = arm()
    loads = musculo.joint_loads(model, (0.1, 0.2), (0.0, 0.0), (0.0, 0.0))
    assert repr(loads) == "JointLoads(one frame, 2 joints, 2 bodies, 2 frames)"
    assert loads.to_xarray()["force"].dims == ("load", "axis")
    assert loads.to_pandas().shape == (1, 2 * 9 + 2)
    with pytest.raises(InvalidInput, match="single pose"):
        loads.to_xarray([0.0])


def test_older_names_of_labels_remain(every):
    effort, loads = every["StaticOptimum"], every["JointLoads"]
    assert effort.muscles == effort.muscle_names == arm().muscle_names
    assert effort.actuators == effort.actuator_names
    assert effort.coordinates == effort.coordinate_names
    assert (loads.joints, loads.bodies, loads.frames) == (loads.joint_names, loads.body_names, loads.frame_names)
    assert every["Motion"].names == every["Motion"].coordinate_names
    assert every["MuscleForces"].muscles == every["MuscleAnalysis"].muscles == arm().muscle_names
    for one in every.values():
        assert not {"muscles", "bodies", "coordinates", "joints"} & {field.name for field in fields(one)}


def test_without_pandas_the_error_says_what_to_do(every, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidInput, match="pip install pandas"):
        every["Motion"].to_pandas()


def test_statuses_are_exported_and_zero_is_good():
    for one in (EffortStatus, MuscleStatus, Outcome, PathStatus, PoseStatus):
        assert one(0).name in ("SOLVED", "CONVERGED", "DONE")
    assert SimulationStatus.FINISHED == "finished"
    words = tuple(status.name.lower().replace("_", " ") for status in PathStatus)
    assert words == musculo.results.STATUSES
