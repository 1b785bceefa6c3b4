"""Derivatives of the moment arms of every muscle with respect to the coordinates, for stiffness and optimization."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import embedding_of
from musculo.embedding.slopes import embedding_slopes
from musculo.errors import UnknownName
from musculo.kernels.paths.moment_arm_slope_frames import PathModel, moment_arm_slope_frames
from musculo.kernels.paths.moment_arm_slopes import ArmSlopes, PathCoordinates
from musculo.kernels.paths.path_frames import PoseFrames
from musculo.kernels.paths.path_points import MOVING, Paths
from musculo.kernels.tree.derivatives.pose_slopes import Carriers
from musculo.kernels.tree.node_kinematics import MOTION_ROWS
from musculo.kernels.tree.tree_frames import MotionFrames, kinematics_frames, over_frames
from musculo.model.model import Model
from musculo.muscle.paths.compile_paths import compiled_paths
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.muscle.paths.path_passes import begins_later, chunks, in_two_passes, mark_cut_short, put_function_paths
from musculo.muscle.paths.refused_paths import refuse_mixed_rates

# Poses of so many frames at a time are kept between the two kernels: they stay in the cache of the processor.
_CHUNK = 512
# Steps of the differences that stand in where no exact derivative is known [rad, m]: their errors in h^2 and h^4
# cancel, and rounding of the moment arms over h is 1e-9 at worst.
_STEPS = (4e-4, 2e-4, 1e-4)


@dataclass(frozen=True, eq=False)
class MomentArmDerivatives:
    """Derivatives of moment arms over frames; arrays have no frame axis for a single pose."""

    model: Model = field(repr=False)
    names: tuple[str, ...]
    speed_names: tuple[str, ...]  # all speeds of the tree in file order
    coordinate_names: tuple[str, ...]  # all coordinates in file order
    moment_arm: FloatArray = field(repr=False)  # (frames, muscles, n_u), as `muscle_geometry` gives it
    derivative: FloatArray = field(repr=False)  # (frames, muscles, n_u, n_q) d(moment_arm)/dq
    # (frames, muscles) False where only differences were left: a path over surfaces that overlap, a length with a
    # penalty, a torus shrunk by an end in its tube, a singular system
    exact: NDArray[np.bool_] = field(repr=False)
    # (frames, muscles) which of `geometry.STATUSES` the worst segment of a path has
    status: NDArray[np.int8] = field(repr=False)
    _q: FloatArray = field(repr=False)

    @property
    def independent_speed_names(self) -> tuple[str, ...]:
        """Third axis of `independent`."""
        return embedding_of(self.model).speed_names

    @property
    def independent_coordinate_names(self) -> tuple[str, ...]:
        """Last axis of `independent`."""
        return embedding_of(self.model).coordinate_names

    @cached_property
    def independent(self) -> FloatArray:
        """d(r J)/dz (frames, muscles, n_zu, n_z): per independent speed and coordinate, couplings included.

            d(r J)/dz = J^T dr/dq dq/dz + r dJ/dz

        Where every independent speed is a coordinate's derivative it is minus the Hessian of the length over z.

        Raises:
            Unsupported: a constraint that musculo cannot compute.
        """
        e = embedding_of(self.model)
        refuse_carried(
            e.unsolved,
            ", so that no coordinate is known to be independent; use derivative, or switch it off (enforced=False)",
        )
        if not e.rules:
            return self.derivative
        G, rows, dJ = embedding_slopes(e, self._q)
        J = e.jacobian(self._q)
        own = [self.model.coordinate_index(name) for name in e.coordinate_names]
        others = [self.model.coordinate_index(rule.dependent) for rule in e.rules]
        along = self.derivative[..., own]
        if others:
            along += self.derivative[..., others] @ G[..., None, others, :]
        along = np.swapaxes(J, -1, -2)[..., None, :, :] @ along
        bend = self.moment_arm[..., rows] @ dJ.reshape(*dJ.shape[:-2], -1)
        return along + bend.reshape(along.shape)

    def index(self, name: str) -> int:
        """Which muscle has this name."""
        if name not in self.names:
            raise UnknownName("path", name, self.names, self.model.source or f"model {self.model.name!r}")
        return self.names.index(name)


def moment_arm_derivatives(model: Model, q: ArrayLike, *, threads: int | None = None) -> MomentArmDerivatives:
    """Derivatives of the moment arms of `muscle_geometry(model, q)` with respect to all coordinates.

        dr_j/dq_k = sum over the path's bodies of  dw_j . m + dv_j . f + w_j . dm + v_j . df

    with (m, f) the wrench of unit tension on a body and (w_j, v_j) the twist that unit speed j gives to it. Straight
    pieces are differentiated in closed form, contacts follow by the natural variations of their geodesics, joints by
    the complex step.

    Source:     [Scholz2015] eq. 16-31 for the variations; the linear system is the one that straightens the path.
    Departs:    the system is solved for the motion of ends and surfaces instead of for path errors.
    Guarantees: no finite difference is used (`exact` says where one is). If u = qdot, -derivative is the Hessian of the
                length and symmetric. Where contact begins or ends, a conditional point comes or goes, or a rule about
                sides switches, the derivative jumps and that of one side is given.

    Args:
        model: the model.
        q: (frames, n) or (n,) coordinates, all of the file in its order [rad, m].
        threads: the number of threads; all cores by default.
    """
    p = compiled_paths(model, muscles_only=True)
    refuse_mixed_rates(p)
    c = compiled(model)
    Q, single = coordinates_of(model, q)
    c.check_coordinates(Q)
    frames, n, n_u, n_q = len(Q), len(p.names), c.n_u, c.n_q
    carriers, coordinates = model.derived("path coordinates", lambda: (_carriers(c), _path_coordinates(c, p.paths)))
    known = PathModel(c.tree, c.table, p.paths, p.table, carriers, coordinates)
    arms, slopes = np.empty((frames, n * n_u)), np.zeros((frames, n * n_u * n_q))
    status, exact = np.zeros((frames, n), dtype=np.int8), np.ones((frames, n), dtype=np.int8)
    size, rest, later = min(frames, _CHUNK), np.zeros((1, n_u)), begins_later(c, p, threads)
    motion, twists = np.empty((size, MOTION_ROWS * c.tree.parent.size)), np.empty((size, 6 * n_u))
    for now in chunks(frames if n else 0, _CHUNK):
        X = Q[now]
        still = MotionFrames(X, rest, rest)
        over_frames(kinematics_frames, (c.tree, c.table, still, False, motion, twists), len(X), threads)
        found = ArmSlopes(arms[now], slopes[now], status[now], exact[now])
        given = (known, PoseFrames(X, motion, twists), found)
        in_two_passes(later, status[now], partial(_begin, given, len(X), threads), partial(_finish, given, threads))
    mark_cut_short(p, Q, status)
    put_function_paths(p, Q, False, np.zeros((frames, n)), arms, threads)
    slopes.reshape(frames, n, n_u, n_q)[:, p.functions.numbers] = p.functions.hessians(Q, n_u)
    r, d, good = arms.reshape(frames, n, n_u), slopes.reshape(frames, n, n_u, n_q), exact != 0
    for frame in np.flatnonzero(~good.all(axis=1)):
        d[frame, ~good[frame]] = _by_differences(model, Q[frame], threads)[~good[frame]]
    if single:
        r, d, good, status, Q = r[0], d[0], good[0], status[0], Q[0]
    return MomentArmDerivatives(model, p.names, model.speed_names, model.coordinate_names, r, d, good, status, Q)


def _begin(given: tuple[Any, ...], frames: int, threads: int | None) -> None:
    over_frames(moment_arm_slope_frames, given, frames, threads)


def _finish(given: tuple[Any, ...], threads: int | None, left: NDArray[np.int64]) -> None:
    # not at the top: its kernels are many, and most models never come here
    from musculo.kernels.paths.second_pass_slope_frames import second_pass_slope_frames

    over_frames(second_pass_slope_frames, (*given, left), len(left), threads)


def _by_differences(model: Model, q: FloatArray, threads: int | None) -> FloatArray:
    """(muscles, n_u, n_q) by central differences of moment arms, extrapolated to a step of zero."""
    n = len(q)
    unit = np.eye(n)
    poses = np.concatenate([q + sign * h * unit for h in _STEPS for sign in (1.0, -1.0)])
    arms = muscle_geometry(model, poses, threads=threads).moment_arm
    arms = arms.reshape(len(_STEPS), 2, n, *arms.shape[1:])
    d = [(up - down) / (2.0 * h) for (up, down), h in zip(arms, _STEPS, strict=True)]
    for order in range(1, len(d)):
        factor = 4.0**order
        d = [(factor * b - a) / (factor - 1.0) for a, b in pairwise(d)]
    return np.moveaxis(d[0], 0, -1)


def _carriers(c: CompiledModel) -> Carriers:
    """For every coordinate its node, and the speeds of all joints that it moves or belongs to."""
    node = np.zeros(c.n_q, dtype=np.int64)
    edges = [*c.tree.q_first, c.tree.q_rows.size]
    for i in range(c.tree.parent.size):
        node[c.tree.q_rows[edges[i] : edges[i + 1]]] = i
    below = _below(c)
    lists = []
    for own in node:
        nodes = np.flatnonzero(below[own])
        lists.append([k for j in nodes for k in c.tree.u_rows[c.tree.u_first[j] : c.tree.u_first[j] + c.tree.n_u[j]]])
    first = np.cumsum([0, *(len(x) for x in lists)])
    return Carriers(node, first.astype(np.int64), np.array([k for x in lists for k in x], dtype=np.int64))


def _below(c: CompiledModel) -> NDArray[np.bool_]:
    """(nodes, nodes) whether the second moves with the first; every node does so with itself."""
    n = c.tree.parent.size
    below = np.eye(n, dtype=bool)
    for i in range(1, n):
        below[:, i] |= below[:, c.tree.parent[i]]
    return below


def _path_coordinates(c: CompiledModel, paths: Paths) -> PathCoordinates:
    """The coordinates that move part of each path, or points of it on their bodies."""
    node, below = _carriers(c).node, _below(c)
    rows: list[int] = []
    moved: list[int] = []
    first, first_moved = [0], [0]
    for k in range(paths.first_point.size - 1):
        slots = paths.slot_node[paths.first_slot[k] : paths.first_slot[k + 1]]
        moves = below[node][:, slots]
        wanted: NDArray[np.bool_] = np.logical_and(moves.any(axis=1), ~moves.all(axis=1))
        points = np.arange(paths.first_point[k], paths.first_point[k + 1])
        own = paths.moving_row[points[paths.point_kind[points] == MOVING]]
        wanted[own[own >= 0]] = True
        chosen = np.flatnonzero(wanted)
        rows += [int(row) for row in chosen]
        moved += [int(x) for x in moves[chosen].T.ravel()]
        first.append(len(rows))
        first_moved.append(len(moved))
    lists = (first, rows, first_moved, moved)
    return PathCoordinates(*(np.array(x, dtype=np.int64) for x in lists))
