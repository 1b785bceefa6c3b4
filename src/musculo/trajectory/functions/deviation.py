"""By how much variables differ from a recording, as a node function."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput, UnknownName
from musculo.functions.bsplines import BSpline, natural_spline
from musculo.results.table import Table


class Deviation:
    """v - r(t): variables minus a recording of them, which is a cubic spline through its samples.

    A speed without a column is compared with the derivative of the column of its value.

    Args:
        table: in radians; before its first and after its last sample the splines go on.
        names: of the variables, which are looked for in the table as `Table.find` does.
    """

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        if table.degrees:
            raise InvalidInput(f"{table!r} has angles in degrees; convert it first: table.in_radians(model)")
        if len(table) < 2:
            raise InvalidInput(f"{table!r}: two or more frames are needed to track it")
        columns, self._order = [], np.zeros(len(names), dtype=np.int64)
        for k, name in enumerate(names):
            found = table.find(name)
            if found is None and name.endswith("/speed"):
                found, self._order[k] = table.find(name.removesuffix("speed") + "value"), 1
            if found is None:
                raise UnknownName("column to track", name, table.names, repr(table))
            columns.append(found)
        table.check_finite(columns)
        x, y = np.array(table.time), np.array(table.values[:, columns])
        self._spline: BSpline = natural_spline(x, y, 3)
        self.inputs = (*names, "time")
        self.outputs = tuple(f"deviation of {name}" for name in names)
        n = len(names)
        own = np.arange(n, dtype=np.int64)
        self.pattern: tuple[IntArray, IntArray] = (np.tile(own, 2), np.append(own, np.full(n, n)))
        self.curvature_pattern: tuple[IntArray, IntArray] = (np.full(1, n), np.full(1, n))

    def reference(self, time: FloatArray, order: int = 0) -> FloatArray:
        """(frames, names) of the recording, or its derivatives by time."""
        found = np.empty((len(time), len(self._order)))
        for own in (0, 1):
            found[:, self._order == own] = self._spline(time, order + own)[:, self._order == own]
        return found

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, names)."""
        return np.asarray(variables[:, :-1] - self.reference(variables[:, -1]))

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, names) and (nodes, entries)."""
        by_time = -self.reference(variables[:, -1], 1)
        return self.values(variables), np.hstack([np.ones_like(by_time), by_time])

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, 1) by time twice."""
        bend = -self.reference(variables[:, -1], 2)
        return np.asarray((bend * multipliers).sum(axis=1, keepdims=True))
