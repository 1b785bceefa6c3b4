"""Loops over frames for segments whose obstacles and ends are given, for tests and benchmarks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.compiler.parts import driver
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    CONTACT,
    FIRST,
    FIRST_TANGENT,
    GRADIENT,
    LAST,
    LAST_TANGENT,
    LENGTH,
    OBSTACLE_ROWS,
    OBSTACLE_TAGS,
    POSE,
    PRESS,
    SHRINK,
    SHRINKER,
    Segment,
    geodesic_rows,
)
from musculo.kernels.wrapping.geodesic.taut_path import geodesic_segment
from musculo.kernels.wrapping.geodesic.tighten import CONVERGED, INSIDE

__all__ = [
    "CONTACT",
    "CONVERGED",
    "FIRST",
    "FIRST_TANGENT",
    "GRADIENT",
    "INSIDE",
    "LAST",
    "LAST_TANGENT",
    "LENGTH",
    "OBSTACLE_ROWS",
    "PRESS",
    "SHRINK",
    "SHRINKER",
    "Surfaces",
    "segment_frames",
    "segment_rows",
    "solve_segments",
]


class Surfaces(NamedTuple):
    """Wrap surfaces as `Paths` has them, (m, ...): each in its own frame, axis of cylinder and torus along z [m].

    Sizes: cylinder (radius, unused, unused), sphere (radius, unused, unused), ellipsoid (semi-axes x, y, z), torus
    (tube radius, ring radius, unused). They are positive; a torus has its tube thinner than its ring.
    """

    surface_kind: NDArray[np.int64]  # (m,)
    surface_size: NDArray[np.float64]  # (m, 3)


@driver
def segment_frames(surfaces, starts, ends, G, length, status):
    """`geodesic_segment` for every frame over all surfaces in their order.

    starts, ends (frames, 3); G (frames, OBSTACLE_ROWS n, 1) in and out, as the kernel has them; length, status
    (frames,) out.
    """
    n = surfaces.surface_kind.size
    C, I = np.empty((geodesic_rows(n), 1)), np.zeros((OBSTACLE_TAGS * n, 1), dtype=np.int64)
    for k in range(n):
        I[k, 0] = k
    for i in range(starts.shape[0]):
        for r in range(OBSTACLE_ROWS * n):
            C[r, 0] = G[i, r, 0]
        P, Q = (starts[i, 0], starts[i, 1], starts[i, 2]), (ends[i, 0], ends[i, 1], ends[i, 2])
        length[i], status[i] = geodesic_segment(surfaces, Segment(C, I, 0, 0, n), n, P, Q, 0)
        for r in range(OBSTACLE_ROWS * n):
            G[i, r, 0] = C[r, 0]


def segment_rows(R, p):
    """The obstacles' rows (frames, n, OBSTACLE_ROWS) on entry: no cylinder's side is constrained, rings are passed
    through their holes (SIDE is zero)."""
    frames, n = p.shape[:2]
    rows = np.zeros((frames, n, OBSTACLE_ROWS))
    rows[:, :, POSE : POSE + 12] = np.concatenate([R.reshape(frames, n, 9), p], axis=2)
    return rows


def solve_segments(surfaces, starts, ends, R, p):
    """All frames at once.

    surfaces: `Surfaces` in the path's order; starts, ends (frames, 3); R (frames, n, 3, 3), p (frames, n, 3).
    Returns length (frames,), status (frames,), and rows of the obstacles (frames, n, OBSTACLE_ROWS), of which those of
    the contacts mean nothing where CONTACT is 0.
    """
    frames, n = p.shape[:2]
    length, status = np.empty(frames), np.empty(frames, dtype=np.int64)
    rows = segment_rows(R, p).reshape(frames, n * OBSTACLE_ROWS, 1)
    ends, starts = np.ascontiguousarray(ends, dtype=float), np.ascontiguousarray(starts, dtype=float)
    segment_frames(surfaces, starts, ends, rows, length, status)
    return length, status, rows.reshape(frames, n, OBSTACLE_ROWS)
