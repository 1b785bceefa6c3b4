"""Where bodies and points are and how they move, as series: OpenSim's BodyKinematics and PointKinematics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.errors import UnknownName
from musculo.like import Like, Method, method_of
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.results.labeled_arrays import AXES
from musculo.results.provenance import Provenance
from musculo.results.result_base import Result, Series, also
from musculo.results.table import Table
from musculo.spatial.rotation import to_xyz

WHOLE = "center_of_mass"
_DEGREES = 180.0 / np.pi
_AXES = ("X", "Y", "Z")
_TURNS = ("Ox", "Oy", "Oz")


@dataclass(frozen=True, eq=False, repr=False)
class BodyKinematics(Result):
    """Motion of mass centers and orientations; arrays have no frame axis for a single pose.

    Velocities and accelerations are those in ground, expressed in ground or, with `in_body_frame`, in each body's
    axes. Those of the whole mass center are always expressed in ground; they are NaN where no body has mass.
    """

    made_by: ClassVar[str] = "body_kinematics"

    model: Model = field(repr=False)
    body_names: tuple[str, ...]
    in_body_frame: bool
    position: FloatArray = field(repr=False)  # (frames, bodies, 3) of mass centers, in ground [m]
    orientation: FloatArray = field(repr=False)  # (frames, bodies, 3) body-fixed x, y, z angles [rad]
    velocity: FloatArray = field(repr=False)  # (frames, bodies, 3) of mass centers [m/s]
    angular_velocity: FloatArray = field(repr=False)  # (frames, bodies, 3) [rad/s]
    acceleration: FloatArray = field(repr=False)  # (frames, bodies, 3) [m/s^2]
    angular_acceleration: FloatArray = field(repr=False)  # (frames, bodies, 3) [rad/s^2]
    center_of_mass: FloatArray = field(repr=False)  # (frames, 3) of the whole model [m]
    center_of_mass_velocity: FloatArray = field(repr=False)  # (frames, 3) [m/s]
    center_of_mass_acceleration: FloatArray = field(repr=False)  # (frames, 3) [m/s^2]

    bodies = also("body_names")

    def _provenance(self) -> Provenance:
        return Provenance.of("body_kinematics", self.model, in_body_frame=self.in_body_frame)

    def _series(self) -> Iterable[Series]:
        of_bodies, whole = {"body": self.body_names, "axis": AXES}, {"axis": AXES}
        yield Series("position", self.position, of_bodies, "m")
        yield Series("orientation", self.orientation, of_bodies, "rad")
        yield Series("velocity", self.velocity, of_bodies, "m/s")
        yield Series("angular_velocity", self.angular_velocity, of_bodies, "rad/s")
        yield Series("acceleration", self.acceleration, of_bodies, "m/s^2")
        yield Series("angular_acceleration", self.angular_acceleration, of_bodies, "rad/s^2")
        yield Series("center_of_mass", self.center_of_mass, whole, "m")
        yield Series("center_of_mass_velocity", self.center_of_mass_velocity, whole, "m/s")
        yield Series("center_of_mass_acceleration", self.center_of_mass_acceleration, whole, "m/s^2")

    def tables(self, time: ArrayLike, degrees: bool = False, center_of_mass: bool = True) -> dict[str, Table]:
        """`pos`, `vel` and `acc` with the columns of OpenSim's files: `<body>_X .. _Z`, `_Ox .. _Oz` for each body.

        Args:
            time: (frames,) [s].
            degrees: angles and their rates in degrees, as OpenSim writes them unless told otherwise.
            center_of_mass: whether `center_of_mass_X .. _Z` follow, as with `bodies` = all in OpenSim.
        """
        names = [f"{body}_{axis}" for body in self.body_names for axis in (*_AXES, *_TURNS)]
        names += [f"{WHOLE}_{axis}" for axis in _AXES] * center_of_mass
        factor, angle = (_DEGREES, "deg") if degrees else (1.0, "rad")
        series = {
            "pos": (self.position, self.orientation, self.center_of_mass, ""),
            "vel": (self.velocity, self.angular_velocity, self.center_of_mass_velocity, "/s"),
            "acc": (self.acceleration, self.angular_acceleration, self.center_of_mass_acceleration, "/s^2"),
        }
        made = self.provenance
        tables = {}
        for what, (linear, angular, whole, per) in series.items():
            each = np.concatenate([linear, factor * angular], axis=-1)
            values = each.reshape(*each.shape[:-2], -1)
            if center_of_mass:
                values = np.concatenate([values, whole], axis=-1)
            units = (*((f"m{per}",) * 3 + (f"{angle}{per}",) * 3) * len(self.body_names), *(f"m{per}",) * 3)[
                : len(names)
            ]
            tables[what] = Table(
                np.atleast_1d(time),
                tuple(names),
                np.atleast_2d(values),
                degrees=degrees,
                units=units,
                name=_TITLES[what],
                provenance=made,
            )
        return tables


_TITLES = {"pos": "Positions", "vel": "Velocities", "acc": "Accelerations"}


def body_kinematics(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    udot: ArrayLike,
    bodies: str | Sequence[str] | None = None,
    *,
    in_body_frame: bool = False,
    threads: int | None = None,
) -> BodyKinematics:
    """Position, orientation, velocity and acceleration of bodies at their mass centers, and of the whole mass center.

    Source: OpenSim 4.6's BodyKinematics, observed behavior; its accelerations are those of its forces, here `udot`.

    Args:
        model: the model.
        q, u, udot: (frames, n) or (n,) coordinates, speeds and their derivatives, all of the file in its order.
        bodies: by name; all by default, without ground.
        in_body_frame: express velocities and accelerations in the axes of each body.
        threads: the number of threads; all cores by default.
    """
    names = model.body_names if bodies is None else (bodies,) if isinstance(bodies, str) else tuple(bodies)
    for name in names:
        if name not in model.body_names:
            raise UnknownName("body", name, model.body_names, model.source or f"model {model.name!r}")
    motion = kinematics(model, q, u, udot, threads=threads)
    shape = () if motion.single else (motion.frames,)
    parts: dict[str, FloatArray] = {
        key: np.empty((*shape, len(names), 3)) for key in ("p", "o", "v", "w", "a", "alpha")
    }
    for k, name in enumerate(names):
        center, R = model.body(name).mass_center, motion.pose(name).R
        parts["p"][..., k, :] = motion.position(name, center)
        parts["o"][..., k, :] = to_xyz(R)
        vectors = (
            ("v", motion.velocity(name, center)),
            ("w", motion.angular_velocity(name)),
            ("a", motion.acceleration(name, center)),
            ("alpha", motion.angular_acceleration(name)),
        )
        for key, vector in vectors:
            parts[key][..., k, :] = np.einsum("...ji,...j->...i", R, vector) if in_body_frame else vector
    p, v, a = _whole(model, motion)
    return BodyKinematics(
        model,
        names,
        in_body_frame,
        parts["p"],
        parts["o"],
        parts["v"],
        parts["w"],
        parts["a"],
        parts["alpha"],
        p,
        v,
        a,
    )


def _whole(model: Model, motion: Kinematics) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Position, velocity and acceleration of the mass center of all bodies; NaN where none has mass."""
    heavy = [body for body in model.bodies if body.mass > 0.0]
    total = sum(body.mass for body in heavy)
    sums = [np.full((3,) if motion.single else (motion.frames, 3), 0.0 if heavy else np.nan) for _ in range(3)]
    for body in heavy:
        for at, of in zip(sums, (motion.position, motion.velocity, motion.acceleration), strict=True):
            at += body.mass / total * of(body.name, body.mass_center)
    return sums[0], sums[1], sums[2]


@dataclass(frozen=True, eq=False, repr=False)
class PointKinematics(Result):
    """Motion of a point fixed to a body; arrays have no frame axis for a single pose."""

    made_by: ClassVar[str] = "point_kinematics"

    model: Model = field(repr=False)
    body: str
    point: tuple[float, ...]  # in the body's frame [m]
    relative_to: str  # the frame that the results are relative to
    method: Method
    position: FloatArray = field(repr=False)  # (frames, 3) [m]
    velocity: FloatArray = field(repr=False)  # (frames, 3) [m/s]
    acceleration: FloatArray = field(repr=False)  # (frames, 3) [m/s^2]

    def _provenance(self) -> Provenance:
        return Provenance.of(
            "point_kinematics", self.model, body=self.body, relative_to=self.relative_to, method=self.method
        )

    def _series(self) -> Iterable[Series]:
        yield Series("position", self.position, {"axis": AXES}, "m")
        yield Series("velocity", self.velocity, {"axis": AXES}, "m/s")
        yield Series("acceleration", self.acceleration, {"axis": AXES}, "m/s^2")

    def tables(self, time: ArrayLike) -> dict[str, Table]:
        """`pos`, `vel` and `acc` with the columns of OpenSim's files, which it calls `state_0 .. state_2`."""
        made = self.provenance
        series = {"pos": (self.position, "m"), "vel": (self.velocity, "m/s"), "acc": (self.acceleration, "m/s^2")}
        return {
            what: Table(
                np.atleast_1d(time),
                ("state_0", "state_1", "state_2"),
                np.atleast_2d(values),
                units=(unit,) * 3,
                name=_POINT_TITLES[what],
                provenance=made,
            )
            for what, (values, unit) in series.items()
        }


_POINT_TITLES = {"pos": "PointPosition", "vel": "PointVelocity", "acc": "PointAcceleration"}


def point_kinematics(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    udot: ArrayLike,
    body: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    relative_to: str | None = None,
    *,
    like: Like | None = None,
    threads: int | None = None,
) -> PointKinematics:
    """Position, velocity and acceleration of a point of a body, in ground or as seen from another body.

        p = R^T (x - o),   v = R^T (xdot - odot - w x r),   a = R^T (xddot - oddot - alpha x r - w x (w x r) - 2 w x vr)

    with the other body at o, R, turning with w and alpha; r = x - o and vr = xdot - odot - w x r.

    Departs: `like="opensim"` gives OpenSim's numbers: p as here, but v = R^T xdot and a = R^T xddot, the motion in
             ground merely expressed in the axes of the other body.

    Args:
        model: the model.
        q, u, udot: (frames, n) or (n,) coordinates, speeds and their derivatives, all of the file in its order.
        body: a body, or a frame of the model, that the point is fixed to.
        point: (3,) in that frame [m].
        relative_to: another body or frame; ground by default.
        like: "opensim" for OpenSim's numbers, which differ where `relative_to` moves.
        threads: the number of threads; all cores by default.
    """
    method = method_of(like, None)
    frame = GROUND if relative_to is None else relative_to
    motion = kinematics(model, q, u, udot, threads=threads)
    x, v, a = motion.position(body, point), motion.velocity(body, point), motion.acceleration(body, point)
    location = tuple(float(c) for c in np.asarray(point, dtype=float).ravel())
    X = motion.pose(frame)
    if method == "exact":
        w, alpha = motion.angular_velocity(frame), motion.angular_acceleration(frame)
        r = x - X.p
        v = v - motion.velocity(frame) - np.cross(w, r)
        a = a - motion.acceleration(frame) - np.cross(alpha, r) - np.cross(w, np.cross(w, r)) - 2.0 * np.cross(w, v)
    p, v, a = (np.einsum("...ji,...j->...i", X.R, vector) for vector in (x - X.p, v, a))
    return PointKinematics(model, body, location, frame, method, p, v, a)
