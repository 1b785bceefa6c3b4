"""What a motion must keep to: limits throughout, at a moment, and between its start and its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput, UnknownName
from musculo.trajectory.problem.selection import What, first_names, matching, selected
from musculo.trajectory.problem.straight_controls import StraightControls
from musculo.trajectory.problem.variables import Limits, limits_of
from musculo.trajectory.transcription.discretization import DURATION, Discretization, names_of_nodes
from musculo.trajectory.transcription.row_blocks import Piece, RowBlock


@dataclass(frozen=True, eq=False)
class Throughout:
    """Limits of variables or of a function's outputs at all nodes.

    Args:
        what: a node function, or names of variables.
        limits: (lower, upper) or a number; or these by (patterns of) names, where others have no limits.
        between: the part of the motion in which they hold, as fractions of the duration.
        outputs: which of the function, by (patterns of) names; all by default.
    """

    what: What
    limits: Limits | Mapping[str, Limits]
    between: tuple[float, float] = (0.0, 1.0)
    outputs: str | Sequence[str] | None = None

    @property
    def moments(self) -> tuple[float, ...]:
        """Where there must be a node."""
        return self.between

    def blocks(self, d: Discretization) -> list[RowBlock]:
        """Of a discretization."""
        first, last = self.between
        if not 0.0 <= first <= last <= 1.0:
            raise InvalidInput(f"between={self.between}: fractions of the duration increase from 0 to 1")
        at = d.fractions[d.limited]
        nodes = d.limited[(at >= first - 1e-9) & (at <= last + 1e-9)]
        if not nodes.size:  # of a short part
            nodes = np.unique([d.node_at(first), d.node_at(last)])
        return _limited(d, self.what, self.outputs, self.limits, nodes)


@dataclass(frozen=True, eq=False)
class At:
    """Limits of variables or of a function's outputs at one moment.

    Args:
        fraction: of the duration: 0 is the start, 1 the end.
        what: a node function, or names of variables.
        limits: as `Throughout` has them; a number is what must be met.
        outputs: which of the function, by (patterns of) names; all by default.
    """

    fraction: float
    what: What
    limits: Limits | Mapping[str, Limits]
    outputs: str | Sequence[str] | None = None

    @property
    def moments(self) -> tuple[float, ...]:
        """Where there must be a node."""
        return (self.fraction,)

    def blocks(self, d: Discretization) -> list[RowBlock]:
        """Of a discretization."""
        return _limited(d, self.what, self.outputs, self.limits, np.array([d.node_at(self.fraction)]))


@dataclass(frozen=True, eq=False)
class Periodic:
    """The end of a motion equals its start, with sides swapped where asked:

        end of a = sign * factor * start of b + offset + speed * duration

    Args:
        names: variables (patterns) that end as they started; or pairs of patterns, end to start.
        pairs: names whose parts are swapped: `{"_r": "_l"}` lets `hip_r/value` end as `hip_l/value` started and the
            other way round.
        negated: (patterns of) names whose sign changes: rotations out of the sagittal plane.
        offsets: by (patterns of) names; a forward translation.
        speeds: by (patterns of) names; an average speed, where the duration is free.
        factors: by (patterns of) names; of a state that goes on by itself until the motion starts again, the inverse of
            what is left of it by then.
    """

    names: str | Sequence[str]
    pairs: Mapping[str, str] = field(default_factory=dict)
    negated: str | Sequence[str] = ()
    offsets: Mapping[str, Limits] = field(default_factory=dict)
    speeds: Mapping[str, float] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)

    def blocks(self, d: Discretization) -> list[RowBlock]:
        """Of a discretization."""
        ends = matching(self.names, d.names, "variable")
        for side, opposite in self.pairs.items():
            if not any(side in name or opposite in name for name in ends):
                raise InvalidInput(
                    f"pairs: no periodic variable has {side!r} or {opposite!r} in its name: {first_names(ends)}"
                )
        starts = [_swapped(name, self.pairs) for name in ends]
        for name in starts:
            if name not in d.names:
                raise UnknownName("variable", name, d.names)
        signs = np.ones(len(ends))
        if self.negated:
            signs[[ends.index(name) for name in matching(self.negated, ends, "periodic variable")]] = -1.0
        for pattern, factor in self.factors.items():
            for name in matching(pattern, ends, "periodic variable"):
                signs[ends.index(name)] *= factor
        lower, upper, speeds = np.zeros((1, len(ends))), np.zeros((1, len(ends))), np.zeros(len(ends))
        for pattern, limits in self.offsets.items():
            for name in matching(pattern, ends, "periodic variable"):
                k = ends.index(name)
                lower[0, k], upper[0, k] = limits_of(limits, f"offset of {name}")
        for pattern, speed in self.speeds.items():
            for name in matching(pattern, ends, "periodic variable"):
                speeds[ends.index(name)] = speed
        function = d.variables
        end, start = np.array([d.node_at(1.0)]), np.array([d.node_at(0.0)])
        row, one = np.zeros(1, np.int64), np.ones(1)
        blocks = []
        for k, name in enumerate(ends):
            pieces = [
                Piece(function, np.array([d.column(name)]), end, row, one),
                Piece(function, np.array([d.column(starts[k])]), start, row, -signs[k] * one),
            ]
            if speeds[k]:
                pieces.append(Piece(function, np.array([d.column(DURATION)]), end, row, -speeds[k] * one))
            label = f"{name} at the end and {starts[k]} at the start"
            whole = np.full(1, -1, dtype=np.int64)
            blocks.append(RowBlock([[label]], lower[:, k : k + 1], upper[:, k : k + 1], whole, tuple(pieces)))
        return blocks


Constraint = Throughout | At | Periodic | StraightControls


def _limited(
    d: Discretization,
    what: What,
    outputs: str | Sequence[str] | None,
    limits: Limits | Mapping[str, Limits],
    nodes: IntArray,
) -> list[RowBlock]:
    function, which = selected(what, outputs, d)
    names = [function.outputs[k] for k in which]
    if isinstance(limits, Mapping):
        by_name: dict[str, tuple[float, float]] = {}
        for pattern, one in limits.items():
            for name in matching(pattern, names, "output"):
                by_name[name] = limits_of(one, name)
        which = np.array([k for k in which if function.outputs[k] in by_name])
        names = [function.outputs[k] for k in which]
        low, high = np.array([by_name[name] for name in names]).T
    else:
        low, high = (np.full(len(names), one) for one in limits_of(limits, ", ".join(names[:3])))
    return [limit_block(d, function, which, nodes, low, high)]


def limit_block(
    d: Discretization, function: What, which: IntArray, nodes: IntArray, low: FloatArray, high: FloatArray
) -> RowBlock:
    """Limits (outputs,) of some outputs of a function at some nodes."""
    rows = np.arange(len(nodes))
    piece = Piece(function, which, nodes, rows, np.ones(len(nodes)))  # type: ignore[arg-type]
    labels = [names_of_nodes(function.outputs[k], nodes) for k in which]  # type: ignore[union-attr]
    names = [list(row) for row in zip(*labels, strict=True)]
    shape = (len(nodes), len(which))
    return RowBlock(names, np.broadcast_to(low, shape), np.broadcast_to(high, shape), d.stages[nodes], (piece,))


def _swapped(name: str, pairs: Mapping[str, str]) -> str:
    """The name on the other side."""
    for one, other in pairs.items():
        if one in name:
            return name.replace(one, other)
        if other in name:
            return name.replace(other, one)
    return name
