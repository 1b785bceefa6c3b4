"""Contacts that OpenSim loses: those of a force that it comes to after one that parts."""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import apart, kernel
from musculo.kernels.contact.contact_pressure import APART, PARTING
from musculo.kernels.forces.fixed_frames import FixedFrames, frame_point


class Sweep(NamedTuple):
    """Shapes and pairs of each force; no forces where nothing shall be lost."""

    first_shape: IntArray  # (forces + 1,)
    frame: FixedFrames  # (shapes,) their centers
    radius: FloatArray  # (shapes,) infinite of half-spaces
    first_pair: IntArray  # (forces + 1,)
    shape_1: IntArray  # (pairs,) shapes of a pair
    shape_2: IntArray


@kernel
def _begin(sweep, i, motion, begin, lane):
    """Where each shape of force i begins on the axis along which their centers are spread most, into `begin`."""
    first, end = sweep.first_shape[i], sweep.first_shape[i + 1]
    n = end - first
    m_x, m_y, m_z = 0.0, 0.0, 0.0
    for k in range(first, end):
        x, y, z = frame_point(sweep.frame, k, motion, lane)
        m_x, m_y, m_z = m_x + x / n, m_y + y / n, m_z + z / n
    s_x, s_y, s_z = 0.0, 0.0, 0.0
    for k in range(first, end):
        x, y, z = frame_point(sweep.frame, k, motion, lane)
        s_x, s_y, s_z = s_x + math.fabs(x - m_x), s_y + math.fabs(y - m_y), s_z + math.fabs(z - m_z)
    for k in range(first, end):
        x, y, z = frame_point(sweep.frame, k, motion, lane)
        if s_z > max(s_x, s_y):
            begin[k] = z - sweep.radius[k]
        elif s_x > s_y:
            begin[k] = x - sweep.radius[k]
        else:
            begin[k] = y - sweep.radius[k]


@kernel
def _rank(sweep, i, shape, begin):
    """How many shapes of force i begin before one; of those that begin together the first in the file does."""
    rank = 0
    for k in range(sweep.first_shape[i], sweep.first_shape[i + 1]):
        if begin[k] < begin[shape] or (begin[k] == begin[shape] and k < shape):
            rank += 1
    return rank


@kernel
def _turn(sweep, i, pair, begin):
    """When the sweep comes to a pair, as a number that grows."""
    one, two = _rank(sweep, i, sweep.shape_1[pair], begin), _rank(sweep, i, sweep.shape_2[pair], begin)
    return min(one, two) * (sweep.first_shape[i + 1] - sweep.first_shape[i]) + max(one, two)


@kernel
def lose_contacts(sweep, row, motion, r, lane):
    """Take away forces and energies that OpenSim does not see: those after the first contact that parts.

    Contacts come in the order of a sweep along the axis on which the shapes of a force are spread most, by where each
    begins on it. One that parts so fast that its force would be negative ends the sweep (Simbody returns where it
    should go on).

    Source: OpenSim 4.6, observed behavior.

    Args:
        sweep: `Sweep`. row: of the first pair among all forces on bodies. motion: (MOTION_ROWS nodes, lanes).
        r: `PassiveRoom`; wrench and energy are written.
    """
    apart()
    for i in range(sweep.first_shape.size - 1):
        pairs = range(sweep.first_pair[i], sweep.first_pair[i + 1])
        end = -1
        for pair in pairs:
            if r.state[row + pair] == PARTING:
                if end < 0:
                    _begin(sweep, i, motion, r.begin, lane)
                turn = _turn(sweep, i, pair, r.begin)
                end = turn if end < 0 else min(end, turn)
        if end < 0:
            continue
        for pair in pairs:
            if r.state[row + pair] == APART:
                continue
            # the one that parts has no force anyway
            if _turn(sweep, i, pair, r.begin) > end:
                for k in range(6):
                    r.wrench[row + pair, k] = 0.0
                r.energy[r.on_speed.size + row + pair] = 0.0
