"""OpenSim's tools from set-up files: layouts by hand, what is skipped, noted and refused; no other data is needed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import Table, inverse_dynamics, motion_of, read_storage
from musculo.analyses.recorded_motion import motion_of_states, opensim_rows
from musculo.demo import ARM_FLEXION_FILE, arm
from musculo.errors import InvalidFile, InvalidInput
from musculo.functions import Linear, Polynomial
from musculo.io.marker_set import read_marker_set, with_marker_set, write_marker_set
from musculo.io.tool_results import write_controls, write_result
from musculo.model.joints import Axis
from musculo.opensim import read_setup, run_setup
from musculo.opensim_tools.forces.simbody_departures import simbody_loads
from musculo.opensim_tools.order import waits_of
from musculo.opensim_tools.records.result import Status
from musculo.opensim_tools.tasks import LeastEffort
from musculo.opensim_tools.tools.inverse_dynamics_tool import moment_columns, tree_order
from support import tool_setups
from support.simbody_terms import simbody_excess
from support.tool_setups import arm_folder


# --- files ------------------------------------------------------------------------------------------------------------
def test_a_result_is_laid_out_as_opensim_prints_it(tmp_path):
    time, values = np.array([-2e-7, 0.5]), np.array([[1.0, -12.5], [123456.0, np.pi]])
    write_result(tmp_path / "a.sto", "Title", time, ("a", "b"), values, description="Words.\n", degrees=True)
    assert (tmp_path / "a.sto").read_text() == (
        "Title\nversion=1\nnRows=2\nnColumns=3\ninDegrees=yes\nWords.\nendheader\ntime\ta\tb\n"
        "     -0.00000020\t      1.00000000\t    -12.50000000\n"
        "      0.50000000\t 123456.00000000\t      3.14159265\n"
    )
    write_result(tmp_path / "b.sto", "Title", time, ("a", "b"), values, precision=3)
    assert (tmp_path / "b.sto").read_text().splitlines()[-1] == "      0.500\t 123456.000\t      3.142"
    with pytest.raises(InvalidInput, match="do not fit"):
        write_result(tmp_path / "c.sto", "Title", time, ("a",), values)


def test_controls_keep_every_digit(tmp_path):
    write_controls(tmp_path / "c.xml", np.array([0.1, 0.2]), ("a&b",), np.array([[1 / 3], [0.01]]))
    text = (tmp_path / "c.xml").read_text()
    assert '<ControlLinear name="a&amp;b">' in text
    assert "<t>0.10000000000000001</t>" in text
    assert "<value>0.33333333333333331</value>" in text


def test_markers_go_to_a_file_and_back(tmp_path):
    model = arm()
    write_marker_set(model, tmp_path / "set.xml")
    found = read_marker_set(tmp_path / "set.xml", model)
    assert [(m.name, m.location, m.fixed) for m in found] == [(m.name, m.location, m.fixed) for m in model.markers]
    again = with_marker_set(model, found[:2])
    assert again.marker_names == (*model.marker_names[2:], *model.marker_names[:2])
    assert_allclose(
        musculo.kinematics(again, np.zeros(2)).markers(model.marker_names),
        musculo.kinematics(model, np.zeros(2)).markers(model.marker_names),
    )
    (tmp_path / "set.xml").write_text('<OpenSimDocument Version="40600"><BodySet/></OpenSimDocument>')
    with pytest.raises(InvalidFile, match="no <MarkerSet>"):
        read_marker_set(tmp_path / "set.xml", model)


# --- motions ----------------------------------------------------------------------------------------------------------
def test_rows_are_those_at_or_before_both_ends():
    time = np.array([0.0, 0.1, 0.2, 0.3])
    assert opensim_rows(time, 0.15, 0.29) == slice(1, 3)
    assert opensim_rows(time, -np.inf, np.inf) == slice(0, 4)
    assert opensim_rows(time, 5.0, 6.0) == slice(3, 4)
    with pytest.raises(InvalidInput, match="end must not come before"):
        opensim_rows(time, 1.0, 0.0)


def _swing(columns=("hip_flexion", "knee_flexion", "ankle_dorsiflexion")):
    time = np.linspace(0.0, 1.0, 101)
    waves = np.stack([0.3 * np.sin(2.0 * time + k) + 0.6 for k in range(len(columns))], axis=1)
    return Table(time, columns, waves)


def test_the_three_ways_treat_a_coordinate_without_a_column_as_they_say(leg):
    table = _swing()
    patella = leg.coordinate_index("patella_angle")
    exact = motion_of(leg, table)
    assert exact.notes == ()  # it follows the knee
    e = musculo.embedding_of(leg)
    motion = e.motion(e.independent(exact.q), e.independent_speeds(exact.q, exact.u))
    assert_allclose(exact.q, motion.q)
    assert_allclose(exact.u, motion.u)
    assert np.abs(exact.u[:, patella]).max() > 0.1
    like_id = motion_of(leg, table, like="opensim")
    assert (like_id.q[:, patella] == leg.coordinate("patella_angle").default_value).all()
    assert "patella_angle" in like_id.notes[0]
    analyzed = motion_of(leg, table, like="opensim", tool="analyze")
    # The coordinate is made to follow, its speed is not: a fault of OpenSim that is kept.
    assert_allclose(analyzed.q, exact.q)
    assert (analyzed.u[:, patella] == 0.0).all()


def test_rates_are_derivatives(leg):
    table = _swing()
    motion = motion_of(leg, table)
    t, inside = table.time, slice(10, -10)
    assert_allclose(motion.u[inside, 0], 0.6 * np.cos(2.0 * t)[inside], atol=1e-8)
    assert_allclose(motion.udot[inside, 0], -1.2 * np.sin(2.0 * t)[inside], atol=1e-5)
    analyzed = motion_of(leg, table, like="opensim", tool="analyze")
    assert_allclose(analyzed.udot[inside, 0], motion.udot[inside, 0], atol=1e-4)
    assert np.abs(analyzed.udot - motion.udot).max() > 1e-9  # splines of speeds are others


def test_the_speeds_of_a_ball_are_its_angular_velocity():
    model = arm()
    pin = model.joint("shoulder")
    three = tuple(musculo.Coordinate(name) for name in ("rx", "ry", "rz"))
    ball = musculo.model.BallJoint("shoulder", pin.parent, pin.child, three)
    model = model.replace(joints=(ball, model.joint("elbow")), forces=())
    t = np.linspace(0.0, 1.0, 201)
    angles = np.stack([0.5 * np.sin(t + 0.3 * k) for k in range(4)], axis=1)
    table = Table(t, model.coordinate_names, angles)
    exact = motion_of(model, table)
    assert_allclose(exact.u, musculo.speeds_from_rates(model, exact.q, motion_of(model, table, like="opensim").u))
    slopes = (exact.u[2:] - exact.u[:-2]) / (t[2:] - t[:-2])[:, None]
    assert_allclose(exact.udot[5:-5], slopes[4:-4], atol=1e-4)


def test_states_need_radians_and_keep_their_speeds(leg):
    names = [
        f"/jointset/{j.name}/{c.name}/{what}" for j in leg.joints for c in j.coordinates for what in ("value", "speed")
    ]
    table = Table(np.arange(8) / 10, tuple(names), np.tile(np.arange(len(names)) / 100, (8, 1)))
    motion = motion_of_states(leg, table)
    assert (motion.u[:, 0] == 0.01).all()
    assert (motion.q[:, 0] == 0.0).all()
    with pytest.raises(InvalidInput, match="radians"):
        motion_of_states(leg, replace(table, degrees=True))


def test_too_few_frames_are_refused(leg):
    with pytest.raises(InvalidInput, match="5 frames; rates need 6"):
        motion_of(leg, Table(np.arange(5.0), ("hip_flexion",), np.zeros((5, 1))))


# --- Simbody's term ---------------------------------------------------------------------------------------------------
def test_loads_give_what_simbody_adds(leg):
    """A knee whose angle drives three rotations, as Rajagopal's; the sum over bodies was written apart from it."""
    knee = leg.joint("knee")
    turns = ((0.0, 0.0, 1.0), Linear(1.0, 0.0)), ((0.0, 1.0, 0.0), Polynomial((0.3, 0.1, 0.0)))
    turns = (*turns, ((1.0, 0.0, 0.0), Polynomial((-0.4, 0.2, 0.0))))
    axes = tuple(Axis(direction, function, ("knee_flexion",)) for direction, function in turns)
    model = leg.with_joint(
        musculo.model.CustomJoint(knee.name, knee.parent, knee.child, knee.coordinates, rotations=axes)
    ).replace(forces=())
    rng = np.random.default_rng(1)
    q, u = rng.normal(size=(2, 5, len(model.coordinates)))
    loads = simbody_loads(model, q, u)
    rest = np.zeros_like(u)
    added = inverse_dynamics(model, q, u, rest, loads) - inverse_dynamics(model, q, u, rest)
    assert np.abs(added).max() > 1e-3
    assert_allclose(added, simbody_excess(model, q, u), atol=1e-12)
    assert simbody_loads(leg, q, u) == []


# --- names ------------------------------------------------------------------------------------------------------------
def test_moments_are_listed_level_by_level(leg):
    order = [joint.name for joint in tree_order(leg)]
    assert sorted(order) == sorted(leg.joint_names)
    depth = {"ground": 0}
    for joint in tree_order(leg):
        depth[joint.child.body] = depth[joint.parent.body] + 1
    levels = [depth[joint.child.body] for joint in tree_order(leg)]
    assert levels == sorted(levels)
    names, columns = moment_columns(leg)
    assert "knee_flexion_moment" in names
    assert [leg.speed_names[k] for k in columns] == [name.rsplit("_", 1)[0] for name in names]


# --- runs -------------------------------------------------------------------------------------------------------------
def test_inverse_dynamics_from_a_set_up(tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics("<time_range>0.2 0.4</time_range>"))
    result = run_setup(folder / "id.xml")
    assert result.status is Status.DONE
    assert result.files == (folder / "results" / "id.sto",)
    found, model = read_storage(result.files[0]), arm()
    motion = motion_of(model, read_storage(ARM_FLEXION_FILE))
    tau = inverse_dynamics(model, motion.q, motion.u, motion.udot)[24:49]
    assert found.names == ("shoulder_flexion_moment", "elbow_flexion_moment")
    assert found.time[0] == 0.2
    assert len(found) == 25
    assert_allclose(found.values, tau, atol=1e-8)


def test_the_filter_is_opensims_unless_exact(tmp_path):
    more = "<lowpass_cutoff_frequency_for_coordinates>6</lowpass_cutoff_frequency_for_coordinates>"
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics(more))
    theirs = run_setup(folder / "id.xml", output=tmp_path / "theirs")
    exact = run_setup(folder / "id.xml", output=tmp_path / "exact", like=None)
    a, b = (read_storage(result.files[0]) for result in (theirs, exact))
    assert len(a) > 1.9 * len(b)
    assert len(b) == 121
    assert any("rows lie outside the recording" in note for note in theirs.notes)
    inside = np.isin(np.round(a.time, 4), np.round(b.time, 4))
    assert inside.sum() >= 100
    assert 1e-4 < np.abs(a.values[inside][20:-20] - b.values[20:-20]).max() < 0.5


def test_motors_alone_give_the_moments(tmp_path):
    one = '<StaticOptimization name="SO"><use_model_force_set>false</use_model_force_set></StaticOptimization>'
    folder = arm_folder(tmp_path, so=tool_setups.analyze(one), id=tool_setups.inverse_dynamics())
    run_setup(folder / "so.xml", compare=False)
    run_setup(folder / "id.xml")
    found, moments = (read_storage(folder / "results" / name) for name in ("arm_SO_force.sto", "id.sto"))
    assert found.names == ("shoulder_flexion_actuator", "elbow_flexion_actuator")
    # Targets are slopes of splines through speeds, so the ends differ a little.
    assert_allclose(found.values[5:-5], moments.values[5:-5], atol=1e-3)


def test_choices_that_no_set_up_file_has(tmp_path):
    folder = arm_folder(tmp_path, so=tool_setups.analyze('<StaticOptimization name="SO"/>'))
    setup = read_setup(folder / "so.xml")
    found = {}
    for passive in (True, False):
        analysis = LeastEffort("SO", passive=passive, reserve=5.0)
        run_setup(replace(setup, analyses=(analysis,), source=""), output=tmp_path / str(passive), exact=True)
        found[passive] = read_storage(tmp_path / str(passive) / "arm_SO_force.sto")
    motors = ("shoulder_motor", "elbow_motor", "shoulder_flexion_reserve", "elbow_flexion_reserve")
    assert found[True].names == (*arm().muscle_names, *motors)
    assert np.abs(found[True].values - found[False].values).max() > 1.0


def test_forces_that_cannot_be_computed_are_told(tmp_path):
    limit = "<ExponentialContactForce name='stop'/></objects>"
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics(), so=tool_setups.analyze("<Kinematics name='K'/>"))
    (folder / "reserves.xml").write_text(tool_setups.RESERVES.replace("</objects>", limit))
    result = run_setup(folder / "so.xml", compare=False)
    assert not result.complete
    assert "stop" in result.troubles[0]
    assert len(result.files) == 3


def test_a_step_interval_keeps_the_first_the_last_and_every_so_many(tmp_path):
    one = '<Kinematics name="K"><step_interval>50</step_interval></Kinematics>'
    more = "<initial_time>0.1</initial_time><final_time>0.95</final_time>"
    folder = arm_folder(tmp_path, k=tool_setups.analyze(one, more))
    run_setup(folder / "k.xml", compare=False)
    time = read_storage(folder / "results" / "arm_K_q.sto").time
    assert_allclose(120 * time, [12, 50, 100, 114], atol=1e-3)  # of 121 frames in a second


def test_what_is_not_known_is_named_and_the_rest_goes_on(tmp_path):
    odd = '<OutputReporter name="odd"/><Kinematics name="K"/>'
    more = "<ControllerSet><objects><ToyReflexController name='c'/></objects></ControllerSet>"
    folder = arm_folder(tmp_path, mixed=tool_setups.analyze(odd, more))
    result = run_setup(folder / "mixed.xml", compare=False)
    assert result.status is Status.INCOMPLETE
    assert not result.complete
    assert any("OutputReporter" in trouble for trouble in result.troubles)
    assert any("ToyReflexController" in trouble for trouble in result.troubles)
    assert {file.name for file in result.files} == {f"arm_K_{what}.sto" for what in ("q", "u", "dudt")}


def test_frames_that_muscles_cannot_serve_are_told(tmp_path):
    one = '<StaticOptimization name="SO"/>'
    text = tool_setups.analyze(one).replace("<force_set_files>reserves.xml</force_set_files>", "")
    folder = arm_folder(tmp_path, so=text)
    model = arm()
    weak = tuple(replace(muscle, max_isometric_force=1.0) for muscle in model.muscles)
    musculo.write_osim(model.replace(forces=weak), folder / "arm.osim")
    result = run_setup(folder / "so.xml", compare=False)
    assert result.status is Status.INCOMPLETE
    assert "cannot be served" in result.troubles[0]
    assert "shoulder_flexion" in result.troubles[0]
    assert len(result.files) == 3


def test_a_forces_file_without_an_actuator_is_ignored_and_told(tmp_path):
    one = '<JointReaction name="JR"><forces_file>forces.sto</forces_file></JointReaction>'
    folder = arm_folder(tmp_path, jr=tool_setups.analyze(one))
    write_result(folder / "forces.sto", "f", np.array([0.0, 1.0]), ("brachialis",), np.ones((2, 1)))
    result = run_setup(folder / "jr.xml", compare=False)
    assert any("no column for triceps_long" in trouble for trouble in result.troubles)
    assert len(read_storage(result.files[0]).names) == 2 * 9


def test_scaling_by_hand(tmp_path):
    text = tool_setups.document(
        "ScaleTool",
        "<mass>-1</mass><GenericModelMaker><model_file>arm.osim</model_file></GenericModelMaker>"
        "<ModelScaler><scaling_order>manualScale</scaling_order><ScaleSet><objects><Scale><scales>1 2 1</scales>"
        "<segment>forearm</segment><apply>true</apply></Scale></objects></ScaleSet>"
        "<output_model_file>long.osim</output_model_file><output_scale_file>factors.xml</output_scale_file></ModelScaler>"
        "<MarkerPlacer><apply>false</apply></MarkerPlacer>",
        "subject",
    )
    folder = arm_folder(tmp_path, scale=text)
    result = run_setup(folder / "scale.xml")
    assert {file.name for file in result.files} == {"long.osim", "factors.xml"}
    scaled, model = musculo.read_osim(folder / "long.osim"), arm()
    assert scaled.name == "subject"
    assert_allclose(scaled.marker("wrist_ulnar").location, np.multiply(model.marker("wrist_ulnar").location, (1, 2, 1)))
    assert "<scales> 1 2 1</scales>" in (folder / "factors.xml").read_text()


# --- records ----------------------------------------------------------------------------------------------------------
def test_a_run_is_not_done_twice_unless_something_changed(tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics())
    setup = folder / "id.xml"
    first = run_setup(setup, force=False)
    record = json.loads((folder / "results" / "id.musculo.json").read_text())
    assert {name.rsplit("/", 1)[-1] for name in record["inputs"]} == {"id.xml", "arm.osim", "motion.mot"}
    again = run_setup(setup, force=False)
    assert (first.status, again.status) == (Status.DONE, Status.UNCHANGED)
    assert [file.name for file in again.files] == ["id.sto"]
    assert again.notes == first.notes
    assert run_setup(setup).status is Status.DONE  # asked for from Python, it runs
    assert run_setup(setup, force=False, like=None).status is Status.DONE
    run_setup(setup)
    result = folder / "results" / "id.sto"
    result.write_text(result.read_text().replace("version=1", "version=1 "))
    assert run_setup(setup, force=False).status is Status.DONE
    motion = folder / "motion.mot"
    motion.write_text(motion.read_text() + "\n")
    assert run_setup(setup, force=False).status is Status.DONE
    kept = folder / "results" / "id.musculo.json"
    kept.write_text(kept.read_text()[:40])
    assert run_setup(setup, force=False).status is Status.DONE
    assert run_setup(setup, force=False).status is Status.UNCHANGED


def test_progress_goes_from_nothing_to_all(tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics())
    told: list[tuple[str, float]] = []
    run_setup(read_setup(folder / "id.xml"), progress=lambda what, part: told.append((what, part)))
    parts = [part for _, part in told]
    assert parts == sorted(parts)
    assert parts[-1] == 1.0
    assert len(parts) >= 3


# --- bad input --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (tool_setups.inverse_dynamics().replace("<model_file>arm.osim</model_file>", ""), "names no <model_file>"),
        (tool_setups.inverse_dynamics().replace("arm.osim", "leg.osim"), "no file .*leg.osim"),
        (tool_setups.inverse_dynamics().replace("motion.mot", "reserves.xml"), "reserves.xml"),
        (tool_setups.inverse_dynamics("<time_range>1 0</time_range>"), "end must not come before"),
        ("<OpenSimDocument Version='40600'><MomentTool/></OpenSimDocument>", "known tools"),
    ],
)
def test_bad_input_is_one_clear_sentence(tmp_path, text, wrong):
    folder = arm_folder(tmp_path, setup=text)
    with pytest.raises(musculo.MusculoError, match=wrong):
        run_setup(folder / "setup.xml", compare=False)


def test_setups_wait_only_where_they_share_files(tmp_path):
    folder = arm_folder(
        tmp_path,
        so=tool_setups.analyze('<StaticOptimization name="SO"/>'),
        k=tool_setups.analyze('<Kinematics name="K"/>'),
        jr=tool_setups.analyze(
            '<JointReaction name="JR"><forces_file>results/arm_SO_force.sto</forces_file></JointReaction>'
        ),
        same=tool_setups.analyze('<Kinematics name="K"/>'),
    )
    so, k, jr, same = (folder / f"{name}.xml" for name in ("so", "k", "jr", "same"))
    assert [set(w.after) for w in waits_of([so, k, jr, same])] == [set(), set(), {0}, {1}]
    assert [set(w.needs) for w in waits_of([so, k, jr, same])] == [set(), set(), {0}, set()]
    # given first, it reads the file of an earlier call, which must not change meanwhile
    assert waits_of([jr, so]) == [(set(), set()), ({0}, set())]
    # what is written elsewhere is read there
    assert waits_of([folder / "none.xml", so, jr], tmp_path / "elsewhere")[2].needs == {1}
    assert waits_of([folder / "none.xml", k, jr], tmp_path / "elsewhere")[2].after == set()


def test_the_table_of_external_loads_is_an_input(tmp_path):
    """A set-up that writes the table that the loads of another one name comes first."""
    loads = (
        "<OpenSimDocument><ExternalLoads><objects/><datafile>results/{}</datafile></ExternalLoads></OpenSimDocument>"
    )
    folder = arm_folder(
        tmp_path,
        k=tool_setups.analyze('<Kinematics name="K"/>'),
        id=tool_setups.inverse_dynamics("<external_loads_file>loads.xml</external_loads_file>"),
    )
    both = [folder / "k.xml", folder / "id.xml"]
    for table, needs in (("arm_K_q.sto", {0}), ("other.sto", set())):
        (folder / "loads.xml").write_text(loads.format(table))
        assert waits_of(both)[1].needs == needs
    (folder / "loads.xml").unlink()
    assert waits_of(both)[1].needs == set()
