"""Small meshes in every encoding of .vtp, .obj and .stl, written from the formats' descriptions."""

from __future__ import annotations

import base64
import lzma
import struct
import zlib

import numpy as np

# A box of 2 x 1 x 1 with corners numbered by their bits; quads seen from outside turn to the left.
POINTS = np.array([[2.0 * (k & 1), 1.0 * (k >> 1 & 1), 1.0 * (k >> 2)] for k in range(8)])
QUADS = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
VOLUME = 2.0
TRIANGLES = [corners for a, b, c, d in QUADS for corners in ((a, b, c), (a, c, d))]
# Each quad a, b, c, d as a strip of two triangles.
STRIPS = [(a, b, d, c) for a, b, c, d in QUADS]

COMPRESSORS = {"": None, "vtkZLibDataCompressor": zlib.compress, "vtkLZMADataCompressor": lzma.compress}


def volume(points: np.ndarray, triangles: np.ndarray) -> float:
    """By the divergence theorem; positive where triangles seen from outside turn to the left."""
    a, b, c = (np.asarray(points, dtype=float)[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


class _Writer:
    def __init__(self, form: str, compressor: str, order: str, header: str, base: bool) -> None:
        self.form, self.order, self.base = form, "<" if order == "LittleEndian" else ">", base
        self.head = self.order + ("Q" if header == "UInt64" else "I")
        self.compress = COMPRESSORS[compressor]
        self.appended = b""

    def array(self, values: np.ndarray, kind: str, name: str, components: int) -> str:
        attributes = f'type="{kind}" Name="{name}" NumberOfComponents="{components}" format="{self.form}"'
        if self.form == "ascii":
            return f"<DataArray {attributes}>{' '.join(str(x) for x in values.ravel())}</DataArray>"
        code = {"Float32": "f4", "Float64": "f8", "Int32": "i4", "Int64": "i8"}[kind]
        data = values.astype(self.order + code).tobytes()
        if self.form == "binary":
            return f"<DataArray {attributes}>{self.block(data, True).decode()}</DataArray>"
        offset = len(self.appended)
        self.appended += self.block(data, self.base)
        return f'<DataArray {attributes} offset="{offset}"/>'

    def block(self, data: bytes, base: bool) -> bytes:
        """A length and the data, or the sizes of blocks of 64 bytes and the blocks, the header coded by itself."""
        code = base64.b64encode if base else bytes
        if self.compress is None:
            return code(struct.pack(self.head, len(data)) + data)
        size = 64
        blocks = [self.compress(data[k : k + size]) for k in range(0, len(data), size)]
        rest = len(data) % size
        head = [len(blocks), size, rest, *map(len, blocks)]
        return code(b"".join(struct.pack(self.head, x) for x in head)) + code(b"".join(blocks))


def vtp(
    form: str = "ascii",
    compressor: str = "",
    order: str = "LittleEndian",
    header: str = "UInt32",
    base: bool = True,
    strips: bool = False,
    kinds: tuple[str, str] = ("Float32", "Int64"),
) -> bytes:
    """The box as a .vtp file; `base` says whether appended data is in base64 or raw."""
    w = _Writer(form, compressor, order, header, base)
    cells = STRIPS if strips else QUADS
    tag = "Strips" if strips else "Polys"
    xyz = w.array(POINTS, kinds[0], "Points", 3)
    connectivity = w.array(np.array(cells), kinds[1], "connectivity", 1)
    offsets = w.array(np.arange(4, 4 * len(cells) + 1, 4), kinds[1], "offsets", 1)
    counts = f'NumberOfPoints="8" NumberOfVerts="0" NumberOfLines="0" NumberOf{tag}="{len(cells)}"'
    squeezed = f' compressor="{compressor}"' if compressor else ""
    text = (
        f'<?xml version="1.0"?>\n<VTKFile type="PolyData" version="1.0" byte_order="{order}" header_type="{header}"'
        f"{squeezed}><PolyData><Piece {counts}><PointData/><Points>{xyz}</Points>"
        f"<{tag}>{connectivity}{offsets}</{tag}></Piece></PolyData>"
    ).encode()
    if form == "appended":
        coding = b"base64" if base else b"raw"
        text += b'<AppendedData encoding="' + coding + b'">\n_' + w.appended + b"\n</AppendedData>"
    return text + b"</VTKFile>\n"


def obj(relative: bool = False) -> bytes:
    """The box as an .obj file, with what else such files hold."""
    lines = ["# a box", "mtllib none.mtl", "o box", *(f"v {x} {y} {z} 1.0" for x, y, z in POINTS), "vn 0 0 1", "s off"]
    for quad in QUADS:
        corners = [k - 8 if relative else k + 1 for k in quad]
        lines.append("f " + " ".join(f"{k}//1" for k in corners))
    return ("\n".join(lines) + "\n").encode()


def stl_text() -> bytes:
    facets = []
    for triangle in TRIANGLES:
        corners = "".join(f"vertex {x:e} {y:e} {z:e}\n" for x, y, z in POINTS[list(triangle)])
        facets.append(f"facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet\n")
    return f"solid box\n{''.join(facets)}endsolid box\n".encode()


def stl_binary(title: bytes = b"solid box that is binary") -> bytes:
    records = b"".join(
        struct.pack("<12fH", 0.0, 0.0, 0.0, *POINTS[list(triangle)].ravel(), 0) for triangle in TRIANGLES
    )
    return title.ljust(80, b"\0") + struct.pack("<I", len(TRIANGLES)) + records
