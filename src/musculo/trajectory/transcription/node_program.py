"""A nonlinear program of what is asked of nodes, with its exact sparse Jacobian.

Every row is a linear combination, over nodes, of what node functions give there (`row_blocks`). So with y a node
function at its nodes, R a constant sparse matrix, V the constant matrix of `discretization`, and T the duration,

    g = sum over functions and powers of T^power R y(v),   v = offset + T^-order V x
    dg/dx = sum T^power R (dy/dv) T^-order V      + the column of T

The nonzeros of dg/dx are linear in those of dy/dv with constant coefficients, S: one sparse product for each function
and power gives them all, whatever the number of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput
from musculo.trajectory.node_function import NodeFunction
from musculo.trajectory.solvers.nonlinear_program import Scaling
from musculo.trajectory.transcription.discretization import Discretization
from musculo.trajectory.transcription.node_curvature import NodeCurvature
from musculo.trajectory.transcription.node_sources import Evaluated, Source, expand
from musculo.trajectory.transcription.row_blocks import GoalPiece, Piece, RowBlock, Selected

# A bound that is met with equality by variables this far apart is no contradiction but rounding.
_ROUNDING = 1e-9
# No row or goal is scaled by more, either way.
_LARGEST_SCALE = 1e6


class NodeProgram:
    """A `NonlinearProgram` over the variables of a discretization.

    Limits of single variables become bounds; other rows stay rows.
    """

    def __init__(
        self, d: Discretization, blocks: Sequence[RowBlock], goals: Sequence[GoalPiece], duration: tuple[float, float]
    ) -> None:
        self.discretization = d
        self.variable_names: Sequence[str] = d.variable_names
        self.variable_stages: IntArray | None = d.variable_stages
        n = len(d.variable_names)
        self.lower, self.upper = np.full(n, -np.inf), np.full(n, np.inf)
        if d.duration_column >= 0:
            self.lower[d.duration_column], self.upper[d.duration_column] = duration
        if d.point_limits is not None:
            self.lower = np.maximum(self.lower, d.point_limits[0])
            self.upper = np.minimum(self.upper, d.point_limits[1])
        rest = [kept for block in blocks if (kept := self._as_bounds(block)) is not None]
        self._check_bounds()
        self.row_names: Sequence[str] = tuple(name for block in rest for row in block.names for name in row)
        self.row_lower = np.concatenate([np.zeros(0), *(block.lower.ravel() for block in rest)])
        self.row_upper = np.concatenate([np.zeros(0), *(block.upper.ravel() for block in rest)])
        self.row_stages: IntArray | None = np.concatenate(
            [np.zeros(0, np.int64), *(np.repeat(block.stages, block.lower.shape[1]) for block in rest)]
        )
        self.goal_names = tuple(dict.fromkeys(goal.name for goal in goals))
        self.sources = self._sources(rest, goals)
        self._build(rest, goals)
        self._x: FloatArray | None = None
        self._known: list[Evaluated | None] = []
        self._T, self._v = np.nan, np.zeros(0)
        self._curvature = NodeCurvature.of(self.sources, d)
        pattern = None if self._curvature is None else self._curvature.pattern
        self.hessian_pattern: tuple[IntArray, IntArray] | None = pattern

    # --- what a solver asks -------------------------------------------------------------------------------------------
    def objective(self, x: FloatArray) -> float:
        """f(x)."""
        return sum(self.goal_values(x).values())

    def goal_values(self, x: FloatArray) -> dict[str, float]:
        """The part of every goal in the objective."""
        self._move(x)
        found = dict.fromkeys(self.goal_names, 0.0)
        for k, source in enumerate(self.sources):
            for goal in source.goals:
                found[goal[0]] += source.goal_value(goal, self._values(k), self._T)
        return found

    def gradient(self, x: FloatArray) -> FloatArray:
        """df/dx."""
        self._move(x)
        total = np.zeros(len(x))
        for k, source in enumerate(self.sources):
            if not source.goals:
                continue
            known = self._slopes(k)
            pull = source.goal_slopes(known.values, self._T)
            rows = source.pattern[0]
            into = source.into_inputs(pull[:, rows] * known.slopes)
            total += source.variables.T @ (into * self._T**-source.orders).ravel()
            if self._free:
                total[self._column] += np.vdot(pull, self._by_duration(k))
                for goal in source.goals:
                    if goal[2]:
                        total[self._column] += goal[2] / self._T * source.goal_value(goal, known.values, self._T)
        return total

    def rows(self, x: FloatArray) -> FloatArray:
        """g(x)."""
        self._move(x)
        total = np.zeros(len(self.row_lower))
        for k, source in enumerate(self.sources):
            for power, matrix in source.by_rows.items():
                total += self._T**power * (matrix @ self._values(k).ravel())
        return total

    def jacobian(self, x: FloatArray) -> FloatArray:
        """dg/dx, the entries of `jacobian_pattern`."""
        self._move(x)
        total = np.zeros(len(self.jacobian_pattern[0]))
        by_duration = np.zeros(len(self.row_lower))
        for k, source in enumerate(self.sources):
            if not source.by_rows:
                continue
            constant = isinstance(source.function, Selected)
            if constant:
                for exponent, entries in self._constant[k].items():
                    total += self._T**exponent * entries
            else:
                known = self._slopes(k)
                scaled = known.slopes
                if source.orders.any():
                    scaled = scaled * (self._T**-source.orders)[source.pattern[1]]
                for power, matrix in source.by_slopes.items():
                    total += self._T**power * (matrix @ scaled.ravel())
            if self._free:
                turned = self._by_duration(k) if source.orders.any() else None
                for power, matrix in source.by_rows.items():
                    if power:
                        by_duration += power * self._T ** (power - 1) * (matrix @ self._values(k).ravel())
                    if turned is not None:
                        by_duration += self._T**power * (matrix @ turned.ravel())
        if self._free:
            total[self._duration_entries] += by_duration[self._duration_rows]
        return total

    def hessian(self, x: FloatArray, objective_factor: float, multipliers: FloatArray) -> FloatArray:
        """The entries of `hessian_pattern`; see `node_curvature`."""
        self._move(x)
        assert self._curvature is not None
        known = [self._slopes(k) for k in range(len(self.sources))]
        return self._curvature.entries(known, self._T, objective_factor, multipliers)

    def scaling(self, x: FloatArray) -> Scaling:
        """Variables by the size of their bounds or units; rows and objective so that slopes at x are of order 1."""
        scales = self.discretization.variable_scales
        rows, columns = self.jacobian_pattern
        largest = np.zeros(len(self.row_lower))
        np.maximum.at(largest, rows, np.abs(self.jacobian(x)) * scales[columns])
        steepest = np.abs(self.gradient(x) * scales).max(initial=0.0)

        def inverse(slopes: FloatArray) -> FloatArray:
            return np.asarray(np.where(slopes > 0, 1.0 / np.clip(slopes, 1.0 / _LARGEST_SCALE, _LARGEST_SCALE), 1.0))

        return Scaling(1.0 / scales, inverse(largest), float(inverse(np.array([steepest]))[0]))

    # --- a point ------------------------------------------------------------------------------------------------------
    def node_values(self, x: FloatArray) -> list[tuple[Source, FloatArray]]:
        """Every function and its values at its nodes."""
        self._move(x)
        return [(source, self._values(k)) for k, source in enumerate(self.sources)]

    def _move(self, x: FloatArray) -> None:
        if self._x is not None and np.array_equal(x, self._x):
            return
        self._x = np.array(x)
        self._T = self.discretization.duration_of(x)
        self._v = self.discretization.node_variables(x)
        self._known = [None] * len(self.sources)

    def _values(self, k: int) -> FloatArray:
        known = self._known[k]
        if known is None:
            v = self._inputs(k)
            y = self.sources[k].function.values(v)
            self._check_shape(k, "values", y, len(self.sources[k].function.outputs), "outputs")
            known = self._known[k] = Evaluated(v, y, None)
        return known.values

    def _slopes(self, k: int) -> Any:
        known = self._known[k]
        if known is None or known.slopes is None:
            v = self._inputs(k)
            found = self.sources[k].function.slopes(v)
            if not isinstance(found, tuple | list) or len(found) != 2:
                raise InvalidInput(f"{self.sources[k].function!r}: slopes returns two arrays, values and slopes")
            self._check_shape(k, "values of slopes", found[0], len(self.sources[k].function.outputs), "outputs")
            self._check_shape(k, "slopes", found[1], len(self.sources[k].pattern[0]), "entries of pattern")
            known = self._known[k] = Evaluated(v, *found)
        return known

    def _check_shape(self, k: int, what: str, found: Any, width: int, of: str) -> None:
        wanted = (len(self.sources[k].nodes), width)
        if np.shape(found) != wanted:
            raise InvalidInput(
                f"{self.sources[k].function!r}: {what} have shape {np.shape(found)}; they need {wanted}, (nodes, {of})"
            )

    def _inputs(self, k: int) -> FloatArray:
        source = self.sources[k]
        return np.ascontiguousarray(self._v[np.ix_(source.nodes, source.columns)])

    def _by_duration(self, k: int) -> FloatArray:
        """(nodes, outputs) dy/dT at constant control points."""
        source = self.sources[k]
        if not source.orders.any():
            return np.zeros((len(source.nodes), len(source.function.outputs)))
        known = self._slopes(k)
        offset = self.discretization.offset[np.ix_(source.nodes, source.columns)]
        turned = -source.orders / self._T * (known.variables - offset)
        return np.asarray((source.entry_rows.T @ (known.slopes * turned[:, source.pattern[1]]).T).T)

    # --- what is made once --------------------------------------------------------------------------------------------
    @property
    def _column(self) -> int:
        return self.discretization.duration_column

    @property
    def _free(self) -> bool:
        return self._column >= 0

    def _as_bounds(self, block: RowBlock) -> RowBlock | None:
        """The block, or None where it only limits single variables, whose bounds are narrowed instead."""
        if len(block.pieces) != 1 or not isinstance(block.pieces[0].function, Selected):
            return block
        piece, d = block.pieces[0], self.discretization
        columns = np.array([d.column(piece.function.inputs[k]) for k in piece.outputs])
        if piece.power or len(piece.rows) != len(block.lower) or (np.diff(np.sort(piece.rows)) == 0).any():
            return block
        if d.orders[columns].any():
            return block
        places = (piece.nodes[:, None] * len(d.names) + columns).ravel()
        starts, ends = d.matrix.indptr[places], d.matrix.indptr[places + 1]
        if not (ends - starts == 1).all():
            return self._some_bounds(block, (ends - starts == 1).reshape(len(piece.rows), -1))
        factor = d.matrix.data[starts] * np.repeat(piece.coefficients, len(columns))
        offset = d.offset[piece.nodes[:, None], columns].ravel() * np.repeat(piece.coefficients, len(columns))
        low, high = ((limit[piece.rows].ravel() - offset) / factor for limit in (block.lower, block.upper))
        low, high = np.where(factor > 0, low, high), np.where(factor > 0, high, low)
        at = d.matrix.indices[starts]
        np.maximum.at(self.lower, at, low)
        np.minimum.at(self.upper, at, high)
        return None

    def _some_bounds(self, block: RowBlock, single: Any) -> RowBlock | None:
        """Bounds of those rows of a block all of whose variables are single ones; the rest of it."""
        (piece,) = block.pieces
        whole = single.all(axis=1)
        if not whole.any():
            return block
        order = np.argsort(piece.rows)
        bound, rest = (_picked(block, order[mask]) for mask in (whole[order], ~whole[order]))
        self._as_bounds(bound)
        return rest

    def _check_bounds(self) -> None:
        apart = self.lower - self.upper
        meet = (apart > 0) & (apart <= _ROUNDING * np.maximum(1.0, np.abs(self.lower)))
        self.upper[meet] = self.lower[meet]
        bad = np.flatnonzero(self.lower > self.upper)
        if bad.size:
            k = int(bad[0])
            raise InvalidInput(
                f"{self.variable_names[k]} must be at least {self.lower[k]:g} and at most {self.upper[k]:g}: "
                "limits of the variable, its start or its end contradict each other"
            )

    def _sources(self, blocks: Sequence[RowBlock], goals: Sequence[GoalPiece]) -> list[Source]:
        """Each function once, with all nodes at which it is asked for anything."""
        functions: dict[int, NodeFunction] = {}
        nodes: dict[int, list[IntArray]] = {}
        pieces: list[Piece | GoalPiece] = [*(p for block in blocks for p in block.pieces), *goals]
        for piece in pieces:
            key = id(piece.function)
            functions[key] = piece.function
            nodes.setdefault(key, []).append(piece.nodes)
        d = self.discretization
        found = []
        for key, function in functions.items():
            columns = np.array([d.column(name) for name in function.inputs], dtype=np.int64)
            at = np.unique(np.concatenate(nodes[key]))
            found.append(Source(function, at, columns, d.orders[columns].astype(float)))
        return found

    def _build(self, blocks: Sequence[RowBlock], goals: Sequence[GoalPiece]) -> None:
        from scipy import sparse

        d, m, n = self.discretization, len(self.row_lower), len(self.variable_names)
        index = {id(source.function): k for k, source in enumerate(self.sources)}
        triples: dict[tuple[int, int], list[tuple[IntArray, IntArray, FloatArray]]] = {}
        first = 0
        for block in blocks:
            wide = block.lower.shape[1]
            for piece in block.pieces:
                k = index[id(piece.function)]
                source = self.sources[k]
                local = np.searchsorted(source.nodes, piece.nodes)
                rows = (first + piece.rows[:, None] * wide + np.arange(wide)).ravel()
                places = (local[:, None] * len(source.function.outputs) + piece.outputs).ravel()
                triple = rows, places, np.repeat(piece.coefficients, wide)
                triples.setdefault((k, piece.power), []).append(triple)
            first += block.lower.size
        for goal in goals:
            source = self.sources[index[id(goal.function)]]
            factors = np.zeros((len(source.nodes), len(source.function.outputs)))
            factors[np.searchsorted(source.nodes, goal.nodes)] = goal.factors
            source.goals.append((goal.name, factors, goal.power, goal.squared))
        for source in self.sources:
            rows, columns = source.pattern
            entry, ones = np.arange(len(rows)), np.ones(len(rows))
            source.entry_rows = sparse.csr_matrix(
                (ones, (entry, rows)), shape=(len(rows), len(source.function.outputs))
            )
            source.entry_columns = sparse.csr_matrix((ones, (entry, columns)), shape=(len(rows), len(source.columns)))
            source.variables = d.matrix[(source.nodes[:, None] * len(d.names) + source.columns).ravel()]
        for (k, power), parts in triples.items():
            source = self.sources[k]
            shape = (m, len(source.nodes) * len(source.function.outputs))
            row, place, value = (np.concatenate(one) for one in zip(*parts, strict=True))
            source.by_rows[power] = sparse.csr_matrix((value, (row, place)), shape=shape)
        self._join(n)

    def _join(self, n: int) -> None:
        """The pattern of the Jacobian, and how its entries follow from slopes."""
        from scipy import sparse

        expanded, keys = [], []
        touched = np.zeros(len(self.row_lower), dtype=bool)
        for source in self.sources:
            for power, matrix in source.by_rows.items():
                slope, row, column, value = expand(source, matrix)
                expanded.append((source, power, slope, value))
                keys.append(row * n + column)
                if self._free and (power or source.orders.any()):
                    touched[np.diff(matrix.indptr) > 0] = True
        self._duration_rows = np.flatnonzero(touched)
        keys.append(self._duration_rows * n + self._column)
        unique, inverse = np.unique(np.concatenate(keys).astype(np.int64), return_inverse=True)
        self.jacobian_pattern = (unique // n, unique % n)
        start = 0
        for source, power, slope, value in expanded:
            at = inverse[start : start + len(slope)]
            start += len(slope)
            shape = (len(unique), len(source.nodes) * len(source.pattern[0]))
            source.by_slopes[power] = sparse.csr_matrix((value, (at, slope)), shape=shape)
        self._duration_entries = inverse[start:]
        self._constant = [self._constants(source) for source in self.sources]

    def _constants(self, source: Source) -> dict[int, FloatArray]:
        """Of variables themselves, whose slopes are ones: entries of the Jacobian, by the power of the duration."""
        found: dict[int, FloatArray] = {}
        if isinstance(source.function, Selected):
            orders = np.tile(source.orders[source.pattern[1]], len(source.nodes)).astype(int)
            for power, matrix in source.by_slopes.items():
                for order in np.unique(orders):
                    part = matrix @ (orders == order).astype(float)
                    found[power - order] = found.get(power - order, 0.0) + part
        return found


def _picked(block: RowBlock, rows: IntArray) -> RowBlock:
    """Some rows of a block of one piece with one node in each row; `rows` are entries of the piece."""
    (piece,) = block.pieces
    kept = piece.rows[rows]
    part = Piece(
        piece.function, piece.outputs, piece.nodes[rows], np.arange(len(rows)), piece.coefficients[rows], piece.power
    )
    names = [block.names[k] for k in kept]
    return RowBlock(names, block.lower[kept], block.upper[kept], block.stages[kept], (part,))
