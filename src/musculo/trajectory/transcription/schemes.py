"""Direct collocation: states and controls at nodes are variables, and dynamics hold between them.

Source: Betts (2010), Practical methods for optimal control and estimation using nonlinear programming, chapter 4;
        Garg et al. (2010), A unified framework for the numerical solution of optimal control problems using
        pseudospectral methods, Automatica 46, 1843-1851 (Radau).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.trajectory.transcription.discretization import (
    TIME,
    Discretization,
    Signal,
    Variables,
    split,
)
from musculo.trajectory.transcription.mesh import mesh_of


@dataclass(frozen=True)
class Collocation:
    """Of every interval of length h: D x - h E xdot = 0 for its points.

    Args:
        intervals: how many of equal length, or fractions of the duration at their ends, from 0 to 1.
    """

    intervals: int | ArrayLike = 25

    rates_are_variables: ClassVar[bool] = False

    @property
    def order(self) -> int:
        """Of convergence: the error of a smooth motion's objective falls with this power of the interval."""
        raise NotImplementedError

    @property
    def points(self) -> FloatArray:
        """(points,) of an interval, from 0 to 1, both included."""
        raise NotImplementedError

    @property
    def weights(self) -> FloatArray:
        """(points,) of the integral over an interval of length 1."""
        raise NotImplementedError

    @property
    def defects(self) -> tuple[FloatArray, FloatArray]:
        """D and E (rows, points)."""
        raise NotImplementedError

    @property
    def first_control(self) -> int:
        """The first point at which there are controls, 0 or 1; at the start they are extrapolated where it is 1."""
        return 0

    def discretize(
        self,
        signals: Sequence[Signal],
        duration: tuple[float, float],
        start_time: float = 0.0,
        at: Sequence[float] = (),
    ) -> Discretization:
        """Values of states and controls at every node; see `Transcription`."""
        mesh = mesh_of(self.intervals, at)
        count, local = len(mesh) - 1, self.points
        s = len(local) - 1
        nodes = count * s + 1
        node_of = np.arange(count)[:, None] * s + np.arange(s + 1)  # (intervals, points)
        h = np.diff(mesh)
        fractions = np.append((mesh[:-1, None] + h[:, None] * local[:-1]).ravel(), 1.0)
        weights = np.zeros(nodes)
        np.add.at(weights, node_of, h[:, None] * self.weights)
        stages = np.arange(nodes) // s
        over_time, parameters = split(signals)
        variables = Variables(over_time, parameters, fractions, duration, start_time)
        late = np.array([one.kind == "control" and self.first_control for one in over_time], dtype=bool)
        # variables node by node, so that stages stand together
        exists = np.ones((nodes, len(over_time)), dtype=bool)
        exists[0, late] = False
        at_node, at_signal = np.nonzero(exists)
        column = np.full(exists.shape, -1, dtype=np.int64)
        column[exists] = np.arange(len(at_node))
        variables.add(
            [f"{over_time[i].name}[{n}]" for n, i in zip(at_node, at_signal, strict=True)],
            stages[at_node].tolist(),
            [over_time[i].scale for i in at_signal],
        )
        variables.enter(at_node, at_signal, column[exists], np.ones(len(at_node)))
        extrapolated = lagrange(local[1:], np.zeros(1))[0]
        for i in np.flatnonzero(late):
            variables.enter(np.zeros(s, np.int64), i, column[1 : s + 1, i], extrapolated)
        D, E = self.defects
        r = len(D)
        states, rates = np.zeros((count * r, nodes)), np.zeros((count * r, nodes))
        for k in range(count):
            states[k * r : (k + 1) * r, node_of[k]] = D
            rates[k * r : (k + 1) * r, node_of[k]] = h[k] * E
        collocated = np.arange(self.first_control, nodes)
        return Discretization(
            **variables.shared(),
            weights=weights,
            stages=stages,
            collocated=collocated,
            limited=collocated,
            orders=np.zeros(len(variables.columns), dtype=np.int64),
            defect_states=states,
            defect_rates=rates,
            defect_stages=np.repeat(np.arange(count), r),
            defect_nodes=(np.arange(count)[:, None] * s + 1 + np.arange(r)[None]).ravel(),
        )

    def between(
        self, discretization: Discretization, x: FloatArray, fractions: FloatArray, rates: FloatArray
    ) -> FloatArray:
        """Polynomials in every interval: states integrate the polynomial of their rates; see `Transcription`."""
        d, local, first = discretization, self.points, self.first_control
        s = len(local) - 1
        mesh = d.fractions[::s]
        k = np.clip(np.searchsorted(mesh, fractions, side="right") - 1, 0, len(mesh) - 2)
        h = np.diff(mesh)[k]
        part = (fractions - mesh[k]) / h
        picked = k[:, None] * s + np.arange(first, s + 1)
        values = d.node_variables(x)
        found = np.einsum("pj,pjc->pc", lagrange(local[first:], part), values[picked])
        states = [i for i, one in enumerate(d.signals) if one.kind == "state"]
        grown = np.einsum("pj,pjc->pc", integration(local[first:], part), rates[:, states][picked])
        found[:, states] = values[k * s][:, states] + d.duration_of(x) * h[:, None] * grown
        found[:, d.column(TIME)] = values[0, d.column(TIME)] + fractions * d.duration_of(x)
        return np.asarray(found)


@dataclass(frozen=True)
class Trapezoidal(Collocation):
    """The trapezoidal rule: x[k+1] - x[k] = h/2 (f[k] + f[k+1]). Of second order."""

    @property
    def order(self) -> int:
        return 2

    @property
    def points(self) -> FloatArray:
        return np.array([0.0, 1.0])

    @property
    def weights(self) -> FloatArray:
        return np.array([0.5, 0.5])

    @property
    def defects(self) -> tuple[FloatArray, FloatArray]:
        return np.array([[-1.0, 1.0]]), np.array([[0.5, 0.5]])


@dataclass(frozen=True)
class HermiteSimpson(Collocation):
    """Simpson's rule with a midpoint of its own states and controls (separated). Of fourth order.

    x[k+1] - x[k] = h/6 (f[k] + 4 f[m] + f[k+1]),   x[m] - (x[k] + x[k+1])/2 = h/8 (f[k] - f[k+1])
    """

    @property
    def order(self) -> int:
        return 4

    @property
    def points(self) -> FloatArray:
        return np.array([0.0, 0.5, 1.0])

    @property
    def weights(self) -> FloatArray:
        return np.array([1.0, 4.0, 1.0]) / 6.0

    @property
    def defects(self) -> tuple[FloatArray, FloatArray]:
        D = np.array([[-1.0, 0.0, 1.0], [-0.5, 1.0, -0.5]])
        return D, np.array([[1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0], [0.125, 0.0, -0.125]])


@dataclass(frozen=True)
class Radau(Collocation):
    """Legendre-Gauss-Radau points, the end of an interval among them: polynomials of `degree`. Of order 2 degree - 1.

    Departs: at the start of the motion there is no control; where one is asked for, it is extrapolated.

    Args:
        degree: of the polynomials of states, 1 to 9; as many points has an interval.
    """

    degree: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.degree <= 9:
            raise InvalidInput(f"degree={self.degree}; Radau polynomials have degree 1 to 9")

    @property
    def order(self) -> int:
        return 2 * self.degree - 1

    @property
    def points(self) -> FloatArray:
        # zeros of P_s - P_s-1, the right one of which is 1
        series = np.zeros(self.degree + 1)
        series[-2:] = -1.0, 1.0
        roots = np.sort(legendre.legroots(series))
        roots[-1] = 1.0
        return np.append(0.0, (roots + 1.0) / 2.0)

    @property
    def weights(self) -> FloatArray:
        return np.append(0.0, integration(self.points[1:], np.ones(1))[0])

    @property
    def defects(self) -> tuple[FloatArray, FloatArray]:
        D = lagrange(self.points, self.points[1:], 1)
        return D, np.hstack([np.zeros((self.degree, 1)), np.eye(self.degree)])

    @property
    def first_control(self) -> int:
        return 1


def lagrange(points: FloatArray, x: FloatArray, order: int = 0) -> FloatArray:
    """(len(x), points) values or first derivatives at x of polynomials that are 1 at one point and 0 at the rest."""
    found = np.empty((len(x), len(points)))
    for j, at in enumerate(points):
        others = np.delete(points, j)
        factors = (x[:, None] - others) / (at - others)
        if order == 0:
            found[:, j] = factors.prod(axis=1)
        else:
            found[:, j] = sum(np.delete(factors, m, axis=1).prod(axis=1) / (at - others[m]) for m in range(len(others)))
    return found


def integration(points: FloatArray, x: FloatArray) -> FloatArray:
    """(len(x), points) integrals from 0 to x of the same polynomials."""
    nodes, weights = legendre.leggauss(len(points) // 2 + 1)
    found = np.zeros((len(x), len(points)))
    for node, weight in zip(nodes, weights, strict=True):
        found += 0.5 * weight * x[:, None] * lagrange(points, x * (node + 1.0) / 2.0)
    return found
