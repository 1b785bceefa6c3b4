"""Sparse symmetric equations, indefinite ones too: their factors, what they solve, and how many pivots are negative."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.sparse.dense_front import PANEL, ROWS, FactorArrays
from musculo.kernels.sparse.elimination import FrontLists, Graph, Groups, fronts, group, touch
from musculo.kernels.sparse.factors import (
    DONE,
    NUMBERS,
    FactorSpace,
    FrontPattern,
    FrontPlaces,
    ScaledMatrix,
    equilibrate,
    factorize,
    substitute,
)
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
        self._pattern = _ordered(self._row, self._column, count)
        fronts_all = np.diff(self._pattern.own)
        largest = int(fronts_all.max())
        columns = int(self._pattern.size @ (fronts_all + ROWS))
        self._scale, self._largest, self._place = np.ones(count), np.zeros(count), np.zeros(count, dtype=np.int64)
        self._diagonal, self._beside = np.zeros(count), np.zeros(count)
        self._delayed = np.zeros(len(self._pattern.tree), dtype=np.int64)
        self._places = FrontPlaces(*(np.zeros_like(self._delayed) for _ in FrontPlaces._fields))
        self._make_room(
            int((1 + _DELAYS) * columns) + 4 * (largest + ROWS) ** 2, 2 * len(self._pattern.rows), 2 * largest
        )

    def factorize(self, values: FloatArray, threshold: float) -> None:
        """The factors of A with these entries; no entry of L exceeds 1 / threshold by much."""
        matrix = ScaledMatrix(self._row, self._column, values, self._scale)
        equilibrate(matrix, _SWEEPS, self._largest)
        totals = np.zeros(6, dtype=np.int64)
        while True:
            space = FactorSpace(self._room, self._place, self._runs, self._delayed, totals)
            done = factorize(self._pattern, matrix, threshold, self._factors, self._places, space)
            if done == DONE:
                break
            more = (2, 1) if done == NUMBERS else (1, 2)
            kept = self._factors.kept.size
            self._make_room(more[0] * self._factors.numbers.size, more[1] * kept, more[1] * self._room.shape[1])
        self.negative, self.zero, _, self.delayed, *_ = totals.tolist()

    def solve(self, right: FloatArray) -> None:
        """Replace the right sides (sides, rows) by x of A x = right."""
        substitute(self._factors, self._places, self._scale, right, self._room[0])

    def _make_room(self, numbers: int, indices: int, largest: int) -> None:
        packs, kept = np.empty((numbers // 8 + 1, 8)), np.zeros(indices, dtype=np.int64)
        self._factors = FactorArrays(packs.reshape(-1), packs, kept, self._diagonal, self._beside)
        width = -(-max(largest, 4 * (PANEL + 1)) // ROWS) * ROWS
        self._room = np.zeros((PANEL + 4, width))
        self._runs = np.zeros((2, width + 1), dtype=np.int64)


def _ordered(row: IntArray, column: IntArray, count: int) -> FrontPattern:
    """The order of elimination."""
    from scipy.sparse import csr_array

    off = row != column
    ends = (np.concatenate([row[off], column[off]]), np.concatenate([column[off], row[off]]))
    graph = csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), (count, count))
    graph.sum_duplicates()
    of_nodes = Graph(graph.indptr.astype(np.int64), graph.indices.astype(np.int64))

    def room(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    order = nested_dissection(*of_nodes)
    groups = Groups(*(room(count) for _ in Groups._fields))
    number = group(of_nodes, order, room(count), groups, room(3, count))
    last = groups.group_of == np.arange(count)
    lists = FrontLists(room(number), room(number + 1), room((groups.size[last] + groups.touched[last]).sum()))
    front_of, linked = room(count), room(4, count)
    fronts(order, groups, front_of, lists, linked)
    eliminated = np.bincount(front_of, minlength=number)
    touch(of_nodes, linked, front_of, lists, eliminated, room(2, count))
    tree, own, rows = lists
    # the rows of a front in the order of their elimination, so that those of children follow each other in parents
    lengths = np.diff(own)
    of_own = np.arange(len(rows)) - np.repeat(own[:-1], lengths) < np.repeat(eliminated, lengths)
    position = np.empty(count, dtype=np.int64)
    position[rows[of_own]] = np.arange(count)
    rows = rows[np.argsort(np.repeat(np.arange(number), lengths) * count + position[rows])]
    owner = np.minimum(front_of[row], front_of[column])
    entry_start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=number))])
    return FrontPattern(tree, own, rows, eliminated, entry_start, np.argsort(owner, kind="stable"))


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
