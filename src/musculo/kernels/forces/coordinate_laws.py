"""Forces at coordinates: limits, springs and formulas. Each acts on one speed."""

from __future__ import annotations

from typing import Any, NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.functions.formula_programs import run_program


class Limits(NamedTuple):
    """Damped springs beyond the ends of ranges; all in radians or meters."""

    q: IntArray  # (forces,) row of the coordinate
    u: IntArray  # (forces,) row of the speed
    upper: FloatArray
    lower: FloatArray
    upper_stiffness: FloatArray
    lower_stiffness: FloatArray
    damping: FloatArray
    width: FloatArray  # of the transition


class Springs(NamedTuple):
    """Linear springs and dampers."""

    q: IntArray
    u: IntArray
    stiffness: FloatArray
    rest: FloatArray
    viscosity: FloatArray


class CoordinateFormulas(NamedTuple):
    """Formulas of a coordinate and its speed."""

    q: IntArray
    u: IntArray
    programs: Any  # formula k is that of force k


@inline
def _step(x):
    """0 up to 0, 1 from 1 on, with two continuous derivatives."""
    s = min(max(x, 0.0), 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


@inline
def _stored(beyond, width):
    """Energy of a unit spring that sets in over a width."""
    if beyond <= 0.0:
        return 0.0
    if beyond >= width:
        return 0.5 * beyond * beyond - width * width / 7.0
    x = beyond / width
    return beyond * beyond * x * x * x * (2.0 - 2.5 * x + 6.0 / 7.0 * x * x)


@kernel
def limit_force(limits, k, q, u):
    """Force of limit k at a coordinate and its speed, and its energy.

        f = -k_u S((q - q_u) / d) (q - q_u) + k_l S((q_l - q) / d) (q_l - q) - c (S + S) u
        S(x) = 10 x^3 - 15 x^4 + 6 x^5 on 0 .. 1
        V = k (q - q_u)^2 x^3 (2 - 5 x / 2 + 6 x^2 / 7), x = (q - q_u) / d <= 1;  k ((q - q_u)^2 / 2 - d^2 / 7) beyond

    Source:     OpenSim 4.6, observed behavior.
    Departs:    where a stiffness is zero OpenSim divides by it and gives NaN; here K / k is S.
    Guarantees: f = -dV/dq at rest, one end at a time.
    """
    over, under, width = q - limits.upper[k], limits.lower[k] - q, limits.width[k]
    rise_upper, rise_lower = _step(over / width), _step(under / width)
    spring = limits.lower_stiffness[k] * rise_lower * under - limits.upper_stiffness[k] * rise_upper * over
    if over > 0.0:
        energy = limits.upper_stiffness[k] * _stored(over, width)
    else:
        energy = limits.lower_stiffness[k] * _stored(under, width)
    return spring - limits.damping[k] * (rise_upper + rise_lower) * u, energy


@kernel
def spring_force(springs, k, q, u):
    """Force and energy of spring k: f = -k (q - q_0) - c u, V = k (q - q_0)^2 / 2. Source: OpenSim 4.6, observed."""
    stretch = q - springs.rest[k]
    return -springs.stiffness[k] * stretch - springs.viscosity[k] * u, 0.5 * springs.stiffness[k] * stretch * stretch


@kernel
def formula_force(formulas, k, q, u, variables, stack):
    """What formula k gives of a coordinate and its speed. variables: (2 at least, 1) and stack: (depth, 1), scratch."""
    variables[0, 0], variables[1, 0] = q, u
    return run_program(formulas.programs, k, variables, stack, 0)
