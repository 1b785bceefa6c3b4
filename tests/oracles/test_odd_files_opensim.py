"""Tables and markers whose headers and cells are odd: read as one of OpenSim's readers does, or noted, or refused.

OpenSim has two readers of each kind, which take some of these files apart differently; what differs is told.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("opensim")
from musculo import read_storage, read_trc
from musculo.errors import InvalidFile
from support.opensim_files import ask

ROWS = [[0.0, 1.5, 2.5], [0.01, 2.5, 3.5], [0.02, 3.5, 4.5], [0.03, 4.5, 5.5]]
STATED = {"version": "1", "nRows": "4", "nColumns": "3", "inDegrees": "yes"}


def table(changes=None, cells=None, labels=("time", "a", "b"), separator="\t", rows=None) -> str:
    """Header lines changed (None: left out), and cells by (row, column)."""
    stated = {**STATED, **(changes or {})}
    body = [[repr(value) for value in row] for row in (ROWS if rows is None else rows)]
    for (row, column), word in (cells or {}).items():
        body[row][column] = word
    head = ["odd", *(f"{key}={value}" for key, value in stated.items() if value is not None), "endheader"]
    return "\n".join([*head, separator.join(labels), *map(separator.join, body)]) + "\n"


TABLES = {
    "as usual": table(),
    "more rows promised": table({"nRows": "9"}),
    "fewer rows promised": table({"nRows": "2"}),
    "more columns promised": table({"nColumns": "5"}),
    "fewer columns promised": table({"nColumns": "2"}),
    "no rows promised": table({"nRows": None}),
    "no columns promised": table({"nColumns": None}),
    "no unit of angles": table({"inDegrees": None}),
    "no unit and no version": table({"inDegrees": None, "version": None}),
    "a word for the unit": table({"inDegrees": "true"}),
    "capitals for the unit": table({"inDegrees": "YES"}),
    "a name twice": table(labels=("time", "a", "a")),
    "a time twice": table(cells={(2, 0): "0.01"}),
    "a time that goes back": table(cells={(2, 0): "0.005"}),
    "commas": table(labels=("time", "a", "b"), separator=","),
    "blanks": table(separator=" "),
    "double tabs": table(separator="\t\t"),
    "a gap": table(cells={(1, 1): "nan"}),
    "an empty cell": table(cells={(1, 1): ""}),
    "a word": table(cells={(1, 1): "abc"}),
    "infinity": table(cells={(1, 1): "inf"}),
    "a wild number": table(cells={(1, 1): "1e308"}),
    "decimal commas": table(
        cells={(k, c): repr(v).replace(".", ",") for k, r in enumerate(ROWS) for c, v in enumerate(r)}
    ),
    "a long row": table(cells={(1, 2): "3.5\t9"}),
    "a short row": table(rows=[ROWS[0], ROWS[1][:2], *ROWS[2:]]),
}

PLACES = 50.5 * np.arange(9.0)


def trc(cells=None, names=("A", "B", "C"), unit="mm", rate="100", frames=4, count=None, separator="\t") -> str:
    body = [[str(k + 1), repr(0.01 * k), *map(repr, (PLACES + k).tolist())] for k in range(4)]
    for (row, column), word in (cells or {}).items():
        body[row][column] = word
    keys = ("DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units", "OrigDataRate", "OrigDataStartFrame")
    stated = (rate, rate, str(frames), str(count or len(names)), unit, rate, "1", str(frames))
    head = ["PathFileType\t4\t(X/Y/Z)\todd.trc", "\t".join((*keys, "OrigNumFrames")), "\t".join(stated)]
    axes = "\t\t" + "\t".join(f"X{k}\tY{k}\tZ{k}" for k in range(1, len(names) + 1))
    return (
        "\n".join([*head, "Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t", axes, "", *map(separator.join, body)])
        + "\n"
    )


MARKERS = {
    "as usual": trc(),
    "centimetres": trc(unit="cm"),
    "capitals for the unit": trc(unit="MM"),
    "no unit": trc(unit=""),
    "an unknown unit": trc(unit="furlong"),
    "a name twice": trc(names=("A", "A", "C")),
    "fewer frames promised": trc(frames=2),
    "more frames promised": trc(frames=9),
    "fewer markers promised": trc(count=2),
    "another rate": trc(rate="50"),
    "no rate": trc(rate="0"),
    "a time twice": trc({(2, 1): "0.01"}),
    "no time": trc({(2, 1): "nan"}),
    "an empty cell": trc({(1, 3): ""}),
    "an unseen marker": trc({(1, 5): "", (1, 6): "", (1, 7): ""}),
    "a gap": trc({(1, 5): "NaN", (1, 6): "NaN", (1, 7): "NaN"}),
    "a word": trc({(1, 5): "abc"}),
    "a wild number": trc({(1, 5): "1e308"}),
    "infinity": trc({(1, 5): "inf"}),
    "blanks": trc(separator=" "),
    "a long row": trc({(1, 10): "7\t8"}),
}
# Whatever OpenSim makes of them: their rows do not say what they mean.
REFUSED_TABLES = {
    "a word for the unit",
    "a time that goes back",
    "a word",
    "decimal commas",
    "a long row",
    "a short row",
}
REFUSED_MARKERS = {"no unit", "an unknown unit", "a time twice", "no time", "a word", "a long row"}
METRES = {"mm": 0.001, "cm": 0.01, "MM": 0.001, "furlong": np.nan, "m": 1.0}


def answers(files, kinds, suffix, folder):
    """What OpenSim's readers make of each file, by name; None where they refuse it or find no row."""
    jobs = []
    for k, content in enumerate(files.values()):
        (folder / f"{k}{suffix}").write_text(content)
        jobs += [[kind, str(folder / f"{k}{suffix}")] for kind in kinds]
    found = [None if "error" in one or not len(one["time"]) else one for one in ask(jobs, folder)]
    return {name: (folder / f"{k}{suffix}", found[2 * k : 2 * k + 2]) for k, name in enumerate(files)}


def same(ours, theirs) -> bool:
    return np.shape(ours) == np.shape(theirs) and np.array_equal(ours, theirs, equal_nan=True)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return answers(TABLES, ("storage", "table"), ".mot", tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def markers(tmp_path_factory):
    return answers(MARKERS, ("trc", "marker_data"), ".trc", tmp_path_factory.mktemp("markers"))


@pytest.mark.parametrize("name", TABLES)
def test_tables_differ_from_opensims_with_a_note_only(name, tables):
    path, theirs = tables[name]
    if name in REFUSED_TABLES:
        with pytest.raises(InvalidFile, match=path.name):
            read_storage(path)
        return
    ours = read_storage(path)
    for other in filter(None, theirs):
        alike = (
            list(ours.names) == other["names"] and same(ours.time, other["time"]) and same(ours.values, other["values"])
        )
        alike = alike and ours.degrees == other.get("degrees", ours.degrees)
        assert alike or ours.notes
    if name in ("as usual", "blanks", "double tabs", "no unit of angles", "capitals for the unit"):
        assert not ours.notes
        assert any(theirs)


@pytest.mark.parametrize("name", MARKERS)
def test_markers_differ_from_opensims_with_a_note_only(name, markers):
    path, theirs = markers[name]
    if name in REFUSED_MARKERS:
        with pytest.raises(InvalidFile, match=path.name):
            read_trc(path)
        return
    ours = read_trc(path)
    for other in filter(None, theirs):
        place = np.reshape(other["values"], (len(other["time"]), -1, 3)) * METRES[other.get("units", "m")]
        alike = list(ours.names) == other["names"] and same(ours.time, other["time"]) and same(ours.position, place)
        assert alike or ours.notes
    if name in ("as usual", "centimetres", "capitals for the unit", "no rate", "blanks"):
        assert not ours.notes
        assert any(theirs)
