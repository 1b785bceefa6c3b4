"""Set-ups and motions with a mistake in them: `musculo run` and the steps say what it is, or refuse it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from musculo import Markers, Table, kinematics, motion_of, read_storage
from musculo.cli.exit_codes import BAD_INPUT, STOPPED
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE, arm, arm_chain, arm_flexion
from musculo.io import write_external_loads, write_trc
from musculo.opensim import run_setup
from musculo.results import ExternalForce, ExternalLoads
from musculo.signals import NaturalSpline
from support import tool_setups
from support.tool_setups import arm_folder


# --- times that rounding tells apart ----------------------------------------------------------------------------------
def test_joint_loads_of_a_motion_whose_last_two_times_are_one(data_folder, tmp_path):
    """The last step of OpenSim's own test is 2e-14 s, which splines cannot be differentiated across."""
    folder = data_folder / "small_models" / "DoublePendulum3D_JR"
    result = run_setup(folder / "DoublePendulum3D_Setup_JointReaction.xml", output=tmp_path, compare=False)
    ours = read_storage(result.files[0])
    theirs = read_storage(folder / "std_DoublePendulum3D_JointReaction_ReactionLoads.sto")
    assert ours.names == theirs.names
    assert_allclose(ours.time, theirs.time, rtol=0, atol=1e-12)
    assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-10)  # of 45 N


@pytest.mark.parametrize(("apart", "one"), [(2e-14, True), (5e-13, True), (1e-9, False)])
def test_frames_are_one_where_their_times_differ_by_rounding(apart, one):
    time = np.append(0.01 * np.arange(20), 0.19 + apart)
    spline = NaturalSpline(time, np.append(np.sin(time[:-1]), np.sin(0.19) + 1e-9))
    close = abs(spline(0.185, 2) + np.sin(0.185)) < 0.1
    assert close == one
    assert spline(time).shape == (21,)


# --- motions that do not fit the model --------------------------------------------------------------------------------
@pytest.mark.parametrize("step", ["id", "so", "jr", "muscles"])
def test_a_motion_of_another_model_is_refused(shell, tmp_path, step):
    other = tmp_path / "other.mot"
    other.write_text(ARM_FLEXION_FILE.read_text().replace("_flexion", "_of_a_robot"))
    told = shell(step, ARM_FILE, other, "-o", tmp_path / "out")
    assert told.status == 1
    assert "no column of a coordinate of the model" in told.err
    assert "elbow_of_a_robot" in told.err
    assert "elbow_flexion" in told.err


@pytest.mark.parametrize("file", ["coordinates_file", "states_file"])
def test_a_run_with_a_motion_of_another_model_names_the_setup(shell, tmp_path, file):
    text = tool_setups.analyze('<Kinematics name="K"/>').replace("coordinates_file", file)
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics(), k=text)
    other = ARM_FLEXION_FILE.read_text().replace("_flexion", "_of_a_robot").replace("inDegrees=yes", "inDegrees=no")
    (folder / "motion.mot").write_text(other)
    for name in ("id", "k"):
        told = shell("run", folder / f"{name}.xml")
        assert told.status == 1
        assert told.err.startswith(f"error: {folder / name}.xml: ")
        assert "no column of a coordinate of the model" in told.err


@pytest.mark.parametrize("how", [{}, {"like": "opensim", "tool": "analyze"}], ids=["exact", "analyze"])
def test_a_column_of_a_locked_coordinate_that_moves_is_reported(how):
    model, table = arm().with_coordinate("elbow_flexion", locked=True), arm_flexion()
    motion = motion_of(model, table, **how)
    (note,) = (note for note in motion.notes if "locked coordinates are not used" in note)
    assert "elbow_flexion" in note
    assert "shoulder_flexion" not in note
    k = model.coordinate_index("elbow_flexion")
    assert_allclose(motion.q[:, k], model.coordinate("elbow_flexion").default_value)
    # at its lock, but for the rounding of a file, there is nothing to say
    values = np.array(table.in_radians(model).values)
    values[:, table.names.index("elbow_flexion")] = model.coordinate("elbow_flexion").default_value + 1e-7
    assert motion_of(model, Table(table.time, table.names, values), **how).notes == ()


def test_a_run_tells_of_a_locked_coordinate(shell, tmp_path):
    folder = arm_folder(tmp_path, k=tool_setups.analyze('<Kinematics name="K"/>'))
    text = (folder / "arm.osim").read_text()
    (folder / "arm.osim").write_text(text.replace("<locked>false</locked>", "<locked>true</locked>"))
    told = shell("run", folder / "k.xml", "--no-compare")
    assert told.status == 0
    assert "columns of locked coordinates are not used" in told.out


# --- names in lists ---------------------------------------------------------------------------------------------------
def _muscle_analysis(muscles, coordinates):
    return tool_setups.analyze(
        f'<MuscleAnalysis name="M"><muscle_list>{muscles}</muscle_list><compute_moments>true</compute_moments>'
        f"<moment_arm_coordinate_list>{coordinates}</moment_arm_coordinate_list></MuscleAnalysis>"
    )


def test_unknown_names_of_a_muscle_analysis_are_left_out(shell, tmp_path):
    name = arm().muscle_names[0]
    folder = arm_folder(
        tmp_path,
        some=_muscle_analysis(f"{name} soleus", "elbow_flexion hip_flexion"),
        right=_muscle_analysis(name, "elbow_flexion"),
        none=_muscle_analysis("soleus", "elbow_flexion"),
    )
    told = shell("run", folder / "some.xml", "--no-compare", "-o", tmp_path / "some")
    assert told.status == 0
    assert "no muscle 'soleus'" in told.out
    assert "no coordinate 'hip_flexion'" in told.out
    assert shell("run", folder / "right.xml", "--no-compare", "-o", tmp_path / "right").status == 0
    files = {file.name for file in (tmp_path / "right").glob("*.sto")}
    assert files == {file.name for file in (tmp_path / "some").glob("*.sto")}
    for file in files:
        ours, theirs = (read_storage(tmp_path / kind / file) for kind in ("some", "right"))
        assert ours.names == theirs.names
        assert_array_equal(ours.values, theirs.values)
    told = shell("run", folder / "none.xml", "--no-compare", "-o", tmp_path / "none")
    assert told.status == 3
    assert "has no muscle of the model" in told.err


def test_muscles_are_written_in_the_order_of_their_list(shell, tmp_path):
    """As OpenSim 4.6 writes them; `all` is a name unless it stands alone, and of coordinates unless it comes first."""
    names = arm().muscle_names
    last, first = names[3], names[0]
    folder = arm_folder(
        tmp_path,
        turned=_muscle_analysis(f"{last} all {first} {last}", "elbow_flexion all"),
        whole=_muscle_analysis("ALL", "all elbow_flexion"),
    )
    told = shell("run", folder / "turned.xml", "--no-compare", "-o", tmp_path / "turned")
    assert told.status == 0
    assert "no muscle 'all'" in told.out
    assert "no coordinate 'all'" in told.out
    assert f"{last} stands in a list more than once" in told.out
    told = shell("run", folder / "whole.xml", "--no-compare", "-o", tmp_path / "whole")
    assert "OpenSim then writes no muscle" in told.out
    files = sorted(file.name for file in (tmp_path / "turned").glob("*.sto"))
    assert [file for file in files if "Moment" in file] == [
        "arm_M_MomentArm_elbow_flexion.sto",
        "arm_M_Moment_elbow_flexion.sto",
    ]
    assert (tmp_path / "whole" / "arm_M_MomentArm_shoulder_flexion.sto").is_file()
    for file in files:
        some, every = (read_storage(tmp_path / kind / file) for kind in ("turned", "whole"))
        assert some.names == (last, first)
        assert every.names == names
        assert_array_equal(some.values, every.values[:, [3, 0]])


def test_unknown_joints_of_joint_reactions_are_left_out(shell, tmp_path):
    """With their sides and frames; the others come in the order of the list, as OpenSim 4.6 writes them."""

    def setup(joints, sides="child", frames="ground"):
        return tool_setups.analyze(
            f'<JointReaction name="J"><joint_names>{joints}</joint_names><apply_on_bodies>{sides}</apply_on_bodies>'
            f"<express_in_frame>{frames}</express_in_frame></JointReaction>"
        )

    model = arm()
    upper, lower = model.joints[0], model.joints[1]
    names = (lower.name, "nosuch", upper.name)
    folder = arm_folder(
        tmp_path,
        some=setup(" ".join(names), "child parent child", "child ground parent"),
        every=setup("all nosuch"),
        none=setup("nosuch"),
    )
    told = shell("run", folder / "some.xml", "--no-compare", "-o", tmp_path / "out")
    assert told.status == 0
    assert "no joint 'nosuch'" in told.out
    found = read_storage(tmp_path / "out" / "arm_J_ReactionLoads.sto")
    loads = [
        f"{j.name}_on_{j.child.body}_in_{frame}" for j, frame in ((lower, lower.child.body), (upper, upper.parent.body))
    ]
    assert list(dict.fromkeys(name[:-3] for name in found.names)) == loads
    assert shell("run", folder / "every.xml", "--no-compare", "-o", tmp_path / "every").status == 0
    assert len(read_storage(tmp_path / "every" / "arm_J_ReactionLoads.sto").names) == 9 * len(model.joints)
    told = shell("run", folder / "none.xml", "--no-compare", "-o", tmp_path / "none")
    assert told.status == 3
    assert "has no joint of the model" in told.err
    assert (
        shell("jr", folder / "arm.osim", folder / "motion.mot", "--joint", "nosuch", "-o", tmp_path / "no").status == 1
    )


# --- times of a static trial ------------------------------------------------------------------------------------------
def _scale(folder, span, place):
    """Scale the forearm by two markers of a trial of a second, and place the markers."""
    model, pose = arm(), arm_flexion()
    names = ("elbow_lateral", "wrist_ulnar", "wrist_radial", "acromion", "upper_arm", "forearm")
    at = kinematics(model, pose.coordinates(model)).markers(list(names))
    write_trc(Markers(pose.time, names, at * np.linspace(1.0, 1.2, len(at))[:, None, None]), folder / "static.trc")
    time = f"<time_range>{span}</time_range>" if span else ""
    text = tool_setups.document(
        "ScaleTool",
        "<GenericModelMaker><model_file>arm.osim</model_file></GenericModelMaker><ModelScaler><scaling_order>"
        "measurements</scaling_order><MeasurementSet><objects><Measurement name='m'><apply>true</apply><MarkerPairSet>"
        "<objects><MarkerPair><markers>elbow_lateral wrist_ulnar</markers></MarkerPair></objects></MarkerPairSet>"
        f"<BodyScaleSet><objects><BodyScale name='{model.body_names[-1]}'><axes>X Y Z</axes></BodyScale></objects>"
        f"</BodyScaleSet></Measurement></objects></MeasurementSet><marker_file>static.trc</marker_file>{time}"
        "<output_model_file>only.osim</output_model_file><output_scale_file>factors.xml</output_scale_file>"
        f"</ModelScaler><MarkerPlacer><apply>{place}</apply><marker_file>static.trc</marker_file>{time}"
        "<output_model_file>final.osim</output_model_file></MarkerPlacer>",
    )
    return arm_folder(folder, scale=text) / "scale.xml"


@pytest.mark.parametrize(
    ("span", "like", "said", "status"),
    [
        ("5 6", "1 1", "the time range 5 to 6 s lies outside", 3),
        ("-3 -2", "0 0", "the time range -3 to -2 s lies outside", 3),
        ("", "0 0", "ModelScaler states no time_range: bodies are measured in the first frame", 0),
    ],
)
@pytest.mark.parametrize("exact", [True, False])
def test_bodies_measured_outside_a_trial_are_told_of(shell, tmp_path, span, like, said, status, exact):
    """OpenSim 4.6 takes the frame at the nearer end, without a word."""
    flags = ("--exact",) if exact else ()
    told = shell("run", _scale(tmp_path, span, "false"), *flags)
    assert told.status == status
    assert said in " ".join((told.out + told.err).split())
    found = (tmp_path / "factors.xml").read_text()
    assert shell("run", _scale(tmp_path, like, "false"), *flags).status == 0
    assert found == (tmp_path / "factors.xml").read_text()


@pytest.mark.parametrize(
    ("span", "said"),
    [("5 6", "the time range 5 to 6 s lies outside"), ("", "MarkerPlacer states no <time_range>")],
)
def test_markers_placed_outside_a_trial_are_refused_and_leave_nothing(shell, tmp_path, span, said):
    told = shell("run", _scale(tmp_path, span, "true"))
    assert told.status == 1
    assert said in " ".join(told.err.split())
    assert not {file.name for file in tmp_path.iterdir()} & {"only.osim", "factors.xml", "final.osim"}
    assert shell("run", _scale(tmp_path, "0 1", "true")).status == 0
    assert {file.name for file in tmp_path.iterdir()} >= {"only.osim", "factors.xml", "final.osim"}


# --- words that fit the command ---------------------------------------------------------------------------------------
def test_advice_speaks_of_the_setup(shell, tmp_path):
    loads = ExternalLoads(
        "weight",
        (ExternalForce("hand", arm().body_names[-1], "f_v", "", ""),),
        Table(np.linspace(0.0, 0.5, 41), ("f_vx", "f_vy", "f_vz"), [[0.0, -10.0, 0.0]] * 41),
    )
    write_external_loads(loads, tmp_path / "weight.xml")
    more = "<external_loads_file>weight.xml</external_loads_file>"
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics(more))
    told = shell("run", folder / "id.xml", "--exact")
    assert told.status == 3
    assert "set the time range of the set-up to 0 to 0.5 s" in told.err
    assert "--time" not in told.err


@pytest.mark.parametrize("wrong", ["model.osim", "walk.trc", "grf.mot"])
def test_a_missing_file_of_a_walk_is_said_once_and_before_any_step(shell, tmp_path, wrong):
    """Not after the steps that do not need it, nor once more for each step that does."""
    arm_chain().write(tmp_path)
    (tmp_path / "g.mot").write_text("there")
    given = {"model.osim": "arm.osim", "walk.trc": "arm_markers.trc", "grf.mot": "g.mot", wrong: wrong}
    model, trial, loads = (tmp_path / name for name in given.values())
    ended = shell("walk", model, trial, "--loads", loads, "-o", tmp_path / "out")
    assert ended.status == BAD_INPUT
    assert ended.err.count("error:") == 1
    assert f"no file {tmp_path / wrong}" in ended.err
    assert not (tmp_path / "out").exists()


def test_ctrl_c_ends_with_a_word(tmp_path):
    """In the middle of a step; the exit code is that of a shell."""
    arm_chain().write(tmp_path)
    script = (
        "import signal, sys\nfrom musculo.cli import run_setups\nfrom musculo.cli.main import main\n"
        "run_setups.run_setup = lambda *_, **__: signal.raise_signal(signal.SIGINT)\nmain()"
    )
    words = ("ik", str(tmp_path / "arm.osim"), str(tmp_path / "arm_markers.trc"), "-o", str(tmp_path / "out"))
    ended = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (STOPPED, "stopped")


def test_no_threads_are_refused_in_words_of_the_flag(shell, tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics())
    told = shell("run", folder / "id.xml", "--threads", 0)
    assert (told.status, told.err.startswith("error: --threads 0: ")) == (2, True)
    told = shell("id", ARM_FILE, ARM_FLEXION_FILE, "-j", 0, "-o", tmp_path / "out")
    assert (told.status, told.err.startswith("error: --jobs 0: ")) == (2, True)


@pytest.mark.parametrize("mass", ["-5", "0", "nan", "inf"])
def test_a_mass_that_nobody_has_is_refused(shell, tmp_path, mass):
    told = shell("scale", ARM_FILE, "-o", tmp_path / "out.osim", "--mass", mass)
    assert told.status == 2
    assert told.err.startswith(f"error: --mass {mass}: ")
    assert not (tmp_path / "out.osim").exists()
