"""The solid parts of a scene: bones, with the meshes that the model file attaches to its frames, and wrap surfaces."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np
from lxml import etree

from musculo.dynamics.poses import Kinematics
from musculo.errors import MusculoError, UnknownName
from musculo.io.meshes import MESH_ENDINGS, TriangleMesh, read_mesh
from musculo.model.body import GROUND, Placement
from musculo.model.model import Model
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapObject, WrapSphere, WrapTorus
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import to_quaternion
from musculo.viewer.bones import made_bones
from musculo.viewer.scene_arrays import integers, steps

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


# All meshes of a page together; more do not look better and make the file large.
MOST_TRIANGLES = 150_000


def bones(
    model: Model, poses: Kinematics, geometry: str | os.PathLike[str] | None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], tuple[str, ...]]:
    """Shapes of all bodies, the meshes that they refer to, and notes.

    A body is drawn by what the file attaches to it where that can be drawn, and by a made-up bone where it cannot.
    """
    index = {name: k for k, name in enumerate((GROUND, *model.body_names))}
    folders = GeometryFolders(model, geometry)
    shapes: list[dict[str, Any]] = []
    loaded: list[tuple[Attached, TriangleMesh]] = []
    known: dict[str, TriangleMesh | None] = {}
    missing: list[str] = []
    damaged: list[str] = []
    drawn: set[str] = set()
    for piece in attached_geometry(model):
        if piece.kind != "mesh":
            shapes.append(_shape(piece, index))
            drawn.add(piece.placement.body)
            continue
        if piece.file not in known:
            known[piece.file] = _loaded(piece.file, folders, missing, damaged)
        mesh = known[piece.file]
        if mesh is not None:
            loaded.append((piece, mesh))
            drawn.add(piece.placement.body)
    meshes = _meshes(loaded, index, shapes)
    for bone in made_bones(model, poses, set(model.body_names) - drawn):
        shapes.append(
            {
                "body": index[bone.body],
                "kind": bone.kind,
                "made": True,
                "a": _plain(bone.a),
                "b": _plain(bone.b),
                "r": _plain(to_quaternion(bone.R)),
                "sizes": _plain(bone.sizes),
            }
        )
    notes = list(damaged)
    if missing and loaded:
        notes.append(f"{len(missing)} mesh files were not found, for instance {missing[0]}")
    elif missing:
        notes.append(
            f"The model's bone meshes ({missing[0]}, ...) were not found; simple bones are drawn. "
            "Put them into a folder named Geometry beside the model, or name their folder with --geometry."
        )
    return shapes, meshes, tuple(notes)


def _loaded(file: str, folders: GeometryFolders, missing: list[str], damaged: list[str]) -> TriangleMesh | None:
    found = folders.find(file)
    if found is None:
        missing.append(file)
        return None
    try:
        return read_mesh(found)
    except MusculoError as error:
        damaged.append(f"A mesh is not drawn: {error}")
        return None


def _meshes(
    loaded: list[tuple[Attached, TriangleMesh]], index: dict[str, int], shapes: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Meshes in the frames of their bodies, scaled; a shape is added for each."""
    from musculo.viewer.coarsen import coarsened

    total = sum(len(mesh.triangles) for _, mesh in loaded)
    share = min(1.0, MOST_TRIANGLES / max(total, 1))
    meshes: list[dict[str, Any]] = []
    for piece, mesh in loaded:
        coarse = coarsened(mesh, max(200, int(share * len(mesh.triangles)))) if share < 1.0 else mesh
        X = Pose.from_xyz(piece.placement.orientation, piece.placement.translation)
        points = X.p + (coarse.points * np.array(piece.scale)) @ X.R.T
        # A mirrored mesh would be seen from inside.
        triangles = coarse.triangles[:, ::-1] if np.prod(piece.scale) < 0.0 else coarse.triangles
        shapes.append({**_look(piece), "body": index[piece.placement.body], "kind": "mesh", "mesh": len(meshes)})
        meshes.append({"points": steps(points, "last"), "triangles": integers(triangles)})
    return meshes


def _shape(piece: Attached, index: dict[str, int]) -> dict[str, Any]:
    X = Pose.from_xyz(piece.placement.orientation, piece.placement.translation)
    where = {"body": index[piece.placement.body], "a": _plain(X.p), "r": _plain(to_quaternion(X.R))}
    return {**_look(piece), **where, "kind": piece.kind, "sizes": _plain(piece.sizes), "scale": _plain(piece.scale)}


def _look(piece: Attached) -> dict[str, Any]:
    white = not piece.colour or min(piece.colour) > 0.95
    # OpenSim's plain white is our bone; other colors are kept.
    colour = {} if white else {"colour": [float(np.clip(x, 0.0, 1.0)) for x in piece.colour]}
    return {**colour, **({"opacity": piece.opacity} if piece.opacity < 1.0 else {})}


def wrap_shapes(model: Model) -> list[dict[str, Any]]:
    """Wrap surfaces that are active, fixed to their bodies."""
    index = {name: k for k, name in enumerate((GROUND, *model.body_names))}
    shapes = []
    for surface in model.wrap_objects:
        sizes = _sizes(surface)
        if not surface.active or not sizes:
            continue
        placement: Placement = model.placement(surface.frame)
        X = Pose.from_xyz(placement.orientation, placement.translation) @ Pose.from_xyz(
            surface.orientation, surface.translation
        )
        shapes.append(
            {
                "name": surface.name,
                "body": index[placement.body],
                "kind": surface.kind.removeprefix("Wrap").lower(),
                "a": _plain(X.p),
                "r": _plain(to_quaternion(X.R)),
                "sizes": _plain(sizes),
            }
        )
    return shapes


def _sizes(surface: WrapObject) -> tuple[float, ...]:
    if isinstance(surface, WrapCylinder):
        return (surface.radius, surface.length)
    if isinstance(surface, WrapSphere):
        return (surface.radius,)
    if isinstance(surface, WrapEllipsoid):
        return surface.semi_axes
    if isinstance(surface, WrapTorus):
        return (surface.inner_radius, surface.outer_radius)
    return ()


def _plain(values: Any) -> list[float]:
    """Numbers for JSON, to a hundredth of a millimeter and better."""
    return [float(f"{x:.7g}") for x in np.ravel(values)]
