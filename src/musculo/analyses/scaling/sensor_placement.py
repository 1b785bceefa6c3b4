"""Sensors put on a model: frames turned as the sensors were, in a pose that is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput
from musculo.like import Like, like_opensim
from musculo.model.body import GROUND, Frame, Placement
from musculo.model.model import Model
from musculo.results.orientations import Orientations
from musculo.spatial.rotation import axis_rotation, to_xyz

# What OpenSim's placer takes off the name of a sensor to find its body.
_SUFFIX = "_imu"
# An axis with less than this part of it in the horizontal plane says too little of a heading.
_HORIZONTAL = 0.1


@dataclass(frozen=True, eq=False)
class PlacedSensors:
    """The model with a frame for each sensor.

    Args:
        model: the model; frames have the names of the sensors, so that `inverse_kinematics` finds them.
        frames: their paths, by sensor.
        heading: the angle about ground's y [rad] by which measurements were turned first; 0 if no base was named.
        unplaced: sensors for which no body was found.
    """

    model: Model
    frames: dict[str, str]
    heading: float
    unplaced: tuple[str, ...]

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) the turn by `heading`; `trial.rotated(rotation)` faces as the model does."""
        return axis_rotation((0.0, 1.0, 0.0), self.heading)


def place_sensors(
    model: Model,
    orientations: Orientations,
    *,
    pose: ArrayLike | None = None,
    bodies: Mapping[str, str] | None = None,
    base: str | None = None,
    heading_axis: str | None = None,
    like: Like | None = None,
    time_range: tuple[float, float] | None = None,
) -> PlacedSensors:
    """The model with frames for the sensors, turned on their bodies as they were while the subject held a known pose.

        R_BS = R_WB(pose)^T Ry(heading) R_WS

    A new frame sits at the mass center of its body; one of the sensor's name that is there already keeps its place.

    With a base sensor all measurements are first turned about the vertical, so that the base's axis points where the x
    axis of the model's first body on ground does. That is the angle between both in the horizontal plane.

    Source:  OpenSim 4.6, `IMUPlacer::run`, `OpenSenseUtilities::computeHeadingCorrection`.
    Departs: OpenSim takes the angle between both axes in space (`like="opensim"`), which is too large where one of them
             is not level: a sensor tilted by 30 degrees that points straight ahead is turned by 30 degrees, every frame
             is twisted on its body by as much, and joint angles come out wrong. With "horizontal" orientations made
             from a known motion give that motion back (`tests/oracles/test_orientations_opensim.py`).

    Args:
        model: the model.
        orientations: of the static trial, in a ground with y up.
        pose: (n,) the pose that the subject held [rad, m], by default the default pose.
        bodies: the body of each sensor; by default that of its frame if the model has one of its name, else the one
            named as the sensor without `_imu`, as OpenSim has it.
        base, heading_axis: the sensor whose axis, one of x, -x, y, -y, z, -z, points ahead; both or none.
        like: "opensim" for its angle; see above.
        time_range: the frames whose mean is used [s]; the first frame of all by default, as OpenSim does.

    Raises:
        UnknownName: a sensor or body that is not there.
        InvalidInput: no sensor has a body, a sensor measured nothing then, or the axis is upright.
    """
    if not isinstance(orientations, Orientations):
        raise InvalidInput(f"orientations are {type(orientations).__name__}; read them with read_orientations(path)")
    if not len(orientations):
        raise InvalidInput(f"{orientations.source or 'the static trial'} has no frame")
    still = orientations.between(*time_range) if time_range is not None else _first(orientations)
    Q = embedding_of(model).default_pose() if pose is None else np.asarray(pose, dtype=float)
    if Q.shape != (len(model.coordinate_names),):
        raise InvalidInput(f"pose has shape {Q.shape}; it needs ({len(model.coordinate_names)},)")
    motion = kinematics(model, Q)
    homes, unplaced = _homes(model, still, bodies or {})
    angle = _heading(model, motion, still, base, heading_axis, like_opensim(like))
    turn = axis_rotation((0.0, 1.0, 0.0), angle)
    frames = {frame.path: frame for frame in model.frames}
    for sensor, home in homes.items():
        R_BS = motion.pose(home.placement.body).R.T @ turn @ still.mean(sensor)
        x, y, z = to_xyz(R_BS).tolist()
        frames[home.path] = replace(home, placement=replace(home.placement, orientation=(x, y, z)))
    paths = {sensor: home.path for sensor, home in homes.items()}
    return PlacedSensors(model.replace(frames=tuple(frames.values())), paths, angle, unplaced)


def _first(orientations: Orientations) -> Orientations:
    return replace(orientations, time=orientations.time[:1], quaternion=orientations.quaternion[:1])


def _homes(model: Model, still: Orientations, bodies: Mapping[str, str]) -> tuple[dict[str, Frame], tuple[str, ...]]:
    """The frame of each sensor, new ones at the mass center of their body; and the sensors without one."""
    own = {frame.path.rsplit("/", 1)[-1]: frame for frame in model.frames}
    for sensor in bodies:
        still.sensor(sensor)
    homes: dict[str, Frame] = {}
    unplaced = []
    for sensor in still.names:
        body = bodies.get(sensor, sensor.rpartition(_SUFFIX)[0])
        if sensor in own:
            homes[sensor] = own[sensor]
            there = own[sensor].placement.body
            if bodies.get(sensor, there) != there:
                raise InvalidInput(
                    f"the model has a frame {sensor!r} on {there!r} already; bodies= puts it on {body!r}: rename one"
                )
        elif sensor in bodies or body in model.body_names:
            place = Placement(body, model.body(body).mass_center, name=sensor)
            homes[sensor] = Frame(f"/bodyset/{body}/{sensor}", place)
        else:
            unplaced.append(sensor)
    if not homes:
        raise InvalidInput(
            f"no sensor ({', '.join(still.names[:6])}) has a body in {model.name!r} "
            f"({', '.join(model.body_names[:6])}); name sensors after bodies, with {_SUFFIX} at the end, or say in "
            "bodies= which body each is on"
        )
    return homes, tuple(unplaced)


def _heading(
    model: Model, motion: Kinematics, still: Orientations, base: str | None, axis: str | None, opensim: bool
) -> float:
    """The angle about y that turns the base's axis to where the model's base points [rad]."""
    if base is None and axis is None:
        return 0.0
    if base is None or axis is None:
        raise InvalidInput("a heading needs both base, the name of a sensor, and heading_axis; give both or none")
    word = axis.lower().lstrip("+")
    if word not in ("x", "y", "z", "-x", "-y", "-z"):
        raise InvalidInput(f"heading_axis={axis!r}; known: x, -x, y, -y, z, -z")
    measured = still.mean(base)[:, "xyz".index(word[-1])] * (-1.0 if word[0] == "-" else 1.0)
    root = next((joint.child.body for joint in model.joints if joint.parent.body == GROUND), None)
    if root is None:
        raise InvalidInput(f"no joint of {model.name!r} has ground as its parent, so it has no heading; omit base")
    ahead = motion.pose(root).R[:, 0]
    if opensim:
        angle = math.acos(min(max(float(measured @ ahead), -1.0), 1.0))
        return -angle if np.cross(ahead, measured)[1] > 0.0 else angle
    for what, vector in ((f"axis {axis} of {base!r}", measured), (f"the x axis of {root!r}", ahead)):
        if math.hypot(vector[0], vector[2]) < _HORIZONTAL:
            raise InvalidInput(f"{what} is upright and has no heading; choose another axis or sensor")
    turn = math.atan2(-ahead[2], ahead[0]) - math.atan2(-measured[2], measured[0])
    return math.remainder(turn, 2.0 * math.pi)
