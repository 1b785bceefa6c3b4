"""Markers placed by a static trial of a subject that is the model with its markers moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Coordinate, Marker, Markers, Model, PinJoint, Placement, Table, kinematics
from musculo.errors import InvalidInput, UnknownName
from musculo.io.setup.kinematics_setups import CoordinateTask, MarkerTask
from musculo.model import place_markers
from musculo.opensim import tasks_of_setup

# The accuracy of inverse kinematics [rad, m].
ACCURACY = 1e-9
POSE = np.array([0.3, 0.7])


def arm() -> Model:
    joints = (
        PinJoint("shoulder", Placement("ground"), Placement("upper"), (Coordinate("shoulder"),)),
        PinJoint(
            "elbow", Placement("upper", (1.0, 0.0, 0.0)), Placement("lower"), (Coordinate("elbow", default_value=0.5),)
        ),
    )
    markers = (
        Marker("elbow", "upper", (1.0, 0.0, 0.0)),
        Marker("hand", "lower", (1.0, 0.0, 0.0), fixed=True),
        Marker("skin", "lower", (0.5, 0.1, 0.0)),
        Marker("lost", "lower", (0.0, 0.1, 0.0)),
    )
    return Model("arm", (Body("upper", 1.0), Body("lower", 1.0)), joints, markers=markers)


def trial(model: Model, off: float = 0.05) -> Markers:
    """Five frames about the pose; the marker on the skin is `off` from where the model has it."""
    position = np.repeat(kinematics(model, POSE).markers(["elbow", "hand", "skin"])[None], 5, axis=0)
    position[:, 2] += (off, 0.0, 0.0)
    return Markers(0.1 * np.arange(5), ("elbow", "hand", "skin"), position)


def test_bony_markers_give_the_pose_and_the_skin_moves():
    model = arm()
    tasks = (MarkerTask("elbow", weight=5.0), MarkerTask("hand", weight=5.0), MarkerTask("skin", weight=0.0))
    placed = place_markers(model, trial(model), tasks)
    assert_allclose(placed.q, POSE, atol=ACCURACY)
    assert placed.pose.converged
    assert placed.errors["skin"] == pytest.approx(0.05)
    assert placed.errors["elbow"] < ACCURACY
    assert placed.moved["skin"] == pytest.approx(0.05)
    assert set(placed.moved) == {"elbow", "skin"}
    assert placed.dropped == ("lost",)
    assert placed.model.marker("hand") == model.marker("hand")
    there = kinematics(placed.model, placed.q).markers(["skin"])[0]
    assert_allclose(there, trial(model).marker("skin")[0], atol=1e-12)
    # the same by weights
    again = place_markers(model, trial(model), weights={"skin": 0.0})
    assert_allclose(again.q, POSE, atol=ACCURACY)


def test_a_marker_with_a_gap_is_moved_but_not_followed():
    model = arm()
    still = trial(model)
    position = np.array(still.position)
    position[1, 2] = np.nan
    placed = place_markers(model, replace(still, position=position))
    assert_allclose(placed.q, POSE, atol=ACCURACY)
    assert np.isnan(placed.errors["skin"])
    assert placed.moved["skin"] == pytest.approx(0.05)


def test_only_the_time_range_counts():
    model = arm()
    still = trial(model)
    position = np.array(still.position)
    position[[0, 4]] += 3.0
    placed = place_markers(model, replace(still, position=position), weights={"skin": 0.0}, time_range=(0.1, 0.3))
    assert_allclose(placed.q, POSE, atol=ACCURACY)
    assert placed.pose.time == [0.1]
    with pytest.raises(InvalidInput, match="end must not come before"):
        place_markers(model, still, time_range=(0.3, 0.1))
    with pytest.raises(InvalidInput, match="no frame"):
        place_markers(model, Markers([], ("elbow",), np.zeros((0, 1, 3))))


def test_tasks_keep_coordinates_near_values():
    """Without markers of the lower arm its angle is that of the task, whatever the weight."""
    model, still = arm(), trial(arm()).pick(["elbow"])
    time = np.linspace(0.0, 1.0, 11)
    table = Table(time, ("elbow",), np.degrees(0.2 + 0.1 * time)[:, None], degrees=True)
    for task, wanted in (
        (CoordinateTask("elbow", weight=0.1), 0.5),
        (CoordinateTask("elbow", weight=0.1, value_type="manual_value", value=0.9), 0.9),
        (CoordinateTask("elbow", weight=0.1, value_type="from_file"), 0.22),
    ):
        placed = place_markers(model, still, (task,), coordinates=table, time_range=(0.2, 0.4))
        assert_allclose(placed.q, [POSE[0], wanted], atol=ACCURACY)
    by_hand = place_markers(model, still, targets={"elbow": (0.1, 0.9)})
    assert_allclose(by_hand.q, [POSE[0], 0.9], atol=ACCURACY)


def test_tasks_of_a_setup():
    model, still = arm(), trial(arm())
    table = Table(still.time, ("/jointset/elbow/elbow/value",), 0.1 * still.time[:, None] + 0.2)
    with pytest.raises(InvalidInput, match="at least 6"):
        tasks_of_setup((CoordinateTask("elbow", value_type="from_file"),), model, still, table)
    time = np.linspace(0.0, 0.4, 9)
    table = Table(time, ("/jointset/elbow/elbow/value",), 0.1 * time[:, None] + 0.2)
    asked = tasks_of_setup(
        (
            MarkerTask("hand", weight=2.0),
            MarkerTask("skin", apply=False, weight=1.0),
            MarkerTask("lost", weight=1.0),
            CoordinateTask("shoulder", apply=False, weight=1.0),
            CoordinateTask("elbow", weight=3.0, value_type="from_file"),
        ),
        model,
        still,
        table,
    )
    assert asked.weights == {"elbow": 0.0, "hand": 2.0, "skin": 0.0}
    assert asked.followed == ("hand",)
    assert list(asked.tasks) == ["elbow"]
    assert asked.tasks["elbow"][0] == 3.0
    assert_allclose(asked.tasks["elbow"][1], 0.2 + 0.1 * still.time, atol=1e-12)
    assert asked.notes == ("tasks of markers that model or recording lack are ignored: lost",)
    # no task of a marker: all alike
    assert tasks_of_setup((), model, still).weights == {"elbow": 1.0, "hand": 1.0, "skin": 1.0}
    locked = model.with_coordinate("elbow", locked=True)
    assert "locked" in tasks_of_setup((CoordinateTask("elbow", weight=1.0),), locked, still).notes[0]
    with pytest.raises(InvalidInput, match="coordinates=read_storage"):
        tasks_of_setup((CoordinateTask("elbow", value_type="from_file"),), model, still)
    with pytest.raises(UnknownName, match="column for coordinate 'shoulder'"):
        tasks_of_setup((CoordinateTask("shoulder", value_type="from_file"),), model, still, table)
    with pytest.raises(UnknownName, match="elbwo"):
        tasks_of_setup((CoordinateTask("elbwo"),), model, still)


def test_tasks_or_weights_but_not_both():
    model, still = arm(), trial(arm())
    with pytest.raises(InvalidInput, match="either the one or the others"):
        place_markers(model, still, (MarkerTask("hand", weight=1.0),), weights={"hand": 1.0})
    with pytest.raises(InvalidInput, match="weights are zero"):
        place_markers(model, still, (MarkerTask("hand", weight=0.0),))
