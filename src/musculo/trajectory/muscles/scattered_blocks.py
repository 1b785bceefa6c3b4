"""Small dense blocks of every node that are summed into the entries of a sparse matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from musculo.arrays import FloatArray, IntArray


class ScatteredBlocks:
    """Which entry of a matrix each number of each block is added to: one sparse product for all nodes."""

    rows: IntArray
    columns: IntArray

    def __init__(self) -> None:
        self._rows: list[IntArray] = []
        self._columns: list[IntArray] = []

    def add(self, rows: IntArray, columns: IntArray, symmetric: bool = False) -> None:
        """A block by the rows and columns of its numbers; -1 drops one.

        With `symmetric`, the block holds both halves of a symmetric matrix, of which one is taken.
        """
        a, b = (part.ravel().astype(np.int64) for part in np.broadcast_arrays(rows, columns))
        if symmetric:
            a = np.where(a >= b, a, -1)
        self._rows.append(a)
        self._columns.append(b)

    def made(self, width: int, *, lower: bool = False) -> ScatteredBlocks:
        """Ready to gather; `lower` puts everything below the diagonal of a symmetric matrix."""
        from scipy import sparse

        row, column = np.concatenate(self._rows), np.concatenate(self._columns)
        own = np.flatnonzero((row >= 0) & (column >= 0))
        a, b = row[own], column[own]
        if lower:
            a, b = np.maximum(a, b), np.minimum(a, b)
        keys, place = np.unique(a * width + b, return_inverse=True)
        self.rows, self.columns = keys // width, keys % width
        self._matrix: Any = sparse.csr_matrix((np.ones(len(own)), (place, own)), shape=(len(keys), len(row)))
        return self

    def gathered(self, blocks: Sequence[FloatArray]) -> FloatArray:
        """(nodes, entries) from blocks (nodes, ...) in the order in which they were added."""
        nodes = len(blocks[0])
        flat = np.concatenate([block.reshape(nodes, -1) for block in blocks], axis=1)
        return np.ascontiguousarray((self._matrix @ flat.T).T)
