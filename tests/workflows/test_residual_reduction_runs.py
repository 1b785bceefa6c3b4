"""Residual reduction from set-ups and flags, on the arm that ships: files, words, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import read_osim, read_storage
from musculo.errors import InvalidFile, InvalidInput, UnknownName, Unsupported
from musculo.opensim import run_setup
from musculo.opensim_tools.tools import rra_tool
from support import tool_setups
from support.tool_setups import arm_folder, residual_reduction, tracking_tasks

FILES = {
    *("arm_states.sto", "arm_controls.xml", "arm_controls.sto", "arm_pErr.sto", "arm_avgResiduals.txt"),
    *(f"arm_Kinematics_{what}.sto" for what in ("q", "u", "dudt")),
    *(f"arm_Actuation_{what}.sto" for what in ("force", "speed", "power")),
}


def test_a_run_leaves_opensims_files_and_is_not_done_twice(shell, tmp_path):
    folder = arm_folder(tmp_path, rra=residual_reduction())
    told = shell("run", folder / "rra.xml")
    assert (told.status, told.err) == (0, "")
    assert "RRATool 'arm', done" in told.out
    assert "(--exact)" in told.out  # what the exact method gives instead
    assert {path.name for path in (folder / "results").iterdir()} == {*FILES, "rra.musculo.json", "report.html"}
    assert "older tables" not in told.out
    assert "nothing changed" in shell("run", folder / "rra.xml").out
    q = read_storage(folder / "results" / "arm_Kinematics_q.sto")
    states = read_storage(folder / "results" / "arm_states.sto")
    assert q.degrees
    assert not states.degrees
    assert_allclose(q.time, 0.2 + 0.001 * np.arange(100), atol=1e-9)
    assert_allclose(np.degrees(states.values[:, ::2]), q.values, atol=1e-6)
    force = read_storage(folder / "results" / "arm_Actuation_force.sto")
    controls = read_storage(folder / "results" / "arm_controls.sto")
    assert_allclose(force.values, 10.0 * controls.values, atol=1e-6)  # of strength 10


def test_set_up_and_flags_do_the_same(shell, tmp_path):
    folder = arm_folder(tmp_path, rra=residual_reduction())
    for extra in (["--exact"], ["--like-opensim"]):
        run_setup(folder / "rra.xml", exact=extra == ["--exact"], output=tmp_path / "run", compare=False)
        files = folder / "arm.osim", folder / "motion.mot"
        flags = ["--tasks", folder / "tasks.xml", "--actuators", folder / "reserves.xml", "--lowpass", 6]
        told = shell("rra", *files, *flags, "--time", "0.2:0.3", "-o", tmp_path / "flags", *extra, "--force")
        assert (told.status, told.err) == (0, "")
        for what in ("Actuation_force", "Kinematics_q", "pErr"):
            ours, theirs = (
                read_storage(tmp_path / where / f"{name}_{what}.sto")
                for where, name in (("run", "arm"), ("flags", "motion"))
            )
            assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-9)


def test_exact_follows_more_closely(tmp_path):
    """Forces that follow the state at every instant have no lag."""
    folder = arm_folder(tmp_path, rra=residual_reduction(task_set_file="heavy.xml", output_precision="14"))
    (folder / "heavy.xml").write_text(tracking_tasks(shoulder_flexion=1e8, elbow_flexion=1e8))
    errors = []
    for exact in (False, True):
        result = run_setup(folder / "rra.xml", exact=exact, output=tmp_path / "out", compare=False, overwrite=True)
        assert result.complete
        errors.append(np.abs(read_storage(tmp_path / "out" / "arm_pErr.sto").values).max())
    assert 20.0 * errors[1] < errors[0]


def test_a_mass_center_moves_and_masses_are_recommended(tmp_path):
    """An arm on a fixed shoulder, whose motors are called residuals."""
    com = {
        "adjust_com_to_reduce_residuals": "true",
        "adjusted_com_body": "humerus",
        "output_model_file": "lighter.osim",
        "force_set_files": "named.xml",
    }
    folder = arm_folder(tmp_path, rra=residual_reduction(**com))
    named = tool_setups.RESERVES.replace("shoulder_motor", "MZ").replace("elbow_motor", "elbow")
    (folder / "named.xml").write_text(named)
    result = run_setup(folder / "rra.xml", compare=False)
    assert result.complete
    before, after = (read_osim(folder / name) for name in ("arm.osim", "lighter.osim"))
    (old, fore_old), (new, fore_new) = before.bodies, after.bodies
    assert new.mass_center[0] != old.mass_center[0]
    assert new.mass_center[1] == pytest.approx(old.mass_center[1])
    assert (new.mass, new.inertia) == (pytest.approx(old.mass), pytest.approx(old.inertia))
    assert fore_new.mass_center == pytest.approx(fore_old.mass_center)
    assert after.muscle_names == before.muscle_names  # its own forces are back
    (said,) = (note for note in result.notes if "mass center was moved" in note)
    assert "humerus" in said
    (advised,) = (note for note in result.notes if "recommended change of mass" in note)
    assert "would be" not in advised
    exact = run_setup(folder / "rra.xml", exact=True, output=tmp_path / "exact")
    assert any("mean residuals would be" in note for note in exact.notes)
    means = (folder / "results" / "arm_avgResiduals.txt").read_text()
    force = read_storage(folder / "results" / "arm_Actuation_force.sto")
    mean = np.trapezoid(force.column("MZ"), force.time) / np.ptp(force.time)
    assert f"MZ average = {mean:.4g}"[:16] in means


def test_analyses_of_the_set_up_are_run(tmp_path):
    analyses = (
        "<AnalysisSet><objects>"
        '<BodyKinematics name="Bodies"/><Kinematics name="K"><in_degrees>false</in_degrees></Kinematics>'
        '<Actuation name="A"/></objects></AnalysisSet>'
    )
    folder = arm_folder(tmp_path, rra=residual_reduction(analyses))
    result = run_setup(folder / "rra.xml", compare=False)
    assert result.complete
    names = {path.name for path in result.files}
    assert {"arm_Bodies_pos_global.sto", "arm_K_q.sto", "arm_A_force.sto"} <= names
    assert not names & {"arm_Kinematics_q.sto", "arm_Actuation_force.sto"}
    assert read_storage(folder / "results" / "arm_K_q.sto").degrees  # as OpenSim makes them


def test_limits_of_controls_hold(tmp_path):
    limits = (
        '<OpenSimDocument Version="40600"><ControlSet name="l"><objects><ControlLinear name="elbow_motor.excitation">'
        "<default_min>-0.1</default_min><default_max>0.1</default_max></ControlLinear></objects></ControlSet>"
        "</OpenSimDocument>"
    )
    folder = arm_folder(tmp_path, rra=residual_reduction(constraints_file="limits.xml"), free=residual_reduction())
    (folder / "limits.xml").write_text(limits)
    run_setup(folder / "free.xml", compare=False, output=tmp_path / "free")
    run_setup(folder / "rra.xml", compare=False, output=tmp_path / "held")
    free, held = (read_storage(tmp_path / name / "arm_controls.sto").column("elbow_motor") for name in ("free", "held"))
    assert np.abs(free).max() > 0.1
    assert np.abs(held).max() == pytest.approx(0.1, abs=1e-8)


def test_springs_take_shorter_steps(tmp_path, monkeypatch):
    """A spring so stiff that a step a window would not do: its motion does not depend on steps."""
    folder = arm_folder(tmp_path, rra=residual_reduction(force_set_files="sprung.xml", final_time="0.25"))
    spring = (
        '<SpringGeneralizedForce name="spring"><coordinate>elbow_flexion</coordinate><stiffness>{0}</stiffness>'
        "<rest_length>0.3</rest_length><viscosity>0</viscosity></SpringGeneralizedForce></objects></ForceSet>"
    )
    written = tool_setups.RESERVES.replace("</objects></ForceSet>", spring.format("4e4"))
    (folder / "sprung.xml").write_text(written)
    result = run_setup(folder / "rra.xml", compare=False)
    assert result.complete, result.troubles
    calls = []
    reduced = rra_tool.residual_reduction
    monkeypatch.setattr(rra_tool, "residual_reduction", lambda *a, **k: calls.append(k["substeps"]) or reduced(*a, **k))
    (folder / "sprung.xml").write_text(written.replace("4e4", "3e6"))
    result = run_setup(folder / "rra.xml", compare=False, output=tmp_path / "stiff")
    assert max(calls) > 2
    assert result.complete or any("so stiff" in said for said in result.troubles)
    calls.clear()
    run_setup(arm_folder(tmp_path / "plain", rra=residual_reduction()) / "rra.xml", compare=False)
    assert calls == [1]


REFUSED = {
    "muscles": (residual_reduction(replace_force_set="false"), Unsupported, "replace_force_set"),
    "points": (residual_reduction(desired_points_file="motion.mot"), Unsupported, "desired_points_file"),
    "no tasks": (residual_reduction(task_set_file=""), InvalidInput, "task_set_file"),
    "no motion": (residual_reduction(desired_kinematics_file=""), InvalidInput, "desired_kinematics_file"),
    "no actuators": (residual_reduction(force_set_files=""), InvalidInput, "no actuators"),
    "no body": (residual_reduction(adjust_com_to_reduce_residuals="true"), InvalidInput, "adjusted_com_body"),
    "wrong body": (
        residual_reduction(adjust_com_to_reduce_residuals="true", adjusted_com_body="torso"),
        UnknownName,
        "torso",
    ),
    "absent tasks": (residual_reduction(task_set_file="absent.xml"), InvalidFile, "task_set_file"),
    "elsewhere": (residual_reduction(initial_time="3", final_time="4"), InvalidInput, "outside"),
    "short": (residual_reduction(final_time="0.2005"), InvalidInput, "no window"),
    "controller": (
        residual_reduction(
            '<ControllerSet><objects><PrescribedController name="mine"/></objects></ControllerSet>'
        ),
        Unsupported,
        "mine",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_named_and_nothing_written(tmp_path, name):
    text, kind, said = REFUSED[name]
    folder = arm_folder(tmp_path, rra=text)
    with pytest.raises(kind, match=said):
        run_setup(folder / "rra.xml")
    assert not (folder / "results").exists()


def test_an_input_is_not_written_over(tmp_path):
    own = {"adjust_com_to_reduce_residuals": "true", "adjusted_com_body": "humerus", "output_model_file": "arm.osim"}
    folder = arm_folder(tmp_path, rra=residual_reduction(**own))
    with pytest.raises(InvalidInput, match="is an input"):
        run_setup(folder / "rra.xml")


def test_a_task_of_another_kind_is_named(tmp_path):
    folder = arm_folder(tmp_path, rra=residual_reduction())
    tasks = (folder / "tasks.xml").read_text()
    other = '<CMC_Orientation name="upright"><on>true</on></CMC_Orientation></objects>'
    (folder / "tasks.xml").write_text(tasks.replace("</objects>", other))
    with pytest.raises(Unsupported, match="upright"):
        run_setup(folder / "rra.xml")
