"""Frames of a model that forces hold on to, many at a time: where they are, how they move, and wrenches there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import compiled
from musculo.compile.joint_nodes import placed as in_body
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.spatial.pose import Pose


class Moving(NamedTuple):
    """A motion as forces see it: coordinates, speeds, times, and how all nodes of the tree stand and move in ground."""

    q: FloatArray  # (frames, n)
    u: FloatArray  # (frames, n_u)
    time: FloatArray  # (frames,)
    R: FloatArray  # (frames, nodes, 3, 3)
    motion: FloatArray  # (frames, nodes, 5, 3) positions, angular velocities, velocities of the origins, ...

    @property
    def p(self) -> FloatArray:
        return self.motion[:, :, 0]

    @property
    def w(self) -> FloatArray:
        return self.motion[:, :, 1]

    @property
    def v(self) -> FloatArray:
        return self.motion[:, :, 2]


class Acting(NamedTuple):
    """What some forces do. Rows are (force, body) pairs; a force may act on a body more than once."""

    row_force: IntArray  # (rows,) which force, counted within its group
    row_body: IntArray  # (rows,) which body, ground first
    wrench: FloatArray  # (frames, rows, 6) moment about ground's origin, force, in ground
    speed_force: IntArray  # (k,) which force
    speed: IntArray  # (k,) which speed it acts on
    on_speed: FloatArray  # (frames, k) [N m, N]
    energy: FloatArray  # (frames, forces of the group) potential energy [J]


Columns = list[tuple[int, str, FloatArray]]  # force within its group, label of OpenSim's reporter, (frames,) values


@dataclass(frozen=True, eq=False)
class Placed:
    """Frames fixed to bodies, one a row."""

    names: tuple[str, ...]
    node: IntArray = field(repr=False)  # (rows,)
    body: IntArray = field(repr=False)  # (rows,) ground first
    R: FloatArray = field(repr=False)  # (rows, 3, 3) in the node
    offset: FloatArray = field(repr=False)  # (rows, 3) origin in the node
    base: FloatArray = field(repr=False)  # (rows, 3) origin of the body in the node

    def pose(self, s: Moving) -> tuple[FloatArray, FloatArray]:
        """R_WF (frames, rows, 3, 3) and p (frames, rows, 3) in ground."""
        R_WN = s.R[:, self.node]
        return R_WN @ self.R, s.p[:, self.node] + turned(R_WN, self.offset)

    def origin(self, s: Moving) -> FloatArray:
        """(frames, rows, 3) in ground."""
        return s.p[:, self.node] + turned(s.R[:, self.node], self.offset)

    def body_origin(self, s: Moving) -> FloatArray:
        """(frames, rows, 3): of the bodies that carry the frames."""
        return s.p[:, self.node] + turned(s.R[:, self.node], self.base)

    def spin(self, s: Moving) -> FloatArray:
        """(frames, rows, 3) angular velocity in ground."""
        return s.w[:, self.node]

    def velocity(self, s: Moving, x: FloatArray) -> FloatArray:
        """(frames, rows, 3): of the points of the bodies that are at x in ground."""
        return s.v[:, self.node] + cross(s.w[:, self.node], x - s.p[:, self.node])


def placed(model: Model, frames: Sequence[str], offsets: Sequence[Pose] | None = None) -> Placed:
    """Rows for frames that `model.placement` knows, each moved by an offset given in it."""
    c = compiled(model)
    index = {name: k for k, name in enumerate((GROUND, *model.body_names))}
    node, body, R, p, base = [], [], [], [], []
    for k, frame in enumerate(frames):
        place = model.placement(frame)
        X = c.body_pose[place.body] @ in_body(place)
        if offsets is not None:
            X = X @ offsets[k]
        node.append(c.body_node[place.body])
        body.append(index[place.body])
        R.append(X.R)
        p.append(X.p)
        base.append(c.body_pose[place.body].p)
    return Placed(
        tuple(frames),
        np.array(node, dtype=np.int64),
        np.array(body, dtype=np.int64),
        np.array(R, dtype=float).reshape(-1, 3, 3),
        np.array(p, dtype=float).reshape(-1, 3),
        np.array(base, dtype=float).reshape(-1, 3),
    )


# By components: for arrays of few columns np.cross and einsum are mostly overhead.
def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """a x b of vectors (..., 3)."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    i, j, k = b[..., 0], b[..., 1], b[..., 2]
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0], out[..., 1], out[..., 2] = y * k - z * j, z * i - x * k, x * j - y * i
    return out


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """a . b of vectors (..., 3)."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def turned(R: FloatArray, v: FloatArray) -> FloatArray:
    """R v of (..., 3, 3) and (..., 3)."""
    x, y, z = v[..., 0, None], v[..., 1, None], v[..., 2, None]
    return R[..., 0] * x + R[..., 1] * y + R[..., 2] * z


def turned_back(R: FloatArray, v: FloatArray) -> FloatArray:
    """R^T v of (..., 3, 3) and (..., 3)."""
    x, y, z = v[..., 0, None], v[..., 1, None], v[..., 2, None]
    return R[..., 0, :] * x + R[..., 1, :] * y + R[..., 2, :] * z


def wrench_at(point: FloatArray, force: FloatArray, moment: FloatArray | None = None) -> FloatArray:
    """(..., 6) moment about ground's origin, and force, of a force at a point and a free moment."""
    about = cross(point, force)
    return np.concatenate([about if moment is None else about + moment, force], axis=-1)


def on_bodies(
    frames: int, row_force: IntArray, row_body: IntArray, wrench: FloatArray, energy: FloatArray | None, count: int
) -> Acting:
    """Forces that act on bodies alone."""
    none = np.zeros(0, dtype=np.int64)
    held = np.zeros((frames, count)) if energy is None else energy
    return Acting(row_force, row_body, wrench, none, none, np.zeros((frames, 0)), held)


XYZ = ("X", "Y", "Z")


def vector_columns(force: int, label: str, values: FloatArray) -> Columns:
    """Three columns `label.X`, `label.Y`, `label.Z` of (frames, 3)."""
    return [(force, f"{label}.{axis}", values[:, k]) for k, axis in enumerate(XYZ)]
