"""Results that nobody should trust as they are, and what the shell and the page say of them."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import musculo
from musculo import Body, Coordinate, ExternalLoad, Model, PinJoint, Placement, Table
from musculo.cli.main import app
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE, arm, arm_flexion
from musculo.diagnostics.doubtful_paths import largest_penalties, path_findings
from musculo.diagnostics.implausible_angles import angles_far_outside, leaping_angles
from musculo.diagnostics.loads import misplaced_loads
from musculo.model import FreeJoint
from musculo.model.force import Muscle
from musculo.model.model_path import Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder
from musculo.muscle.paths.geometry import STATUSES
from musculo.opensim_tools.preparation import suggested_cutoff
from musculo.report import report_of_folder
from support.tool_setups import arm_folder, document

MODEL, MOTION = str(ARM_FILE), str(ARM_FLEXION_FILE)


def shell(*words):
    """Exit code and all that a command prints."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    error = "" if result.exception is None else str(result.exception)
    return result.exit_code, result.output + error


def flexion(names=None) -> musculo.Markers:
    model, pose = arm(), arm_flexion()
    known = tuple(names or model.marker_names)
    place = musculo.kinematics(model, pose.coordinates(model)).markers(list(known))
    return musculo.Markers(pose.time, known, place)


def test_leaps_and_ranges():
    """By hand: a leap of 90 degrees and back, an angle 100 degrees beyond its range; a slow recording leaps alone."""
    elbow = Coordinate("elbow", range=(0.0, np.radians(140.0)))
    joints = (
        PinJoint("shoulder", Placement("ground"), Placement("upper"), (Coordinate("shoulder", range=(-1.0, 1.0)),)),
        PinJoint("elbow", Placement("upper"), Placement("lower"), (elbow,)),
    )
    model = Model("arm", (Body("upper", 1.0), Body("lower", 1.0)), joints)
    q = np.zeros((10, 2))
    q[4:6, 1] = np.radians(90.0)
    q[:, 0] = 4.0  # on ground: it tells which way the subject faces
    q[7, 1] = np.radians(-50.0)
    time = 0.01 * np.arange(10)
    (one,) = leaping_angles(model, time, q)
    assert (one.name, one.frames.tolist(), one.worst) == ("elbow", [4, 6], 4)
    assert one.most == pytest.approx(np.radians(90.0))
    assert leaping_angles(model, 10.0 * time, q) == []
    (far,) = angles_far_outside(model, q)
    assert (far.name, far.frames.tolist()) == ("elbow", [7])
    assert far.most == pytest.approx(np.radians(50.0))


def test_an_angle_that_leaps_is_trouble(tmp_path):
    """The wrist is recorded behind the elbow in three frames."""
    markers = flexion()
    position = np.array(markers.position)
    elbow = position[:, markers.names.index("elbow_lateral")]
    for name in ("forearm", "wrist_radial", "wrist_ulnar"):
        k = markers.names.index(name)
        position[20:23, k] = 2.0 * elbow[20:23] - position[20:23, k]
    musculo.write_trc(replace(markers, position=position), tmp_path / "arm.trc")
    code, said = shell("ik", MODEL, tmp_path / "arm.trc", "-o", tmp_path / "out")
    assert code == 3
    assert "angles jump from one frame to the next: elbow_flexion by" in said
    assert "BAD   Angles that jump" in said
    good = tmp_path / "good.trc"
    musculo.write_trc(markers, good)
    code, said = shell("ik", MODEL, good, "-o", tmp_path / "fine")
    assert code == 0
    assert "angles leap" not in said


def test_a_limb_that_is_lost_for_a_while_is_trouble(tmp_path):
    markers = flexion(("acromion", "upper_arm", "elbow_lateral", "wrist_radial"))
    position = np.array(markers.position)
    position[10:15, 3] = np.nan
    musculo.write_trc(replace(markers, position=position), tmp_path / "arm.trc")
    code, said = shell("ik", MODEL, tmp_path / "arm.trc", "-o", tmp_path / "out", "--no-report")
    assert code == 3
    assert f"no visible marker moves elbow_flexion (in 5 of {len(markers)} frames, from {markers.time[10]:g} s)" in said


def test_markers_without_a_partner_are_named(tmp_path):
    markers = flexion()
    names = tuple({"upper_arm": "arm_upper"}.get(name, name) for name in markers.names)
    position = np.array(markers.position)
    position[:, names.index("forearm")] = np.nan
    musculo.write_trc(musculo.Markers(markers.time, names, position), tmp_path / "arm.trc")
    _, said = shell("ik", MODEL, tmp_path / "arm.trc", "-o", tmp_path / "out", "--no-report")
    assert "the recording lacks, so not followed (1): upper_arm" in said
    assert "the model lacks, so not followed (1): arm_upper" in said
    assert "that are not visible in any frame in use (1): forearm" in said


@pytest.mark.parametrize(("command", "more"), [("ik", ()), ("id", ("--lowpass", "6"))])
def test_a_span_beyond_the_recording_is_told_of(command, more, tmp_path):
    musculo.write_trc(flexion(), tmp_path / "arm.trc")
    file = tmp_path / "arm.trc" if command == "ik" else MOTION
    _, said = shell(command, MODEL, file, *more, "--time", "0.1:9", "-o", tmp_path / "a", "--no-report")
    assert "the time range 0.1 to 9 s reaches beyond" in said
    _, said = shell(command, MODEL, file, *more, "--time", "0.1:0.5", "-o", tmp_path / "b", "--no-report")
    assert "reaches beyond" not in said


def test_rows_that_a_filter_reflects_are_counted(tmp_path):
    analysis = "<Kinematics name='Kinematics'><start_time>0</start_time><end_time>9</end_time></Kinematics>"
    text = document(
        "AnalyzeTool",
        "<model_file>arm.osim</model_file><results_directory>results</results_directory><initial_time>0</initial_time>"
        "<final_time>9</final_time><coordinates_file>motion.mot</coordinates_file>"
        "<lowpass_cutoff_frequency_for_coordinates>6</lowpass_cutoff_frequency_for_coordinates>"
        f"<AnalysisSet><objects>{analysis}</objects></AnalysisSet>",
    )
    folder = arm_folder(tmp_path, late=text)
    notes = musculo.opensim.run_setup(folder / "late.xml").notes
    assert any("rows lie outside the recording" in note for note in notes)


def test_times_rounded_to_milliseconds_have_a_cutoff():
    """Of 60 frames a second: the cutoff is that of the frames before their times were rounded."""
    table = arm_flexion().resample(60.0)
    noise = np.random.default_rng(3).normal(0.0, 0.1, table.values.shape)
    even = replace(table, values=table.values + noise)
    rounded = replace(even, time=np.round(even.time, 3))
    expected, found = suggested_cutoff(even, arm()), suggested_cutoff(rounded, arm())
    assert expected is not None
    assert found is not None
    assert found.cutoff == pytest.approx(expected.cutoff, abs=0.15)


def static_setup(folder):
    """A static trial with a marker that is lost in two frames, and a set-up that measures the forearm with it."""
    model = arm()
    names = model.marker_names
    place = np.repeat(musculo.kinematics(model, np.zeros((1, 2))).markers(list(names)), 40, axis=0)
    place[10:12, names.index("forearm")] = np.nan
    musculo.write_trc(musculo.Markers(0.01 * np.arange(40), names, place), folder / "static.trc")
    pair = "<MarkerPair><markers>forearm wrist_radial</markers></MarkerPair>"
    scale = "<BodyScale name='forearm'><axes>X Y Z</axes></BodyScale>"
    text = document(
        "ScaleTool",
        "<GenericModelMaker><model_file>arm.osim</model_file></GenericModelMaker><ModelScaler><apply>true</apply>"
        "<scaling_order>measurements</scaling_order><MeasurementSet><objects><Measurement name='lower'><apply>true"
        f"</apply><MarkerPairSet><objects>{pair}</objects></MarkerPairSet><BodyScaleSet><objects>{scale}</objects>"
        "</BodyScaleSet></Measurement></objects></MeasurementSet><marker_file>static.trc</marker_file>"
        "<time_range>0 0.39</time_range></ModelScaler><MarkerPlacer><apply>false</apply></MarkerPlacer>",
    )
    return arm_folder(folder, scale=text) / "scale.xml"


def test_a_measurement_that_is_not_used_is_trouble(tmp_path):
    setup = static_setup(tmp_path)
    words = ("scale", MODEL, "--setup", setup, "--static", tmp_path / "static.trc", "-o", tmp_path / "out.osim")
    code, said = shell(*words, "--no-report")
    assert code == 3
    assert "measurement 'lower' is not used, and does not scale forearm: marker 'forearm'" in said
    assert "--fill-gaps" in said
    code, said = shell(*words, "--no-report", "--fill-gaps", "0.1", "--force")
    assert code == 0
    assert "is not used" not in said
    code, said = shell("run", setup, "--no-report")
    assert code == 3


def walker() -> Model:
    """A pelvis that is free in space, with two feet on long pins."""
    names = ("rx", "ry", "rz", "tx", "ty", "tz")
    feet = tuple(
        PinJoint(
            f"hip_{side}", Placement("pelvis", (0.0, 0.0, z)), Placement(f"foot_{side}"), (Coordinate(f"h_{side}"),)
        )
        for side, z in (("r", 0.1), ("l", -0.1))
    )
    bodies = (
        Body("pelvis", 30.0, inertia=(1, 1, 1, 0, 0, 0)),
        *(Body(f"foot_{s}", 5.0, (0.0, -0.9, 0.0), (0.1, 0.1, 0.1, 0, 0, 0)) for s in "rl"),
    )
    base = FreeJoint("base", Placement("ground"), Placement("pelvis"), tuple(Coordinate(n) for n in names))
    return Model("walker", bodies, (base, *feet))


def test_a_plate_under_the_other_foot():
    """The legs swing against each other; each plate is loaded while its foot is in front, and lies under that foot."""
    model = walker()
    t = np.linspace(0.0, 2.0, 80)
    q = np.zeros((80, 8))
    q[:, 4], q[:, 6], q[:, 7] = 1.0, 0.4 * np.sin(np.pi * t), -0.4 * np.sin(np.pi * t)
    motion = musculo.kinematics(model, q)
    loads = []
    for side, loaded in (("r", q[:, 6] > 0.1), ("l", q[:, 6] < -0.1)):
        point = np.where(loaded[:, None], motion.position(f"foot_{side}", (0.05, -1.0, 0.0)), 0.0)
        loads.append(ExternalLoad(f"foot_{side}", np.outer(loaded, (0.0, 500.0, 0.0)), point))
    assert misplaced_loads(model, q, loads) == []
    swapped = [replace(load, body=other.body) for load, other in zip(loads, loads[::-1], strict=True)]
    found = misplaced_loads(model, q, swapped)
    assert [(one.body, one.other) for one in found] == [("foot_l", "foot_r"), ("foot_r", "foot_l")]
    # alone, it is compared with the body of the other side
    assert [one.other for one in misplaced_loads(model, q, swapped[:1])] == ["foot_r"]


@pytest.mark.parametrize("swapped", [False, True])
def test_feet_and_plates_at_the_shell(swapped, tmp_path):
    model = walker()
    musculo.write_osim(model, tmp_path / "walker.osim")
    t = np.linspace(0.0, 1.0, 60)
    q = np.zeros((60, 8))
    q[:, 4] = 1.0
    musculo.write_storage(Table(t, model.coordinate_names, q, name="Coordinates"), tmp_path / "still.mot")
    place = musculo.kinematics(model, q[:1]).position("foot_r", (0.0, -1.0, 0.0))
    data = np.tile([0.0, 392.0, 0.0, *np.ravel(place)], (60, 1))
    table = Table(t, [f"f_{k}{a}" for k in "vp" for a in "xyz"], data)
    force = musculo.results.ExternalForce("plate", "foot_l" if swapped else "foot_r", "f_v", "f_p")
    musculo.io.write_external_loads(musculo.results.ExternalLoads("plates", (force,), table), tmp_path / "loads.xml")
    words = ("id", tmp_path / "walker.osim", tmp_path / "still.mot", "-o", tmp_path / "out")
    _, said = shell(*words, "--loads", tmp_path / "loads.xml")
    assert ("note: the external load on foot_l acts" in said) == swapped
    assert ("BAD   Feet and plates" in said) == swapped
    assert "no external loads are given" not in said


def test_a_walker_without_loads_is_told_of(tmp_path):
    model = walker()
    musculo.write_osim(model, tmp_path / "walker.osim")
    q = np.zeros((40, 8))
    motion = Table(0.01 * np.arange(40), model.coordinate_names, q, name="Coordinates")
    musculo.write_storage(motion, tmp_path / "still.mot")
    _, said = shell("id", tmp_path / "walker.osim", tmp_path / "still.mot", "-o", tmp_path / "out")
    assert "no external loads are given" in said
    assert "look  External loads: none are known: ty_force is 392.3 N at most, 100 % of the body's weight" in said
    _, said = shell("id", MODEL, MOTION, "-o", tmp_path / "arm")
    assert "no external loads" not in said


def over_a_knuckle(folder):
    """A muscle near the end of a cylinder, which it leaves where that saves much, beside one that is straight; a motion
    of a hinge over 31 frames, all as files."""
    ends = PathPoint("a", "ground", (-0.3, 0.01, 0.0)), PathPoint("b", "arm", (0.3, 0.01, 0.0))
    forces = (
        Muscle("bent", "Thelen2003Muscle", path=Path(ends, (PathWrap("w", "knuckle"),)), tendon_slack_length=0.5),
        Muscle("plain", "Thelen2003Muscle", path=Path(ends), tendon_slack_length=0.5),
    )
    knuckle = WrapCylinder("knuckle", "ground", (0.0, 0.0, 0.11), radius=0.05, length=0.2, quadrant="y")
    joint = PinJoint("pin", Placement("ground"), Placement("arm"), (Coordinate("turn"),))
    model = Model("hinge", (Body("arm", 1.0),), (joint,), wrap_objects=(knuckle,), forces=forces)
    turn = np.linspace(-1.5, 1.5, 31)
    musculo.write_osim(model, folder / "hinge.osim")
    musculo.write_storage(Table(0.01 * np.arange(31), ("turn",), turn[:, None]), folder / "turn.mot")
    return folder / "hinge.osim", folder / "turn.mot", musculo.muscle_geometry(model, turn[:, None])


def test_lengths_with_a_penalty_are_told(tmp_path):
    """In the shell, in its JSON and on the page: how many frames, the first, how much, and what it does to arms."""
    model, motion, g = over_a_knuckle(tmp_path)
    penalty = 1e3 * g.penalty[:, 0]
    frames = np.flatnonzero(penalty)
    assert penalty.max() > 1.0
    assert not g.penalty[:, 1].any()
    line = (
        f"penalty of 'bent': in {len(frames)} of 31 frames, frame {frames[0]} ({0.01 * frames[0]:g} s) the first of "
        f"them, {penalty.max():.3g} mm at most (frame {penalty.argmax()})"
    )
    code, printed = shell("muscles", model, motion, "-o", tmp_path / "out")
    assert code == 0
    told = " ".join(printed.split())
    assert "1 of 2 muscles has lengths with a penalty" in told
    assert "moment arms there include the slope of the penalty and may be far too large" in told
    assert line in told
    assert f"other side: bent {int((g.status[:, 0] == STATUSES.index('other side')).sum())}" in told
    assert "penalty of 'plain'" not in told
    assert told.count("has lengths with a penalty") == 1
    page = report_of_folder(tmp_path / "out")
    assert any(line in note for note in page.notes)
    (check,) = [check for check in page.checks if check.title == "Lengths with a penalty"]
    assert f"bent {penalty.max():.3g} mm" in check.found
    assert "look  Lengths with a penalty: 1 muscle: bent" in printed
    q = musculo.read_storage(motion).values
    found = musculo.muscle_analysis(musculo.read_osim(model), q, 0.0 * q)
    np.testing.assert_array_equal(found.penalty, g.penalty)
    np.testing.assert_array_equal(found.path_status, g.status)
    data = found.to_xarray()
    assert float(data.penalty.max()) == g.penalty.max()
    assert data.path_status.attrs["flag_meanings"].split()[2] == "other_side"
    code, printed = shell("muscles", model, motion, "-o", tmp_path / "json", "--json")
    (result,) = json.loads(printed)
    assert any(line in note for note in result["notes"])


@pytest.mark.parametrize("command", [("so", "--reserve", "10"), ("jr",)], ids=["so", "jr"])
def test_what_pulls_along_paths_with_a_penalty_is_told(tmp_path, command):
    """Static optimisation and joint loads use these moment arms."""
    model, motion, g = over_a_knuckle(tmp_path)
    _, printed = shell(*command, model, motion, "-o", tmp_path / "out")
    told = " ".join(printed.split())
    assert f"penalty of 'bent': in {int((g.penalty[:, 0] > 0.0).sum())} of 31 frames" in told
    assert "may be far too large" in told


@pytest.mark.parametrize("words", [("--muscle", "plain"), ("--like-opensim",)], ids=["another muscle", "OpenSim's"])
def test_penalties_of_what_was_not_asked_for_are_not_told(tmp_path, words):
    model, motion, _ = over_a_knuckle(tmp_path)
    code, printed = shell("muscles", model, motion, "-o", tmp_path / "out", *words)
    assert code == 0
    assert "with a penalty" not in printed


def test_many_penalties_are_counted():
    """Ten lines, the largest first; penalties below a millimetre have none; what the geometry notes is told as well."""
    names = tuple(f"m{k}" for k in range(15))
    penalty = np.zeros((3, 15))
    penalty[1] = 1e-3 * np.arange(15)  # the second is no more than a millimetre
    g = SimpleNamespace(
        names=names, penalty=penalty, status=np.zeros((3, 15), dtype=int), model_notes=("'m1' a", "'m2' b", "'n' c")
    )
    notes = [one.text for one in path_findings(g, names, np.arange(3.0), "x")]
    assert notes[:3] == ["x: 'm1' a", "x: 'm2' b", notes[2]]
    assert notes[2].startswith("x: 14 of 15 muscles have lengths with a penalty")
    assert [note.split(":")[1] for note in notes[3:13]] == [f" penalty of 'm{k}'" for k in range(14, 4, -1)]
    assert notes[13:] == ["x: 3 more muscles have penalties above 1 mm"]
    assert largest_penalties(names, penalty)["m14"] == pytest.approx(0.014)
