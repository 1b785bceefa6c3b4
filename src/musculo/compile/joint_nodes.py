"""From joints to nodes: constant motion folded away, plain rotations and translations one node each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel
from musculo.functions.elementary_functions import Constant, Linear, Scaled
from musculo.functions.function import Function
from musculo.kernels.tree.nodes import BALL, ELLIPSOID, FREE, FUNCTION, PRISMATIC, REVOLUTE
from musculo.model.body import Placement
from musculo.model.joints.joint import (
    Axis,
    BallMotion,
    EllipsoidMotion,
    FixedPose,
    FreeMotion,
    FunctionMotion,
    Joint,
    Motion,
)
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import axis_rotation


@dataclass
class Node:
    """One mobilizer on its way into the tree: X_PF is constant in the frame of the node before it."""

    kind: int
    X_PF: Pose
    coordinates: tuple[str, ...] = ()  # of q, in the order the kernel reads them
    speeds: tuple[str, ...] = ()
    reversed: bool = False
    quaternion: bool = False
    radii: tuple[float, float, float] = (1.0, 1.0, 1.0)
    axes: tuple[Axis | None, ...] = ()  # six, of a function node
    guided: bool = False  # a function node that turns about z of F by its coordinate, and slides as that says
    joint: str = ""


def placed(placement: Placement) -> Pose:
    """X_BF of a placement."""
    return Pose.from_xyz(placement.orientation, placement.translation)


def unit(axis: Sequence[float], joint: str) -> FloatArray:
    """The axis normalized; an axis without direction is an error that names the joint."""
    a = np.asarray(axis, dtype=float)
    length = np.linalg.norm(a)
    if not np.isfinite(length) or length < 1e-12:
        raise InvalidModel(f"joint {joint!r}: axis {tuple(axis)} has no direction; give three numbers, not all zero")
    return a / length


def _frame_with_z(axis: FloatArray) -> FloatArray:
    """A rotation whose third column is `axis`; exact (a permutation) for coordinate axes."""
    for k in range(3):
        for sign in (1.0, -1.0):
            if axis[k] == sign:
                R = np.zeros((3, 3))
                R[k, 2] = sign
                R[(k + 1) % 3, 0] = 1.0
                R[(k + 2) % 3, 1] = sign
                return R
    x = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _plain(function: Function) -> tuple[float, float] | None:
    """(slope, offset) of a function that is constant (slope 0) or the coordinate itself up to sign and offset."""
    scale = 1.0
    while isinstance(function, Scaled):
        scale, function = scale * function.scale, function.function
    if isinstance(function, Constant):
        return 0.0, scale * function.value
    if isinstance(function, Linear) and scale * function.slope in (0.0, 1.0, -1.0):
        return scale * function.slope, scale * function.intercept
    return None


def _of_several(axis: Axis | None) -> bool:
    """Whether an axis is driven by several coordinates at once."""
    return axis is not None and axis.function.n_arguments > 1


def _misfit(joint: Joint) -> InvalidModel:
    return InvalidModel(
        f"joint {joint.name!r} has {len(joint.coordinates)} coordinates "
        f"({', '.join(joint.coordinate_names) or 'none'}), which is not what a {joint.kind} has; "
        "give it one coordinate for each motion of its kind"
    )


def _motions_of(joint: Joint) -> tuple[Motion, ...]:
    """The joint's motions; a joint given more or fewer coordinates than its kind has cannot say them."""
    try:
        return joint.motions()
    except ValueError:
        raise _misfit(joint) from None


class NodeChain:
    """The nodes of one joint, from its inboard to its outboard frame; `after` is what follows the last node."""

    def __init__(self, joint: Joint, X_start: Pose, backwards: bool) -> None:
        self.joint = joint
        self.backwards = backwards
        self.nodes: list[Node] = []
        self.after = X_start
        motions = _motions_of(joint)
        for motion in reversed(motions) if backwards else motions:
            self._append(motion, idle=self._idle(motions))
        granted = {name for node in self.nodes for name in node.coordinates}
        spare = [name for name in joint.coordinate_names if name not in granted]
        if spare:
            raise _misfit(joint)

    def _idle(self, motions: Sequence[Motion]) -> tuple[str, ...]:
        """Coordinates of the joint that drive nothing; they still are speeds of the tree."""
        used: set[str] = set()
        for motion in motions:
            if isinstance(motion, FunctionMotion):
                for axis in (*motion.rotations, *motion.translations):
                    plain = _plain(axis.function)
                    if plain is None or plain[0] != 0.0:
                        used.update(axis.coordinates)
            elif not isinstance(motion, FixedPose):
                used.update(motion.coordinates)
        unknown = used.difference(self.joint.coordinate_names)
        if unknown:
            raise InvalidModel(
                f"joint {self.joint.name!r}: its motion names the coordinate {min(unknown)!r}, but the joint has "
                f"{', '.join(self.joint.coordinate_names) or 'none'}"
            )
        return tuple(name for name in self.joint.coordinate_names if name not in used)

    def _append(self, motion: Motion, idle: tuple[str, ...]) -> None:
        if isinstance(motion, FixedPose):
            X = Pose.from_xyz(motion.orientation, motion.translation)
            self.after = self.after @ (X.inverse() if self.backwards else X)
        elif isinstance(motion, FunctionMotion):
            if not idle and self._is_plain(motion):
                self._append_plain(motion)
            else:
                self._append_functions(motion, idle)
        else:
            self._append_native(motion)

    def _add(self, node: Node) -> None:
        node.X_PF, node.joint = self.after, self.joint.name
        self.nodes.append(node)
        self.after = Pose.identity()

    def _is_plain(self, motion: FunctionMotion) -> bool:
        driven: list[str] = []
        for axis in (*motion.rotations, *motion.translations):
            plain = _plain(axis.function)
            if plain is None:
                return False
            if plain[0] != 0.0:
                if not axis.coordinates:
                    raise InvalidModel(f"joint {self.joint.name!r}: an axis has a function but no coordinate")
                driven.append(axis.coordinates[0])
        return len(driven) == len(set(driven))

    def _append_plain(self, motion: FunctionMotion) -> None:
        """Translations along fixed axes of F first, then the rotations: X_FM = T(p) R1 R2 R3, one node a coordinate."""
        steps = [(PRISMATIC, axis) for axis in motion.translations] + [(REVOLUTE, axis) for axis in motion.rotations]
        for kind, axis in reversed(steps) if self.backwards else steps:
            plain = _plain(axis.function)
            assert plain is not None
            slope, offset = plain
            direction = unit(axis.direction, self.joint.name) * (-1.0 if self.backwards else 1.0)
            if kind == REVOLUTE:
                fixed = Pose(axis_rotation(direction, offset) if offset else np.eye(3), np.zeros(3))
            else:
                fixed = Pose(np.eye(3), direction * offset)
            self.after = self.after @ fixed
            if slope == 0.0:
                continue
            turn = Pose(_frame_with_z(direction * slope), np.zeros(3))
            self.after = self.after @ turn
            self._add(Node(kind, self.after, axis.coordinates[:1], axis.coordinates[:1]))
            self.after = turn.inverse()

    def _append_functions(self, motion: FunctionMotion, idle: tuple[str, ...]) -> None:
        def six(axes: tuple[Axis, ...]) -> tuple[Axis | None, ...]:
            if len(axes) > 3:
                raise InvalidModel(f"joint {self.joint.name!r}: at most three rotations and three translations")
            # an axis along which nothing ever happens costs nothing
            moving = (axis if _plain(axis.function) != (0.0, 0.0) else None for axis in axes)
            return (*moving, *(None,) * (3 - len(axes)))

        driven = {name for axis in (*motion.rotations, *motion.translations) for name in axis.coordinates}
        names = tuple(name for name in self.joint.coordinate_names if name in driven or name in idle)
        turns, slides = six(motion.rotations), six(motion.translations)
        turning = [axis for axis in turns if axis is not None]
        plain = _plain(turning[0].function) if len(turning) == 1 else None
        if plain is None or not plain[0] or len(names) != 1 or self.backwards or any(map(_of_several, slides)):
            self._add(Node(FUNCTION, self.after, names, names, self.backwards, axes=turns + slides))
            return
        # one turn by the coordinate itself, about z of a frame of our own, as a pin's: T(p) R(a, s q + c) is
        # Z T(Z^T p) R(z, q) Z^T R(a, c), with a frame Z whose third axis is s a
        slope, offset = plain
        direction = unit(turning[0].direction, self.joint.name)
        Z = _frame_with_z(direction * slope)
        seen = tuple(
            None if axis is None else replace(axis, direction=tuple(Z.T @ unit(axis.direction, self.joint.name)))
            for axis in slides
        )
        turn = Axis((0.0, 0.0, 1.0), Linear(1.0, 0.0), names)
        self.after = self.after @ Pose(Z, np.zeros(3))
        self._add(Node(FUNCTION, self.after, names, names, axes=(turn, None, None, *seen), guided=True))
        self.after = Pose(Z.T @ axis_rotation(direction, offset) if offset else Z.T, np.zeros(3))

    def _append_native(self, motion: BallMotion | FreeMotion | EllipsoidMotion) -> None:
        kind = {BallMotion: BALL, FreeMotion: FREE, EllipsoidMotion: ELLIPSOID}[type(motion)]
        quaternion = not isinstance(motion, EllipsoidMotion) and motion.quaternion
        wanted = (7 if quaternion else 6) if kind == FREE else (4 if quaternion else 3)
        if len(motion.coordinates) != wanted:
            # a joint may have coordinates besides those of this motion
            whole = len(self.joint.coordinate_names)
            more = wanted - len(motion.coordinates)
            raise InvalidModel(
                f"joint {self.joint.name!r} ({self.joint.kind}) needs {whole + more} coordinates, it has {whole}"
            )
        speeds = self.joint.speed_names if quaternion else motion.coordinates
        radii = motion.radii if isinstance(motion, EllipsoidMotion) else (1.0, 1.0, 1.0)
        self._add(Node(kind, self.after, motion.coordinates, tuple(speeds), self.backwards, quaternion, radii))
