"""Contact of spheres and half-spaces by Hertz, damped after Hunt and Crossley."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel, Unsupported
from musculo.forces import stated_forces as stated
from musculo.forces.contact_shapes import Material, materials, radius_of, shape_place
from musculo.forces.placed import (
    Acting,
    Columns,
    Found,
    Moving,
    Placed,
    cross,
    on_bodies,
    vector_columns,
)
from musculo.kernels.contact.contact_pressure import Friction, Pairs
from musculo.kernels.contact.lost_contacts import Sweep
from musculo.kernels.forces.fixed_frames import FixedFrames
from musculo.model.force import Force
from musculo.model.model import Model

PLANE, BALL = "ContactHalfSpace", "ContactSphere"


_NONE = np.zeros(0, dtype=np.int64)
_NO_SWEEP = Sweep(
    np.zeros(1, dtype=np.int64), FixedFrames(_NONE, np.zeros((0, 9)), np.zeros((0, 3))), np.zeros(0),
    np.zeros(1, dtype=np.int64), _NONE, _NONE,
)  # fmt: skip


class _Pair(NamedTuple):
    """Two shapes of one force that may touch; a half-space comes first."""

    force: int
    first: int  # among all shapes of all forces
    second: int


class HertzContacts:
    """`<HuntCrossleyForce>`: every two shapes of a force that touch press on each other.

    The law of two is `musculo.kernels.contact.contact_pressure.hertz_wrench`.

    Departs:    OpenSim ignores all contacts of a force that come after one that parts so fast that its f is negative
                (`kernels.contact.lost_contacts`), so that a foot loses its toe as its heel lifts off. This is
                done with `like="opensim"` only, as is counting the energy of shapes of one body that overlap, which
                do nothing.
    Guarantees: wrenches of a pair add up to zero.
    """

    def __init__(self, model: Model, forces: Sequence[Force], opensim: bool = False) -> None:
        self.names = [force.name for force in forces]
        every: list[Material] = []
        self._shapes_of: list[list[int]] = []
        pairs: list[_Pair] = []
        for i, force in enumerate(forces):
            own = materials(force, model)
            _check(force, own)
            start = len(every)
            every += own
            self._shapes_of.append(list(range(start, len(every))))
            # meshes have no point contact, so that they do nothing here, as in OpenSim
            at = [k for k in self._shapes_of[-1] if every[k].shape.kind in (PLANE, BALL)]
            for k, a in enumerate(at):
                for b in at[k + 1 :]:
                    planes = every[a].shape.kind == every[b].shape.kind == PLANE
                    if not planes and (opensim or _body(model, every[a]) != _body(model, every[b])):
                        pairs.append(_Pair(i, *((b, a) if every[b].shape.kind == PLANE else (a, b))))
        self._place = shape_place(model, [m.shape for m in every])
        ball = np.array([m.shape.kind == BALL for m in every], dtype=bool)
        self._radius = np.array([radius_of(m.shape) if on else np.inf for m, on in zip(every, ball, strict=True)])
        self._force = np.array([p.force for p in pairs], dtype=np.int64)
        self._first = np.array([p.first for p in pairs], dtype=np.int64)
        self._second = np.array([p.second for p in pairs], dtype=np.int64)
        slow = np.array([stated.finite(force, "transition_velocity", 0.01) for force in forces], dtype=float)
        self.first, self.second = self._place.rows(self._first), self._place.rows(self._second)
        self.data = self._compiled(every, slow)
        self.sweep = self._sweep() if opensim else _NO_SWEEP

    def _compiled(self, every: list[Material], transition: FloatArray) -> Pairs:
        first, second = self._first, self._second
        stiffness = np.array([m.stiffness for m in every], dtype=float) ** (2.0 / 3.0)
        damping = np.array([m.dissipation for m in every], dtype=float)
        k_1, k_2 = stiffness[first], stiffness[second]
        share = k_2 / np.where(k_1 + k_2 > 0.0, k_1 + k_2, 1.0)
        on_plane = np.isinf(self._radius[first])
        r_1, r_2 = np.where(on_plane, 0.0, self._radius[first]), self._radius[second]

        def both(values: list[float]) -> FloatArray:
            mu = np.array(values, dtype=float)
            a, b = mu[first], mu[second]
            return 2.0 * a * b / np.where(a + b > 0.0, a + b, 1.0)

        return Pairs(
            self.first.frames,
            self.second.frames,
            np.ascontiguousarray(self.first.R[:, :, 0]),
            on_plane.astype(np.int64),
            r_1,
            r_2,
            np.where(on_plane, r_2, r_1 * r_2 / (r_1 + r_2)),
            k_1 * share,
            damping[first] * share + damping[second] * (1.0 - share),
            share,
            Friction(
                both([m.static_friction for m in every]),
                both([m.dynamic_friction for m in every]),
                both([m.viscous_friction for m in every]),
                transition[self._force],
            ),
        )

    def _sweep(self) -> Sweep:
        """All shapes and pairs, which come force by force."""
        shapes = np.cumsum([0, *(len(some) for some in self._shapes_of)])
        pairs = np.searchsorted(self._force, np.arange(len(self._shapes_of) + 1))
        return Sweep(shapes, self._place.frames, self._radius, pairs, self._first, self._second)

    def acting(self, s: Moving, found: Found) -> Acting:
        wrench, stored = found.wrench, found.energy
        energy = np.zeros((len(stored), len(self.names)))
        for pair, force in enumerate(self._force.tolist()):
            energy[:, force] += stored[:, pair]
        rows = np.concatenate([self._force, self._force]), np.concatenate([self.first.body, self.second.body])
        return on_bodies(*rows, np.concatenate([-wrench, wrench], axis=1), energy)

    def columns(self, s: Moving, acting: Acting) -> Columns:
        return body_columns(self.names, self._shapes_of, self._place, s, acting)


def body_columns(
    names: Sequence[str], shapes_of: Sequence[Sequence[int]], place: Placed, s: Moving, acting: Acting
) -> Columns:
    """OpenSim's columns of a contact force: for each of its shapes all that the force does to the shape's body."""
    found: Columns = []
    origin = place.body_origin(s)
    for k, name in enumerate(names):
        mine = acting.row_force == k
        for shape in shapes_of[k]:
            rows = mine & (acting.row_body == place.body[shape])
            total = acting.wrench[:, rows].sum(axis=1)
            torque = total[:, :3] - cross(origin[:, shape], total[:, 3:])
            label = f"{name}.{stated.last_name(place.names[shape])}"
            found += vector_columns(k, f"{label}.force", total[:, 3:])
            found += vector_columns(k, f"{label}.torque", torque)
    return found


def _body(model: Model, material: Material) -> str:
    return model.placement(material.shape.frame).body


def _check(force: Force, own: Sequence[Material]) -> None:
    """Refuse shapes whose contact is not computed."""
    for material in own:
        kind = material.shape.kind
        if kind not in (PLANE, BALL, "ContactMesh"):
            raise Unsupported(
                f"{stated.described(force)}: contact of a {kind} ({material.shape.name!r}) is not computed; "
                "spheres and half-spaces are"
            )
    if not own:
        raise InvalidModel(f"{stated.described(force)} names no contact shape")
