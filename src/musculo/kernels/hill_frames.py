"""Muscle kernels over all frames and muscles on the CPU."""

from __future__ import annotations

from musculo.kernels.hill_activation import activation_rate
from musculo.kernels.hill_capacity import capacity
from musculo.kernels.hill_curves import active_force_length, force_velocity, passive_force_length, tendon_force_length
from musculo.kernels.hill_state import equilibrium, opensim_equilibrium, rigid_forces, state_forces
from musculo.kernels.hill_table import ACTIVE_CURVE, PASSIVE_CURVE, RIGID, TENDON_CURVE
from musculo.kernels.jit import kernel


@kernel
def equilibrium_frames(m, c, length, speed, activation, rigid, out, status, start, stop):
    """Equilibria of frames start .. stop - 1; arrays (frames, muscles), out (OUTPUTS, frames, muscles)."""
    for frame in range(start, stop):
        for i in range(m.integer.shape[0]):
            L, v, a = length[frame, i], speed[frame, i], activation[frame, i]
            if rigid or m.integer[i, RIGID] == 1:
                status[frame, i] = rigid_forces(m, c, i, L, v, a, False, out, frame)
            else:
                status[frame, i] = equilibrium(m, c, i, L, v, a, out, frame)


@kernel
def opensim_equilibrium_frames(m, c, length, speed, activation, rigid, out, status, start, stop):
    """As `equilibrium_frames`, where OpenSim puts the fibres."""
    for frame in range(start, stop):
        for i in range(m.integer.shape[0]):
            L, v, a = length[frame, i], speed[frame, i], activation[frame, i]
            if rigid or m.integer[i, RIGID] == 1:
                status[frame, i] = rigid_forces(m, c, i, L, v, a, True, out, frame)
            else:
                status[frame, i] = opensim_equilibrium(m, c, i, L, v, a, out, frame)


@kernel
def state_frames(m, c, length, speed, activation, fiber, rigid, opensim, out, status, start, stop):
    """Forces at given fibre lengths of frames start .. stop - 1; rigid tendons take the path's length and speed."""
    for frame in range(start, stop):
        for i in range(m.integer.shape[0]):
            L, v, a = length[frame, i], speed[frame, i], activation[frame, i]
            if rigid or m.integer[i, RIGID] == 1:
                status[frame, i] = rigid_forces(m, c, i, L, v, a, opensim, out, frame)
            else:
                status[frame, i] = state_forces(m, c, i, L, a, fiber[frame, i], opensim, out, frame)


@kernel
def capacity_frames(m, c, length, speed, opensim, out, start, stop):
    """Capacities (frames, muscles) of frames start .. stop - 1."""
    for frame in range(start, stop):
        for i in range(m.integer.shape[0]):
            out[frame, i] = capacity(m, c, i, length[frame, i], speed[frame, i], opensim)


@kernel
def activation_frames(m, excitation, activation, out, start, stop):
    """Rates of activation (frames, muscles) of frames start .. stop - 1."""
    for frame in range(start, stop):
        for i in range(m.integer.shape[0]):
            out[frame, i] = activation_rate(m, i, excitation[frame, i], activation[frame, i])


@kernel
def curve_lanes(m, c, i, curve, activation, x, out):
    """A curve of muscle i at every x (lanes,): value and slope into out (2, lanes)."""
    for lane in range(x.size):
        if curve == ACTIVE_CURVE:
            f, f1 = active_force_length(m, c, i, x[lane])
        elif curve == PASSIVE_CURVE:
            f, f1 = passive_force_length(m, c, i, x[lane])
        elif curve == TENDON_CURVE:
            f, f1 = tendon_force_length(m, c, i, x[lane])
        else:
            f, f1 = force_velocity(m, c, i, activation + 0.0 * x[lane], x[lane])
        out[0, lane] = f
        out[1, lane] = f1
