"""Files against OpenSim: what it reads we read, and what we write it reads, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("opensim")
from musculo import (
    Body,
    Coordinate,
    Markers,
    Model,
    Table,
    read_external_loads,
    read_osim,
    read_storage,
    read_trc,
    write_osim,
    write_storage,
)
from musculo.functions.elementary_functions import Linear
from musculo.io import write_external_loads, write_trc
from musculo.model import Axis, CustomJoint
from musculo.results import ExternalLoads, Provenance
from musculo.results.angle_columns import rotational_coordinates
from support.opensim_files import ask
from support.recorded_data import DATA, NO_DATA, recorded, within

TABLES = recorded("**/*.mot", "**/*.sto")
MARKERS = recorded("**/*.trc")
MODELS = recorded("**/*.osim")
WALKS = [
    ("gait2392/subject01_simbody.osim", "gait2392/oracle_extloads.xml"),
    ("rajagopal_walk/subject_walk_scaled.osim", "rajagopal_walk/oracle_extloads.xml"),
]
needs_data = pytest.mark.skipif(not TABLES, reason=NO_DATA)

# Two natural splines through the same points, solved by different factorisations; relative to the largest value.
SPLINE = 1e-11


@pytest.fixture(scope="module")
def storages(tmp_path_factory):
    return dict(zip(TABLES, ask([["storage", str(f)] for f in TABLES], tmp_path_factory.mktemp("o")), strict=True))


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return dict(zip(TABLES, ask([["table", str(f)] for f in TABLES], tmp_path_factory.mktemp("o")), strict=True))


@needs_data
@pytest.mark.parametrize("file", TABLES, ids=within(TABLES))
def test_tables_are_opensims(file, storages, tables):
    ours, theirs = read_storage(file), storages[file]
    assert list(ours.names) == theirs["names"]
    assert ours.degrees == theirs["degrees"]
    assert_array_equal(ours.time, theirs["time"])
    assert_array_equal(ours.values, theirs["values"])
    other = tables[file]
    if "error" not in other:  # its second reader refuses repeated times
        assert list(ours.names) == other["names"]
        assert_array_equal(ours.values, other["values"])
    else:
        assert "Timestamp" in other["error"]


@needs_data
@pytest.mark.parametrize("file", MARKERS, ids=within(MARKERS))
def test_markers_are_opensims(file, tmp_path):
    frames = 40
    strict, reference, lenient = ask(
        [["trc", str(file)], ["reference", str(file), frames], ["marker_data", str(file)]], tmp_path
    )
    ours = read_trc(file)
    assert list(ours.names) == strict["names"] == reference["names"] == lenient["names"]
    assert_array_equal(ours.time, strict["time"])
    scale = {"mm": 0.001, "m": 1.0}[strict["units"]]
    assert_array_equal(ours.position, np.reshape(strict["values"], ours.position.shape) * scale)
    assert_array_equal(ours.position[:frames], reference["values"])
    assert_array_equal(ours.position, lenient["values"])


@needs_data
def test_rotational_coordinates_are_opensims(tmp_path):
    answers = ask([["motion_types", str(f)] for f in MODELS], tmp_path)
    compared = 0
    for file, theirs in zip(MODELS, answers, strict=True):
        if isinstance(theirs, list):
            assert sorted(rotational_coordinates(read_osim(file))) == theirs, file
            compared += len(theirs)
    assert compared > 150


def test_a_coordinate_that_drives_an_angle_by_another_slope_is_not_rotational(tmp_path):
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    names = ("same", "opposite", "double", "both")
    joint = CustomJoint(
        "j",
        "ground",
        "b",
        tuple(Coordinate(name) for name in names),
        rotations=(
            Axis(x, Linear(1.0, 0.0), ("same",)),
            Axis(y, Linear(-1.0, 0.0), ("opposite",)),
            Axis(z, Linear(2.0, 0.0), ("double",)),
        ),
        translations=(Axis(x, Linear(1.0, 0.0), ("both",)), Axis(y), Axis(z)),
    )
    model = Model("m", (Body("b", 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),), (joint,))
    write_osim(model, tmp_path / "m.osim")
    (theirs,) = ask([["motion_types", str(tmp_path / "m.osim")]], tmp_path)
    assert sorted(rotational_coordinates(model)) == theirs == ["opposite", "same"]


@needs_data
def test_degrees_become_radians_as_in_opensim(tmp_path):
    model, file = DATA / "rajagopal_walk/subject_walk_scaled.osim", DATA / "oracle/rajagopal_walk/ik.mot"
    (theirs,) = ask([["to_radians", str(model), str(file)]], tmp_path)
    table = read_storage(file)
    ours = table.in_radians(read_osim(model))
    assert_array_equal(ours.values, theirs)
    beta = table.names.index("knee_angle_r_beta")
    assert_array_equal(ours.values[:, beta], table.values[:, beta])
    assert not ours.degrees


@needs_data
@pytest.mark.parametrize(("model", "file"), WALKS)
def test_loads_are_opensims(model, file, tmp_path):
    loads = read_external_loads(DATA / file)
    t = loads.table.time
    # Between the frames, at them, and beyond both ends.
    times = np.concatenate((t[:50:7], t[1000:1200:9] + 1e-4, [t[0] - 0.2, t[-1] + 0.3]))
    (theirs,) = ask([["loads", str(DATA / model), str(DATA / file), times.tolist()]], tmp_path)
    for ours, other in zip(loads.at(times), theirs, strict=True):
        for mine, yours in zip((ours.force, ours.point, ours.moment), other, strict=True):
            assert_allclose(mine, yours, rtol=0, atol=SPLINE * max(np.abs(yours).max(), 1.0))


# --- what we write ---------------------------------------------------------------------------------------------------
def made_table(**changes) -> Table:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(20, 3)) * 10.0 ** rng.integers(-12, 12, size=(20, 3))
    made = Provenance.of("a test", cutoff=6.0, words="a = b; c")
    options = {"units": ("N", "m", ""), "name": "inDegrees of = it", "provenance": made, "degrees": True} | changes
    return Table(np.arange(20) / 7.0, ("a", "/jointset/b/value", "c|length"), values, **options)


@pytest.mark.parametrize("version", [1, 3])
def test_opensim_reads_our_tables(version, tmp_path):
    table = made_table()
    write_storage(table, tmp_path / "t.sto", version=version)
    storage, other = ask([["storage", str(tmp_path / "t.sto")], ["table", str(tmp_path / "t.sto")]], tmp_path)
    for theirs in (storage, other):
        assert theirs["names"] == list(table.names)
        assert_array_equal(theirs["time"], table.time)
        assert_array_equal(theirs["values"], table.values)
    assert storage["degrees"]
    assert other["meta"]["inDegrees"] == "yes"
    assert other["meta"]["musculo_version"]


def test_opensim_reads_our_gaps(tmp_path):
    values = np.array(made_table().values)
    values[3, 1] = values[-1, 2] = np.nan
    table = Table(made_table().time, ("a x", "b", "c"), values)
    write_storage(table, tmp_path / "t.mot")
    for theirs in ask([["storage", str(tmp_path / "t.mot")], ["table", str(tmp_path / "t.mot")]], tmp_path):
        assert theirs["names"] == list(table.names)
        assert_array_equal(theirs["values"], values)


@pytest.mark.parametrize("units", ["m", "mm"])
def test_opensim_reads_our_markers(units, tmp_path):
    rng = np.random.default_rng(4)
    position = rng.normal(size=(9, 3, 3))
    position[2, 0] = position[4, 2] = position[8] = np.nan
    markers = Markers(np.arange(9) / 60.0, ("R.ASIS", "L ASIS", "c"), position, 60.0)
    write_trc(markers, tmp_path / "m.trc", units)
    strict, lenient = ask([["trc", str(tmp_path / "m.trc")], ["marker_data", str(tmp_path / "m.trc")]], tmp_path)
    assert strict["names"] == lenient["names"] == list(markers.names)
    assert_array_equal(strict["time"], markers.time)
    factor = 1.0 if units == "m" else 1000.0
    assert_array_equal(np.reshape(strict["values"], position.shape), position * factor)
    assert_allclose(lenient["values"], position, rtol=0 if units == "m" else 4e-16)
    assert_allclose(read_trc(tmp_path / "m.trc").position, position, rtol=0 if units == "m" else 4e-16)


@needs_data
def test_opensim_reads_our_loads(tmp_path):
    model, file = WALKS[0]
    loads = read_external_loads(DATA / file)
    write_external_loads(loads, tmp_path / "loads.xml")
    times = loads.table.time[100:200:10].tolist()
    ours, theirs = ask(
        [
            ["loads", str(DATA / model), str(tmp_path / "loads.xml"), times],
            ["loads", str(DATA / model), str(DATA / file), times],
        ],
        tmp_path,
    )
    assert_array_equal(ours, theirs)
    again = read_external_loads(tmp_path / "loads.xml")
    assert isinstance(again, ExternalLoads)
    assert again.forces == loads.forces
    assert_array_equal(again.table.values, loads.table.values)
