"""Figures that [Antunes2025] prints in its tables."""

from __future__ import annotations

from typing import NamedTuple


class Timed(NamedTuple):
    """Table 3: equations, frames, and times [ms/frame], by angles and by Euler parameters."""

    frames: int
    equations: tuple[int, int]
    kinematic: tuple[float, float]
    dynamic: tuple[float, float]


TABLE_3 = {
    "abduction": Timed(324, (64, 49), (10.772, 8.694), (0.190, 0.046)),
    "flexion": Timed(352, (64, 49), (11.848, 8.747), (0.179, 0.045)),
    "behind the back": Timed(213, (64, 49), (19.046, 8.882), (0.203, 0.031)),
    "combing": Timed(286, (64, 49), (11.974, 8.818), (0.202, 0.036)),
    "gait": Timed(118, (105, 91), (28.947, 17.719), (0.695, 0.173)),
}
# Table 2: mean and largest differences [degrees] from the prescribed angle, by angles and by Euler parameters.
TABLE_2 = {
    "abduction": {
        "GH elevation": ((0.00, 0.00), (0.00, 0.00)),
        "HU flexion": ((1.07, 2.08), (0.52, 0.85)),
        "RU pronation": ((0.31, 0.68), (1.53, 2.42)),
    },
    "combing": {
        "GH elevation": ((0.00, 0.00), (0.00, 0.00)),
        "HU flexion": ((0.80, 1.70), (0.32, 0.82)),
        "RU pronation": ((0.29, 0.57), (1.35, 2.04)),
    },
}
# "Differences of < 3 degrees"; the knee's in gait; and what no knee and no hyperextended knee exceeds (figure 5).
LARGEST_DIFFERENCE = 3.0
KNEE_IN_GAIT = {"angle": 1.69, "euler": 2.64}
LARGEST_KNEE = 125.0
