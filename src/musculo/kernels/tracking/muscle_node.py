"""Muscles at the end of an implicit step: what they can give there, and what excites them so.

Fibers take a step of backward differentiation, activation one of the midpoint rule,

    l = l_h + g v(L, a, l),   a = a_0 + h f(x, (a_0 + a) / 2)

with l_h what is known from earlier nodes, and g a time. So the force at a node is a function of the activation there,
and the excitation, constant in the step, follows from two activations. Forces can be asked for at every node: unlike
that of windows of constant excitation, the inverse of these steps does not ring. (One midpoint rule for both would,
since it hands on (a_0 + a) / 2, and a changes sign with a_0 where that is given.)
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.hill.activation_rate import DIRECT, activation_rate
from musculo.kernels.hill.muscle_force import equilibrium, rigid_forces, state_forces
from musculo.kernels.hill.muscle_table import FIBER_LENGTH, FIBER_VELOCITY, TENDON_FORCE

# Newton's method within a bracket: most steps, and the change of fiber length over the optimal one that ends it.
_MOST, _STILL = 60, 1e-13
# Differences for slopes, in activation and in optimal fiber lengths.
_NUDGE = 1e-6
# A force is met so closely, over the maximum one; force that grows less with activation than this counts as that.
_MET, _FLAT = 1e-11, 1e-6
# Fibers are looked for up to this many optimal lengths.
_LONGEST = 3.0
# Halvings of an activation's or an excitation's range: nothing is left of it then.
_HALVINGS = 50


class Node(NamedTuple):
    """A node, and what earlier ones leave for it."""

    length: FloatArray  # (muscles,) of the paths [m]
    speed: FloatArray  # (muscles,) [m/s], for tendons that do not stretch
    activation: FloatArray  # (muscles,) a_0
    fiber: FloatArray  # (muscles,) l_h [m]
    gain: float  # g [s]
    step: float  # h [s]


class NodeReach(NamedTuple):
    """What muscles can be at a node under their least and their largest excitation, (2, muscles) each."""

    activation: FloatArray
    force: FloatArray  # [N]
    fiber: FloatArray  # [m]; guesses on entry


class RestingMuscles(NamedTuple):
    """Muscles whose tendons keep their lengths, (muscles,) each."""

    length: FloatArray  # of the paths [m]
    speed: FloatArray  # of the paths [m/s]
    force: FloatArray  # that is wanted [N]


class RestingActivations(NamedTuple):
    """What they need, (muscles,) each."""

    activation: FloatArray  # guesses on entry
    slope: FloatArray  # by force [1/N]
    fiber: FloatArray  # [m]


@kernel
def _fiber_at(m, c, i, node, a, start, opensim):
    """Fiber length with l - l_h = g v(L, a, l); the left side less the right grows with l."""
    g, L = node.gain, node.length[i]
    low, high = m.least_length[i], _LONGEST * m.optimal_length[i]
    x = min(max(start, low), high)
    for _ in range(_MOST):
        rows, _ = state_forces(m, c, i, L, a, x, opensim)
        gap = x - node.fiber[i] - g * rows[FIBER_VELOCITY]
        if gap > 0.0:
            high = x
        else:
            low = x
        nudge = _NUDGE * m.optimal_length[i]
        ahead, _ = state_forces(m, c, i, L, a, x + nudge, opensim)
        slope = 1.0 - g * (ahead[FIBER_VELOCITY] - rows[FIBER_VELOCITY]) / nudge
        new = x - gap / slope if slope > 0.0 else low - 1.0
        if not (new >= low and new <= high):
            new = 0.5 * (low + high)
        moved = abs(new - x)
        x = new
        if moved <= _STILL * m.optimal_length[i]:
            break
    return x


@kernel
def _force_at(m, c, i, node, a, start, opensim):
    """(force of the tendon [N], fiber length [m]) at an activation."""
    if m.rigid[i] == 1:
        rows, _ = rigid_forces(m, c, i, node.length[i], node.speed[i], a, opensim)
        return rows[TENDON_FORCE], rows[FIBER_LENGTH]
    fiber = _fiber_at(m, c, i, node, a, start, opensim)
    rows, _ = state_forces(m, c, i, node.length[i], a, fiber, opensim)
    return rows[TENDON_FORCE], fiber


@kernel
def _activation_under(m, i, node, x):
    """The activation with a = a_0 + h f(x, (a_0 + a) / 2): the left side less the right grows with a."""
    if m.activation_model[i] == DIRECT:
        return x
    a0 = node.activation[i]
    low, high = min(a0, x), max(a0, x)
    for _ in range(_HALVINGS):
        a = 0.5 * (low + high)
        if a - a0 - node.step * activation_rate(m, i, x, 0.5 * (a0 + a)) > 0.0:
            high = a
        else:
            low = a
    return 0.5 * (low + high)


@driver
def node_reach(m, c, node, low, high, opensim, reach):
    """What muscles can be at a node under excitations low and high (muscles,), into a `NodeReach`."""
    activation, force, fiber = reach.activation, reach.force, reach.fiber
    for i in range(low.size):
        for k in range(2):
            a = _activation_under(m, i, node, low[i] if k == 0 else high[i])
            activation[k, i] = max(a, m.least_activation[i])
            force[k, i], fiber[k, i] = _force_at(m, c, i, node, activation[k, i], fiber[k, i], opensim)


@driver
def node_activations(m, c, node, reach, force, opensim, a, fiber):
    """Activations a (muscles,) with which muscles give forces (muscles,) at a node, and fiber lengths.

    Newton's method within the bracket that `node_reach` gives: the force grows with the activation.

    Args: reach: `NodeReach`. a, fiber: (muscles,) guesses on entry.
    """
    reach_force = reach.force
    for i in range(a.size):
        low, high = reach.activation[0, i], reach.activation[1, i]
        scale = m.max_force[i] if m.max_force[i] > 0.0 else 1.0
        if not high > low:
            a[i] = low
        x = min(max(a[i], low), high)
        if force[i] <= reach_force[0, i]:
            x = low
        elif force[i] >= reach_force[1, i]:
            x = high
        inside = force[i] > reach_force[0, i] and force[i] < reach_force[1, i]
        for _ in range(_MOST):
            found, fiber[i] = _force_at(m, c, i, node, x, fiber[i], opensim)
            gap = found - force[i]
            if not inside or abs(gap) <= _MET * scale:
                break
            nudge = -_NUDGE if x > 0.5 else _NUDGE
            ahead, _ = _force_at(m, c, i, node, x + nudge, fiber[i], opensim)
            rise = (ahead - found) / nudge
            if gap > 0.0:
                high = x
            else:
                low = x
            new = x - gap / rise if rise > 0.0 else low - 1.0
            if not (new > low and new < high):
                new = 0.5 * (low + high)
            if high - low <= _STILL:
                break
            x = new
        a[i] = x


@kernel
def _resting_force(m, c, i, length, speed, a, opensim):
    """(force of the tendon [N], fiber length [m]) in equilibrium, the tendon keeping its length."""
    if m.rigid[i] == 1:
        rows, _ = rigid_forces(m, c, i, length, speed, a, opensim)
    else:
        rows, _ = equilibrium(m, c, i, length, speed, a)
    return rows[TENDON_FORCE], rows[FIBER_LENGTH]


@driver
def resting_activations(m, c, known, opensim, found):
    """Activations a that carry forces in equilibrium, and d a/d force: of `RestingMuscles` into `RestingActivations`.

    The inverse of `equilibrium`, which grows with the activation; beyond its range from the least activation to one, on
    a straight line.
    """
    length, speed, force = known.length, known.speed, known.force
    a, slope, fiber = found.activation, found.slope, found.fiber
    for i in range(a.size):
        scale = m.max_force[i] if m.max_force[i] > 0.0 else 1.0
        low, high = m.least_activation[i], 1.0
        least, fiber[i] = _resting_force(m, c, i, length[i], speed[i], low, opensim)
        most, _ = _resting_force(m, c, i, length[i], speed[i], high, opensim)
        x, force_x = low, least
        if force[i] >= most:
            x, force_x = high, most
        elif force[i] > least:
            x = min(max(a[i], low), high)
            for _ in range(_MOST):
                force_x, fiber[i] = _resting_force(m, c, i, length[i], speed[i], x, opensim)
                gap = force_x - force[i]
                if gap > 0.0:
                    high = x
                else:
                    low = x
                if abs(gap) <= _MET * scale or high - low <= _STILL:
                    break
                nudge = -_NUDGE if x > 0.5 else _NUDGE
                ahead, _ = _resting_force(m, c, i, length[i], speed[i], x + nudge, opensim)
                rise = (ahead - force_x) / nudge
                new = x - gap / rise if rise > 0.0 else low - 1.0
                x = new if new > low and new < high else 0.5 * (low + high)
        nudge = -_NUDGE if x > 0.5 else _NUDGE
        ahead, _ = _resting_force(m, c, i, length[i], speed[i], x + nudge, opensim)
        slope[i] = 1.0 / max((ahead - force_x) / nudge, _FLAT * scale)
        a[i] = x + (force[i] - force_x) * slope[i]


@driver
def node_excitations(m, node, a, low, high, x):
    """The excitations (muscles,) between low and high that lead to activations a (muscles,) in the step.

    The rate of activation grows with the excitation.
    """
    for i in range(a.size):
        if m.activation_model[i] == DIRECT:
            x[i] = min(max(a[i], low[i]), high[i])
            continue
        a0 = node.activation[i]
        wanted, middle = (a[i] - a0) / node.step, 0.5 * (a0 + a[i])
        under, over = low[i], high[i]
        for _ in range(_HALVINGS):
            tried = 0.5 * (under + over)
            if activation_rate(m, i, tried, middle) > wanted:
                over = tried
            else:
                under = tried
        x[i] = 0.5 * (under + over)
