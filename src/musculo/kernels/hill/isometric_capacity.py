"""The active force a muscle can give along its tendon when the tendon does not stretch."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.hill.curve_values import active_force_length, force_velocity, thelen_damped
from musculo.kernels.hill.exponentials import root
from musculo.kernels.hill.fiber_equilibrium import solve_equilibrium
from musculo.kernels.hill.muscle_table import (
    DE_GROOTE_FREGLY_2016,
    DELP_1990,
    MILLARD_2012,
    RIGID_TENDON,
    SCHUTTE_1993,
    THELEN_DEPRECATED,
)


@kernel
def capacity(m, c, i, length, speed, opensim):
    """Active force of muscle i along its tendon at full activation [N]; never negative."""
    kind = m.kind[i]
    if opensim and kind in (SCHUTTE_1993, DELP_1990, THELEN_DEPRECATED):
        return _isometric_times_velocity(m, c, i, length, speed)
    s = length - m.slack_length[i]
    if s.real < m.least_along[i] or s.real <= 0.0:
        return 0.0 * length
    h = m.width[i]
    fiber = root(s * s + h * h)
    cosine = s / fiber
    v = speed * cosine if not (opensim and kind == RIGID_TENDON) else 1.0 * speed
    fl, _ = active_force_length(m, c, i, fiber / m.optimal_length[i])
    a, w = 1.0 + 0.0 * v, v / m.max_speed[i]
    if kind == THELEN_DEPRECATED:
        active, _, _ = thelen_damped(m, i, a, fl, w)
    else:
        fv, _ = force_velocity(m, c, i, a, w)
        active = fl * fv
    if opensim and kind == MILLARD_2012:
        # OpenSim asks for the pennation at the normalized length, as if it were in meters
        sine = h * m.optimal_length[i] / fiber
        cosine = root(1.0 - sine * sine)
    if opensim and kind == DE_GROOTE_FREGLY_2016:
        cosine = 1.0 + 0.0 * cosine
    force = m.max_force[i] * active * cosine
    return force if force.real > 0.0 else 0.0 * force


@kernel
def _isometric_times_velocity(m, c, i, length, speed):
    """OpenSim's for its deprecated muscles: the whole static force, passive part included, times a generic f_V."""
    a = 1.0 + 0.0 * length
    _, _, _, of_tendon = solve_equilibrium(m, c, i, length, 0.0 * speed, a)
    if length.real < m.slack_length[i]:
        return 0.0 * length
    reach = m.contraction_velocity[i] * m.optimal_length[i]
    shortening = 0.0
    if reach > 0.0:
        shortening = -m.cosine_at_optimal[i] * speed.real / reach
    elif speed.real != 0.0:
        shortening = -math.inf if speed.real > 0.0 else math.inf
    fv = 1.8 - 1.8 / (1.0 + math.exp((0.04 - shortening) / 0.18))
    return m.max_force[i] * of_tendon[0] * fv
