"""Bushings: springs and dampers between two frames, in six directions."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import apart, inline, kernel
from musculo.kernels.forces.fixed_frames import FixedFrames, frame_point, frame_rotation, spin, velocity_at
from musculo.kernels.functions.formula_programs import run_program
from musculo.kernels.functions.function_values import evaluate
from musculo.kernels.scalar.vectors import add, cross, matmul, rotate, rotate_back, subtract, transpose

# Below this cosine of the second angle only the sum or difference of the others is known.
_LOCKED = 1e-12


class Bushings(NamedTuple):
    """Two frames each, and what resists their deflections: three turns, then three slides."""

    first: FixedFrames
    second: FixedFrames
    stiffness: FloatArray  # (bushings, 6) of linear springs
    damping: FloatArray  # (bushings, 6)
    function: IntArray  # (bushings, 6) which function of the table gives a part of the spring; -1: none
    functions: Any
    formula: IntArray  # (bushings,) first of six formulas that give the spring; -1: none
    programs: Any


@inline
def _angles(R):
    """Body-fixed x, y, z angles of a rotation, the second in [-pi/2, pi/2]."""
    sine = min(max(R[2], -1.0), 1.0)
    cosine = math.hypot(R[0], R[1])
    if cosine < _LOCKED:
        return math.atan2(R[7], R[4]), math.atan2(sine, cosine), 0.0
    return math.atan2(-R[5], R[8]), math.atan2(sine, cosine), math.atan2(-R[1], R[0])


@kernel
def bushing_wrench(b, k, motion, lane, variables, resistance, stack):
    """Moment about ground's origin and force of bushing k on the body of its second frame, and its energy.

        d = (body-fixed xyz angles of R_FM, p_FM in F),   ddot = (N w_FM in M, v_FM in F)
        f = -k(d) - C ddot,   on the second body N^T f_turn in M and f_slide in F at Mo,   on the first the opposite
        k_i(d) = K_i d_i, or a function of d_i, or a formula of all;   V = d . K d / 2

    Source:     OpenSim 4.6, observed behavior.
    Departs:    nothing by intention: angles are those of a sequence, so that stiffness about y and z depends on it,
                and at theta_y = 90 degrees N is infinite.
    Guarantees: f . ddot is the power of the wrenches on both.

    Args:
        variables: (6, 1), resistance: (6,), stack: (depth, 1), scratch.
    """
    apart()
    R_WF, R_WM = frame_rotation(b.first, k, motion, lane), frame_rotation(b.second, k, motion, lane)
    p_F, p_M = frame_point(b.first, k, motion, lane), frame_point(b.second, k, motion, lane)
    F, M = b.first.node[k], b.second.node[k]
    angles = _angles(matmul(transpose(R_WF), R_WM))
    arm = subtract(p_M, p_F)
    slide = rotate_back(R_WF, arm)
    w_F = spin(F, motion, lane)
    w = rotate_back(R_WM, subtract(spin(M, motion, lane), w_F))
    drift = subtract(velocity_at(M, p_M, motion, lane), velocity_at(F, p_F, motion, lane))
    v = rotate_back(R_WF, subtract(drift, cross(w_F, arm)))
    # N: rates of the angles from the angular velocity in M
    cb, tb = math.cos(angles[1]), math.tan(angles[1])
    sc, cc = math.sin(angles[2]), math.cos(angles[2])
    N = (cc / cb, -sc / cb, 0.0, sc, cc, 0.0, -cc * tb, sc * tb, 1.0)
    turn = rotate(N, w)
    d = (angles[0], angles[1], angles[2], slide[0], slide[1], slide[2])
    rate = (turn[0], turn[1], turn[2], v[0], v[1], v[2])
    for i in range(6):
        variables[i, 0] = d[i]
    energy = 0.0
    for i in range(6):
        spring = b.stiffness[k, i] * d[i]
        energy += 0.5 * spring * d[i]
        if b.function[k, i] >= 0:
            value, _, _, _ = evaluate(b.functions, b.function[k, i], d[i])
            spring += value
        if b.formula[k] >= 0:
            spring += run_program(b.programs, b.formula[k] + i, variables, stack, 0)
        resistance[i] = -spring - b.damping[k, i] * rate[i]
    force = rotate(R_WF, (resistance[3], resistance[4], resistance[5]))
    moment = rotate(R_WM, rotate_back(N, (resistance[0], resistance[1], resistance[2])))
    return add(moment, cross(p_M, force)), force, energy
