"""Rotation prescribed by angles between directions of two frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from musculo.absolute.drivers.driver import FrameDriver
from musculo.absolute.euler_parameters import rotation_matrix
from musculo.absolute.given_motion import Given
from musculo.absolute.terms import Row, dot, number
from musculo.arrays import FloatArray
from musculo.model.body import Vec3
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS

Pair = tuple[Vec3, Vec3]
# With x of the first frame go x and y of the second: where one is aligned, the other is across.
ABOUT_Z: tuple[Pair, ...] = ((X_AXIS, X_AXIS), (X_AXIS, Y_AXIS))
# Six for a spherical joint: each axis of the first frame with two of the second.
ALL_AXES: tuple[Pair, ...] = (
    *ABOUT_Z,
    (Y_AXIS, Y_AXIS),
    (Y_AXIS, Z_AXIS),
    (Z_AXIS, Z_AXIS),
    (Z_AXIS, X_AXIS),
)


@dataclass(frozen=True, eq=False)
class AngleDriver(FrameDriver):
    """s_i . s_j - cos theta(t): one equation a pair of directions.

    The gradient of one pair is sin theta and vanishes where the directions align. So every rotation has a second,
    redundant pair across the first (`ABOUT_Z`, `ALL_AXES`), and the equations are solved by least squares.

    Source:  Antunes2025 eq. 6-15; section 4.1 for the second vector.
    Departs: eq. 9 needs -s~; eq. 11 needs G s- L^T. Here both follow from s x t.
    """

    guides: ClassVar[bool] = True

    pairs: tuple[Pair, ...] = ABOUT_Z

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(f"{self.name}:{k}" for k in range(len(self.pairs)))

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        told = zip(self.pairs, self.numbers, strict=True)
        return tuple((dot(first, a, second, b), -number(name)) for (a, b), name in told)

    def signals(self, given: Given) -> dict[str, FloatArray]:
        orientation = self._orientation(given)
        p, omega, alpha = orientation
        R = rotation_matrix(p)
        found = {}
        for (a, b), name in zip(self.pairs, self.numbers, strict=True):
            s, t = np.asarray(a, dtype=float), R @ np.asarray(b, dtype=float)
            rate = np.cross(omega, t)
            second = np.cross(alpha, t) + np.cross(omega, rate)
            found[name] = np.stack([t @ s, rate @ s, second @ s], axis=1)
        return found | self._pose(orientation)
