"""Fatigue of the muscles of a joint: motor units that rest, are active, or are fatigued."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray

# Both speeds of the controller, large beside all rates of fatigue [1/s] ([Xia2008]).
FOLLOWING = 10.0


class FatigueRates(NamedTuple):
    """How fast active motor units tire, and how fast tired ones recover [1/s]; of several joints as arrays."""

    fatigue: float | FloatArray
    recovery: float | FloatArray


# [FreyLaw2012]: the rates whose endurance times fit those of 194 publications best.
FATIGUE_RATES: Mapping[str, FatigueRates] = {
    "ankle": FatigueRates(0.00589, 0.00058),
    "knee": FatigueRates(0.01500, 0.00149),
    "trunk": FatigueRates(0.00755, 0.00075),
    "shoulder": FatigueRates(0.01820, 0.00168),
    "elbow": FatigueRates(0.00912, 0.00094),
    "grip": FatigueRates(0.00980, 0.00064),
}


def fatigue_rate(compartments: ArrayLike, load: ArrayLike, rates: FatigueRates) -> FloatArray:
    """Rates of the resting, active and fatigued parts of the motor units of a joint [1/s].

        dM_R/dt = -C + R M_F,    dM_A/dt = C - F M_A,    dM_F/dt = F M_A - R M_F
        C = L (TL - M_A)             where M_A > TL, or the resting part suffices
        C = L M_R                    where M_A < TL and M_R < TL - M_A

    The controller C lets the active part follow the load TL, as far as units rest.

    Source:     [Xia2008], eq. 1-7; both speeds of the controller are L = 10 /s.
    Guarantees: the three rates sum to zero, so the parts sum to one; at the largest load the active part tends to
                1 / (1 + F / R + F / L), which is R / (F + R) but for the controller's delay.

    Args:
        compartments: (..., 3) resting, active and fatigued parts, which sum to one.
        load: (...,) the moment that is asked for, as a fraction of that of rested muscles.
        rates: of the joint, or of the joints (...,).

    Returns: (..., 3).
    """
    R, A, M = np.moveaxis(np.asarray(compartments, dtype=float), -1, 0)
    wanted = np.asarray(load, dtype=float) - A
    C = FOLLOWING * np.minimum(wanted, R)
    tiring, recovering = rates.fatigue * A, rates.recovery * M
    return np.stack([recovering - C, C - tiring, tiring - recovering], axis=-1)


def endurance_time(load: ArrayLike, rates: FatigueRates) -> FloatArray:
    """How long rested muscles can give a constant part of their largest moment [s].

        M_F(t) = F TL / R (1 - exp(-R t)) = 1 - TL:    t = -ln(1 - R (1 - TL) / (F TL)) / R

    Infinite up to the load R / (F + R), which lasts.

    Source:     [Xia2008] with an active part that equals the load.

    Args:
        load: a fraction of the largest moment, 0 to 1.
        rates: of the joint.
    """
    part = np.asarray(load, dtype=float)
    F, R = rates
    with np.errstate(divide="ignore", invalid="ignore"):
        left = 1.0 - R * (1.0 - part) / (F * part)
        return np.where(left > 0.0, -np.log(np.maximum(left, 0.0)) / R, np.inf)
