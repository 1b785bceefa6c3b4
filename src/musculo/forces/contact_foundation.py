"""Contact of meshes: a bed of springs, one on every triangle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidFile, InvalidModel, Unsupported
from musculo.forces import stated_forces as stated
from musculo.forces.contact_hertz import body_columns
from musculo.forces.contact_shapes import Material, materials, radius_of, shape_place
from musculo.forces.placed import Acting, Columns, Found, Moving, cross, dot, on_bodies
from musculo.io.meshes import read_mesh
from musculo.kernels.contact.contact_pressure import BALL, MESH, PLANE, Beds, Friction
from musculo.kernels.contact.nearest_triangle import Meshes
from musculo.model.contact_model import ContactGeometry
from musculo.model.force import Force
from musculo.model.model import Model

# Triangles in a box that is not divided further.
_IN_BOX = 4
_KINDS = {"ContactMesh": MESH, "ContactHalfSpace": PLANE, "ContactSphere": BALL}


class Foundations:
    """`<ElasticFoundationForce>`: each triangle of a mesh that is inside another shape is pushed out by a spring.

    The law of a mesh and another shape is `musculo.kernels.contact.contact_pressure.bed_wrench`; stiffness, dissipation
    and friction are of the mesh alone. Where both shapes are meshes each has springs, which count half.

    Departs: polygons of more than four corners are cut into triangles from their first corner, in OpenSim from their
             middle.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        every: list[Material] = []
        self._shapes_of: list[list[int]] = []
        pressed: list[tuple[int, int, int]] = []  # force, mesh, other shape
        for i, force in enumerate(forces):
            own = materials(force, model)
            for material in own:
                if material.shape.kind not in _KINDS:
                    raise Unsupported(
                        f"{stated.described(force)}: contact of a {material.shape.kind} ({material.shape.name!r}) "
                        "with a mesh is not computed; meshes, spheres and half-spaces are"
                    )
            start = len(every)
            every += own
            at = list(range(start, len(every)))
            self._shapes_of.append(at)
            pressed += [(i, a, b) for a in at for b in at if a != b and every[a].shape.kind == "ContactMesh"]
        self._place = shape_place(model, [m.shape for m in every])
        slow = np.array([stated.finite(force, "transition_velocity", 0.01) for force in forces], dtype=float)
        parts = np.array(pressed, dtype=np.int64).reshape(-1, 3)
        self._force, mesh, other = parts[:, 0].copy(), parts[:, 1], parts[:, 2]
        self.first, self.second = self._place.rows(mesh), self._place.rows(other)
        surfaces = {k: m for m, k in enumerate(k for k, one in enumerate(every) if one.shape.kind == "ContactMesh")}
        self.meshes = _joined([_mesh(model, every[k].shape) for k in surfaces])
        own, others = [every[k] for k in mesh], [every[k] for k in other]

        def of(values: Iterable[float]) -> FloatArray:
            return np.array(list(values), dtype=float)

        self.data = Beds(
            self.first.frames,
            self.second.frames,
            np.array([surfaces[k] for k in mesh], dtype=np.int64),
            np.array([surfaces.get(k, -1) for k in other], dtype=np.int64),
            np.array([_KINDS[m.shape.kind] for m in others], dtype=np.int64),
            of(radius_of(m.shape) if _KINDS[m.shape.kind] == BALL else 0.0 for m in others),
            of(m.stiffness * (0.5 if _KINDS[o.shape.kind] == MESH else 1.0) for m, o in zip(own, others, strict=True)),
            of(m.dissipation for m in own),
            Friction(
                of(m.static_friction for m in own),
                of(m.dynamic_friction for m in own),
                of(m.viscous_friction for m in own),
                slow[self._force],
            ),
        )

    def acting(self, s: Moving, found: Found) -> Acting:
        energy = np.zeros((len(found.energy), len(self.names)))
        for bed, force in enumerate(self._force.tolist()):
            energy[:, force] += found.energy[:, bed]
        rows = np.concatenate([self._force, self._force]), np.concatenate([self.first.body, self.second.body])
        return on_bodies(*rows, np.concatenate([-found.wrench, found.wrench], axis=1), energy)

    def columns(self, s: Moving, acting: Acting) -> Columns:
        return body_columns(self.names, self._shapes_of, self._place, s, acting)


def mesh_files(model: Model) -> tuple[Path, ...]:
    """Files of the contact meshes of a model, where they are found."""
    found = [_found(model, shape) for shape in model.contact_geometries if shape.kind == "ContactMesh"]
    return tuple(dict.fromkeys(path for path in found if path is not None))


class _Surface(NamedTuple):
    """The triangles of one mesh, as `Meshes` has them."""

    middle: FloatArray
    area: FloatArray
    normal: FloatArray
    corners: FloatArray  # (triangles, 3, 3)


def _mesh(model: Model, shape: ContactGeometry) -> _Surface:
    read = read_mesh(_file(model, shape))
    corners = read.points[read.triangles]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    turn = cross(b - a, c - a)
    area = 0.5 * np.sqrt(dot(turn, turn))
    solid = area > 0.0
    if not solid.any():
        raise InvalidModel(f"contact shape {shape.name!r}: its mesh has no triangle with an area")
    corners, turn, area = corners[solid], turn[solid], area[solid]
    # a closed surface whose volume is negative is inside out
    outward = np.sign(dot(corners[:, 0], turn).sum()) or 1.0
    middle = corners.mean(axis=1)
    return _Surface(middle, area, outward * turn / (2.0 * area)[:, None], corners)


class _Boxes:
    """A tree of boxes around the triangles of one surface, in the order in which a search meets them."""

    def __init__(self, surface: _Surface) -> None:
        self._low, self._high = surface.corners.min(axis=1), surface.corners.max(axis=1)
        self._middle = surface.middle
        self.box: list[FloatArray] = []
        self.past: list[int] = []
        self.held: list[tuple[int, int]] = []
        self.order: list[int] = []
        self._put(np.arange(len(surface.area)))

    def _put(self, some: IntArray) -> None:
        """A box of some triangles, and those inside it: halves along its longest side."""
        own = len(self.box)
        low, high = self._low[some].min(axis=0), self._high[some].max(axis=0)
        self.box.append(np.concatenate([low, high]))
        self.past.append(0)
        few = len(some) <= _IN_BOX
        self.held.append((len(self.order), len(some) if few else 0))
        if few:
            self.order += some.tolist()
        else:
            along = some[np.argsort(self._middle[some, np.argmax(high - low)], kind="stable")]
            self._put(along[: len(some) // 2])
            self._put(along[len(some) // 2 :])
        self.past[own] = len(self.box)


def _joined(surfaces: Sequence[_Surface]) -> Meshes:
    """One after the other."""
    center, radius, trees = [], [], [_Boxes(one) for one in surfaces]
    for one, tree in zip(surfaces, trees, strict=True):
        center.append(0.5 * (tree.box[0][:3] + tree.box[0][3:]))
        radius.append(np.sqrt(np.sum((one.corners - center[-1]) ** 2, axis=2)).max())
    first, first_box = _starts([one.area.size for one in surfaces]), _starts([len(tree.past) for tree in trees])

    def flat(parts: Iterable[FloatArray], *shape: int) -> FloatArray:
        return np.concatenate([np.zeros(0), *(np.ravel(part) for part in parts)]).reshape(-1, *shape)

    def shifted(parts: Iterable[Sequence[int]], by: IntArray) -> IntArray:
        return np.array([x + int(start) for part, start in zip(parts, by, strict=False) for x in part], dtype=np.int64)

    held = [
        [(begin + int(start), count) for begin, count in tree.held] for tree, start in zip(trees, first, strict=False)
    ]
    return Meshes(
        first,
        flat((one.middle for one in surfaces), 3),
        flat(one.area for one in surfaces),
        flat((one.normal for one in surfaces), 3),
        flat((one.corners for one in surfaces), 9),
        flat(center, 3),
        np.array(radius, dtype=float),
        first_box,
        flat((np.array(tree.box) for tree in trees), 6),
        shifted((tree.past for tree in trees), first_box),
        np.array([row for rows in held for row in rows], dtype=np.int64).reshape(-1, 2),
        shifted((tree.order for tree in trees), first),
    )


def _starts(counts: Sequence[int]) -> IntArray:
    """Where each begins, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _found(model: Model, shape: ContactGeometry) -> Path | None:
    """Where the mesh is: beside the model, or in a folder named Geometry there."""
    beside = _folder(model)
    tried = [Path(shape.filename), beside / shape.filename, beside / "Geometry" / shape.filename]
    return next((path for path in tried if shape.filename and path.is_file()), None)


def _folder(model: Model) -> Path:
    return Path(model.source).parent if model.source else Path()


def _file(model: Model, shape: ContactGeometry) -> Path:
    found = _found(model, shape)
    if found is None:
        raise InvalidFile(
            f"contact shape {shape.name!r}: there is no file {shape.filename!r}; it is sought in {_folder(model)} and "
            "in its folder Geometry"
        )
    return found
