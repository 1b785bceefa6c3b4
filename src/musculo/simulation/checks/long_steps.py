"""Steps of Runge-Kutta methods that may pass over a contact: their errors look at where forces are smooth."""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.model.model import Model

_CONTACTS = ("HuntCrossleyForce", "ElasticFoundationForce", "SmoothSphereHalfSpaceForce")
_ONE_STEP = ("rkf45", "tr-bdf2", "imex")
# Impacts of a body on a floor take some milliseconds: steps no longer than this mostly meet them [s].
_IMPACT = 1e-2


def long_steps(model: Model, t: FloatArray, method: str, longest: float) -> tuple[str, ...]:
    """One note if contacts act, nothing bounds the steps, and they are longer than impacts.

    Args:
        t: ends of steps [s]. longest: the longest step allowed [s].
    """
    contacts = [one.name for one in model.forces if one.kind in _CONTACTS and one.applies_force]
    taken = float(np.diff(t).max(initial=0.0))
    if method not in _ONE_STEP or np.isfinite(longest) or not contacts or taken <= _IMPACT:
        return ()
    return (
        f"steps of {method!r} are up to {taken:.3g} s long, and contacts act ({contacts[0]!r}): such a step may pass "
        "over an impact, or meet it late; give max_step (1 ms serves most impacts), or method='cvode'",
    )
