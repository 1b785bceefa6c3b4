"""Spheres of a model that touch flat ground smoothly: their forces at nodes, with exact slopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.errors import Unsupported
from musculo.forces.contact_shapes import contact_shape
from musculo.forces.contact_smooth import SmoothContacts
from musculo.kernels.contact.smooth_contact_slopes import ContactFrames, smooth_contact_frames
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.body import GROUND
from musculo.model.force import Force
from musculo.model.model import Model

KIND = "SmoothSphereHalfSpaceForce"
_NO_SLOPES = np.zeros((0, 0))


class ContactSlopes(NamedTuple):
    """Wrenches of contacts, and what their changes do to generalized forces of the tree, but for changes of J."""

    wrenches: FloatArray  # (nodes, 6 n) on the nodes of the tree, as `node_wrenches` has them
    by_q: FloatArray  # (nodes, n_u, n_q) J^T dW/dq
    by_u: FloatArray  # (nodes, n_u, n_u) J^T dW/du


class GroundContacts:
    """All smooth contacts of a model with half-spaces of ground.

    The law is that of `musculo.kernels.contact.contact_pressure.smooth_wrench`.

    Raises:
        Unsupported: a half-space that is fixed to another body.
    """

    def __init__(self, model: Model, forces: Sequence[Force], threads: int | None = None) -> None:
        self.model, self.names, self.threads = model, tuple(force.name for force in forces), threads
        self.data = SmoothContacts(model, forces).data
        for force in forces:
            plane = contact_shape(force, model, force.text("socket_half_space"), "ContactHalfSpace")
            body = model.placement(plane.frame).body
            if body != GROUND:
                raise Unsupported(f"contact {force.name!r} is with a half-space on {body!r}; only ground is known")

    def _found(self, q: FloatArray, u: FloatArray, slopes: bool) -> ContactFrames:
        c, nodes = compiled(self.model), len(q)
        by_q, by_u = (np.empty((nodes, c.n_u * n)) if slopes else _NO_SLOPES for n in (c.n_q, c.n_u))
        wrench, force = np.empty((nodes, 6 * c.tree.parent.size)), np.empty((nodes, 3 * len(self.names)))
        x = ContactFrames(np.ascontiguousarray(q), np.ascontiguousarray(u), wrench, force, by_q, by_u)
        over_frames(smooth_contact_frames, (c.tree, c.table, self.data, x), nodes, self.threads)
        return x

    def forces(self, q: FloatArray, u: FloatArray) -> FloatArray:
        """(nodes, contacts, 3) forces on the spheres, in ground [N]."""
        return self._found(q, u, False).force.reshape(len(q), -1, 3)

    def wrenches(self, q: FloatArray, u: FloatArray) -> FloatArray:
        """(nodes, 6 n) on the nodes of the tree, as `node_wrenches` has them."""
        return self._found(q, u, False).wrench

    def slopes(self, q: FloatArray, u: FloatArray) -> ContactSlopes:
        """By coordinates and speeds of the tree."""
        x, n_u = self._found(q, u, True), u.shape[1]
        return ContactSlopes(x.wrench, x.by_q.reshape(len(q), n_u, -1), x.by_u.reshape(len(q), n_u, -1))
