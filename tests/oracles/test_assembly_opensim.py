"""What OpenSim's `Model::assemble` does to the motion that its analyses see, and that `musculo run` does the same.

Its poses are ours until a clamped coordinate that drives a coupler meets the end of its range. From there on OpenSim's
poses are those of a search that stopped somewhere near; given them, our tables are OpenSim's.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from numpy.testing import assert_allclose

from musculo import Table, embedding_of, read_osim, read_storage
from musculo.analyses.recorded_motion import motion_of
from musculo.analyses.static_optimization.reserves import actuators_of
from musculo.io.tool_results import write_result
from musculo.opensim import read_setup, run_setup
from support.opensim_run import run_opensim

pytest.importorskip("opensim")

# Of the largest value of a table; eight printed decimals, and couplers that OpenSim leaves open by 2e-7.
SAME = 1e-7
# Sixteen printed decimals; OpenSim's assembly ends within 2e-9 of its minimum, twice.
ASSEMBLED = 1e-8
# How far off OpenSim's coordinates are where it no longer enforces couplers [rad].
RELAXED = 5e-4
STORES = {"leg6dof9musc": "leg6dof9musc_stance", "rajagopal_walk": "rajagopal_walk"}
KINEMATICS = '<Kinematics name="K"><in_degrees>false</in_degrees></Kinematics>'


def copied(data_folder: Path, name: str, folder: Path) -> str:
    """The data set in a folder with forces of muscles that were recorded, and its set-up of joint reactions."""
    shutil.copytree(data_folder / name, folder, ignore=shutil.ignore_patterns("ref"))
    folder.chmod(0o755)
    kept, columns = recorded(data_folder, name)
    write_result(
        folder / "forces.sto",
        "forces",
        kept["so_force"][:, 0],
        columns["so_force"]["columns"][1:],
        kept["so_force"][:, 1:],
        precision=17,
    )
    text = (folder / "oracle_setup_jr_ground.xml").read_text()
    motion = re.search(r"<coordinates_file>(.*?)<", text)[1].strip()
    shutil.copy(folder / motion if (folder / motion).exists() else data_folder / name / motion, folder / "motion.mot")
    for element, value in (
        ("results_directory", "results"),
        ("coordinates_file", "motion.mot"),
        ("forces_file", "forces.sto"),
        ("output_precision", "17"),
    ):
        text = re.sub(rf"<{element}>.*?<", f"<{element}>{value}<", text)
    return text


def recorded(data_folder: Path, name: str):
    store = data_folder / "oracle" / STORES[name]
    return np.load(store / "results.npz"), json.loads((store / "results.json").read_text())["columns"]


def with_analyses(text: str, analyses: str) -> str:
    objects = f"<AnalysisSet><objects>{analyses}</objects></AnalysisSet>"
    return re.sub("<AnalysisSet.*</AnalysisSet>", lambda _: objects, text, flags=re.S)


def without_muscles(file: Path, folder: Path) -> None:
    """A copy of a model that has no forces, `arm.osim`."""
    tree = etree.parse(str(file))
    for part in tree.find(".//ForceSet"):
        for force in list(part):
            part.remove(force)
    tree.write(str(folder / "arm.osim"))


def apart(folder: Path, file: str) -> float:
    """The largest difference between OpenSim's table in `results` and ours in `ours`, as a part of the largest."""
    ours, theirs = (read_storage(folder / which / file) for which in ("ours", "results"))
    assert ours.names == theirs.names
    assert_allclose(ours.time, theirs.time, rtol=0, atol=1e-9)
    scale = np.abs(theirs.values).max()
    assert scale > 0.0
    return float(np.abs(ours.values - theirs.values).max() / scale)


@pytest.mark.parametrize("name", STORES)
def test_recorded_reactions_are_ours_given_opensims_poses(data_folder, tmp_path, name):
    """Its poses and speeds, taken down live from the run that was recorded."""
    folder = tmp_path / name
    text = copied(data_folder, name, folder)
    (folder / "poses.xml").write_text(with_analyses(text, KINEMATICS))
    run_opensim(folder / "poses.xml")
    setup = read_setup(data_folder / name / "oracle_setup_jr_ground.xml")
    model = read_osim(setup.model_file, opensim_rounding=True)
    q, u = (read_storage(folder / "results" / f"{setup.name}_K_{what}.sto") for what in "qu")
    # it no longer enforces couplers, and is off; should this fail, tables may be compared from the same file
    given = q.coordinates(model)
    assert 1e-7 < np.abs(embedding_of(model).coordinates(embedding_of(model).independent(given)) - given).max() < 1e-5
    states = {}
    for joint in model.joints:
        for c in joint.coordinates:
            states[f"/jointset/{joint.name}/{c.name}/value"] = q.column(c.name)
            states[f"/jointset/{joint.name}/{c.name}/speed"] = u.column(c.name)
    write_result(
        folder / "states.sto", "states", q.time, list(states), np.stack(list(states.values()), axis=1), precision=17
    )
    analyses = tuple(replace(a, forces_file=folder / "forces.sto") for a in setup.analyses)
    setup = replace(setup, analyses=analyses, states_file=folder / "states.sto", coordinates_file=None)
    result = run_setup(setup, output=folder / "ours", compare=False)
    (file,) = result.files
    kept, columns = recorded(data_folder, name)
    ours, theirs = read_storage(file), kept["jr_ground"][:, 1:]
    assert list(ours.names) == columns["jr_ground"]["columns"][1:]
    assert_allclose(ours.values, theirs, rtol=0, atol=SAME * np.abs(theirs).max())


@pytest.mark.parametrize("name", STORES)
def test_without_ranges_reactions_are_ours_from_the_same_file(data_folder, tmp_path, name):
    """The same set-ups, but nothing is clamped: OpenSim assembles every frame, and no difference is left."""
    folder = tmp_path / name
    text = copied(data_folder, name, folder)
    model = folder / re.search(r"<model_file>(.*?)<", text)[1].strip()
    model.chmod(0o644)
    model.write_text(re.sub(r"<clamped>\s*true\s*<", "<clamped>false<", model.read_text()))
    reaction = re.search("<JointReaction.*</JointReaction>", text, flags=re.S)[0]
    text = re.sub("<final_time>.*?<", "<final_time>0.7<", text)
    (folder / "run.xml").write_text(with_analyses(text, KINEMATICS + reaction))
    run_opensim(folder / "run.xml")
    result = run_setup(folder / "run.xml", output=folder / "ours", compare=False)
    assert not any(note.startswith("clamped coordinates") for note in result.notes)
    for kind in ("K_q", "K_u", "JointReaction_ground_ReactionLoads"):
        assert apart(folder, f"{STORES[name]}_{kind}.sto") < ASSEMBLED, kind


def test_clamped_coordinates_stay_in_their_range(data_folder, tmp_path):
    """A knee that is bent too far: both put it at the end of its range, OpenSim within what its search leaves."""
    folder = tmp_path / "leg"
    text = copied(data_folder, "leg6dof9musc", folder)
    text = re.sub("(<lowpass_cutoff_frequency_for_coordinates>).*?<", r"\1-1<", text)
    motion = read_storage(folder / "motion.mot")
    bent = motion.values.copy()
    knee = motion.names.index("knee_angle_r")
    bent[:, knee] += 20.0  # [deg], beyond 10 for a part of the motion
    write_result(folder / "motion.mot", "Coordinates", motion.time, motion.names, bent, degrees=True, precision=17)
    (folder / "run.xml").write_text(with_analyses(text, KINEMATICS))
    run_opensim(folder / "run.xml")
    result = run_setup(folder / "run.xml", output=folder / "ours", compare=False)
    (note,) = (note for note in result.notes if note.startswith("clamped coordinates"))
    assert "knee_angle_r (by up to" in note
    assert "no longer enforces" in note
    ours, theirs = (read_storage(folder / w / "leg6dof9musc_stance_K_q.sto") for w in ("ours", "results"))
    end = read_osim(folder / "leg6dof9musc_added_mass.osim").coordinate("knee_angle_r").range[1]
    held = ours.column("knee_angle_r") == end
    assert 5 < held.sum() < len(ours) - 5
    assert np.radians(bent[:, knee]).max() > end + 0.03
    assert_allclose(ours.values, theirs.values, rtol=0, atol=RELAXED)


@pytest.mark.parametrize("open_by", [0.0, 0.005])
def test_closed_loops_are_closed_by_the_nearest_pose(data_folder, tmp_path, open_by):
    """The thoracoscapular shoulder, whose file closes its loop, or leaves it open by some millimetres, as filters do.

    Its speeds, which for this shoulder are no derivatives, leave the loop open in either case.
    """
    without_muscles(data_folder / "thoracoscapular_shoulder" / "ThoracoscapularShoulderModel.osim", tmp_path)
    model = read_osim(tmp_path / "arm.osim", opensim_rounding=True)
    e, time = embedding_of(model), np.linspace(0.0, 0.3, 31)
    z = e.independent(e.branch) + 0.02 * (1.0 - np.cos(np.linspace(5.0, 10.0, len(e.coordinate_names)) * time[:, None]))
    phase = np.random.default_rng(0).uniform(0.0, 6.0, len(model.coordinates))
    swing = e.coordinates(z) + open_by * np.sin(7.0 * time[:, None] + phase)
    write_result(tmp_path / "motion.sto", "Coordinates", time, model.coordinate_names, swing, precision=17)
    (tmp_path / "run.xml").write_text(_SETUP.format(KINEMATICS + '<JointReaction name="JR"/>'))
    run_opensim(tmp_path / "run.xml")
    result = run_setup(tmp_path / "run.xml", output=tmp_path / "ours", compare=False)
    assert result.complete
    for kind in ("K_q", "K_u"):
        assert apart(tmp_path, f"t_{kind}.sto") < ASSEMBLED, kind
    for kind in ("K_dudt", "JR_ReactionLoads"):
        assert apart(tmp_path, f"t_{kind}.sto") < SAME, kind
    moved = [note for note in result.notes if note.startswith("closed loops: poses are the nearest")]
    if not open_by:
        assert not moved
        return
    assert len(moved) == 1
    theirs = read_storage(tmp_path / "results" / "t_K_q.sto").coordinates(model)
    free = [k for k, c in enumerate(model.coordinates) if not c.locked]
    assert np.abs(theirs - swing)[:, free].max() > 1e-3
    # the independent coordinates of the file, which is what exact keeps, close it otherwise
    assert np.abs(theirs - motion_of(model, Table(time, model.coordinate_names, swing)).q).max() > 1e-3


# --- locks ------------------------------------------------------------------------------------------------------------
_SETUP = """<OpenSimDocument Version="40600"><AnalyzeTool name="t"><model_file>arm.osim</model_file>
<results_directory>results</results_directory><output_precision>17</output_precision><initial_time>0</initial_time>
<final_time>1</final_time>
<solve_for_equilibrium_for_auxiliary_states>true</solve_for_equilibrium_for_auxiliary_states><AnalysisSet><objects>{}</objects></AnalysisSet>
<coordinates_file>motion.sto</coordinates_file></AnalyzeTool></OpenSimDocument>"""


def write_swing(folder: Path, swing: float) -> Table:
    """All independent coordinates and the locked ones move [rad]."""
    model, time = read_osim(folder / "arm.osim"), np.linspace(0.0, 1.0, 41)
    columns = {}
    for k, c in enumerate(model.coordinates):
        if c.locked:
            columns[c.name] = c.default_value + swing * np.sin(3.0 * time + k)
        elif c.name in model.independent_coordinate_names:
            columns[c.name] = np.mean(c.range) + 0.2 * np.ptp(c.range) * np.sin(2.0 * time + k)
    values = np.stack(list(columns.values()), axis=1)
    write_result(folder / "motion.sto", "Coordinates", time, list(columns), values, precision=17)
    return Table(time, tuple(columns), values)


def test_locks_of_a_model_with_constraints_keep_the_speeds_of_their_columns(data_folder, tmp_path):
    """MoBL-ARMS, whose wrist is locked and drives couplers, with forces of all muscles from a file."""
    shutil.copy(data_folder / "mobl_arms" / "MoBL_ARMS.osim", tmp_path / "arm.osim")
    model = read_osim(tmp_path / "arm.osim")
    motion = write_swing(tmp_path, 0.1)
    muscles = [*model.muscle_names, *(motor.name for motor in actuators_of(model))]
    strength = [20.0 + 5.0 * (k % 7) for k in range(len(muscles))]
    pulls = (1.0 + np.sin(5.0 * motion.time))[:, None] * strength
    write_result(tmp_path / "forces.sto", "forces", motion.time, muscles, pulls, precision=17)
    analyses = KINEMATICS + '<JointReaction name="JR"><forces_file>forces.sto</forces_file></JointReaction>'
    (tmp_path / "run.xml").write_text(_SETUP.format(analyses))
    run_opensim(tmp_path / "run.xml")
    result = run_setup(tmp_path / "run.xml", output=tmp_path / "ours", compare=False)
    assert result.complete
    for kind in ("K_q", "K_u", "JR_ReactionLoads"):
        assert apart(tmp_path, f"t_{kind}.sto") < ASSEMBLED, kind
    speeds = read_storage(tmp_path / "results" / "t_K_u.sto")
    locked = [c.name for c in model.coordinates if c.locked]
    assert len(locked) == 3
    assert all(np.abs(speeds.column(name)).max() > 0.25 for name in locked)
    (note,) = (note for note in result.notes if "keep the speeds" in note)
    assert all(name in note for name in locked)
    # nothing of it is left where exact
    exact = motion_of(model, motion)
    assert (exact.u[:, [model.speed_index(name) for name in locked]] == 0.0).all()


def test_a_prescribed_coordinate_keeps_the_speed_of_its_column(data_folder, tmp_path):
    """The leg, whose knee has a coupler: the value is the function's, the speed the file's."""
    without_muscles(data_folder / "leg6dof9musc" / "leg6dof9musc.osim", tmp_path)
    tree = etree.parse(str(tmp_path / "arm.osim"))
    (ankle,) = (c for c in tree.iter("Coordinate") if c.get("name") == "ankle_angle_r")
    for empty in ankle.findall("prescribed_function"):
        ankle.remove(empty)
    etree.SubElement(ankle, "prescribed").text = "true"
    function = etree.SubElement(etree.SubElement(ankle, "prescribed_function"), "PolynomialFunction")
    etree.SubElement(function, "coefficients").text = "0.3 0.2 0.05"
    tree.write(str(tmp_path / "arm.osim"))
    time, names = np.linspace(0.0, 1.0, 41), read_osim(tmp_path / "arm.osim").coordinate_names
    swing = -0.1 + 0.1 * np.sin(3.0 * time[:, None] + np.arange(len(names)))
    write_result(tmp_path / "motion.sto", "Coordinates", time, names, swing, precision=17)
    (tmp_path / "run.xml").write_text(_SETUP.format(KINEMATICS + '<JointReaction name="JR"/>'))
    run_opensim(tmp_path / "run.xml")
    result = run_setup(tmp_path / "run.xml", output=tmp_path / "ours", compare=False)
    assert any("keep the speeds" in note and "ankle_angle_r (up to" in note for note in result.notes)
    for kind in ("K_q", "K_u", "K_dudt", "JR_ReactionLoads"):
        assert apart(tmp_path, f"t_{kind}.sto") < ASSEMBLED, kind
    q, u = (read_storage(tmp_path / "results" / f"t_K_{what}.sto").column("ankle_angle_r") for what in "qu")
    assert_allclose(q, 0.3 * time**2 + 0.2 * time + 0.05, atol=1e-8)
    assert np.abs(u - (0.6 * time + 0.2)).max() > 0.1


def test_locks_of_a_model_without_constraints_stand_still(data_folder, tmp_path):
    without_muscles(data_folder / "arm26" / "arm26.osim", tmp_path)
    tree = etree.parse(str(tmp_path / "arm.osim"))
    (elbow,) = (c for c in tree.iter("Coordinate") if c.get("name") == "r_elbow_flex")
    elbow.find("locked").text = "true"
    tree.write(str(tmp_path / "arm.osim"))
    write_swing(tmp_path, 0.1)
    (tmp_path / "run.xml").write_text(_SETUP.format(KINEMATICS + '<JointReaction name="JR"/>'))
    run_opensim(tmp_path / "run.xml")
    result = run_setup(tmp_path / "run.xml", output=tmp_path / "ours", compare=False)
    assert not any("keep the speeds" in note for note in result.notes)
    for kind in ("K_q", "K_u", "K_dudt", "JR_ReactionLoads"):
        assert apart(tmp_path, f"t_{kind}.sto") < ASSEMBLED, kind
    assert (read_storage(tmp_path / "results" / "t_K_u.sto").column("r_elbow_flex") == 0.0).all()
