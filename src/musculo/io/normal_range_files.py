"""Normal ranges of walking as a text file: those that ship, and a laboratory's own."""

from __future__ import annotations

import csv
from importlib.resources import as_file, files

import numpy as np

from musculo.errors import InvalidFile
from musculo.io.text import PathLike, checked_path, read_lines
from musculo.results.normal_ranges import FIGURES, NormalRange, NormalRanges

_KIND = "a table of normal ranges (.csv)"
_COLUMNS = ("figure", "quantity", "positive", "unit", "percent", "mean", "sd")
_UNITS = {"angle": "deg", "moment": "N m/kg", "power": "W/kg", "ground reaction": "BW"}


def read_normal_ranges(path: PathLike | None = None) -> NormalRanges:
    """Normal ranges of walking, for reports.

    The file has the columns figure (angle, moment, power, ground reaction), quantity (as coordinates are called,
    without a side: knee angle), positive (what the positive direction is called: flexion), unit (deg, N m/kg, W/kg,
    BW), percent (of the gait cycle), mean and sd. Lines such as `# angle: 40 adults, our laboratory` say where the
    ranges of a figure come from. A row without a mean ends a part.

    Args:
        path: the file; by default what ships: 83 children of [Schwartz2008], every 4 % of the cycle, and the usual
            peaks of ground reactions of adults in [Perry2010] and [Winter2009].
    """
    if path is None:
        with as_file(files("musculo.io") / "normal_walking.csv") as shipped:
            return _read(shipped)
    return _read(path)


def _read(path: PathLike) -> NormalRanges:
    where = checked_path(path, _KIND)
    sources: dict[str, str] = {}
    found: dict[tuple[str, str, str, str], list[tuple[float, float, float]]] = {}
    rows = []
    for number, line in enumerate(read_lines(path, _KIND), 1):
        if line.startswith("#"):
            figure, colon, text = line[1:].partition(":")
            if colon and figure.strip() in FIGURES:
                sources[figure.strip()] = text.strip()
        elif line.strip():
            rows.append((number, next(csv.reader([line]))))
    if not rows or tuple(cell.strip() for cell in rows[0][1]) != _COLUMNS:
        raise InvalidFile(f"{where}: the first line that is no comment must be {','.join(_COLUMNS)}")
    for number, cells in rows[1:]:
        figure, quantity, positive, unit, *numbers = (cell.strip() for cell in cells)
        if len(numbers) != 3 or _UNITS.get(figure) != unit:
            raise InvalidFile(
                f"{where}, line {number}: give {', '.join(_COLUMNS)}; figure and unit are "
                f"{'; '.join(f'{name} in {one}' for name, one in _UNITS.items())}"
            )
        try:
            percent, mean, sd = (float(text) if text else np.nan for text in numbers)
        except ValueError:
            raise InvalidFile(f"{where}, line {number}: {', '.join(numbers)} are not three numbers") from None
        if not 0.0 <= percent <= 100.0 or sd < 0.0:
            raise InvalidFile(f"{where}, line {number}: percent is 0 to 100, and sd is not negative")
        found.setdefault((figure, quantity.lower(), positive, unit), []).append((percent, mean, sd))
    ranges = []
    for key, points in found.items():
        x, mean_, sd_ = np.array(points).T
        if (np.diff(x) < 0.0).any():
            raise InvalidFile(f"{where}: percent of {key[0]} {key[1]} does not increase")
        ranges.append(NormalRange(*key, x, mean_, sd_))
    return NormalRanges(tuple(ranges), sources)
