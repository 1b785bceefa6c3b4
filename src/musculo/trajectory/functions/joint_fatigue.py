"""Fatigue of joints whose moments another node function gives, and what these are of the strength that is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput
from musculo.muscle.fibers.fatigue import FatigueRates
from musculo.trajectory.functions.inverse_dynamics import InverseDynamics

T = TypeVar("T")


class _Term(NamedTuple):
    """A function of x = moment / strength and the fatigued part m, with its derivatives, all (nodes, joints)."""

    value: FloatArray
    x: FloatArray
    m: FloatArray
    xx: FloatArray
    xm: FloatArray
    mm: FloatArray


class _OfMoments:
    """A function of the moment and of the fatigue of each joint."""

    def __init__(self, moments: InverseDynamics, strength: Mapping[str, float], kind: str) -> None:
        self.moments = moments
        self.coordinates = tuple(name.removesuffix("/moment") for name in moments.outputs)
        self._strength = np.array(_of_each("strength", strength, self.coordinates))
        self.inputs = (*moments.inputs, *(f"{name}/fatigue" for name in self.coordinates))
        self.outputs = tuple(f"{name}/{kind}" for name in self.coordinates)
        n, known = len(self.coordinates), len(moments.inputs)
        self._known, own = known, np.arange(n)
        rows, columns = moments.pattern
        self.pattern: tuple[IntArray, IntArray] = (
            np.concatenate([rows, own]),
            np.concatenate([columns, known + own]),
        )
        self.curvature_pattern: tuple[IntArray, IntArray] | None = None
        if moments.curvature_pattern is not None:
            low, across = np.tril_indices(known), np.indices((n, known)).reshape(2, -1)
            self.curvature_pattern = (
                np.concatenate([low[0], known + across[0], known + own]),
                np.concatenate([low[1], across[1], known + own]),
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.moments!r})"

    def _term(self, x: FloatArray, m: FloatArray) -> _Term:
        raise NotImplementedError

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, outputs)."""
        given, m = self._given(variables)
        return self._term(self.moments.values(given) / self._strength, m).value

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, outputs) and (nodes, entries)."""
        given, m = self._given(variables)
        tau, by = self.moments.slopes(given)
        term, rows = self._term(tau / self._strength, m), self.moments.pattern[0]
        return term.value, np.hstack([(term.x / self._strength)[:, rows] * by, term.m])

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, entries) of the sum over outputs of multipliers times second derivatives."""
        assert self.moments.curvature_pattern is not None
        given, m = self._given(variables)
        tau, by = self.moments.slopes(given)
        rows, columns = self.moments.pattern
        J = np.zeros((len(m), len(self.coordinates), self._known))
        J[:, rows, columns] = by / self._strength[rows]
        term = self._term(tau / self._strength, m)
        found = np.swapaxes(J, 1, 2) @ ((multipliers * term.xx)[:, :, None] * J)
        rows, columns = self.moments.curvature_pattern
        found[:, rows, columns] += self.moments.curvatures(given, multipliers * term.x / self._strength)
        across = (multipliers * term.xm)[:, :, None] * J
        low = np.tril_indices(self._known)
        return np.hstack([found[:, low[0], low[1]], across.reshape(len(m), -1), multipliers * term.mm])

    def _given(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.ascontiguousarray(variables[:, : self._known]), variables[:, self._known :]


class JointFatigue(_OfMoments):
    """How fast joints tire under their moments: a rate of the states `c/fatigue`, the fatigued part M_F of each.

        dM_F/dt = F a - R M_F,    a = sqrt((tau / strength)^2 + e^2) - e

    Inputs are those of the moments and `c/fatigue`; outputs are `c/fatigue_rate`, the rate of a
    `State("c/fatigue", (0, 1))`. Slopes are exact, and second derivatives where those of the moments are computed.

    Source:  [Xia2008], where the active part a equals the load.
    Departs: the controller follows at once, not within a tenth of a second; keep `JointEfforts` within -1 and 1, and
             it can. Muscles that flex and extend a joint tire alike. Loads are rounded off below e, so that they have
             slopes at zero.

    Args:
        moments: that joints give.
        strength: the largest moment of rested muscles by coordinate [N m].
        rates: by coordinate [1/s].
        smallest: the load e below which loads are rounded off.
    """

    def __init__(
        self,
        moments: InverseDynamics,
        strength: Mapping[str, float],
        rates: Mapping[str, FatigueRates],
        smallest: float = 1e-2,
    ) -> None:
        super().__init__(moments, strength, "fatigue_rate")
        self.smallest = smallest
        self._fatigue, self._recovery = np.array(_of_each("rates", rates, self.coordinates)).T

    def load(self, moments: FloatArray) -> FloatArray:
        """The active parts a of moments (..., coordinates) [N m]."""
        x = moments / self._strength
        return np.asarray(np.sqrt(x**2 + self.smallest**2) - self.smallest)

    def _term(self, x: FloatArray, m: FloatArray) -> _Term:
        F, R, zero = self._fatigue, self._recovery, np.zeros_like(m)
        size = np.sqrt(x**2 + self.smallest**2)
        value = F * (size - self.smallest) - R * m
        return _Term(value, F * x / size, zero - R, F * self.smallest**2 / size**3, zero, zero)


class JointEfforts(_OfMoments):
    """Moments as parts of the strength that fatigue leaves: `c/effort` = tau / (strength (1 - M_F)).

    Inputs are those of the moments and the states `c/fatigue`. Between -1 and 1 active and fatigued parts together are
    less than the whole. Slopes are exact, and second derivatives where those of the moments are computed.

    Args:
        moments, strength: as `JointFatigue` has them.
    """

    def __init__(self, moments: InverseDynamics, strength: Mapping[str, float]) -> None:
        super().__init__(moments, strength, "effort")

    def _term(self, x: FloatArray, m: FloatArray) -> _Term:
        left = 1.0 / (1.0 - m)
        return _Term(x * left, left, x * left**2, np.zeros_like(m), left**2, 2.0 * x * left**3)


def _of_each(what: str, given: Mapping[str, T], coordinates: tuple[str, ...]) -> list[T]:
    missing = [name for name in coordinates if name not in given]
    if missing:
        raise InvalidInput(f"{what}: nothing is given for {', '.join(missing)}; every coordinate needs one")
    return [given[name] for name in coordinates]
