"""`--strict` turns a bad judgement into exit code 4, in every command that judges."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import musculo
from musculo.cli.exit_codes import BAD_INPUT, GOOD, INCOMPLETE, NOT_GOOD
from musculo.cli.main import app
from musculo.demo import ARM_FILE, arm, arm_flexion
from musculo.diagnostics.finding import Finding, Severity
from musculo.report import Light
from support import tool_setups
from support.tool_setups import arm_folder


def shell(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def trials(tmp_path):
    """A recording that fits, and one of which a marker is 30 cm off."""
    table, model = arm_flexion(), arm()
    at = musculo.kinematics(model, table.coordinates(model)).markers(model.marker_names).copy()
    musculo.write_trc(musculo.Markers(table.time, model.marker_names, at), tmp_path / "good.trc")
    at[:, 3, 2] += 0.3
    musculo.write_trc(musculo.Markers(table.time, model.marker_names, at), tmp_path / "bad.trc")
    return tmp_path


def test_a_bad_judgement_ends_with_4(trials):
    words = ("ik", ARM_FILE, trials / "bad.trc", "-o", trials / "out")
    assert shell(*words).exit_code == GOOD  # unasked, it is a line of the page
    strict = shell(*words, "--strict", "--quiet")  # nothing changed, and it is judged all the same
    assert strict.exit_code == NOT_GOOD
    assert "strict: Marker errors, largest: " in strict.stderr
    assert strict.stdout == ""
    assert (trials / "out" / "report.html").is_file()


def test_a_good_one_ends_with_0(trials):
    result = shell("ik", ARM_FILE, trials / "good.trc", "-o", trials / "out", "--strict")
    assert result.exit_code == GOOD
    assert "strict" not in result.stderr


def test_it_needs_no_page(trials):
    words = ("ik", ARM_FILE, trials / "bad.trc", "-o", trials / "out", "--no-report", "--strict")
    result = shell(*words)
    assert result.exit_code == NOT_GOOD
    assert "BAD   Marker errors, largest" in result.stdout
    assert not (trials / "out" / "report.html").exists()


def test_run_is_strict_with_each_of_its_setups(trials):
    """Two set-ups in two folders, one of them bad; JSON has the judgements of both."""
    setups = []
    for name in ("good", "bad"):
        text = tool_setups.document(
            "InverseKinematicsTool",
            f"<model_file>arm.osim</model_file><marker_file>{trials / name}.trc</marker_file>"
            "<time_range>0 0.5</time_range><output_motion_file>ik.mot</output_motion_file>"
            "<results_directory>results</results_directory><report_errors>true</report_errors>",
        )
        setups.append(arm_folder(trials / name, ik=text) / "ik.xml")
    assert shell("run", *setups, "--no-compare").exit_code == GOOD
    result = shell("run", *setups, "--no-compare", "--strict", "--json")
    assert result.exit_code == NOT_GOOD
    lights = [{check["light"] for check in one["checks"]} for one in json.loads(result.stdout)]
    assert ["bad" in light for light in lights] == [False, True]
    assert shell("run", setups[0], "--no-compare", "--strict").exit_code == GOOD


def test_what_is_worse_comes_first(trials):
    """Bad input before what is not solved, and that before what is bad."""
    setup = arm_folder(trials / "a", k=tool_setups.analyze('<Kinematics name="K"/><NoSuch name="N"/>')) / "k.xml"
    assert shell("run", setup, "--no-compare", "--strict").exit_code == INCOMPLETE
    assert shell("run", setup, trials / "missing.xml", "--strict").exit_code == BAD_INPUT


def test_earlier_runs_of_a_trial_do_not_count(trials):
    """Moments of a bad motion are not judged by its markers a second time; the report of all of them is."""
    shell("ik", ARM_FILE, trials / "bad.trc", "-o", trials / "out")
    words = ("id", ARM_FILE, trials / "out" / "bad_ik.mot", "-o", trials / "out", "--time", "0:0.3", "--strict")
    assert shell(*words).exit_code == GOOD
    assert shell("report", trials / "out", "--strict").exit_code == NOT_GOOD
    assert shell("report", trials / "out").exit_code == GOOD


def test_the_demo_is_strict(tmp_path, monkeypatch):
    assert shell("demo", "-o", tmp_path, "-q", "--strict").exit_code == GOOD
    monkeypatch.setattr("musculo.diagnostics.judge.MARKER_LARGEST", 1e-6)
    assert shell("demo", "-o", tmp_path, "-q", "--strict").exit_code == NOT_GOOD
    assert shell("demo", "-o", tmp_path, "-q").exit_code == GOOD


def test_numbers_that_are_not_finite_are_bad(tmp_path):
    """As of another program."""
    time, values = np.linspace(0.0, 1.0, 5), np.ones((5, 2))
    values[2] = np.nan
    musculo.write_storage(musculo.Table(time, ("marker_error_RMS", "marker_error_max"), values), tmp_path / "e.sto")
    assert shell("report", tmp_path, "--strict").exit_code == NOT_GOOD


def test_degrees_that_are_called_radians_are_bad(tmp_path):
    """Where nothing else of the step is judged, too."""
    table = arm_flexion()
    musculo.write_storage(replace(table.in_degrees(arm()), degrees=False), tmp_path / "wrong.mot")
    musculo.write_storage(table, tmp_path / "right.mot")
    for command in ("jr", "muscles", "id"):
        words = (command, ARM_FILE, "-o", tmp_path / command, "--time", "0:0.2", "--strict")
        result = shell(*words, tmp_path / "wrong.mot")
        assert result.exit_code == NOT_GOOD, result.output
        assert "strict: Units of the motion: " in result.stderr
        assert "BAD   Units of the motion: see the note" in result.stdout
        assert shell(*words, tmp_path / "right.mot").exit_code == GOOD


def test_findings_are_judged_by_how_much_they_matter():
    lights = [Finding("", severity).light for severity in sorted(Severity)]
    assert lights == [Light.GOOD, Light.UNJUDGED, Light.INFO, Light.LOOK, Light.BAD, Light.BAD]


@pytest.mark.parametrize(
    "command", ["run", "scale", "ik", "id", "so", "jr", "muscles", "imu-place", "imu-ik", "report", "demo"]
)
def test_every_command_that_judges_has_it(command):
    said = " ".join(shell(command, "--help").stdout.split())
    assert "--strict End with exit code 4 if the report judges something as bad." in said
    assert "4: with --strict, the report judges something as bad." in said
