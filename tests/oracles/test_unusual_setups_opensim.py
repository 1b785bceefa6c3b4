"""Set-ups that are legal and unusual: `musculo run` does as OpenSim 4.6, live, and says what is unusual."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Coordinate, Model, PinJoint, Placement, read_osim, read_storage, write_osim
from musculo.errors import InvalidInput, UnknownName
from musculo.io import write_trc
from musculo.opensim import run_setup
from support.ik_models import seemingly_twisted, twisting_rod
from support.opensim_run import run_opensim
from support.tool_setups import RESERVES, analyze
from support.tool_setups import inverse_dynamics as dynamics
from support.unusual_setups import (
    ALL_TASKS,
    SETUP,
    arm_recordings,
    coordinate_task,
    inverse_kinematics,
    manual_scale,
    marker_placer,
    marker_task,
    measurement,
    run_both,
    scale,
    write_motion,
)

pytest.importorskip("opensim")

# Half a unit of the eighth decimal on either side.
PRINTED = 2e-8
# OpenSim stops its inverse kinematics so far from the minimum; measured 7.7e-3 degrees, and 1.4e-5 of markers' errors.
IK_ANGLE, IK_ERRORS = 2e-2, 4e-5
# The same of a static pose, at an accuracy of 1e-4; measured 4.2e-4 rad, and 7.2e-5 m of a marker.
POSE, PLACED = 2e-3, 4e-4
# OpenSim's equilibrium of fibres ends at 1e-8 of the strength of a muscle, which loads of joints enlarge; measured
# 3.7e-4 of 250 N.
EQUILIBRIUM = 2e-3
# Where IPOPT ends at 1e-9; measured 3.4e-4 of 114 N.
OPTIMUM = 5e-3
OPTIMIZATION = (
    '<StaticOptimization name="SO"><optimizer_convergence_criterion>1e-9</optimizer_convergence_criterion>'
    "<optimizer_max_iterations>500</optimizer_max_iterations><step_interval>20</step_interval></StaticOptimization>"
)


def same(both, name, tolerance):
    theirs, ours = both.tables(name)
    assert_allclose(ours, theirs, atol=tolerance, rtol=0.0)


def same_model(both, name):
    theirs, ours = (read_osim(folder / name) for folder in (both.theirs, both.ours))
    assert ours.marker_names == theirs.marker_names
    assert_allclose([m.location for m in ours.markers], [m.location for m in theirs.markers], atol=PLACED)
    assert_allclose([b.mass for b in ours.bodies], [b.mass for b in theirs.bodies], rtol=1e-12)
    assert_allclose([b.mass_center for b in ours.bodies], [b.mass_center for b in theirs.bodies], atol=1e-12)
    assert_allclose(
        [m.optimal_fiber_length for m in ours.muscles], [m.optimal_fiber_length for m in theirs.muscles], rtol=1e-12
    )


# --- the scale tool --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("setup", "said"),
    [
        (scale(measurement("m", "humerus nobody")), "no body 'nobody' in measurement 'm'"),
        (scale(measurement("m", "nobody")), "no body 'nobody' in measurement 'm'"),
        (scale(manual=manual_scale("forearm") + manual_scale("nobody")), "no body 'nobody' in the ScaleSet"),
        (scale(manual=manual_scale("forearm"), trial=""), ""),
        (scale(measurement("m", "humerus", "false"), manual_scale("forearm"), trial=""), ""),
    ],
    ids=["body", "only body", "by hand", "no trial", "measures nothing"],
)
def test_what_cannot_be_scaled_is_passed_over(tmp_path, setup, said):
    both = run_both(tmp_path, {SETUP: setup})
    same_model(both, "scaled.osim")
    assert said in both.told


def test_measurements_without_a_trial_are_refused_as_in_opensim(tmp_path):
    with pytest.raises(InvalidInput, match="names no <marker_file>"):
        run_both(tmp_path, {SETUP: scale(measurement("m", "humerus"), trial="")})
    assert not (tmp_path / "theirs" / "scaled.osim").exists()


def test_a_step_of_scaling_that_is_not_there_is_not_done(tmp_path):
    both = run_both(tmp_path / "scaled", {SETUP: scale(measurement("m", "humerus"), placer="")})
    same_model(both, "scaled.osim")
    whole = scale(placer=marker_placer())
    start, end = whole.index("<ModelScaler>"), whole.index("</ModelScaler>") + len("</ModelScaler>")
    both = run_both(tmp_path / "placed", {SETUP: whole[:start] + whole[end:]})
    same_model(both, "placed.osim")


def test_both_steps_of_scaling_may_write_one_file(tmp_path):
    placer = marker_placer(model="scaled.osim")
    both = run_both(tmp_path, {SETUP: scale(measurement("m", "humerus"), placer=placer)})
    same_model(both, "scaled.osim")
    same(both, "pose.sto", POSE)
    assert sorted(file.name for file in both.result.files) == ["factors.xml", "pose.sto", "scaled.osim"]
    assert run_setup(both.ours / SETUP, compare=False, force=False).status.name == "UNCHANGED"


def test_a_scale_set_of_another_file_is_not_written_over(tmp_path):
    arm_recordings(tmp_path)
    brought = f"<ScaleSet><objects>{manual_scale('forearm')}</objects></ScaleSet>"
    (tmp_path / "factors.xml").write_text(brought)
    inline = "<ScaleSet><objects></objects></ScaleSet>"
    assert inline in scale()
    (tmp_path / SETUP).write_text(scale().replace(inline, '<ScaleSet file="factors.xml"/>'))
    with pytest.raises(InvalidInput, match=r"factors.xml is an input, too"):
        run_setup(tmp_path / SETUP)
    assert (tmp_path / "factors.xml").read_text() == brought


@pytest.mark.parametrize(
    "tasks",
    [
        ALL_TASKS,
        marker_task("wrist_radial", 5)
        + marker_task("forearm", 40)
        + marker_task("acromion", 0)
        + marker_task("upper_arm", 2)
        + marker_task("elbow_medial", 2, "false"),
    ],
    ids=["all", "some"],
)
def test_errors_of_a_static_pose_are_over_markers_with_a_task(tmp_path, tasks):
    both = run_both(tmp_path, {SETUP: scale(measurement("m", "humerus"), placer=marker_placer(tasks))})
    same_model(both, "placed.osim")
    rms, largest, where = re.search(r"RMS = (\S+), max = (\S+) \((\w+)\)", both.log).groups()
    told = re.search(r"RMS error of markers (\S+) mm, the largest (\S+) mm \((\w+)\)", both.told).groups()
    # three digits are printed
    assert_allclose([float(told[0]), float(told[1])], [1e3 * float(rms), 1e3 * float(largest)], rtol=5e-3)
    assert told[2] == where


# The search for the upper arm's task goes on from that of the marker before it, and comes to the first at last.
TWICE_IN_FRONT = marker_task("upper_arm", 9) + ALL_TASKS.replace(marker_task("acromion"), "", 1).replace(
    marker_task("upper_arm"), marker_task("upper_arm") + marker_task("acromion")
)


# --- inverse kinematics ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        (marker_task("wrist_radial", 5) + ALL_TASKS + marker_task("forearm", 40), "wrist_radial (1), forearm (1)"),
        (ALL_TASKS + marker_task("acromion", 9) + marker_task("wrist_ulnar", 9), "acromion (1), wrist_ulnar (1)"),
        (TWICE_IN_FRONT, "upper_arm (9)"),
        (marker_task("wrist_radial", 50, "false") + ALL_TASKS, ""),
        (
            ALL_TASKS + coordinate_task("elbow_flexion", 0.001, 0.3) + coordinate_task("elbow_flexion", 0.01, 1.0),
            "coordinates with several tasks, which all count, as in OpenSim: elbow_flexion",
        ),
    ],
    ids=["search goes on", "at the end", "in front", "one is off", "coordinates"],
)
def test_of_tasks_listed_twice_the_one_counts_that_opensim_takes(tmp_path, tasks, said):
    both = run_both(tmp_path, {SETUP: inverse_kinematics(tasks)})
    same(both, "ik.mot", IK_ANGLE)
    same(both, "results/arm_ik_marker_errors.sto", IK_ERRORS)
    assert said in both.told


@pytest.mark.parametrize("stated", ["", "<time_range/>"])
def test_without_a_range_of_time_opensim_stops_at_two_seconds_and_exact_does_not(tmp_path, stated):
    both = run_both(tmp_path, {SETUP: inverse_kinematics(more=stated)})
    same(both, "ik.mot", IK_ANGLE)
    assert read_storage(both.ours / "ik.mot").time[-1] == 2.0
    assert any("OpenSim then stops at 2 s" in trouble for trouble in both.result.troubles)
    exact = run_setup(both.ours / SETUP, like=None, output=tmp_path / "exact")
    assert read_storage(tmp_path / "exact" / "ik.mot").time[-1] == 3.0
    assert exact.complete


@pytest.mark.parametrize("span", ["0.125 0.325", "0.135 0.345", "0.005 0.015", "0.5 0.5", "-1 0.2"])
def test_ends_of_a_range_between_frames(tmp_path, span):
    both = run_both(tmp_path, {SETUP: inverse_kinematics(more=f"<time_range>{span}</time_range>")})
    same(both, "ik.mot", IK_ANGLE)


@pytest.mark.parametrize("span", ["5 9", "-2 -1", "1 0.5"])
def test_ranges_without_a_frame_are_refused_as_in_opensim(tmp_path, span):
    with pytest.raises(InvalidInput, match="time range"):
        run_both(tmp_path, {SETUP: inverse_kinematics(more=f"<time_range>{span}</time_range>")})
    assert not (tmp_path / "theirs" / "ik.mot").exists()


def test_all_markers_are_followed_where_no_task_applies(tmp_path):
    both = run_both(tmp_path, {SETUP: inverse_kinematics(marker_task("acromion", apply="false"))})
    same(both, "ik.mot", IK_ANGLE)
    same(both, "results/arm_ik_marker_errors.sto", IK_ERRORS)


def test_a_range_of_time_that_is_stated_holds_where_exact_too(tmp_path):
    arm_recordings(tmp_path)
    (tmp_path / SETUP).write_text(inverse_kinematics(more="<time_range>-Inf 2</time_range>"))
    assert run_setup(tmp_path / SETUP, like=None).complete
    assert read_storage(tmp_path / "ik.mot").time[-1] == 2.0


def test_a_table_of_targets_in_radians_is_told_of(tmp_path):
    def radians(path: Path) -> None:
        write_motion(path, {"elbow_flexion": np.linspace(0.2, 0.9, 101)})

    task = coordinate_task("elbow_flexion", 0.01, 0.0).replace("manual_value", "from_file")
    more = "<time_range>0 1</time_range><coordinate_file>targets.mot</coordinate_file>"
    both = run_both(tmp_path, {SETUP: inverse_kinematics(ALL_TASKS + task, more), "targets.mot": radians})
    assert "is in radians, and is used so; OpenSim reads its numbers as degrees" in both.told


def test_an_angle_that_the_recording_hardly_tells_stays_near_the_default_as_in_opensim(tmp_path):
    rod = twisting_rod(1e-5)
    trial = seemingly_twisted(rod, np.radians(175.0))
    both = run_both(
        tmp_path,
        {
            SETUP: inverse_kinematics("", "<time_range>0 1</time_range>"),
            "arm.osim": lambda path: write_osim(rod, path),
            "trial.trc": lambda path: write_trc(trial, path),
        },
    )
    theirs, ours = both.tables("ik.mot")
    assert np.abs(theirs[:, 2]).max() < 30.0  # degrees
    assert_allclose(ours[:, 2], theirs[:, 2], atol=30.0)
    # what OpenSim leaves of the swing where it stops
    assert_allclose(ours[:, 1], theirs[:, 1], atol=0.1)
    assert "twist: kept near the default" in both.told


# --- inverse dynamics ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("stated", "written", "said"),
    [
        ("id", "id.sto", ""),
        ("my.id", "my.id", ""),
        ("id.txt", "id.txt", ""),
        ("my id.mot", "my id.mot", ""),
        ("sub/id", "id.sto", "its folder is ignored"),
        ("../a.b/id", "id.sto", "its folder is ignored"),
    ],
)
def test_names_of_inverse_dynamics_files(tmp_path, stated, written, said):
    both = run_both(tmp_path, {SETUP: dynamics().replace("id.sto", stated)})
    same(both, f"results/{written}", PRINTED)
    assert [file.name for file in both.result.files] == [written]
    assert said in both.told


def test_a_file_without_a_name_gets_the_default_one(tmp_path):
    arm_recordings(tmp_path)
    (tmp_path / SETUP).write_text(dynamics().replace("id.sto", ""))
    result = run_setup(tmp_path / SETUP)
    assert [file.name for file in result.files] == ["inverse_dynamics.sto"]
    assert any("has no name" in note for note in result.notes)


LOADS = (
    '<OpenSimDocument Version="40000"><ExternalLoads><objects><ExternalForce name="e">'
    "<applied_to_body>forearm</applied_to_body><force_expressed_in_body>nobody</force_expressed_in_body>"
    "<point_expressed_in_body>ground</point_expressed_in_body><force_identifier>f</force_identifier>"
    "<point_identifier>p</point_identifier></ExternalForce></objects><datafile>loads.mot</datafile></ExternalLoads>"
    "</OpenSimDocument>"
)


def _loads(path: Path) -> None:
    time = np.arange(101) / 100.0
    still = np.full_like(time, 0.1)
    write_motion(path, {"fx": time, "fy": 5.0 * still, "fz": np.sin(time), "px": still, "py": -3.0 * still, "pz": time})


def test_loads_in_a_frame_that_is_not_there_are_in_ground(tmp_path):
    setup = dynamics("<external_loads_file>loads.xml</external_loads_file>")
    both = run_both(tmp_path, {SETUP: setup, "loads.xml": LOADS, "loads.mot": _loads})
    same(both, "results/id.sto", PRINTED)
    assert any(
        "which the model lacks: it is read as expressed in ground" in trouble for trouble in both.result.troubles
    )
    with pytest.raises(UnknownName, match="nobody"):
        run_setup(both.ours / SETUP, like=None)


def test_joints_that_are_not_there_report_no_body_forces(tmp_path):
    setup = dynamics("<joints_to_report_body_forces>elbow wrist</joints_to_report_body_forces>")
    both = run_both(tmp_path, {SETUP: setup})
    same(both, "results/body_forces_at_joints.sto", PRINTED)
    assert "no joint 'wrist'" in both.told


# --- motions of another model ----------------------------------------------------------------------------------------
def _partly_of_another(path: Path) -> None:
    time = np.arange(101) / 100.0
    write_motion(path, {"shoulder_flexion": 0.3 * np.sin(time), "knee": np.cos(time), "hip": np.cos(2.0 * time)})


@pytest.mark.parametrize(
    ("setup", "files"),
    [
        (dynamics(), {"results/id.sto": PRINTED}),
        (
            analyze('<Kinematics name="K"/><ForceReporter name="FR"/>'),
            {"results/arm_K_q.sto": PRINTED, "results/arm_FR_forces.sto": EQUILIBRIUM},
        ),
    ],
    ids=["inverse dynamics", "analyses"],
)
def test_a_motion_of_another_model_by_some_columns_runs_and_is_named(tmp_path, setup, files):
    both = run_both(tmp_path, {SETUP: setup, "motion.mot": _partly_of_another})
    for name, tolerance in files.items():
        same(both, name, tolerance)
    (trouble,) = both.result.troubles
    assert "has no column for elbow_flexion" in trouble
    assert "no coordinate for its columns knee, hip" in trouble


# --- analyses --------------------------------------------------------------------------------------------------------
def _reaction(frames: str, joints: str = "elbow", on: str = "child") -> str:
    return analyze(
        f'<JointReaction name="JR"><joint_names>{joints}</joint_names><apply_on_bodies>{on}</apply_on_bodies>'
        f"<express_in_frame>{frames}</express_in_frame></JointReaction>"
    )


@pytest.mark.parametrize(
    "setup",
    [
        _reaction("elbow/elbow_in_humerus"),
        _reaction("jointset/elbow/elbow_in_humerus"),
        _reaction("./jointset/../jointset/elbow/elbow_in_humerus"),
        _reaction("bodyset/humerus"),
        _reaction("humerus", on="Parent"),
        _reaction("", "", ""),
    ],
    ids=["from joints", "from the model", "round about", "body", "case", "empty"],
)
def test_frames_and_sides_of_joint_reactions(tmp_path, setup):
    both = run_both(tmp_path, {SETUP: setup})
    same(both, "results/arm_JR_ReactionLoads.sto", EQUILIBRIUM)


def _three_seconds(path: Path) -> None:
    time = np.arange(301) / 100.0
    write_motion(path, {"shoulder_flexion": 0.3 * np.sin(time), "elbow_flexion": 0.9 - 0.6 * np.cos(2.0 * time)})


def test_without_a_final_time_opensim_stops_at_one_second_and_exact_does_not(tmp_path):
    both = run_both(tmp_path, {SETUP: analyze('<Kinematics name="K"/>'), "motion.mot": _three_seconds})
    same(both, "results/arm_K_q.sto", PRINTED)
    assert any("OpenSim then stops at 1 s" in trouble for trouble in both.result.troubles)
    assert run_setup(both.ours / SETUP, like=None, output=tmp_path / "exact").complete
    assert read_storage(tmp_path / "exact" / "arm_K_q.sto").time[-1] == 3.0


@pytest.mark.parametrize("column", ["{}", "{}_u"])
def test_speeds_go_by_the_names_that_opensim_looks_for(tmp_path, column):
    def speeds(path: Path) -> None:
        time = np.arange(301) / 100.0
        values = {"shoulder_flexion": 0.3 * np.cos(time), "elbow_flexion": 1.1 * np.sin(2.0 * time)}
        write_motion(path, {column.format(name): value for name, value in values.items()})

    setup = analyze('<Kinematics name="K"/>', "<speeds_file>speeds.sto</speeds_file><final_time>3</final_time>")
    both = run_both(tmp_path, {SETUP: setup, "motion.mot": _three_seconds, "speeds.sto": speeds})
    same(both, "results/arm_K_u.sto", PRINTED)
    assert ("has no speed of shoulder_flexion, elbow_flexion: set to zero" in both.told) == (column == "{}")


def test_a_point_relative_to_no_body_is_in_ground(tmp_path):
    point = "<body_name>forearm</body_name><relative_to_body_name>nobody</relative_to_body_name>"
    both = run_both(tmp_path, {SETUP: analyze(f'<PointKinematics name="P">{point}</PointKinematics>')})
    same(both, "results/arm_P_NONAME_vel.sto", PRINTED)
    assert "'nobody' of relative_to_body_name is not a body: ground is used" in both.told


def test_what_a_list_names_twice_is_written_once(tmp_path):
    lists = (
        '<BodyKinematics name="B"><bodies>forearm forearm</bodies></BodyKinematics>'
        '<JointReaction name="JR"><joint_names>elbow elbow elbow</joint_names>'
        "<apply_on_bodies>child parent child</apply_on_bodies></JointReaction>"
    )
    both = run_both(tmp_path, {SETUP: analyze(lists)})
    for name, tolerance in (("B_pos_global", PRINTED), ("JR_ReactionLoads", EQUILIBRIUM)):
        theirs, ours = (read_storage(folder / f"results/arm_{name}.sto") for folder in (both.theirs, both.ours))
        assert len(set(ours.names)) == len(ours.names) < len(theirs.names)
        columns = [theirs.names.index(one) for one in ours.names]
        assert_allclose(ours.values, theirs.values[:, columns], atol=tolerance)
    assert "B: forearm stands in a list more than once" in both.told
    assert "JR: elbow stands in a list more than once" in both.told


@pytest.mark.parametrize("files", ["reserves.xml", "reserves.xml again.xml"])
def test_of_two_forces_of_one_name_the_first_counts(tmp_path, files):
    one = RESERVES if "again" in files else RESERVES.replace('"shoulder_motor"', '"triceps_long"')
    setup = analyze('<ForceReporter name="FR"/>' + OPTIMIZATION).replace("reserves.xml", files)
    both = run_both(tmp_path, {SETUP: setup, "reserves.xml": one, "again.xml": RESERVES.replace(">10<", ">30<")})
    same(both, "results/arm_FR_forces.sto", EQUILIBRIUM)
    same(both, "results/arm_SO_force.sto", OPTIMUM)
    twice = "shoulder_motor" if "again" in files else "triceps_long"
    assert f"CoordinateActuator '{twice}'" in both.told
    assert "is ignored, as OpenSim does" in both.told


def _weak(path: Path) -> None:
    text = path.read_text()
    path.write_text(re.sub(r"<max_isometric_force>[^<]*<", "<max_isometric_force>0<", text, count=1))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"arm.osim": _weak}, "muscles whose max_isometric_force is 0, and that pull nothing: triceps_long"),
        (
            {"reserves.xml": RESERVES.replace(">10<", ">0<", 1)},
            "actuators whose optimal_force is 0, and that give nothing: shoulder_motor",
        ),
    ],
    ids=["muscle", "reserve"],
)
def test_what_has_no_strength_gives_nothing(tmp_path, files, said):
    analyses = '<ForceReporter name="FR"/><Kinematics name="K"/><Actuation name="A"/><JointReaction name="JR"/>'
    both = run_both(tmp_path, {SETUP: analyze(analyses + OPTIMIZATION), **files})
    assert said in both.told
    # accelerations of a forearm of 1.5 kg enlarge what an equilibrium leaves; measured 2.2e-2 of 5200 degrees/s^2
    for what, tolerance in (("FR_forces", EQUILIBRIUM), ("A_power", EQUILIBRIUM), ("JR_ReactionLoads", EQUILIBRIUM)):
        same(both, f"results/arm_{what}.sto", tolerance)
    same(both, "results/arm_K_dudt.sto", 0.1)
    same(both, "results/arm_SO_force.sto", OPTIMUM)


def test_a_muscle_without_strength_in_inverse_dynamics(tmp_path):
    both = run_both(tmp_path, {SETUP: dynamics().replace("Muscles", ""), "arm.osim": _weak})
    same(both, "results/id.sto", PRINTED)
    assert "that pull nothing: triceps_long" in both.told


# --- paths -----------------------------------------------------------------------------------------------------------
def test_paths_of_windows_are_found_beside_the_set_up(tmp_path):
    arm_recordings(tmp_path)
    plain = run_setup(_written(tmp_path / "plain.xml", dynamics()))
    (here,) = plain.files
    wanted = here.read_bytes()
    text = dynamics().replace(">arm.osim", r">C:\Users\anna\arm.osim").replace(">motion", r">D:\lab\motion")
    found = run_setup(_written(tmp_path / SETUP, text))
    assert found.files[0].read_bytes() == wanted
    assert sum("a path of Windows" in note for note in found.notes) == 2


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("form", "seen"),
    [("/jointset/{}/value", True), ("{}/value", True), ("{}", False), ("/jointset/{}", False)],
    ids=["path", "end of the path", "name here", "path of the coordinate"],
)
def test_a_run_says_where_opensim_has_other_columns(tmp_path, form, seen):
    """Columns of results, and columns of a motion that OpenSim 4.6 passes over."""
    bodies = tuple(Body(name, 1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)) for name in "ab")
    joints = (
        PinJoint("hip", "ground", "a", (Coordinate("hip/flexion"),)),
        PinJoint("knee", Placement("a", (0.4, 0.0, 0.0)), "b", (Coordinate("knee/flexion"),)),
    )
    model, setup = Model("two", bodies, joints), tmp_path / "setup.xml"
    write_osim(model, tmp_path / "two.osim")
    names = "\t".join(form.format(name) for name in model.coordinate_names)
    rows = "".join(f"{0.1 * k:.1f}\t0.3\t0.4\n" for k in range(8))
    head = "q\nversion=1\nnRows=8\nnColumns=3\ninDegrees=no\nendheader\n"
    (tmp_path / "q.mot").write_text(f"{head}time\t{names}\n{rows}")
    setup.write_text(
        '<OpenSimDocument Version="40600"><AnalyzeTool name="x"><model_file>two.osim</model_file><final_time>0.7'
        '</final_time><AnalysisSet><objects><Kinematics name="K"><in_degrees>false</in_degrees></Kinematics></objects>'
        "</AnalysisSet><coordinates_file>q.mot</coordinates_file></AnalyzeTool></OpenSimDocument>"
    )
    told = "\n".join(run_setup(setup).notes)
    found = read_storage(tmp_path / "x_K_q.sto")
    assert found.names == model.coordinate_names
    assert np.allclose(found.values, [0.3, 0.4])
    assert "joint in front of it in results: hip/flexion, knee/flexion; OpenSim writes the name alone" in told
    assert ("which OpenSim ignores since" in told) == (not seen)
    assert "which OpenSim ignores" not in "\n".join(run_setup(setup, like=None).notes)
    run_opensim(setup)
    theirs = (tmp_path / "x_K_q.sto").read_text()
    assert "\tflexion\tflexion\n" in theirs
    assert ([float(x) for x in theirs.splitlines()[-1].split()[1:]] == [0.3, 0.4]) == seen
