"""Kinematic analysis and inverse dynamics of a recording, eight frames at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.absolute.absolute_system import (
    AbsoluteState,
    EquationRows,
    NormalEquations,
    PlacedFrames,
    absolute_space,
    columns_of,
)
from musculo.kernels.absolute.body_forces import applied_forces, constraint_loads, subtract_inertia
from musculo.kernels.absolute.constraint_rows import acceleration_rows, position_rows
from musculo.kernels.absolute.moving_frames import assemble, move, place_frames
from musculo.kernels.absolute.normal_equations import factor_normal, solve_least_squares, solve_multipliers
from musculo.kernels.compiler.parts import driver, inline
from musculo.kernels.scalar.packed import WIDTH, lanes

# Where the search for a frame's position starts: at the position found before; assembled along the joints of the tree
# from given coordinates; at a given position.
FROM_BEFORE, ASSEMBLED, FROM_GIVEN = 0, 1, 2
# How a frame came out.
FOUND, NOT_CONVERGED, NOT_DETERMINED = 0, 1, 2
# No body turns further and no part moves further in one step than this [rad, m].
_LARGEST_STEP = 0.5


class Search(NamedTuple):
    """How positions are sought."""

    begin: int
    together: int  # frames that start from the same position, 1 to 8
    tolerance: float  # of the last step [rad, m]
    most_steps: int
    dynamics: bool  # whether multipliers are sought too
    weight: FloatArray  # (equations,)
    plain: FloatArray  # (equations,) ones
    weighted: bool  # whether the weights are not all one


class AbsoluteFrames(NamedTuple):
    """What goes in and comes out, frames first. Outputs of no rows are not written."""

    start: FloatArray  # (frames, positions or coordinates), or (1, positions)
    signals: FloatArray  # (frames, rows)
    forces: FloatArray  # (frames, columns), or no rows
    x: FloatArray
    v: FloatArray
    a: FloatArray
    multipliers: FloatArray  # (frames, equations)
    loads: FloatArray  # (frames, 6 loads)
    residual: FloatArray  # (frames, equations)
    status: IntArray  # (frames,)
    steps: IntArray  # (frames,)
    pivot: FloatArray  # (frames,) the smallest


@inline
def _take(source, block, count, stop, target):
    """Frames from `block` on into lanes; the last of `count` frames fills what is over."""
    for lane in range(WIDTH):
        frame = min(block + min(lane, count - 1), stop - 1)
        for k in range(source.shape[1]):
            target[k, lane] = source[frame, k]


@inline
def _give(source, block, count, target):
    """Lanes into frames."""
    if target.shape[0] > 0:
        for lane in range(count):
            for k in range(source.shape[0]):
                target[block + lane, k] = source[k, lane]


@inline
def _limited(step):
    """The largest element of each lane's step, all of which becomes no larger than allowed; the largest of all."""
    worst = 0.0
    for lane in range(WIDTH):
        size = 0.0
        for k in range(step.shape[0]):
            size = max(size, abs(step[k, lane]))
        if size > _LARGEST_STEP:
            for k in range(step.shape[0]):
                step[k, lane] *= _LARGEST_STEP / size
        worst = max(worst, size) if size == size else np.inf
    return worst


@driver
def analysis_frames(system, table, pattern, search, frames, start, stop):
    """Positions, velocities, accelerations and, where asked for, multipliers and loads of frames start .. stop - 1."""
    s = absolute_space(system, pattern, frames.signals.shape[1])
    x, v, a, J = lanes(s.x), lanes(s.v), lanes(s.a), lanes(s.J)
    state, placed = AbsoluteState(x, v, lanes(s.signals)), PlacedFrames(lanes(s.W), lanes(s.H))
    rows = EquationRows(lanes(s.phi), lanes(s.nu), lanes(s.gamma), J)
    normal = NormalEquations(search.weight, J, lanes(s.N), lanes(s.pivot), lanes(s.y))
    plain = NormalEquations(search.plain, J, lanes(s.N), lanes(s.pivot), lanes(s.y))
    step, left, rest = lanes(s.step), lanes(s.left), lanes(s.rest)
    force, multipliers, loads = lanes(s.force), lanes(s.multipliers), lanes(s.loads)
    E = np.zeros((columns_of(system), WIDTH))
    coordinates = 7 * system.bodies
    kept = np.zeros(s.x.shape[0])
    if search.begin == FROM_BEFORE:
        for k in range(s.x.shape[0]):
            for lane in range(WIDTH):
                s.x[k, lane] = frames.start[0, k]
            kept[k] = frames.start[0, k]
    for block in range(start, stop, search.together):
        count = min(search.together, stop - block)
        _take(frames.signals, block, count, stop, s.signals)
        if search.begin == ASSEMBLED:
            for lane in range(WIDTH):
                frame = block + min(lane, count - 1)
                for k in range(system.coordinates):
                    s.x[coordinates + k, lane] = frames.start[frame, k]
            assemble(system, table, state, placed, 0)
        elif search.begin == FROM_GIVEN:
            _take(frames.start, block, count, stop, s.x)
        else:
            for k in range(s.x.shape[0]):
                for lane in range(WIDTH):
                    s.x[k, lane] = kept[k]
        taken, worst = 0, np.inf
        while True:
            place_frames(system, table, state, False, placed, 0)
            position_rows(system, table, state, placed, rows, 0)
            factor_normal(system, pattern, False, normal, 0)
            solve_least_squares(system, pattern, normal, rows.phi, step, rest, 0)
            worst = _limited(s.step)
            if worst <= search.tolerance or taken == search.most_steps:
                break
            for k in range(s.step.shape[0]):
                for lane in range(WIDTH):
                    s.step[k, lane] = -s.step[k, lane]
            move(system, x, step, 0)
            taken += 1
        for lane in range(count):
            size, weakest = 0.0, 1.0
            for k in range(s.step.shape[0]):
                size = max(size, abs(s.step[k, lane])) if s.step[k, lane] == s.step[k, lane] else np.inf
                weakest = min(weakest, s.pivot[k, lane])
            frames.pivot[block + lane] = weakest
            frames.steps[block + lane] = taken
            frames.status[block + lane] = FOUND
            if not weakest > 0.0:
                frames.status[block + lane] = NOT_DETERMINED
            elif not size <= search.tolerance:
                frames.status[block + lane] = NOT_CONVERGED
        # what follows starts from the last frame that has a position
        for lane in range(count):
            if frames.status[block + lane] == FOUND:
                for k in range(s.x.shape[0]):
                    kept[k] = s.x[k, lane]
        _give(s.phi, block, count, frames.residual)
        solve_least_squares(system, pattern, normal, rows.nu, v, rest, 0)
        place_frames(system, table, state, True, placed, 0)
        acceleration_rows(system, table, state, placed, rows.gamma, 0)
        solve_least_squares(system, pattern, normal, rows.gamma, a, rest, 0)
        _give(s.x, block, count, frames.x)
        _give(s.v, block, count, frames.v)
        _give(s.a, block, count, frames.a)
        if search.dynamics:
            if frames.forces.shape[0] > 0:
                _take(frames.forces, block, count, stop, E)
            applied_forces(system, x, v, lanes(E), placed.W, force, 0)
            subtract_inertia(system, a, force, 0)
            if search.weighted:
                factor_normal(system, pattern, False, plain, 0)
            solve_multipliers(system, pattern, normal, force, multipliers, left, 0)
            constraint_loads(system, x, multipliers, J, placed.W, loads, 0)
            _give(s.multipliers, block, count, frames.multipliers)
            _give(s.loads, block, count, frames.loads)


@driver
def rows_at(system, table, pattern, x, signals, phi, elements):
    """Phi (equations,) and the elements of J at one position."""
    s = absolute_space(system, pattern, signals.size)
    for lane in range(WIDTH):
        for k in range(x.size):
            s.x[k, lane] = x[k]
        for k in range(signals.size):
            s.signals[k, lane] = signals[k]
    state, placed = AbsoluteState(lanes(s.x), lanes(s.v), lanes(s.signals)), PlacedFrames(lanes(s.W), lanes(s.H))
    place_frames(system, table, state, False, placed, 0)
    rows = EquationRows(lanes(s.phi), lanes(s.nu), lanes(s.gamma), lanes(s.J))
    position_rows(system, table, state, placed, rows, 0)
    for r in range(phi.size):
        phi[r] = s.phi[r, 0]
    for k in range(elements.size):
        elements[k] = s.J[k, 0]
