"""Which reader a mesh file needs."""

from __future__ import annotations

from pathlib import Path

from musculo.errors import InvalidFile, Unsupported
from musculo.io.meshes.obj import parse_obj
from musculo.io.meshes.stl import parse_stl
from musculo.io.meshes.triangle_mesh import TriangleMesh
from musculo.io.meshes.vtp import parse_vtp
from musculo.io.text import PathLike, checked_path, read_bytes

_PARSERS = {".vtp": parse_vtp, ".obj": parse_obj, ".stl": parse_stl}
MESH_ENDINGS = tuple(_PARSERS)
# [bytes] A bone takes about one megabyte.
_LARGEST = 512 << 20


def read_mesh(path: PathLike) -> TriangleMesh:
    """Read a surface: VTK's .vtp (ASCII, binary, appended, compressed), .obj, or .stl (ASCII, binary).

    Raises:
        InvalidFile: it cannot be read; the message says where and why.
        Unsupported: it is of another kind, or compressed by a method that Python does not bring along.
    """
    where = checked_path(path, "a mesh (.vtp, .obj, .stl)")
    ending = Path(where).suffix.lower()
    if ending not in _PARSERS:
        raise Unsupported(f"{where}: {ending or 'no ending'} is not a known kind of mesh; known: {', '.join(_PARSERS)}")
    try:
        size = Path(where).stat().st_size
    except OSError:
        size = 0  # read_bytes says what is wrong
    if size > _LARGEST:
        raise InvalidFile(f"{where}: {size >> 20} MB; meshes of at most {_LARGEST >> 20} MB are read")
    return _PARSERS[ending](read_bytes(where, f"a mesh ({ending})"), where)
