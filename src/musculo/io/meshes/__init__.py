"""Surfaces of bones from .vtp, .obj and .stl files."""

from __future__ import annotations

from musculo.io.meshes.mesh_reader import MESH_ENDINGS, read_mesh
from musculo.io.meshes.triangle_mesh import TriangleMesh

__all__ = ["MESH_ENDINGS", "TriangleMesh", "read_mesh"]
