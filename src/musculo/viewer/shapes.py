"""The solid parts of a scene: bones and wrap surfaces, each fixed to a body."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from musculo.dynamics.poses import Kinematics
from musculo.errors import MusculoError
from musculo.io.meshes import TriangleMesh, read_mesh
from musculo.model.body import GROUND, Placement
from musculo.model.model import Model
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapObject, WrapSphere, WrapTorus
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import to_quaternion
from musculo.viewer.attached import Attached, GeometryFolders, attached_geometry
from musculo.viewer.bones import made_bones
from musculo.viewer.scene_arrays import integers, steps

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
