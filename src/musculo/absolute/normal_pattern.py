"""Where the elements of N = J^T W J and of its factor are: found once for a mechanism."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.arrays import IntArray
from musculo.kernels.absolute.absolute_system import NormalPattern


def _order(blocks: Sequence[Sequence[int]], rows: Sequence[Sequence[int]], n: int) -> list[int]:
    """Blocks in the order of elimination: always one of those with the fewest neighbors."""
    of_column = np.empty(n, dtype=np.int64)
    for k, block in enumerate(blocks):
        of_column[list(block)] = k
    neighbors: list[set[int]] = [set() for _ in blocks]
    for row in rows:
        touched = set(of_column[list(row)].tolist())
        for k in touched:
            neighbors[k] |= touched
    for k, found in enumerate(neighbors):
        found.discard(k)
    sizes = [len(block) for block in blocks]
    weight = [sum(sizes[i] for i in found) for found in neighbors]
    left, order = set(range(len(blocks))), []
    while left:
        k = min(left, key=lambda i: (weight[i], i))
        left.remove(k)
        order.append(k)
        around = neighbors[k]
        for i in around:
            neighbors[i] |= around
            neighbors[i] -= {i, k}
            weight[i] = sum(sizes[j] for j in neighbors[i])
    return order


def normal_pattern(row_first: IntArray, column: IntArray, bodies: int, coordinates: int) -> NormalPattern:
    """The pattern for rows of J with these columns, of `bodies` times six and then `coordinates` columns."""
    n = 6 * bodies + coordinates
    rows = [column[a:b].tolist() for a, b in zip(row_first[:-1].tolist(), row_first[1:].tolist(), strict=True)]
    blocks = [list(range(6 * b, 6 * b + 6)) for b in range(bodies)] + [[6 * bodies + k] for k in range(coordinates)]
    position = np.empty(n, dtype=np.int64)
    position[[c for k in _order(blocks, rows, n) for c in blocks[k]]] = np.arange(n)
    # structure of N, and then of its factor: a column passes on what is below its diagonal to its next one
    below: list[set[int]] = [set() for _ in range(n)]
    placed = [np.unique(position[row]) for row in rows]
    whole = [np.sort(position[block]) for block in blocks]  # with the inertia of the body, however few equations it has
    for at in (*placed, *whole):
        for i, k in enumerate(at.tolist()):
            below[k].update(at[i + 1 :].tolist())
    for k in range(n):
        if below[k]:
            following = min(below[k])
            below[following] |= below[k] - {following}
    columns = [np.array([k, *sorted(found)], dtype=np.int64) for k, found in enumerate(below)]
    factor_first = np.concatenate([[0], np.cumsum([c.size for c in columns])]).astype(np.int64)
    index = np.full((n, n), -1, dtype=np.int64)
    for k, found in enumerate(columns):
        index[found, k] = np.arange(factor_first[k], factor_first[k + 1])
    pairs = [_pairs(position[row], int(first), index) for row, first in zip(rows, row_first[:-1], strict=True)]
    updates = [_updates(found[1:], int(factor_first[k]) + 1, index) for k, found in enumerate(columns)]
    at = position[: 6 * bodies].reshape(bodies, 6)
    a, b = at[:, [3, 4, 5, 3, 3, 4]], at[:, [3, 4, 5, 4, 5, 5]]
    return NormalPattern(
        position,
        np.ascontiguousarray(index[at[:, :3], at[:, :3]]),
        np.ascontiguousarray(index[np.maximum(a, b), np.minimum(a, b)]),
        _starts(pairs),
        *_joined(pairs),
        factor_first,
        np.concatenate(columns) if columns else np.zeros(1, dtype=np.int64),
        _starts(updates),
        *_joined(updates),
    )


def _pairs(at: IntArray, first: int, index: IntArray) -> IntArray:
    """(3, pairs): element of N, and the two elements of a row of J whose product it takes."""
    i, j = np.tril_indices(at.size)
    target = index[np.maximum(at[i], at[j]), np.minimum(at[i], at[j])]
    return np.stack([target, first + i, first + j])


def _updates(rows: IntArray, first: int, index: IntArray) -> IntArray:
    """(3, updates): what a column of the factor changes, and its two elements."""
    i, j = np.tril_indices(rows.size)
    return np.stack([index[rows[i], rows[j]], first + i, first + j])


def _starts(parts: Sequence[IntArray]) -> IntArray:
    return np.concatenate([[0], np.cumsum([part.shape[1] for part in parts])]).astype(np.int64)


def _joined(parts: Sequence[IntArray]) -> tuple[IntArray, IntArray, IntArray]:
    whole = np.concatenate([*parts, np.zeros((3, 1), dtype=np.int64)], axis=1)
    target, left, right = (np.ascontiguousarray(row) for row in whole)
    return target, left, right
