"""Paths that are functions of coordinates as arrays: shared monomials, and columns of coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import Unsupported
from musculo.functions.function import Function
from musculo.functions.function_table import FunctionTable, PackedFunction, compile_functions
from musculo.functions.multivariate import exponent_rows
from musculo.kernels.functions.function_values import MULTIVARIATE, PIECEWISE_POLYNOMIAL
from musculo.kernels.paths.fitted_path import BLOCK, LENGTH, NOTHING, FittedPaths
from musculo.model.function_path import FunctionPath

Exponents = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class FunctionPathRow:
    """One of these paths in its place among all paths of a model, with the columns of its coordinates."""

    number: int  # among all paths of the model
    name: str  # of the force
    path: FunctionPath
    rows: tuple[int, ...]  # of q
    speeds: tuple[int, ...]  # of u that are the coordinates' derivatives; -1: none


@dataclass(frozen=True, eq=False)
class FunctionPaths:
    """Those paths of a model that are functions of coordinates, as two sets of arrays."""

    members: tuple[FunctionPathRow, ...]

    @property
    def numbers(self) -> IntArray:
        """Which paths of the model."""
        return np.array([member.number for member in self.members], dtype=np.int64)

    @cached_property
    def exact(self) -> tuple[FittedPaths, FunctionTable]:
        """Moment arms are slopes of the lengths."""
        return compile_fitted(self.members, False)

    @cached_property
    def stated(self) -> tuple[FittedPaths, FunctionTable]:
        """Moment arms are those that the model states, where it does so, as in OpenSim."""
        return compile_fitted(self.members, True)

    def arrays(self, like_opensim: bool) -> tuple[FittedPaths, FunctionTable]:
        stated = like_opensim and any(m.path.moment_arm_functions for m in self.members)
        return self.stated if stated else self.exact

    def hessians(self, Q: FloatArray, n_u: int) -> FloatArray:
        """(frames, these paths, n_u, n_q) derivatives of moment arms, in poses Q (frames, n_q)."""
        found = np.zeros((len(Q), len(self.members), n_u, Q.shape[1]))
        for k, member in enumerate(self.members):
            if member.path.length_function.n_arguments == 0:
                continue
            x = [Q[:, row] for row in member.rows]
            f = member.path.length_function
            H = f.derivative(*x, order=2)[:, None, None] if len(x) == 1 else f.hessian(*x)
            for i, speed in enumerate(member.speeds):
                if speed >= 0:
                    found[:, k, speed, list(member.rows)] = -H[:, i]
        return found

    def stated_speeds(self, Q: FloatArray, U: FloatArray, speed: FloatArray) -> None:
        """Put the lengthening speeds that the model states into (frames, paths)."""
        for member in self.members:
            function = member.path.lengthening_speed_function
            if function is not None:
                rates = [U[:, s] if s >= 0 else np.zeros(len(U)) for s in member.speeds]
                speed[:, member.number] = function(*(Q[:, row] for row in member.rows), *rates)


@dataclass
class _Column:
    """A polynomial of a group: the length of a path, or its moment arm for a speed."""

    path: int
    speed: int
    terms: dict[Exponents, float]

    @property
    def degree(self) -> int:
        return max((sum(e) for e in self.terms), default=0)


@dataclass
class _Lists:
    """What the arrays are filled from."""

    first_monomial: list[int] = field(default_factory=lambda: [0])
    first_block: list[int] = field(default_factory=lambda: [0])
    parent: list[int] = field(default_factory=list)
    factor: list[int] = field(default_factory=list)
    n_used: list[int] = field(default_factory=list)
    first_coefficient: list[int] = field(default_factory=list)
    coefficients: list[FloatArray] = field(default_factory=list)
    column_path: list[int] = field(default_factory=list)
    column_speed: list[int] = field(default_factory=list)
    function: list[int] = field(default_factory=list)
    function_path: list[int] = field(default_factory=list)
    function_speed: list[int] = field(default_factory=list)
    function_slopes: list[int] = field(default_factory=list)
    first_argument: list[int] = field(default_factory=lambda: [0])
    argument: list[int] = field(default_factory=list)
    argument_speed: list[int] = field(default_factory=list)

    def add_group(self, rows: tuple[int, ...], columns: list[_Column]) -> None:
        """Polynomials of the coordinates `rows`; the highest degree comes first, so that blocks hold alike ones."""
        columns.sort(key=lambda column: -column.degree)
        monomials = sorted(exponent_rows(len(rows), columns[0].degree), key=sum)
        place = {e: i for i, e in enumerate(monomials)}
        for e in monomials:
            last = max((k for k, power in enumerate(e) if power), default=-1)
            shorter = tuple(power - (k == last) for k, power in enumerate(e))
            self.parent.append(place[shorter] if last >= 0 else -1)
            self.factor.append(rows[last] if last >= 0 else -1)
        self.first_monomial.append(len(self.parent))
        for start in range(0, len(columns), BLOCK):
            block = columns[start : start + BLOCK]
            used = sum(sum(e) <= block[0].degree for e in monomials)
            C = np.zeros((used, BLOCK))
            for k, column in enumerate(block):
                for e, coefficient in column.terms.items():
                    C[place[e], k] = coefficient
            self.first_coefficient.append(sum(len(c) for c in self.coefficients))
            self.coefficients.append(C)
            self.n_used.append(used)
            empty = BLOCK - len(block)
            self.column_path += [c.path for c in block] + [0] * empty
            self.column_speed += [c.speed for c in block] + [NOTHING] * empty
        self.first_block.append(len(self.n_used))

    def add_function(self, member: FunctionPathRow, function: int, speed: int, slopes: bool, count: int) -> None:
        self.function.append(function)
        self.function_path.append(member.number)
        self.function_speed.append(speed)
        self.function_slopes.append(int(slopes))
        self.argument += member.rows[:count]
        self.argument_speed += member.speeds[:count]
        self.first_argument.append(len(self.argument))


def compile_fitted(members: Sequence[FunctionPathRow], stated: bool) -> tuple[FittedPaths, FunctionTable]:
    """The arrays of these paths, and the table of those functions that are no polynomials.

    Args:
        stated: whether moment arm functions of the model count; else moment arms are slopes of the length.

    Raises:
        Unsupported: a function that is carried only.
    """
    lists = _Lists()
    functions: list[Function] = []
    groups: dict[tuple[int, ...], list[_Column]] = {}
    for member in members:
        own = stated and member.path.moment_arm_functions
        parts = [(member.path.length_function, LENGTH, not own)]
        if own:
            parts += [(f, s, False) for f, s in zip(own, member.speeds, strict=True) if s >= 0]
        for function, speed, slopes in parts:
            try:
                packed = function.packed()
            except Unsupported as error:
                raise Unsupported(f"the path of {member.name!r} has {error}") from None
            terms = polynomial_terms(packed, len(member.rows))
            if terms is None:
                lists.add_function(member, len(functions), speed, slopes, function.n_arguments)
                functions.append(function)
                continue
            order, rows, speeds = _sorted(member)
            terms = {tuple(e[k] for k in order): c for e, c in terms.items()}
            columns = groups.setdefault(rows, [])
            columns.append(_Column(member.number, speed, terms))
            if slopes:
                columns += [_Column(member.number, s, slope(terms, k)) for k, s in enumerate(speeds) if s >= 0]
    for rows in sorted(groups):
        lists.add_group(rows, groups[rows])
    most = max(np.diff(lists.first_monomial), default=0)
    # a function that is no polynomial gives its value, gradient and Hessian
    sizes = [1 + m + m * m for m in (function.n_arguments for function in functions)]
    needed = max(int(most) + BLOCK, *sizes, 1)
    arrays = {name: np.array(values, dtype=np.int64) for name, values in vars(lists).items() if name != "coefficients"}
    found = FittedPaths(
        path=np.array([member.number for member in members], dtype=np.int64),
        coefficients=np.concatenate([np.zeros((0, BLOCK)), *lists.coefficients]),
        rows=np.array([needed], dtype=np.int64),
        **arrays,
    )
    return found, compile_functions(functions)


def _sorted(member: FunctionPathRow) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The order of a path's coordinates by their columns, so that paths of the same ones share their monomials."""
    order = tuple(sorted(range(len(member.rows)), key=lambda k: member.rows[k]))
    return order, tuple(member.rows[k] for k in order), tuple(member.speeds[k] for k in order)


def polynomial_terms(packed: PackedFunction, variables: int) -> dict[Exponents, float] | None:
    """Exponents and coefficients of a polynomial of so many variables; None of any other function."""
    if packed.kind == PIECEWISE_POLYNOMIAL and packed.entries == 0 and (packed.n_arguments == 0 or variables == 1):
        rest = (0,) * (variables - 1)
        powers = enumerate(packed.data[packed.degree :: -1])
        return {(k, *rest): packed.scale * float(c) for k, c in powers}
    if packed.kind != MULTIVARIATE or packed.n_arguments != variables:
        return None
    terms: dict[Exponents, float] = {}
    at = 0
    for k in range(packed.entries):
        *others, degree = packed.exponents[k * variables : (k + 1) * variables]
        for power in range(degree + 1):
            terms[(*others, power)] = packed.scale * float(packed.data[at])
            at += 1
    return terms


def slope(terms: dict[Exponents, float], k: int) -> dict[Exponents, float]:
    """Minus the derivative of a polynomial by variable k."""
    return {(*e[:k], e[k] - 1, *e[k + 1 :]): -e[k] * c for e, c in terms.items() if e[k]}
