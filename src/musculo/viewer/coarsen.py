"""Fewer triangles for a mesh that is finer than a page needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from musculo.io.meshes import TriangleMesh


def coarsened(mesh: TriangleMesh, most: int) -> TriangleMesh:
    """A mesh of about `most` triangles at most: points of one cell of a grid become their mean.

    Source: Rossignac and Borrel 1993 (vertex clustering); the grid is found by halving.
    """
    if len(mesh.triangles) <= most:
        return mesh
    extent = float(np.ptp(mesh.points, axis=0).max())
    coarse, fine, best = extent / 2.0, 0.0, mesh
    for _ in range(12):
        cell = 0.5 * (coarse + fine) if fine else 0.5 * coarse
        candidate = _clustered(mesh, cell)
        if len(candidate.triangles) > most:
            fine = cell
        else:
            coarse, best = cell, candidate
    return best


def _clustered(mesh: TriangleMesh, cell: float) -> TriangleMesh:
    low = mesh.points.min(axis=0)
    cells = np.floor((mesh.points - low) / cell).astype(np.int64)
    _, index, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    index = np.ravel(index)
    points = np.stack([np.bincount(index, mesh.points[:, k]) for k in range(3)], axis=1) / counts[:, None]
    triangles: NDArray = index[mesh.triangles]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    return TriangleMesh(points, triangles.astype(np.int32))
