"""Frames of a model that forces hold on to, many at a time: where they are, and wrenches there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import compiled
from musculo.compile.joint_nodes import placed as in_body
from musculo.kernels.forces.fixed_frames import FixedFrames
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, POSITION, ROTATION
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.spatial.pose import Pose


class Moving(NamedTuple):
    """A motion as forces see it: coordinates, speeds, times, and how all nodes of the tree stand and move in ground."""

    q: FloatArray  # (frames, n)
    u: FloatArray  # (frames, n_u)
    time: FloatArray  # (frames,)
    rows: FloatArray  # (frames, MOTION_ROWS nodes) as kernels have them

    @property
    def _nodes(self) -> FloatArray:
        return self.rows.reshape(len(self.rows), -1, MOTION_ROWS)

    @property
    def R(self) -> FloatArray:
        """(frames, nodes, 3, 3)."""
        nodes = self._nodes
        return nodes[:, :, ROTATION : ROTATION + 9].reshape(*nodes.shape[:2], 3, 3)

    @property
    def p(self) -> FloatArray:
        """(frames, nodes, 3)."""
        return self._nodes[:, :, POSITION : POSITION + 3]


class Found(NamedTuple):
    """What a kernel found of the forces of one group."""

    on_speed: FloatArray  # (frames, forces) of those on speeds
    wrench: FloatArray  # (frames, rows, 6) of those on bodies: on the second body of each pair
    energy: FloatArray  # (frames, forces or rows)
    state: IntArray  # (frames, rows) of contacts


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

    def rows(self, rows: IntArray) -> Placed:
        """Some of them, in any order."""
        names = tuple(self.names[k] for k in rows.tolist())
        return Placed(names, self.node[rows], self.body[rows], self.R[rows], self.offset[rows], self.base[rows])

    @property
    def frames(self) -> FixedFrames:
        """As kernels take them."""
        return FixedFrames(self.node, np.ascontiguousarray(self.R.reshape(-1, 9)), self.offset)

    def rotation(self, s: Moving) -> FloatArray:
        """R_WF (frames, rows, 3, 3)."""
        return s.R[:, self.node] @ self.R

    def origin(self, s: Moving) -> FloatArray:
        """(frames, rows, 3) in ground."""
        return s.p[:, self.node] + turned(s.R[:, self.node], self.offset)

    def body_origin(self, s: Moving) -> FloatArray:
        """(frames, rows, 3): of the bodies that carry the frames."""
        return s.p[:, self.node] + turned(s.R[:, self.node], self.base)


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


_NONE = np.zeros(0, dtype=np.int64)


def on_speeds(speed: IntArray, found: Found) -> Acting:
    """Forces that act on one speed each."""
    frames, n = found.on_speed.shape
    return Acting(_NONE, _NONE, np.zeros((frames, 0, 6)), np.arange(n), speed, found.on_speed, found.energy)


def on_bodies(row_force: IntArray, row_body: IntArray, wrench: FloatArray, energy: FloatArray) -> Acting:
    """Forces that act on bodies alone."""
    return Acting(row_force, row_body, wrench, _NONE, _NONE, np.zeros((len(wrench), 0)), energy)


def between(first: Placed, second: Placed, found: Found) -> Acting:
    """Forces on the bodies of second frames, and their opposites on those of first ones; the latter come first."""
    every = np.arange(len(first.names))
    rows = np.concatenate([every, every]), np.concatenate([first.body, second.body])
    return on_bodies(*rows, np.concatenate([-found.wrench, found.wrench], axis=1), found.energy)


XYZ = ("X", "Y", "Z")


def vector_columns(force: int, label: str, values: FloatArray) -> Columns:
    """Three columns `label.X`, `label.Y`, `label.Z` of (frames, 3)."""
    return [(force, f"{label}.{axis}", values[:, k]) for k, axis in enumerate(XYZ)]
