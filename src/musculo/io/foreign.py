"""Files of another kind than the one that is asked for, recognized by how they begin: what they are, and what to do."""

from __future__ import annotations

import re
from typing import NamedTuple

from musculo.errors import InvalidFile

# So much of a file tells what it is.
_HEAD = 4096
_OSIM, _TRC, _TABLE, _C3D, _XML, _NC = ".osim", ".trc", ".mot", ".c3d", ".xml", ".nc"
_ROOT = re.compile(r"<([A-Za-z_][\w.:-]*)")
_NOT_ELEMENTS = re.compile(r"<\?.*?\?>|<!--.*?-->|<![^>]*>", re.DOTALL)
_LATER = re.compile(r"<OpenSimDocument[^>]*>\s*<([A-Za-z_][\w.:-]*)")

_AS_TEXT = "export the columns as text: time first, then one column each, as a .mot or .sto (markers as a .trc)"
_POSES = "export the marker positions of the recording as .c3d or .trc"


class Recognized(NamedTuple):
    """What a file is, and what helps; `endings` are of the kinds that it may be, where musculo reads such files."""

    what: str
    help: str
    endings: tuple[str, ...] = ()


def refuse_foreign(content: bytes, where: str, kind: str) -> None:
    """Raise `InvalidFile` where a file clearly is something else than `kind`, which names its endings.

    What cannot be told is left to the reader.
    """
    found = recognized(content)
    wanted = kind if "<" not in kind else f"{kind} {_XML}"  # a file of one element, which OpenSim names by any ending
    if found is not None and not any(ending in wanted for ending in found.endings):
        raise InvalidFile(f"{where} is {found.what}, not {kind}; {found.help}")


def recognized(content: bytes) -> Recognized | None:
    """What a file is by its first bytes, or None."""
    for begin, found in _BEGINNINGS.items():
        if content.startswith(begin):
            return found
    if content.startswith(b"PK\x03\x04"):
        return _archive(content)
    if len(content) >= 512 and content[1] == 0x50 and 1 <= content[0] < 32 and b"\0" in content[:_HEAD]:
        return Recognized("a motion capture file (.c3d)", "give it where markers are asked for", (_C3D,))
    return None if b"\0" in content[:_HEAD] else _text(content[:_HEAD])


_BEGINNINGS = {
    b"version https://git-lfs.github.com/spec/": Recognized(
        "a pointer of Git LFS that stands for the file", "fetch the file itself: run `git lfs pull` in its repository"
    ),
    b"\x1f\x8b": Recognized("compressed by gzip", "unpack it first (gunzip), and give what comes out"),
    b"BZh": Recognized("compressed by bzip2", "unpack it first (bunzip2), and give what comes out"),
    b"7z\xbc\xaf\x27\x1c": Recognized("a 7z archive", "unpack it first, and give the file that it holds"),
    b"MATLAB 5.0 MAT-file": Recognized("a MATLAB file (.mat)", _AS_TEXT),
    b"MATLAB 7.3 MAT-file": Recognized("a MATLAB file (.mat)", _AS_TEXT),
    b"\x89HDF\r\n\x1a\n": Recognized(
        "an HDF5 or NetCDF file (.h5, .nc)", "read_netcdf reads what musculo wrote", (_NC,)
    ),
    b"CDF\x01": Recognized("a NetCDF file (.nc)", "read_netcdf reads what musculo wrote", (_NC,)),
    b"CDF\x02": Recognized("a NetCDF file (.nc)", "read_netcdf reads what musculo wrote", (_NC,)),
    b"\xd0\xcf\x11\xe0": Recognized("an Excel workbook (.xls)", _AS_TEXT),
    b"Kaydara FBX": Recognized("an animation (.fbx)", _POSES),
    b"%PDF-": Recognized("a PDF document", "give the data itself"),
}


def _archive(content: bytes) -> Recognized:
    """A zip archive, or one of the many formats that are such."""
    if b"xl/workbook.xml" in content or b"xl/worksheets" in content:
        return Recognized("an Excel workbook (.xlsx)", _AS_TEXT)
    if b".npy" in content[:_HEAD]:
        return Recognized("an archive of NumPy arrays (.npz)", "make a musculo.Table or musculo.Markers of its arrays")
    return Recognized("a zip archive", "unpack it first, and give the file that it holds")


def _text(head: bytes) -> Recognized | None:
    words = head.decode("latin-1").lstrip("\xef\xbb\xbf").lstrip()
    if words.startswith("<"):
        return _markup(words)
    if re.match(r"PathFileType\b", words):
        return Recognized("a marker file (.trc)", "give it where markers are asked for", (_TRC,))
    if words.startswith("HIERARCHY"):
        return Recognized("an animation (.bvh): angles of a skeleton of its own, not markers", _POSES)
    if re.match(r"; FBX \d", words):
        return Recognized("an animation (.fbx)", _POSES)
    if re.search(r"^[ \t,;\"]*endheader[ \t,;\"]*\r?$", words, re.IGNORECASE | re.MULTILINE):
        return Recognized(
            "a table of OpenSim (.mot or .sto)", "give it where a motion or loads are asked for", (_TABLE,)
        )
    return None


def _markup(words: str) -> Recognized | None:
    if re.match(r"(<\?xml[^>]*>\s*)?<!doctype\s+html|<html\b", words, re.IGNORECASE):
        return Recognized("a web page", "the download went wrong: fetch the raw file itself, for instance by 'Raw'")
    found = _ROOT.match(_NOT_ELEMENTS.sub("", words).lstrip())
    root = found[1].lower() if found else ""
    if root == "mujoco":
        return Recognized(
            "a MuJoCo model (MJCF)", "musculo reads OpenSim models (.osim): take the .osim that it was converted from"
        )
    if root == "robot":
        return Recognized(
            "a robot description (URDF)", "musculo reads OpenSim models (.osim): write the model as one, or in Python"
        )
    if root == "sdf":
        return Recognized(
            "a simulation description (SDF)", "musculo reads OpenSim models (.osim): write it as one, or in Python"
        )
    if root == "opensimdocument":
        later = _LATER.search(_NOT_ELEMENTS.sub("", words))
        inside = later[1] if later else ""
        if inside == "Model":
            return Recognized("an OpenSim model (.osim)", "give it as the model", (_OSIM,))
        if inside.endswith("Tool"):
            return Recognized(f"a set-up file of OpenSim's {inside}", "`musculo run` takes such files", (_XML,))
        return Recognized(
            f"an XML file of OpenSim (<{inside or 'OpenSimDocument'}>)", "look where it belongs", (_XML, _OSIM)
        )
    return None
