"""`musculo run` beside OpenSim's tools, live: the same files in the same folders, columns, rows and numbers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import read_osim, read_storage
from musculo.io.tool_results import write_result
from musculo.opensim import ToolResult, run_setup
from musculo.opensim_tools.tools.scale_tool import states
from support.opensim_run import run_opensim
from support.result_headers import header_layout
from support.setup_files import scale_tool

# Half a unit of the eighth decimal on either side, and some rounding of forces up to 1000.
PRINTED = 2e-8
# The arm, where IPOPT ends at 1e-9: measured 1.8e-6, and 7.1e-4 N.
ACTIVATION, MUSCLE_FORCE = 1e-5, 5e-3
# OpenSim stops inverse kinematics so far from the minimum. The arm: measured 4.5e-3 degrees, 7.0e-6 m of a marker, and
# 7.6e-7 of their errors [m, m^2].
IK_ANGLE, IK_PLACE, MARKER_ERRORS = 2e-2, 3e-5, 3e-6
# The same where markers are placed, at an accuracy of 1e-4: measured 1.05e-2 [rad, m], and 6.4e-4 m of a marker.
SCALE_POSE, SCALE_MARKERS = 1.5e-2, 1e-3
# OpenSim's equilibrium of fibres ends at 1e-8 of the strength of a muscle, and forces follow lengths steeply; the
# accelerations of a forearm of 1.5 kg enlarge it. Relative to the largest value of a file.
EQUILIBRIUM = 2e-5
# Tendons hardly move: their power is what fibres give less what the whole muscle gives, and it is as exact as those.
POWERS = {"TendonPower": "MuscleActuatorPower"}
# Two frames where OpenSim's search for an equilibrium goes wrong [s]: TRImed's ends early, 9 mN beside the equilibrium
# that it finds in poses 0.2 degrees before and after (`test_a_force_that_jumps_is_opensims`); BIClong's fails, with a
# warning, and OpenSim goes on with another fibre length.
EARLY, FAILED = 0.39166631, 0.69166619
NO_EQUILIBRIUM = (EARLY, FAILED)
LOGS = {"opensim.log"}

_ANALYSES = """
<StaticOptimization name="StaticOptimization"><optimizer_convergence_criterion>1e-9</optimizer_convergence_criterion>
  <optimizer_max_iterations>500</optimizer_max_iterations></StaticOptimization>
<MuscleAnalysis name="Muscles"/>
<BodyKinematics name="Bodies"/>
<BodyKinematics name="Local"><bodies>r_humerus center_of_mass</bodies><in_degrees>false</in_degrees>
  <express_results_in_body_local_frame>true</express_results_in_body_local_frame></BodyKinematics>
<PointKinematics name="Points"><body_name>r_ulna_radius_hand</body_name><point_name>wrist</point_name>
  <point>0.01 -0.2 0.03</point></PointKinematics>
<PointKinematics name="Seen"><body_name>r_ulna_radius_hand</body_name><point_name>wrist</point_name>
  <relative_to_body_name>r_humerus</relative_to_body_name><point>0.01 -0.2 0.03</point></PointKinematics>
<Kinematics name="Kinematics"/>
<Actuation name="Actuation"><step_interval>7</step_interval></Actuation>
<ForceReporter name="ForceReporter"/>
<JointReaction name="Idle"><joint_names>r_elbow r_shoulder</joint_names><apply_on_bodies>parent child</apply_on_bodies>
  <express_in_frame>r_humerus ground</express_in_frame></JointReaction>
"""


@pytest.fixture(scope="module")
def arm(data_folder, tmp_path_factory):
    """OpenSim's tools on the arm in one folder, musculo's on the same set-ups in another: (theirs, ours, results)."""
    pytest.importorskip("opensim")
    folders = []
    for side in ("theirs", "ours"):
        folder = tmp_path_factory.mktemp(side) / "arm26"
        shutil.copytree(data_folder / "arm26", folder, ignore=shutil.ignore_patterns("ref"))
        folder.chmod(0o755)
        shutil.copy(data_folder / "oracle" / "arm26" / "ik.mot", folder / "motion.mot")
        text = (folder / "arm26_Setup_InverseKinematics.xml").read_text()
        text = text.replace("<report_marker_locations> false", "<report_marker_locations> true")
        (folder / "ik.xml").write_text(re.sub(r"<results_directory>.*?<", "<results_directory>results<", text))
        text = (folder / "oracle_setup_id.xml").read_text()
        text = text.replace("<joints_to_report_body_forces />", "<joints_to_report_body_forces>All</...>")
        text = text.replace("</...>", "</joints_to_report_body_forces>")
        (folder / "id.xml").write_text(_moved(text))
        text = (folder / "oracle_setup_so.xml").read_text()
        text = re.sub("<AnalysisSet.*</AnalysisSet>", _set(_ANALYSES), text, flags=re.DOTALL)
        (folder / "analyze.xml").write_text(_moved(text))
        folders.append(folder)
    setups = ("ik.xml", "id.xml", "analyze.xml")
    theirs, ours = folders
    run_opensim(*(theirs / name for name in setups))
    results = {name: run_setup(ours / name) for name in setups}
    return theirs, ours, results


def _set(analyses: str) -> str:
    return f"<AnalysisSet><objects>{analyses}</objects></AnalysisSet>"


def _moved(text: str) -> str:
    text = re.sub(r"<results_directory>.*?<", "<results_directory>results<", text)
    return re.sub(r"<coordinates_file>.*?<", "<coordinates_file>motion.mot<", text)


def test_the_same_files_appear_in_the_same_folders(arm):
    theirs, ours, _ = arm
    made = [
        {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} for folder in (theirs, ours)
    ]
    records = {path for path in made[1] if path.endswith(".musculo.json")}
    assert made[0] - LOGS == made[1] - records - LOGS
    assert {"arm26_InverseKinematics.mot", "results/id.sto", "results/arm26_StaticOptimization_controls.xml"} < made[0]
    assert len(made[0]) > 50
    assert len(records) == 3


def test_headers_columns_and_times_are_the_same(arm):
    theirs, ours, _ = arm
    for path in _tables(theirs):
        mine, other = ours / path.relative_to(theirs), path
        a, b = read_storage(mine), read_storage(other)
        assert a.names == b.names, path.name
        assert (a.name, a.degrees, len(a)) == (b.name, b.degrees, len(b)), path.name
        assert header_layout(mine) == header_layout(other), path.name  # the same keys on the same lines
        assert np.array_equal(a.time, b.time), path.name
        width = {len(line.split("\t")[-1]) for line in mine.read_text().splitlines()[-3:]}
        assert width == {len(line.split("\t")[-1]) for line in other.read_text().splitlines()[-3:]}, path.name


def _tables(folder: Path) -> list[Path]:
    made = [*list(folder.glob("results/*.sto")), folder / "arm26_InverseKinematics.mot"]
    assert len(made) > 40
    return made


def test_numbers_are_the_same(arm):
    theirs, ours, _ = arm
    rough = {
        "arm26_InverseKinematics.mot": (IK_ANGLE, 0.0),
        "arm26_ik_marker_errors.sto": (MARKER_ERRORS, 0.0),
        "arm26_ik_model_marker_locations.sto": (IK_PLACE, 0.0),
        "arm26_StaticOptimization_activation.sto": (ACTIVATION, 0.0),
        "arm26_StaticOptimization_force.sto": (MUSCLE_FORCE, 0.0),
    }
    # Where fibres in equilibrium act: in forces, and in what the model does under them.
    fibres = ("Muscles_", "Actuation_", "ForceReporter_", "Idle_", "_dudt", "_acc")
    for path in _tables(theirs):
        a, b = (read_storage(folder / path.relative_to(theirs)) for folder in (ours, theirs))
        tolerance, relative = rough.get(path.name, (PRINTED, 0.0))
        if any(word in path.name for word in fibres):
            relative = EQUILIBRIUM
        good = (np.abs(a.time[:, None] - NO_EQUILIBRIUM) > 1e-6).all(axis=1)
        assert good.sum() >= len(a) - 2
        quantity = path.stem.rpartition("_")[2]
        scale = read_storage(path.with_stem(path.stem.replace(quantity, POWERS.get(quantity, quantity))))
        limit = max(tolerance, relative * np.abs(scale.values[good]).max())
        assert_allclose(a.values[good], b.values[good], rtol=0, atol=limit, err_msg=path.name)


def test_a_force_that_jumps_is_opensims(arm, data_folder, tmp_path):
    """Poses around the frame at which TRImed's equilibrium ends early, the arm turned by a hundredth of a radian.

    OpenSim's force leaves its course by 9 mN for a quarter of them and comes back; ours goes on smoothly, and is the
    same on both sides. An equilibrium at given speeds and activations depends smoothly on the pose, so the jump is no
    part of it: OpenSim's loop tests the force alone, and estimates the fibre's speed anew in every round.
    """
    theirs, ours, _ = arm
    model = read_osim(ours / "arm26.osim", opensim_rounding=True)
    q, u = (read_storage(theirs / "results" / f"arm26_Kinematics_{what}.sto") for what in "qu")
    frame = int(np.abs(q.time - EARLY).argmin())
    still, speed = (np.radians(table.pick(model.coordinate_names).values[frame]) for table in (q, u))
    turns = np.linspace(-0.01, 0.01, 81)
    names, rows = [], []
    for turn in turns:
        names, row = states(model, still + turn)
        for name, value in zip(model.coordinate_names, speed, strict=True):
            row[next(k for k, state in enumerate(names) if state.endswith(f"/{name}/speed"))] = value
        rows.append(row)
    text = _moved((data_folder / "arm26" / "oracle_setup_so.xml").read_text())
    text = re.sub("<AnalysisSet.*</AnalysisSet>", _set("<MuscleAnalysis name='M'/>"), text, flags=re.S)
    text = text.replace("<states_file />", "<states_file>states.sto</states_file>").replace("motion.mot", "")
    forces = []
    for side in ("theirs", "ours"):
        folder = tmp_path / side
        folder.mkdir()
        for file in ("arm26.osim", "oracle_reserves.xml"):
            shutil.copy(data_folder / "arm26" / file, folder)
        write_result(folder / "states.sto", "sweep", np.linspace(0.0, 0.8, 81), names, np.array(rows), precision=17)
        (folder / "states.xml").write_text(text)
        run_opensim(folder / "states.xml") if side == "theirs" else run_setup(folder / "states.xml", compare=False)
        forces.append(read_storage(folder / "results" / "arm26_M_TendonForce.sto").column("TRImed"))
    apart = forces[0] - forces[1]
    off = np.flatnonzero(np.abs(apart) > 1e-3)
    assert 10 < len(off) < 40
    assert np.ptp(off) == len(off) - 1  # one stretch, with good frames on both sides
    assert_allclose(np.abs(apart[off]), 9.46e-3, rtol=0, atol=5e-5)
    assert (
        np.abs(np.delete(apart, off)).max()
        < 1e-8 * model.muscles[model.muscle_names.index("TRImed")].max_isometric_force
    )
    bends = [np.abs(np.diff(force, 2)).max() for force in forces]
    assert bends[0] > 9e-3
    assert bends[1] < 1e-5


def test_controls_are_those_of_the_activation_file(arm):
    theirs, ours, _ = arm
    files = [folder / "results" / "arm26_StaticOptimization_controls.xml" for folder in (theirs, ours)]
    a, b = (file.read_text() for file in files)
    numbers = re.compile(r"(<(?:t|value)>)([^<]*)")
    assert numbers.sub(r"\1", a) == numbers.sub(r"\1", b)
    values = [np.array([float(x) for _, x in numbers.findall(text)]) for text in (a, b)]
    assert_allclose(values[1], values[0], rtol=0, atol=ACTIVATION)
    table = read_storage(ours / "results" / "arm26_StaticOptimization_activation.sto")
    mine = values[1].reshape(len(table.names), len(table), 2)
    assert_allclose(mine[:, :, 1].T, table.values, rtol=0, atol=PRINTED)


def test_notes_say_how_far_the_exact_method_is(arm):
    _, ours, results = arm
    result = results["analyze.xml"]
    assert isinstance(result, ToolResult)
    assert result.complete
    (note,) = (note for note in result.notes if note.startswith("OpenSim's static optimization"))
    stated = float(re.search(r"activation by up to ([\d.e-]+)", note)[1])
    exact = run_setup(ours / "analyze.xml", output=ours.parent / "exact", like=None)
    assert not any("--exact" in note for note in exact.notes)
    a, b = (
        read_storage(folder / "arm26_StaticOptimization_activation.sto")
        for folder in (ours / "results", ours.parent / "exact")
    )
    muscles = a.names[:6]
    # The filters differ, too, so frames are compared at the times of the exact ones; the middle of the motion.
    inside = (b.time > 0.3) & (b.time < 0.7)
    apart = max(np.abs(np.interp(b.time[inside], a.time, a.column(m)) - b.column(m)[inside]).max() for m in muscles)
    assert 0.2 * stated < apart < 3.0 * stated


def test_states_of_a_file_and_muscles_in_inverse_dynamics(data_folder, tmp_path):
    """Activations and fibre lengths of a simulation, and muscles at their defaults where nothing excludes them."""
    pytest.importorskip("opensim")
    kept = "<MuscleAnalysis name='M'/><Kinematics name='K'/><ForceReporter name='F'/><JointReaction name='JR'/>"
    text = _moved((data_folder / "arm26" / "oracle_setup_so.xml").read_text())
    text = re.sub("<AnalysisSet.*</AnalysisSet>", _set(kept), text, flags=re.S)
    text = text.replace("<states_file />", "<states_file>states.sto</states_file>").replace("motion.mot", "")
    text = text.replace("auxiliary_states>true", "auxiliary_states>false")
    moments = _moved((data_folder / "arm26" / "oracle_setup_id.xml").read_text())
    moments = re.sub("<forces_to_exclude>.*?</forces_to_exclude>", "<forces_to_exclude/>", moments)
    for side in ("theirs", "ours"):
        folder = tmp_path / side
        folder.mkdir()
        for file in ("arm26.osim", "oracle_reserves.xml"):
            shutil.copy(data_folder / "arm26" / file, folder)
        shutil.copy(data_folder / "oracle" / "arm26" / "ik.mot", folder / "motion.mot")
        shutil.copy(data_folder / "arm26" / "ref" / "CMC" / "arm26_states.sto", folder / "states.sto")
        (folder / "states.xml").write_text(text)
        (folder / "id.xml").write_text(moments)
    run_opensim(tmp_path / "theirs" / "states.xml", tmp_path / "theirs" / "id.xml")
    for name in ("states.xml", "id.xml"):
        assert run_setup(tmp_path / "ours" / name, compare=False).complete
    made = sorted((tmp_path / "theirs" / "results").glob("*.sto"))
    assert len(made) > 25
    for path in made:
        a, b = read_storage(tmp_path / "ours" / "results" / path.name), read_storage(path)
        assert a.names == b.names
        limit = 1e-8 * np.abs(b.values).max() + PRINTED
        assert_allclose(a.values, b.values, rtol=0, atol=limit, err_msg=path.name)


def test_deprecated_muscles_start_without_fibres(data_folder, tmp_path):
    """MoBL-ARMS at its default states: OpenSim's tendons are as long as the paths, and pull with tens of kN."""
    pytest.importorskip("opensim")
    model = read_osim(data_folder / "mobl_arms" / "MoBL_ARMS.osim")
    old = [m.name for m in model.muscles if m.kind.endswith("_Deprecated")]
    assert len(old) == 50
    time, free = np.linspace(0.0, 0.5, 11), model.independent_coordinate_names
    middle = np.array([np.mean(model.coordinate(name).range) for name in free])
    swing = middle + 0.1 * np.sin(3.0 * time[:, None] + np.arange(len(free)))
    text = (
        '<OpenSimDocument Version="40600"><AnalyzeTool name="t"><model_file>arm.osim</model_file>'
        "<results_directory>results</results_directory><output_precision>17</output_precision>"
        "<initial_time>0</initial_time><final_time>0.5</final_time>"
        "<solve_for_equilibrium_for_auxiliary_states>{}</solve_for_equilibrium_for_auxiliary_states>"
        + _set("<Actuation name='A'/><Kinematics name='K'/>")
        + "<coordinates_file>motion.sto</coordinates_file></AnalyzeTool></OpenSimDocument>"
    )
    for side in ("theirs", "ours"):
        (tmp_path / side).mkdir()
        shutil.copy(data_folder / "mobl_arms" / "MoBL_ARMS.osim", tmp_path / side / "arm.osim")
        write_result(tmp_path / side / "motion.sto", "Coordinates", time, free, swing, precision=17)
        (tmp_path / side / "run.xml").write_text(text.format("false"))
    run_opensim(tmp_path / "theirs" / "run.xml")
    (trouble,) = run_setup(tmp_path / "ours" / "run.xml", compare=False).troubles
    assert "start at a length of zero, as in OpenSim" in trouble
    for what in ("A_force", "K_dudt"):
        ours, theirs = (read_storage(tmp_path / side / "results" / f"t_{what}.sto") for side in ("ours", "theirs"))
        largest = np.abs(theirs.values).max()
        assert largest > 1e4
        assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-7 * largest, err_msg=what)
    (tmp_path / "ours" / "run.xml").write_text(text.format("true"))
    assert run_setup(tmp_path / "ours" / "run.xml", compare=False).complete


# --- scaling ----------------------------------------------------------------------------------------------------------
def test_a_whole_scale_tool(data_folder, tmp_path):
    pytest.importorskip("opensim")
    trial = data_folder / "gait2392" / "subject01_walk1.trc"
    measurements = {"pelvis": ([("R.ASIS", "L.ASIS")], [("pelvis", "XYZ")])}
    followed = ["R.ASIS", "L.ASIS", "V.Sacral", "R.Heel", "R.Toe.Tip", "L.Heel", "L.Toe.Tip", "Sternum"]
    text = scale_tool(
        str(data_folder / "gait2392" / "subject01_simbody.osim"),
        str(trial),
        measurements,
        {"torso": (1.05, 0.95, 1.1)},
        [*followed, "R.Acromium", "L.Acromium", "R.Thigh.Front", "L.Thigh.Front", "R.Shank.Front", "L.Shank.Front"],
        "measurements manualScale",
    )
    text = text.replace("<output_model_file>placed", "<output_marker_file>set.xml</output_marker_file>\\g<0>")
    text = text.replace("\\g<0>", "<output_model_file>placed")
    for side in ("theirs", "ours"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "setup.xml").write_text(text)
    run_opensim(tmp_path / "theirs" / "setup.xml")
    result = run_setup(tmp_path / "ours" / "setup.xml")
    assert result.complete
    made = {path.name for path in result.files}
    assert made == {"scaled.osim", "factors.xml", "pose.sto", "placed.osim", "set.xml"}
    assert made | {"setup.xml"} == {path.name for path in (tmp_path / "theirs").iterdir()} - LOGS
    factors = [
        re.findall(r"<scales>(.*?)</scales>\s*<segment>(.*?)</segment>", (tmp_path / side / "factors.xml").read_text())
        for side in ("theirs", "ours")
    ]
    assert factors[0] == factors[1]
    assert len(factors[0]) > 30
    assert header_layout(tmp_path / "ours" / "pose.sto")[1:] == header_layout(tmp_path / "theirs" / "pose.sto")[1:]
    poses = [read_storage(tmp_path / side / "pose.sto") for side in ("theirs", "ours")]
    assert poses[0].names == poses[1].names
    assert np.array_equal(poses[0].time, poses[1].time)
    assert_allclose(poses[1].values, poses[0].values, rtol=0, atol=SCALE_POSE)
    models = [read_osim(tmp_path / side / "placed.osim") for side in ("theirs", "ours")]
    assert models[0].name == models[1].name
    assert models[0].marker_names == models[1].marker_names
    for mine, theirs in zip(models[1].bodies, models[0].bodies, strict=True):
        assert_allclose((mine.mass, *mine.inertia), (theirs.mass, *theirs.inertia), rtol=1e-9)
    for mine, theirs in zip(models[1].markers, models[0].markers, strict=True):
        assert_allclose(mine.location, theirs.location, rtol=0, atol=SCALE_MARKERS, err_msg=mine.name)
    listed = [
        re.findall(r'Marker name="(.*?)"', (tmp_path / side / "set.xml").read_text()) for side in ("theirs", "ours")
    ]
    assert listed[0] == listed[1] == list(models[0].marker_names)
