"""The active force a muscle can give along its tendon when the tendon does not stretch."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.hill.curve_values import active_force_length, force_velocity, thelen_damped
from musculo.kernels.hill.exponentials import root
from musculo.kernels.hill.fiber_equilibrium import solve_equilibrium
from musculo.kernels.hill.muscle_table import (
    CONTRACTION_VELOCITY,
    COSINE_AT_OPTIMAL,
    DE_GROOTE_FREGLY_2016,
    DELP_1990,
    KIND,
    LEAST_ALONG,
    MAX_FORCE,
    MAX_SPEED,
    MILLARD_2012,
    OPTIMAL_LENGTH,
    RIGID_TENDON,
    SCHUTTE_1993,
    SLACK_LENGTH,
    THELEN_DEPRECATED,
    WIDTH,
)


@kernel
def capacity(m, c, i, length, speed, opensim):
    """Active force of muscle i along its tendon at full activation [N]; never negative."""
    kind = m.integer[i, KIND]
    if opensim and kind in (SCHUTTE_1993, DELP_1990, THELEN_DEPRECATED):
        return _isometric_times_velocity(m, c, i, length, speed)
    s = length - m.number[i, SLACK_LENGTH]
    if s.real < m.number[i, LEAST_ALONG] or s.real <= 0.0:
        return 0.0 * length
    h = m.number[i, WIDTH]
    fiber = root(s * s + h * h)
    cosine = s / fiber
    v = speed * cosine if not (opensim and kind == RIGID_TENDON) else 1.0 * speed
    fl, _ = active_force_length(m, c, i, fiber / m.number[i, OPTIMAL_LENGTH])
    a, w = 1.0 + 0.0 * v, v / m.number[i, MAX_SPEED]
    if kind == THELEN_DEPRECATED:
        active, _, _ = thelen_damped(m, i, a, fl, w)
    else:
        fv, _ = force_velocity(m, c, i, a, w)
        active = fl * fv
    if opensim and kind == MILLARD_2012:
        # OpenSim asks for the pennation at the normalised length, as if it were in metres
        sine = h * m.number[i, OPTIMAL_LENGTH] / fiber
        cosine = root(1.0 - sine * sine)
    if opensim and kind == DE_GROOTE_FREGLY_2016:
        cosine = 1.0 + 0.0 * cosine
    force = m.number[i, MAX_FORCE] * active * cosine
    return force if force.real > 0.0 else 0.0 * force


@kernel
def _isometric_times_velocity(m, c, i, length, speed):
    """OpenSim's for its deprecated muscles: the whole static force, passive part included, times a generic f_V."""
    a = 1.0 + 0.0 * length
    _, _, _, of_tendon = solve_equilibrium(m, c, i, length, 0.0 * speed, a)
    if length.real < m.number[i, SLACK_LENGTH]:
        return 0.0 * length
    reach = m.number[i, CONTRACTION_VELOCITY] * m.number[i, OPTIMAL_LENGTH]
    shortening = 0.0
    if reach > 0.0:
        shortening = -m.number[i, COSINE_AT_OPTIMAL] * speed.real / reach
    elif speed.real != 0.0:
        shortening = -math.inf if speed.real > 0.0 else math.inf
    fv = 1.8 - 1.8 / (1.0 + math.exp((0.04 - shortening) / 0.18))
    return m.number[i, MAX_FORCE] * of_tendon[0] * fv
