"""A model whose motion is given by values, speeds and accelerations of its independent coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.embedding.embedding import Embedding, embedding_of
from musculo.errors import Unsupported
from musculo.model.model import Model

# Slopes that are zero at this many random states are zero at all.
_SAMPLES = 3
# Of models with more coordinates, second derivatives take longer than the iterations that they save.
FEW = 12
# Of differences of slopes: their error is of the order of its square, and of rounding over it.
_STEP = 1e-5


class Motion(NamedTuple):
    """Coordinates, speeds and accelerations of the tree (nodes, n)."""

    q: FloatArray
    u: FloatArray
    udot: FloatArray


class RateModel:
    """The independent coordinates of a model, whose speeds are their rates.

    Args:
        model: without joints whose speeds are angular velocities (ball, free), and without closed loops.
        needed_by: the name of what needs it, for the error.
    """

    def __init__(self, model: Model, needed_by: str) -> None:
        e = embedding_of(model)
        if e.freely_turning or e.loops:
            raise Unsupported(
                f"{model.name!r} has joints whose speeds are no rates of coordinates, or closed loops; {needed_by} "
                "needs rates: make such joints a CustomJoint with three rotations"
            )
        self.model: Model = model
        self.embedding: Embedding = e
        self.names = e.coordinate_names

    def inputs(self, order: int) -> tuple[str, ...]:
        """Names of values, of speeds (order 1) and of accelerations (order 2)."""
        kinds = ("value", "speed", "acceleration")[: order + 1]
        return tuple(f"{name}/{kind}" for kind in kinds for name in self.names)

    def motion(self, variables: FloatArray) -> Motion:
        """Of the tree; what is not in the variables (nodes, inputs) is zero."""
        n = len(self.names)
        given = [np.ascontiguousarray(variables[:, k : k + n]) for k in range(0, variables.shape[1], n)]
        z, zu, zudot = (*given, *(np.zeros_like(given[0]) for _ in range(3 - len(given))))
        if not self.embedding.rules:
            return Motion(z, zu, zudot)
        found = self.embedding.motion(z, zu, zudot)
        return Motion(found.q, found.u, found.udot)

    def by_independent(self, slopes: FloatArray, q: FloatArray) -> FloatArray:
        """(nodes, rows, independent) from slopes (nodes, rows, speeds of the tree)."""
        return slopes @ self.embedding.jacobian(q) if self.embedding.rules else slopes

    def nonzeros(self, slopes: Callable[[FloatArray], FloatArray], order: int) -> tuple[IntArray, IntArray]:
        """Rows and columns of slopes (nodes, rows, inputs) that are not zero at every state."""
        random = np.random.default_rng(1)
        states = random.uniform(-1.0, 1.0, (_SAMPLES, (order + 1) * len(self.names)))
        pose = self.embedding.independent(self.embedding.default_pose())
        states[:, : len(self.names)] = pose + 0.1 * states[:, : len(self.names)]
        rows, columns = np.nonzero((slopes(states) != 0.0).any(axis=0))
        return rows, columns


def bent(inputs: int, moved: int) -> tuple[IntArray, IntArray]:
    """Rows and columns of the lower triangle of second derivatives, where the first `moved` inputs enter in a curve,
    and the others in a line but for products with these."""
    rows, columns = np.tril_indices(inputs)
    own = columns < moved
    return rows[own], columns[own]


def differenced_curvatures(
    slopes: Callable[[FloatArray], FloatArray],
    variables: FloatArray,
    multipliers: FloatArray,
    moved: Iterable[int],
    pattern: tuple[IntArray, IntArray],
) -> FloatArray:
    """(nodes, entries) of the sum over outputs of multipliers times d2y/dv2: central differences of exact slopes.

    Args:
        slopes: (nodes, outputs, inputs) of variables (nodes, inputs).
        variables: (nodes, inputs).
        multipliers: (nodes, outputs).
        moved: inputs that enter in a curve.
        pattern: of the entries, the smaller index one of `moved`.
    """
    rows, columns = pattern
    found = np.zeros((len(variables), len(rows)))
    for k in moved:
        both = np.stack([variables, variables])
        step = _STEP * np.maximum(1.0, np.abs(variables[:, k]))
        both[0, :, k] += step
        both[1, :, k] -= step
        ahead = slopes(both.reshape(-1, variables.shape[1]))
        change = ahead[: len(step)] - ahead[len(step) :]
        mine = columns == k
        by = np.einsum("no,nov->nv", multipliers, change[:, :, rows[mine]])
        found[:, mine] = by / (2.0 * step[:, None])
    return found
