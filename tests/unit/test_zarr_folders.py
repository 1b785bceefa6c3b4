"""Labeled results in Zarr folders: the same labels and numbers, complete or not there, and nothing else replaced."""

from __future__ import annotations

import errno
import os
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from musculo import Table
from musculo.errors import InvalidFile, InvalidInput
from musculo.io import read_zarr, write_zarr
from musculo.results.labeled_arrays import labeled

xarray = pytest.importorskip("xarray")


@pytest.fixture(autouse=True)
def _zarr():
    pytest.importorskip("zarr")


def table(last: float = 3.0) -> Table:
    return Table(np.array([0.0, 0.5]), ("hip flexion", "genou_é"), np.array([[0.0, 1.0], [np.nan, last]]), name="q")


def test_labels_and_numbers_survive(tmp_path):
    target = tmp_path / "mes données.zarr"
    write_zarr(table(), target)
    again = Table.from_xarray(read_zarr(target)["q"])
    assert_array_equal(again.values, table().values)
    assert again.names == table().names
    arms = labeled(
        "arm", np.arange(12.0).reshape(2, 2, 3), {"time": [0.0, 0.5], "muscle": ["a", "é"], "axis": list("xyz")}, "m"
    )
    write_zarr(arms, target)
    found = read_zarr(target)
    assert list(found.data_vars) == ["arm"]
    assert float(found["arm"].sel(muscle="é", axis="y", time=0.5)) == 10.0
    assert found["arm"].attrs["units"] == "m"
    assert os.listdir(tmp_path) == ["mes données.zarr"]


def test_a_full_disk_leaves_the_folder_that_was_there(tmp_path, monkeypatch):
    write_zarr(table(), tmp_path / "a.zarr")

    def full(data, place, **more):
        os.makedirs(place)
        (place / "half").touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(xarray.Dataset, "to_zarr", full)
    with pytest.raises(InvalidFile, match=r"a\.zarr cannot be written \(No space left"):
        write_zarr(table(9.0), tmp_path / "a.zarr")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["a.zarr"]
    assert read_zarr(tmp_path / "a.zarr")["q"].values[1, 1] == 3.0


def test_a_folder_that_cannot_take_its_place_leaves_the_one_before(tmp_path, monkeypatch):
    write_zarr(table(), tmp_path / "a.zarr")
    move = os.rename

    def refuses_the_new_one(old, new):
        if str(old).endswith(".part"):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        move(old, new)

    monkeypatch.setattr(os, "rename", refuses_the_new_one)
    with pytest.raises(InvalidFile, match="Permission denied"):
        write_zarr(table(9.0), tmp_path / "a.zarr")
    assert os.listdir(tmp_path) == ["a.zarr"]
    assert read_zarr(tmp_path / "a.zarr")["q"].values[1, 1] == 3.0


def test_what_a_killed_process_left_is_put_away(tmp_path, monkeypatch):
    """Killed while it wrote, and between the two renames: then the folder before it is all there is."""
    write_zarr(table(), tmp_path / "a.zarr")
    os.rename(tmp_path / "a.zarr", tmp_path / ".a.zarr.0123.before")
    (tmp_path / ".a.zarr.0123.part").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(xarray.Dataset, "to_zarr", refused)
        with pytest.raises(InvalidFile, match="not today"):
            write_zarr(table(9.0), tmp_path / "a.zarr")
    assert read_zarr(tmp_path / "a.zarr")["q"].values[1, 1] == 3.0
    write_zarr(table(5.0), tmp_path / "a.zarr")
    assert os.listdir(tmp_path) == ["a.zarr"]
    assert read_zarr(tmp_path / "a.zarr")["q"].values[1, 1] == 5.0


def refused(*_, **__):
    raise OSError("not today")


def test_nothing_else_is_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(InvalidFile, match="is no Zarr folder"):
        write_zarr(table(), tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()
    with pytest.raises(InvalidFile, match="there is no folder"):
        write_zarr(table(), tmp_path / "none" / "a.zarr")
    with pytest.raises(InvalidInput, match="needs a labeled result"):
        write_zarr([1.0], tmp_path / "a.zarr")
    for name, words in (("mine", "is not a Zarr folder"), ("none.zarr", "there is no")):
        with pytest.raises(InvalidFile, match=words):
            read_zarr(tmp_path / name)
    write_zarr(table(), tmp_path / "b.zarr")
    (tmp_path / "b.zarr" / ".zmetadata").write_text("{")
    with pytest.raises(InvalidFile, match="is it damaged"):
        read_zarr(tmp_path / "b.zarr")


def test_what_to_install_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    for call in (lambda: write_zarr(table(), tmp_path / "a.zarr"), lambda: read_zarr(tmp_path / "a.zarr")):
        with pytest.raises(InvalidInput, match=r'pip install "musculo\[zarr\]"'):
            call()
    assert not list(tmp_path.iterdir())
