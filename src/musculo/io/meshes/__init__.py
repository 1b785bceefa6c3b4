"""Surfaces of bones from .vtp, .obj and .stl files."""

from __future__ import annotations

from musculo.io.meshes.mesh import TriangleMesh
from musculo.io.meshes.mesh_reader import MESH_ENDINGS, read_mesh

__all__ = ["MESH_ENDINGS", "TriangleMesh", "read_mesh"]
