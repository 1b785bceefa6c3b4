"""Motions as B-splines: control points and the duration are the variables.

    q(t) = sum_i B_i(t / T) p_i,     d^k q / dt^k = T^-k sum_i B_i^(k)(t / T) p_i

Source: [Barman2020], eq. 4.13 to 4.15, for clamped, by default evenly spaced knots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.functions.bsplines import BSpline
from musculo.trajectory.transcription.discretization import (
    TIME,
    Discretization,
    Signal,
    Variables,
    split,
)
from musculo.trajectory.transcription.mesh import mesh_of


@dataclass(frozen=True)
class BSplines:
    """Every coordinate, state and control as a B-spline; speeds and accelerations are its exact derivatives.

    Splines suit problems that state what a motion takes (inverse dynamics): nothing is left to be solved, and a few
    control points suffice. Integrals and limits are evaluated at Lobatto points of every span, both ends included.
    Dynamics that are equations (rates of states, algebraic rows) hold at as many points as the derivative of the spline
    has coefficients, its Greville points. With controls that are splines, too, this converges slowly: prefer
    collocation.

    Args:
        control_points: of every spline, more than `degree`.
        degree: of the polynomials; 3 for cubic splines, whose accelerations are continuous.
        points: of every span between two knots, 2 or more; a limit holds at these only, or at the ends of a part of the
            motion in which none of these lies.
        knots: fractions of the duration where polynomials meet, from 0 to 1; evenly spaced by default.
        limit_points: whether limits of values hold for control points and so at all times: a spline stays in the convex
            hull of its control points. Otherwise they hold at the points of every span.
        zero: coordinates that are exactly zero in a part of the motion, between these fractions of the duration: their
            control points that count there are zero.
    """

    rates_are_variables: ClassVar[bool] = True

    control_points: int = 12
    degree: int = 3
    points: int = 4
    knots: ArrayLike | None = None
    limit_points: bool = False
    zero: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise InvalidInput(f"degree={self.degree}; a B-spline has degree 1 or more")
        if self.knots is None and self.control_points <= self.degree:
            raise InvalidInput(
                f"control_points={self.control_points}; splines of degree {self.degree} have {self.degree + 1} or more"
            )
        if self.points < 2:
            raise InvalidInput(f"points={self.points}; a span has 2 or more, its ends included")

    @property
    def breaks(self) -> FloatArray:
        """(spans + 1,) fractions where polynomials meet."""
        return mesh_of(self.control_points - self.degree if self.knots is None else self.knots)

    @property
    def knot_vector(self) -> FloatArray:
        """(control points + degree + 1,), the ends repeated."""
        return np.concatenate([np.zeros(self.degree), self.breaks, np.ones(self.degree)])

    def basis(self, fractions: FloatArray, order: int = 0, from_left: bool = False) -> FloatArray:
        """(len(fractions), control points) derivatives by the fraction, at knots from the right or the left."""
        knots = self.knot_vector
        unit = np.eye(len(knots) - self.degree - 1)
        if not from_left:
            return BSpline(knots, unit, self.degree)(fractions, order)
        # seen from the end, the left side of a knot is the right one
        mirrored = BSpline(np.ascontiguousarray(1.0 - knots[::-1]), unit, self.degree)(1.0 - fractions, order)
        return np.asarray((-1.0) ** order * mirrored[:, ::-1])

    def discretize(
        self,
        signals: Sequence[Signal],
        duration: tuple[float, float],
        start_time: float = 0.0,
        at: Sequence[float] = (),
    ) -> Discretization:
        """Control points of all that is not the rate of something; see `Transcription`."""
        over_time, parameters = split(signals)
        bases, orders = _derivatives(over_time)
        breaks, m = self.breaks, len(self.knot_vector) - self.degree - 1
        fractions, weights, left = self._quadrature(breaks, int(max(orders.values(), default=0)))
        greville = self._equation_points()
        main = len(fractions)
        moments = mesh_of((0.0, 1.0), at)
        extra = moments[np.abs(moments[:, None] - fractions).min(axis=1) > 1e-9]
        fractions = np.concatenate([fractions, greville, extra])
        left = np.concatenate([left, np.zeros(len(greville) + len(extra), dtype=bool)])
        weights = np.concatenate([weights, np.zeros(len(greville) + len(extra))])
        variables = Variables(over_time, parameters, fractions, duration, start_time)
        by_name = {one.name: one for one in over_time}
        for base in bases:
            names = [f"{base}/point[{k}]" for k in range(m)]
            variables.add(names, (np.arange(m) // self.degree).tolist(), [by_name[base].scale] * m)
        made: dict[int, FloatArray] = {}
        order_of = np.zeros(len(variables.columns), dtype=np.int64)
        for i, one in enumerate(over_time):
            base, order = orders_of(one.name, over_time)
            order_of[i] = order
            if order not in made:
                made[order] = np.where(left[:, None], self.basis(fractions, order, True), self.basis(fractions, order))
            node, point = np.nonzero(made[order])
            variables.enter(node, i, bases.index(base) * m + point, made[order][node, point])
        span = np.clip(np.searchsorted(breaks, fractions, side="right") - 1, 0, len(breaks) - 2)
        span = np.where(left & (fractions == breaks[span]), span - 1, span)
        shared = variables.shared()
        return Discretization(
            **shared,
            weights=weights,
            stages=span // self.degree,
            collocated=np.arange(main, main + len(greville)),
            limited=np.arange(main),
            orders=order_of,
            point_limits=self._point_limits(bases, by_name, len(variables.names)),
        )

    def _point_limits(
        self, bases: Sequence[str], signals: Mapping[str, Signal], variables: int
    ) -> tuple[FloatArray, FloatArray] | None:
        """(variables,) of control points, if there are any."""
        knots, m = self.knot_vector, len(self.knot_vector) - self.degree - 1
        unknown = [name for name in self.zero if f"{name}/value" not in bases and name not in bases]
        if unknown:
            raise UnknownName("coordinate", unknown[0], [name.removesuffix("/value") for name in bases])
        if not self.limit_points and not self.zero:
            return None
        lower, upper = np.full(variables, -np.inf), np.full(variables, np.inf)
        for k, name in enumerate(bases):
            points = slice(k * m, (k + 1) * m)
            lower[points], upper[points] = signals[name].lower, signals[name].upper
            span = self.zero.get(name.removesuffix("/value"), self.zero.get(name))
            if span is not None:
                first, last = knots[:m], knots[self.degree + 1 :]
                there = (first < span[1] - 1e-9) & (last > span[0] + 1e-9)
                lower[points][there] = upper[points][there] = 0.0
        return lower, upper

    def between(
        self, discretization: Discretization, x: FloatArray, fractions: FloatArray, rates: FloatArray
    ) -> FloatArray:
        """The splines themselves; see `Transcription`."""
        d = discretization
        duration = (d.duration, d.duration) if d.duration_column < 0 else (0.0, 1.0)
        finer = self.discretize(d.signals, duration, d.offset[0, d.column(TIME)], np.unique(fractions).tolist())
        return finer.node_variables(x)[[finer.node_at(one) for one in fractions]]

    def _quadrature(self, breaks: FloatArray, order: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Fractions and weights of Lobatto points, and which are seen from the left; doubled at knots with jumps."""
        local, w = _lobatto(self.points)
        h = np.diff(breaks)
        fractions = breaks[:-1, None] + h[:, None] * local
        fractions[:, -1] = breaks[1:]
        weights = h[:, None] * w
        left = np.zeros(fractions.shape, dtype=bool)
        left[:, -1] = True
        if order >= self.degree:  # what is limited jumps at knots: both sides count
            return fractions.ravel(), weights.ravel(), left.ravel()
        merged = np.append(fractions[:, :-1].ravel(), 1.0)
        total = np.append(weights[:, :-1].ravel(), weights[-1, -1])
        total[self.points - 1 : -1 : self.points - 1] += weights[:-1, -1]
        sides = np.zeros(len(merged), dtype=bool)
        return merged, total, sides

    def _equation_points(self) -> FloatArray:
        """Greville points of the derivative, whose degree and number of coefficients are one less."""
        inner, d = self.knot_vector[1:-1], self.degree - 1
        count = len(inner) - d - 1
        if d == 0:
            return np.asarray((inner[:-1] + inner[1:]) / 2.0)
        return np.array([inner[k + 1 : k + 1 + d].mean() for k in range(count)])


def orders_of(name: str, signals: Sequence[Signal]) -> tuple[str, int]:
    """The signal whose derivative this one is, and of which order."""
    order = 0
    before = {one.rate: one.name for one in signals if one.kind == "state" and one.rate}
    while name in before:
        name, order = before[name], order + 1
    return name, order


def _derivatives(signals: Sequence[Signal]) -> tuple[list[str], dict[str, int]]:
    """Signals that are the rate of none, and the order of every signal."""
    found = {one.name: orders_of(one.name, signals) for one in signals}
    return [name for name, (_, order) in found.items() if order == 0], {n: o for n, (_, o) in found.items()}


def _lobatto(count: int) -> tuple[FloatArray, FloatArray]:
    """Points of [0, 1], both ends included, and weights: exact for polynomials of degree 2 count - 3."""
    series = np.zeros(count)
    series[-1] = 1.0
    x = np.concatenate([[-1.0], np.sort(legendre.legroots(legendre.legder(series))) if count > 2 else [], [1.0]])
    weights = 2.0 / (count * (count - 1) * legendre.legval(x, series) ** 2)
    return (x + 1.0) / 2.0, weights / 2.0
