"""Muscle kernels over all frames and muscles on the CPU."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, inline, kernel, spliced
from musculo.kernels.hill.activation_rate import activation_rate
from musculo.kernels.hill.curve_values import (
    active_force_length,
    force_velocity,
    passive_force_length,
    tendon_force_length,
)
from musculo.kernels.hill.isometric_capacity import capacity
from musculo.kernels.hill.muscle_force import equilibrium, opensim_equilibrium, rigid_forces, state_forces
from musculo.kernels.hill.muscle_table import (
    ACTIVE_CURVE,
    OUTPUTS,
    PASSIVE_CURVE,
    STATUS,
    TENDON_CURVE,
)
from musculo.kernels.scalar.choices import turn_block
from musculo.kernels.scalar.packed import WIDTH, lanes


class MuscleFrames(NamedTuple):
    """What equilibria are asked for at, (frames, muscles) each."""

    length: FloatArray  # of the path [m]
    speed: FloatArray  # of the path [m/s]
    activation: FloatArray


class FiberFrames(NamedTuple):
    """What forces are asked for at, (frames, muscles) each."""

    length: FloatArray  # of the path [m]
    speed: FloatArray  # of the path [m/s], for rigid tendons
    activation: FloatArray
    fiber: FloatArray  # lengths of fibers [m], for other tendons


@inline
def _keep(rows, found, out, frame, i):
    """What a kernel found for muscle i in a frame."""
    for k in range(STATUS):
        out[k, frame, i] = rows[k]
    out[STATUS, frame, i] = found


# Kernels get the number of a muscle unsigned: a negative one would count from the end, and to rule that out they would
# look at the size of every parameter's array (measured: 4 to 9 % of the time).
@spliced
def _balanced(solve, opensim, m, c, i, state, rigid):
    """What there is of muscle i at (length and speed of the path, activation): by `solve`, or by its rigid tendon."""
    L, v, a = state
    if rigid or m.rigid[i] == 1:
        rows, found = rigid_forces(m, c, i, L, v, a, opensim)
    else:
        rows, found = solve(m, c, i, L, v, a)
    return rows, found


# Where OpenSim puts fibers and where they are have kernels of their own: whoever needs one does not wait for both.
@spliced
def _frames(solve, opensim, m, c, x, rigid, out, span):
    for frame in range(span[0], span[1]):
        for i in range(m.kind.size):
            state = x.length[frame, i], x.speed[frame, i], x.activation[frame, i]
            rows, found = _balanced(solve, opensim, m, c, np.uint64(i), state, rigid)
            _keep(rows, found, out, frame, i)


@kernel
def equilibrium_frames(m, c, x, rigid, out, start, stop):
    """Equilibria of frames start .. stop - 1 of `MuscleFrames` x into out (OUTPUTS, frames, muscles)."""
    _frames(equilibrium, False, m, c, x, rigid, out, (start, stop))


@kernel
def opensim_equilibrium_frames(m, c, x, rigid, out, start, stop):
    """As `equilibrium_frames`, where OpenSim puts the fibers."""
    _frames(opensim_equilibrium, True, m, c, x, rigid, out, (start, stop))


@kernel
def state_frames(m, c, x, rigid, opensim, out, start, stop):
    """Forces of frames start .. stop - 1 of `FiberFrames` x into out (OUTPUTS, frames, muscles)."""
    for frame in range(start, stop):
        for i in range(m.kind.size):
            L, v, a = x.length[frame, i], x.speed[frame, i], x.activation[frame, i]
            muscle = np.uint64(i)
            if rigid or m.rigid[i] == 1:
                rows, found = rigid_forces(m, c, muscle, L, v, a, opensim)
            else:
                rows, found = state_forces(m, c, muscle, L, a, x.fiber[frame, i], opensim)
            _keep(rows, found, out, frame, i)


# --- eight frames at once ---------------------------------------------------------------------------------------------
@kernel
def _take(source, start, stop, block, first):
    """Eight frames of source (frames, muscles) into rows of block (..., WIDTH); the last frame fills what is over."""
    n = source.shape[1]
    whole = n // WIDTH * WIDTH if stop - start >= WIDTH else 0
    for i in range(0, whole, WIDTH):
        turn_block(source, start, i, block, first + i, 0)
    for i in range(whole, n):
        for lane in range(WIDTH):
            block[first + i, lane] = source[min(start + lane, stop - 1), i]


@kernel
def _give(block, first, target, start, stop):
    """Rows of block into eight frames of target (frames, muscles)."""
    n = target.shape[1]
    whole = n // WIDTH * WIDTH if stop - start >= WIDTH else 0
    for i in range(0, whole, WIDTH):
        turn_block(block, first + i, 0, target, start, i)
    for i in range(whole, n):
        for lane in range(min(WIDTH, stop - start)):
            target[start + lane, i] = block[first + i, lane]


@inline
def _keep_pack(rows, found, O, n, i):
    for k in range(STATUS):
        O[k * n + i, 0] = rows[k]
    O[STATUS * n + i, 0] = found


@spliced
def _packs(solve, opensim, m, c, x, rigid, out, span):
    start, stop = span
    n = m.kind.size
    I, O = np.empty((3 * n, WIDTH)), np.empty((OUTPUTS * n, WIDTH))
    for frame in range(start, stop, WIDTH):
        _take(x.length, frame, stop, I, 0)
        _take(x.speed, frame, stop, I, n)
        _take(x.activation, frame, stop, I, 2 * n)
        for i in range(n):
            state = lanes(I)[i, 0], lanes(I)[n + i, 0], lanes(I)[2 * n + i, 0]
            rows, found = _balanced(solve, opensim, m, c, np.uint64(i), state, rigid)
            _keep_pack(rows, found, lanes(O), n, i)
        for k in range(OUTPUTS):
            _give(O, k * n, out[k], frame, stop)


@driver
def equilibrium_packs(m, c, x, rigid, out, start, stop):
    """As `equilibrium_frames`, eight frames at once."""
    _packs(equilibrium, False, m, c, x, rigid, out, (start, stop))


@driver
def opensim_equilibrium_packs(m, c, x, rigid, out, start, stop):
    """As `opensim_equilibrium_frames`, eight frames at once."""
    _packs(opensim_equilibrium, True, m, c, x, rigid, out, (start, stop))


@kernel
def capacity_frames(m, c, length, speed, opensim, out, start, stop):
    """Capacities (frames, muscles) of frames start .. stop - 1."""
    for frame in range(start, stop):
        for i in range(m.kind.size):
            out[frame, i] = capacity(m, c, np.uint64(i), length[frame, i], speed[frame, i], opensim)


@kernel
def activation_frames(m, excitation, activation, out, start, stop):
    """Rates of activation (frames, muscles) of frames start .. stop - 1."""
    for frame in range(start, stop):
        for i in range(m.kind.size):
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
