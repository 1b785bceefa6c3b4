"""Flags that prepare recordings: gaps are filled, loads are filtered, and cutoffs are suggested."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import musculo
from musculo.cli.main import app
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE, arm, arm_flexion
from musculo.opensim_tools.preparation import Preparation, suggested_cutoff
from musculo.report.read_folder import read_folder

MODEL, MOTION, STEM = str(ARM_FILE), str(ARM_FLEXION_FILE), ARM_FLEXION_FILE.stem


def shell(*words, code=0):
    """What a command prints without its page; it must end with the exit code."""
    return told(*words, "--no-report", code=code)


def told(*words, code=0):
    """What a command prints; it must end with the exit code."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def moments(folder, stem=STEM):
    return musculo.read_storage(folder / f"{stem}_id.sto").values


def shaking_weight(folder):
    """A weight in the hand that shakes at 40 Hz, beside a point that jumps and a torque."""
    time = np.arange(-0.5, 2.0, 0.002)
    force = -20.0 + 10.0 * np.sin(2.0 * np.pi * 40.0 * time)
    values = np.zeros((len(time), 9))
    values[:, 1], values[:, 3], values[:, 8] = force, np.where(time > 0.6, 0.3, 0.1), 0.2 * force
    names = tuple(f"{what}{axis}" for what in ("f_v", "f_p", "f_t") for axis in "xyz")
    loads = musculo.results.ExternalLoads(
        "weight",
        (musculo.results.ExternalForce("hand", arm().body_names[-1], "f_v", "f_p", "f_t"),),
        musculo.Table(time, names, values),
    )
    musculo.io.write_external_loads(loads, folder / "weight.xml")
    return folder / "weight.xml", loads


def test_loads_are_filtered(tmp_path):
    file, loads = shaking_weight(tmp_path)
    shell("id", MODEL, MOTION, "--loads", file, "-o", tmp_path / "raw")
    printed = shell("id", MODEL, MOTION, "--loads", file, "--filter-loads", 6, "-o", tmp_path / "smooth")
    assert "filtered at 6 Hz" in printed
    motion = musculo.motion_of(arm(), arm_flexion())
    acting = [musculo.ExternalLoad(*series) for series in loads.lowpass(6.0).at(motion.time)]
    tau = musculo.inverse_dynamics(arm(), motion.q, motion.u, motion.udot, acting)
    np.testing.assert_allclose(moments(tmp_path / "smooth"), tau, atol=1e-6)
    assert np.abs(moments(tmp_path / "raw") - moments(tmp_path / "smooth")).max() > 1.0
    record = json.loads((tmp_path / "smooth" / f"id_{STEM}.musculo.json").read_text())
    assert record["stated"]["preparation.loads_cutoff"] == "6"
    assert any(name.endswith("weight.mot") for name in record["inputs"])


def test_a_filtered_load_has_the_filtered_moment(tmp_path):
    """About the origin, where a filter is linear: points stay, and do not smear over a jump."""
    _, loads = shaking_weight(tmp_path)
    smooth = loads.lowpass(6.0)
    before, after = loads.table, smooth.table

    def moment(table):
        columns = (table.pick([f"{what}{axis}" for axis in "xyz"]).values for what in ("f_p", "f_v", "f_t"))
        p, f, t = columns
        return np.cross(p, f) + t

    expected = musculo.signals.lowpass(before.time, moment(before), 6.0).values
    np.testing.assert_allclose(moment(after), expected, atol=1e-12)
    np.testing.assert_array_equal(after.column("f_px"), before.column("f_px"))
    np.testing.assert_allclose(after.column("f_vy")[500:-500], -20.0, atol=0.02)
    # one torque of two loads cannot make up for two points: then every column is filtered by itself
    force = loads.forces[0]
    names = tuple(name.replace("f_p", "other") for name in before.names if name.startswith("f_p"))
    more = replace(before, names=(*before.names, *names), values=np.hstack([before.values, before.values[:, 3:6]]))
    both = replace(loads, table=more, forces=(force, replace(force, name="other", point_identifier="other")))
    np.testing.assert_array_equal(both.lowpass(6.0).table.values, more.lowpass(6.0).values)


def test_gaps_of_markers_are_filled_up_to_a_length(tmp_path):
    model, table = arm(), arm_flexion()
    at = np.array(musculo.kinematics(model, table.coordinates(model)).markers(model.marker_names))
    at[20:23, 0], at[40:60, 1] = np.nan, np.nan
    step = float(np.median(np.diff(table.time)))
    musculo.write_trc(musculo.Markers(table.time, model.marker_names, at), tmp_path / "gaps.trc")
    printed = shell("ik", MODEL, tmp_path / "gaps.trc", "-o", tmp_path, "--fill-gaps", 3.0 * step)
    assert "3 missing points were filled by splines, in gaps of at most 3 frames" in printed
    far = musculo.read_storage(tmp_path / "gaps_ik_marker_distances.sto")
    assert np.isfinite(far.column(model.marker_names[0])).all()
    assert np.isnan(far.column(model.marker_names[1])).sum() == 20


def test_gaps_of_a_motion_are_filled(tmp_path):
    table = arm_flexion()
    values = np.array(table.values)
    values[30:32, table.names.index("elbow_flexion")] = np.nan
    musculo.write_storage(replace(table, values=values), tmp_path / "gaps.mot")
    shell("id", MODEL, tmp_path / "gaps.mot", "-o", tmp_path, code=1)
    shell("id", MODEL, tmp_path / "gaps.mot", "-o", tmp_path, "--fill-gaps", 0.1)
    shell("id", MODEL, MOTION, "-o", tmp_path)
    assert np.abs(moments(tmp_path, "gaps") - moments(tmp_path)).max() < 0.02 * np.abs(moments(tmp_path)).max()


def test_the_length_of_gaps_is_a_time():
    time = np.linspace(0.0, 1.0, 101)
    values = np.sin(time)[:, None]
    values = np.where((np.arange(101) >= 50) & (np.arange(101) < 55), np.nan, values[:, 0])[:, None]
    table = musculo.Table(time, ("a",), values)
    assert np.isnan(Preparation(fill_gaps=0.049).filled(table).values).sum() == 5
    assert np.isfinite(Preparation(fill_gaps=0.05).filled(table).values).all()


def noisy(folder, seed=3):
    """The flexion with noise, at 200 Hz."""
    table = arm_flexion().resample(200.0)
    noise = np.random.default_rng(seed).normal(0.0, 0.1, table.values.shape)
    musculo.write_storage(replace(table, values=table.values + noise), folder / "noisy.mot")
    return folder / "noisy.mot"


def test_a_cutoff_is_suggested_and_taken(tmp_path):
    motion = noisy(tmp_path)
    found = suggested_cutoff(musculo.read_storage(motion), arm())
    assert found is not None
    table = musculo.read_storage(motion)
    # the shoulder holds still: it has nothing but noise, and no say
    elbow, shoulder = (
        musculo.signals.residual_cutoff(table.time, table.column(name)).cutoff[0]
        for name in ("elbow_flexion", "shoulder_flexion")
    )
    assert found.cutoff == pytest.approx(elbow, abs=0.05)
    assert abs(elbow - shoulder) > 1.0
    assert f"residual analysis suggests {found.cutoff:g} Hz" in shell("id", MODEL, motion, "-o", tmp_path / "a")
    printed = shell("id", MODEL, motion, "--lowpass", "auto", "-o", tmp_path / "a")
    assert f"--lowpass auto is {found.cutoff:g} Hz" in printed
    assert "suggests" not in printed
    shell("id", MODEL, motion, "--lowpass", found.cutoff, "-o", tmp_path / "b")
    np.testing.assert_array_equal(moments(tmp_path / "a", "noisy"), moments(tmp_path / "b", "noisy"))
    record = json.loads((tmp_path / "a" / "id_noisy.musculo.json").read_text())
    assert record["lowpass"] == found.cutoff


def test_no_cutoff_for_what_does_not_move_or_is_uneven():
    table = arm_flexion()
    assert suggested_cutoff(replace(table, values=np.zeros_like(table.values)), arm()) is None
    uneven = replace(table, time=table.time + 0.3 * np.diff(table.time)[0] * (np.arange(len(table)) % 2))
    assert suggested_cutoff(uneven, arm()) is None
    assert suggested_cutoff(table.between(0.0, 0.05), arm()) is None


def test_reserves_like_opensim_are_those_of_a_force_set(tmp_path):
    words = ("so", MODEL, MOTION, "--like-opensim", "--time", "0:0.3", "-o")
    shell(*words, tmp_path / "flag", "--reserve", 2)
    actuators = "".join(
        f'<CoordinateActuator name="{c}_reserve"><coordinate>{c}</coordinate><optimal_force>2</optimal_force>'
        "</CoordinateActuator>"
        for c in arm().coordinate_names
    )
    (tmp_path / "set.xml").write_text(
        f'<OpenSimDocument Version="40000"><ForceSet><objects>{actuators}</objects></ForceSet></OpenSimDocument>'
    )
    shell(*words, tmp_path / "set", "--forces", tmp_path / "set.xml")
    ours, theirs = (
        musculo.read_storage(tmp_path / name / f"{STEM}_StaticOptimization_activation.sto") for name in ("flag", "set")
    )
    assert ours.names == theirs.names
    np.testing.assert_array_equal(ours.values, theirs.values)
    assert np.abs(ours.column("elbow_flexion_reserve")).max() > 0.0


def test_radians_that_are_called_degrees_are_told_of(tmp_path):
    table = arm_flexion().in_radians(arm())
    musculo.write_storage(replace(table, degrees=True), tmp_path / "radians.mot")
    printed = shell("id", MODEL, tmp_path / "radians.mot", "-o", tmp_path)
    assert "radians.mot: its angles are read as degrees, but the largest of all is" in printed
    assert "are they radians?" in printed
    assert "radians?" not in shell("id", MODEL, MOTION, "-o", tmp_path)


def test_misspelt_columns_and_degrees_as_radians_are_told_of(tmp_path):
    table = arm_flexion()
    odd = replace(table, names=tuple("elbow_flx" if n == "elbow_flexion" else n for n in table.names))
    musculo.write_storage(odd, tmp_path / "typo.mot")
    said = shell("id", MODEL, tmp_path / "typo.mot", "-o", tmp_path, code=3)
    assert "did you mean the column 'elbow_flx' for 'elbow_flexion'?" in said
    assert "the model has no coordinate for its columns elbow_flx" in said
    musculo.write_storage(replace(table.in_degrees(arm()), degrees=False), tmp_path / "degrees.mot")
    printed = shell("id", MODEL, tmp_path / "degrees.mot", "-o", tmp_path)
    assert "are they degrees?" in printed
    assert "degrees.mot: its angles are read as radians" in printed
    assert "degrees?" not in shell("id", MODEL, MOTION, "-o", tmp_path)


@pytest.mark.parametrize("up", ["", "y"])
def test_the_upward_axis_of_a_c3d_file_can_be_stated(up, tmp_path, monkeypatch):
    """A file that does not say which axis is up gets a note with what was taken, or the flag."""
    asked = []

    def read(path, up=None):
        asked.append(up)
        notes = () if up else ("the file does not say which axis is up; z was assumed",)
        model, table = arm(), arm_flexion()
        at = musculo.kinematics(model, table.coordinates(model)).markers(model.marker_names)
        return SimpleNamespace(markers=musculo.Markers(table.time, model.marker_names, at, notes=notes))

    monkeypatch.setattr("musculo.io.marker_columns.read_c3d", read)
    (tmp_path / "walk.c3d").write_bytes(b"")
    more = ("--up", up) if up else ()
    printed = told("ik", MODEL, tmp_path / "walk.c3d", "-o", tmp_path, "--time", "0:0.05", *more)
    assert asked == [up or None] * 2  # once for the run, once for its page
    assert ("z was assumed" in printed) == (not up)


def test_recorded_markers_have_names_of_their_own(tmp_path):
    """Pairs on the command line and in a file, with a subject before the names; the page reads them as the run did."""
    model = arm()
    time = np.linspace(0.0, 1.0, 21)
    q = np.stack([0.2 * time, 0.5 + time], axis=1)
    truth = musculo.kinematics(model, q).markers(model.marker_names)
    ours = {"acromion": "SHO", "wrist_radial": "RAD", "wrist_ulnar": "ULN"}
    names = [f"Anna:{ours.get(name, name)}" for name in model.marker_names]
    musculo.write_trc(musculo.Markers(time, names, truth, rate=20.0), tmp_path / "lab.trc")
    pairs = tmp_path / "names.txt"
    pairs.write_text("# the laboratory's, and the model's\nSHO=acromion\n\nRAD, wrist_radial  # by a comma\n")
    rename = ("--rename", pairs, "--rename", "ULN=wrist_ulnar", "--rename", "HAT=head")
    printed = told("ik", MODEL, tmp_path / "lab.trc", *rename, "-o", tmp_path / "out")
    assert "the recording lacks" not in printed
    found = musculo.read_storage(tmp_path / "out" / "lab_ik.mot").in_radians(model)
    np.testing.assert_allclose(found.coordinates(model), q, atol=1e-5)  # a .trc has single digits of mm
    shown = read_folder(tmp_path / "out").markers
    assert {"acromion", "wrist_radial", "wrist_ulnar"} <= set(shown.names)
    result = CliRunner().invoke(app, ["ik", MODEL, str(tmp_path / "lab.trc"), "--rename", "HAT=head"])
    assert result.exit_code == 1
    assert "no marker 'HAT' in" in result.output
