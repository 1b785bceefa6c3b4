"""How a nonlinear program ended, in numbers and in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, NamedTuple

import numpy as np

from musculo.arrays import BoolArray, FloatArray
from musculo.results.result_base import Result, Series

# A bound with a larger multiplier than this holds the solution back; multipliers of the others tend to zero.
ACTIVE_MULTIPLIER = 1e-6
# A variable this close to its bound, as a fraction of the larger of 1 and the bound, touches it.
ACTIVE_DISTANCE = 1e-5
# So many spans of time are listed, of more the first instant and the last.
_SPANS = 4


class SolverStatus(IntEnum):
    """How the search for a solution ended."""

    SOLVED = 0
    """All tolerances are met."""
    ACCEPTABLE = 1
    """The search stopped making progress where looser tolerances are met."""
    INFEASIBLE = 2
    """A point where violations are smallest nearby, and larger than the tolerance."""
    STEP_TOO_SMALL = 3
    """Steps became too small to change anything, before the tolerances were met."""
    DIVERGING = 4
    """Variables grow without limit."""
    STOPPED = 5
    """The caller stopped the search; the last iterate is here."""
    ITERATIONS = 6
    """The allowed iterations or time were not enough."""
    RESTORATION_FAILED = 7
    """No point with smaller violations was found."""
    INVALID_NUMBER = 8
    """A function of the program was not finite."""
    TOO_FEW_VARIABLES = 9
    """There are more equations than free variables."""
    FAILED = 10
    """The solver failed otherwise."""


_IN_WORDS = {
    SolverStatus.SOLVED: "The solution meets all tolerances",
    SolverStatus.ACCEPTABLE: "The search stopped making progress near a solution; looser tolerances are met",
    SolverStatus.INFEASIBLE: "Constraints contradict each other near this point: all nearby points violate them more",
    SolverStatus.STEP_TOO_SMALL: "The search stopped because its steps became too small",
    SolverStatus.DIVERGING: "The variables grow without limit; a bound or a cost may be missing",
    SolverStatus.STOPPED: "The search was stopped by its caller",
    SolverStatus.ITERATIONS: "The search ran out of iterations or time",
    SolverStatus.RESTORATION_FAILED: "The search found no point with smaller violations",
    SolverStatus.INVALID_NUMBER: "The search met numbers that are not finite and found no way around them",
    SolverStatus.TOO_FEW_VARIABLES: "There are more equations than free variables",
    SolverStatus.FAILED: "The solver failed",
}


class Violation(NamedTuple):
    """A row or variable beyond its limits."""

    name: str
    value: float
    lower: float
    upper: float
    amount: float  # how far beyond the limit

    def __str__(self) -> str:
        side, limit = ("below", self.lower) if self.value < self.lower else ("above", self.upper)
        if self.lower == self.upper:
            return f"{self.name} is {self.value:.6g} where {self.lower:.6g} is asked for (off by {self.amount:.3g})"
        return f"{self.name} is {self.value:.6g}, {self.amount:.3g} {side} its limit {limit:.6g}"


class ActiveBound(NamedTuple):
    """A limit of a variable or row that the solution touches."""

    name: str
    side: str  # lower or upper
    limit: float
    multiplier: float  # by how much the objective falls per unit by which the limit gives way


@dataclass(frozen=True)
class SolverTimes:
    """Where the time of a solve went [s]."""

    wall: float
    cpu: float
    callbacks_wall: float  # the program's functions
    callbacks_cpu: float
    linear_algebra_wall: float  # factorizations and solutions of linear equations
    linear_algebra_cpu: float
    evaluations: dict[str, int] = field(default_factory=dict)  # how often each function was evaluated

    @property
    def rest_wall(self) -> float:
        """What the solver does itself."""
        return self.wall - self.callbacks_wall - self.linear_algebra_wall

    @property
    def rest_cpu(self) -> float:
        """What the solver does itself."""
        return self.cpu - self.callbacks_cpu - self.linear_algebra_cpu


@dataclass(frozen=True, repr=False)
class SolverOutcome(Result):
    """What a solver of nonlinear programs found.

    The Lagrangian is f + row_multipliers . g - lower_multipliers . (x - lower) - upper_multipliers . (upper - x):
    multipliers of bounds are never negative.
    """

    made_by: ClassVar[str] = "solve"
    statuses: ClassVar[type[IntEnum]] = SolverStatus

    x: FloatArray  # (variables,)
    objective: float
    rows: FloatArray  # (rows,) g(x)
    row_multipliers: FloatArray  # (rows,)
    lower_multipliers: FloatArray  # (variables,)
    upper_multipliers: FloatArray  # (variables,)
    status: SolverStatus
    iterations: int
    barrier: float  # the last barrier parameter, from which a warm start may go on
    dual_infeasibility: float  # largest slope of the Lagrangian, scaled as the solver scales
    times: SolverTimes
    linear_solver: str  # `multifrontal`, `mumps` and so on
    tolerance: float
    variable_names: Sequence[str]
    row_names: Sequence[str]
    lower: FloatArray
    upper: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
    notes: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, object]:
        """What the solve was asked for."""
        return {"tolerance": self.tolerance, "linear_solver": self.linear_solver}

    @property
    def solved(self) -> bool:
        """Whether all tolerances are met."""
        return self.status == SolverStatus.SOLVED

    @property
    def largest_violation(self) -> float:
        """By how much a row or variable is beyond its limits at most."""
        return max((one.amount for one in self.violations(0.0, 1)), default=0.0)

    def violations(self, threshold: float | None = None, count: int | None = None) -> list[Violation]:
        """Rows and variables beyond their limits, largest first.

        Args:
            threshold: smaller violations are ignored; by default the tolerance.
            count: how many at most.
        """
        threshold = self.tolerance if threshold is None else threshold
        found = [
            *_beyond(self.row_names, self.rows, self.row_lower, self.row_upper, threshold),
            *_beyond(self.variable_names, self.x, self.lower, self.upper, threshold),
        ]
        return sorted(found, key=lambda one: -one.amount)[:count]

    def active_bounds(self) -> list[ActiveBound]:
        """Limits that hold the solution back, largest multiplier first. Equations and fixed variables are no limits."""
        found: list[ActiveBound] = []
        pull = self.row_multipliers
        for names, value, low, high, of_low, of_high in (
            (self.variable_names, self.x, self.lower, self.upper, self.lower_multipliers, self.upper_multipliers),
            (self.row_names, self.rows, self.row_lower, self.row_upper, np.maximum(-pull, 0), np.maximum(pull, 0)),
        ):
            for side, limit, multiplier in (("lower", low, of_low), ("upper", high, of_high)):
                stated = np.isfinite(limit)
                size = np.where(stated, limit, 0.0)
                near = stated & (np.abs(value - size) <= ACTIVE_DISTANCE * np.maximum(1, np.abs(size)))
                active = near & (multiplier > ACTIVE_MULTIPLIER) & (low < high)
                found += [ActiveBound(names[k], side, float(limit[k]), float(multiplier[k])) for k in _where(active)]
        return sorted(found, key=lambda one: -one.multiplier)

    def explain(self, count: int = 8, when: Callable[[int], float] | None = None) -> str:
        """How the search ended, which constraints are violated where, and which bounds are active, by name.

        Args:
            count: how many violations and groups of bounds to list at most.
            when: the time of a node, by its number, where names end with such numbers.
        """
        lines = [f"{_IN_WORDS[self.status]} ({self.iterations} iterations, objective {self.objective:.8g})."]
        violated = self.violations()
        if violated:
            lines.append(f"{len(violated)} constraints are violated by more than {self.tolerance:g}, most of all:")
            lines += _violated(violated, count, when)
        else:
            lines.append(f"No constraint is violated by more than {max(self.largest_violation, self.tolerance):.2g}.")
        active = self.active_bounds()
        if active:
            groups: dict[tuple[str, str], list[str]] = {}
            for one in active:
                base, place = _base_and_place(one.name)
                groups.setdefault((base, one.side), []).append(place)
            lines.append(f"{len(active)} bounds are active, the strongest first:")
            lines += [
                f"  {side} bound of {base}{_places(places, when if _at_node(base) else None)}"
                for (base, side), places in list(groups.items())[:count]
            ]
            if len(groups) > count:
                lines.append(f"  and {len(groups) - count} more groups")
        return "\n".join([*lines, *self.notes])

    def _frames(self) -> int | None:
        return None

    def _series(self) -> Iterable[Series]:
        yield Series("x", self.x, {"variable": list(self.variable_names)})
        yield Series("g", self.rows, {"row": list(self.row_names)})
        yield Series("row_multiplier", self.row_multipliers, {"row": list(self.row_names)})

    def __repr__(self) -> str:
        return (
            f"SolverOutcome({self.status.name.lower()}, objective {self.objective:.8g}, {self.iterations} iterations, "
            f"largest violation {self.largest_violation:.2g}, {self.times.wall:.2f} s)"
        )


def _beyond(
    names: Sequence[str], value: FloatArray, lower: FloatArray, upper: FloatArray, threshold: float
) -> list[Violation]:
    amount = np.maximum(lower - value, value - upper)
    return [
        Violation(names[k], float(value[k]), float(lower[k]), float(upper[k]), float(amount[k]))
        for k in _where((amount > threshold) | np.isnan(amount))
    ]


def _where(mask: BoolArray) -> list[int]:
    found: list[int] = np.flatnonzero(mask).tolist()
    return found


def _base_and_place(name: str) -> tuple[str, str]:
    """`knee/moment[3]` is `knee/moment` at 3."""
    found = re.fullmatch(r"(.*)\[([^\[\]]*)\]", name)
    return (found[1], found[2]) if found else (name, "")


def _at_node(base: str) -> bool:
    """Whether numbers after a name are those of nodes, and not of control points."""
    return not base.endswith("/point")


def _with_time(name: str, when: Callable[[int], float] | None) -> str:
    """`knee/moment at 0.3 s` for `knee/moment[3]`."""
    base, place = _base_and_place(name)
    if when is None or not place.isdigit() or not _at_node(base):
        return name
    return f"{base} at {when(int(place)):.4g} s"


def _violated(found: Sequence[Violation], count: int, when: Callable[[int], float] | None) -> list[str]:
    """The worst of each name, and where else it is violated."""
    groups: dict[str, list[Violation]] = {}
    for one in found:
        groups.setdefault(_base_and_place(one.name)[0], []).append(one)
    lines = []
    for base, group in list(groups.items())[:count]:
        worst = group[0]
        line = f"  {worst._replace(name=_with_time(worst.name, when))}"
        if len(group) > 1:
            places = [_base_and_place(one.name)[1] for one in group]
            line += f"; {len(group)} in all,{_places(places, when if _at_node(base) else None)}"
        lines.append(line)
    if len(groups) > count:
        lines.append(f"  and {len(groups) - count} more names")
    return lines


def _places(places: list[str], when: Callable[[int], float] | None = None) -> str:
    known = [one for one in places if one]
    if not known:
        return ""
    if not all(one.isdigit() for one in known):
        return f"[{', '.join(known[:6])}{', ...' if len(known) > 6 else ''}]"
    spans: list[list[int]] = []
    for one in sorted(map(int, known)):
        if spans and one == spans[-1][1] + 1:
            spans[-1][1] = one
        else:
            spans.append([one, one])
    if when is not None:
        if len(spans) > _SPANS:
            return f" at nodes from {when(spans[0][0]):.4g} to {when(spans[-1][1]):.4g} s"
        told = [f"at {when(a):.4g}" if a == b else f"from {when(a):.4g} to {when(b):.4g}" for a, b in spans]
        return f" {', '.join(told)} s"
    shown = [f"{a}" if a == b else f"{a}-{b}" for a, b in spans]
    return f"[{', '.join(shown[:6])}{', ...' if len(shown) > 6 else ''}]"
