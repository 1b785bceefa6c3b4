"""Points of a tree of hinges and sliders: positions, velocities, and their first and second derivatives at all nodes.

With the axes w_k of the speeds that move a point p, from root to tip, J_k = dp/dq_k, and w_k = 0 of sliders,

    dJ_k/dq_j = w_j x J_k                              j inboard of k, or k
    dv/dq_k   = omega_k x J_k + w_k x (v - v_k)         omega_k, v_k: what speeds up to k give

The second derivatives of v are those of p along the motion: dw_j/dt = omega_j x w_j and dJ_k/dt = dv/dq_k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import compiled
from musculo.dynamics.poses import kinematics
from musculo.model.model import Model
from musculo.spatial.cross_product import cross

Point = tuple[str, ArrayLike]
"""A body and a point of it, in its frame [m]."""


class PointMotions(NamedTuple):
    """Points at all nodes, and the axes of the speeds that move each, from root to tip; zeros fill short chains."""

    p: FloatArray  # (nodes, points, 3)
    v: FloatArray  # (nodes, points, 3)
    J: FloatArray  # (nodes, points, chain, 3) dp/dq = dv/du
    by_q: FloatArray  # (nodes, points, chain, 3) dv/dq
    w: FloatArray  # (nodes, points, chain, 3) axes
    turning: FloatArray  # (nodes, points, chain, 3) dw/dt


def speeds_above(model: Model, body: str) -> IntArray:
    """Columns of the speeds that move a body, from root to tip."""
    c = compiled(model)
    moved = c.moved_by[c.body_node[body]]
    return np.array([k for k in c.tree.u_rows if moved[k]], dtype=np.int64)


class ChainPoints:
    """Points of a tree, all at once.

    Args:
        model: every speed is the rate of a coordinate that turns about, or moves along, an axis of its own.
        points: bodies and places in their frames [m].
    """

    def __init__(self, model: Model, points: Sequence[Point]) -> None:
        from scipy import sparse

        self.model, self.points = model, tuple(points)
        chains = [speeds_above(model, body) for body, _ in self.points]
        width = max(map(len, chains))
        self.count = n = len(model.speed_names)
        self.path = np.full((len(chains), width), n, dtype=np.int64)  # n where a chain is over
        for row, chain in zip(self.path, chains, strict=True):
            row[: len(chain)] = chain
        self._upper = np.triu(np.ones((width, width)))
        first, second = np.broadcast_arrays(self.path[:, :, None], self.path[:, None])
        own = np.flatnonzero((first < n) & (second < n))
        place = first.ravel()[own] * n + second.ravel()[own]
        self._into_matrix: Any = sparse.csr_matrix((np.ones(len(own)), (place, own)), shape=(n * n, first.size))

    def at(self, q: FloatArray, u: FloatArray) -> PointMotions:
        """All points in positions and at speeds (nodes, n)."""
        at = kinematics(self.model, q, threads=1)
        none = np.zeros((len(q), 1))
        twists = np.concatenate([at.twists(), none[:, :, None, None] + np.zeros((2, 3))], axis=1)[:, self.path]
        rates = np.concatenate([u, none], axis=1)[:, self.path, None]
        p = np.stack([at.position(body, place) for body, place in self.points], axis=1)
        there = (self.path < self.count)[:, :, None]
        w = twists[:, :, :, 0]
        J = there * (twists[:, :, :, 1] + cross(w, p[:, :, None]))
        omega, parts = np.cumsum(w * rates, axis=2), np.cumsum(J * rates, axis=2)
        v = parts[:, :, -1]
        by_q = there * (cross(omega, J) + cross(w, v[:, :, None] - parts))
        return PointMotions(p, v, J, by_q, w, cross(omega, w))

    def curvature(self, at: PointMotions, of_p: FloatArray, of_v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, n, n) second derivatives by q q and by q u of the sum of of_p . p + of_v . v, (nodes, points, 3)."""
        left, J = cross(of_v[:, :, None], at.w), np.swapaxes(at.J, 2, 3)
        bent = (cross(of_p[:, :, None], at.w) + cross(of_v[:, :, None], at.turning)) @ J
        return self._summed(bent + left @ np.swapaxes(at.by_q, 2, 3)), self._summed(left @ J)

    def _summed(self, blocks: FloatArray) -> FloatArray:
        """(nodes, n, n) sums of blocks (nodes, points, chain, chain) of pairs j inboard of k, or equal; symmetric."""
        nodes, n = len(blocks), self.count
        upper = (self._into_matrix @ (blocks * self._upper).reshape(nodes, -1).T).T.reshape(nodes, n, n)
        found = upper + np.swapaxes(upper, 1, 2)
        np.einsum("nii->ni", found)[:] *= 0.5
        return np.asarray(found)


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
        model: as `ChainPoints` has it.
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
        named: dict[str, Point] = dict(contacts)
        for group in (limbs, distances):
            for name, points in group.items():
                named |= {f"{name}/{k}": point for k, point in enumerate(points)}
        self._chains = ChainPoints(model, tuple(named.values()))
        self._last: tuple[FloatArray, PointMotions] | None = None
        self.inputs = self.motion.inputs(1)
        ends = ("x", "y", "z", "vx", "vy", "vz")
        self.outputs = (*(f"{name}/{end}" for name in contacts for end in ends), *limbs, *distances)
        n = len(active)
        rows, columns = [], []
        place = {int(column): k for k, column in enumerate(self.motion.columns)}

        def moving(*names: str) -> IntArray:
            above = {k for name in names for k in speeds_above(model, named[name][0]).tolist()}
            return np.array(sorted(place[k] for k in above if k in place), dtype=np.int64)

        for k, name in enumerate(contacts):
            at = moving(name)
            for axis in range(3):
                rows += [np.full(len(at), 6 * k + axis), np.full(2 * len(at), 6 * k + 3 + axis)]
                columns += [at, at, n + at]
        for k, name in enumerate((*limbs, *distances)):
            at = moving(*(one for one in named if one.startswith(f"{name}/")))
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
        contacts, first = len(self.contacts), 6 * len(self.contacts)
        full = np.zeros((N, len(self.outputs), 2, n + 1))  # by q and by u; the last of each is of short chains
        of_points = full[:, :first].reshape(N, contacts, 6, 2, n + 1)
        k, path = np.arange(contacts)[:, None], self._chains.path[:contacts]
        # what is indexed comes first: (contacts, chain, nodes, 3)
        J, by_q = (np.moveaxis(one[:, :contacts], 0, 2) for one in (at.J, at.by_q))
        of_points[:, k, :3, 0, path] = of_points[:, k, 3:, 1, path] = J
        of_points[:, k, 3:, 0, path] = by_q
        between = self._between(at)
        pairs = len(self.limbs)
        full[:, first : first + pairs, 0, :n] = between.by_reach[0] * between.reach[1][..., None]
        full[:, first : first + pairs, 0, :n] += between.by_reach[1] * between.reach[0][..., None]
        full[:, first + pairs :, 0, :n] = between.by_distance
        row, column = self.pattern
        of, which = np.divmod(column, len(self.motion.active))
        return self._values(at), full[:, row, of, self.motion.columns[which]]

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, entries) of the sum over outputs of multipliers times second derivatives."""
        at, N = self._at(variables), len(variables)
        contacts, pairs = len(self.contacts), len(self.limbs)
        of_contacts, of_limbs, of_distances = np.split(multipliers, [6 * contacts, 6 * contacts + pairs], axis=1)
        of = of_contacts.reshape(N, contacts, 2, 3)
        between = self._between(at)
        of_p, of_v = np.zeros((2, *at.p.shape))
        of_p[:, :contacts], of_v[:, :contacts] = of[:, :, 0], of[:, :, 1]
        (a, b), (by_a, by_b) = between.reach, between.by_reach
        ends = of_limbs[:, :, None] * np.stack([-b, b, -a, a], axis=2)
        of_p[:, contacts : contacts + 4 * pairs, 0] = ends.reshape(N, -1)
        pull = of_distances[:, :, None] * between.along
        of_p[:, contacts + 4 * pairs :] = np.stack([-pull, pull], axis=2).reshape(N, -1, 3)
        qq, qu = self._chains.curvature(at, of_p, of_v)
        outer = np.swapaxes(of_limbs[:, :, None] * by_a, 1, 2) @ by_b
        qq += outer + np.swapaxes(outer, 1, 2)
        J, slope = between.J, between.by_distance
        stiff = of_distances / between.distance
        flat = np.moveaxis(J, 3, 2).reshape(N, -1, J.shape[2])  # (nodes, 3 pairs, n)
        qq += np.swapaxes(flat * np.repeat(stiff, 3, axis=1)[:, :, None], 1, 2) @ flat
        qq -= np.swapaxes(slope * stiff[:, :, None], 1, 2) @ slope
        some = np.ix_(np.arange(N), self.motion.columns, self.motion.columns)
        qq, qu = qq[some], qu[some]
        low = np.tril_indices(len(self.motion.active))
        return np.hstack([qq[:, low[0], low[1]], qu.reshape(N, -1)])

    def _at(self, variables: FloatArray) -> PointMotions:
        """Computed once for values, slopes and curvatures of the same variables."""
        if self._last is None or not np.array_equal(self._last[0], variables):
            self._last = variables.copy(), self._chains.at(*self.motion.motion(variables, 1))
        return self._last[1]

    def _values(self, at: PointMotions) -> FloatArray:
        contacts = np.stack([at.p, at.v], axis=2)[:, : len(self.contacts)].reshape(len(at.p), -1)
        between = self._between(at, slopes=False)
        return np.hstack([contacts, between.reach[0] * between.reach[1], between.distance])

    def _between(self, at: PointMotions, slopes: bool = True) -> _Between:
        """Of limbs and distances."""
        N, contacts, pairs, n = len(at.p), len(self.contacts), len(self.limbs), self.motion.width
        p = at.p[:, contacts:]
        x = p[:, : 4 * pairs, 0].reshape(N, pairs, 4)
        ends = p[:, 4 * pairs :].reshape(N, len(self.distances), 2, 3)
        r = ends[:, :, 1] - ends[:, :, 0]
        distance = np.sqrt((r * r).sum(axis=2))
        along = r / distance[:, :, None]
        full = np.zeros((N if slopes else 0, p.shape[1], n + 1, 3))
        if slopes:
            full[:, np.arange(p.shape[1])[:, None], self._chains.path[contacts:]] = at.J[:, contacts:]
        full = full[:, :, :n]
        by_x = full[:, : 4 * pairs, :, 0].reshape(len(full), pairs, 4, n)
        of_ends = full[:, 4 * pairs :].reshape(len(full), len(self.distances), 2, n, 3)
        J = of_ends[:, :, 1] - of_ends[:, :, 0]
        return _Between(
            (x[:, :, 1] - x[:, :, 0], x[:, :, 3] - x[:, :, 2]),
            (by_x[:, :, 1] - by_x[:, :, 0], by_x[:, :, 3] - by_x[:, :, 2]),
            distance,
            along,
            J,
            np.einsum("npja,npa->npj", J, along[: len(J)]),
        )


class _Between(NamedTuple):
    """What is between points, with slopes by all coordinates."""

    reach: tuple[FloatArray, FloatArray]  # (nodes, pairs) of both limbs of a pair
    by_reach: tuple[FloatArray, FloatArray]  # (nodes, pairs, n)
    distance: FloatArray  # (nodes, distances)
    along: FloatArray  # (nodes, distances, 3) unit vectors
    J: FloatArray  # (nodes, distances, n, 3) how ends move apart
    by_distance: FloatArray  # (nodes, distances, n)
