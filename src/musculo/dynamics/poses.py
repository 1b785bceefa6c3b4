"""Where everything is, how fast it moves, and how it answers to each speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.coordinate_arrays import accelerations_of, coordinates_of, speeds_of
from musculo.compile.frame_arrays import same_frames
from musculo.compile.joint_nodes import placed
from musculo.errors import InvalidInput
from musculo.kernels.tree.node_kinematics import MOTION_ROWS
from musculo.kernels.tree.tree_frames import MotionFrames, kinematics_frames, over_frames
from musculo.model.body import GROUND, Vec3
from musculo.model.model import Model
from musculo.results.notebook_figures import series_html
from musculo.results.table import Table
from musculo.spatial.cross_product import cross
from musculo.spatial.pose import Pose

_ORIGIN: Vec3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Kinematics:
    """The motion of all bodies over all frames; ask it for poses, points and Jacobians.

    A frame is named by its body, `ground`, or the path of an offset frame. Everything is expressed in ground. Results
    carry the frames first, or no frame axis where a single frame was asked for.
    """

    model: Model
    compiled: CompiledModel = field(repr=False)
    single: bool
    frames: int
    _rows: FloatArray = field(repr=False)  # (frames, MOTION_ROWS nodes) as kernels have them
    _R: FloatArray = field(repr=False)  # (frames, nodes, 3, 3)
    _motion: FloatArray = field(repr=False)  # (frames, nodes, 5, 3): p, w, v, alpha, a
    _q: FloatArray = field(repr=False)
    _order: int  # 0 poses, 1 velocities, 2 accelerations
    _threads: int | None = field(repr=False)

    @classmethod
    def of_rows(
        cls,
        model: Model,
        c: CompiledModel,
        motion: FloatArray,
        Q: FloatArray,
        order: int,
        single: bool = True,
        threads: int | None = None,
    ) -> Kinematics:
        """From what the kernel gives, (frames, MOTION_ROWS nodes), at coordinates Q (frames, n)."""
        frames, nodes = Q.shape[0], c.tree.parent.size
        rows = motion.reshape(frames, nodes, MOTION_ROWS)
        R, rest = rows[:, :, :9].reshape(frames, nodes, 3, 3), rows[:, :, 9:].reshape(frames, nodes, 5, 3)
        return cls(model, c, single, frames, motion, R, rest, Q, order, threads)

    @cached_property
    def _twists(self) -> FloatArray:
        """(frames, n_u, 2, 3): w, and v at ground's origin, that each unit speed gives; made when first asked for."""
        return _run(self.compiled, self._q, None, None, self._threads)[1].reshape(self.frames, -1, 2, 3)

    def twists(self) -> FloatArray:
        """(frames, n_u, 2, 3): w, and v at ground's origin, that each unit speed gives to what it moves."""
        return self._twists

    def _repr_html_(self) -> str:
        names = self.model.body_names
        at = np.zeros((self.frames, len(names)))
        for k, name in enumerate(names):
            at[:, k] = self.batch_pose(name)[1][:, 1]
        known = ("positions", "positions, velocities", "positions, velocities, accelerations")[self._order]
        facts = [("model", self.model.name), ("known", known)]
        return series_html("Kinematics: y of bodies by frame", None, names, at, ("m",) * len(names), facts)

    def _shape(self, array: FloatArray) -> FloatArray:
        return array[0] if self.single else array

    def _need(self, order: int) -> None:
        if self._order < order:
            missing = ("", "u", "udot")[order]
            raise InvalidInput(f"this motion was computed without {missing}; pass it to kinematics(model, q, u, udot)")

    def _node(self, frame: str) -> tuple[int, Pose]:
        return self.model.derived(("node of frame", frame), lambda: self._find_node(frame))

    def _find_node(self, frame: str) -> tuple[int, Pose]:
        placement = self.model.placement(frame)
        return self.compiled.body_node[placement.body], self.compiled.body_pose[placement.body] @ placed(placement)

    def _arm(self, frame: str, point: ArrayLike) -> tuple[int, FloatArray]:
        """Node of a frame and the vector (frames, 3) from the node's origin to a point of the frame, in ground."""
        node, X = self._node(frame)
        R = self._R[:, node]
        if point is _ORIGIN:
            return node, np.einsum("fij,j->fi", R, X.p)
        try:
            location = np.asarray(point, dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"a point of {frame!r} is not three numbers: {error}") from None
        if not np.isfinite(location).all():
            raise InvalidInput(f"a point of {frame!r} holds a number that is not finite; fill such frames first")
        if location.shape not in ((3,), (self.frames, 3)):
            raise InvalidInput(f"a point of {frame!r} has shape {location.shape}; it needs (3,) or ({self.frames}, 3)")
        in_node = X.p + location @ X.R.T
        return node, np.einsum("fij,j->fi" if in_node.ndim == 1 else "fij,fj->fi", R, in_node)

    def batch_pose(self, frame: str) -> tuple[FloatArray, FloatArray]:
        """R (frames, 3, 3) and p (frames, 3) of a frame, always with the frame axis."""
        node, X = self._node(frame)
        R = self._R[:, node]
        return R @ X.R, self._motion[:, node, 0] + R @ X.p

    def pose(self, frame: str) -> Pose:
        """X_WF: rotation (frames, 3, 3) and position (frames, 3) of a frame in ground."""
        R, p = self.batch_pose(frame)
        return Pose(self._shape(R), self._shape(p))

    def position(self, frame: str, point: ArrayLike = _ORIGIN) -> FloatArray:
        """(frames, 3) position of a point fixed to a frame (given in that frame) [m]."""
        node, r = self._arm(frame, point)
        return self._shape(self._motion[:, node, 0] + r)

    def angular_velocity(self, frame: str) -> FloatArray:
        """(frames, 3) [rad/s]."""
        self._need(1)
        return self._shape(self._motion[:, self._node(frame)[0], 1])

    def velocity(self, frame: str, point: ArrayLike = _ORIGIN) -> FloatArray:
        """(frames, 3) velocity of a point fixed to a frame [m/s]."""
        self._need(1)
        node, r = self._arm(frame, point)
        return self._shape(self._motion[:, node, 2] + cross(self._motion[:, node, 1], r))

    def angular_acceleration(self, frame: str) -> FloatArray:
        """(frames, 3) [rad/s^2]."""
        self._need(2)
        return self._shape(self._motion[:, self._node(frame)[0], 3])

    def acceleration(self, frame: str, point: ArrayLike = _ORIGIN) -> FloatArray:
        """(frames, 3) acceleration of a point fixed to a frame [m/s^2]."""
        self._need(2)
        node, r = self._arm(frame, point)
        w = self._motion[:, node, 1]
        return self._shape(self._motion[:, node, 4] + cross(self._motion[:, node, 3], r) + cross(w, cross(w, r)))

    def markers(self, names: str | Sequence[str] | None = None) -> FloatArray:
        """(frames, markers, 3) positions, all markers in file order or those named [m]."""
        return self._stack([self.position(m.frame, m.location) for m in self._markers(names)])

    def marker_velocities(self, names: str | Sequence[str] | None = None) -> FloatArray:
        """(frames, markers, 3) velocities [m/s]."""
        return self._stack([self.velocity(m.frame, m.location) for m in self._markers(names)])

    def _markers(self, names: str | Sequence[str] | None) -> list:
        names = [names] if isinstance(names, str) else names
        return list(self.model.markers) if names is None else [self.model.marker(name) for name in names]

    def _stack(self, points: list[FloatArray]) -> FloatArray:
        if not points:
            return np.zeros((0, 3) if self.single else (self.frames, 0, 3))
        return np.stack(points, axis=-2)

    def point_jacobian(self, frame: str, point: ArrayLike = _ORIGIN) -> FloatArray:
        """(frames, 3, n_u): velocity of a point of a frame = J u, per speed of the tree."""
        node, r = self._arm(frame, point)
        x = self._motion[:, node, 0] + r
        J = self._twists[:, :, 1] + cross(self._twists[:, :, 0], x[:, None])
        return self._shape(np.swapaxes(J * self.compiled.moved_by[node][:, None], 1, 2))

    @property
    def node_rows(self) -> FloatArray:
        """(frames, MOTION_ROWS nodes): how all nodes of `compiled` stand and move, as kernels have it."""
        self._need(1)
        return self._rows

    def pull_back(self, wrench: ArrayLike) -> FloatArray:
        """(frames, n_u): generalized forces of wrenches on bodies, sum over bodies of J^T F.

        Args:
            wrench: (frames, 1 + bodies, 6), ground first: moment about ground's origin, and force, in ground.
        """
        W = np.asarray(wrench, dtype=float).reshape(self.frames, -1, 6)
        nodes = [self.compiled.body_node[name] for name in (GROUND, *self.model.body_names)]
        if W.shape[1] != len(nodes):
            raise InvalidInput(f"wrenches are of {W.shape[1]} bodies; the model has {len(nodes)}, ground included")
        # all that each speed moves, as one body
        moved = self.compiled.moved_by[nodes].T @ W
        twists = self._twists.reshape(self.frames, -1, 6)
        return self._shape(np.sum(moved * twists, axis=2))

    def pull_back_each(self, bodies: Sequence[str], wrench: FloatArray) -> FloatArray:
        """(frames, wrenches, n_u): generalized forces of single wrenches, each on a body of its own.

        Args:
            bodies: names, ground among them.
            wrench: (frames, wrenches, 6) moment about ground's origin, and force, in ground.
        """
        moved = self.compiled.moved_by[[self.compiled.body_node[name] for name in bodies]]
        return np.asarray((wrench @ np.swapaxes(self._twists.reshape(self.frames, -1, 6), 1, 2)) * moved)

    def frame_jacobian(self, frame: str, point: ArrayLike = _ORIGIN) -> FloatArray:
        """(frames, 6, n_u): (angular velocity, velocity of the point) = J u, per speed of the tree."""
        node, _ = self._node(frame)
        angular = np.swapaxes(self._twists[:, :, 0] * self.compiled.moved_by[node][:, None], 1, 2)
        linear = self.point_jacobian(frame, point)
        return self._shape(np.concatenate([angular, linear[None] if self.single else linear], axis=1))


def kinematics(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table | None = None,
    udot: ArrayLike | Table | None = None,
    *,
    threads: int | None = None,
) -> Kinematics:
    """Poses of every body and, where speeds are given, velocities and accelerations.

    Args:
        model: the model.
        q: (frames, n) or (n,) coordinates, all of the file in its order [rad, m].
        u: speeds, likewise; needed for velocities.
        udot: their derivatives; needed for accelerations.
        threads: the number of threads; all cores by default.
    """
    c = compiled(model)
    Q, single = coordinates_of(model, q)
    c.check_coordinates(Q)
    order = 0 if u is None else 1 if udot is None else 2
    if u is None and udot is not None:
        raise InvalidInput("udot is given without u; pass u as well (zeros if the model is at rest)")
    U = np.zeros((1, c.n_u)) if u is None else speeds_of(model, u)[0]
    A = np.zeros_like(U) if udot is None else accelerations_of(model, udot)[0]
    if u is not None:
        same_frames(q=Q, u=U, udot=A)
    motion = _run(c, Q, U, A, threads)[0] if order else _run(c, Q, None, None, threads, columns=False)[0]
    return Kinematics.of_rows(model, c, motion, Q, order, single, threads)


def _run(
    c: CompiledModel,
    Q: FloatArray,
    U: FloatArray | None,
    A: FloatArray | None,
    threads: int | None,
    columns: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Motion (frames, MOTION_ROWS nodes) of all nodes, and twist columns (frames, 6 n_u) at rest."""
    rest = np.zeros((1, c.n_u))
    moving = U is not None and A is not None
    motion = np.empty((len(Q), MOTION_ROWS * c.tree.parent.size))
    twists = np.empty((0 if moving or not columns else len(Q), 6 * c.n_u))
    given = MotionFrames(Q, U, A) if U is not None and A is not None else MotionFrames(Q, rest, rest)
    over_frames(kinematics_frames, (c.tree, c.table, given, moving, motion, twists), len(Q), threads)
    return motion, twists
