"""What inverse kinematics moves, and where it begins."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.embedding.couplers.embedding_tables import EmbeddingTables
from musculo.errors import InvalidInput
from musculo.kernels.fit.bounded_step import Unknowns
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.results.angle_columns import angle_columns

Ranges = Literal["clamped", "all", "none"]

# Other poses from which the first frame is tried, and how far they are from the first one [rad, m].
_OTHER_STARTS, _SPREAD = 24, 0.5
# A range narrower than this [rad, m] says where a coordinate is.
_NARROW = 2.0 * np.pi


def unknowns_of(model: Model, c: CompiledModel, e: EmbeddingTables, ranges: Ranges) -> Unknowns:
    """The independent speeds with the bounds of their coordinates."""
    if ranges not in ("clamped", "all", "none"):
        raise InvalidInput(f"respect_ranges={ranges!r}; known: clamped, all, none")
    rows = {name: k for k, name in enumerate(model.coordinate_names)}
    free = e.free_speeds
    coordinate = np.array([rows.get(model.speed_names[k], -1) for k in free], dtype=np.int64)
    lower, upper = np.full(len(free), -np.inf), np.full(len(free), np.inf)
    usual = np.zeros((len(free), 2))
    for k, row in enumerate(coordinate):
        one = model.coordinates[row] if row >= 0 else None
        if one is not None:
            usual[k] = min(one.range), max(one.range)
        if one is not None and (ranges == "all" or (ranges == "clamped" and one.clamped)):
            lower[k], upper[k] = min(one.range), max(one.range)
    tree, quaternions = c.tree, []
    for i in np.flatnonzero(tree.quaternion):
        q = tree.q_rows[tree.q_first[i] : tree.q_first[i] + 4]
        u = tree.u_rows[tree.u_first[i] : tree.u_first[i] + 3]
        quaternions.append([*q, *(free.index(int(k)) for k in u)])
    return Unknowns(
        np.array(free, dtype=np.int64),
        coordinate,
        lower,
        upper,
        usual,
        np.array(quaternions, dtype=np.int64).reshape(-1, 7),
    )


def starts_of(model: Model, e: EmbeddingTables, unknowns: Unknowns, start: ArrayLike | None) -> FloatArray:
    """(starts, n) poses to begin with: the given one if any, the default one, then others about that, always the same.

    Bounded coordinates are drawn from the middle half of their range, so that a search does not begin at an edge where
    a wrong minimum may hold it. Angles between ground and the bodies on it are spread over full turns, as nothing says
    which way a subject faces; but the first few stay near, as most face along the x axis.
    """
    first = e.embedding.default_pose()
    rng = np.random.default_rng(0)
    starts = np.repeat(first[None], 1 + _OTHER_STARTS, axis=0)
    angles = set(angle_columns(model.coordinate_names, model))
    on_ground = {c.name for j in model.joints if GROUND in (j.parent.body, j.child.body) for c in j.coordinates}
    turned = np.where(np.arange(_OTHER_STARTS) < _OTHER_STARTS // 4, _SPREAD, np.pi)
    for k, row in enumerate(unknowns.coordinate):
        if row < 0:
            continue
        low, high = unknowns.lower[k], unknowns.upper[k]
        draw = rng.uniform(-1.0, 1.0, _OTHER_STARTS)
        if model.coordinate_names[row] in on_ground:
            moved = first[row] + draw * (turned if row in angles else _SPREAD)
        elif high - low < _NARROW:
            moved = 0.5 * (low + high) + 0.25 * (high - low) * draw
        else:
            moved = first[row] + _SPREAD * draw
        starts[1:, row] = np.clip(moved, low, high)
    for rows in unknowns.quaternion:
        starts[1:, rows[:4]] += rng.normal(size=(_OTHER_STARTS, 4)) * turned[:, None]
    if start is None:
        return starts
    given = coordinates_of(model, start, "start")[0]
    if len(given) != 1:
        raise InvalidInput(f"start has {len(given)} frames; give the coordinates of the first one alone")
    compiled(model).check_coordinates(given)
    return np.concatenate([given, starts])
