"""Frames on bodies, fixed to them or moved on them, between which equations are stated."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from musculo.absolute.euler_parameters import product, rotation_matrix
from musculo.arrays import FloatArray
from musculo.model.body import Placement
from musculo.model.joints.joint import FixedPose, FunctionMotion
from musculo.spatial.rotation import quaternion_from_xyz


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame on a body: at `placement`, at `before` in it, then moved by `motion`, then at `after`.

    Args:
        placement: where it is on its body; the name of a body stands for its own frame.
        motion: how it moves on its body: by functions of coordinates, which are unknowns then; or as the driver of this
            name is told, over time. None for a frame fixed to its body.
        after: a fixed pose behind the motion.
        before: a fixed pose between placement and motion.
    """

    placement: Placement | str
    motion: FunctionMotion | str | None = None
    after: FixedPose = field(default_factory=FixedPose)
    before: FixedPose = field(default_factory=FixedPose)

    @cached_property
    def place(self) -> Placement:
        """The placement, also where it was given as the name of a body."""
        return Placement(self.placement) if isinstance(self.placement, str) else self.placement

    @property
    def body(self) -> str:
        """The body that it is on."""
        return self.place.body

    @cached_property
    def base(self) -> tuple[FloatArray, FloatArray]:
        """Euler parameters and place on its body, before its motion."""
        own, more = self.place, self.before
        p, r = quaternion_from_xyz(own.orientation), np.asarray(own.translation, dtype=float)
        if more == FixedPose():
            return p, r
        shift = rotation_matrix(p) @ np.asarray(more.translation, dtype=float)
        return product(p, quaternion_from_xyz(more.orientation)), r + shift

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """The coordinates that move it, each once."""
        if not isinstance(self.motion, FunctionMotion):
            return ()
        axes = (*self.motion.rotations, *self.motion.translations)
        return tuple(dict.fromkeys(name for axis in axes for name in axis.coordinates[: axis.function.n_arguments]))


def framed(frame: Frame | Placement | str) -> Frame:
    """A frame, also where a placement or the name of a body stands for it."""
    return frame if isinstance(frame, Frame) else Frame(frame)
