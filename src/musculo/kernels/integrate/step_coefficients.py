"""Coefficients of Runge-Kutta-Fehlberg, TR-BDF2 and an implicit-explicit method; how lengths of steps are chosen."""

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

# ARK4(3)6L[2]SA of Kennedy & Carpenter 2003, Appl. Numer. Math. 44, appendix C: two methods of fourth order that go
# together, one explicit, the other implicit in its own stage and L-stable.
IMEX_DIAGONAL = 0.25
IMEX_NODES = np.array([0.0, 1 / 2, 83 / 250, 31 / 50, 17 / 20, 1.0])
IMEX_EXPLICIT = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 2, 0.0, 0.0, 0.0, 0.0],
        [13861 / 62500, 6889 / 62500, 0.0, 0.0, 0.0],
        [
            -116923316275 / 2393684061468,
            -2731218467317 / 15368042101831,
            9408046702089 / 11113171139209,
            0.0,
            0.0,
        ],
        [
            -451086348788 / 2902428689909,
            -2682348792572 / 7519795681897,
            12662868775082 / 11960479115383,
            3355817975965 / 11060851509271,
            0.0,
        ],
        [
            647845179188 / 3216320057751,
            73281519250 / 8382639484533,
            552539513391 / 3454668386233,
            3354512671639 / 8306763924573,
            4040 / 17871,
        ],
    ]
)
IMEX_IMPLICIT = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 4, 0.0, 0.0, 0.0, 0.0],
        [8611 / 62500, -1743 / 31250, 0.0, 0.0, 0.0],
        [5012029 / 34652500, -654441 / 2922500, 174375 / 388108, 0.0, 0.0],
        [15267082809 / 155376265600, -71443401 / 120774400, 730878875 / 902184768, 2285395 / 8070912, 0.0],
        [82889 / 524892, 0.0, 15625 / 83664, 69875 / 102672, -2260 / 8211],
    ]
)
IMEX_WEIGHTS = np.array([82889 / 524892, 0.0, 15625 / 83664, 69875 / 102672, -2260 / 8211, 1 / 4])
IMEX_THIRD = np.array(
    [
        4586570599 / 29645900160,
        0.0,
        178811875 / 945068544,
        814220225 / 1159782912,
        -3700637 / 11593932,
        61727 / 225920,
    ]
)
IMEX_DIFFERENCE = IMEX_WEIGHTS - IMEX_THIRD

# The next step is as long as this part of what the error allows, and at least and at most so many times the last.
SAFETY, LEAST, MOST = 0.9, 0.2, 5.0
# Errors below this part of what is allowed count as that.
NO_ERROR = 1e-10
# A step below this part of the time at hand leads nowhere.
SMALLEST = 1e-12
# Orders of the error estimates.
FEHLBERG_ORDER, TR_BDF2_ORDER, IMEX_ORDER = 4, 2, 3
