"""What the shell says after a run: about this run, graded, and in words that the shell knows."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import musculo
from musculo.analyses.inverse_kinematics.follow_recording import Status
from musculo.analyses.inverse_kinematics.undetermined import undetermined_coordinates
from musculo.cli.main import app
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE, arm, arm_flexion
from musculo.report import report_of_folder
from support.muscle_rig import file_text

MODEL, MOTION, STEM = str(ARM_FILE), str(ARM_FLEXION_FILE), ARM_FLEXION_FILE.stem


def shell(*words):
    """Exit code and all that a command prints."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    error = "" if result.exception is None else str(result.exception)
    return result.exit_code, result.output + error


def weak_arm(path, strength):
    """The arm with muscles of a part of their strength."""
    model = arm()
    muscles = {m.name: m for m in model.muscles}
    forces = tuple(
        musculo.Muscle(**{**vars(f), "max_isometric_force": strength * f.max_isometric_force})
        if f.name in muscles
        else f
        for f in model.forces
    )
    musculo.write_osim(model.replace(forces=forces), path)
    return path


def test_lines_after_a_run_are_of_that_run(tmp_path):
    """Static optimisation that fails leaves a verdict on the page, and not under the inverse dynamics that follow."""
    weak = weak_arm(tmp_path / "weak.osim", 1e-3)
    out = tmp_path / "out"
    code, bad = shell("so", weak, MOTION, "-o", out, "--time", "0:0.1")
    assert code != 0
    assert "Not everything was solved" in bad
    code, good = shell("id", weak, MOTION, "-o", out, "--time", "0:0.1")
    assert code == 0
    assert "BAD" not in good
    assert "Not everything was solved" in [check.title for check in report_of_folder(out).checks]


def test_reserves_are_graded_without_inverse_dynamics(tmp_path):
    """By the moment that static optimisation itself had to serve, which inverse dynamics gives as well."""
    weak = weak_arm(tmp_path / "weak.osim", 1e-3)
    out = tmp_path / "out"
    _, printed = shell("so", weak, MOTION, "-o", out, "--time", "0:0.2", "--reserve", 100)
    (line,) = [text for text in printed.splitlines() if "Reserves:" in text]
    assert line.startswith("BAD")
    share = float(re.search(r"([\d.]+) % of the largest moment", line).group(1))
    assert 80.0 < share < 110.0
    (record,) = [json.loads(path.read_text()) for path in out.glob("*.musculo.json")]
    shell("id", weak, MOTION, "-o", out, "--time", "0:0.2")
    moments = musculo.read_storage(out / f"{STEM}_id.sto")
    for name, peak in record["moments"].items():
        assert peak == pytest.approx(np.abs(moments.column(f"{name}_moment")).max(), rel=0.05)


def test_a_gap_that_is_too_long_is_said_to_be(tmp_path):
    table = arm_flexion()
    values = np.array(table.values)
    values[20:60, 0] = np.nan
    musculo.write_storage(musculo.Table(table.time, table.names, values, degrees=table.degrees), tmp_path / "gap.mot")
    step = float(np.diff(table.time).mean())
    _, said = shell("id", MODEL, tmp_path / "gap.mot", "-o", tmp_path / "out")
    assert "--fill-gaps SECONDS" in said
    assert "exceed" not in said
    _, said = shell("id", MODEL, tmp_path / "gap.mot", "-o", tmp_path / "out", "--fill-gaps", 10 * step)
    assert "40 frames from" in said
    assert "exceed 10 frames" in said


def test_an_undetermined_static_pose_names_its_coordinates(tmp_path, monkeypatch):
    """Markers of the upper arm alone tell nothing of the elbow."""
    model, pose = arm(), arm_flexion()
    place = musculo.kinematics(model, pose.coordinates(model)[:3])
    names = ("acromion", "upper_arm")
    musculo.write_trc(musculo.Markers(pose.time[:3], names, place.markers(list(names))), tmp_path / "static.trc")

    code, said = shell("scale", MODEL, "-o", tmp_path / "o.osim", "--static", tmp_path / "static.trc")
    assert code == 0
    assert "no visible marker moves elbow_flexion" in said

    def placed(*args, **options):
        found = musculo.model.place_markers(*args, **options)
        return replace(found, pose=replace(found.pose, status=np.array([Status.UNDETERMINED])))

    monkeypatch.setattr("musculo.opensim_tools.tools.scale_tool.place_markers", placed)
    _, said = shell("scale", MODEL, "-o", tmp_path / "p.osim", "--static", tmp_path / "static.trc")
    assert "the static pose is undetermined in elbow_flexion: no marker" in said


def test_inverse_kinematics_names_coordinates_that_no_marker_moves(tmp_path):
    """In the log, in the JSON, and on the page; the rest is good, and so is the exit code."""
    model, pose = arm(), arm_flexion()
    names = ("acromion", "upper_arm")
    place = musculo.kinematics(model, pose.coordinates(model)).markers(list(names))
    musculo.write_trc(musculo.Markers(pose.time, names, place), tmp_path / "arm.trc")
    code, said = shell("ik", MODEL, tmp_path / "arm.trc", "-o", tmp_path / "out")
    assert code == 0
    assert "no visible marker moves elbow_flexion: undetermined" in said
    assert "no visible marker moves elbow_flexion: undetermined" in (tmp_path / "out" / "report.html").read_text()
    motion = musculo.read_storage(tmp_path / "out" / "arm_ik.mot")
    default = np.degrees(model.coordinate("elbow_flexion").default_value)
    assert np.abs(motion.column("elbow_flexion") - default).max() < 1e-6
    _, said = shell("ik", MODEL, tmp_path / "arm.trc", "-o", tmp_path / "out", "--force", "--json", "--no-report")
    assert any("elbow_flexion: undetermined" in note for note in json.loads(said)[0]["notes"])


@pytest.mark.parametrize(
    ("markers", "held", "expected"),
    [
        (("acromion", "upper_arm"), (), ("elbow_flexion",)),
        (("acromion",), ("elbow_flexion",), ("shoulder_flexion",)),
        ((), (), ("shoulder_flexion", "elbow_flexion")),
        (("elbow_lateral", "wrist_radial"), (), ()),
    ],
)
def test_coordinates_that_markers_and_tasks_leave_open(markers, held, expected):
    assert undetermined_coordinates(arm(), [0.4, 0.7], markers, held) == expected


def test_muscles_without_a_fastest_contraction_have_finite_numbers(tmp_path):
    """Files of deprecated muscles state a velocity of zero beside the time scale that counts (MoBL_ARMS does)."""
    path = tmp_path / "rig.osim"
    kind = "Schutte1993Muscle_Deprecated"
    path.write_text(file_text(kind, 0.1, "<max_contraction_velocity>0</max_contraction_velocity>"))
    model = musculo.read_osim(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = musculo.muscle_analysis(model, [[0.3], [0.31]], [[0.1], [0.0]], method="opensim")
    assert (found.activation == 0.0).all()
    scale = 0.1 / 0.1  # optimal fibre length over time scale
    np.testing.assert_allclose(found.normalized_fiber_velocity, found.fiber_velocity / scale)
    assert np.isfinite(found.fiber_active_power).all()


@pytest.mark.parametrize("command", ["id", "muscles", "jr", "view"])
def test_what_a_note_says_is_no_warning_too(tmp_path, command):
    """Degrees that the header calls radians: one line, in the words of the file."""
    table = musculo.read_storage(MOTION)
    wrong = tmp_path / "wrong.mot"
    musculo.write_storage(replace(table, values=100.0 * table.values, degrees=False), wrong)
    out = tmp_path / ("page.html" if command == "view" else "out")
    more = ("--no-open",) if command == "view" else ("--time", "0.5:0.52")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        code, told = shell(command, MODEL, wrong, "-o", out, *more)
        if command != "view":
            shell("report", out)
    assert code == 0
    assert told.count("are they degrees?") == 1
    assert [str(one.message) for one in warned] == []
    if command == "view":
        with pytest.warns(musculo.MusculoWarning, match="wrong.mot: its angles are read as radians"):
            scene = musculo.view(arm(), musculo.read_storage(wrong))
        assert any("are they degrees?" in note for note in scene.notes)


def test_what_all_steps_of_a_walk_note_is_said_once(data_folder, tmp_path):
    walk = data_folder / "gait10dof18musc"
    code, said = shell(
        *("walk", walk / "subject01.osim", walk / "subject01_walk.trc"),
        *("--loads", walk / "subject01_walk_grf.mot", "--time", "0.6:0.8", "-o", tmp_path),
    )
    assert code == 0, said
    notes = [line for line in said.splitlines() if line.startswith("  note: ")]
    assert any("plate" in note for note in notes)
    assert len(notes) == len(set(notes))
