"""Recordings that cannot be what they seem: other units, other axes, holes, and times that have nothing in common."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import musculo
from musculo import (
    Body,
    Coordinate,
    Marker,
    Markers,
    Model,
    Table,
    motion_of,
    read_osim,
    read_storage,
    write_osim,
    write_storage,
)
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE, arm, arm_flexion
from musculo.io import write_external_loads, write_trc
from musculo.model import FreeJoint
from musculo.report import report_of_folder
from musculo.report.read_folder import read_folder
from musculo.results import ExternalForce, ExternalLoads
from support import tool_setups
from support.tool_setups import arm_folder

TIME = np.arange(101) / 100.0
STEM = ARM_FLEXION_FILE.stem
INERTIA = (0.1, 0.2, 0.3, 0.0, 0.0, 0.0)


@pytest.fixture
def walker(tmp_path):
    """A body that moves freely, with four markers, walking for a second; its files are in `tmp_path`."""
    names = ("rx", "ry", "rz", "tx", "ty", "tz")
    markers = [(0.1, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.2), (-0.1, 0.5, 0.1)]
    base = FreeJoint("base", "ground", "b", tuple(Coordinate(n) for n in names))
    placed = tuple(Marker(f"m{k}", "b", at) for k, at in enumerate(markers))
    model = Model("walker", (Body("b", 70.0, inertia=INERTIA),), (base,), markers=placed)
    write_osim(model, tmp_path / "walker.osim")
    q = np.zeros((101, 6))
    q[:, 3], q[:, 4] = 1.3 * TIME, 0.95 + 0.02 * np.sin(12.0 * TIME)
    q[:, 2] = 0.1 * np.sin(6.0 * TIME)
    write_storage(Table(TIME, names, q, degrees=False), tmp_path / "walk.mot")
    at = musculo.kinematics(model, q).markers(model.marker_names)
    write_trc(Markers(TIME, model.marker_names, at), tmp_path / "walk.trc")
    return tmp_path


def plates(path, start=0.0, scale=1.0, body="b", applies=True):
    """A weight on a body for a second from `start`, its points in other units where `scale` says so."""
    names = [f"f_{what}{axis}" for what in "vp" for axis in "xyz"]
    row = [0.0, 686.0, 0.0, 0.4 * scale, 0.0, 0.1 * scale]
    force = ExternalForce("plate", body, "f_v", "f_p", applies=applies)
    write_external_loads(ExternalLoads("plates", (force,), Table(start + TIME, names, [row] * 101)), path)
    return path


def flat(told) -> str:
    return " ".join((told.out + told.err).split())


def changed(path, target, scale=1.0, keep=None):
    table = read_storage(path)
    values = np.array(table.values)
    values[:, 3:] *= scale
    keep = np.ones(len(table), dtype=bool) if keep is None else keep
    write_storage(replace(table, time=table.time[keep], values=values[keep]), target)
    return target


# --- names and wild numbers -----------------------------------------------------------------------------------------
def test_the_name_of_a_subject_before_markers_is_told(shell, walker):
    trial = musculo.read_trc(walker / "walk.trc")
    write_trc(trial.rename(lambda name: f"Subj1:{name}"), walker / "named.trc")
    plain = shell("ik", walker / "walker.osim", walker / "walk.trc", "-o", walker / "out")
    told = shell("ik", walker / "walker.osim", walker / "named.trc", "-o", walker / "out")
    assert (plain.status, told.status) == (0, 0)
    assert "named.trc: 4 markers were renamed: 'Subj1:' before their names was dropped" in flat(told)
    assert "lacks" not in flat(told)
    ours, theirs = (read_storage(walker / "out" / f"{name}_ik.mot") for name in ("named", "walk"))
    np.testing.assert_array_equal(ours.values, theirs.values)


def test_a_marker_beyond_any_laboratory_is_a_gap(shell, walker):
    lines = (walker / "walk.trc").read_text().split("\n")
    cells = lines[20].split("\t")
    cells[6] = "1e308"
    lines[20] = "\t".join(cells)
    (walker / "wild.trc").write_text("\n".join(lines))
    told = shell("ik", walker / "walker.osim", walker / "wild.trc", "-o", walker / "out")
    assert told.status == 0
    assert "wild.trc: 1 points beyond 1e+06 m (m1) are not positions: treated as gaps" in flat(told)
    assert "inf" not in flat(told).split()
    assert np.isfinite(read_storage(walker / "out" / "wild_ik_marker_errors.sto").values).all()


# --- units ------------------------------------------------------------------------------------------------------------
def test_millimetres_in_motions_and_points_are_hinted_at(shell, walker):
    good = plates(walker / "good.xml")
    told = flat(shell("id", walker / "walker.osim", walker / "walk.mot", "-l", good, "-o", walker / "good"))
    assert "in millimeters?" not in told
    bad = changed(walker / "walk.mot", walker / "mm.mot", 1e3)
    told = flat(
        shell("id", walker / "walker.osim", bad, "-l", plates(walker / "far.xml", scale=1e3), "-o", walker / "mm")
    )
    assert "tx 1300 m, ty 970 m from the origin" in told
    assert "the force on b acts 400 m from the origin" in told
    assert told.count("in millimeters?") == 2


@pytest.mark.parametrize(
    ("direction", "words"),
    [
        ((0.1, -1.0, 0.0), "external loads pull the model down (-y): do they hold forces on the plates"),
        ((0.1, 0.0, 1.0), "external loads push the model along +z, and gravity requires them to point up"),
        ((0.1, 1.0, 0.0), ""),
        ((1.0, 1.0, 0.0), ""),
    ],
    ids=["down", "aside", "up", "oblique"],
)
def test_loads_that_do_not_carry_are_told(shell, walker, direction, words):
    names = [f"f_{what}{axis}" for what in "vp" for axis in "xyz"]
    row = [*(686.0 * np.array(direction)), 0.4, 0.0, 0.1]
    loads = ExternalLoads("plates", (ExternalForce("plate", "b", "f_v", "f_p"),), Table(TIME, names, [row] * 101))
    write_external_loads(loads, walker / "l.xml")
    told = flat(shell("id", walker / "walker.osim", walker / "walk.mot", "-l", walker / "l.xml", "-o", walker / "out"))
    assert words in told
    assert ("external loads pu" in told) == bool(words)


@pytest.mark.parametrize(
    ("force", "point", "moment", "words"),
    [
        (1e-3, 1.0, 0.0, "the largest force is 0.686 N, and the model weighs 686 N: are forces in kN, or in parts"),
        (1.0 / 70.0, 1.0, 0.0, "the largest force is 9.8 N, and the model weighs 686 N: are forces in N/kg?"),
        (1.0, 1.0, 8.0e3, "the moment on b is 8000 N m where its force is 686 N: are moments in N mm?"),
        (1.0, 1e2, 0.0, "m from it: are points in cm, or in other axes than the motion?"),
        (1.0, 1e3, 0.0, "are they in cm, or in millimeters?"),
        (1.0, 1.0, 8.0, ""),
    ],
    ids=["kN", "N per kg", "N mm", "cm", "mm", "right"],
)
def test_units_of_loads_that_cannot_be_are_told(shell, walker, force, point, moment, words):
    names = [f"f_{what}{axis}" for what in "vpm" for axis in "xyz"]
    row = [0.0, 686.0 * force, 0.0, 0.4 * point, 0.0, 0.1 * point, 0.0, moment, 0.0]
    plate = ExternalForce("plate", "b", "f_v", "f_p", "f_m")
    loads = ExternalLoads("plates", (plate,), Table(TIME, names, [row] * 101))
    write_external_loads(loads, walker / "l.xml")
    told = flat(shell("id", walker / "walker.osim", walker / "walk.mot", "-l", walker / "l.xml", "-o", walker / "out"))
    asked = told.count("are forces in") + told.count("are moments in") + told.count("are points in")
    asked += told.count("are they in cm, or in millimeters?")
    assert asked == (1 if words else 0)
    assert words in told
    model, motion = (
        read_osim(walker / "walker.osim"),
        motion_of(read_osim(walker / "walker.osim"), read_storage(walker / "walk.mot")),
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        musculo.inverse_dynamics(model, motion.q, motion.u, motion.udot, loads=loads, time=motion.time)
    assert any(words in str(one.message) for one in warned) == bool(words)


def test_points_in_cm_are_asked_about_in_one_line(shell, walker):
    """Also where only those of a small force are beyond any laboratory."""
    names = [f"f_{what}{axis}" for what in "vp" for axis in "xyz"]
    values = np.tile([0.0, 686.0, 0.0, 40.0, 0.0, 10.0], (101, 1))
    values[90:] = (0.0, 50.0, 0.0, 130.0, 0.0, 10.0)
    loads = ExternalLoads("plates", (ExternalForce("plate", "b", "f_v", "f_p"),), Table(TIME, names, values))
    write_external_loads(loads, walker / "l.xml")
    told = flat(shell("id", walker / "walker.osim", walker / "walk.mot", "-l", walker / "l.xml", "-o", walker / "out"))
    assert "acts 130 m from the origin; points are in meters: are they in cm, or in millimeters?" in told
    assert told.count("in cm") == 1


def test_how_far_off_a_foot_is_has_one_number(shell, tmp_path):
    """That of the frames that were analysed, also on the page, which knows the whole motion."""
    base = FreeJoint("base", "ground", "foot_r", tuple(Coordinate(n) for n in ("rx", "ry", "rz", "tx", "ty", "tz")))
    other = FreeJoint("other", "foot_r", "foot_l", tuple(Coordinate(n) for n in ("a", "b", "c", "x", "y", "z")))
    bodies = tuple(Body(f"foot_{side}", 35.0, inertia=INERTIA) for side in "rl")
    model = Model("feet", bodies, (base, other))
    write_osim(model, tmp_path / "feet.osim")
    q = np.zeros((101, 12))
    q[:, 11] = 0.4 + 1.0 * TIME  # the left foot leaves
    write_storage(Table(TIME, model.coordinate_names, q, degrees=False), tmp_path / "walk.mot")
    loads = plates(tmp_path / "l.xml", body="foot_l")
    write_points_at(tmp_path / "l.mot", 0.0)
    call = ("id", tmp_path / "feet.osim", tmp_path / "walk.mot", "-l", loads, "-o", tmp_path / "out", "--time", "0:0.2")
    told = shell(*call)
    line = next(line for line in told.out.splitlines() if "wrong foot" in line)
    assert "acts 0.5 m from it" in line
    (check,) = [one for one in report_of_folder(tmp_path / "out", scene=False).checks if one.title == "Feet and plates"]
    assert line.removeprefix("  note: ") == check.found


def write_points_at(path, x):
    """Points of a plate at x, on the floor below the origin."""
    table = read_storage(path)
    values = np.array(table.values)
    values[:, 3:] = (x, 0.0, 0.0)
    write_storage(replace(table, values=values), path)


def test_points_of_forces_that_do_not_act_are_no_matter(shell, walker):
    """Plates divide by the force to find its point: with nothing on them it is anywhere."""
    loads = plates(walker / "l.xml")
    table = read_storage(walker / "l.mot")
    values = np.array(table.values)
    values[60:] = (0.0, 2e-4, 0.0, 332.0, 0.0, -150.0)
    write_storage(replace(table, values=values), walker / "l.mot")
    told = shell("id", walker / "walker.osim", walker / "walk.mot", "-l", loads, "-o", walker / "out", "--no-report")
    assert told.status == 0
    assert "in millimeters?" not in flat(told)


# --- axes -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("up", "turn"),
    [
        ("y", np.eye(3)),
        ("z", np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])),
        ("x", np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])),
    ],
)
def test_another_axis_up_is_hinted_at(shell, data_folder, tmp_path, up, turn):
    walk = musculo.read_trc(data_folder / "gait10dof18musc" / "subject01_walk.trc").between(0.0, 0.1)
    write_trc(walk.rotated(turn), tmp_path / "walk.trc")
    model = data_folder / "gait10dof18musc" / "subject01.osim"
    told = flat(shell("ik", model, tmp_path / "walk.trc", "-o", tmp_path / "out", "--no-report"))
    # a planar model can turn by itself to where x is up, but not to where z is
    words = {"y": "markers", "z": "mm where z is assumed to point up", "x": "the file has x up"}
    assert words[up] in told
    assert ("point up" in told) == (up != "y")


def test_a_body_that_turns_freely_lies_on_its_side_where_z_is_up(shell, walker):
    trial = musculo.read_trc(walker / "walk.trc")
    for turn, said in ((np.eye(3), False), (np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]), True)):
        write_trc(trial.rotated(turn), walker / "turned.trc")
        told = flat(shell("ik", walker / "walker.osim", walker / "turned.trc", "-o", walker / "out", "--force"))
        assert ("what points up of 'b' by default points along z here" in told) == said


@pytest.mark.parametrize(
    ("up", "turn"),
    [
        ("z", ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))),
        ("-y", ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))),
    ],
)
def test_the_upward_axis_of_a_trc_can_be_stated(shell, walker, up, turn):
    trial, model = musculo.read_trc(walker / "walk.trc"), walker / "walker.osim"
    write_trc(trial.rotated(turn), walker / "turned.trc")
    told = shell("ik", model, walker / "turned.trc", "--up", up, "-o", walker / "out")
    assert told.status == 0
    assert f"turned.trc: {up} was assumed to point up" in flat(told)
    assert "points along" not in flat(told)
    found, straight = read_storage(walker / "out" / "turned_ik.mot"), read_storage(walker / "walk.mot")
    np.testing.assert_allclose(found.in_radians(read_osim(model)).values, straight.values, atol=1e-6)
    shown = read_folder(walker / "out").markers
    assert shown is not None  # the page shows what was fitted
    np.testing.assert_allclose(shown.position, trial.position, atol=1e-6)
    told = shell("scale", model, "--static", walker / "turned.trc", "--up", up, "-o", walker / "s" / "scaled.osim")
    assert told.status == 0
    for name, at in ((m.name, m.location) for m in read_osim(model).markers):
        np.testing.assert_allclose(read_osim(walker / "s" / "scaled.osim").marker(name).location, at, atol=5e-3)


# --- gaps that are written as zeros -----------------------------------------------------------------------------------
def test_zeros_are_gaps_where_a_flag_says_so(shell, walker):
    trial, model = musculo.read_trc(walker / "walk.trc"), walker / "walker.osim"
    position = np.array(trial.position)
    position[30:50, 1] = 0.0
    write_trc(replace(trial, position=position), walker / "zeros.trc")
    told = flat(shell("ik", model, walker / "zeros.trc", "-o", walker / "plain"))
    assert "20 points are exactly at the origin (m1); --zeros-as-gaps in the shell" in told
    told = flat(shell("ik", model, walker / "zeros.trc", "--zeros-as-gaps", "-o", walker / "out"))
    assert "20 points at the origin were treated as gaps" in told
    assert "exactly at the origin" not in told
    plain, found = (read_storage(walker / folder / "zeros_ik.mot") for folder in ("plain", "out"))
    straight = read_storage(walker / "walk.mot").in_degrees(read_osim(model)).values
    assert np.abs(plain.values - straight).max() > 1.0
    np.testing.assert_allclose(found.values, straight, atol=1e-5)
    shown = read_folder(walker / "out").markers
    assert shown is not None
    assert np.isnan(shown.marker("m1")[30:50]).all()
    told = flat(shell("scale", model, "--static", walker / "zeros.trc", "--zeros-as-gaps", "-o", walker / "s.osim"))
    assert "20 points at the origin were treated as gaps" in told


# --- times ------------------------------------------------------------------------------------------------------------
def test_holes_are_told_where_no_filter_sees_them(shell, walker):
    model = walker / "walker.osim"
    hole = changed(walker / "walk.mot", walker / "hole.mot", keep=(TIME <= 0.4) | (TIME > 0.67))
    told = flat(shell("id", model, hole, "-o", walker / "hole"))
    assert "0.28 s without a frame after 0.4 s, where frames usually come every 0.01 s" in told
    one = changed(walker / "walk.mot", walker / "one.mot", keep=np.abs(TIME - 0.4) > 1e-6)
    assert "without a frame" not in flat(shell("id", model, one, "-o", walker / "one"))


def test_a_pause_is_told_of_and_filtered_in_parts(shell, walker):
    """Before the pause the moments are those of that part alone; nearer to it splines pass over it."""
    trial, model = musculo.read_trc(walker / "walk.trc"), walker / "walker.osim"
    keep = (TIME <= 0.5) | (TIME > 0.8)
    write_trc(replace(trial, time=trial.time[keep], position=trial.position[keep]), walker / "pause.trc")
    told = flat(shell("ik", model, walker / "pause.trc", "-o", walker / "ik"))
    assert "pause.trc: 0.31 s without a frame after 0.5 s" in told
    assert "without a frame" not in flat(shell("ik", model, walker / "walk.trc", "-o", walker / "ik"))
    pause = changed(walker / "walk.mot", walker / "pause.mot", keep=keep)
    part = changed(walker / "walk.mot", walker / "part.mot", keep=TIME <= 0.5)
    for cutoff in (6, "auto"):
        told = shell("id", model, pause, "--lowpass", cutoff, "-o", walker / "out", "--force")
        assert told.status == 0
        assert "0.31 s without a frame after 0.5 s" in flat(told)
        assert "each part is filtered by itself" in flat(told)
    found, alone = (motion_of(read_osim(model), read_storage(file), 6.0) for file in (pause, part))
    np.testing.assert_allclose(found.q[: len(alone)], alone.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.udot[:25], alone.udot[:25], rtol=0, atol=1e-3)
    assert "without a frame" not in flat(shell("id", model, part, "--lowpass", 6, "-o", walker / "part"))


def test_times_in_milliseconds_are_told_of(shell, walker):
    table, trial = read_storage(walker / "walk.mot"), musculo.read_trc(walker / "walk.trc")
    write_storage(replace(table, time=1e3 * table.time), walker / "ms.mot")
    write_trc(replace(trial, time=1e3 * trial.time), walker / "ms.trc")
    model = walker / "walker.osim"
    for step in ("id", model, walker / "ms.mot"), ("ik", model, walker / "ms.trc"):
        assert f"{step[2].name}: frames come every 10 s: are times in milliseconds?" in flat(
            shell(*step, "-o", walker / "out", "--no-report")
        )
    assert "are times in" not in flat(shell("id", model, walker / "walk.mot", "-o", walker / "out", "--no-report"))


def test_a_pause_of_plates_is_told_of(shell, walker):
    step = ("id", walker / "walker.osim", walker / "walk.mot", "-l", plates(walker / "l.xml"), "-o", walker / "out")
    assert "without a frame" not in flat(shell(*step))
    table = read_storage(walker / "l.mot")
    keep = (TIME <= 0.5) | (TIME > 0.8)
    write_storage(replace(table, time=table.time[keep], values=table.values[keep]), walker / "l.mot")
    told = flat(shell(*step))
    assert "l.mot: 0.31 s without a frame after 0.5 s" in told
    assert "the loads there are guesses" in told


def test_uneven_frames_are_brought_to_a_rate(shell, walker):
    model, rng = walker / "walker.osim", np.random.default_rng(5)
    kept = np.sort(rng.choice(101, 80, replace=False))
    kept[0], kept[-1] = 0, 100
    uneven = changed(walker / "walk.mot", walker / "uneven.mot", keep=np.isin(np.arange(101), kept))
    told = shell("id", model, uneven, "--lowpass", 6, "-o", walker / "no")
    assert told.status == 1
    assert f"{uneven}: frames are missing at" in flat(told)
    assert "--resample HZ" in flat(told)
    told = shell("id", model, uneven, "--lowpass", 6, "--resample", 100, "-o", walker / "out")
    assert told.status == 0
    assert "uneven.mot: brought to 100 frames a second by splines" in flat(told)
    shell("id", model, walker / "walk.mot", "--lowpass", 6, "-o", walker / "out")
    ours, even = (read_storage(walker / "out" / f"{name}_id.sto") for name in ("uneven", "walk"))
    np.testing.assert_allclose(ours.time, even.time, atol=1e-8)
    np.testing.assert_allclose(ours.values, even.values, rtol=0, atol=1e-3 * np.abs(even.values).max())
    assert shell("id", model, uneven, "--resample", 0, "-o", walker / "no").status == 2


def test_loads_of_another_time_are_refused(shell, walker):
    loads = plates(walker / "late.xml", start=10.0)
    told = shell("id", walker / "walker.osim", walker / "walk.mot", "-l", loads, "-o", walker / "out")
    assert told.status == 1
    assert "all 101 frames, 0 to 1 s, lie outside the external loads" in flat(told)
    assert "--time" not in told.err
    assert not list(walker.glob("out/*.sto"))
    loads = plates(walker / "half.xml", start=0.5)
    told = shell("id", walker / "walker.osim", walker / "walk.mot", "-l", loads, "-o", walker / "out")
    assert told.status == 3
    assert "--time 0.5:1)" in flat(told)


def test_a_run_of_loads_of_another_time_says_that_it_means_nothing(shell, tmp_path):
    plates(tmp_path / "late.xml", start=10.0, body=arm().body_names[-1])
    more = "<external_loads_file>late.xml</external_loads_file>"
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics(more))
    told = shell("run", folder / "id.xml", "--no-compare")
    assert told.status == 3  # OpenSim computes with straight continuations, and so does this
    assert "as OpenSim does, means nothing" in flat(told)
    assert shell("run", folder / "id.xml", "--exact").status == 1


def test_a_load_that_is_switched_off_is_told_of(shell, walker):
    loads = plates(walker / "off.xml", applies=False)
    told = shell("id", walker / "walker.osim", walker / "walk.mot", "-l", loads, "-o", walker / "out")
    assert "external force 'plate' is switched off and does not act" in flat(told)


def test_a_note_on_the_data_of_loads_names_the_data(shell, walker):
    loads = plates(walker / "l.xml")
    data = walker / "l.mot"
    data.write_text(data.read_text().replace("inDegrees=no\n", "").replace("version=1\n", ""))
    told = flat(shell("id", walker / "walker.osim", walker / "walk.mot", "-l", loads, "-o", walker / "out"))
    assert "l.mot: no inDegrees" in told
    assert "l.xml: no inDegrees" not in told


def test_gaps_of_markers_that_stay_are_told_of(shell, walker):
    trial = musculo.read_trc(walker / "walk.trc")
    position = np.array(trial.position)
    position[20:60, 1] = position[70:73, 2] = np.nan
    write_trc(replace(trial, position=position), walker / "gaps.trc")
    told = flat(shell("ik", walker / "walker.osim", walker / "gaps.trc", "--fill-gaps", 0.05, "-o", walker / "out"))
    assert "3 missing points were filled by splines" in told
    assert "m1: 40 frames from 0.2 to 0.59 s, exceed 5 frames or are at an end, and stay" in told


# --- forces of muscles ------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def forces():
    """Constant forces of all muscles during the flexion of the arm."""
    time, muscles = arm_flexion().time, arm().muscle_names
    return Table(time, muscles, np.full((len(time), len(muscles)), 50.0))


def reactions(shell, folder, table):
    write_storage(table, folder / "forces.sto")
    told = shell("jr", ARM_FILE, ARM_FLEXION_FILE, "-m", folder / "forces.sto", "-o", folder / "out", "--force")
    found = folder / "out" / f"{STEM}_JointReaction_ReactionLoads.sto"
    return told, read_storage(found).values if found.is_file() else None


def test_forces_may_go_by_paths(shell, tmp_path, forces):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    told, loads = reactions(shell, tmp_path / "a", forces)
    assert told.status == 0
    again, same = reactions(shell, tmp_path / "b", forces.rename(lambda name: f"/forceset/{name}"))
    assert again.status == 0
    assert np.array_equal(loads, same)
    assert "push" not in flat(told)


def test_muscles_that_push_are_told_of(shell, tmp_path, forces):
    values = np.array(forces.values)
    values[:, 2] = -3.5
    told, _ = reactions(shell, tmp_path, replace(forces, values=values))
    assert f"1 muscles push in {tmp_path}/forces.sto, {forces.names[2]} with 3.5 N at most" in flat(told)


def test_activations_are_no_forces(shell, tmp_path, forces):
    """One tab away from the file of forces; what is weak is none, and neither is a motion without muscles."""
    assert max(m.max_isometric_force for m in arm().muscles) > 100.0
    shell("so", ARM_FILE, ARM_FLEXION_FILE, "--reserve", 10, "-o", tmp_path / "so", "--no-report")
    file = tmp_path / "so" / f"{STEM}_StaticOptimization_activation.sto"
    told = shell("jr", ARM_FILE, ARM_FLEXION_FILE, "-m", file, "-o", tmp_path / "a")
    assert told.status == 1
    assert "which are activations and no forces; give the file of forces" in flat(told)
    assert not list(tmp_path.glob("a/*.sto"))
    told, _ = reactions(shell, tmp_path, replace(forces, values=forces.values / 100.0))  # its name does not tell
    assert told.status == 3
    assert "0 to 0.5 for muscles of up to" in flat(told)
    told, _ = reactions(shell, tmp_path, replace(forces, values=0.0 * forces.values))
    assert told.status == 0
    setup = tool_setups.analyze(f"<JointReaction name='jr'><forces_file>{file}</forces_file></JointReaction>")
    bare = setup.replace("<force_set_files>reserves.xml</force_set_files>", "")
    folder = arm_folder(tmp_path / "run", jr=bare)
    told = shell("run", folder / "jr.xml", "--no-compare")
    assert told.status == 3
    assert "are read as newtons" in flat(told)


def test_forces_are_no_activations(shell, tmp_path, forces):
    step = ("muscles", ARM_FILE, ARM_FLEXION_FILE, "-o", tmp_path / "out", "--no-report", "-a")
    write_storage(forces, tmp_path / "f.sto")
    told = shell(*step, tmp_path / "f.sto")
    assert told.status == 1
    assert "has values up to 50, and activations are 0 to 1; is it the file of forces?" in flat(told)
    write_storage(replace(forces, values=forces.values / 40.0), tmp_path / "emg.sto")
    told = shell(*step, tmp_path / "emg.sto")
    assert told.status == 3
    assert "values beyond 0 to 1, up to 1.25: they are cut to that" in flat(told)


def test_forces_of_another_time_are_refused(shell, tmp_path, forces):
    told, loads = reactions(shell, tmp_path, replace(forces, time=forces.time + 100.0))
    assert told.status == 1
    assert loads is None
    assert "which lasts from 100 to 101 s" in flat(told)
    half = replace(forces, time=forces.time + 0.5)
    told, _ = reactions(shell, tmp_path, half)
    assert told.status == 3
    assert "--time 0.5:1)" in flat(told)
