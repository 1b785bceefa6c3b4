"""VTK's XML PolyData (.vtp): text, base64 or raw bytes, inline or appended, compressed or not.

Source: the file formats chapter of the VTK User's Guide, and the behavior of VTK 9 where that is silent.
"""

from __future__ import annotations

import base64
import binascii
import lzma
import re
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from musculo.errors import InvalidFile, Unsupported
from musculo.io.meshes.triangle_mesh import MOST_POINTS, MOST_TRIANGLES, TriangleMesh, fans, mesh_of, strips

_TYPES = {
    "Float32": "f4", "Float64": "f8", "Int8": "i1", "UInt8": "u1", "Int16": "i2", "UInt16": "u2",
    "Int32": "i4", "UInt32": "u4", "Int64": "i8", "UInt64": "u8",
}  # fmt: skip
_RAW = re.compile(rb"<AppendedData[^>]*encoding\s*=\s*[\"']raw[\"'][^>]*>\s*_")
_BASE64_END = re.compile(rb"(=+)")


def parse_vtp(content: bytes, where: str) -> TriangleMesh:
    """Polygons and strips of a .vtp file as triangles; lines and single points are ignored."""
    content, raw = _without_raw(content)
    root = _root(content, where)
    if root.get("type", "PolyData") != "PolyData":
        raise Unsupported(f"{where}: holds {root.get('type')!r:.40}; only PolyData (.vtp) is a surface")
    arrays = _Arrays(root, raw, where)
    points, triangles, offset = [], [], 0
    for piece in root.iterfind("PolyData/Piece"):
        xyz = arrays.read(piece.find("Points/DataArray"), 3 * _count(piece, "NumberOfPoints", MOST_POINTS, where))
        with np.errstate(invalid="ignore"):  # what is not a number stays so, and is refused with the whole mesh
            points.append(xyz.reshape(-1, 3).astype(float))
        for tag, number, split in (("Polys", "NumberOfPolys", fans), ("Strips", "NumberOfStrips", strips)):
            cells = _count(piece, number, MOST_TRIANGLES, where)
            if cells:
                triangles.append(offset + _faces(piece.find(tag), cells, arrays, split, where))
        offset += len(points[-1])
    if not points or not triangles:
        raise InvalidFile(f"{where}: holds no polygons; a surface needs points and polygons or strips")
    return mesh_of(np.concatenate(points), np.concatenate(triangles), where)


def _faces(holder: Any, cells: int, arrays: _Arrays, split: Callable[..., NDArray], where: str) -> NDArray:
    named = {} if holder is None else {array.get("Name"): array for array in holder.iterfind("DataArray")}
    ends = _whole(arrays.read(named.get("offsets"), cells), where)
    corners = int(ends[-1])
    if not 0 <= corners <= 3 * MOST_TRIANGLES:
        raise InvalidFile(f"{where}: its polygons have {corners} corners; the offsets are damaged")
    connectivity = _whole(arrays.read(named.get("connectivity"), corners), where)
    return split(connectivity, ends, where)


def _whole(values: NDArray, where: str) -> NDArray:
    """Numbers of points, also where the file has them as floating-point numbers."""
    if values.dtype.kind == "f" and not (np.abs(values) <= 2**53).all():
        raise InvalidFile(f"{where}: the number of a point is not a whole number; the polygons are damaged")
    return values.astype(np.int64)


def _count(piece: Any, name: str, most: int, where: str) -> int:
    try:
        count = int(piece.get(name, "0"))
    except ValueError:
        count = -1
    if not 0 <= count <= most:
        raise InvalidFile(f"{where}:{piece.sourceline}: {name} is {piece.get(name)!r:.40}; give 0 to {most}")
    return count


def _without_raw(content: bytes) -> tuple[bytes, bytes]:
    """The document without its raw bytes, which are no XML, and those bytes."""
    found = _RAW.search(content)
    if found is None:
        return content, b""
    end = content.rfind(b"</AppendedData>")
    end = len(content) if end < found.end() else end
    return content[: found.end()] + content[end:], content[found.end() : end]


def _root(content: bytes, where: str) -> Any:
    # huge_tree: one text node of a large mesh may pass libxml2's limit; the file's size is limited before.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    try:
        root = etree.fromstring(content.lstrip(), parser)
    except etree.XMLSyntaxError as error:
        raise InvalidFile(f"{where}:{error.lineno or 1}: not well-formed XML ({error.msg!s:.120})") from None
    except ValueError as error:
        raise InvalidFile(f"{where}: not readable as XML ({error!s:.120})") from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise InvalidFile(f"{where}:1: the document has a DOCTYPE, which VTK's files do not; remove that block")
    if root.tag != "VTKFile":
        raise InvalidFile(f"{where}: begins with <{root.tag!s:.40}>; a .vtp file begins with <VTKFile>")
    return root


class _Appended(NamedTuple):
    data: bytes
    raw: bool


class _Arrays:
    """Reads the data arrays of one document."""

    def __init__(self, root: Any, raw: bytes, where: str) -> None:
        self.where = where
        self.order = ">" if root.get("byte_order") == "BigEndian" else "<"
        self.header = np.dtype(self.order + ("u8" if root.get("header_type") == "UInt64" else "u4"))
        self.compressor = root.get("compressor", "")
        holder = root.find("AppendedData")
        text = "" if holder is None else (holder.text or "").strip().removeprefix("_")
        self.appended = _Appended(raw, True) if raw else _Appended(_packed(text), False)

    def read(self, array: Any, count: int) -> NDArray:
        """`count` numbers of an array."""
        if array is None:
            raise InvalidFile(f"{self.where}: an array that its piece announces is missing; the file is incomplete")
        kind = array.get("type", "")
        if kind not in _TYPES:
            raise InvalidFile(f"{self._at(array)}: numbers of type {kind!r:.40}; known: {', '.join(_TYPES)}")
        form = array.get("format", "ascii")
        if form == "ascii":
            return self._ascii(array, count)
        dtype = np.dtype(self.order + _TYPES[kind])
        wanted = count * dtype.itemsize
        if form == "appended":
            data = self._appended(array, wanted)
        elif form == "binary":
            data = self._block(_decoded(_packed(_text(array)), self._at(array)), wanted, array)
        else:
            raise InvalidFile(f"{self._at(array)}: its format is {form!r:.40}; known: ascii, binary, appended")
        if len(data) < wanted:
            raise InvalidFile(f"{self._at(array)}: {len(data)} bytes where {wanted} are announced; it is cut short")
        return np.frombuffer(data, dtype=dtype, count=count)

    def _at(self, array: Any) -> str:
        return f"{self.where}:{array.sourceline}: array {array.get('Name', '')!r:.60}"

    def _ascii(self, array: Any, count: int) -> NDArray:
        words = _text(array).split()
        if len(words) < count:
            raise InvalidFile(f"{self._at(array)}: {len(words)} numbers where {count} are announced; it is cut short")
        try:
            return np.array(words[:count], dtype=float)
        except ValueError as error:
            raise InvalidFile(f"{self._at(array)}: not a number ({error!s:.80})") from None

    def _appended(self, array: Any, wanted: int) -> bytes:
        try:
            offset = int(array.get("offset", ""))
        except ValueError:
            offset = -1
        if not 0 <= offset <= len(self.appended.data):
            raise InvalidFile(f"{self._at(array)}: its offset {array.get('offset')!r:.40} is outside the appended data")
        rest = self.appended.data[offset:]
        if not self.appended.raw:
            rest = _decoded(rest, self._at(array), self._span(wanted))
        return self._block(rest, wanted, array)

    def _span(self, wanted: int) -> int:
        """Characters of base64 that an array of so many bytes takes at most: what follows belongs to others."""
        return 4 * (wanted + wanted // 512 + 4096) // 3 + 64

    def _block(self, data: bytes, wanted: int, array: Any) -> bytes:
        """The bytes behind their header: a length, or the sizes of compressed blocks."""
        size = self.header.itemsize
        if not self.compressor:
            length = int.from_bytes(data[:size], "big" if self.order == ">" else "little")
            return data[size : size + min(length, wanted)]
        head = np.frombuffer(data, dtype=self.header, count=min(3, len(data) // size))
        blocks = int(head[0]) if len(head) == 3 else -1
        if not 0 <= blocks <= len(data) // size - 3:
            raise InvalidFile(f"{self._at(array)}: its header of compressed blocks is damaged")
        sizes = np.frombuffer(data, dtype=self.header, count=blocks, offset=3 * size)
        at, parts, have = (3 + blocks) * size, [], 0
        for length in sizes:
            part = self._expanded(data[at : at + int(length)], wanted - have, array)
            parts.append(part)
            have += len(part)
            at += int(length)
        return b"".join(parts)

    def _expanded(self, block: bytes, most: int, array: Any) -> bytes:
        if most <= 0:
            return b""
        try:
            if self.compressor == "vtkZLibDataCompressor":
                return zlib.decompressobj().decompress(block, most)
            if self.compressor == "vtkLZMADataCompressor":
                return lzma.LZMADecompressor(memlimit=1 << 28).decompress(block, most)
        except (zlib.error, lzma.LZMAError, EOFError) as error:
            raise InvalidFile(f"{self._at(array)}: a compressed block is damaged ({error!s:.80})") from None
        raise Unsupported(f"{self.where}: compressed by {self.compressor!r:.40}; write it again with zlib or as text")


def _text(array: Any) -> str:
    """What stands in an element itself, around its children: VTK 9 puts information keys inside arrays."""
    return (array.text or "") + "".join(child.tail or "" for child in array)


def _packed(text: str) -> bytes:
    return "".join(text.split()).encode("ascii", "replace")


def _decoded(text: bytes, where: str, most: int | None = None) -> bytes:
    """Base64 of one or more padded pieces: VTK pads the header of compressed data by itself."""
    text = text if most is None else text[:most]
    parts = _BASE64_END.split(text)
    out = []
    try:
        for k in range(0, len(parts), 2):
            piece = parts[k] + (parts[k + 1] if k + 1 < len(parts) else b"")
            last = k + 2 >= len(parts)
            out.append(base64.b64decode(piece[: len(piece) // 4 * 4] if last else piece))
    except (binascii.Error, ValueError) as error:
        raise InvalidFile(f"{where}: not base64 ({error!s:.80})") from None
    return b"".join(out)
