"""Fibres without a least length, near the length of the tendon alone, against a plain bisection."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.muscle.fibers.equilibrium import muscle_equilibrium
from musculo.muscle.hill_curves.curves import muscle_curves
from support.muscle_rig import KINDS, MAX_FORCE, model_of, muscle

DGF, DELP = KINDS[2], KINDS[4]


def bisected(model, length: float, activation: float) -> float:
    """The tendon's force at rest by halving alone, for a fibre of any length that its width lets it have [N]."""
    one, curves = model.muscles[0], muscle_curves(model, model.muscles[0].name)
    h = one.optimal_fiber_length * math.sin(one.pennation_angle_at_optimal)
    low, high, pull = 0.0, length - one.tendon_slack_length, 0.0
    for _ in range(100):
        s = 0.5 * (low + high)
        x = math.hypot(s, h) / one.optimal_fiber_length
        fiber = activation * curves.active_force_length(x) + curves.passive_force_length(x)
        pull = float(curves.tendon_force_length((length - s) / one.tendon_slack_length))
        low, high = (s, high) if pull > float(fiber) * s / math.hypot(s, h) else (low, s)
    return one.max_isometric_force * pull


@pytest.mark.parametrize("method", ["exact", "opensim"])
@pytest.mark.parametrize("kind", [DGF, DELP])
@pytest.mark.parametrize("pennation", [0.02, 0.3, 0.45, 1.2])
def test_short_fibres_balance_as_halving_says(kind, pennation, method):
    """De Groote's and Delp's fibres have no least length: they turn until they stand across the tendon."""
    rig = model_of(muscle(kind, pennation_angle_at_optimal=pennation, tendon_slack_length=0.24))
    rng = np.random.default_rng(4)
    length, activation = 0.24 + rng.uniform(2e-4, 0.06, 30), rng.uniform(0.01, 1.0, 30)
    expected = [bisected(rig, L, a) for L, a in zip(length, activation, strict=True)]
    found = muscle_equilibrium(rig, length[:, None], 0.0, activation[:, None], method=method)
    assert np.max(expected) < 1.5 * MAX_FORCE
    assert_allclose(found.tendon_force[:, 0], expected, atol=1e-8 * MAX_FORCE)
