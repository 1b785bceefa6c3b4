"""What the tension of a path does to each body it touches: at its points, and where it presses on a surface."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.compile.frame_arrays import same_frames
from musculo.errors import InvalidInput
from musculo.like import Like, Wrapping, wrapping_of
from musculo.model.force import Muscle
from musculo.model.model import Model
from musculo.muscle.paths.compile_paths import CompiledPaths, compiled_paths
from musculo.muscle.paths.current_paths import PathPoints
from musculo.muscle.paths.geometry import KEPT_POINTS, PathGeometry
from musculo.muscle.paths.path_passes import run_paths
from musculo.muscle.paths.refused_paths import refuse_endless, refuse_mixed_rates
from musculo.results.table import Table

# Frames at a time: between kernel and result each holds a wrench for as many bodies as the widest path touches, and
# memory that is used again is not cleared again.
_CHUNK = 512
_NO_ARMS = np.zeros((0, 0, 0))


@dataclass(frozen=True, eq=False, repr=False)
class PathWrenches(PathGeometry):
    """Geometry of paths, and what unit tension of each does to each body that it touches.

    A row stands for one path and one body; rows are sorted by body. `wrench` holds the moment about ground's origin
    and the force, in ground [m, 1]: times the tension, N m and N.
    """

    body_names: tuple[str, ...]  # ground first
    row_path: IntArray = field(repr=False)  # (rows,) which path
    row_body: IntArray = field(repr=False)  # (rows,) which body; ascending
    wrench: FloatArray = field(repr=False)  # (frames, rows, 6)

    def part(self, at: slice) -> PathWrenches:
        """Some of the frames, with the frame axis also of a single pose; without the points of the paths."""
        arrays = {"length": 2, "speed": 2, "moment_arm": 3, "status": 2, "_q": 2, "wrench": 3}
        changes: dict[str, Any] = {"_points": None, "_penalty": None}
        for name, dims in arrays.items():
            value = getattr(self, name)
            if value is not None:
                changes[name] = value[at] if value.ndim == dims else value[None]
        return replace(self, **changes)

    def on_bodies(self, tension: ArrayLike) -> FloatArray:
        """(frames, bodies, 6) moment about ground's origin, and force, of tensions (frames, paths) [N m, N]."""
        total = np.zeros((*self.length.shape[:-1], len(self.body_names), 6))
        for body, wrench in self.by_body(tension):
            total[..., body, :] = wrench
        return total

    def by_body(self, tension: ArrayLike) -> Iterator[tuple[int, FloatArray]]:
        """The same one by one: each body that a path touches, and the wrench (frames, 6) on it."""
        T = np.asarray(tension, dtype=float)
        if T.shape != self.length.shape:
            raise InvalidInput(f"tension has shape {T.shape}; it needs {self.length.shape}, a column for each path")
        rows = T[..., self.row_path]
        bodies, first = np.unique(self.row_body, return_index=True)
        # A product of matrices for each body: nothing as large as all wrenches is made in between.
        for body, start, stop in zip(bodies, first, np.append(first, len(self.row_body))[1:], strict=True):
            yield int(body), (rows[..., None, start:stop] @ self.wrench[..., start:stop, :])[..., 0, :]


@dataclass(frozen=True, eq=False)
class WrenchLayout:
    """Paths whose slots are bodies, with six imagined speeds for each, and where their moment arms are found."""

    paths: CompiledPaths
    width: int  # most bodies that a path touches
    row_path: IntArray
    row_body: IntArray
    row_slot: IntArray
    muscles_only: bool = True


def layout_of_wrenches(model: Model) -> WrenchLayout:
    """The paths of a model with speeds for each body that they touch, laid out once."""
    muscles_only = all(f.path is None or isinstance(f, Muscle) for f in model.forces)
    p = compiled_paths(model, muscles_only)
    made = model.derived(("path wrenches", muscles_only), lambda: _layout(model, p))
    return made if muscles_only else replace(made, muscles_only=False)


def _layout(model: Model, p: CompiledPaths) -> WrenchLayout:
    """Give each body of a path speeds of its own: a unit twist about each axis of ground, and one along it.

    A moment arm is the power of unit tension at unit speed, so the moment arms of these are the body's wrench.
    """
    c, given = compiled(model), p.paths
    node_of = np.array(list(c.body_node.values()), dtype=np.int64)
    point_slot, wrap_slot = np.empty_like(given.point_slot), np.empty_like(given.wrap_slot)
    first_slot: list[int] = [0]
    first_speed: list[int] = [0]
    slot_node: list[int] = []
    slot_body: list[int] = []
    speed_row: list[int] = []
    first_moved: list[int] = []
    moved: list[int] = []
    n_inner: list[int] = []
    for k in range(len(p.names)):
        points = slice(given.first_point[k], given.first_point[k + 1])
        wraps = slice(given.first_wrap[k], given.first_wrap[k + 1])
        carriers = np.concatenate([given.point_body[points], given.surface_body[given.wrap_surface[wraps]]])
        bodies, slots = np.unique(carriers, return_inverse=True)
        n = points.stop - points.start
        point_slot[points], wrap_slot[wraps] = slots[:n], slots[n:]
        by_speed = c.moved_by[node_of[bodies]] != 0.0
        some = by_speed.any(axis=0)
        whole = some & by_speed.all(axis=0)  # a path that is a function of coordinates touches no body
        inner, outer = np.flatnonzero(some & ~whole), np.flatnonzero(whole)
        own = np.arange(6 * len(bodies))
        # Those that matter come first, see `Paths`.
        rows = np.concatenate([inner, c.n_u + own, outer])
        flags = np.concatenate([by_speed[:, inner], own // 6 == np.arange(len(bodies))[:, None], by_speed[:, outer]], 1)
        first_moved.append(len(moved))
        moved += [int(flag) for flag in flags.ravel()]
        n_inner.append(len(inner) + len(own))
        speed_row += [int(row) for row in rows]
        first_speed.append(len(speed_row))
        slot_node += [int(node_of[body]) for body in bodies]
        slot_body += [int(body) for body in bodies]
        first_slot.append(len(slot_node))
    paths = given._replace(
        first_slot=np.array(first_slot),
        first_speed=np.array(first_speed),
        first_moved=np.array(first_moved, dtype=np.int64),
        n_inner=np.array(n_inner, dtype=np.int64),
        slot_node=np.array(slot_node, dtype=np.int64),
        speed_row=np.array(speed_row, dtype=np.int64),
        moved=np.array(moved, dtype=np.int64),
        point_slot=point_slot,
        wrap_slot=wrap_slot,
    )
    counts = np.diff(first_slot)
    row_path = np.repeat(np.arange(len(counts)), counts)
    row_slot = np.arange(len(slot_body)) - np.repeat(np.array(first_slot[:-1], dtype=np.int64), counts)
    order = np.argsort(np.array(slot_body, dtype=np.int64), kind="stable")
    bodies = np.array(slot_body, dtype=np.int64)[order]
    width = int(counts.max(initial=0))
    return WrenchLayout(replace(p, paths=paths), width, row_path[order], bodies, row_slot[order])


def path_wrenches(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table | None = None,
    *,
    like: Like | None = None,
    wrapping: Wrapping | None = None,
    threads: int | None = None,
) -> PathWrenches:
    """As `path_geometry`, and the wrench of unit tension on each body that a path touches.

        f = e_next - e_previous at each point,   the same at the ends of a contact: there it presses on the surface

    Guarantees: by default the wrenches of a path add up to zero, and their power at any speed of the
                tree is its moment arm (for a moving point, without what moves it along its body). With
                like="opensim" they are what OpenSim applies: contacts that stand elsewhere than where they pull
                leave a moment over.

    Args: as `path_geometry`.
    """
    wrapping = wrapping_of(like, wrapping)
    c = compiled(model)
    layout = layout_of_wrenches(model)
    p = compiled_paths(model, layout.muscles_only)
    if wrapping == "geodesic":
        refuse_mixed_rates(p)
    Q, single = coordinates_of(model, q)
    c.check_coordinates(Q)
    U = None if u is None else speeds_of(model, u)[0]
    if U is not None:
        same_frames(q=Q, u=U)
    frames, n_u = len(Q), c.n_u
    arms = np.empty((frames, len(p.names), n_u))
    wrench = np.empty((frames, len(layout.row_path), 6))
    extra = np.tile(np.eye(6), (layout.width, 1))
    # Where each row's six numbers stand among the moment arms of a frame.
    places = (layout.row_path * (n_u + len(extra)) + n_u + 6 * layout.row_slot)[:, None] + np.arange(6)
    places = places.ravel()
    parts = []
    for start in range(0, max(frames, 1), _CHUNK):
        now = slice(start, min(start + _CHUNK, frames))
        speeds = None if U is None else U[now]
        run = run_paths(
            c,
            layout.paths,
            Q[now],
            speeds,
            wrapping,
            threads,
            extra=extra,
            keep_points=frames <= KEPT_POINTS,
        )
        r = run.arms
        arms[now] = r[:, :, :n_u]
        np.take(r.reshape(len(r), -1), places, axis=1, out=wrench[now].reshape(len(r), -1))
        parts.append(run._replace(arms=_NO_ARMS))
    length = np.concatenate([part.length for part in parts])
    refuse_endless(model, p.names, Q, length, wrapping == "opensim")
    speed = None if U is None else np.concatenate([part.speed for part in parts if part.speed is not None])
    points = _joined([part.points for part in parts if part.points is not None])
    penalty = np.concatenate([part.penalty for part in parts]) if points is None else None
    status = np.concatenate([part.status for part in parts])
    if single:
        length, arms, status, Q, wrench = length[0], arms[0], status[0], Q[0], wrench[0]
        speed = None if speed is None else speed[0]
    return PathWrenches(
        model,
        wrapping,
        p.names,
        model.speed_names,
        length,
        speed,
        arms,
        status,
        Q,
        p,
        points,
        tuple(c.body_node),
        layout.row_path,
        layout.row_body,
        wrench,
        _penalty=penalty,
    )


def _joined(parts: list[PathPoints]) -> PathPoints | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    count, position, wrap, penalty = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("count", "position", "wrap", "penalty")
    )
    return replace(parts[0], count=count, position=position, wrap=wrap, penalty=penalty)
