"""Points of a tree of hinges and sliders: positions, velocities, and their first and second derivatives at all nodes.

With the axes w_k of the speeds that move a point p, from root to tip, J_k = dp/dq_k, and w_k = 0 of sliders,

    dJ_k/dq_j = w_j x J_k                              j inboard of k, or k
    dv/dq_k   = omega_k x J_k + w_k x (v - v_k)         omega_k, v_k: what speeds up to k give

The second derivatives of v are those of p along the motion: dw_j/dt = omega_j x w_j and dJ_k/dt = dv/dq_k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import compiled
from musculo.dynamics.poses import kinematics
from musculo.model.model import Model

Point = tuple[str, ArrayLike]
"""A body and a point of it, in its frame [m]."""


class PointMotion(NamedTuple):
    """A point at all nodes; the speeds that move it are those of `path`, from root to tip."""

    path: IntArray  # (chain,)
    p: FloatArray  # (nodes, 3)
    v: FloatArray  # (nodes, 3)
    J: FloatArray  # (nodes, chain, 3) dp/dq = dv/du
    by_q: FloatArray  # (nodes, chain, 3) dv/dq
    w: FloatArray  # (nodes, chain, 3) axes
    turning: FloatArray  # (nodes, chain, 3) dw/dt


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """a x b along the last axis; quicker than NumPy's for many small arrays."""
    return np.stack(
        [
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ],
        axis=-1,
    )


def speeds_above(model: Model, body: str) -> IntArray:
    """Columns of the speeds that move a body, from root to tip."""
    c = compiled(model)
    moved = c.moved_by[c.body_node[body]]
    return np.array([k for k in c.tree.u_rows if moved[k]], dtype=np.int64)


def point_motions(model: Model, points: Mapping[str, Point], q: FloatArray, u: FloatArray) -> dict[str, PointMotion]:
    """Every point at all nodes.

    Args:
        model: every speed is the rate of a coordinate that turns about, or moves along, an axis of its own.
        points: by name.
        q, u: (nodes, n).
    """
    at = kinematics(model, q, threads=1)
    twists = at.twists()
    found = {}
    for name, (body, place) in points.items():
        path = speeds_above(model, body)
        p = at.position(body, place)
        w = twists[:, path, 0]
        J = twists[:, path, 1] + cross(w, p[:, None])
        rates = u[:, path, None]
        omega, parts = np.cumsum(w * rates, axis=1), np.cumsum(J * rates, axis=1)
        v = parts[:, -1]
        by_q = cross(omega, J) + cross(w, v[:, None] - parts)
        found[name] = PointMotion(path, p, v, J, by_q, w, cross(omega, w))
    return found


def add_curvature(
    by_qq: FloatArray, by_qu: FloatArray, point: PointMotion, of_p: FloatArray | None, of_v: FloatArray | None
) -> None:
    """Add the second derivatives of of_p . p + of_v . v, factors (nodes, 3), to (nodes, n, n) by q q and by q u."""
    path = point.path
    some = np.ix_(np.arange(len(point.p)), path, path)
    if of_p is not None:
        by_qq[some] += _mirrored(cross(of_p[:, None], point.w) @ np.swapaxes(point.J, 1, 2))
    if of_v is not None:
        left, J = cross(of_v[:, None], point.w), np.swapaxes(point.J, 1, 2)
        by_qu[some] += _mirrored(left @ J)
        turned = cross(of_v[:, None], point.turning)
        by_qq[some] += _mirrored(turned @ J + left @ np.swapaxes(point.by_q, 1, 2))


def _mirrored(upper: FloatArray) -> FloatArray:
    """Of pairs j inboard of k (or equal), the symmetric matrix."""
    kept = np.triu(upper)
    return kept + np.swapaxes(np.triu(upper, 1), 1, 2)


class ActiveMotion:
    """Some coordinates of a model as inputs of node functions; the others stay at zero."""

    def __init__(self, model: Model, active: Sequence[str]) -> None:
        self.model, self.active = model, tuple(active)
        self.columns = np.array([model.coordinate_index(name) for name in active], dtype=np.int64)
        self.width = len(model.coordinate_names)

    def inputs(self, order: int) -> tuple[str, ...]:
        """Names of values, of speeds (order 1) and of accelerations (order 2)."""
        return tuple(
            f"{name}/{kind}" for kind in ("value", "speed", "acceleration")[: order + 1] for name in self.active
        )

    def motion(self, variables: FloatArray, order: int) -> list[FloatArray]:
        """q, u and so on (nodes, n) of the whole model."""
        n, found = len(self.active), []
        for k in range(order + 1):
            full = np.zeros((len(variables), self.width))
            full[:, self.columns] = variables[:, k * n : (k + 1) * n]
            found.append(full)
        return found


class WalkingPoints:
    """What points of a walker do: positions, velocities, pairs of limbs that swing together, distances.

    Outputs, with exact first and second derivatives: `heel_r/x`, `heel_r/vx` and so on of each contact point [m, m/s];
    of each pair of limbs the product of their forward reaches (x of the end minus x of the start) [m^2]; distances [m].

    Source: [Barman2020], eq. 5.4, 5.6, 5.7, 5.10.

    Args:
        model: as `point_motions` has it.
        active: the coordinates that move.
        contacts: points by name.
        limbs: by name of the output: start and end of one limb, start and end of another.
        distances: by name of the output: two points.
    """

    def __init__(
        self,
        model: Model,
        active: Sequence[str],
        contacts: Mapping[str, Point],
        limbs: Mapping[str, Sequence[Point]],
        distances: Mapping[str, Sequence[Point]],
    ) -> None:
        self.motion = ActiveMotion(model, active)
        self.contacts, self.limbs, self.distances = tuple(contacts), tuple(limbs), tuple(distances)
        self._points: dict[str, Point] = dict(contacts)
        for group in (limbs, distances):
            for name, points in group.items():
                self._points |= {f"{name}/{k}": point for k, point in enumerate(points)}
        self.inputs = self.motion.inputs(1)
        ends = ("x", "y", "z", "vx", "vy", "vz")
        self.outputs = (*(f"{name}/{end}" for name in contacts for end in ends), *limbs, *distances)
        n = len(active)
        rows, columns = [], []
        place = {int(column): k for k, column in enumerate(self.motion.columns)}

        def moving(*names: str) -> IntArray:
            above = {k for name in names for k in speeds_above(model, self._points[name][0]).tolist()}
            return np.array(sorted(place[k] for k in above if k in place), dtype=np.int64)

        for k, name in enumerate(contacts):
            at = moving(name)
            for axis in range(3):
                rows += [np.full(len(at), 6 * k + axis), np.full(2 * len(at), 6 * k + 3 + axis)]
                columns += [at, at, n + at]
        for k, name in enumerate((*limbs, *distances)):
            at = moving(*(one for one in self._points if one.startswith(f"{name}/")))
            rows.append(np.full(len(at), 6 * len(contacts) + k))
            columns.append(at)
        self.pattern: tuple[IntArray, IntArray] = (np.concatenate(rows), np.concatenate(columns))
        low = np.tril_indices(n)
        mixed = np.indices((n, n)).reshape(2, -1)
        self.curvature_pattern: tuple[IntArray, IntArray] = (
            np.concatenate([low[0], n + mixed[1]]),
            np.concatenate([low[1], mixed[0]]),
        )

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, outputs)."""
        return self._values(self._at(variables))

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, outputs) and (nodes, entries)."""
        at, N, n = self._at(variables), len(variables), self.motion.width
        full = np.zeros((N, len(self.outputs), 2 * n))
        for k, name in enumerate(self.contacts):
            one, first = at[name], 6 * k
            J = np.swapaxes(one.J, 1, 2)
            full[:, first : first + 3, one.path] = J
            full[:, first + 3 : first + 6, n + one.path] = J
            full[:, first + 3 : first + 6, one.path] = np.swapaxes(one.by_q, 1, 2)
        first = 6 * len(self.contacts)
        for k, name in enumerate(self.limbs):
            (a, b), (by_a, by_b) = self._reaches(at, name), self._reach_slopes(at, name)
            full[:, first + k, :n] = by_a * b[:, None] + by_b * a[:, None]
        first += len(self.limbs)
        for k, name in enumerate(self.distances):
            _, along, _, J = self._apart(at, name)
            full[:, first + k, :n] = np.einsum("nja,na->nj", J, along)
        columns = np.concatenate([self.motion.columns, n + self.motion.columns])
        return self._values(at), full[:, :, columns][:, self.pattern[0], self.pattern[1]]

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, entries) of the sum over outputs of multipliers times second derivatives."""
        at, N, n = self._at(variables), len(variables), self.motion.width
        qq, qu = np.zeros((N, n, n)), np.zeros((N, n, n))
        for k, name in enumerate(self.contacts):
            of = multipliers[:, 6 * k : 6 * k + 6]
            if of.any():
                add_curvature(qq, qu, at[name], of[:, :3], of[:, 3:])
        first = 6 * len(self.contacts)
        forward = np.array([1.0, 0.0, 0.0])
        for k, name in enumerate(self.limbs):
            of = multipliers[:, first + k]
            (a, b), (by_a, by_b) = self._reaches(at, name), self._reach_slopes(at, name)
            outer = (of[:, None] * by_a)[:, :, None] * by_b[:, None]
            qq += outer + np.swapaxes(outer, 1, 2)
            for p, factor in zip(range(4), (-b, b, -a, a), strict=True):
                add_curvature(qq, qu, at[f"{name}/{p}"], (of * factor)[:, None] * forward, None)
        first += len(self.limbs)
        for k, name in enumerate(self.distances):
            of = multipliers[:, first + k]
            length, along, _, J = self._apart(at, name)
            slope = np.einsum("nja,na->nj", J, along)
            qq += (of / length)[:, None, None] * (J @ np.swapaxes(J, 1, 2) - slope[:, :, None] * slope[:, None])
            pull = of[:, None] * along
            add_curvature(qq, qu, at[f"{name}/0"], -pull, None)
            add_curvature(qq, qu, at[f"{name}/1"], pull, None)
        some = np.ix_(np.arange(N), self.motion.columns, self.motion.columns)
        qq, qu, n = qq[some], qu[some], len(self.motion.active)
        low = np.tril_indices(n)
        return np.hstack([qq[:, low[0], low[1]], qu.reshape(N, -1)])

    def _at(self, variables: FloatArray) -> dict[str, PointMotion]:
        return point_motions(self.motion.model, self._points, *self.motion.motion(variables, 1))

    def _values(self, at: Mapping[str, PointMotion]) -> FloatArray:
        found = [part for name in self.contacts for part in (at[name].p, at[name].v)]
        products = [np.prod(self._reaches(at, name), axis=0) for name in self.limbs]
        lengths = [self._apart(at, name)[0] for name in self.distances]
        return np.hstack([*found, *(one[:, None] for one in (*products, *lengths))])

    def _reaches(self, at: Mapping[str, PointMotion], name: str) -> tuple[FloatArray, FloatArray]:
        x = [at[f"{name}/{k}"].p[:, 0] for k in range(4)]
        return x[1] - x[0], x[3] - x[2]

    def _reach_slopes(self, at: Mapping[str, PointMotion], name: str) -> tuple[FloatArray, FloatArray]:
        x = [self._full(at[f"{name}/{k}"])[:, :, 0] for k in range(4)]
        return x[1] - x[0], x[3] - x[2]

    def _apart(self, at: Mapping[str, PointMotion], name: str) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        a, b = at[f"{name}/0"], at[f"{name}/1"]
        r = b.p - a.p
        length = np.sqrt((r * r).sum(axis=1))
        return length, r / length[:, None], r, self._full(b) - self._full(a)

    def _full(self, point: PointMotion) -> FloatArray:
        found = np.zeros((len(point.p), self.motion.width, 3))
        found[:, point.path] = point.J
        return found
