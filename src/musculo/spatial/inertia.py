"""Rigid-body inertias: mass, first moment, and the tensor about a frame's origin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.spatial.pose import Pose


def tensor(six: ArrayLike) -> FloatArray:
    """(3, 3) tensor from (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz, xy, xz, yz = np.asarray(six, dtype=float)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


class RigidInertia(NamedTuple):
    """Mass [kg], mass center p [m] and tensor about the mass center [kg m^2], all in one frame."""

    mass: float
    center: FloatArray
    central: FloatArray

    def in_frame(self, X_AB: Pose) -> RigidInertia:
        """The same body, given in B, expressed in A."""
        return RigidInertia(self.mass, X_AB.apply(self.center), X_AB.R @ self.central @ X_AB.R.T)

    @classmethod
    def total(cls, parts: Iterable[RigidInertia]) -> RigidInertia:
        """Several bodies of one frame as one (parallel axes)."""
        parts = list(parts)
        mass = sum(part.mass for part in parts)
        if mass == 0.0:
            return cls(0.0, np.zeros(3), sum((part.central for part in parts), np.zeros((3, 3))))
        center = sum((part.mass * part.center for part in parts), np.zeros(3)) / mass
        central = np.zeros((3, 3))
        for part in parts:
            d = part.center - center
            central = central + part.central + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return cls(mass, center, central)


def is_physical(mass: float, central: FloatArray, tolerance: float = 1e-9) -> bool:
    """Whether some distribution of mass has this tensor: positive semi-definite, and no principal moment larger than
    the sum of the other two (triangle inequality), within `tolerance` of the largest."""
    moments = np.linalg.eigvalsh(central)
    slack = tolerance * max(abs(moments[-1]), 1e-300)
    return bool(mass >= 0.0 and moments[0] >= -slack and moments[0] + moments[1] >= moments[2] - slack)
