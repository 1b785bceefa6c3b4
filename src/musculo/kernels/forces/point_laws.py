"""Forces at points: springs and formulas between two of them, and forces prescribed over time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import apart, kernel
from musculo.kernels.forces.fixed_frames import FixedFrames, frame_point, frame_rotation, velocity_at
from musculo.kernels.functions.formula_programs import run_program
from musculo.kernels.functions.function_values import evaluate
from musculo.kernels.scalar.vectors import add, cross, dot, rotate, scale, subtract


class PointPairs(NamedTuple):
    """A point of each of two bodies, and what pulls them together."""

    first: FixedFrames
    second: FixedFrames
    stiffness: FloatArray  # (pairs,) [N/m]
    rest: FloatArray  # (pairs,) [m]
    formula: IntArray  # (pairs,) which formula of d and ddot gives the pull; -1: none
    programs: Any


class Prescribed(NamedTuple):
    """Force, point and torque on a body as functions of time."""

    frame: FixedFrames  # the frame that force, point and torque are given in, where not in ground
    function: IntArray  # (forces, 9) of force, point, torque; -1: zero
    force_in_ground: IntArray  # (forces,)
    point_in_ground: IntArray  # (forces,)
    functions: Any


@kernel
def point_pull(pairs, k, motion, lane, variables, stack):
    """Moment about ground's origin and force of pair k on its second body, and its energy.

        d = |p_2 - p_1|,   ddot = (v_2 - v_1) . e,   e = (p_2 - p_1) / d;   on the second body -T e, on the first T e
        T = k (d - d_0), V = k (d - d_0)^2 / 2;   or T a formula of d and ddot

    Source:  OpenSim 4.6, observed behavior; a spring also pushes.
    Departs: where the points meet the line has no direction, and there is no force; OpenSim's formulas give NaN.
    """
    apart()
    p_1, p_2 = frame_point(pairs.first, k, motion, lane), frame_point(pairs.second, k, motion, lane)
    r = subtract(p_2, p_1)
    d = math.sqrt(dot(r, r))
    stretch = d - pairs.rest[k]
    pull, energy = pairs.stiffness[k] * stretch, 0.5 * pairs.stiffness[k] * stretch * stretch
    if d == 0.0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), energy
    e = scale(1.0 / d, r)
    if pairs.formula[k] >= 0:
        v_1 = velocity_at(pairs.first.node[k], p_1, motion, lane)
        v_2 = velocity_at(pairs.second.node[k], p_2, motion, lane)
        variables[0, 0], variables[1, 0] = d, dot(subtract(v_2, v_1), e)
        pull += run_program(pairs.programs, pairs.formula[k], variables, stack, 0)
    force = scale(-pull, e)
    return cross(p_2, force), force, energy


@kernel
def _at_time(p, k, first, t):
    x, y, z = 0.0, 0.0, 0.0
    if p.function[k, first] >= 0:
        x, _, _, _ = evaluate(p.functions, p.function[k, first], t)
        y, _, _, _ = evaluate(p.functions, p.function[k, first + 1], t)
        z, _, _, _ = evaluate(p.functions, p.function[k, first + 2], t)
    return x, y, z


@kernel
def prescribed_wrench(p, k, t, motion, lane):
    """Moment about ground's origin and force that force k prescribes at a time.

    Force and torque are in ground, or in the frame of the body; the point is in the frame of the body, or in ground.

    Source: OpenSim 4.6, observed behavior.
    """
    apart()
    force, point, torque = _at_time(p, k, 0, t), _at_time(p, k, 3, t), _at_time(p, k, 6, t)
    R = frame_rotation(p.frame, k, motion, lane)
    if p.force_in_ground[k] == 0:
        force, torque = rotate(R, force), rotate(R, torque)
    if p.point_in_ground[k] == 0:
        point = add(frame_point(p.frame, k, motion, lane), rotate(R, point))
    return add(torque, cross(point, force)), force
