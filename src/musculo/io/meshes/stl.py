"""STL: loose triangles, as text or as records of 50 bytes."""

from __future__ import annotations

import re

import numpy as np

from musculo.errors import InvalidFile
from musculo.io.meshes.triangle_mesh import MOST_TRIANGLES, TriangleMesh, merged

_HEADER = 84  # [bytes] 80 of free text, then the count
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)


def parse_stl(content: bytes, where: str) -> TriangleMesh:
    """The triangles of an .stl file.

    Binary files may begin with `solid`, as text does; the count of records against the size decides.
    """
    count = int.from_bytes(content[80:_HEADER], "little") if len(content) >= _HEADER else -1
    if count >= 0 and len(content) >= _HEADER + count * _RECORD.itemsize and not _is_text(content):
        if count > MOST_TRIANGLES:
            raise InvalidFile(f"{where}: {count} triangles; at most {MOST_TRIANGLES} are read")
        records = np.frombuffer(content, dtype=_RECORD, count=count, offset=_HEADER)
        return merged(records["corners"], where)
    if not content[:512].lstrip().lower().startswith(b"solid") or b"\0" in content[:1024]:
        raise InvalidFile(f"{where}: neither text that begins with 'solid' nor {count} records of {_RECORD.itemsize} "
                          f"bytes after {_HEADER}; the file is cut short or is not an STL file")  # fmt: skip
    corners = _VERTEX.findall(content)
    if len(corners) % 3:
        raise InvalidFile(f"{where}: {len(corners)} vertices; triangles have three each, so the file is cut short")
    try:
        numbers = np.array(corners, dtype="S40").astype(float) if corners else np.zeros((0, 3))
    except ValueError as error:
        raise InvalidFile(f"{where}: a vertex is not three numbers ({error})") from None
    with np.errstate(over="ignore"):
        return merged(numbers.astype(np.float32).reshape(-1, 3, 3), where)


def _is_text(content: bytes) -> bool:
    start = content[:1024].lstrip().lower()
    return start.startswith(b"solid") and b"facet" in start and b"\0" not in content[:1024]
