"""A model whose motion is given by values, speeds and accelerations of its independent coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
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
# Slopes that are computed at a time: they stay near the processor.
_NUMBERS = 1_000_000


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


class CurvedByDifferences(ABC):
    """A node function whose second derivatives are central differences of its exact slopes.

    With them the Hessian of a program is exact to about ten digits, which takes fewer iterations.
    """

    curvature_pattern: tuple[IntArray, IntArray] | None = None  # none: the Hessian is approximated
    _moved = 0

    @abstractmethod
    def _all_slopes(self, variables: FloatArray) -> FloatArray:
        """(nodes, outputs, inputs)."""

    def _bend(self, inputs: int, moved: int, coordinates: int, curved: bool | None = None) -> None:
        """The first `moved` inputs enter in a curve, the others in a line but for products with these.

        By default this is for models with few coordinates.
        """
        if curved or (curved is None and coordinates <= FEW):
            rows, columns = np.tril_indices(inputs)
            own = columns < moved
            self.curvature_pattern, self._moved = (rows[own], columns[own]), moved

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, entries) of the sum over outputs of multipliers (nodes, outputs) times d2y/dv2."""
        assert self.curvature_pattern is not None
        rows, columns = self.curvature_pattern
        nodes, inputs = variables.shape
        found = np.zeros((nodes, len(rows)))
        steps = _STEP * np.maximum(1.0, np.abs(variables[:, : self._moved].T))
        at_once = max(1, _NUMBERS // (2 * nodes * inputs * multipliers.shape[1] + 1))
        for first in range(0, self._moved, at_once):
            step = steps[first : first + at_once]
            count = len(step)
            moved = np.arange(count)
            both = np.tile(variables, (2, count, 1, 1))
            both[0, moved, :, first + moved] += step
            both[1, moved, :, first + moved] -= step
            slopes = self._all_slopes(both.reshape(-1, inputs)).reshape(2, count, nodes, -1, inputs)
            change = np.einsum("no,knov->knv", multipliers, slopes[0] - slopes[1]) / (2.0 * step[:, :, None])
            # the smaller index is of what is moved wherever a second derivative is not zero
            mine = np.flatnonzero((columns >= first) & (columns < first + count))
            found[:, mine] = change[columns[mine] - first, :, rows[mine]].T
        return found
