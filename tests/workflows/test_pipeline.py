"""The steps of the inverse pipeline from the shell, on the arm that ships: each gives what the functions give."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import musculo
from musculo.cli.exit_codes import BAD_INPUT, EXIT_CODES, INCOMPLETE, WRONG_USAGE
from musculo.cli.main import app
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE, arm, arm_flexion
from musculo.errors import InvalidInput
from support.unusual_setups import arm_recordings, inverse_kinematics, marker_placer, marker_task, scale

MODEL, MOTION = str(ARM_FILE), str(ARM_FLEXION_FILE)


def shell(*words, code=0):
    """What a command prints; it must end with the exit code."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if code == 0 and result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def motion():
    """The flexion with its exact derivatives by quintic splines."""
    table = arm_flexion()
    return musculo.motion_of(arm(), table)


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """Markers of the flexion, as a recording."""
    model, table = arm(), arm_flexion()
    at = musculo.kinematics(model, table.coordinates(model)).markers(model.marker_names)
    path = tmp_path_factory.mktemp("trial") / "flexion.trc"
    musculo.write_trc(musculo.Markers(table.time, model.marker_names, at), path)
    return path


def test_markers_become_angles(trial, tmp_path):
    printed = shell("ik", MODEL, trial, "-o", tmp_path, "--marker-locations")
    assert "done in" in printed
    found = musculo.read_storage(tmp_path / "flexion_ik.mot")
    np.testing.assert_allclose(found.coordinates(arm()), arm_flexion().coordinates(arm()), atol=1e-5)
    assert (tmp_path / "flexion_ik_model_marker_locations.sto").exists()
    errors = musculo.read_storage(tmp_path / "flexion_ik_marker_errors.sto")
    assert errors.column("marker_error_max").max() < 1e-5


def test_a_marker_of_weight_zero_is_left_out(trial, tmp_path):
    name = arm().marker_names[0]
    shell("ik", MODEL, trial, "-o", tmp_path, "--marker-locations", "--weight", f"{name}=0", "--time", "0.1:0.2")
    places = musculo.read_storage(tmp_path / "flexion_ik_model_marker_locations.sto")
    assert not any(column.startswith(f"{name}_") for column in places.names)
    assert (places.time[0], places.time[-1]) == (0.1, 0.2)


def test_moments_are_those_of_inverse_dynamics(motion, tmp_path):
    shell("id", MODEL, MOTION, "-o", tmp_path)
    found = musculo.read_storage(tmp_path / f"{ARM_FLEXION_FILE.stem}_id.sto")
    tau = musculo.inverse_dynamics(arm(), motion.q, motion.u, motion.udot)
    columns = [found.column(f"{name}_moment") for name in arm().coordinate_names]
    np.testing.assert_allclose(np.stack(columns, axis=1), tau, atol=1e-7)


def test_effort_and_loads_are_those_of_the_functions(motion, tmp_path):
    shell("so", MODEL, MOTION, "-o", tmp_path, "--reserve", 1, "--power", 3, "--no-passive")
    name = f"{ARM_FLEXION_FILE.stem}_StaticOptimization"
    found = musculo.read_storage(tmp_path / f"{name}_activation.sto")
    model = arm()
    effort = musculo.static_optimization(model, motion.q, motion.u, motion.udot, reserves=1.0, power=3.0, passive=False)
    columns = np.stack([found.column(m) for m in model.muscle_names], axis=1)
    np.testing.assert_allclose(columns, effort.activation, atol=1e-6)
    assert set(found.names) - set(model.muscle_names) == {f"{c}_reserve" for c in model.coordinate_names}

    forces = tmp_path / f"{name}_force.sto"
    elbow = model.joint_names[-1]
    shell("jr", MODEL, MOTION, "-m", forces, "--frame", "child", "--joint", elbow, "-o", tmp_path)
    loads = musculo.read_storage(tmp_path / f"{ARM_FLEXION_FILE.stem}_JointReaction_ReactionLoads.sto")
    expected = musculo.joint_loads(
        model,
        motion.q,
        motion.u,
        motion.udot,
        muscle_forces=effort.force,
        joints=[model.joint_names[-1]],
        frame="child",
    )
    np.testing.assert_allclose(loads.values[:, :3], expected.force[:, 0], atol=1e-3)


def test_muscles_are_those_of_the_functions(motion, tmp_path):
    shell("muscles", MODEL, MOTION, "-o", tmp_path, "--coordinate", arm().coordinate_names[1])
    stem = f"{ARM_FLEXION_FILE.stem}_MuscleAnalysis"
    geometry = musculo.muscle_geometry(arm(), motion.q)
    length = musculo.read_storage(tmp_path / f"{stem}_Length.sto")
    np.testing.assert_allclose(length.values, geometry.length, atol=1e-7)
    arms = musculo.read_storage(tmp_path / f"{stem}_MomentArm_{arm().coordinate_names[1]}.sto")
    np.testing.assert_allclose(arms.values, geometry.moment_arm[:, :, 1], atol=1e-7)
    assert len(list(tmp_path.glob(f"{stem}_MomentArm_*"))) == 1


@pytest.mark.parametrize("frames", [1, 3])
def test_muscles_of_a_pose_need_no_rates(frames, tmp_path):
    table = arm_flexion()
    poses = replace(table, time=table.time[:frames], values=table.values[:frames])
    musculo.write_storage(poses, tmp_path / "pose.mot")
    printed = shell("muscles", MODEL, tmp_path / "pose.mot", "-o", tmp_path / "out")
    count = "1 frame" if frames == 1 else f"{frames} frames"
    assert f"has {count}; rates need 6 or more: they are treated as poses at rest" in " ".join(printed.split())
    q = musculo.read_storage(tmp_path / "pose.mot").coordinates(arm())
    length = musculo.read_storage(tmp_path / "out" / "pose_MuscleAnalysis_Length.sto")
    np.testing.assert_allclose(length.values, musculo.muscle_geometry(arm(), q).length, atol=1e-7)
    speed = musculo.read_storage(tmp_path / "out" / "pose_MuscleAnalysis_FiberVelocity.sto")
    assert not speed.values.any()
    assert "rates need 6 or more" in shell("id", MODEL, tmp_path / "pose.mot", "-o", tmp_path / "id", code=1)


def test_muscles_that_would_be_torn_are_told_of(tmp_path):
    model = arm()
    name = model.muscle_names[0]
    musculo.write_osim(model.with_force(name, tendon_slack_length=0.01, optimal_fiber_length=0.02), tmp_path / "a.osim")
    printed = " ".join(shell("muscles", tmp_path / "a.osim", MOTION, "-o", tmp_path).split())
    assert f"a fiber or tendon is longer than any intact one ({name})" in printed
    assert "any intact one" not in shell("muscles", MODEL, MOTION, "-o", tmp_path)


def test_a_muscle_of_an_unknown_kind_has_a_length_and_moment_arms(tmp_path):
    """And the others have all they have without it."""
    model = arm()
    odd, *others = model.muscles
    kinds = tuple(replace(m, kind="MadeUpMuscle") if m == odd else m for m in model.forces)
    musculo.write_osim(model.replace(forces=kinds), tmp_path / "odd.osim")
    printed = shell("muscles", tmp_path / "odd.osim", MOTION, "-o", tmp_path, code=INCOMPLETE)
    assert f"muscle '{odd.name}' is a MadeUpMuscle, whose forces are not computed" in " ".join(printed.split())
    shell("muscles", MODEL, MOTION, "-o", tmp_path / "whole")
    stem = f"{ARM_FLEXION_FILE.stem}_MuscleAnalysis"
    for what, names in (
        ("Length", model.muscle_names),
        (f"MomentArm_{model.coordinate_names[1]}", model.muscle_names),
        ("TendonForce", tuple(m.name for m in others)),
        (f"Moment_{model.coordinate_names[1]}", tuple(m.name for m in others)),
    ):
        found = musculo.read_storage(tmp_path / f"{stem}_{what}.sto")
        whole = musculo.read_storage(tmp_path / "whole" / f"{stem}_{what}.sto")
        assert found.names == names
        np.testing.assert_allclose(found.values, whole.pick(names).values, atol=1e-7)


def test_a_model_is_scaled_by_hand(tmp_path):
    body = arm().body_names[-1]
    shell("scale", MODEL, "-o", tmp_path / "scaled.osim", "--factors", f"{body}=1.1,1.2,1.3", "--mass", 5)
    scaled = musculo.read_osim(tmp_path / "scaled.osim")
    assert musculo.total_mass(scaled) == pytest.approx(5.0)
    before, after = arm().body(body), scaled.body(body)
    np.testing.assert_allclose(after.mass_center, np.multiply(before.mass_center, (1.1, 1.2, 1.3)), atol=1e-9)


def test_a_static_trial_places_the_markers(trial, tmp_path):
    """Markers were recorded off the model's own, so they stay; the forearm was scaled, so they move against it."""
    shell("scale", MODEL, "-o", tmp_path / "same.osim", "--static", trial, "--time", "0:0")
    before, after = arm(), musculo.read_osim(tmp_path / "same.osim")
    for one, other in zip(before.markers, after.markers, strict=True):
        np.testing.assert_allclose(other.location, one.location, atol=1e-6)
    off = replace(before.markers[2], location=tuple(np.add(before.markers[2].location, (0.0, 0.0, 0.05))))
    markers = tuple(off if marker.name == off.name else marker for marker in before.markers)
    musculo.write_osim(before.replace(markers=markers), tmp_path / "off.osim")
    printed = shell("scale", tmp_path / "off.osim", "-o", tmp_path / "whole.osim", "--static", trial, "--time", "0:0")
    # almost out of the plane of the arm, where no pose follows it
    told = re.search(rf"the largest (\S+) mm \({off.name}\), before they were moved", printed)
    assert 40.0 < float(told.group(1)) <= 50.0


def test_nothing_runs_twice(tmp_path):
    shell("id", MODEL, MOTION, "-o", tmp_path)
    assert "nothing changed" in shell("id", MODEL, MOTION, "-o", tmp_path)
    assert "done in" in shell("id", MODEL, MOTION, "-o", tmp_path, "--force")
    assert "done in" in shell("id", MODEL, MOTION, "-o", tmp_path, "--lowpass", 6)


def test_json_and_a_report(trial, tmp_path):
    told = json.loads(shell("ik", MODEL, trial, "-o", tmp_path, "--json"))
    assert told[0]["status"] == "done"
    assert told[0]["report"] == str(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 1e6


def test_frames_that_cannot_be_served_end_in_three(tmp_path):
    """The arm cannot hold its elbow under a strong load without a reserve."""
    loads = weight_in_the_hand(tmp_path, force=-4000.0)
    printed = shell("so", MODEL, MOTION, "--loads", loads, "-o", tmp_path / "out", code=3)
    assert "cannot be served" in printed


def test_a_model_without_muscles_is_said_to_have_none(tmp_path):
    """Static optimization of such a model lacks every force: that is the model's matter, not the load's."""
    musculo.write_osim(replace(arm(), forces=()), tmp_path / "bare.osim")
    printed = shell("so", tmp_path / "bare.osim", MOTION, "--reserve", 0, "-o", tmp_path / "out", code=3)
    assert "the model has no muscles, and its actuators cannot produce the force" in printed


def weight_in_the_hand(folder, force=-10.0, end=2.0):
    """A set-up of a weight that the hand carries from the beginning to a time."""
    loads = musculo.results.ExternalLoads(
        "weight",
        (musculo.results.ExternalForce("hand", arm().body_names[-1], "f_v", "", ""),),
        musculo.Table(np.linspace(0.0, end, 41), ("f_vx", "f_vy", "f_vz"), [[0.0, force, 0.0]] * 41),
    )
    musculo.io.write_external_loads(loads, folder / "weight.xml")
    return folder / "weight.xml"


def reactions(folder):
    return musculo.read_storage(folder / f"{ARM_FLEXION_FILE.stem}_JointReaction_ReactionLoads.sto")


def test_without_a_file_of_forces_no_muscle_pulls(motion, tmp_path):
    shell("jr", MODEL, MOTION, "-o", tmp_path)
    expected = musculo.joint_loads(arm(), motion.q, motion.u, motion.udot, muscle_forces=None)
    np.testing.assert_allclose(reactions(tmp_path).values[:, :3], expected.force[:, 0], atol=1e-6)
    shell("jr", MODEL, MOTION, "-o", tmp_path / "theirs", "--like-opensim")
    assert np.abs(reactions(tmp_path / "theirs").values - reactions(tmp_path).values).max() > 10.0


def test_forces_found_with_loads_or_another_filter_are_not_taken_in_silence(tmp_path):
    loads = weight_in_the_hand(tmp_path)
    shell("so", MODEL, MOTION, "--loads", loads, "--lowpass", 6, "--reserve", 10, "-o", tmp_path)
    forces = tmp_path / f"{ARM_FLEXION_FILE.stem}_StaticOptimization_force.sto"
    printed = shell("jr", MODEL, MOTION, "-m", forces, "--lowpass", 6, "-o", tmp_path, code=3)
    assert "no loads are given here" in printed
    assert "the same filter" not in printed
    printed = shell("jr", MODEL, MOTION, "-m", forces, "-l", loads, "-o", tmp_path)
    assert "filtered at 6 Hz where" in printed
    words = ("jr", MODEL, MOTION, "-m", forces, "-l", loads, "--lowpass", 6, "-o", tmp_path)
    assert "note" not in shell(*words)
    assert "external loads were not filtered where" in shell(*words, "--filter-loads", 9)


def test_frames_beyond_the_forces_end_in_three(tmp_path):
    shell("so", MODEL, MOTION, "--reserve", 10, "--time", "0:0.5", "-o", tmp_path)
    forces = tmp_path / f"{ARM_FLEXION_FILE.stem}_StaticOptimization_force.sto"
    assert "which lasts from 0 to 0.5 s" in shell("jr", MODEL, MOTION, "-m", forces, "-o", tmp_path, code=3)
    shell("jr", MODEL, MOTION, "-m", forces, "--time", "0:0.5", "-o", tmp_path)


def test_frames_beyond_the_loads_end_in_three(tmp_path):
    loads = weight_in_the_hand(tmp_path, end=0.5)
    outside = int((arm_flexion().time > 0.51).sum())
    for command in ("id", "jr"):
        printed = shell(command, MODEL, MOTION, "--loads", loads, "-o", tmp_path, code=3)
        assert f"{outside} of {len(arm_flexion())} frames lie outside" in printed
        assert "from 0 to 0.5 s" in printed
        assert "--time 0:0.5" in printed
        shell(command, MODEL, MOTION, "--loads", loads, "--time", "0:0.5", "-o", tmp_path)
    # whatever the method, and from a set-up file as from flags
    like = ("--like-opensim", "-o", tmp_path / "theirs")
    assert "lie outside" in shell("id", MODEL, MOTION, "--loads", loads, *like, code=3)
    (tmp_path / "id.xml").write_text(
        f"""<OpenSimDocument Version="40600"><InverseDynamicsTool name="id"><model_file>{MODEL}</model_file>
        <coordinates_file>{MOTION}</coordinates_file><external_loads_file>{loads}</external_loads_file>
        <forces_to_exclude>Muscles</forces_to_exclude></InverseDynamicsTool></OpenSimDocument>"""
    )
    for more in ((), ("--exact",), ()):  # the last one finds nothing changed
        assert "lie outside" in shell("run", tmp_path / "id.xml", "-o", tmp_path / f"run{len(more)}", *more, code=3)


COMMANDS = ["run", "scale", "ik", "id", "so", "jr", "muscles", "forward", "imu-place", "imu-ik"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_step_says_how_it_ends(command):
    said = " ".join(shell(command, "--help").split())
    assert EXIT_CODES in said
    shell(command, "--no-such-flag", code=WRONG_USAGE)


def test_fibres_that_are_stretched_too_far_are_told_of(tmp_path):
    """Tendons at half their length leave the rest of the path to the fibres."""
    model = arm()
    short = {m.name: replace(m, tendon_slack_length=0.5 * m.tendon_slack_length) for m in model.muscles}
    musculo.write_osim(model.replace(forces=tuple(short.get(f.name, f) for f in model.forces)), tmp_path / "short.osim")
    words = ("so", tmp_path / "short.osim", MOTION, "--reserve", 1, "-o", tmp_path)
    printed = " ".join(shell(*words, "--passive").split())
    assert "stretched too far" in printed
    assert "optimal lengths" in printed
    assert "Alone they give more than the motion needs, at most [N m, N], at shoulder_flexion" in printed
    assert "switch passive forces off (--no-passive), let tendons give (--tendon elastic)" in printed
    assert "longer tendon slack lengths" in printed
    assert "reserves give more than muscles do" not in printed
    assert "stretched too far" not in shell(*words)
    assert "stretched too far" not in shell("so", MODEL, MOTION, "--reserve", 1, "--passive", "-o", tmp_path)


def test_reserves_that_do_the_work_of_muscles_are_told_of(tmp_path):
    loads = weight_in_the_hand(tmp_path, force=-2000.0)
    printed = shell("so", MODEL, MOTION, "--loads", loads, "--reserve", 1000, "-o", tmp_path)
    assert "reserves give more than muscles do" in printed
    assert "elbow_flexion (" in printed


def test_how_well_markers_fit_is_told(trial, tmp_path):
    recorded = musculo.read_trc(trial)
    position = np.array(recorded.position)
    position[20, 1] += (0.0, 0.0, 0.1)  # out of the plane of the arm: no pose follows it
    position[30, 0] = np.nan
    musculo.write_trc(replace(recorded, position=position), tmp_path / "off.trc")
    lines = (tmp_path / "off.trc").read_text().splitlines()
    (tmp_path / "off.trc").write_text("\n".join(lines[:-5]) + "\n")
    printed = shell("ik", MODEL, tmp_path / "off.trc", "-o", tmp_path)
    assert f"({recorded.names[1]} at {recorded.time[20]:g} s)" in printed
    assert "1 gaps in 1 markers" in printed
    assert f"only {len(recorded) - 5} rows" in printed
    distances = musculo.read_storage(tmp_path / "off_ik_marker_distances.sto")
    assert distances.names == recorded.names
    assert distances.column(recorded.names[1]).max() == pytest.approx(0.1, abs=0.01)
    assert np.isnan(distances.column(recorded.names[0])[30])


def test_weights_are_those_of_the_function(motion, tmp_path):
    model = arm()
    heavy = "biceps_long"
    shell("so", MODEL, MOTION, "-o", tmp_path, "--reserve", 1, "--weight", f"{heavy}=9")
    found = musculo.read_storage(tmp_path / f"{ARM_FLEXION_FILE.stem}_StaticOptimization_activation.sto")
    effort = musculo.static_optimization(model, motion.q, motion.u, motion.udot, reserves=1.0, weights={heavy: 9.0})
    plain = musculo.static_optimization(model, motion.q, motion.u, motion.udot, reserves=1.0)
    np.testing.assert_allclose(found.column(heavy), effort.activation[:, effort.muscles.index(heavy)], atol=1e-6)
    assert np.abs(plain.activation - effort.activation).max() > 1e-3


def test_fibres_at_activations_of_a_file(motion, tmp_path):
    model = arm()
    activation = np.linspace(0.1, 0.9, len(motion))[:, None] * np.ones(len(model.muscles))
    table = musculo.Table(motion.time, model.muscle_names, activation)
    musculo.write_storage(table, tmp_path / "activation.sto")
    shell("muscles", MODEL, MOTION, "--activation", tmp_path / "activation.sto", "-o", tmp_path)
    found = musculo.read_storage(tmp_path / f"{ARM_FLEXION_FILE.stem}_MuscleAnalysis_TendonForce.sto")
    expected = musculo.muscle_analysis(model, motion.q, motion.u, activation)
    np.testing.assert_allclose(found.values, expected.tendon_force, atol=1e-6)


def test_a_model_without_muscles_has_none_to_analyse(tmp_path):
    musculo.write_osim(arm().replace(forces=()), tmp_path / "bones.osim")
    assert "no muscles" in shell("muscles", tmp_path / "bones.osim", MOTION, "-o", tmp_path / "out", code=1)
    assert not list((tmp_path / "out").glob("*.sto"))


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("ik", MODEL, "missing.trc"), "missing.trc", BAD_INPUT),
        (("id", MODEL, MOTION, "--time", "2"), "START:END", WRONG_USAGE),
        (("id", MODEL, MOTION, "--lowpass", "-3"), "above zero", WRONG_USAGE),
        (("so", MODEL, MOTION, "--tendon", "soft"), "rigid, elastic", WRONG_USAGE),
        (("so", MODEL, MOTION, "--like-opensim", "--tendon", "elastic"), "--like-opensim", WRONG_USAGE),
        (("id", MODEL, MOTION, "--lowpass", "six"), "auto", WRONG_USAGE),
        (("id", MODEL, MOTION, "--filter-loads", "6"), "--loads", WRONG_USAGE),
        (("id", MODEL, MOTION, "--fill-gaps", "-1"), "above zero", WRONG_USAGE),
        (("so", MODEL, MOTION, "--weight", "bicep=2"), "bicep", BAD_INPUT),
        (("jr", MODEL, MOTION, "--joint", "elbo"), "elbo", BAD_INPUT),
        (("jr", MODEL, MOTION, "--on", "both"), "both", WRONG_USAGE),
        (("ik", MODEL, "missing.trc", "-w", f"{arm().marker_names[0]}=-3"), "above zero", WRONG_USAGE),
        (("ik", MODEL, "missing.trc", "-w", "nose=3"), "nose", BAD_INPUT),
        (("ik", MODEL, "missing.trc", "--up", "w"), "x, -x, y, -y, z, -z", WRONG_USAGE),
        (("scale", MODEL, "-o", "out.osim"), "--factors", WRONG_USAGE),
        (("scale", MODEL, "-o", "out.osim", "--factors", "hand"), "NAME=VALUE", WRONG_USAGE),
        (("scale", MODEL, "-o", "out.osim", "--factors", "hand=0"), "above zero", WRONG_USAGE),
        (("muscles", MODEL, MOTION, "--muscle", "biceps"), "biceps", BAD_INPUT),
    ],
)
def test_bad_flags_are_one_sentence(words, said, code, tmp_path, monkeypatch, capsys):
    import sys

    from musculo.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["musculo", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("error: ")
    assert "Traceback" not in error


def test_two_trials_in_one_folder_keep_their_records(trial, tmp_path):
    other = tmp_path / "walk.2.trc"
    other.write_bytes(trial.read_bytes())
    for recording in (trial, other):
        shell("ik", MODEL, recording, "-o", tmp_path / "two", "--time", "0:0.05")
    assert sorted(path.name for path in (tmp_path / "two").glob("*.json")) == [
        "ik_flexion.musculo.json",
        "ik_walk.2.musculo.json",
    ]
    assert "nothing changed" in shell("ik", MODEL, trial, "-o", tmp_path / "two", "--time", "0:0.05")


def test_a_record_states_the_options(trial, tmp_path):
    words = ("--power", 3, "--reserve", 10, "--lowpass", 6, "--time", "0.1:0.2", "--passive")
    shell("so", MODEL, MOTION, "-o", tmp_path, *words)
    record = json.loads((tmp_path / f"so_{ARM_FLEXION_FILE.stem}.musculo.json").read_text())
    assert record["analyses"] == ["StaticOptimization"]
    stated = record["stated"]
    assert stated["lowpass_cutoff_frequency_for_coordinates"] == "6"
    assert stated["StaticOptimization.activation_exponent"] == "3"
    assert stated["StaticOptimization.reserve"] == "10"
    assert stated["StaticOptimization.passive"] == "yes"
    assert (stated["initial_time"], stated["final_time"]) == ("0.1 s", "0.2 s")
    assert "StaticOptimization.tendon" not in stated
    first, *others = arm().marker_names
    shell("ik", MODEL, trial, "-o", tmp_path, "-w", f"{first}=3", "--time", "0.1:")
    stated = json.loads((tmp_path / "ik_flexion.musculo.json").read_text())["stated"]
    assert stated["tasks"] == ", ".join([f"{first}=3", *(f"{name}=1" for name in others)])
    assert stated["time_range"] == "0.1 to end s"


def test_a_failed_command_leaves_no_folder(trial, tmp_path):
    for words in (
        ("ik", MODEL, trial, "-w", "nose=3"),
        ("ik", MODEL, trial, "--time", "50:90"),
        ("id", MODEL, tmp_path / "missing.mot"),
    ):
        shell(*words, "-o", tmp_path / "out", code=1)
    assert not (tmp_path / "out").exists()


def test_a_span_outside_the_recording_is_refused(trial, tmp_path, capsys):
    for words in (("ik", MODEL, trial), ("id", MODEL, MOTION), ("so", MODEL, MOTION)):
        printed = shell(*words, "--time", "50:90", "-o", tmp_path, code=1)
        assert "50 to 90 s lies outside" in printed + capsys.readouterr().err
    printed = shell("scale", MODEL, "-o", tmp_path / "x.osim", "--static", trial, "--time", "50:90", code=1)
    assert "50 to 90 s lies outside" in printed + capsys.readouterr().err


def test_what_is_said_of_scaling(tmp_path):
    body = arm().body_names[-1]
    out = tmp_path / "scaled.osim"
    printed = shell("scale", MODEL, "-o", out, "--factors", f"{body}=9")
    assert "markers are not placed: no static trial was given" in printed
    assert f"beyond 0.2 to 5, as of a wrong unit or marker: {body} (9, 9, 9)" in printed
    before = out.read_bytes()
    with pytest.raises(InvalidInput, match="is an input, too"):
        shell("scale", out, "-o", out, "--factors", f"{body}=2")
    assert out.read_bytes() == before
    shell("scale", out, "-o", out, "--factors", f"{body}=2", "--force")
    assert out.read_bytes() != before


def test_tasks_come_from_a_set_up_as_the_help_says(tmp_path):
    """A set-up of inverse kinematics, one of the scale tool, and a file of tasks alone give the same poses."""
    arm_recordings(tmp_path)
    tasks = marker_task("wrist_radial", 7) + marker_task("upper_arm", 2) + marker_task("elbow_lateral", 0.5)
    files = {
        "ik.xml": inverse_kinematics(tasks),
        "scale.xml": scale(placer=marker_placer(tasks)),
        "tasks.xml": f"<IKTaskSet><objects>{tasks}</objects></IKTaskSet>",
    }
    found = {}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        out = tmp_path / f"out_{name}"
        shell("ik", tmp_path / "arm.osim", tmp_path / "trial.trc", "--tasks", tmp_path / name, "-o", out)
        found[name] = musculo.read_storage(out / "trial_ik.mot").values
    assert (found["ik.xml"] == found["tasks.xml"]).all()
    assert (found["scale.xml"] == found["tasks.xml"]).all()
    shell("ik", tmp_path / "arm.osim", tmp_path / "trial.trc", "-o", tmp_path / "all")
    assert np.abs(musculo.read_storage(tmp_path / "all" / "trial_ik.mot").values - found["ik.xml"]).max() > 0.1
