"""A surface of triangles, and how polygons of a file become triangles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from musculo.errors import InvalidFile

# A bone has some thousand triangles; what asks for more than this is damaged, or no bone.
MOST_POINTS = 4_000_000
MOST_TRIANGLES = 8_000_000


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """Points (n, 3) in the units of the file (OpenSim's geometry: meters) and triangles (m, 3) of their indices."""

    points: NDArray[np.float64]
    triangles: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"TriangleMesh({len(self.points)} points, {len(self.triangles)} triangles)"


def mesh_of(points: NDArray, triangles: NDArray, where: str) -> TriangleMesh:
    """A mesh of checked numbers: finite points, indices that exist.

    Raises:
        InvalidFile: naming the file and what is wrong.
    """
    if not len(points) or not len(triangles):
        raise InvalidFile(f"{where}: holds {len(points)} points and {len(triangles)} faces; a surface needs both")
    with np.errstate(over="ignore"):
        drawable = np.asarray(points, dtype=np.float32)
    if not np.isfinite(drawable).all():
        raise InvalidFile(f"{where}: a point is not finite; write the mesh again from the program that made it")
    low, high = int(triangles.min()), int(triangles.max())
    if low < 0 or high >= len(points):
        raise InvalidFile(f"{where}: a face names point {high if low >= 0 else low}; there are {len(points)}")
    # with all digits of the file: contact forces hang on them
    return TriangleMesh(np.asarray(points, dtype=float), np.ascontiguousarray(triangles, dtype=np.int32))


def fans(connectivity: NDArray[np.int64], ends: NDArray[np.int64], where: str) -> NDArray[np.int64]:
    """Triangles (m, 3) of convex polygons: the corners of polygon k are connectivity[ends[k - 1] : ends[k]].

    A polygon of n corners gives n - 2 triangles that share its first corner.
    """
    first, within = _windows(connectivity, ends, where)
    return np.stack([connectivity[first], connectivity[first + within + 1], connectivity[first + within + 2]], axis=1)


def strips(connectivity: NDArray[np.int64], ends: NDArray[np.int64], where: str) -> NDArray[np.int64]:
    """Triangles (m, 3) of strips: corners k, k + 1, k + 2, every other one turned so that all face one way."""
    first, within = _windows(connectivity, ends, where)
    odd = within % 2
    at = first + within
    return np.stack([connectivity[at], connectivity[at + 1 + odd], connectivity[at + 2 - odd]], axis=1)


def _windows(
    connectivity: NDArray[np.int64], ends: NDArray[np.int64], where: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each triangle, where its polygon begins and the how-manieth it is there: a polygon of n corners has n - 2."""
    starts = np.concatenate([[0], ends])[:-1].astype(np.int64)
    within_corners = not len(ends) or (ends.min() >= 0 and ends.max() <= len(connectivity))
    sizes = ends - starts if within_corners else ends
    if not within_corners or (len(ends) and sizes.min() < 0):
        raise InvalidFile(f"{where}: the ends of its polygons do not rise, or pass the {len(connectivity)} corners")
    counts = np.maximum(sizes - 2, 0)
    total = int(counts.sum())
    if total > MOST_TRIANGLES:
        raise InvalidFile(f"{where}: {total} triangles; at most {MOST_TRIANGLES} are read")
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(starts, counts), within


def merged(corners: NDArray[np.float32], where: str) -> TriangleMesh:
    """The mesh of loose triangles (m, 3, 3): equal corners become one point, so that shading is smooth."""
    flat = np.ascontiguousarray(corners, dtype=np.float32).reshape(-1, 3)
    flat = np.where(flat == 0.0, np.float32(0.0), flat)  # -0 becomes 0
    points, index = np.unique(flat, axis=0, return_inverse=True)
    return mesh_of(points, index.reshape(-1, 3), where)
