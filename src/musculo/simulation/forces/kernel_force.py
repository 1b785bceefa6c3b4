"""A force that is a kernel of the package, compiled ahead as all of them, with the data that it takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.driver_code import Bound
from musculo.kernels.compiler.parts import Kernel


class KernelForce:
    """A force of `simulate` as a user's kernel is, but nothing is compiled for it.

    Args:
        kernel: a function (t, q, u, tau, *data) that adds to tau.
        data: what it takes besides: numbers, arrays, named tuples of such.
    """

    def __init__(self, kernel: Kernel, *data: Any) -> None:
        self._kernel, self.data = kernel, data

    def __call__(self, t: float, q: FloatArray, u: FloatArray, tau: FloatArray) -> None:
        """Add the forces at a state to tau (n_u,)."""
        self._kernel(float(t), q, u, tau, *self.data)

    def as_function(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        """The forces (n_u,), as a function of the state gives them."""
        tau = np.zeros(len(u))
        self(t, np.ascontiguousarray(q), np.ascontiguousarray(u), tau)
        return tau

    def bound(self, n: int, n_u: int) -> Bound:
        """For calls from compiled code, with n coordinates and n_u speeds; not for two threads at once."""
        return self._kernel.bound(0.0, np.zeros(n), np.zeros(n_u), np.zeros(n_u), *self.data)
