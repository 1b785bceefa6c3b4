"""What a replication tells: quantities beside those of a paper or of another program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


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


@dataclass(frozen=True)
class Part:
    """A table with a heading: whose numbers `theirs` are, and what they show."""

    title: str
    whose: str  # heads the column of theirs; empty where there is none
    quantities: tuple[Quantity, ...]
    remark: str = ""
    alike: str = ""  # heads the column of `Quantity.alike`: what of theirs replaces ours there
    series: dict[str, FloatArray] = field(default_factory=dict, repr=False)  # by name; rows are those of `Study.time`


@dataclass(frozen=True)
class Study:
    """A replication and its outcome."""

    name: str
    title: str
    source: str  # the paper
    method: str  # how it was done, in a sentence or two
    parts: tuple[Part, ...]
    time: FloatArray = field(repr=False)
    missing: str = ""  # what could not be computed, and why

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data; numbers that are not finite become None."""
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "method": self.method,
            "missing": self.missing,
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
                        }
                        for one in part.quantities
                    ],
                    "series": {name: _plain(values) for name, values in part.series.items()},
                }
                for part in self.parts
            ],
        }


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
