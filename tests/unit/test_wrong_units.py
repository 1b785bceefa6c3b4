"""Recordings whose numbers cannot be what they are called: units, wild numbers, names of subjects, headers."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from musculo import Markers, MusculoWarning, inverse_kinematics, read_c3d, read_storage, read_trc
from musculo.demo import arm
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidFile, InvalidInput
from musculo.io import read_markers, write_trc
from musculo.model import place_markers
from musculo.results.markers import FARTHEST
from support.c3d_files import C3DMaker

# A subject of 1.7 m who stands, in metres.
NAMES = ("C7", "RASI", "RTOE", "LTOE")
STANDING = np.array([[0.0, 1.7, 0.0], [0.1, 1.0, 0.1], [0.1, 0.05, 0.1], [0.1, 0.05, -0.1]])
TIME = np.arange(4) / 100.0
NUMBERS = {"m": 1.0, "cm": 100.0, "mm": 1000.0}


def trc(folder, values, unit, names=NAMES, rate="100", frames=4, time=TIME):
    rows = [
        "\t".join([str(k + 1), repr(float(t)), *map(repr, np.asarray(values, float).ravel().tolist())])
        for k, t in enumerate(time)
    ]
    keys = "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames"
    stated = f"{rate}\t{rate}\t{frames}\t{len(names)}\t{unit}\t{rate}\t1\t{frames}"
    head = ["PathFileType\t4\t(X/Y/Z)\ta.trc", keys, stated, "Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t", "\t\tX1"]
    (folder / "a.trc").write_text("\n".join([*head, "", *rows]) + "\n")
    return folder / "a.trc"


@pytest.mark.parametrize("stated", NUMBERS)
@pytest.mark.parametrize("true", NUMBERS)
def test_a_unit_that_cannot_be_is_told_with_the_likely_one(tmp_path, true, stated):
    values = STANDING * NUMBERS[true]
    made = C3DMaker(np.tile(values, (4, 1, 1)), list(NAMES), units=stated)
    made.extra = {"POINT": {"Y_SCREEN": ["+Y"]}}
    (tmp_path / "a.c3d").write_bytes(made.bytes())
    table = "\n".join(
        [f"Units={stated}", "endheader", "\t".join(["time", *(f"{n}_{a}" for n in NAMES for a in "xyz")])]
    )
    rows = "\n".join("\t".join(map(repr, [float(t), *values.ravel().tolist()])) for t in TIME)
    (tmp_path / "a.sto").write_text(f"{table}\n{rows}\n")
    for path in (trc(tmp_path, values, stated), tmp_path / "a.c3d", tmp_path / "a.sto"):
        said = [note for note in read_markers(path).notes if "apart, read as" in note]
        wrong = NUMBERS[true] != NUMBERS[stated] and not 0.02 < 1.7 * NUMBERS[true] / NUMBERS[stated] < 10.0
        assert bool(said) == wrong
        if wrong:
            assert f"are they in {true}?" in said[0]


def test_a_unit_that_is_missing_or_unknown_is_refused(tmp_path):
    for unit, words in (("", "Units are missing; known: mm"), ("inch", "Units is 'inch'; known: mm")):
        with pytest.raises(InvalidFile, match=words):
            read_trc(trc(tmp_path, STANDING, unit))
    (tmp_path / "a.sto").write_text("Units=inch\nendheader\ntime\ta_x\ta_y\ta_z\n0\t1\t2\t3\n")
    with pytest.raises(InvalidFile, match="Units is 'inch'; known: mm"):
        read_markers(tmp_path / "a.sto")


def recorded_arm() -> Markers:
    """The markers of the arm that ships, at some poses."""
    model = arm()
    q = np.array([[0.2, 0.5], [0.3, 0.7], [0.4, 0.9], [0.5, 1.1]])
    return Markers(TIME, model.marker_names, kinematics(model, q).markers(), 100.0, source="arm.trc")


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (10.0, "10 times as far apart.*millimeters under the name cm; .*by 1e-1"),
        (0.1, "0.1 times as far apart.*centimeters under the name mm; .*by 1e1"),
        (100.0, "centimeters, not meters"),
        (1000.0, "millimeters, not meters"),
        (0.001, "meters under the name mm"),
    ],
)
def test_markers_that_do_not_fit_the_model_by_powers_of_ten_are_refused(factor, words):
    markers = recorded_arm()
    with pytest.raises(InvalidInput, match=words):
        inverse_kinematics(arm(), replace(markers, position=factor * markers.position))


@pytest.mark.parametrize("factor", [0.4, 2.5])
def test_small_and_large_subjects_are_none_of_that(factor):
    markers = recorded_arm()
    assert inverse_kinematics(arm(), replace(markers, position=factor * markers.position)).q.shape == (4, 2)


def test_a_few_markers_on_several_bodies_only_warn_of_their_unit():
    model, markers = arm(), recorded_arm()
    frames = {marker.name: marker.frame for marker in model.markers}
    few = [
        next(name for name in model.marker_names if frames[name] == frame) for frame in dict.fromkeys(frames.values())
    ]
    wrong = replace(markers.pick(few), position=10.0 * markers.pick(few).position)
    with pytest.warns(MusculoWarning, match=r"spread 9\.49 times as far.*millimeters under the name cm"):
        inverse_kinematics(model, wrong)


# --- wild numbers ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("wild", [1e308, -1e200, 1.1 * FARTHEST, np.inf])
def test_a_marker_beyond_any_laboratory_is_a_gap_with_a_note(tmp_path, wild):
    markers = recorded_arm()
    write_trc(markers, tmp_path / "a.trc")
    lines = (tmp_path / "a.trc").read_text().split("\n")
    cells = lines[8].split("\t")
    cells[5] = repr(float(wild))
    lines[8] = "\t".join(cells)
    (tmp_path / "a.trc").write_text("\n".join(lines))
    holed = read_trc(tmp_path / "a.trc")
    assert_array_equal(np.argwhere(holed.missing), [[2, 1]])
    assert "treated as gaps" in " ".join(holed.notes)
    if np.isfinite(wild):
        assert f"1 points beyond 1e+06 m ({markers.names[1]})" in " ".join(holed.notes)
    found = inverse_kinematics(arm(), holed)
    assert np.isnan(found.marker_errors).sum() == 1
    assert np.nanmax(found.marker_errors) < 1e-6


def test_wild_values_of_tables_are_told_and_not_computed_with(tmp_path):
    (tmp_path / "a.mot").write_text(
        "version=1\ninDegrees=no\nendheader\ntime\ta\tb\n0\t1\t2\n1\t1e308\t2\n2\t1\t2\n3\t1\t2\n"
    )
    table = read_storage(tmp_path / "a.mot")
    assert "1 values are beyond 1e+100 (a)" in " ".join(table.notes)
    assert table.values[1, 0] == 1e308  # tables come back as they are
    with pytest.raises(InvalidInput, match="column 'a' has 1 rows without a finite number, the first at 1 s"):
        table.check_finite([0, 1])


# --- names of subjects -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("prefix", ["Subj1:", "a b:c:", "Subj1_", "S-1."])
def test_the_name_of_a_subject_is_dropped_with_a_note(prefix):
    model, markers = arm(), recorded_arm()
    named = markers.rename(lambda name: prefix + name)
    with pytest.warns(MusculoWarning, match=rf"arm\.trc: {len(markers.names)} markers were renamed: '{prefix}' before"):
        found = inverse_kinematics(model, named)
    assert_array_equal(found.q, inverse_kinematics(model, markers).q)
    with pytest.warns(MusculoWarning, match="were renamed"):
        placed = place_markers(model, named)
    assert not placed.dropped


def test_names_that_fit_stay_and_subjects_are_not_mixed():
    model, markers = arm(), recorded_arm()
    known = model.marker_names
    assert markers.named_like(known) is markers
    colons = tuple(f"S:{name}" for name in known)
    assert markers.rename(lambda name: f"S:{name}").named_like(colons).names == colons
    strangers = markers.rename(lambda name: f"S:x{name}")
    assert strangers.named_like(known) is strangers
    both = Markers(TIME, (*colons, *(f"T:{name}" for name in known)), np.tile(markers.position, (1, 2, 1)))
    with pytest.raises(InvalidInput, match=r"more than one subject .*'S:', 'T:'.*markers.pick"):
        both.named_like(known)
    assert both.pick(colons).named_like(known).names == known
    one = replace(markers, names=(known[0], *(f"S:{name}" for name in known[1:])))  # one of them without
    assert one.named_like(known).names == known


# --- headers ---------------------------------------------------------------------------------------------------------
def test_headers_that_contradict_the_rows_are_told(tmp_path):
    wrong = read_trc(trc(tmp_path, STANDING, "m", rate="50"))
    assert "DataRate is 50, but by its times the file has 100 frames a second" in " ".join(wrong.notes)
    assert_allclose(wrong.rate, 100.0)
    assert "NumFrames is 2, but there are 4 rows; all were read" in " ".join(
        read_trc(trc(tmp_path, STANDING, "m", frames=2)).notes
    )
    assert not read_trc(trc(tmp_path, STANDING, "m")).notes
    # times that are rounded to milliseconds, and a pause, are none of that
    time = np.round(np.arange(40) / 120.0, 3)
    assert not read_trc(trc(tmp_path, STANDING, "m", rate="120", frames=40, time=time)).notes
    time[20:] += 5.0
    assert not read_trc(trc(tmp_path, STANDING, "m", rate="120", frames=40, time=time)).notes


def test_times_that_no_clock_shows_are_read_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_trc(trc(tmp_path, STANDING, "m", time=np.array([0.0, 1.0, 2.0, 1.7e308])))) == 4
        assert len(read_trc(trc(tmp_path, STANDING, "m", time=np.array([-1.5e308, 0.0, 1.0e308, 1.7e308])))) == 4


def test_double_tabs_part_cells_as_in_opensims_storage(tmp_path):
    (tmp_path / "a.mot").write_text("version=1\ninDegrees=no\nendheader\ntime\t\ta\t\tb\n0\t\t1\t\t2\n1\t\t3\t\t4\n")
    table = read_storage(tmp_path / "a.mot")
    assert table.names == ("a", "b")
    assert_array_equal(table.values, [[1, 2], [3, 4]])
    # a column without a name still is one where it holds numbers
    (tmp_path / "b.mot").write_text("version=1\ninDegrees=no\nendheader\ntime\t\tb\n0\t1\t2\n1\t3\t4\n")
    assert read_storage(tmp_path / "b.mot").names == ("column_1", "b")


def test_markers_of_a_c3d_tell_their_gaps(tmp_path):
    points = np.tile(STANDING * 1000.0, (4, 1, 1))
    points[1, 2] = np.nan
    (tmp_path / "a.c3d").write_bytes(C3DMaker(points, list(NAMES)).bytes())
    assert any("1 gaps" in note for note in read_markers(tmp_path / "a.c3d").notes)
    assert read_c3d(tmp_path / "a.c3d").markers.notes == read_c3d(tmp_path / "a.c3d").notes
