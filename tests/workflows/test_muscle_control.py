"""`musculo run` on set-ups of CMCTool: the files that OpenSim writes, and words where something is not done."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from musculo import read_storage
from musculo.cli.exit_codes import BAD_INPUT, INCOMPLETE, NOT_GOOD
from musculo.cli.main import app
from musculo.demo import ARM_FILE, arm
from musculo.io.controls.control_files import read_controls
from musculo.opensim import run_setup
from musculo.opensim_tools.records.result import Status
from support.tool_setups import RESERVES, arm_folder, tracking_tasks
from support.tracking_setups import muscle_control

MUSCLES = arm().muscle_names
ACTUATORS = (*MUSCLES, "shoulder_motor", "elbow_motor")
FILES = {
    *(f"arm_{what}" for what in ("states.sto", "controls.sto", "controls.xml", "pErr.sto")),
    *(f"arm_Kinematics_{what}.sto" for what in ("q", "u", "dudt")),
    *(f"arm_Actuation_{what}.sto" for what in ("force", "speed", "power")),
}


def shell(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture(scope="module", params=["", "--exact"])
def ran(request, tmp_path_factory):
    """The folder of results, and what was printed, of OpenSim's way and of the exact one."""
    folder = arm_folder(tmp_path_factory.mktemp("cmc"), cmc=muscle_control())
    code, printed = shell("run", folder / "cmc.xml", "--no-report", *request.param.split())
    assert code == 0, printed
    return folder / "results", printed, bool(request.param)


def test_the_files_of_opensim(ran):
    results, _, exact = ran
    assert {path.name for path in results.iterdir()} == {*FILES, "cmc.musculo.json"}
    states = read_storage(results / "arm_states.sto")
    values = [f"/jointset/{joint.name}/{c.name}/{what}" for joint in arm().joints for c in joint.coordinates
              for what in ("value", "speed")]  # fmt: skip
    muscles = [f"/forceset/{name}/{what}" for name in MUSCLES for what in ("activation", "fiber_length")]
    assert list(states.names) == values + muscles
    assert_allclose(states.time[0], 0.2 if exact else 0.23)
    forces = read_storage(results / "arm_Actuation_force.sto")
    assert forces.names == ACTUATORS
    assert read_storage(results / "arm_pErr.sto").names == ("shoulder_flexion", "elbow_flexion")
    assert read_storage(results / "arm_Kinematics_q.sto").degrees
    assert_allclose(read_storage(results / "arm_Kinematics_q.sto").in_radians(arm()).values[:, -1],
                    states.values[:, 2], atol=1e-8)  # fmt: skip


def test_nodes_of_controls_make_the_controls(ran):
    results, _, exact = ran
    table = read_storage(results / "arm_controls.sto")
    controls = {one.name: one for one in read_controls(results / "arm_controls.xml")}
    assert set(controls) == set(ACTUATORS) == set(table.names)
    for name, one in controls.items():
        assert one.of_excitation
        assert one.steps == (name in MUSCLES)
        assert_allclose(one.at(table.time - (1e-9 if one.steps else 0.0)), table.column(name), atol=2e-8)
    if not exact:
        assert_allclose(controls["elbow_motor"].time[:3], [0.23, 0.24, 0.25])


def test_both_files_of_controls_give_the_motion_back(ran):
    """A simulation under the table moves as one under the nodes: its lines are as steep as steps."""
    results, _, exact = ran
    folder = results.parent
    start, end = (0.2, 0.38) if exact else (0.23, 0.38)
    states = read_storage(results / "arm_states.sto")
    found = {}
    for kind in ("sto", "xml"):
        code, printed = shell(
            "forward", folder / "arm.osim", "-s", results / "arm_states.sto", "--controls",
            results / f"arm_controls.{kind}", "--forces", folder / "reserves.xml", "--time", f"{start}:{end}",
            "-o", folder / f"replay_{kind}", "--no-report", "-q", *(() if exact else ("--like-opensim",)),
        )  # fmt: skip
        assert code == 0, printed
        table = read_storage(next((folder / f"replay_{kind}").glob("*_states.sto")))
        found[kind] = [float(np.interp(end, table.time, table.column(f"/jointset/{joint}/value")))
                       for joint in ("shoulder/shoulder_flexion", "elbow/elbow_flexion")]  # fmt: skip
    wanted = [float(np.interp(end, states.time, states.column(f"/jointset/{joint}/value")))
              for joint in ("shoulder/shoulder_flexion", "elbow/elbow_flexion")]  # fmt: skip
    # ramps over whole windows miss by 8e-4 rad (exact) and 6e-3 rad
    assert_allclose(found["sto"], found["xml"], atol=1e-4)
    assert_allclose(found["xml"], wanted, atol=2e-2 if exact else 1e-3)


def test_forces_belong_to_states(ran):
    """What an analysis of the states finds is what was written: forces of muscles, accelerations under all forces."""
    results, _, exact = ran
    folder = results.parent
    (folder / "analyze.xml").write_text(
        '<OpenSimDocument Version="40600"><AnalyzeTool name="again"><model_file>arm.osim</model_file>'
        "<force_set_files>reserves.xml</force_set_files><replace_force_set>false</replace_force_set>"
        "<results_directory>again</results_directory><initial_time>0</initial_time><final_time>1</final_time>"
        "<states_file>results/arm_states.sto</states_file><AnalysisSet><objects>"
        '<Actuation name="Actuation"/><Kinematics name="Kinematics"/></objects></AnalysisSet>'
        '<ControllerSet><objects><ControlSetController name="c"><controls_file>results/arm_controls.xml</controls_file>'
        "</ControlSetController></objects></ControllerSet></AnalyzeTool></OpenSimDocument>"
    )
    if exact:  # `--exact` puts fibers into equilibrium, and OpenSim's paths are others
        return
    run_setup(folder / "analyze.xml", compare=False)
    # fiber lengths are printed to 1e-8 m, and tendons make 1e5 N/m of them; a forearm has little inertia
    for what, scale in (("Actuation_force", 5e-5), ("Kinematics_dudt", 5e-4)):
        ours, again = (read_storage(folder / where) for where in
                       (f"results/arm_{what}.sto", f"again/again_{what}.sto"))  # fmt: skip
        assert_allclose(again.values, ours.values, rtol=0.0, atol=scale * np.abs(ours.values).max())


def test_what_is_said(ran):
    _, printed, exact = ran
    if exact:
        assert "followed exactly" in printed
        assert "differ by" in printed
    else:
        assert "results begin at 0.23 s" in printed
        assert "the motion is followed to within" in printed
    assert "actuators that are no muscles give at most" in printed


def test_muscles_that_are_too_weak(tmp_path):
    """Residuals that are not there cannot make up for them: windows fail, and words say where and why."""
    folder = arm_folder(tmp_path, cmc=muscle_control(end=0.3))
    text = ARM_FILE.read_text()
    for force in {m.max_isometric_force for m in arm().muscles}:
        text = text.replace(f"<max_isometric_force>{force:g}<", f"<max_isometric_force>{0.02 * force:g}<")
    (folder / "arm.osim").write_text(text)
    bounds = "</coordinate><min_control>-0.01</min_control><max_control>0.01</max_control>"
    (folder / "reserves.xml").write_text(RESERVES.replace("</coordinate>", bounds))
    code, printed = shell("run", folder / "cmc.xml", "--no-report")
    words = " ".join(printed.split())
    assert code == INCOMPLETE, printed
    assert "windows the accelerations cannot be reached, the first at 0.23 s" in words
    assert "elbow_flexion by" in words
    assert "elbow_motor" in words
    assert (folder / "results" / "arm_states.sto").exists()


def test_what_is_not_done_has_a_word(tmp_path):
    more = (
        "<actuators_to_exclude>nobody</actuators_to_exclude><rra_controls_file>c.xml</rra_controls_file>"
        "<constraints_file>limits.xml</constraints_file>"
    )
    folder = arm_folder(tmp_path, cmc=muscle_control(more, end=0.28))
    point = '<CMC_Point name="hand"><on>true</on><active>true true true</active></CMC_Point>'
    tasks = tracking_tasks(elbow_flexion=1.0).replace("<CMC_Joint", f"{point}<CMC_Joint", 1)
    (folder / "tasks.xml").write_text(tasks)
    (folder / "limits.xml").write_text(
        '<ControlSet name="l"><objects><ControlLinear name="stranger"/>'
        f'<ControlLinear name="{MUSCLES[0]}.excitation"/></objects></ControlSet>'
    )
    found = run_setup(folder / "cmc.xml")
    assert found.status is Status.INCOMPLETE
    told = "\n".join((*found.troubles, *found.notes))
    for words in (
        "do not follow coordinates are ignored: hand",
        "is no actuator, and is ignored: nobody",
        "rra_controls_file",
        "limits of what the model does not have are ignored: stranger",
        "use_steps false",
        "coordinates without a task move as forces let them: shoulder_flexion",
    ):
        assert words in told


def test_a_span_outside_the_recording_is_refused(tmp_path):
    folder = arm_folder(tmp_path, cmc=muscle_control(start=5.0, end=6.0))
    code, printed = shell("run", folder / "cmc.xml", "--no-report")
    assert code == BAD_INPUT
    assert "outside" in printed


def test_flags_do_what_a_set_up_does(tmp_path):
    """`musculo cmc` of the same files, by either method; without tasks all free coordinates are followed."""
    folder = arm_folder(tmp_path / "arm", cmc=muscle_control(end=0.3))
    files = [folder / "arm.osim", folder / "motion.mot"]
    flags = ["--actuators", folder / "reserves.xml", "--lowpass", "6", "--time", "0.2:0.3", "--no-report"]
    for k, (how, exact) in enumerate((([], True), (["--like-opensim"], False))):
        run_setup(folder / "cmc.xml", exact=exact, output=tmp_path / f"run{k}")
        tasks = ["--tasks", folder / "tasks.xml"]
        code, printed = shell("cmc", *files, *flags, *tasks, *how, "-o", tmp_path / f"flags{k}")
        assert code == 0, printed
        theirs = read_storage(tmp_path / f"run{k}" / "arm_states.sto")
        ours = read_storage(tmp_path / f"flags{k}" / "motion_states.sto")
        assert ours.names == theirs.names
        assert_allclose(ours.values, theirs.values, atol=1e-8)
    code, printed = shell("cmc", *files, *flags, "-o", tmp_path / "all")
    assert code == 0, printed
    found = read_storage(tmp_path / "all" / "motion_states.sto")
    assert_allclose(found.values, read_storage(tmp_path / "flags0" / "motion_states.sto").values, atol=1e-8)


@pytest.mark.parametrize("stated", ["0", "-1", "nan"])
def test_a_window_without_length_is_refused(tmp_path, stated):
    text = muscle_control().replace("<cmc_time_window>0.01<", f"<cmc_time_window>{stated}<")
    code, printed = shell("run", arm_folder(tmp_path, cmc=text) / "cmc.xml", "--no-report")
    assert code == BAD_INPUT
    assert "<cmc_time_window>" in printed


def test_a_span_that_ends_before_it_begins_is_refused(tmp_path):
    folder = arm_folder(tmp_path, cmc=muscle_control(start=0.4, end=0.2))
    code, printed = shell("run", folder / "cmc.xml", "--no-report")
    assert code == BAD_INPUT
    assert "look at initial_time and final_time" in " ".join(printed.split())


def test_a_span_that_begins_before_the_recording_has_a_note(tmp_path):
    found = run_setup(arm_folder(tmp_path, cmc=muscle_control(start=-0.5, end=0.2)) / "cmc.xml")
    assert any("reaches beyond" in note for note in found.notes)
    assert_allclose(read_storage(tmp_path / "results" / "arm_states.sto").time[0], 0.03)


@pytest.mark.parametrize("how", [[], ["--exact"]])
def test_a_misnamed_coordinate_of_the_motion_is_told(tmp_path, how):
    """Its task would follow zeros."""
    folder = arm_folder(tmp_path, cmc=muscle_control(end=0.3))
    motion = (folder / "motion.mot").read_text().replace("elbow_flexion", "elbow_flexoin")
    (folder / "motion.mot").write_text(motion)
    code, printed = shell("run", folder / "cmc.xml", "--no-report", *how)
    assert code == INCOMPLETE
    assert "no column for elbow_flexion" in " ".join(printed.split())


def test_exact_forces_that_miss_are_not_called_exact(tmp_path):
    """Coordinates are those of the motion; which accelerations are not, and by how much, is said."""
    folder = arm_folder(tmp_path, cmc=muscle_control(end=0.3))
    bounds = "</coordinate><min_control>-0.01</min_control><max_control>0.01</max_control>"
    (folder / "reserves.xml").write_text(RESERVES.replace("</coordinate>", bounds))
    text = ARM_FILE.read_text()
    for force in {m.max_isometric_force for m in arm().muscles}:
        text = text.replace(f"<max_isometric_force>{force:g}<", f"<max_isometric_force>{0.02 * force:g}<")
    (folder / "arm.osim").write_text(text)
    code, printed = shell("run", folder / "cmc.xml", "--no-report", "--exact")
    words = " ".join(printed.split())
    assert code == INCOMPLETE
    assert "followed exactly" not in words
    assert "of 11 nodes forces do not give its accelerations" in words


def test_limits_that_leave_no_room_are_refused(tmp_path):
    limits = f"{MUSCLES[0]}.excitation"
    folder = arm_folder(tmp_path, cmc=muscle_control("<constraints_file>limits.xml</constraints_file>"))
    (folder / "limits.xml").write_text(
        f'<ControlSet name="l"><objects><ControlLinear name="{limits}"><default_min>0.8</default_min>'
        "<default_max>0.2</default_max></ControlLinear></objects></ControlSet>"
    )
    code, printed = shell("run", folder / "cmc.xml", "--no-report")
    assert code == BAD_INPUT
    assert f"the control of '{MUSCLES[0]}' is to lie between 0.8 and 0.2" in " ".join(printed.split())


def test_a_file_without_a_task_is_named(tmp_path):
    folder = arm_folder(tmp_path, cmc=muscle_control())
    (folder / "tasks.xml").write_text(tracking_tasks())
    code, printed = shell("run", folder / "cmc.xml", "--no-report")
    assert code == BAD_INPUT
    words = " ".join(printed.split())
    assert "tasks.xml: no task of a coordinate" in words
    assert "<CMC_Joint>" in words


def test_a_motion_that_is_not_followed_is_bad(tmp_path):
    """Gains so small that errors stay; no window fails, so the report alone tells, and --strict with it."""
    slow = muscle_control(end=0.9).replace("_target>true<", "_target>false<")
    folder = arm_folder(tmp_path, cmc=slow)
    (folder / "tasks.xml").write_text(tracking_tasks(shoulder_flexion=1e-6, elbow_flexion=1e-6))
    code, printed = shell("run", folder / "cmc.xml", "--strict")
    assert code == NOT_GOOD, printed
    assert "strict: Tracking errors of angles" in printed


def test_reserves_of_a_strength(tmp_path):
    """`--reserve` gives every free coordinate one, as files of actuators do."""
    folder = arm_folder(tmp_path / "arm", cmc=muscle_control(end=0.25))
    files = ["cmc", folder / "arm.osim", folder / "motion.mot", "--time", "0.2:0.25", "--no-report"]
    code, printed = shell(*files, "--reserve", "5", "-o", tmp_path / "out")
    assert code == 0, printed
    forces = read_storage(tmp_path / "out" / "motion_Actuation_force.sto")
    assert {"shoulder_flexion_reserve", "elbow_flexion_reserve"} <= set(forces.names)
