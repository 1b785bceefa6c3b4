"""Coefficients of Runge-Kutta-Fehlberg and of TR-BDF2, and how lengths of steps are chosen."""

from __future__ import annotations

import numpy as np

# Fehlberg 1969, NASA TR R-315, table III.
NODES = np.array([0.0, 1 / 4, 3 / 8, 12 / 13, 1.0, 1 / 2])
STAGES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 4, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3 / 32, 9 / 32, 0.0, 0.0, 0.0, 0.0],
        [1932 / 2197, -7200 / 2197, 7296 / 2197, 0.0, 0.0, 0.0],
        [439 / 216, -8.0, 3680 / 513, -845 / 4104, 0.0, 0.0],
        [-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40, 0.0],
    ]
)
FOURTH = np.array([25 / 216, 0.0, 1408 / 2565, 2197 / 4104, -1 / 5, 0.0])
FIFTH = np.array([16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55])
DIFFERENCE = FIFTH - FOURTH

# TR-BDF2: the part of the step that the trapezoidal rule takes; with it both stages have one matrix.
GAMMA = float(2.0 - np.sqrt(2.0))
DIAGONAL = 0.5 * GAMMA
_W = float(np.sqrt(2.0) / 4.0)
SECOND = np.array([_W, _W, DIAGONAL])
THIRD = np.array([(1.0 - _W) / 3.0, (3.0 * _W + 1.0) / 3.0, DIAGONAL / 3.0])
BETWEEN = SECOND - THIRD
# Newton's iterations of a stage, which end at a change of this part of the error allowed.
ROUNDS, SMALL = 12, 1e-3
# Of a forward difference, as a part of the state.
NUDGE = float(np.sqrt(np.finfo(float).eps))

# The next step is as long as this part of what the error allows, and at least and at most so many times the last.
SAFETY, LEAST, MOST = 0.9, 0.2, 5.0
# Errors below this part of what is allowed count as that.
NO_ERROR = 1e-10
# A step below this part of the time at hand leads nowhere.
SMALLEST = 1e-12
# Orders of the error estimates.
FEHLBERG_ORDER, TR_BDF2_ORDER = 4, 2
