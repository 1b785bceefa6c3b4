"""Recordings of markerless systems: poses of segments are read and followed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from typer.testing import CliRunner

import musculo
from musculo import Body, Coordinate, Model, PinJoint, Placement
from musculo.analyses.inverse_kinematics.follow_segments import follow_segments, segment_bodies
from musculo.cli.main import app
from musculo.errors import InvalidFile, InvalidInput, UnknownName
from musculo.model import FreeJoint
from musculo.results import SegmentPoses
from support.c3d_files import C3DMaker, with_poses

# Poses of 32-bit floats, positions in millimeters.
SINGLE = 2e-6
# Laboratory with z up to ground with y up.
TO_GROUND = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
# Axes of segments, x right, y ahead, z up, in those of bodies, x ahead, y up, z right.
R_BS = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
LABELS = ["pelvis_4X4", "r_thigh_4X4", "l_thigh_4X4", "worldbody_4X4"]
TIME = np.arange(40) / 50.0


def legs() -> Model:
    base = FreeJoint("base", "ground", "pelvis", tuple(Coordinate(n) for n in ("rx", "ry", "rz", "tx", "ty", "tz")))
    hips = tuple(
        PinJoint(f"hip_{s}", Placement("pelvis", (-0.05, -0.08, z)), Placement(f"femur_{s}"), (Coordinate(f"hip_{s}"),))
        for s, z in (("r", 0.09), ("l", -0.09))
    )
    bodies = (
        Body("pelvis", 10.0, inertia=(1, 1, 1, 0, 0, 0)),
        *(Body(f"femur_{s}", 5.0, (0.0, -0.2, 0.0), (0.1, 0.1, 0.1, 0, 0, 0)) for s in "rl"),
    )
    return Model("legs", bodies, (base, *hips))


def motion() -> np.ndarray:
    q = np.zeros((len(TIME), 8))
    q[:, :3] = 0.2 * np.sin(np.outer(TIME, (3.0, 2.0, 1.0)))
    q[:, 3:6] = (1.0, 0.9, 0.3)
    q[:, 3] += TIME
    q[:, 6] = 0.5 * np.sin(5.0 * TIME)
    q[:, 7] = -q[:, 6]
    return q


def poses(model: Model, q: np.ndarray) -> np.ndarray:
    """(frames, 4 segments, 4, 4) in a laboratory with z up [mm]."""
    kin = musculo.kinematics(model, q)
    places = {"pelvis": (-0.05, -0.08, 0.0), "femur_r": (0.0, 0.0, 0.0), "femur_l": (0.0, 0.0, 0.0)}
    found = np.tile(np.eye(4), (len(q), 4, 1, 1))
    for k, (body, point) in enumerate(places.items()):
        found[:, k, :3, :3] = TO_GROUND.T @ kin.pose(body).R @ R_BS
        found[:, k, :3, 3] = 1000.0 * kin.position(body, point) @ TO_GROUND
    return found


def recording(folder, unknown=()) -> str:
    measured = poses(legs(), motion())
    for frame in unknown:
        measured[frame] = np.nan
    group = {"USED": 4, "RATIO": 1, "RATE": 50.0, "DATA_START": 0, "LABELS": LABELS}
    made = C3DMaker(np.zeros((len(TIME), 0, 3)), [], rate=50.0, extra={"ROTATION": group})
    path = folder / "steps.c3d"
    path.write_bytes(with_poses(made.bytes(), measured))
    return str(path)


def test_poses_are_read_and_followed(tmp_path):
    found = musculo.read_c3d(recording(tmp_path, unknown=(0, 7, 39)), up="z")
    segments = found.segments
    assert isinstance(segments, SegmentPoses)
    assert segments.names == tuple(LABELS)
    assert_array_equal(np.isnan(segments.origin).all(axis=(1, 2)), np.isin(np.arange(40), (0, 7, 39)))
    fit = follow_segments(legs(), segments)
    assert_allclose(fit.time, TIME[1:39])
    known = np.flatnonzero(np.arange(1, 39) != 7)
    assert_allclose(fit.q[known], motion()[1:39][known], atol=SINGLE)


def test_the_shell_follows_poses(tmp_path):
    path = recording(tmp_path)
    musculo.write_osim(legs(), tmp_path / "legs.osim")
    words = ["ik", str(tmp_path / "legs.osim"), path, "--up", "z", "-o", str(tmp_path / "out"), "--json"]
    told = CliRunner().invoke(app, words, catch_exceptions=False)
    assert told.exit_code == 0, told.output
    (run,) = json.loads(told.stdout)
    assert any("segments followed: pelvis_4X4" in note for note in run["notes"])
    table = musculo.read_storage(tmp_path / "out" / "steps_ik.mot").in_radians(legs())
    assert_allclose(table.coordinates(legs()), motion(), atol=SINGLE)


def test_which_segment_is_which_body():
    known = segment_bodies(legs(), tuple(LABELS))
    assert {name: one.body for name, one in known.items()} == {
        "pelvis_4X4": "pelvis",
        "r_thigh_4X4": "femur_r",
        "l_thigh_4X4": "femur_l",
    }
    assert_allclose(known["pelvis_4X4"].point, (-0.05, -0.08, 0.0))
    stated = segment_bodies(legs(), tuple(LABELS), {"worldbody_4X4": "pelvis", "l_thigh_4X4": ""})
    assert stated["worldbody_4X4"].body == "pelvis"
    assert "l_thigh_4X4" not in stated
    with pytest.raises(UnknownName, match="segment"):
        segment_bodies(legs(), tuple(LABELS), {"arm": "pelvis"})


def test_nothing_to_follow(tmp_path):
    segments = musculo.read_c3d(recording(tmp_path), up="z").segments
    with pytest.raises(InvalidInput, match="none of the segments"):
        follow_segments(musculo.demo.arm(), segments)
    with pytest.raises(UnknownName, match="segment"):
        follow_segments(legs(), segments, weights={"nose": 1.0})
    nobody = SegmentPoses(TIME, ("pelvis",), np.full((40, 1, 3, 3), np.nan), np.full((40, 1, 3), np.nan))
    with pytest.raises(InvalidInput, match="no pose of pelvis is known"):
        follow_segments(legs(), nobody)


def test_a_section_that_is_cut_off_is_refused(tmp_path):
    path = recording(tmp_path)
    content = Path(path).read_bytes()
    (tmp_path / "cut.c3d").write_bytes(content[:-40])
    with pytest.raises(InvalidFile, match="poses of 4 segments needs"):
        musculo.read_c3d(tmp_path / "cut.c3d")
    group = {"ROTATION": {"USED": 2, "DATA_START": 0, "LABELS": ["a", "b"]}}
    (tmp_path / "no.c3d").write_bytes(C3DMaker(np.zeros((3, 0, 3)), [], extra=group).bytes())
    with pytest.raises(InvalidFile, match="inside the header"):
        musculo.read_c3d(tmp_path / "no.c3d")


def test_c3d_files_become_files_of_opensim(tmp_path):
    points = np.random.default_rng(3).normal(size=(10, 2, 3)) * 500.0
    made = C3DMaker(points, ["A", "B"], analog=np.ones((20, 1)), analog_labels=["EMG"])
    made.extra = {
        "EVENT": {
            "USED": 1,
            "TIMES": np.array([[0.0], [0.05]]),
            "LABELS": ["Foot Strike"],
            "CONTEXTS": ["Right"],
        }
    }
    (tmp_path / "trial.c3d").write_bytes(made.bytes())
    words = ["c3d", str(tmp_path / "trial.c3d"), "-o", str(tmp_path / "out"), "--up", "y"]
    told = CliRunner().invoke(app, words, catch_exceptions=False)
    assert told.exit_code == 0, told.output
    markers = musculo.read_trc(tmp_path / "out" / "trial.trc")
    assert_allclose(markers.position, points / 1000.0, atol=1e-6)
    assert musculo.read_storage(tmp_path / "out" / "trial_analog.sto").names == ("EMG",)
    assert (tmp_path / "out" / "trial_events.csv").read_text() == "time,side,event\n0.05,Right,Foot Strike\n"
    with pytest.raises(InvalidInput, match="exists"):
        CliRunner().invoke(app, words, catch_exceptions=False)
    poses_alone = ["c3d", recording(tmp_path), "-o", str(tmp_path / "out"), "--up", "z", "--json"]
    told = CliRunner().invoke(app, poses_alone, catch_exceptions=False)
    assert "origins of the 4 segments" in json.loads(told.stdout)["notes"][-1]
