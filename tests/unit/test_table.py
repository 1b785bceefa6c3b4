"""Tables over time: names, parts, angles, labels and where they come from."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from musculo import Markers, Table, write_netcdf
from musculo.errors import InvalidFile, InvalidInput, UnknownName
from musculo.io import read_netcdf
from musculo.results import Provenance, labeled
from musculo.results.angle_columns import rotational_coordinates
from musculo.signals import lowpass


def table(**changes) -> Table:
    time = np.arange(20) / 100.0
    values = np.stack((np.sin(9 * time), time), axis=1)
    return Table(time, changes.pop("names", ("a", "b")), values, **changes)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0, 0.0], ("a",), [[1.0], [2.0]]), "time does not increase from frame 0"),
        (([0.0, np.nan], ("a",), [[1.0], [2.0]]), "the time of frame 1 is not a finite number"),
        (([0.0, 1.0], ("a", "a"), np.ones((2, 2))), "two columns are named 'a'"),
        (([0.0, 1.0], ("a", ""), np.ones((2, 2))), "is named ''"),
        (([0.0, 1.0], ("a", "b\0"), np.ones((2, 2))), "is named"),
        (([0.0, 1.0], "ab", np.ones((2, 2))), "give a list of names"),
        (([0.0, 1.0], ("a",), np.ones((2, 2))), r"shape \(2, 2\); they need \(2, 1\)"),
        (([0.0, 1.0], ("a",), [["x"], ["y"]]), "are not numbers"),
        (([0.0], ("a",), [[1.0]], False, ("m", "m")), "2 units for 1 columns"),
    ],
)
def test_what_is_no_table(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        Table(*arguments)


def test_a_table_is_frozen():
    values = np.ones((20, 2))
    made = Table(np.arange(20.0), ("a", "b"), values)
    values[0, 0] = 5.0
    assert made.values[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        made.values[0, 0] = 2.0


def test_parts_and_names():
    made = table(units=("rad", "m"))
    assert made.pick(["b", "a"]).names == ("b", "a")
    assert made.pick("b").units == ("m",)
    assert made.drop(["a"]).names == ("b",)
    assert made.rename({"a": "c"}).names == ("c", "b")
    assert made.rename(str.upper).names == ("A", "B")
    assert_array_equal(made.between(0.05, 0.1).time, made.time[5:11])
    assert_array_equal(made.between(end=0.02).time, made.time[:3])
    assert "20 frames, 2 columns, 0 to 0.19 s" in repr(made)
    for bad in (
        lambda: made.pick("c"),
        lambda: made.drop("c"),
        lambda: made.rename({"c": "d"}),
        lambda: made.column("c"),
    ):
        with pytest.raises(UnknownName, match="no column 'c'"):
            bad()
    with pytest.raises(InvalidInput, match="no frame lies between 5"):
        made.between(5.0)


@pytest.mark.parametrize(
    ("column", "asked"),
    [
        ("knee", "knee"),
        ("/jointset/j/knee/value", "/jointset/j/knee/value"),
        ("knee/value", "/jointset/j/knee/value"),
        ("knee", "/jointset/j/knee/value"),
        ("knee_u", "/jointset/j/knee/speed"),
        ("soleus.activation", "/forceset/soleus/activation"),
        ("/jointset/j/knee/value", "knee"),
        ("knee/value", "knee"),
        ("/forceset/soleus", "soleus"),
    ],
)
def test_names_of_states(column, asked):
    made = table(names=("other", column))
    assert made.find(asked) == 1
    assert made.find("absent") is None


def test_signals_of_a_table():
    made = table(units=("rad", "m"))
    assert_array_equal(made.lowpass(10.0).values, lowpass(made.time, made.values, 10.0).values)
    assert made.lowpass(10.0).notes == ("low-pass filtered at 10 Hz (butterworth, order 4)",)
    assert len(made.lowpass(10.0, like="opensim")) == 40  # half a recording on either side
    speed = made.derivative()
    assert speed.units == ("rad/s", "m/s")
    assert_allclose(speed.values[:, 1], 1.0, atol=1e-9)
    assert len(made.resample(rate=50.0)) == 10
    assert_array_equal(made.resample(time=[0.05]).time, [0.05])
    assert made.rate == pytest.approx(100.0)
    with pytest.raises(InvalidInput, match="one of them"):
        made.resample()


def test_filling_is_noted():
    values = np.array(table().values)
    values[5:7, 0] = np.nan
    gappy = Table(table().time, ("a", "b"), values)
    assert [str(gap) for gap in gappy.gaps()] == ["a: 2 frames from 0.05 to 0.06 s"]
    filled = gappy.fill(longest=2)
    assert not filled.gaps()
    assert filled.notes == ("2 missing values were filled by splines, in gaps of at most 2 frames",)
    assert gappy.fill(longest=1).gaps() == gappy.gaps()


# --- angles ----------------------------------------------------------------------------------------------------------
def test_only_angles_of_the_model_are_converted(leg):
    names = (*leg.coordinate_names, "/jointset/knee/knee_flexion/speed", "knee_flexion_u", "ground_force_vy")
    values = np.full((3, len(names)), 180.0)
    degrees = Table(np.arange(3.0), names, values, degrees=True, units=("deg",) * len(names))
    radians = degrees.in_radians(leg)
    rotational = rotational_coordinates(leg)
    for k, name in enumerate(names):
        angle = name in rotational or "/" in name
        assert_allclose(radians.values[:, k], np.pi if angle else 180.0, err_msg=name)
        assert radians.units[k] == ("rad" if angle else "deg")
    assert not radians.degrees
    assert radians.in_radians(leg) is radians
    assert_allclose(radians.in_degrees(leg).values, values, rtol=1e-15)


def test_coordinates_in_the_order_of_the_model(leg):
    names = tuple(f"/jointset/x/{name}/value" for name in reversed(leg.coordinate_names))
    values = np.arange(2.0 * len(names)).reshape(2, -1)
    made = Table([0.0, 1.0], names, values)
    assert_array_equal(made.coordinates(leg), values[:, ::-1])
    fewer = made.drop(names[0])
    with pytest.raises(UnknownName, match="no column for coordinate"):
        fewer.coordinates(leg)
    defaults = fewer.coordinates(leg, missing="default")[:, -1]
    assert_array_equal(defaults, leg.coordinates[-1].default_value)
    assert_array_equal(fewer.coordinates(leg, missing="zero")[:, -1], 0.0)
    with pytest.raises(InvalidInput, match="known: error, default, zero"):
        made.coordinates(leg, missing="guess")


# --- markers ---------------------------------------------------------------------------------------------------------
def markers() -> Markers:
    time = np.arange(50) / 100.0
    position = np.stack([np.sin(3 * time + k) for k in range(6)], axis=1).reshape(50, 2, 3)
    position[10:14, 1, 2] = np.nan
    return Markers(time, ("a", "b"), position, 100.0)


def test_a_point_with_two_coordinates_is_none():
    assert np.isnan(markers().position[10:14, 1]).all()
    assert "4 % missing" in repr(markers())


def test_markers_are_filled_filtered_and_turned():
    made = markers()
    assert [gap.frames for gap in made.gaps()] == [4]
    filled = made.fill(longest=5)
    assert filled.notes == ("4 missing points were filled by splines, in gaps of at most 5 frames",)
    truth = np.sin(3 * made.time[10:14, None] + np.array([3, 4, 5]))
    assert_allclose(filled.marker("b")[10:14], truth, atol=1e-4)
    assert_array_equal(made.lowpass(6.0).missing, made.missing)
    assert len(filled.resample(50.0)) == 25
    R = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    assert_array_equal(filled.rotated(R).marker("a")[:, 0], filled.marker("a")[:, 1])
    assert filled.pick(["b"]).rename({"b": "c"}).between(0.1, 0.2).names == ("c",)
    assert filled.to_table().names[:3] == ("a_x", "a_y", "a_z")
    for bad in (lambda: made.pick("c"), lambda: made.marker("c"), lambda: made.rename({"c": "d"})):
        with pytest.raises(UnknownName, match="no marker 'c'"):
            bad()
    with pytest.raises(InvalidInput, match="not a rotation"):
        made.rotated(2 * R)


# --- labels and files ------------------------------------------------------------------------------------------------
def test_results_say_what_made_them(leg):
    made = Provenance.of("inverse_dynamics", leg, sources=("walk.mot",), cutoff=6.0, frames=(1, 2))
    attributes = made.attributes()
    assert attributes["model_hash"] == leg.hash
    assert attributes["option_cutoff"] == "6.0"
    assert attributes["musculo_version"]
    assert Provenance.from_attributes(attributes) == made
    assert Provenance.from_attributes({"units": "m"}) is None


def test_labelled_results_survive_netcdf(tmp_path, leg):
    made = Provenance.of("muscle_geometry", leg)
    labels = {"time": [0.0, 0.5], "muscle": ["soleus", "été"], "coordinate": ["knee", "hip", "ankle"]}
    arms = labeled("moment_arm", np.arange(12.0).reshape(2, 2, 3), labels, "m", made)
    assert arms.dims == ("time", "muscle", "coordinate")
    assert float(arms.sel(muscle="été", coordinate="hip", time=0.5)) == 10.0
    write_netcdf(arms, tmp_path / "a.nc")
    again = read_netcdf(tmp_path / "a.nc")["moment_arm"]
    assert_array_equal(again.values, arms.values)
    assert again.coords["muscle"].values.tolist() == ["soleus", "été"]
    assert (again.attrs["units"], again.attrs["model_hash"]) == ("m", leg.hash)
    flat = Table.from_xarray(again)
    assert flat.names[:2] == ("soleus/knee", "soleus/hip")
    assert flat.provenance == made
    assert flat.units == ("m",) * 6


def test_tables_and_markers_survive_netcdf(tmp_path):
    made = table(units=("rad", "m"), degrees=True, name="q")
    write_netcdf(made, tmp_path / "t.nc")
    again = Table.from_xarray(read_netcdf(tmp_path / "t.nc")["q"])
    assert_array_equal(again.values, made.values)
    assert (again.names, again.units, again.degrees, again.name) == (("a", "b"), ("rad", "m"), True, "q")
    write_netcdf(markers(), tmp_path / "m.nc")
    assert_array_equal(read_netcdf(tmp_path / "m.nc")["marker_position"].values, markers().position)


def test_bad_labels_and_files(tmp_path):
    with pytest.raises(InvalidInput, match=r"its labels are time 2"):
        labeled("x", np.ones(3), {"time": [0.0, 1.0]})
    with pytest.raises(InvalidInput, match="needs a labeled result"):
        write_netcdf([1.0], tmp_path / "a.nc")
    with pytest.raises(InvalidInput, match="a table needs time"):
        Table.from_xarray(labeled("x", np.ones(1), {"muscle": ["a"]}))
    (tmp_path / "b.nc").write_bytes(b"CDF\x02" + b"\xff" * 40)
    for name in ("b.nc", "c.nc"):
        with pytest.raises(InvalidFile, match=name):
            read_netcdf(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["b.nc"]
