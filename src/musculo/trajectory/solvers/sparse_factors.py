"""Sparse symmetric equations, indefinite ones too: their factors, what they solve, and how many pivots are negative."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.sparse.dense_front import PANEL, ROWS
from musculo.kernels.sparse.elimination import fronts, group, touch
from musculo.kernels.sparse.factors import DONE, NUMBERS, equilibrate, factorize, substitute
from musculo.trajectory.solvers.ipopt_library import casadi_folder

# Scales change little after so many sweeps.
_SWEEPS = 3
# Memory for what pivots that are delayed add to what is foreseen, as a fraction of that.
_DELAYS = 0.2
# Graphs so small are eliminated by their nodes' degrees.
_SMALL = 50


class SparseFactors:
    """L D L' of symmetric matrices A of one pattern, by the multifrontal method.

    Columns are ordered by nested dissection. A column without a stable pivot is delayed (`kernels/sparse/dense_front`),
    so every matrix has factors, and D has as many negative eigenvalues as A, but for rounding.

    Args:
        row, column: (entries,) of the lower or upper triangle, in any order; entries of one place are added.
        count: the number of rows.
    """

    def __init__(self, row: IntArray, column: IntArray, count: int) -> None:
        self.negative = 0  # eigenvalues
        self.zero = 0  # columns of which nothing is left
        self.delayed = 0  # columns, each counted at every front that it left
        self._row, self._column = np.asarray(row, dtype=np.int64), np.asarray(column, dtype=np.int64)
        self._fronts = _ordered(self._row, self._column, count)
        tree, own, rows, size = self._fronts[:4]
        fronts_all = np.diff(own)
        largest = int(fronts_all.max())
        columns = int(size @ (fronts_all + ROWS))
        self._scale, self._work, self._place = np.ones(count), np.zeros(count), np.zeros(count, dtype=np.int64)
        self._diagonal, self._beside = np.zeros(count), np.zeros(count)
        self._lists = [np.zeros(len(tree), dtype=np.int64) for _ in range(5)]
        self._make_room(int((1 + _DELAYS) * columns) + 4 * (largest + ROWS) ** 2, 2 * len(rows), 2 * largest)

    def factorize(self, values: FloatArray, threshold: float) -> None:
        """The factors of A with these entries; no entry of L exceeds 1 / threshold by much."""
        equilibrate(self._row, self._column, values, _SWEEPS, self._scale, self._work)
        totals = np.zeros(6, dtype=np.int64)
        while True:
            done = factorize(
                *self._fronts, self._row, self._column, values, self._scale, threshold, self._numbers, self._packs,
                self._kept, *self._lists, self._diagonal, self._beside, self._room, self._place, self._runs, totals,
            )  # fmt: skip
            if done == DONE:
                break
            more = (2, 1) if done == NUMBERS else (1, 2)
            self._make_room(more[0] * self._numbers.size, more[1] * self._kept.size, more[1] * self._room.shape[1])
        self.negative, self.zero, _, self.delayed, *_ = totals.tolist()

    def solve(self, right: FloatArray) -> None:
        """Replace the right sides (sides, rows) by x of A x = right."""
        substitute(
            self._numbers, self._kept, *self._lists[:4], self._diagonal, self._beside, self._scale, right,
            self._room[0],
        )  # fmt: skip

    def _make_room(self, numbers: int, indices: int, largest: int) -> None:
        self._packs = np.empty((numbers // 8 + 1, 8))
        self._numbers = self._packs.reshape(-1)
        self._kept = np.zeros(indices, dtype=np.int64)
        width = -(-max(largest, 4 * (PANEL + 1)) // ROWS) * ROWS
        self._room = np.zeros((PANEL + 4, width))
        self._runs = np.zeros((2, width + 1), dtype=np.int64)


def _ordered(row: IntArray, column: IntArray, count: int) -> tuple[IntArray, ...]:
    """The order of elimination, as `factorize` takes it."""
    from scipy.sparse import csr_array

    off = row != column
    ends = (np.concatenate([row[off], column[off]]), np.concatenate([column[off], row[off]]))
    graph = csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), (count, count))
    graph.sum_duplicates()
    start, neighbors = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)

    def room(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    order = nested_dissection(start, neighbors)
    place, parent, group_of, size, touched = (room(count) for _ in range(5))
    groups = group(start, neighbors, order, place, parent, group_of, size, touched, room(3, count))
    last = group_of == np.arange(count)
    front_of, tree, own, rows = room(count), room(groups), room(groups + 1), room((size[last] + touched[last]).sum())
    linked = room(4, count)
    fronts(order, parent, group_of, size, touched, front_of, tree, own, rows, linked)
    eliminated = np.bincount(front_of, minlength=groups)
    touch(start, neighbors, linked[0], linked[1], front_of, tree, own, rows, eliminated, room(2, count))
    # the rows of a front in the order of their elimination, so that those of children follow each other in parents
    lengths = np.diff(own)
    of_own = np.arange(len(rows)) - np.repeat(own[:-1], lengths) < np.repeat(eliminated, lengths)
    position = np.empty(count, dtype=np.int64)
    position[rows[of_own]] = np.arange(count)
    rows = rows[np.argsort(np.repeat(np.arange(groups), lengths) * count + position[rows])]
    owner = np.minimum(front_of[row], front_of[column])
    entry_start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=groups))])
    return tree, own, rows, eliminated, entry_start, np.argsort(owner, kind="stable")


def nested_dissection(start: IntArray, neighbors: IntArray) -> IntArray:
    """The nodes of a graph in an order of elimination that keeps factors sparse, by METIS from CasADi's wheel.

    Source: Karypis and Kumar (1998), A fast and high quality multilevel scheme for partitioning irregular graphs, SIAM
    Journal on Scientific Computing 20, 359-392.

    Args:
        start, neighbors: (nodes + 1,), (edges,) the graph, each edge at both ends.
    """
    count = len(start) - 1
    if count < _SMALL or not len(neighbors):
        return np.argsort(np.diff(start), kind="stable")
    metis = metis_library()
    assert metis is not None
    graph = start.astype(np.int32), neighbors.astype(np.int32)
    order, places, options = np.zeros(count, np.int32), np.zeros(count, np.int32), np.zeros(8, np.int32)
    size, numbering = ctypes.c_int(count), ctypes.c_int(0)

    def pointer(values: Any) -> Any:
        return values.ctypes.data_as(ctypes.POINTER(ctypes.c_int))

    metis.METIS_NodeND(
        ctypes.byref(size), pointer(graph[0]), pointer(graph[1]), ctypes.byref(numbering), pointer(options),
        pointer(order), pointer(places),
    )  # fmt: skip
    return order.astype(np.int64)


@cache
def metis_library() -> ctypes.CDLL | None:
    """METIS 4 as it comes with CasADi; None where it is not here."""
    folder: Path | None = casadi_folder()
    if folder is None or not sys.platform.startswith("linux"):
        return None
    for path in sorted(folder.glob("libcoinmetis.so*")):
        try:
            library = ctypes.CDLL(str(path))
            library.METIS_NodeND.restype = None
        except (OSError, AttributeError):
            continue
        return library
    return None
