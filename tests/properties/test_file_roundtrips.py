"""Laws of files: what is written is read, to the last bit, or is refused before a file appears."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from musculo import Markers, Table, read_storage, read_trc, write_netcdf, write_storage
from musculo.errors import InvalidInput
from musculo.io import read_netcdf, write_trc

letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
names = st.lists(st.text(letters, min_size=1, max_size=12), min_size=1, max_size=4, unique=True)
numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)
EXAMPLES = settings(max_examples=150, deadline=None)


@st.composite
def times(draw):
    steps = draw(arrays(float, st.integers(1, 6), elements=st.floats(1e-6, 1e3)))
    return np.cumsum(steps) - draw(st.floats(0.0, 100.0))


@st.composite
def tables(draw):
    time, columns = draw(times()), draw(names)
    values = draw(arrays(float, (len(time), len(columns)), elements=numbers))
    return Table(time, tuple(columns), values, draw(st.booleans()), name=draw(st.text(max_size=20)))


@st.composite
def markers(draw):
    time, labels = draw(times()), draw(names)
    position = draw(arrays(float, (len(time), len(labels), 3), elements=numbers))
    return Markers(time, tuple(labels), position)


def through(write, read, result, suffix):
    """What is read of a written result; None where it was refused, and then nothing may be left behind."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            write(result, folder / f"x{suffix}")
        except InvalidInput:
            assert not list(folder.iterdir())
            return None
        return read(folder / f"x{suffix}")


def printable(labels) -> bool:
    return all(name.isprintable() and name == name.strip() for name in labels)


@EXAMPLES
@given(tables(), st.sampled_from([".sto", ".mot"]))
@example(Table([0.0], ('"a"', "a,b", "a;b", "time", "#"), np.ones((1, 5)), name="# x"), ".sto")
@example(Table([0.0], ("a",), [[1.0]], name=" \x1f"), ".sto")
@example(Table([0.0, 1.0], ("a b", "c"), np.full((2, 2), np.nan), name="time"), ".mot")
def test_tables_come_back(table, suffix):
    again = through(write_storage, read_storage, table, suffix)
    assert (again is not None) == printable(table.names)
    if again is not None:
        assert (again.names, again.degrees) == (table.names, table.degrees)
        assert_array_equal(again.time, table.time)
        assert_array_equal(again.values, table.values)


@EXAMPLES
@given(markers())
@example(Markers([0.0], ("Time", "X1", "#", "a b"), np.full((1, 4, 3), np.nan)))
def test_markers_come_back(given_markers):
    again = through(write_trc, read_trc, given_markers, ".trc")
    assert (again is not None) == printable(given_markers.names)
    if again is not None:
        assert again.names == given_markers.names
        assert_array_equal(again.time, given_markers.time)
        assert_array_equal(again.position, given_markers.position)


@EXAMPLES
@given(tables())
def test_labelled_tables_come_back(table):
    dataset = through(write_netcdf, read_netcdf, Table(table.time, table.names, table.values, name="q"), ".nc")
    if dataset is not None:
        again = Table.from_xarray(dataset["q"])
        assert again.names == table.names
        assert_array_equal(again.values, table.values)
