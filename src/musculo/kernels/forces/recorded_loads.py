"""External loads from recordings: forces, points and torques over time, on bodies."""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel
from musculo.kernels.forces.actuator_laws import put_wrench
from musculo.kernels.forces.fixed_frames import FixedFrames, frame_point, frame_rotation
from musculo.kernels.scalar.vectors import add, rotate


class RecordedLoads(NamedTuple):
    """Loads whose nine columns (force, point, torque) are piecewise cubic in time, all with the same breaks."""

    node: IntArray  # (loads,) of the body
    force_frame: FixedFrames  # in which force and torque are given
    point_frame: FixedFrames  # in which the point is
    breaks: FloatArray  # (n,) [s]
    pieces: FloatArray  # (n + 1, 9 loads, 4) highest power first, of the time since the break before, the first
    #                     since the first break


@kernel
def _piece(breaks, t):
    """Which piece a time is in: 0 before the first break, n from the last one on."""
    low, high = 0, breaks.size
    while low < high:
        middle = (low + high) // 2
        if t < breaks[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _value(pieces, piece, column, s):
    c = pieces[piece, column]
    return ((c[0] * s + c[1]) * s + c[2]) * s + c[3]


@kernel
def recorded_wrenches(loads, t, motion, E, lane):
    """Add the wrenches of recorded loads at a time.

        F = R_WA f(t),   p = p_WB + R_WB x(t),   M = p x F + R_WA m(t)

    with f and m given in A, x in B, which may be ground or frames of any bodies.

    Args:
        loads: `RecordedLoads`. t: time [s]. motion: (MOTION_ROWS nodes, lanes). E: (6 nodes, lanes), added to; as in
        `acting_forces`.
    """
    piece = _piece(loads.breaks, t)
    s = t - loads.breaks[max(piece - 1, 0)]
    for k in range(loads.node.size):
        x = loads.pieces
        at = 9 * k
        force = (_value(x, piece, at, s), _value(x, piece, at + 1, s), _value(x, piece, at + 2, s))
        point = (_value(x, piece, at + 3, s), _value(x, piece, at + 4, s), _value(x, piece, at + 5, s))
        torque = (_value(x, piece, at + 6, s), _value(x, piece, at + 7, s), _value(x, piece, at + 8, s))
        R = frame_rotation(loads.force_frame, k, motion, lane)
        R_B = frame_rotation(loads.point_frame, k, motion, lane)
        point = add(frame_point(loads.point_frame, k, motion, lane), rotate(R_B, point))
        put_wrench(E, loads.node[k], rotate(R, force), point, rotate(R, torque), lane)
