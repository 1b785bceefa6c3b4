"""`musculo run` from the shell: what it prints, what it leaves, and how it ends."""

from __future__ import annotations

import json

import pytest

import musculo
from musculo.functions import Linear
from support import tool_setups
from support.tool_setups import arm_folder


def test_a_run_leaves_files_and_is_not_done_twice(shell, tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics())
    first = shell("run", folder / "id.xml")
    assert (first.status, first.err) == (0, "")
    assert "InverseDynamicsTool 'arm', done" in first.out
    assert "id.sto" in first.out
    made = (folder / "results" / "id.sto").stat().st_mtime_ns
    again = shell("run", folder / "id.xml")
    assert again.status == 0
    assert "nothing changed" in again.out
    assert "--force" in again.out
    assert (folder / "results" / "id.sto").stat().st_mtime_ns == made
    assert "done" in shell("run", folder / "id.xml", "--force").out
    assert (folder / "results" / "id.sto").stat().st_mtime_ns > made


def test_the_log_says_how_far_the_exact_method_is(shell, tmp_path):
    folder = arm_folder(tmp_path, so=tool_setups.analyze('<StaticOptimization name="SO"/>'))
    told = shell("run", folder / "so.xml", "-o", tmp_path / "out")
    assert told.status == 0
    assert "differs in activation by up to" in told.out
    assert "(--exact)" in told.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "arm_SO_activation.sto",
        "arm_SO_controls.xml",
        "arm_SO_force.sto",
        "report.html",
        "so.musculo.json",
    }
    quick = shell("run", folder / "so.xml", "-o", tmp_path / "out", "--no-compare")
    assert quick.status == 0
    assert "differs" not in quick.out


def test_several_at_once_quiet_and_as_json(shell, tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics(), k=tool_setups.analyze('<Kinematics name="K"/>'))
    told = shell("run", folder / "id.xml", folder / "k.xml", "--jobs", 2, "--json", "--no-compare")
    assert told.status == 0
    found = json.loads(told.out)
    assert [one["tool"] for one in found] == ["InverseDynamicsTool", "AnalyzeTool"]
    assert [len(one["files"]) for one in found] == [1, 3]
    quiet = shell("run", folder / "id.xml", folder / "k.xml", "--quiet", "--force", "--no-compare")
    assert (quiet.status, quiet.out, quiet.err) == (0, "", "")


def test_bad_input_is_one_sentence_and_the_others_still_run(shell, tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics())
    told = shell("run", folder / "missing.xml", folder / "id.xml")
    assert told.status == 1
    assert told.err.startswith("error: no file")
    assert told.err.count("\n") == 1
    assert (folder / "results" / "id.sto").exists()
    assert shell("run", folder / "id.xml", "--jobs", 0).status == 2
    assert json.loads(shell("run", folder / "missing.xml", "--json").out)[0]["error"].startswith("no file")


def test_what_is_not_solved_ends_in_three(shell, tmp_path):
    folder = arm_folder(tmp_path, odd=tool_setups.analyze('<Probe name="p"/><Kinematics name="K"/>'))
    told = shell("run", folder / "odd.xml", "--no-compare")
    assert told.status == 3
    assert "<Probe> is not known" in told.err
    assert (folder / "results" / "arm_K_q.sto").exists()
    assert shell("run", folder / "odd.xml", "--no-compare").status == 3  # remembered, too


REACTION = '<JointReaction name="JR"><forces_file>results/arm_SO_force.sto</forces_file></JointReaction>'


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_setup_waits_for_the_one_that_writes_what_it_reads(shell, tmp_path, jobs):
    folder = arm_folder(
        tmp_path, so=tool_setups.analyze('<StaticOptimization name="SO"/>'), jr=tool_setups.analyze(REACTION)
    )
    told = shell("run", folder / "so.xml", folder / "jr.xml", "--jobs", jobs, "--no-compare")
    assert (told.status, told.err) == (0, "")
    assert (folder / "results" / "arm_JR_ReactionLoads.sto").exists()
    # an old file does not stand in for one that could not be made
    (folder / "so.xml").write_text((folder / "so.xml").read_text().replace("motion.mot", "lost.mot"))
    told = shell("run", folder / "so.xml", folder / "jr.xml", "--jobs", jobs, "--no-compare")
    assert told.status == 1
    assert "jr.xml: not run, since it reads what" in told.err


def test_a_span_outside_the_recording_is_a_trouble(shell, tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics("<time_range>30 80</time_range>"))
    told = shell("run", folder / "id.xml", "--no-compare")
    assert told.status == 3
    assert "30 to 80 s lies outside" in told.err
    assert (folder / "results" / "id.sto").exists()


def test_a_missing_file_is_named_with_setup_and_property(shell, tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics())
    (folder / "arm.osim").unlink()
    told = shell("run", folder / "id.xml")
    assert told.status == 1
    assert f"{folder / 'id.xml'}: there is no file {folder / 'arm.osim'}, which <model_file> names" in told.err
    assert not (folder / "results").exists()


def test_a_value_that_is_missing_is_named_with_file_and_coordinate(shell, tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics())
    lines = (folder / "motion.mot").read_text().splitlines()
    lines[-1] = "\t".join([*lines[-1].split()[:-1], "nan"])
    (folder / "motion.mot").write_text("\n".join(lines) + "\n")
    told = shell("run", folder / "id.xml")
    assert told.status == 1
    assert f"{folder / 'motion.mot'}: column 'elbow_flexion' has 1 rows without" in told.err
    assert "np.float64" not in told.err


def test_forces_of_constraints_that_the_model_lacks_are_not_missing(shell, tmp_path):
    asked = '<ForceReporter name="F"><include_constraint_forces>true</include_constraint_forces></ForceReporter>'
    folder = arm_folder(tmp_path, f=tool_setups.analyze(asked))
    told = shell("run", folder / "f.xml", "--no-report")
    assert (told.status, told.err) == (0, "")
    model = musculo.read_osim(folder / "arm.osim")
    pull = musculo.CoordinateCoupler("c", True, (), "shoulder_flexion", ("elbow_flexion",), Linear(0.5, 0.0))
    musculo.write_osim(model.replace(constraints=(pull,)), folder / "arm.osim")
    told = shell("run", folder / "f.xml", "--no-report", "--no-compare")
    assert told.status == 3
    assert "F: forces of constraints are not reported" in told.err
