"""Chains of links from a Denavit-Hartenberg table, as robotics states mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.model.body import GROUND, Body, Placement, Vec3
from musculo.model.coordinate import Coordinate
from musculo.model.joints.joint import Joint
from musculo.model.joints.pin import PinJoint
from musculo.model.joints.slider import SliderJoint
from musculo.model.model import STANDARD_GRAVITY, Model
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import from_xyz, to_xyz

Convention = Literal["classic", "modified"]
_COLUMNS = "theta, d, a, alpha"
# Turns x to z: sliders move along x of their frame, links along z.
_X_TO_Z = Pose(from_xyz((0.0, -0.5 * np.pi, 0.0)), np.zeros(3))


def denavit_hartenberg(
    table: ArrayLike,
    joints: str | None = None,
    *,
    convention: Convention = "classic",
    bodies: Sequence[Body] | None = None,
    coordinates: Sequence[str] | None = None,
    base: Placement | None = None,
    gravity: Vec3 = STANDARD_GRAVITY,
    name: str = "chain",
) -> Model:
    """A chain of links whose frames follow each other by four numbers each.

        classic:   X_(j-1)j = R_z(theta_j) T_z(d_j) T_x(a_j) R_x(alpha_j)
        modified:  X_(j-1)j = R_x(alpha_j) T_x(a_j) R_z(theta_j) T_z(d_j)

    A coordinate is added to theta of a revolute joint (about z of the link before; of its own link in the modified
    convention) and to d of a prismatic one. Classic frames sit at the far end of a link, modified ones at its joint.

    Source:  [Barman2020] eq. 2.3-2.12 (classic); Craig, Introduction to Robotics (modified; its row j has a and alpha
             of link j - 1).

    Args:
        table: (links, 4) theta [rad], d [m], a [m], alpha [rad]. Of what moves it is the value at coordinate zero.
        joints: a letter for each link, R (revolute) or P (prismatic); all revolute by default.
        convention: "classic" or "modified".
        bodies: the links, with mass centers and inertias in their frames; by default link1, link2, ... without mass.
        coordinates: names; q1, q2, ... by default.
        base: where the first frame is; ground by default.
        gravity: [m/s^2] in ground.
        name: of the model.

    Raises:
        InvalidInput: a table, letters, bodies or names that do not fit.
    """
    try:
        rows = np.asarray(table, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"the table is not numbers: {error}") from None
    if rows.ndim != 2 or rows.shape[1] != 4 or not len(rows) or not np.isfinite(rows).all():
        raise InvalidInput(f"the table has shape {rows.shape}; it needs a row of {_COLUMNS} for each link, all finite")
    if convention not in get_args(Convention):
        raise InvalidInput(f"convention is {convention!r}; known: {', '.join(get_args(Convention))}")
    n = len(rows)
    kinds = "R" * n if joints is None else joints
    if len(kinds) != n or set(kinds) - set("RP"):
        raise InvalidInput(f"joints is {joints!r}; it needs {n} letters, R (revolute) or P (prismatic), for the links")
    links = tuple(Body(f"link{k + 1}", 0.0) for k in range(n)) if bodies is None else tuple(bodies)
    names = tuple(f"q{k + 1}" for k in range(n)) if coordinates is None else tuple(coordinates)
    for what, given in (("bodies", links), ("coordinates", names)):
        if len(given) != n:
            raise InvalidInput(f"{what} has {len(given)} entries for {n} links; give one for each")
    before = Placement(GROUND) if base is None else base
    made: list[Joint] = []
    for link, row, kind, coordinate in zip(links, rows, kinds, names, strict=True):
        here = Pose.from_xyz(before.orientation, before.translation)
        theta, d, a, alpha = row
        moved, across = _along_z(theta, d), _along_x(a, alpha)
        inboard, outboard = (here @ moved, across.inverse())
        if convention == "modified":
            inboard, outboard = here @ across @ moved, Pose.identity()
        if kind == "P":
            inboard, outboard = inboard @ _X_TO_Z, outboard @ _X_TO_Z
        places = _placement(before.body, inboard), _placement(link.name, outboard)
        joint = PinJoint if kind == "R" else SliderJoint
        made.append(joint(f"{link.name}_joint", *places, (Coordinate(coordinate),)))
        before = Placement(link.name)
    return Model(name, links, tuple(made), gravity=gravity)


def _along_z(theta: float, d: float) -> Pose:
    return Pose(from_xyz((0.0, 0.0, theta)), np.array([0.0, 0.0, d]))


def _along_x(a: float, alpha: float) -> Pose:
    return Pose(from_xyz((alpha, 0.0, 0.0)), np.array([a, 0.0, 0.0]))


def _placement(body: str, X: Pose) -> Placement:
    def three(values: FloatArray) -> Vec3:
        x, y, z = (float(v) for v in values)
        return x, y, z

    return Placement(body, three(X.p), three(to_xyz(X.R)))
