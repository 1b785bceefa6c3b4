"""Lengths of muscles at nodes, with three derivatives: from polynomials in closed form, else from exact paths.

Each muscle has a short list of independent coordinates, its own, and derivatives are by these: moment arms are
r_i = -dl/dq_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import NamedTuple, Protocol

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.embedding.embedding import Embedding, embedding_of
from musculo.functions.multivariate import MultivariatePolynomial, exponent_rows
from musculo.model.function_path import FunctionPath
from musculo.model.model import Model
from musculo.model.model_path import Path
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.muscle.paths.moment_arm_derivatives import moment_arm_derivatives

# Steps of the differences of exact derivatives of moment arms [rad, m].
_STEP = 1e-6
# Derivatives of moment arms that are computed at a time: what they need stays in memory.
_NUMBERS = 4_000_000
# Poses at which it is seen which coordinates move a path.
_POSES, _SPREAD, _SEED = 8, 0.2, 5


class PathState(NamedTuple):
    """Paths at nodes; K is the largest number of coordinates that one has, and what is over is zero."""

    length: FloatArray  # (nodes, muscles) [m]
    arms: FloatArray  # (nodes, muscles, K) r_i
    bends: FloatArray  # (nodes, muscles, K, K) dr_i/dq_j; empty unless asked for


class NodePaths(Protocol):
    """Paths of all muscles of a model."""

    own: IntArray  # (muscles, K) independent coordinates; -1: none

    def at(self, z: FloatArray, q: FloatArray, bends: bool) -> PathState:
        """In poses: independent coordinates (nodes, n), and all coordinates of the tree that follow."""

    def third(self, z: FloatArray, q: FloatArray, along: FloatArray, bends: FloatArray) -> FloatArray:
        """(nodes, muscles, K, K) sum over i of along_i d2 r_i / dq dq, along (nodes, muscles, K)."""


def node_paths(model: Model, threads: int | None = None) -> NodePaths:
    """Polynomials of independent coordinates in closed form, other paths exactly."""
    e = embedding_of(model)
    known = set(e.coordinate_names)
    smooth = np.array([_is_polynomial(muscle.path, known) for muscle in model.muscles], dtype=bool)
    if smooth.all():
        return PolynomialPaths(model, e)
    if not smooth.any():
        return ExactPaths(model, e, threads)
    parts: list[tuple[IntArray, NodePaths]] = []
    for own in (smooth, ~smooth):
        which = np.flatnonzero(own)
        some = model.replace(forces=tuple(model.muscles[k] for k in which))
        parts.append((which, PolynomialPaths(some, e) if own is smooth else ExactPaths(some, e, threads)))
    return MixedPaths(len(smooth), parts)


def _is_polynomial(path: Path | None, known: set[str]) -> bool:
    return (
        isinstance(path, FunctionPath)
        and isinstance(path.length_function, MultivariatePolynomial)
        and known.issuperset(path.coordinates)
    )


class MixedPaths:
    """Some paths of one kind, some of another."""

    def __init__(self, count: int, parts: Sequence[tuple[IntArray, NodePaths]]) -> None:
        self.parts = parts
        width = max(part.own.shape[1] for _, part in parts)
        self.own = np.full((count, width), -1, dtype=np.int64)
        for which, part in parts:
            self.own[which, : part.own.shape[1]] = part.own

    def at(self, z: FloatArray, q: FloatArray, bends: bool) -> PathState:
        """In poses."""
        n, (count, width) = len(z), self.own.shape
        length, arms = np.empty((n, count)), np.zeros((n, count, width))
        second = np.zeros((n if bends else 0, count, width, width))
        for which, part in self.parts:
            found, k = part.at(z, q, bends), part.own.shape[1]
            length[:, which], arms[:, which, :k] = found.length, found.arms
            if bends:
                second[:, which, :k, :k] = found.bends
        return PathState(length, arms, second)

    def third(self, z: FloatArray, q: FloatArray, along: FloatArray, bends: FloatArray) -> FloatArray:
        """Of each part."""
        found = np.zeros(bends.shape)
        for which, part in self.parts:
            k = part.own.shape[1]
            found[:, which, :k, :k] = part.third(z, q, along[:, which, :k], bends[:, which, :k, :k])
        return found


# --- polynomials ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Group:
    """Polynomials of the same coordinates: columns of coefficients of values and derivatives, over shared monomials.

    Derivatives that differ in the order of their coordinates are one: d2/dx_i dx_j is there for i <= j.
    """

    coordinates: IntArray  # (d,) independent
    muscles: IntArray
    exponents: IntArray  # (terms, d)
    columns: tuple[FloatArray, ...]  # (terms, muscles * derivatives) of orders 0 to 3
    second: IntArray  # (d, d) which second derivative
    third: IntArray  # (d, second derivatives) which third one is the slope of each by each coordinate

    def monomials(self, z: FloatArray) -> FloatArray:
        """(nodes, terms)."""
        x = z[:, self.coordinates]
        found = np.ones((len(z), len(self.exponents)))
        for k in range(x.shape[1]):
            powers = x[:, k : k + 1] ** np.arange(self.exponents[:, k].max(initial=0) + 1)
            found *= powers[:, self.exponents[:, k]]
        return found


class PolynomialPaths:
    """Paths whose lengths are polynomials of independent coordinates."""

    def __init__(self, model: Model, e: Embedding) -> None:
        paths = [muscle.path for muscle in model.muscles]
        lists: dict[tuple[str, ...], list[int]] = {}
        for k, path in enumerate(paths):
            assert isinstance(path, FunctionPath)
            lists.setdefault(path.coordinates, []).append(k)
        width = max((len(names) for names in lists), default=0)
        self.own = np.full((len(paths), width), -1, dtype=np.int64)
        self.groups = []
        for names, muscles in lists.items():
            index = np.array([e.coordinate_names.index(name) for name in names], dtype=np.int64)
            self.own[muscles, : len(names)] = index
            functions = [paths[k].length_function for k in muscles]  # type: ignore[union-attr]
            self.groups.append(_group(index, np.array(muscles), functions))

    def at(self, z: FloatArray, q: FloatArray, bends: bool) -> PathState:
        """In poses z (nodes, n)."""
        n, (count, width) = len(z), self.own.shape
        length, arms = np.empty((n, count)), np.zeros((n, count, width))
        second = np.zeros((n if bends else 0, count, width, width))
        for g in self.groups:
            M, m, d = g.monomials(z), len(g.muscles), len(g.coordinates)
            length[:, g.muscles] = M @ g.columns[0]
            arms[:, g.muscles, :d] = -(M @ g.columns[1]).reshape(n, m, d)
            if bends:
                second[:, g.muscles, :d, :d] = -(M @ g.columns[2]).reshape(n, m, -1)[:, :, g.second]
        return PathState(length, arms, second)

    def third(self, z: FloatArray, q: FloatArray, along: FloatArray, bends: FloatArray) -> FloatArray:
        """Of third derivatives in closed form."""
        n, (count, width) = len(z), self.own.shape
        found = np.zeros((n, count, width, width))
        for g in self.groups:
            M, m, d = g.monomials(z), len(g.muscles), len(g.coordinates)
            every = (M @ g.columns[3]).reshape(n, m, -1)
            total = np.zeros((n, m, g.third.shape[1]))
            for i in range(d):
                total += along[:, g.muscles, i, None] * every[:, :, g.third[i]]
            found[:, g.muscles, :d, :d] = -total[:, :, g.second]
        return found


def _group(index: IntArray, muscles: IntArray, functions: list[MultivariatePolynomial]) -> _Group:
    d, order = len(index), max(f.order for f in functions)
    rows = list(exponent_rows(d, order))
    place = {e: k for k, e in enumerate(rows)}
    values = np.zeros((len(rows), len(functions)))
    for k, f in enumerate(functions):
        for e, coefficient in zip(exponent_rows(d, f.order), f.coefficients, strict=True):
            values[place[e], k] = coefficient
    columns: list[FloatArray] = []
    places: list[dict[tuple[int, ...], int]] = []
    for order in range(4):
        by = list(combinations_with_replacement(range(d), order))
        places.append({one: k for k, one in enumerate(by)})
        made = np.stack([_derivative(place, values, one) for one in by], axis=-1)
        columns.append(made.reshape(len(rows), -1))
    second = [[places[2][min(i, j), max(i, j)] for j in range(d)] for i in range(d)]
    third = [[places[3][tuple(sorted((i, *one)))] for one in places[2]] for i in range(d)]
    exponents = np.array(rows, dtype=np.int64).reshape(len(rows), d)
    return _Group(index, muscles, exponents, tuple(columns), np.array(second), np.array(third))


def _derivative(place: dict[tuple[int, ...], int], values: FloatArray, by: tuple[int, ...]) -> FloatArray:
    """Coefficients (terms, functions) of a derivative by these coordinates, from those of functions."""
    for k in by:
        slopes = np.zeros_like(values)
        for e, row in place.items():
            if e[k]:
                slopes[place[(*e[:k], e[k] - 1, *e[k + 1 :])]] = e[k] * values[row]
        values = slopes
    return values


# --- exact paths ------------------------------------------------------------------------------------------------------
class ExactPaths:
    """Paths over points and surfaces, as `muscle_geometry` and `moment_arm_derivatives` have them."""

    def __init__(self, model: Model, e: Embedding, threads: int | None) -> None:
        self.model, self.embedding, self.threads = model, e, threads
        rng = np.random.default_rng(_SEED)
        z = e.independent(e.default_pose()) + rng.uniform(-_SPREAD, _SPREAD, (_POSES, len(e.coordinate_names)))
        arms = muscle_geometry(model, e.coordinates(z), threads=threads).moment_arm_independent
        lists = [np.flatnonzero(row) for row in (arms != 0.0).any(axis=0)]
        self.own = np.full((len(lists), max(map(len, lists), default=0)), -1, dtype=np.int64)
        for k, one in enumerate(lists):
            self.own[k, : len(one)] = one
        self._used = np.unique(self.own[self.own >= 0])
        self._muscle = np.arange(len(lists))[:, None]

    def at(self, z: FloatArray, q: FloatArray, bends: bool) -> PathState:
        """In poses q (nodes, all)."""
        g = muscle_geometry(self.model, q, threads=self.threads)
        arms = self._own_arms(g.moment_arm_independent)
        return PathState(g.length, arms, self._bends(q) if bends else np.zeros((0, *arms.shape[1:], 0)))

    def third(self, z: FloatArray, q: FloatArray, along: FloatArray, bends: FloatArray) -> FloatArray:
        """By differences of exact derivatives of moment arms."""
        found = np.zeros(bends.shape)
        nodes, n = z.shape
        at_once = max(1, _NUMBERS // (nodes * len(self.own) * n * n))
        for start in range(0, len(self._used), at_once):
            used = self._used[start : start + at_once]
            moved = np.repeat(z[None], len(used), axis=0)
            moved[np.arange(len(used)), :, used] += _STEP
            ahead = self._bends(self.embedding.coordinates(moved.reshape(-1, n)))
            for which, there in zip(used, ahead.reshape(len(used), *bends.shape), strict=True):
                muscles, k = np.nonzero(self.own == which)
                slope = (there[:, muscles] - bends[:, muscles]) / _STEP
                found[:, muscles, k] = (along[:, muscles, None] @ slope)[:, :, 0]
        return 0.5 * (found + np.swapaxes(found, 2, 3))

    def _bends(self, q: FloatArray) -> FloatArray:
        dense = moment_arm_derivatives(self.model, q, threads=self.threads).independent
        own = np.maximum(self.own, 0)
        found = dense[:, self._muscle[:, :, None], own[:, :, None], own[:, None, :]]
        there = self.own >= 0
        return np.where(there[:, :, None] & there[:, None, :], found, 0.0)

    def _own_arms(self, dense: FloatArray) -> FloatArray:
        return np.where(self.own >= 0, dense[:, self._muscle, np.maximum(self.own, 0)], 0.0)
