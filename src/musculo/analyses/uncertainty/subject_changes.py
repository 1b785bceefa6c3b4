"""A draw of uncertain inputs made part of a model: as arrays of its compiled form, and as a model of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from musculo.analyses.uncertainty.inputs import MUSCLE_PARAMETERS, Changes, Varied
from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import CompiledModel
from musculo.compile.joint_nodes import placed
from musculo.model.body import Vec3, Vec6
from musculo.model.force import Muscle
from musculo.model.model import Model
from musculo.spatial.inertia import tensor


class NodeInertias:
    """The inertias of the nodes of a compiled model, by factors of mass and shifts of mass centers of its bodies."""

    def __init__(self, model: Model, c: CompiledModel) -> None:
        poses = [c.body_pose[body.name] for body in model.bodies]
        self.nodes = c.tree.parent.size
        self.node: IntArray = np.array([c.body_node[body.name] for body in model.bodies], dtype=np.int64)
        self.R = np.array([pose.R for pose in poses]).reshape(-1, 3, 3)
        self.p = np.array([pose.p for pose in poses]).reshape(-1, 3)
        self.mass = np.array([body.mass for body in model.bodies], dtype=float)
        self.center = np.array([body.mass_center for body in model.bodies], dtype=float).reshape(-1, 3)
        central = np.array([tensor(body.inertia) for body in model.bodies]).reshape(-1, 3, 3)
        self.central = self.R @ central @ np.swapaxes(self.R, 1, 2)

    def rows(self, mass: FloatArray, shift: FloatArray) -> FloatArray:
        """(..., nodes, 10) as `Tree.inertia` has them, of factors (..., bodies) and shifts (..., bodies, 3)."""
        m = self.mass * mass
        c = self.p + np.einsum("bij,...bj->...bi", self.R, self.center + shift)
        J = mass[..., None, None] * self.central
        J = J + m[..., None, None] * ((c * c).sum(-1)[..., None, None] * np.eye(3) - c[..., :, None] * c[..., None, :])
        parts = [m, *np.moveaxis(m[..., None] * c, -1, 0), *(J[..., i, j] for i, j in _ENTRIES)]
        of_bodies = np.stack(parts, axis=-1)
        found = np.zeros((*m.shape[:-1], self.nodes, len(parts)))
        for body, node in enumerate(self.node):
            found[..., node, :] += of_bodies[..., body, :]
        return found


_ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def marker_axes(model: Model, c: CompiledModel, markers: tuple[str, ...]) -> FloatArray:
    """(markers, 3, 3) from the axes of each marker's frame to those of its node."""
    frames = {marker.name: marker.frame for marker in model.markers}
    places = [model.placement(frames[name]) for name in markers]
    return np.array([(c.body_pose[place.body] @ placed(place)).R for place in places]).reshape(-1, 3, 3)


def changed_model(model: Model, varied: Varied, changes: Changes) -> Model:
    """The model of a draw, for everything that takes a model; external loads are no part of it."""
    bodies = tuple(
        replace(
            body,
            mass=body.mass * float(factor),
            mass_center=_moved(body.mass_center, shift),
            inertia=cast(Vec6, tuple(float(factor) * x for x in body.inertia)),
        )
        for body, factor, shift in zip(model.bodies, changes.mass, changes.center_shift, strict=True)
    )
    moved = dict(zip(varied.markers, changes.marker_shift, strict=True))
    markers = tuple(
        replace(one, location=_moved(one.location, moved[one.name])) if one.name in moved else one
        for one in model.markers
    )
    factors = dict(zip(varied.muscles, changes.muscle.T, strict=True))
    forces = tuple(
        replace(
            force,
            **{
                name: getattr(force, name) * float(factor)
                for name, factor in zip(MUSCLE_PARAMETERS, factors[force.name], strict=True)
            },
        )
        if isinstance(force, Muscle)
        else force
        for force in model.forces
    )
    return model.replace(bodies=bodies, markers=markers, forces=forces)


def _moved(point: Vec3, shift: FloatArray) -> Vec3:
    return cast(Vec3, tuple(float(x) for x in np.asarray(point) + shift))
