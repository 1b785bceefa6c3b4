"""Tables of OpenSim: what is taken how, and what is refused, line by line."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from musculo import Table, read_storage, write_storage
from musculo.errors import InvalidFile, InvalidInput
from musculo.results import Provenance

HEAD = "t\nversion=1\nnRows=2\nnColumns=3\ninDegrees=no\nendheader\n"
ROWS = "time\ta\tb\n0\t1\t2\n0.5\t3\t4\n"
EXPECTED = [[1.0, 2.0], [3.0, 4.0]]


@pytest.fixture
def read(tmp_path):
    def check(content: str | bytes, name: str = "t.sto") -> Table:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_storage(tmp_path / name)

    return check


@pytest.mark.parametrize(
    "content",
    [
        HEAD + ROWS,
        HEAD.replace("\n", "\r\n") + ROWS.replace("\n", "\r\n"),
        HEAD.replace("\n", "\r") + ROWS.replace("\n", "\r"),
        "\ufeff" + HEAD + ROWS,
        HEAD.replace("endheader", "endheader\t\t\t") + ROWS,
        HEAD + "\n\n" + ROWS.replace("\n", "\n\n") + "\n\t\t\n",
        HEAD.replace("inDegrees", "\t\x0b\ninDegrees") + ";\x1c\n" + ROWS + ",\x85,\n",
        HEAD + ROWS.replace("\t", ","),
        HEAD + ROWS.replace("\t", ";"),
        HEAD + ROWS.replace("\t", "   "),
        HEAD + ROWS.replace("\t", " \t "),
        HEAD + ROWS.replace("\n", "\t\t\n"),
        HEAD + ROWS.replace("time\ta\tb", "    time\t   a\t   b"),
        HEAD + "time\ta\tb\n 0 1 2\n 0.5 3 4\n",
        HEAD + ROWS.replace("time", "Time"),
        HEAD + ROWS.rstrip(),
        ROWS,
        "\ufeff" + ROWS,
        ROWS.replace("\t", ","),
        '"time","a","b"\n0,1,2\n0.5,3,4\n',
        "inDegrees=no\nDataType=double\nversion=3\nOpenSimVersion=4.6\nendheader\n" + ROWS,
        "name t\ndatacolumns 3\ndatarows 2\nrange 0 1\notherdata 1\nendheader\n" + ROWS,
        HEAD.replace("nRows=2\nnColumns=3\n", "") + ROWS,
        HEAD.encode("utf-16") + ROWS.encode("utf-16")[2:],
        HEAD + ROWS.replace("3", "+3.0E+00").replace("4", "4.0D0"),
    ],
    ids=[
        *(
            "plain",
            "CRLF",
            "CR",
            "BOM",
            "tabs after endheader",
            "blank lines",
            "lines of odd blanks",
            "commas",
            "semicolons",
            "blanks",
        ),
        *("blanks and tabs", "trailing tabs", "padded labels", "tabs over blanks", "Time", "no last line end"),
        *(
            "no header",
            "no header after BOM",
            "csv",
            "quoted csv",
            "version 3",
            "SIMM",
            "no counts",
            "utf-16",
            "spellings of numbers",
        ),
    ],
)
def test_spellings_of_the_same_table(read, content):
    table = read(content)
    assert table.names == ("a", "b")
    assert_array_equal(table.time, [0.0, 0.5])
    assert_array_equal(table.values, EXPECTED)


@pytest.mark.parametrize(
    ("name", "header", "degrees"),
    [
        ("t.sto", "version=1\ninDegrees=yes\n", True),
        ("t.sto", "version=1\ninDegrees = Y\n", True),
        ("t.sto", "version=1\ninDegrees=no\n", False),
        ("t.mot", "version=1\n", False),
        ("t.mot", "t\n", True),
        ("t.MOT", "t\nAngles are in radians.\n", True),
        ("t.sto", "t\n", False),
        ("t.sto", "t\nAngles are in degrees.\n", True),
        ("t.sto", "version=3\nDataType=double\ninDegrees=yes\n", True),
    ],
)
def test_degrees_are_opensims(read, name, header, degrees):
    """As OpenSim 4.6 takes them; the cases without a version are its legacy rules."""
    assert read(header + "endheader\n" + ROWS, name).degrees is degrees


def test_latin_1_in_a_header(read):
    assert read(b"caf\xe9\nversion=1\nendheader\n" + ROWS.encode()).name == "café"


@pytest.mark.parametrize("gap", ["", "nan", "NaN", "-nan", "1.#QNAN", "-1.#IND", "nan(ind)", "  "])
def test_gaps_are_kept_and_told(read, gap):
    table = read(HEAD + f"time\ta\tb\n0\t{gap}\t2\n0.5\t3\t4\n")
    assert np.isnan(table.values[0, 0])
    assert_array_equal(table.values[1], [3.0, 4.0])
    assert "1 values in 1 columns are missing" in table.notes[-1]
    (found,) = table.gaps()
    assert (found.channel, found.frames) == ("a", 1)


def test_a_cell_too_few_and_one_too_many_are_not_mixed_up(read):
    """Rows between tabs are read at once only where every cell holds one number."""
    with pytest.raises(InvalidFile, match="'2 3' is not a number"):
        read(HEAD + "time\ta\tb\n0\t\t2\n0.5\t2 3\t4\n")
    assert np.isnan(read(HEAD + "time\ta\tb\n0\t\t2\n0.5\t3\t4\n").values[0, 0])
    assert np.isnan(read(HEAD + "time\ta\tb\n0\tnan\t2\n0.5\t3\t4\n").values[0, 0])
    assert read(HEAD + "time\ta\tb\n0\t1.5D+01\t2\n0.5\t3\t4\n").values[0, 0] == 15.0


def test_gaps_at_the_end_of_a_row(read):
    table = read(HEAD + "time\ta\tb\n0\t1\t\n0.5\t\t\n")
    assert_array_equal(np.isnan(table.values), [[False, True], [True, True]])


@pytest.mark.parametrize(
    ("kind", "cell", "names"),
    [
        ("Vec3", "1,2,3", ("m_x", "m_y", "m_z")),
        ("UnitVec3", "~[1,2,3]", ("m_x", "m_y", "m_z")),
        ("Quaternion", "1,2,3,4", ("m_1", "m_2", "m_3", "m_4")),
        ("SpatialVec", "1,2,3,4,5,6", ("m_rx", "m_ry", "m_rz", "m_tx", "m_ty", "m_tz")),
        ("Vec2", "1,2", ("m_1", "m_2")),
    ],
)
def test_vectors_are_flattened(read, kind, cell, names):
    table = read(f"DataType={kind}\nversion=3\nendheader\ntime\tm\n0\t{cell}\n1\t\n2\tnan\n")
    assert table.names == names
    assert_array_equal(table.values[0], np.arange(1.0, len(names) + 1))
    assert np.isnan(table.values[1:]).all()


def test_wrong_counts_are_told(read):
    table = read(HEAD.replace("nRows=2", "nRows=7").replace("nColumns=3", "nColumns=9") + ROWS)
    assert_array_equal(table.values, EXPECTED)
    assert table.notes == (
        "the header promises 7 rows, the file holds 2; all of them were read",
        "the header promises 9 columns, the file holds 3; all of them were read",
    )


def test_repeated_names_are_numbered(read):
    table = read(HEAD + "time\ta\ta\t1_a\t\ta\n0\t1\t2\t3\t4\t5\n")
    assert table.names == ("a", "2_a", "1_a", "column_4", "3_a")
    assert len(table.notes) >= 3


def test_a_repeated_time_replaces_the_row_before(read):
    table = read(HEAD + ROWS + "0.5\t7\t8\n")
    assert_array_equal(table.values, [[1.0, 2.0], [7.0, 8.0]])
    assert "1 rows were replaced" in table.notes[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty"),
        ("hello\nworld\n", r"t\.sto:1: no line 'endheader'"),
        ("endheader\n", "ends after its header"),
        (HEAD + "time\ta\tb\n", r"t\.sto:7: no rows follow"),
        (HEAD + "tim\ta\tb\n0\t1\t2\n", r"t\.sto:7: the first label is 'tim'; it must be time"),
        (HEAD + "time\ta\tb\n0\t1\n", r"t\.sto:8: the first row has 2 numbers, the labels above it are 3"),
        (HEAD + "time\ta\tb\n0\t1\t2\n1\t2\n", r"t\.sto:9: the row has 2 cells, the labels are 3; is the file cut off"),
        (HEAD + "time\ta\tb\n0\t1\tx\n", r"t\.sto:8: column 'b': 'x' is not a number; write nan"),
        (HEAD + "time\ta\tb\n0\t1\t1_000\n", "'1_000' is not a number"),
        (HEAD + "time\ta\tb\n0\t1\t٣\n", "is not a number"),
        (HEAD + "time\ta\tb\n0\t1,5\t2\n", "decimal commas must become points"),
        (HEAD + "time\ta\tb\n1\t1\t2\n0\t1\t2\n", r"t\.sto:9: time goes back from 1\.0 to 0\.0 s; sort"),
        (HEAD + "time\ta\tb\nnan\t1\t2\n", r"t\.sto:8: the time is nan"),
        (HEAD.replace("inDegrees=no", "inDegrees=true") + ROWS, "write inDegrees=yes or inDegrees=no"),
        ("DataType=Matrix\nendheader\n" + ROWS, "DataType='Matrix' is unknown; known: double, Vec3"),
        ("DataType=Vec3\nendheader\ntime\ta\n0\t1,2\n", "needs 3 numbers between commas"),
        (b"\0\1\2" + HEAD.encode(), "binary"),
    ],
)
def test_what_is_refused_and_where(read, content, words):
    with pytest.raises(InvalidFile, match=words):
        read(content)


def test_a_missing_file_names_its_neighbours(tmp_path):
    (tmp_path / "other.sto").write_text(HEAD + ROWS)
    with pytest.raises(InvalidFile, match=r"no file .*absent\.sto; in that folder: other\.sto"):
        read_storage(tmp_path / "absent.sto")
    with pytest.raises(InvalidFile, match="is a folder"):
        read_storage(tmp_path)
    with pytest.raises(InvalidFile, match="give the path"):
        read_storage(None)


# --- writing ---------------------------------------------------------------------------------------------------------
def table(**changes) -> Table:
    options = {"names": ("a", "b"), "values": [[1 / 3, 1e-300], [-2.0, np.pi]], "name": "t"} | changes
    return Table([0.0, 0.1], options.pop("names"), options.pop("values"), **options)


@pytest.mark.parametrize("version", [None, 1, 3])
def test_every_digit_comes_back(tmp_path, version):
    made = Provenance.of("lowpass", sources=("a.mot",), cutoff=6.0)
    written = table(degrees=True, units=("deg", "m"), provenance=made)
    write_storage(written, tmp_path / "t.mot", version=version)
    again = read_storage(tmp_path / "t.mot")
    assert_array_equal(again.values, written.values)
    assert_array_equal(again.time, written.time)
    assert (again.names, again.degrees, again.units, again.name) == (("a", "b"), True, ("deg", "m"), "t")
    assert again.provenance == made


def test_gaps_choose_the_version_that_opensim_can_read(tmp_path):
    write_storage(table(), tmp_path / "t.sto")
    assert "version=1" in (tmp_path / "t.sto").read_text()
    gappy = table(values=[[1.0, np.nan], [np.inf, 2.0]])
    write_storage(gappy, tmp_path / "t.sto")
    assert "version=3" in (tmp_path / "t.sto").read_text()
    assert_array_equal(read_storage(tmp_path / "t.sto").values, gappy.values)
    with pytest.raises(InvalidInput, match="write version 3"):
        write_storage(gappy, tmp_path / "t.sto", version=1)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"names": ("a\tb", "c")}, "cannot be written"), ({"names": (" a", "c")}, "cannot be written")],
)
def test_names_that_no_file_can_hold(tmp_path, change, words):
    with pytest.raises(InvalidInput, match=words):
        write_storage(table(**change), tmp_path / "t.sto")
    assert not list(tmp_path.iterdir())


def test_a_title_cannot_pass_for_a_key(tmp_path):
    for title in ("nRows=9", "endheader", "version=1\nendheader", "range of motion", "\udc80"):
        write_storage(table(name=title), tmp_path / "t.sto")
        again = read_storage(tmp_path / "t.sto")
        assert_array_equal(again.values, table().values)
        assert not again.notes  # the counts of the header are the true ones


def test_a_file_is_complete_or_absent(tmp_path, monkeypatch):
    file = tmp_path / "t.sto"
    write_storage(table(), file)
    os.chmod(file, 0o640)
    before = file.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(InvalidFile, match="No space left"):
            write_storage(table(name="new"), file)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["t.sto"]
    write_storage(table(name="new"), file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640  # the mode of the file that was there
    with pytest.raises(InvalidFile, match="no folder"):
        write_storage(table(), tmp_path / "absent" / "t.sto")
    with pytest.raises(InvalidInput, match="the table to write is str"):
        write_storage("t", file)


@pytest.mark.parametrize("rest", ["", "r\n"], ids=["alone", "with a rest of a word"])
@pytest.mark.parametrize("label", ["", "time"])
def test_states_of_opensims_muscle_control(tmp_path, rest, label):
    """It writes the header of an empty table, labels below that of time, and all rows."""
    path = tmp_path / "cmc_states.sto"
    header = "UNKNOWN\nversion=1\nnRows=0\nnColumns=1\ninDegrees=no\nendheader\ntime\n"
    rows = "  0.03\t 1.5\t 2\t \n  0.04\t 2.5\t 3\t \n"
    path.write_text(f"{header}{rest}{label}\t/jointset/a/q/value\t/jointset/a/q/speed\t\n{rows}")
    table = read_storage(path)
    assert table.names == ("/jointset/a/q/value", "/jointset/a/q/speed")
    assert table.time.tolist() == [0.03, 0.04]
    assert table.values.tolist() == [[1.5, 2.0], [2.5, 3.0]]
    assert any("promises 0 rows" in note for note in table.notes)
