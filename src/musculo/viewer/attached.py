"""What the model file attaches to its frames for drawing: meshes, and shapes with sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

from lxml import etree

from musculo.errors import UnknownName
from musculo.io.meshes import MESH_ENDINGS
from musculo.model.body import GROUND, Placement
from musculo.model.model import Model

GEOMETRY_VARIABLE = "MUSCULO_GEOMETRY"
# Elements with sizes and the properties that hold them; OpenSim's cylinder is about y, of half this height.
_SHAPES = {
    "Sphere": ("sphere", ("radius",)),
    "Ellipsoid": ("ellipsoid", ("radii",)),
    "Cylinder": ("cylinder", ("radius", "half_height")),
    "Brick": ("brick", ("half_lengths",)),
}
_COUNTS = {"radii": 3, "half_lengths": 3}


@dataclass(frozen=True)
class Attached:
    """One piece of geometry: a mesh `file`, or a shape of `kind` with `sizes` [m], in the frame of `placement`."""

    placement: Placement
    kind: str
    sizes: tuple[float, ...] = ()
    file: str = ""
    scale: tuple[float, ...] = (1.0, 1.0, 1.0)
    colour: tuple[float, ...] = ()
    opacity: float = 1.0


def attached_geometry(model: Model) -> tuple[Attached, ...]:
    """Everything visible that the file attaches to ground, bodies, frames and the frames of joints."""
    found: list[Attached] = []
    for placement, texts in _holders(model):
        for text in texts:
            if "attached_geometry" in text:
                found += _parsed(text, placement, model)
    return tuple(found)


def _holders(model: Model) -> Iterator[tuple[Placement, Sequence[str]]]:
    yield Placement(GROUND), model.ground_carried
    for body in model.bodies:
        yield Placement(body.name), body.carried
    for frame in model.frames:
        yield frame.placement, frame.placement.carried
    for joint in model.joints:
        for placement in (joint.parent, joint.child):
            yield placement, placement.carried


def _parsed(text: str, placement: Placement, model: Model) -> Iterator[Attached]:
    try:
        root = etree.fromstring(text, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError:
        return  # drawn as if it were not there; the mechanics does not depend on it
    if root.tag != "attached_geometry":
        return
    for element in root:
        if not isinstance(element.tag, str) or (element.findtext("Appearance/visible") or "").strip() == "false":
            continue
        where = _frame_of(element, placement, model)
        look: dict[str, Any] = {
            "colour": _numbers(element.findtext("Appearance/color"), 3),
            "opacity": (*_numbers(element.findtext("Appearance/opacity"), 1), 1.0)[0],
        }
        scale = _numbers(element.findtext("scale_factors"), 3) or (1.0, 1.0, 1.0)
        if element.tag == "Mesh" and (element.findtext("mesh_file") or "").strip():
            yield Attached(where, "mesh", file=(element.findtext("mesh_file") or "").strip(), scale=scale, **look)
        elif element.tag in _SHAPES:
            kind, names = _SHAPES[element.tag]
            sizes = tuple(x for n in names for x in _numbers(element.findtext(n), _COUNTS.get(n, 1)))
            if len(sizes) == sum(_COUNTS.get(n, 1) for n in names) and all(x > 0.0 for x in sizes):
                yield Attached(where, kind, sizes=sizes, scale=scale, **look)


def _frame_of(element: Any, placement: Placement, model: Model) -> Placement:
    socket = (element.findtext("socket_frame") or "..").strip()
    if socket.startswith("/"):
        try:
            return model.placement(socket)
        except UnknownName:
            pass  # drawn on the frame that holds it, rather than not at all
    return placement


def _numbers(text: str | None, count: int) -> tuple[float, ...]:
    """So many finite numbers, or none."""
    try:
        values = tuple(float(word) for word in (text or "").split())
    except ValueError:
        return ()
    return values if len(values) == count and all(abs(x) < 1e6 for x in values) else ()


class GeometryFolders:
    """Where mesh files are looked for: a given folder, $MUSCULO_GEOMETRY, beside the model, its Geometry folder."""

    def __init__(self, model: Model, folder: str | os.PathLike[str] | None) -> None:
        given = [Path(folder)] if folder is not None else []
        given += [Path(name) for name in os.environ.get(GEOMETRY_VARIABLE, "").split(os.pathsep) if name]
        if model.source:
            home = Path(model.source).parent
            given += [home, home / "Geometry", home.parent / "Geometry"]
        self.folders = tuple(given)
        self._names: dict[Path, dict[str, Path]] = {}

    def find(self, file: str) -> Path | None:
        """The mesh of that name, whatever the case of its letters, or None."""
        name = PureWindowsPath(file).as_posix()
        if Path(name).suffix.lower() not in MESH_ENDINGS or "\0" in name:
            return None
        for folder in self.folders:
            for candidate in (name, Path(name).name):
                try:
                    if (folder / candidate).is_file():
                        return folder / candidate
                except OSError:
                    continue  # a name that no file can have here
            found = self._listing(folder).get(Path(name).name.lower())
            if found is not None:
                return found
        return None

    def _listing(self, folder: Path) -> dict[str, Path]:
        if folder not in self._names:
            try:
                self._names[folder] = {p.name.lower(): p for p in folder.iterdir() if p.suffix.lower() in MESH_ENDINGS}
            except OSError:
                self._names[folder] = {}
        return self._names[folder]
