"""Readers of bone meshes: every encoding gives the same box, and what is damaged is named."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

from musculo import MusculoError
from musculo.errors import InvalidFile, Unsupported
from musculo.io.meshes import TriangleMesh, read_mesh
from musculo.viewer.coarsen import coarsened
from support import mesh_files
from support.mesh_files import COMPRESSORS, POINTS, VOLUME, volume


def is_the_box(mesh: TriangleMesh) -> None:
    """Eight corners, twelve triangles, all seen from outside."""
    assert len(mesh.points) == 8
    assert len(mesh.triangles) == 12
    np.testing.assert_array_equal(np.unique(mesh.points, axis=0), np.unique(POINTS, axis=0))
    assert volume(mesh.points, mesh.triangles) == pytest.approx(VOLUME)


def read(tmp_path, content: bytes, ending: str) -> TriangleMesh:
    file = tmp_path / f"box{ending}"
    file.write_bytes(content)
    return read_mesh(file)


ENCODINGS = [
    ("ascii", "", "LittleEndian", "UInt32", True),
    *itertools.product(("binary",), COMPRESSORS, ("LittleEndian", "BigEndian"), ("UInt32", "UInt64"), (True,)),
    *itertools.product(("appended",), COMPRESSORS, ("LittleEndian", "BigEndian"), ("UInt32", "UInt64"), (True, False)),
]


@pytest.mark.parametrize(("form", "compressor", "order", "header", "base"), ENCODINGS)
def test_vtp_in_every_encoding(tmp_path, form, compressor, order, header, base):
    for strips, kinds in ((False, ("Float32", "Int64")), (True, ("Float64", "Int32"))):
        is_the_box(read(tmp_path, mesh_files.vtp(form, compressor, order, header, base, strips, kinds), ".vtp"))


def test_vtp_of_several_pieces(tmp_path):
    """Corners of the second piece count from its own points."""
    one = mesh_files.vtp().decode()
    piece = one[one.index("<Piece") : one.index("</Piece>") + len("</Piece>")]
    longer = piece.replace("2.0", "6.0")
    mesh = read(tmp_path, one.replace(piece, piece + longer).encode(), ".vtp")
    assert len(mesh.points) == 16
    assert volume(mesh.points, mesh.triangles) == pytest.approx((1 + 3) * VOLUME)


@pytest.mark.parametrize("relative", [False, True])
def test_obj(tmp_path, relative):
    is_the_box(read(tmp_path, mesh_files.obj(relative), ".obj"))


def test_stl_text_and_binary(tmp_path):
    is_the_box(read(tmp_path, mesh_files.stl_text(), ".stl"))
    is_the_box(read(tmp_path, mesh_files.stl_binary(), ".STL"))
    is_the_box(read(tmp_path, mesh_files.stl_binary(b"made by a scanner"), ".stl"))


@pytest.mark.parametrize(
    ("content", "ending", "words"),
    [
        (mesh_files.vtp().replace(b'NumberOfPoints="8"', b'NumberOfPoints="9"'), ".vtp", "cut short"),
        (mesh_files.vtp().replace(b'NumberOfPoints="8"', b'NumberOfPoints="-1"'), ".vtp", "NumberOfPoints"),
        (mesh_files.vtp().replace(b"0 2 3 1", b"0 2 3 8"), ".vtp", "point 8"),
        (mesh_files.vtp().replace(b"0 2 3 1", b"0 2 3 x"), ".vtp", "not a number"),
        (mesh_files.vtp("binary", "vtkZLibDataCompressor").replace(b"vtkZLib", b"vtkLZMA"), ".vtp", "damaged"),
        (mesh_files.vtp().replace(b'"PolyData"', b'"ImageData"'), ".vtp", "ImageData"),
        (b"<html/>", ".vtp", "a web page"),
            (b"<svg/>", ".vtp", "VTKFile"),
        (b"not xml", ".vtp", "well-formed"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><VTKFile/>", ".vtp", "DOCTYPE"),
        (b"v 0 0\n", ".obj", "box.obj:1"),
        (b"v 0 0 0\nf 1 2 3\n", ".obj", "point 2"),
        (b"v 0 0 0\n", ".obj", "0 faces"),
        (mesh_files.stl_binary()[:-20], ".stl", "cut short"),
        (b"solid x\nfacet\nvertex 0 0 0\nendsolid", ".stl", "three"),
        (b"solid x\nfacet\n" + b"vertex 0 nan 0\n" * 3, ".stl", "not finite"),
        (b"", ".obj", "empty"),
    ],
)  # fmt: skip
def test_damage_is_named(tmp_path, content, ending, words):
    with pytest.raises(MusculoError, match=words):
        read(tmp_path, content, ending)


def test_unknown_endings_and_compressions(tmp_path):
    with pytest.raises(Unsupported, match=r"\.ply"):
        read(tmp_path, b"ply", ".ply")
    foreign = mesh_files.vtp("binary", "vtkZLibDataCompressor").replace(b"vtkZLib", b"vtkLZ4")
    with pytest.raises(Unsupported, match="vtkLZ4"):
        read(tmp_path, foreign, ".vtp")
    with pytest.raises(InvalidFile, match="no file"):
        read_mesh(tmp_path / "missing.vtp")


def test_a_compressed_block_gives_no_more_than_it_announces(tmp_path):
    """A small file must not unfold into gigabytes."""
    bomb = mesh_files.COMPRESSORS["vtkZLibDataCompressor"](b"\0" * (1 << 24))
    honest = mesh_files.vtp("appended", "vtkZLibDataCompressor", base=False)
    start = honest.index(b"_", honest.index(b"<AppendedData")) + 1
    blocks = int.from_bytes(honest[start : start + 4], "little")
    head = np.array([1, 1 << 24, 0, len(bomb)], dtype="<u4").tobytes()
    assert blocks > 1
    mesh_bytes = honest[:start] + head + bomb + honest[start:]
    tracemalloc.start()
    with pytest.raises(InvalidFile):  # eight points at the origin, and then faces that are not there
        read(tmp_path, mesh_bytes, ".vtp")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 22


def test_coarsened_keeps_the_shape():
    """A ball of 20000 triangles as one of 2000: as large, to the width of a cell."""
    u, v = np.meshgrid(np.linspace(0, np.pi, 101), np.linspace(0, 2 * np.pi, 101), indexing="ij")
    points = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1).reshape(-1, 3)
    k = np.arange(100 * 101).reshape(100, 101)[:, :-1].ravel()
    triangles = np.concatenate([np.stack([k, k + 101, k + 1], axis=1), np.stack([k + 1, k + 101, k + 102], axis=1)])
    fine = TriangleMesh(points.astype(np.float32), triangles.astype(np.int32))
    coarse = coarsened(fine, 2000)
    assert 500 < len(coarse.triangles) <= 2000
    assert coarse.triangles.max() < len(coarse.points)
    assert volume(coarse.points, coarse.triangles) == pytest.approx(volume(fine.points, fine.triangles), rel=0.05)
    assert coarsened(fine, 10**6) is fine
