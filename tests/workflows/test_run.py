"""`musculo run` from the shell: what it prints, what it leaves, and how it ends."""

from __future__ import annotations

import json

import pytest

import musculo
from musculo.functions import Linear
from musculo.io.tool_results import write_result
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


def _write_doubled(forces, stale):
    """Other forces, of an earlier run."""
    table = musculo.read_storage(forces)
    stale.parent.mkdir()
    write_result(stale, "Forces", table.time, table.names, 2.0 * table.values)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_an_earlier_setup_writes_is_read_from_the_folder_of_results(shell, tmp_path, jobs):
    """A file of the same name beside the set-ups, of whatever run, is no input."""
    folder = arm_folder(
        tmp_path, so=tool_setups.analyze('<StaticOptimization name="SO"/>'), jr=tool_setups.analyze(REACTION)
    )
    call = ("run", folder / "so.xml", folder / "jr.xml", "--jobs", jobs, "--no-compare", "-o")
    one, other = tmp_path / "one", tmp_path / "other"
    told = shell(*call, one)
    assert (told.status, told.err) == (0, "")
    forces = one / "arm_SO_force.sto"
    stale = folder / "results" / forces.name
    assert f"note: {stale} is read from {forces}, where {folder / 'so.xml'} wrote it" in told.out
    record = json.loads((one / "jr.musculo.json").read_text())
    assert str(forces) in record["inputs"]
    assert not any("results" in path for path in record["inputs"])
    assert shell(*call, one).out.count("nothing changed") == 2

    _write_doubled(forces, stale)
    assert shell(*call, other).status == 0
    loads = "arm_JR_ReactionLoads.sto"
    assert (other / loads).read_text() == (one / loads).read_text()
    # alone it reads what it names
    shell("run", folder / "jr.xml", "--no-compare", "-o", other)
    assert (other / loads).read_text() != (one / loads).read_text()


def test_a_scaled_model_is_read_from_the_folder_of_results(shell, tmp_path):
    scale = tool_setups.document(
        "ScaleTool",
        "<GenericModelMaker><model_file>arm.osim</model_file></GenericModelMaker><ModelScaler>"
        "<scaling_order>manualScale</scaling_order><ScaleSet><objects><Scale><scales>1.2 1.2 1.2</scales>"
        "<segment>humerus</segment><apply>true</apply></Scale></objects></ScaleSet>"
        "<output_model_file>subject/scaled.osim</output_model_file></ModelScaler>"
        "<MarkerPlacer><apply>false</apply></MarkerPlacer>",
    )
    dynamics = tool_setups.inverse_dynamics().replace("arm.osim", "subject/scaled.osim")
    folder = arm_folder(tmp_path, scale=scale, id=dynamics)
    told = shell("run", folder / "scale.xml", folder / "id.xml", "--no-compare", "-o", tmp_path / "out")
    assert (told.status, told.err) == (0, "")
    assert (
        str(tmp_path / "out" / "scaled.osim")
        in json.loads((tmp_path / "out" / "id.musculo.json").read_text())["inputs"]
    )


def test_joint_loads_of_one_setup_with_its_static_optimisation_follow_the_folder(shell, tmp_path):
    both = tool_setups.analyze('<StaticOptimization name="SO"/>' + REACTION)
    folder, out = arm_folder(tmp_path, both=both), tmp_path / "out"
    told = shell("run", folder / "both.xml", "--no-compare", "-o", out)
    assert told.status == 0
    assert "forces are those of this run" in told.out
    loads = (out / "arm_JR_ReactionLoads.sto").read_text()
    # those of an earlier run are read as in OpenSim, which is told; the exact method has no use for them
    stale = folder / "results" / "arm_SO_force.sto"
    _write_doubled(out / stale.name, stale)
    told = shell("run", folder / "both.xml", "--no-compare", "-o", out)
    assert told.status == 3
    assert "used the forces that it held before" in told.err
    assert (out / "arm_JR_ReactionLoads.sto").read_text() != loads
    told = shell("run", folder / "both.xml", "--exact", "-o", out)
    assert (told.status, told.err) == (0, "")


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
    pull = musculo.model.CoordinateCoupler("c", True, (), "shoulder_flexion", ("elbow_flexion",), Linear(0.5, 0.0))
    musculo.write_osim(model.replace(constraints=(pull,)), folder / "arm.osim")
    told = shell("run", folder / "f.xml", "--no-report", "--no-compare")
    assert told.status == 3
    assert "F: forces of constraints are not reported" in told.err
