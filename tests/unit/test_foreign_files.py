"""Files of another kind: one sentence says what they are and what to do, whichever reader they are handed to."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import pytest

import musculo
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE
from musculo.errors import InvalidFile
from musculo.io.foreign import recognized
from support.c3d_files import C3DMaker


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "words")
    return buffer.getvalue()


def saved_arrays() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.zeros(3))
    return buffer.getvalue()


C3D = C3DMaker(np.zeros((2, 1, 3)), ["A"]).bytes()
FOREIGN = {
    "mjcf": (b'<?xml version="1.0"?>\n<!-- arm -->\n<mujoco model="arm"><worldbody/></mujoco>', "MuJoCo model (MJCF)"),
    "urdf": (b'<robot name="arm"><link name="base"/></robot>', "robot description (URDF)"),
    "sdf": (b'<sdf version="1.6"><model/></sdf>', "simulation description (SDF)"),
    "page": (b"\n<!DOCTYPE html>\n<html><body>404</body></html>", "a web page"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n", "git lfs pull"),
    "zip": (zipped("model.osim"), "zip archive"),
    "xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), "Excel workbook"),
    "npz": (saved_arrays(), "NumPy arrays"),
    "gzip": (gzip.compress(b"<OpenSimDocument/>"), "gunzip"),
    "mat": (b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(200, b"\0"), "MATLAB file (.mat)"),
    "fbx": (b"Kaydara FBX Binary  \0\x1a\0".ljust(200, b"\0"), "animation (.fbx)"),
    "bvh": (b"HIERARCHY\nROOT Hips\n{\n", "animation (.bvh)"),
    "hdf5": (b"\x89HDF\r\n\x1a\n".ljust(100, b"\0"), "HDF5"),
}
READERS = {
    "osim": musculo.read_osim,
    "trc": musculo.read_trc,
    "mot": musculo.read_storage,
    "sto": musculo.read_markers,
    "c3d": musculo.read_c3d,
    "xml": musculo.opensim.read_setup,
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("ending", READERS)
def test_foreign_files_are_named_with_what_to_do(tmp_path, kind, ending):
    content, words = FOREIGN[kind]
    path = tmp_path / f"a.{ending}"
    path.write_bytes(content)
    with pytest.raises(InvalidFile) as refused:
        READERS[ending](path)
    said = str(refused.value)
    assert words in said
    assert said.startswith(f"{path} is ")
    assert ", not " in said
    assert "; " in said


@pytest.mark.parametrize("ending", READERS)
def test_swapped_arguments_are_named(tmp_path, ending):
    own = {
        "osim": (ARM_FILE.read_bytes(), "an OpenSim model (.osim)"),
        "trc": (b"PathFileType\t4\t(X/Y/Z)\ta.trc\n", "a marker file (.trc)"),
        "mot": (ARM_FLEXION_FILE.read_bytes(), "a table of OpenSim (.mot or .sto)"),
        "c3d": (C3D, "a motion capture file (.c3d)"),
        "xml": (
            b"<OpenSimDocument Version='40000'><InverseKinematicsTool/></OpenSimDocument>",
            "InverseKinematicsTool",
        ),
    }
    wanted = "mot" if ending == "sto" else ending
    path = tmp_path / f"a.{ending}"
    for kind, (content, words) in own.items():
        if kind != wanted:
            path.write_bytes(content)
            with pytest.raises(InvalidFile) as refused:
                READERS[ending](path)
            assert str(refused.value).startswith(f"{path} is ")
            assert words in str(refused.value)


def test_markers_of_an_unknown_ending_say_how_they_can_be_given(tmp_path):
    for name, content, words in (
        ("a.csv", b"time,RASI_x\n0,1\n", "the labels time, RASI_x"),
        ("a.osim", ARM_FILE.read_bytes(), "is an OpenSim model"),
        ("a.bvh", FOREIGN["bvh"][0], "animation"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidFile, match=words):
            musculo.read_markers(tmp_path / name)


def test_what_is_not_recognised_is_left_to_the_readers():
    assert recognized(b"words") is None
    assert recognized(b"<VTKFile type='PolyData'/>") is None
    assert recognized(b"\0" * 600) is None
    assert recognized(b"") is None
