"""Second derivatives of a program of nodes, where every function knows its own.

With M the multipliers of y at its nodes, M = sum T^power R^T lambda, and the same of goals,

    d2L/dx2 = V^T (sum over outputs of M d2y/dv2 + 2 factor (dy/dv)^T (dy/dv) of squared goals) V
              + the row and column of T, which is d(M y)/dv V for pieces that T multiplies

V is constant: all but splines of free duration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.trajectory.transcription.discretization import Discretization
from musculo.trajectory.transcription.node_sources import Evaluated, Source, ragged

# More entries than this take longer than an approximation is worth.
_MOST_ENTRIES = 40_000_000


class NodeCurvature:
    """The Hessian of the Lagrangian: its pattern, and how its entries follow from second derivatives at nodes."""

    def __init__(self, sources: Sequence[Source], d: Discretization) -> None:
        from scipy import sparse

        self.sources, self._duration_column = sources, d.duration_column
        n = len(d.variable_names)
        scale = np.ones(len(d.names)) if d.duration_column >= 0 else d.duration ** -d.orders.astype(float)
        keys: list[IntArray] = []
        parts: list[tuple[int, IntArray, FloatArray]] = []
        self._scaled: list[Any] = []  # V of every source, with T^-order in it
        self._pairs = [_pairs(source) for source in sources]  # of squared goals: slopes and their output
        for source, pairs in zip(sources, self._pairs, strict=True):
            rows = np.tile(scale[[d.column(name) for name in source.function.inputs]], len(source.nodes))
            V = source.variables.multiply(rows[:, None]).tocsr()
            self._scaled.append(V)
            columns = source.pattern[1]
            bends = source.function.curvature_pattern  # type: ignore[attr-defined]
            for first, second in (bends, (columns[pairs[0]], columns[pairs[1]])):
                entry, row, column, value = _products(V, len(source.columns), len(source.nodes), first, second)
                keys.append(row * n + column)
                parts.append((len(source.nodes) * len(first), entry, value))
        if d.duration_column >= 0:
            touched = np.zeros(n, dtype=bool)
            for source in sources:
                if 1 in source.by_rows or any(goal[2] for goal in source.goals):
                    touched[source.variables.indices] = True
            self._touched = np.flatnonzero(touched)
            ends = np.maximum(self._touched, d.duration_column), np.minimum(self._touched, d.duration_column)
            keys.append(ends[0] * n + ends[1])
        unique, inverse = np.unique(np.concatenate(keys).astype(np.int64), return_inverse=True)
        self.pattern: tuple[IntArray, IntArray] = (unique // n, unique % n)
        start, self._matrices = 0, []
        for width, entry, value in parts:
            at = inverse[start : start + len(entry)]
            start += len(entry)
            self._matrices.append(sparse.csr_matrix((value, (at, entry)), shape=(len(unique), width)))
        self._duration_entries = inverse[start:]

    @classmethod
    def of(cls, sources: Sequence[Source], d: Discretization) -> NodeCurvature | None:
        """The Hessian, or None where a function does not know its second derivatives, or V is not constant."""
        if any(not hasattr(source.function, "curvatures") for source in sources):
            return None
        if d.duration_column >= 0 and d.orders.any():
            return None
        size = sum(len(source.nodes) * len(_pairs(source)[0]) for source in sources)
        return cls(sources, d) if size < _MOST_ENTRIES else None

    def entries(
        self, known: Sequence[Evaluated], duration: float, objective_factor: float, multipliers: FloatArray
    ) -> FloatArray:
        """The nonzeros of the lower triangle, in the order of `pattern`.

        Args:
            known: every source at the point.
            duration: T there [s].
            objective_factor: of the objective.
            multipliers: (rows,).
        """
        total = np.zeros(len(self.pattern[0]))
        turned = np.zeros(self._scaled[0].shape[1])
        for k, (source, at) in enumerate(zip(self.sources, known, strict=True)):
            assert at.slopes is not None
            by_power = _multipliers(source, at, objective_factor, multipliers)
            bend, outer = self._matrices[2 * k], self._matrices[2 * k + 1]
            if bend.nnz and by_power:
                pull = np.asarray(sum(duration**power * part for power, part in by_power.items()))
                found = source.function.curvatures(at.variables, pull)  # type: ignore[attr-defined]
                total += bend @ found.ravel()
            if outer.nnz:
                left, right, output = self._pairs[k]
                factors = np.zeros_like(at.values)
                for _, one, power, squared in source.goals:
                    if squared:
                        factors += 2.0 * objective_factor * duration**power * one
                total += outer @ (factors[:, output] * at.slopes[:, left] * at.slopes[:, right]).ravel()
            if self._duration_column >= 0 and 1 in by_power:
                into = (source.entry_columns.T @ (by_power[1][:, source.pattern[0]] * at.slopes).T).T
                turned += self._scaled[k].T @ into.ravel()
        if self._duration_column >= 0:
            turned[self._duration_column] *= 2.0
            total[self._duration_entries] += turned[self._touched]
        return total


def _multipliers(source: Source, at: Evaluated, factor: float, multipliers: FloatArray) -> dict[int, FloatArray]:
    """(nodes, outputs) d(Lagrangian)/dy by the power of the duration that multiplies it, without that."""
    found = {power: (matrix.T @ multipliers).reshape(at.values.shape) for power, matrix in source.by_rows.items()}
    for _, one, power, squared in source.goals:
        part = factor * (2.0 * one * at.values if squared else one)
        found[power] = found.get(power, 0.0) + part
    return found


def _pairs(source: Source) -> tuple[IntArray, IntArray, IntArray]:
    """Slopes whose products squared goals need: every two entries of an output once, and the output."""
    wanted = np.zeros(len(source.function.outputs), dtype=bool)
    for _, factors, _, squared in source.goals:
        if squared:
            wanted |= (factors != 0.0).any(axis=0)
    rows, columns = source.pattern
    found = np.zeros((3, 0), dtype=np.int64)
    for one in np.flatnonzero(wanted):
        entries = np.flatnonzero(rows == one)
        entries = entries[np.argsort(columns[entries])]
        a, b = np.tril_indices(len(entries))
        found = np.hstack([found, [entries[a], entries[b], np.full(len(a), one)]])
    return found[0], found[1], found[2]


def _products(
    V: Any, inputs: int, nodes: int, first: IntArray, second: IntArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Of V^T K V, with K the entries (first, second) of every node and their mirror images: the lower triangle.

    Returns the entry (node * entries + k), row, column and constant factor of every product.
    """
    at = np.arange(nodes)[:, None] * inputs
    i, j = (at + first).ravel(), (at + second).ravel()
    a, place_a = ragged(V.indptr, i)
    b, place_b = ragged(V.indptr, j[a])
    entry = a[b]
    row, column = V.indices[place_a[b]].astype(np.int64), V.indices[place_b].astype(np.int64)
    value = V.data[place_a[b]] * V.data[place_b]
    mixed = np.tile(first != second, nodes)[entry]
    value = np.where(mixed & (row == column), 2.0 * value, value)
    keep = mixed | (row >= column)
    return entry[keep], np.maximum(row, column)[keep], np.minimum(row, column)[keep], value[keep]
