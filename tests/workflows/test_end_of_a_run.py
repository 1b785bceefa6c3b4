"""Every step of the pipeline ends with one page of its folder, which never costs the results."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

import musculo
from musculo.cli.main import app
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE, arm, arm_flexion
from musculo.kernels.compiler import shipped, store
from musculo.kernels.compiler.parts import Kernel
from musculo.kernels.paths.path_frames import geodesic_path_frames
from musculo.report import report_of_folder
from musculo.report.read_folder import read_folder, trials_of
from support import tool_setups
from support.tool_setups import arm_folder

MODEL, MOTION, STEM = str(ARM_FILE), str(ARM_FLEXION_FILE), ARM_FLEXION_FILE.stem


def shell(*words, code=0):
    """What a command prints; it must end with the exit code."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def recorded(path, shift=0.0):
    """Markers of the flexion, later by a time."""
    table = arm_flexion()
    at = musculo.kinematics(arm(), table.coordinates(arm())).markers(arm().marker_names)
    musculo.write_trc(musculo.Markers(table.time + shift, arm().marker_names, at), path)
    return path


def titles(report):
    return [section.title for section in report.sections]


@pytest.mark.parametrize(
    ("command", "sections"),
    [
        ("id", ["Joint angles", "Joint moments", "Joint powers"]),
        ("so", ["Joint angles", "Muscle activations", "Muscle forces", "Metabolic power"]),
        ("jr", ["Joint angles", "Joint reactions"]),
        ("muscles", ["Joint angles", "Muscle forces", "Fiber lengths", "Moment arms"]),
    ],
)
def test_every_step_ends_with_a_page(command, sections, tmp_path):
    """The motion comes from elsewhere, and is shown as well."""
    more = ("--reserve", 1) if command == "so" else ()
    printed = shell(command, MODEL, MOTION, "-o", tmp_path, "--time", "0:0.2", *more)
    assert f"report: {tmp_path / 'report.html'} (made in " in printed
    report = report_of_folder(tmp_path)
    assert titles(report) == sections
    assert report.scene
    before = (tmp_path / "report.html").stat().st_mtime_ns
    again = shell(command, MODEL, MOTION, "-o", tmp_path, "--time", "0:0.2", *more)
    assert "report:" not in again
    assert (tmp_path / "report.html").stat().st_mtime_ns == before


def test_scaling_ends_with_a_page_of_the_scaled_model(tmp_path):
    trial = recorded(tmp_path / "static.trc")
    shell(
        "scale", MODEL, "-o", tmp_path / "out" / "big.osim", "--factors", "forearm=1.5", "--mass", 7, "--static", trial
    )
    found = read_folder(tmp_path / "out")
    assert found.model is not None
    assert musculo.total_mass(found.model) == pytest.approx(7.0)
    report = report_of_folder(tmp_path / "out")
    assert report.scene
    assert [check.title for check in report.checks] == [
        "Runs",
        "Scale factors",
        "Static pose, markers, root mean square",
        "Static pose, markers, largest",
    ]
    assert (tmp_path / "out" / "report.html").is_file()


def test_no_page_where_none_is_wanted(tmp_path):
    assert "report" not in shell("id", MODEL, MOTION, "-o", tmp_path, "--no-report")
    assert not (tmp_path / "report.html").exists()
    (told,) = json.loads(shell("id", MODEL, MOTION, "-o", tmp_path, "--no-report", "--json", "--force"))
    assert told["report"] is None


@pytest.mark.parametrize(
    "error", [musculo.errors.InvalidInput("odd numbers"), ValueError("odd numbers"), OSError("disk full")]
)
def test_a_page_that_cannot_be_made_costs_no_result(error, tmp_path, monkeypatch):
    """But it is no success either."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("musculo.cli.commands.report.write_report", fail)
    printed = shell("id", MODEL, MOTION, "-o", tmp_path, code=3)
    assert f"error: no report of {tmp_path}: " in printed
    assert str(error) in printed
    assert (tmp_path / f"{STEM}_id.sto").is_file()
    # nothing else is wanting, and without a page all is well
    assert "nothing changed" in shell("id", MODEL, MOTION, "-o", tmp_path, "--no-report")


def test_a_page_that_cannot_be_written_is_no_success(tmp_path):
    """A folder stands in its place, which not even root can write over."""
    (tmp_path / "report.html").mkdir()
    words = ("id", MODEL, MOTION, "-o", tmp_path, "--time", "0:0.2")
    for _ in range(2):  # also where nothing changed
        assert f"error: no report of {tmp_path}: " in shell(*words, code=3)
    (told,) = json.loads(CliRunner().invoke(app, [*map(str, words), "--json"]).stdout)
    assert told["report"] is None
    shell("report", tmp_path, "-m", MODEL, code=1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_full_disk_is_told_of(tmp_path, monkeypatch):
    """The page is written into a file that takes nothing."""
    opened = open

    def onto_a_full_disk(name, *words, **flags):
        return opened("/dev/full" if "report.html" in str(name) else name, *words, **flags)

    monkeypatch.setattr("musculo.io.text.open", onto_a_full_disk, raising=False)
    assert "No space left on device" in shell("id", MODEL, MOTION, "-o", tmp_path, code=3)
    shell("report", tmp_path, "--model", MODEL, code=1)
    assert not (tmp_path / "report.html").exists()


def test_many_setups_leave_one_page_of_all(tmp_path):
    folder = arm_folder(
        tmp_path,
        id=tool_setups.inverse_dynamics(),
        so=tool_setups.analyze('<StaticOptimization name="SO"/>'),
        k=tool_setups.analyze('<Kinematics name="K"/>'),
    )
    setups = [folder / f"{name}.xml" for name in ("id", "so", "k")]
    printed = shell("run", *setups, "-j", 2, "--no-compare")
    assert printed.count("report:") == 1
    assert {"Joint moments", "Muscle activations", "Joint angles"} <= set(titles(report_of_folder(folder / "results")))


def test_every_folder_has_its_page(tmp_path):
    folders = [arm_folder(tmp_path / name, id=tool_setups.inverse_dynamics()) for name in ("a", "b")]
    printed = shell("run", *(folder / "id.xml" for folder in folders), "-j", 2, "--no-compare")
    for folder in folders:
        assert f"report: {folder / 'results' / 'report.html'} (made in" in printed
        assert (folder / "results" / "report.html").is_file()


def test_a_page_shows_the_trial_that_was_run(tmp_path):
    """Two trials in one folder: numbers of one do not stand beside those of the other, whose tables are named."""
    for name, shift in (("a", 0.0), ("b", 10.0)):
        trial = recorded(tmp_path / f"{name}.trc", shift)
        shell("ik", MODEL, trial, "-o", tmp_path / "out", "--time", f"{shift}:{shift + 0.3}")
    shell("id", MODEL, tmp_path / "out" / "a_ik.mot", "-o", tmp_path / "out")
    # a foreign table, which a run did not write, is not on the page of a run
    table = musculo.Table(np.arange(3.0), ("elbow_flexion_moment",), np.full((3, 1), 999.0))
    musculo.write_storage(table, tmp_path / "out" / "foreign.sto")
    runs = {name: tmp_path / "out" / f"{name}.musculo.json" for name in ("ik_a", "ik_b", "id_a_ik")}
    of_b = read_folder(tmp_path / "out", runs=[runs["ik_b"]])
    assert of_b.angles.time[0] == pytest.approx(10.0)
    assert of_b.moments is None
    of_a = read_folder(tmp_path / "out", runs=[runs["id_a_ik"]])
    assert of_a.angles.time[0] == pytest.approx(0.0)
    assert of_a.moments.time[0] == pytest.approx(0.0)
    assert of_a.marker_errors.time[0] == pytest.approx(0.0)
    both = read_folder(tmp_path / "out", runs=runs.values())
    assert both.angles.time[0] == pytest.approx(0.0)  # of the larger group
    assert "b_ik.mot" in both.more


def test_runs_are_grouped_by_the_series_they_share():
    def run(tool, inputs, results):
        return {"tool": tool, "inputs": dict.fromkeys(inputs, ""), "results": dict.fromkeys(results, "")}

    scale = run("ScaleTool", ["generic.osim", "static.trc"], ["subject.osim"])
    ik = run("InverseKinematicsTool", ["subject.osim", "walk.trc"], ["walk_ik.mot"])
    other = run("InverseKinematicsTool", ["subject.osim", "run.trc"], ["run_ik.mot"])
    effort = run("AnalyzeTool", ["subject.osim", "walk_ik.mot"], ["walk_force.sto"])
    moments = run("InverseDynamicsTool", ["subject.osim", "walk_ik.mot", "grf.mot"], ["walk_id.sto"])
    assert trials_of([ik, scale, other, moments, effort]) == [[ik, moments, effort, scale], [other, scale]]
    # what links two groups may come last
    assert trials_of([ik, other, run("AnalyzeTool", ["walk_ik.mot", "run_ik.mot"], [])])[0][:2] == [ik, other]
    assert trials_of([scale]) == [[scale]]
    sensors = run("IMUPlacer", ["subject.osim", "still.sto"], ["sensors.osim"])
    worn = run("IMUInverseKinematicsTool", ["sensors.osim", "turns.sto"], ["turns_ik.mot"])
    assert trials_of([sensors, scale, worn]) == [[worn, sensors, scale]]
    assert trials_of([]) == []


def test_nothing_is_compiled_for_a_page(tmp_path, monkeypatch):
    """Without compiled paths muscles are drawn through their points; with them, over surfaces."""
    shell("ik", MODEL, recorded(tmp_path / "a.trc"), "-o", tmp_path / "out", "--time", "0:0.1", "--no-report")
    asked = []

    def view(model, *_, wrapping, **__):
        asked.append(wrapping)
        return musculo.view(model, wrapping="straight")

    monkeypatch.setattr("musculo.report.folder_report.view", view)
    for there, drawn in (
        (set(), "straight"),
        ({"opensim_path_frames"}, "opensim"),
        ({"geodesic_path_frames"}, "geodesic"),
    ):
        monkeypatch.setattr(Kernel, "is_ready", lambda d, there=there: d.py_func.__name__ in there)
        report_of_folder(tmp_path / "out")
        assert asked[-1] == drawn


def test_a_driver_is_ready_once_it_ran(monkeypatch):
    """By this process or an earlier one."""
    musculo.muscle_geometry(arm(), np.zeros((1, len(arm().coordinates))))
    assert geodesic_path_frames.is_ready()
    later = Kernel(geodesic_path_frames.py_func, geodesic_path_frames.targetoptions)
    assert later.is_ready()
    for place in (shipped, store):
        monkeypatch.setattr(place, "has" if place is shipped else "is_there", lambda name: False)
    assert not later.is_ready()
    assert geodesic_path_frames.is_ready()


def test_report_speaks_json(tmp_path):
    musculo.write_storage(arm_flexion(), tmp_path / "arm_ik.mot")
    told = json.loads(shell("report", tmp_path, "--model", MODEL, "--title", "Flexion", "--json"))
    report = report_of_folder(tmp_path, arm(), "Flexion")
    assert (told["page"], told["title"]) == (str(tmp_path / "report.html"), "Flexion")
    assert told["light"] == report.light.value
    assert [(c["title"], c["found"], c["light"]) for c in told["checks"]] == [
        (c.title, c.found, c.light.value) for c in report.checks
    ]
    assert shell("report", tmp_path, "--model", MODEL, "--quiet") == ""


def test_a_folder_without_known_tables_is_an_error(tmp_path):
    table = musculo.Table(np.arange(3.0), ("humerus_X", "humerus_Y"), np.zeros((3, 2)))
    musculo.write_storage(table, tmp_path / "arm_BodyKinematics_pos_global.sto")
    musculo.write_storage(table, tmp_path / "anything.sto")
    result = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert isinstance(result.exception, musculo.errors.InvalidInput)
    assert "holds no motion" in str(result.exception)
    assert "2 tables looked at" in str(result.exception)
    assert not (tmp_path / "report.html").exists()


def test_a_copy_of_a_folder_shows_its_own_tables(tmp_path):
    """Though the folder of the run is still there, and holds other numbers by now."""
    first, copy = tmp_path / "first", tmp_path / "copy"
    shell("id", MODEL, MOTION, "-o", first, "--lowpass", 6, "--no-report")
    shutil.copytree(first, copy)
    shell("id", MODEL, MOTION, "-o", first, "--lowpass", 1, "--no-report")
    for folder in (first, copy):
        found = read_folder(folder)
        own = musculo.read_storage(folder / f"{STEM}_id.sto")
        assert_array_equal(found.moments.values, own.values)
        assert (found.more, found.older) == ([], [])
        assert found.angles is not None
        assert str(copy if folder is first else first) not in str(found.records)


def test_a_step_in_a_copy_follows_the_step_before(tmp_path):
    """Even if that was changed by hand, while the first folder is as it was."""
    first, copy = tmp_path / "first", tmp_path / "copy"
    shell("ik", MODEL, recorded(tmp_path / "a.trc"), "-o", first, "--time", "0:0.3", "--no-report")
    shell("id", MODEL, first / "a_ik.mot", "-o", first, "--no-report")
    shutil.copytree(first, copy)
    angles = musculo.read_storage(copy / "a_ik.mot")
    musculo.write_storage(replace(angles, values=2.0 * angles.values), copy / "a_ik.mot")
    found = read_folder(copy)
    assert_array_equal(found.angles.values, musculo.read_storage(copy / "a_ik.mot").values)
    assert (found.more, found.older, len(found.records)) == ([], [], 2)


def test_inputs_move_with_a_study(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    arm_folder(old / "data")
    shell("id", old / "data" / "arm.osim", old / "data" / "motion.mot", "-o", old / "results", "--no-report")
    shutil.copytree(old, new)
    data = [path for path in read_folder(new / "results").read if path.parent.name == "data"]
    assert {path.parent for path in data} == {new / "data"}
    # a file of that name which is another one is not what the run has read
    (new / "data" / "motion.mot").write_text("another")
    assert read_folder(new / "results").angles.source == str(old / "data" / "motion.mot")
    shutil.rmtree(old)
    assert read_folder(new / "results").model is not None


@pytest.mark.parametrize("first", ["a", "z"])  # whatever the names
def test_a_page_shows_what_was_just_made(tmp_path, first):
    """And not an older table of the same trial and kind; it is named as such, since it is no other trial."""
    setups = {
        name: tool_setups.inverse_dynamics().replace("id.sto", f"{name}.sto").replace("</Inv", f"{span}</Inv", 1)
        for name, span in ((first, ""), ("m", "<time_range>0 0.5</time_range>"))
    }
    folder = arm_folder(tmp_path, **setups)
    for name, older in ((first, []), ("m", [f"{first}.sto"])):
        printed = shell("run", folder / f"{name}.xml", "--no-compare")
        found = read_folder(folder / "results")
        assert found.moments.source == str(folder / "results" / f"{name}.sto")
        assert (found.older, found.more) == (older, [])
        assert "Several trials" not in printed
        assert ("Several results: 1 older" in printed) == bool(older)
    # a run that is asked for counts before a newer one
    asked = read_folder(folder / "results", runs=[folder / "results" / f"{first}.musculo.json"])
    assert asked.moments.source == str(folder / "results" / f"{first}.sto")


def test_a_folder_may_be_named_by_a_detour(tmp_path):
    (tmp_path / "sub").mkdir()
    printed = shell("id", MODEL, MOTION, "-o", tmp_path / "sub" / ".." / "out", "--time", "0:1")
    assert "Several" not in printed
    os.symlink(tmp_path / "out", tmp_path / "link")
    for folder in ("out", "link", "sub/../out"):
        found = read_folder(tmp_path / folder)
        assert (found.more, found.older, len(found.moments)) == ([], [], 121)


def test_a_scaled_model_beside_another_trial_has_its_page(tmp_path):
    """The trial in the same folder has nothing to do with it."""
    shell("id", MODEL, MOTION, "-o", tmp_path, "--time", "0:0.2")
    printed = shell("scale", MODEL, "-o", tmp_path / "heavy.osim", "--mass", 80)
    assert "warning" not in printed
    assert f"report: {tmp_path / 'report.html'} (made in" in printed
    found = read_folder(tmp_path, runs=[tmp_path / "scale_heavy.musculo.json"])
    assert found.model.source == str(tmp_path / "heavy.osim")
    assert found.moments is None
