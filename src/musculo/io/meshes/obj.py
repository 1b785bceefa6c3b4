"""Wavefront OBJ: points `v` and polygons `f`; materials, normals and textures are ignored."""

from __future__ import annotations

import numpy as np

from musculo.errors import InvalidFile
from musculo.io.meshes.triangle_mesh import MOST_POINTS, TriangleMesh, fans, mesh_of


def parse_obj(content: bytes, where: str) -> TriangleMesh:
    """The polygons of an .obj file as triangles. Indices count from 1, or from the end where negative."""
    points: list[list[float]] = []
    corners: list[int] = []
    ends: list[int] = []
    # A backslash at the end of a line goes on with the next one.
    lines = content.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").splitlines()
    for row, line in enumerate(lines, start=1):
        words = line.split()
        if not words:
            continue
        try:
            if words[0] == b"v":
                points.append([float(word) for word in words[1:4]])
                if len(points[-1]) != 3:
                    raise ValueError("a point needs three numbers")
            elif words[0] == b"f":
                for word in words[1:]:
                    index = int(word.split(b"/", 1)[0])
                    if not -len(points) <= index <= MOST_POINTS or index == 0:
                        raise ValueError(f"there is no point {index} yet")
                    corners.append(index - 1 if index > 0 else len(points) + index)
                ends.append(len(corners))
        except ValueError as error:
            raise InvalidFile(f"{where}:{row}: {error!s:.120}; check the mesh, or export it again") from None
    if len(points) > MOST_POINTS:
        raise InvalidFile(f"{where}: {len(points)} points; at most {MOST_POINTS} are read")
    triangles = fans(np.array(corners, dtype=np.int64), np.array(ends, dtype=np.int64), where)
    return mesh_of(np.array(points, dtype=float).reshape(-1, 3), triangles, where)
