"""What bounds the error and the length of a step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray


@dataclass(frozen=True)
class Control:
    """What bounds a step: err_i <= rtol |y_i| + atol, in the root mean square over i; and its length [s]."""

    rtol: float
    atol: float
    max_step: float = np.inf

    def size(self, error: FloatArray, *states: FloatArray) -> float:
        """Error as a part of what is allowed."""
        largest = np.max(np.abs(states), axis=0)
        part = error / (self.atol + self.rtol * largest)
        return math.sqrt(float(part @ part) / part.size) if part.size else 0.0
