"""The cross product of many vectors at once."""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """a x b (..., 3) along the last axis; `numpy.cross` takes two to five times as long."""
    first, second, third = a[..., 0], a[..., 1], a[..., 2]
    x, y, z = b[..., 0], b[..., 1], b[..., 2]
    found = np.empty((*np.broadcast_shapes(a.shape, b.shape)[:-1], 3), np.result_type(a, b))
    np.subtract(second * z, third * y, out=found[..., 0])
    np.subtract(third * x, first * z, out=found[..., 1])
    np.subtract(first * y, second * x, out=found[..., 2])
    return found
