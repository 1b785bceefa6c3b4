"""Contact of meshes: a bed of springs, one on every triangle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from musculo.errors import InvalidFile, InvalidModel, Unsupported
from musculo.forces import stated_forces as stated
from musculo.forces.contact_hertz import body_columns
from musculo.forces.contact_shapes import Material, materials, radius_of, shape_place
from musculo.forces.placed import Acting, Columns, Moving, cross, dot, on_bodies
from musculo.io.meshes import read_mesh
from musculo.kernels.contact.contact_pressure import BALL, MESH, PLANE, Bed, Friction, Mesh, bed_frames
from musculo.model.contact_model import ContactGeometry
from musculo.model.force import Force
from musculo.model.model import Model

_KINDS = {"ContactMesh": MESH, "ContactHalfSpace": PLANE, "ContactSphere": BALL}


class Foundations:
    """`<ElasticFoundationForce>`: each triangle of a mesh that is inside another shape is pushed out by a spring.

        x = the way from its middle to the nearest point of the other's surface, d = |x|, e = x / d
        f = k A d (1 + c v_n),   none where that is negative;   V = k A d^2 / 2 over all springs
        friction  f mu(|v_t|) along the slip v_t of the other (`kernels.contact._friction`)

    It acts at the nearest point, with A the area of the triangle, v_n the speed of approach along e; k, c and friction
    are of the mesh alone. Where both shapes are meshes each has springs, which count half.

    Source:     [Sherman2011]; OpenSim 4.6, observed behavior.
    Departs:    two meshes of which one is wholly inside the other do not touch in OpenSim, whose search begins with
                triangles that cross; here they push each other out by the nearest way. Polygons of more than four
                corners are cut into triangles from their first corner, in OpenSim from their middle.
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
        meshes = {k: _mesh(model, m.shape) for k, m in enumerate(every) if m.shape.kind == "ContactMesh"}
        slow = [stated.finite(force, "transition_velocity", 0.01) for force in forces]
        self._beds = [
            (self._bed(every[a], every[b], a, b, slow[i]), meshes[a], meshes.get(b, meshes[a])) for i, a, b in pressed
        ]
        parts = np.array(pressed, dtype=np.int64).reshape(-1, 3)
        self._force, self._mesh, self._other = parts[:, 0], parts[:, 1], parts[:, 2]

    def _bed(self, own: Material, other: Material, a: int, b: int, transition: float) -> Bed:
        kind = _KINDS[other.shape.kind]
        place = self._place
        coefficients = (own.static_friction, own.dynamic_friction, own.viscous_friction, transition)
        return Bed(
            int(place.node[a]),
            int(place.node[b]),
            place.R[a].copy(),
            place.R[b].copy(),
            place.offset[a].copy(),
            place.offset[b].copy(),
            kind,
            radius_of(other.shape) if kind == BALL else 0.0,
            own.stiffness * (0.5 if kind == MESH else 1.0),
            own.dissipation,
            Friction(*(np.array([value]) for value in coefficients)),
        )

    def act(self, s: Moving) -> Acting:
        frames = len(s.q)
        wrench, energy = np.zeros((len(self._beds), frames, 6)), np.zeros((len(self.names), frames))
        for k, (bed, mesh, other) in enumerate(self._beds):
            bed_frames(bed, mesh, other, s.R, s.motion, wrench[k], energy[self._force[k]], 0, frames)
        on_mesh = np.swapaxes(wrench, 0, 1)
        rows = (
            np.concatenate([self._force, self._force]),
            self._place.body[np.concatenate([self._mesh, self._other])],
        )
        return on_bodies(frames, *rows, np.concatenate([on_mesh, -on_mesh], axis=1), energy.T, len(self.names))

    def columns(self, s: Moving, acting: Acting) -> Columns:
        return body_columns(self.names, self._shapes_of, self._place, s, acting)


def mesh_files(model: Model) -> tuple[Path, ...]:
    """Files of the contact meshes of a model, where they are found."""
    found = [_found(model, shape) for shape in model.contact_geometries if shape.kind == "ContactMesh"]
    return tuple(dict.fromkeys(path for path in found if path is not None))


def _mesh(model: Model, shape: ContactGeometry) -> Mesh:
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
    size = np.sqrt(np.sum((corners - middle[:, None]) ** 2, axis=2)).max(axis=1)
    normal = outward * turn / (2.0 * area)[:, None]
    return Mesh(middle, area, normal, np.ascontiguousarray(corners.reshape(-1, 9)), size)


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
