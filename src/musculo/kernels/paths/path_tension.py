"""Tension of what runs along a path and is no muscle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.functions.formula_programs import run_program
from musculo.kernels.functions.function_values import evaluate

# Kinds of forces, and the number of quantities an expression may use: stretch and lengthening speed.
SPRING, LIGAMENT, BLANKEVOORT, ACTUATOR, CLUTCHED, EXPRESSION = range(6)
VARIABLES = ("s", "ldot")
# Blankevoort's damping fades in up to this strain: OpenSim's choice.
_FADE = 0.01


class PathForces(NamedTuple):
    """All such forces of a model, one entry a force. What a kind does not have is zero, or -1 for an index."""

    kind: IntArray
    applies: IntArray  # 0: switched off
    rest: FloatArray  # resting or slack length [m]
    stiffness: FloatArray  # [N/m]; [N] of ligaments (pcsa_force, linear stiffness) and actuators (optimal force)
    damping: FloatArray  # dissipation [s/m]; damping coefficient [N s]
    transition: FloatArray  # strain
    entry: IntArray  # of a ligament's curve, of an expression's program
    clamped: IntArray  # whether an expression sees no negative stretch


@kernel
def _blankevoort(strain, rate, k, transition, damping):
    """Spring and damper of a Blankevoort ligament, never negative."""
    if strain <= 0.0:
        return 0.0
    if strain < transition:
        force = 0.5 * k / transition * strain * strain
    else:
        force = k * (strain - 0.5 * transition)
    if rate > 0.0:
        x = min(strain / _FADE, 1.0)
        force += damping * rate * x * x * x * (10.0 + x * (6.0 * x - 15.0))
    return max(force, 0.0)


class PathStates(NamedTuple):
    """What the tension of every force depends on: the frame first in drivers, the lane last in kernels."""

    length: FloatArray  # (frames, forces) [m]
    speed: FloatArray  # (frames, forces) [m/s]
    control: FloatArray  # (frames, forces) of actuators and clutched springs
    stretch: FloatArray  # (frames, forces) of clutched springs [m]


@kernel
def path_tensions(forces, table, programs, states, stack, tension, lane):
    """Tension [N] of every force of this lane.

        spring       k (L - L_r) (1 + d Ldot)                                     slack up to L_r
        ligament     F curve(L / L_r)                                             slack up to L_r
        Blankevoort  k e^2 / (2 e_t), then k (e - e_t / 2), + c edot step(e)      e = L / L_s - 1; slack up to 0
        actuator     control F                                                    may push
        clutched     min(max(control, 0), 1) k x (1 + d Ldot)                     x: its state
        expression   f(s, Ldot), s = L - L_r

    Source:     OpenSim 4.6, observed behavior; [Blankevoort1991] for the toe region.
    Departs:    nothing by intention: a spring with dissipation pushes when it shortens fast enough, as there.

    Args:
        states: `PathStates`. stack: (depth + variables, lanes) scratch. tension: (forces, lanes), written.
    """
    length, speed, control, stretch = states
    for i in range(forces.kind.size):
        kind = forces.kind[i]
        L, v, rest, k = length[i, lane], speed[i, lane], forces.rest[i], forces.stiffness[i]
        T = 0.0
        if forces.applies[i] == 0:
            T = 0.0
        elif kind == SPRING:
            if rest < L:
                T = k * (L - rest) * (1.0 + forces.damping[i] * v)
        elif kind == LIGAMENT:
            if rest < L:
                value, _, _, _ = evaluate(table, forces.entry[i], L / rest)
                T = k * value
        elif kind == BLANKEVOORT:
            T = _blankevoort(L / rest - 1.0, v / rest, k, forces.transition[i], forces.damping[i])
        elif kind == ACTUATOR:
            T = control[i, lane] * k
        elif kind == CLUTCHED:
            T = min(max(control[i, lane], 0.0), 1.0) * k * stretch[i, lane] * (1.0 + forces.damping[i] * v)
        else:
            s = L - rest
            if s < 0.0 and forces.clamped[i] != 0:
                s = 0.0
            stack[programs.depth, lane] = s
            stack[programs.depth + 1, lane] = v
            T = run_program(programs, forces.entry[i], stack[programs.depth :], stack, lane)
        tension[i, lane] = T


@driver
def tension_frames(forces, table, programs, states, tension, start, stop):
    """Frames start .. stop - 1 of `PathStates`, into (frames, forces)."""
    length, speed, control, stretch = states.length, states.speed, states.control, states.stretch
    stack = np.zeros((programs.depth + 2, 1))
    for f in range(start, stop):
        L, v, c, x = length[f : f + 1].T, speed[f : f + 1].T, control[f : f + 1].T, stretch[f : f + 1].T
        path_tensions(forces, table, programs, PathStates(L, v, c, x), stack, tension[f : f + 1].T, 0)
