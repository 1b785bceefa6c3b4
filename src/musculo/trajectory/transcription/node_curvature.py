"""Second derivatives of a program of nodes, where every function knows its own.

With M the multipliers of y at its nodes (M = sum T^power R^T lambda, and the same of goals), g = M dy/dv,
K = M d2y/dv2 + 2 factor (dy/dv)^T dy/dv of squared goals, and v = offset + T^-order V x,

    d2L/dx2   = V^T T^-order K T^-order V
    d2L/dx dT = V^T T^-order (K w + sum power/T M_power dy/dv - order/T g),        w = dv/dT = -order/T (v - offset)
    d2L/dT2   = w^T K w + order (order + 1)/T^2 g (v - offset) + 2 sum power/T M_power dy/dv w
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.trajectory.transcription.discretization import Discretization
from musculo.trajectory.transcription.node_sources import Evaluated, Source, ragged


class NodeCurvature:
    """The Hessian of the Lagrangian: its pattern, and how its entries follow from second derivatives at nodes."""

    def __init__(self, sources: Sequence[Source], d: Discretization) -> None:
        from scipy import sparse

        self.sources, self._duration_column = sources, d.duration_column
        n = len(d.variable_names)
        keys: list[IntArray] = []
        parts: list[tuple[int, IntArray, FloatArray]] = []
        self._parts: list[tuple[_Bends, _Bends]] = []
        self._squares: list[_Squares] = []
        for source in sources:
            own: tuple[IntArray, IntArray] = source.function.curvature_pattern  # type: ignore[attr-defined]
            squares = _Squares(source)
            self._squares.append(squares)
            self._parts.append((_Bends(*own), _Bends(squares.first, squares.second)))
            for first, second in self._parts[-1]:
                entry, row, column, value = _products(source, first, second)
                keys.append(row * n + column)
                parts.append((len(source.nodes) * len(first), entry, value))
        if d.duration_column >= 0:
            touched = np.zeros(n, dtype=bool)
            for source in sources:
                if source.orders.any() or 1 in source.by_rows or any(goal[2] for goal in source.goals):
                    touched[source.variables.indices] = True
            touched[d.duration_column] = True
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
        self._offsets = [
            d.offset[np.ix_(source.nodes, np.array([d.column(name) for name in source.function.inputs]))]
            for source in sources
        ]

    @classmethod
    def of(cls, sources: Sequence[Source], d: Discretization) -> NodeCurvature | None:
        """The Hessian, or None where a function does not know its second derivatives."""
        if any(getattr(source.function, "curvature_pattern", None) is None for source in sources):
            return None
        return cls(sources, d)

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
        turned, twice = np.zeros(self.sources[0].variables.shape[1]), 0.0
        for k, (source, at) in enumerate(zip(self.sources, known, strict=True)):
            assert at.slopes is not None
            by_power = _multipliers(source, at, duration, objective_factor, multipliers)
            M = sum(by_power.values(), np.zeros_like(at.values))
            scale = duration**-source.orders
            bends = self._bends(k, at, M, duration, objective_factor)
            for part, values, matrix in zip(self._parts[k], bends, self._matrices[2 * k : 2 * k + 2], strict=True):
                if values.size:
                    total += matrix @ (values * (scale[part.first] * scale[part.second])).ravel()
            if self._duration_column < 0:
                continue
            rows = source.pattern[0]
            moved = -source.orders / duration * (at.variables - self._offsets[k])
            g = source.into_inputs(M[:, rows] * at.slopes)
            grown = np.zeros_like(g)
            if 1 in by_power:
                grown = source.into_inputs(by_power[1][:, rows] * at.slopes) / duration
            bent = np.zeros_like(g)
            for part, values in zip(self._parts[k], bends, strict=True):
                bent += part.times(values, moved)
            turned += source.variables.T @ ((bent + grown - source.orders / duration * g) * scale).ravel()
            twice += float(np.vdot(moved, bent + 2.0 * grown - (source.orders + 1.0) / duration * g))
        if self._duration_column >= 0:
            turned[self._duration_column] *= 2.0
            turned[self._duration_column] += twice
            total[self._duration_entries] += turned[self._touched]
        return total

    def _bends(
        self, k: int, at: Evaluated, M: FloatArray, duration: float, factor: float
    ) -> tuple[FloatArray, FloatArray]:
        """(nodes, entries) of K: from second derivatives, and from squares of goals."""
        source, own = self.sources[k], self._parts[k][0]
        none = np.zeros((len(at.values), 0))
        curved = source.function.curvatures(at.variables, M) if len(own.first) else none  # type: ignore[attr-defined]
        factors = np.zeros_like(at.values)
        for _, one, power, squared in source.goals:
            if squared:
                factors += 2.0 * factor * duration**power * one
        assert at.slopes is not None
        return curved, self._squares[k].entries(factors, at.slopes)


class _Bends(NamedTuple):
    """Entries of K, of one triangle: both inputs."""

    first: IntArray
    second: IntArray

    def times(self, values: FloatArray, w: FloatArray) -> FloatArray:
        """(nodes, inputs) K w, with K symmetric; values (nodes, entries)."""
        found = np.zeros_like(w)
        if values.size and w.any():
            mixed = self.first != self.second
            np.add.at(found.T, self.first, (values * w[:, self.second]).T)
            np.add.at(found.T, self.second[mixed], (values * w[:, self.first])[:, mixed].T)
        return found


def _multipliers(
    source: Source, at: Evaluated, duration: float, factor: float, multipliers: FloatArray
) -> dict[int, FloatArray]:
    """(nodes, outputs) d(Lagrangian)/dy, by the power of the duration that is in it."""
    found = {
        power: duration**power * (matrix.T @ multipliers).reshape(at.values.shape)
        for power, matrix in source.by_rows.items()
    }
    for _, one, power, squared in source.goals:
        part = factor * duration**power * (2.0 * one * at.values if squared else one)
        found[power] = found.get(power, 0.0) + part
    return found


class _Squares:
    """K of squared goals, (dy/dv)^T factors dy/dv over the outputs that they have."""

    def __init__(self, source: Source) -> None:
        wanted = np.zeros(len(source.function.outputs), dtype=bool)
        for _, factors, _, squared in source.goals:
            if squared:
                wanted |= (factors != 0.0).any(axis=0)
        rows, columns = source.pattern
        self._entries = np.flatnonzero(wanted[rows])
        self._outputs, self._rows = np.unique(rows[self._entries], return_inverse=True)
        inputs, self._columns = np.unique(columns[self._entries], return_inverse=True)
        # outputs that have one input each, as variables themselves, need no matrices
        self._single = len(self._entries) == len(self._outputs) == len(inputs)
        if self._single:
            self.first = self.second = columns[self._entries]
            return
        there = np.zeros((len(self._outputs), len(inputs)), dtype=bool)
        there[self._rows, self._columns] = True
        self._pairs = np.nonzero(np.tril(there.astype(float).T @ there > 0))
        self.first, self.second = inputs[self._pairs[0]], inputs[self._pairs[1]]

    def entries(self, factors: FloatArray, slopes: FloatArray) -> FloatArray:
        """(nodes, entries) from factors (nodes, outputs) and slopes."""
        part = slopes[:, self._entries]
        if self._single:
            return np.asarray(factors[:, self._outputs[self._rows]] * part**2)
        full = np.zeros((len(part), len(self._outputs), int(self._columns.max(initial=-1)) + 1))
        full[:, self._rows, self._columns] = part
        weighted = factors[:, self._outputs, None] * full
        return np.asarray((np.swapaxes(full, 1, 2) @ weighted)[:, self._pairs[0], self._pairs[1]])


def _products(source: Source, first: IntArray, second: IntArray) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Of V^T K V, with K the entries (first, second) of every node and their mirror images: the lower triangle.

    Returns the entry (node * entries + k), row, column and constant factor of every product.
    """
    V, nodes = source.variables, len(source.nodes)
    at = np.arange(nodes)[:, None] * len(source.columns)
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
