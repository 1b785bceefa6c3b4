"""Moments that a motion takes, as a node function."""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.dynamics.derivatives.dynamics_derivatives import inverse_dynamics_derivatives
from musculo.dynamics.inverse import inverse_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.errors import Unsupported
from musculo.model.model import Model

# Slopes that are zero at this many random states are zero at all.
_SAMPLES = 3


class InverseDynamics:
    """tau_z = J^T (M udot + C + g): inputs `c/value`, `c/speed` and `c/acceleration` of all independent coordinates.

    Outputs are `c/moment`, forces of translations among them [N m, N]. Slopes are exact.

    Args:
        model: without joints whose speeds are angular velocities (ball, free), and without closed loops.
        threads: the number of threads; all cores by default.
    """

    def __init__(self, model: Model, *, threads: int | None = None) -> None:
        e = embedding_of(model)
        if e.speed_names != e.coordinate_names or e.loops:
            raise Unsupported(
                f"{model.name!r} has joints whose speeds are no rates of coordinates, or closed loops; "
                "InverseDynamics needs rates: make these joints of a CustomJoint with three rotations"
            )
        self.model, self.threads, self._embedding = model, threads, e
        self._names = e.coordinate_names
        self.inputs = tuple(f"{name}/{kind}" for kind in ("value", "speed", "acceleration") for name in self._names)
        self.outputs = tuple(f"{name}/moment" for name in self._names)
        n = len(self._names)
        random = np.random.default_rng(1)
        states = random.uniform(-1.0, 1.0, (_SAMPLES, 3 * n))
        states[:, :n] *= 0.1
        states[:, :n] += e.independent(e.default_pose())
        self._entries = np.nonzero((self._all_slopes(states) != 0.0).any(axis=0))
        self.pattern: tuple[IntArray, IntArray] = (self._entries[0], self._entries[1])

    def __repr__(self) -> str:
        return f"InverseDynamics({self.model.name!r})"

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, coordinates) [N m, N]."""
        q, u, udot = self._motion(variables)
        tau = inverse_dynamics(self.model, q, u, udot, threads=self.threads)
        return self._embedding.pull_back(q, tau) if self._embedding.rules else tau

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, coordinates) and (nodes, entries)."""
        return self.values(variables), self._all_slopes(variables)[:, self._entries[0], self._entries[1]]

    def _motion(self, variables: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        z, zu, zudot = (np.ascontiguousarray(part) for part in np.split(variables, 3, axis=1))
        if not self._embedding.rules:
            return z, zu, zudot
        motion = self._embedding.motion(z, zu, zudot)
        return motion.q, motion.u, motion.udot

    def _all_slopes(self, variables: FloatArray) -> FloatArray:
        """(nodes, coordinates, inputs)."""
        found = inverse_dynamics_derivatives(self.model, *self._motion(variables), threads=self.threads)
        if not self._embedding.rules:
            return np.concatenate([found.dtau_dq, found.dtau_du, found.dtau_dudot], axis=2)
        return np.concatenate(found.independent, axis=2)
