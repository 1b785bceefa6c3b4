"""What a replication is told and what it tells: quantities beside those of a paper or of another program."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray

NOT_INSTALLED = "OpenSim is not installed (pip install opensim)"
NOT_RUN = "OpenSim was not run"


class Settings(NamedTuple):
    """What a study may be told."""

    opensim: bool = True  # whether OpenSim may be run, where it is installed
    data: Path | None = None  # a folder with recorded results of OpenSim
    say: Callable[[str], None] = lambda _: None  # told what takes time


@dataclass(frozen=True)
class Row:
    """One line of the table that a replication prints: a goal, what was measured, and whether it was reached.

    Every row can fail: ours must be at most or at least the goal. A figure that the paper states is the goal of the
    row that measures the same thing in the same way, met or not, and `cite` says where it stands; everything else has a
    goal of our own in `limit`. `ours` is None where it could not be computed; `note` then says why. What has no goal is
    a `Quantity` and no row.

    Raises:
        ValueError: a goal that is missing or stated twice, or a paper's figure without its place in the paper.
    """

    quantity: str
    paper: float | None
    ours: float | None
    unit: str = ""
    note: str = ""
    goal: Literal["at most", "at least"] = "at most"
    limit: float | None = None  # a goal of our own, where the paper states no figure
    timed: bool = False  # a measured time or a ratio of such: it changes from run to run
    cite: str = ""  # where in the paper its figure stands: section, table, figure or equation

    def __post_init__(self) -> None:
        if (self.paper is None) == (self.limit is None):
            raise ValueError(f"row {self.quantity!r}: either the paper states its goal or `limit` does, and one must")
        if (self.paper is None) != (not self.cite):
            raise ValueError(f"row {self.quantity!r}: a paper's figure and the place where it stands go together")

    @property
    def wanted(self) -> float:
        """What ours must be at most or at least."""
        found = self.paper if self.limit is None else self.limit
        assert found is not None
        return found

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's, where both are there and the paper's is not zero."""
        return None if self.ours is None or not self.paper else self.ours / self.paper

    @property
    def met(self) -> bool | None:
        """Whether ours reaches the goal; None without a figure of ours."""
        if self.ours is None:
            return None
        return bool(self.ours <= self.wanted if self.goal == "at most" else self.ours >= self.wanted)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "quantity": self.quantity,
            "unit": self.unit,
            "paper": _plain(self.paper),
            "cite": self.cite,
            "ours": _plain(self.ours),
            "ratio": _plain(self.ratio),
            "goal": self.goal,
            "limit": _plain(self.wanted),
            "met": self.met,
            "timed": self.timed,
            "note": self.note,
        }


@dataclass(frozen=True)
class Plot:
    """Something to look at, as plain data: curves over x or, with y, a surface z(x, y)."""

    name: str  # of the file
    title: str
    x_label: str
    y_label: str
    x: FloatArray = field(repr=False)
    curves: dict[str, FloatArray] = field(default_factory=dict, repr=False)  # by name, each as long as x
    y: FloatArray | None = field(default=None, repr=False)
    z: FloatArray | None = field(default=None, repr=False)  # (len(y), len(x)); NaN where there is nothing
    z_label: str = ""


def significant(figures: int) -> float:
    """The relative difference of numbers that a paper calls equal to so many significant figures: 10^-figures."""
    return 10.0**-figures


def relative_difference(ours: ArrayLike, theirs: ArrayLike) -> float:
    """The largest difference at any time, of the largest value of theirs; series (frames,) or vectors (frames, k)."""
    mine, other = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    return float(np.abs(mine - other).max() / np.abs(other).max())


@dataclass(frozen=True)
class Quantity:
    """One line of a table: a number of ours beside theirs.

    For series the numbers are the values of largest magnitude, and `difference` is the largest at any time.
    """

    name: str
    unit: str
    ours: float
    theirs: float | None = None  # None where nobody states one
    difference: float | None = None
    alike: float | None = None  # the difference that is left where their method replaces ours, if there is one
    note: str = ""


@dataclass(frozen=True)
class Part:
    """A table with a heading: whose numbers `theirs` are, and what they show."""

    title: str
    whose: str  # heads the column of theirs; empty where there is none
    quantities: tuple[Quantity, ...]
    remark: str = ""
    alike: str = ""  # heads the column of `Quantity.alike`: what of theirs replaces ours there
    series: dict[str, FloatArray] = field(default_factory=dict, repr=False)  # by name; rows are those of `Study.time`


def judged(found: Sequence[Row | Quantity]) -> tuple[tuple[Row, ...], tuple[Part, ...]]:
    """The rows among what was found, and a table of the other quantities, in their order."""
    others = tuple(one for one in found if isinstance(one, Quantity))
    parts = (Part("Measured beside it, without a goal", "", others),) if others else ()
    return tuple(one for one in found if isinstance(one, Row)), parts


@dataclass(frozen=True)
class Study:
    """A replication and its outcome."""

    name: str
    title: str
    source: str  # the paper
    method: str  # how it was done, in a sentence or two
    parts: tuple[Part, ...] = ()
    time: FloatArray = field(default_factory=lambda: np.zeros(0), repr=False)
    missing: str = ""  # what could not be computed, and why
    rows: tuple[Row, ...] = ()  # goals beside what was measured; printed before the parts
    remarks: tuple[str, ...] = ()  # what the rows show, and what explains them; printed after them
    plots: tuple[Plot, ...] = field(default=(), repr=False)

    @property
    def short(self) -> tuple[Row, ...]:
        """The rows that do not reach their goals."""
        return tuple(row for row in self.rows if row.met is False)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data; numbers that are not finite become None."""
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "method": self.method,
            "missing": self.missing,
            "rows": [row.to_json() for row in self.rows],
            "remarks": list(self.remarks),
            "time": _plain(self.time),
            "parts": [
                {
                    "title": part.title,
                    "whose": part.whose,
                    "alike": part.alike,
                    "remark": part.remark,
                    "quantities": [
                        {
                            "name": one.name,
                            "unit": one.unit,
                            "ours": _plain(one.ours),
                            "theirs": _plain(one.theirs),
                            "difference": _plain(one.difference),
                            "difference_alike": _plain(one.alike),
                            "note": one.note,
                        }
                        for one in part.quantities
                    ],
                    "series": {name: _plain(values) for name, values in part.series.items()},
                }
                for part in self.parts
            ],
        }


def plots_of(parts: Sequence[Part], time: FloatArray) -> tuple[Plot, ...]:
    """A plot of the series of each part that has some."""
    plots = []
    for part in parts:
        if part.series:
            name = re.sub(r"\W+", "_", re.split(r"[(,\[]", part.title)[0].strip().lower())
            unit = next((one.unit for one in part.quantities if one.unit), "")
            whose = {"ours": "ours", "theirs": part.whose, "alike": f"ours {part.alike}"}
            curves = {}
            for label, values in part.series.items():
                column, _, which = label.rpartition(" ")
                if which != "alike" or part.alike:  # a method in place of ours is of use beside theirs only
                    curves[f"{column}, {whose[which]}"] = values
            plots.append(Plot(name, part.title, "time [s]", f"[{unit}]" if unit else "", time, curves))
    return tuple(plots)


def beside(
    name: str, unit: str, ours: ArrayLike, theirs: ArrayLike | None = None, alike: ArrayLike | None = None
) -> Quantity:
    """A series of ours beside one of theirs at the same times, and beside the one that their method gives us."""
    mine = np.asarray(ours, dtype=float)
    if theirs is None:
        return Quantity(name, unit, _peak(mine))
    other = np.asarray(theirs, dtype=float)
    same = None if alike is None else float(np.nanmax(np.abs(np.asarray(alike, dtype=float) - other)))
    return Quantity(name, unit, _peak(mine), _peak(other), float(np.nanmax(np.abs(mine - other))), same)


def _peak(values: FloatArray) -> float:
    seen = values[np.isfinite(values)]
    return float(seen[np.argmax(np.abs(seen))]) if seen.size else float("nan")


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    return None if value is None or not np.isfinite(value) else float(value)
