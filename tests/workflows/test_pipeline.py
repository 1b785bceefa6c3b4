"""The steps of the inverse pipeline from the shell, on the arm that ships: each gives what the functions give."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import musculo
from musculo.cli.main import app
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE, arm, arm_flexion

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
    effort = musculo.static_optimisation(model, motion.q, motion.u, motion.udot, reserves=1.0, power=3.0, passive=False)
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
    shell("scale", MODEL, "-o", tmp_path / "whole.osim", "--static", trial)
    assert (tmp_path / "whole.osim").exists()


def test_nothing_runs_twice(tmp_path):
    shell("id", MODEL, MOTION, "-o", tmp_path)
    assert "nothing changed" in shell("id", MODEL, MOTION, "-o", tmp_path)
    assert "done in" in shell("id", MODEL, MOTION, "-o", tmp_path, "--force")
    assert "done in" in shell("id", MODEL, MOTION, "-o", tmp_path, "--lowpass", 6)


def test_json_and_a_report(trial, tmp_path):
    told = json.loads(shell("ik", MODEL, trial, "-o", tmp_path, "--json", "--report"))
    assert told[0]["status"] == "done"
    assert (tmp_path / "report.html").stat().st_size > 1e6


def test_frames_that_cannot_be_served_end_in_three(tmp_path):
    """The arm cannot hold its elbow under a strong load without a reserve."""
    loads = musculo.ExternalLoads(
        "weight",
        (musculo.ExternalForce("hand", arm().body_names[-1], "f_v", "", ""),),
        musculo.Table([0.0, 2.0], ("f_vx", "f_vy", "f_vz"), [[0.0, -4000.0, 0.0]] * 2),
    )
    musculo.write_external_loads(loads, tmp_path / "weight.xml")
    printed = shell("so", MODEL, MOTION, "--loads", tmp_path / "weight.xml", "-o", tmp_path / "out", code=3)
    assert "cannot be served" in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ik", MODEL, "missing.trc"), "missing.trc"),
        (("id", MODEL, MOTION, "--time", "2"), "START:END"),
        (("id", MODEL, MOTION, "--lowpass", "-3"), "above zero"),
        (("so", MODEL, MOTION, "--tendon", "soft"), "rigid or elastic"),
        (("so", MODEL, MOTION, "--like-opensim", "--reserve", "1"), "--like-opensim"),
        (("jr", MODEL, MOTION, "--joint", "elbo"), "elbo"),
        (("jr", MODEL, MOTION, "--on", "both"), "both"),
        (("scale", MODEL, "-o", "out.osim", "--factors", "hand"), "NAME=VALUE"),
        (("scale", MODEL, "-o", "out.osim", "--factors", "hand=0"), "above zero"),
        (("muscles", MODEL, MOTION, "--muscle", "biceps"), "biceps"),
    ],
)
def test_bad_flags_are_one_sentence(words, said, tmp_path, monkeypatch, capsys):
    import sys

    from musculo.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["musculo", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("error: ")
    assert "Traceback" not in error
