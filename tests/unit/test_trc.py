"""TRC files: what is taken how, and what is refused, line by line."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from musculo import Markers, read_trc
from musculo.errors import InvalidFile, InvalidInput
from musculo.io import read_markers, write_trc

HEAD = (
    "PathFileType\t4\t(X/Y/Z)\tx.trc\n"
    "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
    "100\t100\t2\t2\tmm\t100\t1\t2\n"
)
NAMES = "Frame#\tTime\tA\t\t\tB 2\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n"
ROWS = "1\t0.00\t1\t2\t3\t4\t5\t6\n2\t0.01\t7\t8\t9\t10\t11\t12\n"
EXPECTED = np.array([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]]) * 0.001


@pytest.fixture
def read(tmp_path):
    def check(content: str | bytes) -> Markers:
        (tmp_path / "m.trc").write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_trc(tmp_path / "m.trc")

    return check


@pytest.mark.parametrize(
    "content",
    [
        HEAD + NAMES + ROWS,
        (HEAD + NAMES + ROWS).replace("\n", "\r\n"),
        "\ufeff" + HEAD + NAMES + ROWS,
        HEAD + NAMES.rstrip("\n") + "\n" + ROWS,
        HEAD + NAMES + ROWS.replace("\n", "\n\n"),
        HEAD + NAMES + ROWS.replace("\n", "\t\t\n"),
        HEAD + NAMES.replace("A\t\t\t", "A\t") + ROWS,
        HEAD + NAMES + ROWS.replace("\t", "  "),
        HEAD.replace("100\t100\t2\t2\tmm", " 100\t\t100 \t2\t\t2\t mm") + NAMES + ROWS,
        HEAD.replace("mm", "Millimeters") + NAMES + ROWS,
        HEAD.split("\n")[0] + "\n" + "\n".join(HEAD.split("\n")[2:]) + NAMES + ROWS,
        HEAD.replace("\t2\t2\t", "\t77\t2\t") + NAMES + ROWS,
    ],
    ids=[
        *("plain", "CRLF", "BOM", "no blank line", "blank lines", "trailing tabs", "one tab between names", "blanks"),
        *("padded header", "spelled-out unit", "no line of keys", "wrong NumFrames"),
    ],
)
def test_spellings_of_the_same_markers(read, content):
    markers = read(content)
    assert markers.names == ("A", "B 2")
    assert_array_equal(markers.time, [0.0, 0.01])
    assert_array_equal(markers.position, EXPECTED)
    assert markers.rate == 100.0


@pytest.mark.parametrize(("unit", "scale"), [("m", 1.0), ("cm", 0.01), ("MM", 0.001)])
def test_lengths_become_metres(read, unit, scale):
    assert_array_equal(read(HEAD.replace("mm", unit) + NAMES + ROWS).position, EXPECTED / 0.001 * scale)


def test_gaps_in_all_their_spellings(read):
    rows = "1\t0\t\t\t\t4\t5\t6\n2\t1\tnan\tnan\tnan\t4\t5\t6\n3\t2\t1\t2\t3\n"
    rows += "4\t3\t1\t\t3\t4\t5\t6\n5\t4\t0\t0\t0\t4\t5\t6\n"
    markers = read(HEAD + NAMES + rows)
    assert_array_equal(markers.missing, [[1, 0], [1, 0], [0, 1], [1, 0], [0, 0]])
    notes = " ".join(markers.notes)
    assert "1 rows end before the last marker" in notes
    assert "1 points with one or two coordinates" in notes
    assert "3 gaps in 2 markers, the longest A: 2 frames from 0 to 1 s" in notes
    assert "exactly at the origin (A)" in notes
    assert markers.zeros_as_gaps().missing[4, 0]


def test_odd_counts_and_names_are_told(read):
    markers = read(HEAD.replace("\t2\t2\t", "\t2\t5\t") + NAMES.replace("B 2", "A") + ROWS)
    assert markers.names == ("A", "A_2")
    assert markers.notes[:2] == (
        "NumMarkers is 5, but 2 markers are named; all named ones were read",
        "a second marker 'A' is called 'A_2'",
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty"),
        ("hello\n", r"m\.trc:1: no line that begins with 'Frame#'"),
        (HEAD + "Frame#\tA\tB\n" + ROWS, "'Time' must follow"),
        (HEAD + "Frame#\tTime\t\t\n" + ROWS, r"m\.trc:4: no marker is named"),
        (HEAD + NAMES, "no rows of numbers"),
        (HEAD.replace("mm", "feet") + NAMES + ROWS, "Units is 'feet'; known: mm"),
        (
            HEAD + NAMES + "1\t0\t1\t2\t3\t4\t5\t6\t7\n",
            r"m\.trc:7: the row has 7 numbers after its time, 2 markers need 6",
        ),
        (HEAD + NAMES + "1\t0\t1\t2\tx\t4\t5\t6\n", r"m\.trc:7: z of 'A': 'x' is not a number"),
        (HEAD + NAMES + "1\tx\t1\t2\t3\t4\t5\t6\n", r"m\.trc:7: the time: 'x' is not a number"),
        (HEAD + NAMES + "1\t0\t1,5\t2\t3\t4\t5\t6\n", "decimal commas"),
        (HEAD + NAMES + "1\n", "the row has no time"),
        (HEAD + NAMES + "1\t\t1\t2\t3\t4\t5\t6\n", "the time is nan"),
        (HEAD + NAMES + ROWS + ROWS, r"m\.trc:9: time does not increase from 0\.01 to 0\.0 s"),
        (HEAD + NAMES + "1\t0\t1\t2\t3\t4\t5\t6\n2\t0\t1\t2\t3\t4\t5\t6\n", "drop"),
    ],
)
def test_what_is_refused_and_where(read, content, words):
    with pytest.raises(InvalidFile, match=words):
        read(content)


def test_every_digit_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    position = rng.normal(size=(6, 2, 3))
    position[2, 1] = np.nan
    markers = Markers(np.arange(6) / 3.0, ("a b", "c"), position, 3.0)
    write_trc(markers, tmp_path / "m.trc")
    again = read_markers(tmp_path / "m.trc")
    assert (again.names, again.rate) == (markers.names, 3.0)
    assert_array_equal(again.position, position)
    assert_array_equal(again.time, markers.time)
    write_trc(markers, tmp_path / "mm.trc", "mm")
    assert_allclose(read_trc(tmp_path / "mm.trc").position, position, rtol=4e-16)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((Markers([0.0], ("a\tb",), [[[1, 2, 3]]]),), "cannot be written"),
        ((Markers([0.0], ("a",), [[[1, 2, 3]]]), "inch"), "in m or mm"),
        ((Markers([], (), np.empty((0, 0, 3))),), "no markers or no frames"),
        (("markers",), "needs Markers"),
    ],
)
def test_what_cannot_be_written(tmp_path, arguments, words):
    with pytest.raises(InvalidInput, match=words):
        write_trc(arguments[0], tmp_path / "m.trc", *arguments[1:])
    assert not list(tmp_path.iterdir())


def test_markers_of_a_table(tmp_path):
    head = "DataType=Vec3\nversion=3\nendheader\n"
    (tmp_path / "m.sto").write_text(head + "time\ta\tb\n0\t1,2,3\t4,5,6\n1\tnan,nan,nan\t4,5,6\n")
    markers = read_markers(tmp_path / "m.sto")
    assert markers.names == ("a", "b")
    assert_array_equal(markers.position[0], [[1, 2, 3], [4, 5, 6]])
    assert_array_equal(markers.missing, [[False, False], [True, False]])
    (tmp_path / "n.sto").write_text("Units=mm\nendheader\ntime a_x a_y a_z\n0 1 2 3\n")
    assert_array_equal(read_markers(tmp_path / "n.sto").position, [[[0.001, 0.002, 0.003]]])
    (tmp_path / "o.sto").write_text("endheader\ntime a b c\n0 1 2 3\n")
    with pytest.raises(InvalidFile, match="a, b, c are not a marker"):
        read_markers(tmp_path / "o.sto")
    with pytest.raises(InvalidFile, match=r"\.txt ending"):
        read_markers("a.txt")
