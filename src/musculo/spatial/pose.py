"""Poses as (R, p): X_AB = (R_AB, p_AoBo_A)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.spatial.rotation import from_xyz


class Pose(NamedTuple):
    """A rigid transform; `X_AB @ X_BC` is X_AC."""

    R: FloatArray
    p: FloatArray

    @classmethod
    def identity(cls) -> Pose:
        return cls(np.eye(3), np.zeros(3))

    @classmethod
    def from_xyz(cls, orientation: ArrayLike, translation: ArrayLike) -> Pose:
        """Rotated by body-fixed x, y, z angles [rad] and placed at `translation` [m]."""
        return cls(from_xyz(orientation), np.asarray(translation, dtype=float))

    def __matmul__(self, other: Pose) -> Pose:
        return Pose(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Pose:
        return Pose(self.R.T, -self.R.T @ self.p)

    def apply(self, point: ArrayLike) -> FloatArray:
        """The point given in B, in A."""
        return self.p + self.R @ np.asarray(point, dtype=float)
