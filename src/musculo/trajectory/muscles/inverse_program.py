"""The nonlinear program of muscles that make a known motion.

Of a known motion everything but the muscles is data: at each node the moments that are needed, the moment arms, the
lengths and speeds of the paths. So the program is as sparse as muscles are, its curvatures are those of single fibers,
and the exact Hessian costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.hill.muscle_slopes import CURVATURE_ROWS
from musculo.trajectory.muscles.muscle_nodes import Fibers, SmoothMuscles, Tendons

# Bounds of normalized tendon forces and of their rates [1/s]: Moco's.
TENSION_BOUNDS = (0.0, 5.0)
TENSION_RATE_BOUNDS = (-1000.0, 1000.0)
_A_S, _A_V, _S_S, _S_V, _V_V, _E_E, _E_A, _A_A = range(CURVATURE_ROWS)


@dataclass(frozen=True)
class KnownMotion:
    """What a motion asks of muscles, at the nodes of a mesh."""

    time: FloatArray  # (nodes,)
    moment: FloatArray  # (nodes, equations) that muscles and actuators must give
    arms: FloatArray  # (nodes, muscles, equations) moment arms
    length: FloatArray  # (nodes, muscles) of paths [m]
    speed: FloatArray  # (nodes, muscles) [m/s]
    actuators: FloatArray  # (nodes, equations, actuators) what full control of each gives
    low: FloatArray  # (actuators,) bounds of controls
    top: FloatArray
    equation_names: tuple[str, ...]
    actuator_names: tuple[str, ...]


class Effort(NamedTuple):
    """Weights of the squares in the integral that is smallest."""

    excitations: FloatArray  # (muscles,)
    controls: FloatArray  # (actuators,)
    tension_rates: float
    activations: float


class Steps(NamedTuple):
    """Linear equations of states x and rates y at the nodes, `value` x + `rate` y = 0, and the weights of integrals."""

    row: IntArray
    node: IntArray
    value: FloatArray
    rate: FloatArray
    quadrature: FloatArray  # (nodes,)


def hermite_simpson(time: FloatArray) -> Steps:
    """Of a mesh with nodes 0, 2, 4, ... and their midpoints: a cubic between nodes, Simpson's rule over them.

        x_m = (x_0 + x_1) / 2 + h (y_0 - y_1) / 8,   x_1 - x_0 = h (y_0 + 4 y_m + y_1) / 6

    Source: Hargraves and Paris (1987); as Moco has it.
    """
    n = (len(time) - 1) // 2
    h = time[2::2] - time[:-2:2]
    k, one = np.arange(n), np.ones(n)
    row = np.concatenate([2 * k, 2 * k, 2 * k, 2 * k + 1, 2 * k + 1, 2 * k + 1])
    node = np.concatenate([2 * k, 2 * k + 1, 2 * k + 2] * 2)
    value = np.concatenate([-0.5 * one, one, -0.5 * one, -one, 0.0 * one, one])
    rate = np.concatenate([-h / 8, 0.0 * h, h / 8, -h / 6, -4 * h / 6, -h / 6])
    quadrature = np.zeros(len(time))
    np.add.at(quadrature, np.concatenate([2 * k, 2 * k + 1, 2 * k + 2]), np.concatenate([h, 4 * h, h]) / 6)
    return Steps(row, node, value, rate, quadrature)


class _Point(NamedTuple):
    x: FloatArray
    fibers: Fibers
    tendons: Tendons


class InverseProgram:
    """Excitations, activations, tendon forces and controls of least effort that give the moments of a known motion.

    A node has activations of muscles that have dynamics, normalized forces of elastic tendons and their rates,
    excitations and controls. Its rows are the moments, the equilibria of elastic muscles, and activation = excitation
    of muscles without dynamics; between nodes stand the `Steps`. The excitation begins where the activation does.
    """

    variable_names: Sequence[str]
    row_names: Sequence[str]
    variable_stages: IntArray | None
    row_stages: IntArray | None
    hessian_pattern: tuple[IntArray, IntArray] | None

    def __init__(self, muscles: SmoothMuscles, motion: KnownMotion, effort: Effort) -> None:
        """Of muscles, of what the motion asks of them, and of weights."""
        self.muscles, self.motion, self.effort = muscles, motion, effort
        self.steps = hermite_simpson(motion.time)
        m, n = muscles, len(motion.time)
        sizes = (len(m.driven), len(m.elastic), len(m.names), len(motion.actuator_names), len(m.elastic))
        ends = np.cumsum((0, *sizes))
        self.width = int(ends[-1])
        grid = np.arange(n * self.width).reshape(n, self.width)
        # columns of each kind of variable, (nodes, ...)
        self.activation, self.tension, self.excitation, self.control, self.tension_rate = (
            grid[:, a:b] for a, b in pairwise(ends)
        )
        self._of_muscle = self.excitation.copy()  # a muscle without dynamics has its excitation for its activation
        self._of_muscle[:, m.driven] = self.activation
        self._make_bounds()
        self._make_rows()
        self._make_jacobian()
        self._make_hessian()
        self._known: _Point | None = None

    def _make_bounds(self) -> None:
        m, motion = self.muscles, self.motion
        n, e = len(motion.time), len(m.elastic)

        def whole(low: FloatArray, tension: float, control: FloatArray, rate: float) -> FloatArray:
            node = (low[m.driven], np.full(e, tension), low, control, np.full(e, rate))
            return np.tile(np.concatenate(node), n)

        self.lower = whole(m.low, TENSION_BOUNDS[0], motion.low, TENSION_RATE_BOUNDS[0])
        self.upper = whole(m.top, TENSION_BOUNDS[1], motion.top, TENSION_RATE_BOUNDS[1])
        at = [m.names[k] for k in m.elastic]
        names = [f"{m.names[k]}/activation" for k in m.driven]
        names += [f"{name}/normalized_tendon_force" for name in at]
        names += [f"{name}/excitation" for name in m.names]
        names += [f"{name}/control" for name in motion.actuator_names]
        names += [f"{name}/normalized_tendon_force_rate" for name in at]
        self.variable_names = [f"{name}[{k}]" for k in range(n) for name in names]
        self.variable_stages = np.repeat(self._stage_of_node(), self.width)

    def _stage_of_node(self) -> IntArray:
        return np.minimum(np.arange(len(self.motion.time)) // 2, (len(self.motion.time) - 1) // 2)

    def _make_rows(self) -> None:
        m, motion = self.muscles, self.motion
        n = len(motion.time)
        steps = n - 1
        names: list[str] = []
        stages: list[IntArray] = []

        def block(labels: list[str], count: int, stage: IntArray) -> IntArray:
            first = len(names)
            names.extend(f"{label}[{k}]" for k in range(count) for label in labels)
            stages.append(np.repeat(stage, len(labels)))
            return np.arange(first, first + count * len(labels)).reshape(count, len(labels))

        at = [m.names[k] for k in m.elastic]
        of_node = self._stage_of_node()
        self._moments = block([f"{name}/moment" for name in motion.equation_names], n, of_node)
        self._equilibria = block([f"{name}/equilibrium" for name in at], n, of_node)
        defects = [f"{m.names[k]}/activation defect" for k in m.driven] + [f"{name}/tension defect" for name in at]
        self._defects = block(defects, steps, np.arange(steps) // 2)
        self._first = block([f"{m.names[k]}/initial activation" for k in m.driven], 1, np.zeros(1, dtype=np.int64))
        self.row_names = names
        self.row_stages = np.concatenate(stages)
        self.row_lower = np.zeros(len(names))
        self.row_lower[self._moments] = motion.moment
        self.row_upper = self.row_lower

    # --- values -------------------------------------------------------------------------------------------------------
    def _at(self, x: FloatArray, bends: bool = False) -> _Point:
        if self._known is None or not np.array_equal(self._known.x, x) or (bends and not len(self._known.fibers.bends)):
            m, motion = self.muscles, self.motion
            along, speed = motion.length - m.slack_length, motion.speed.copy()
            tendons = m.tendons(x[self.tension])
            along[:, m.elastic] = motion.length[:, m.elastic] - tendons.length
            speed[:, m.elastic] -= tendons.first * x[self.tension_rate]
            fibers = m.fibers(x[self.excitation], x[self._of_muscle], along, speed, bends)
            self._known = _Point(x.copy(), fibers, tendons)
        return self._known

    def tensions(self, x: FloatArray) -> FloatArray:
        """(nodes, muscles) forces of the tendons [N]."""
        force = self._at(x).fibers.force.copy()
        force[:, self.muscles.elastic] = x[self.tension]
        return force * self.muscles.max_force

    def objective(self, x: FloatArray) -> float:
        """The integral of the weighted squares."""
        e, w = self.effort, self.steps.quadrature
        return float(
            w @ (x[self.excitation] ** 2 @ e.excitations)
            + w @ (x[self.control] ** 2 @ e.controls)
            + e.tension_rates * (w @ (x[self.tension_rate] ** 2).sum(axis=1))
            + e.activations * (w @ (x[self.activation] ** 2).sum(axis=1))
        )

    def _twice_weights(self) -> FloatArray:
        e, n = self.effort, len(self.motion.time)
        node = np.zeros(self.width)
        node[self.excitation[0]], node[self.control[0]] = e.excitations, e.controls
        node[self.tension_rate[0]], node[self.activation[0]] = e.tension_rates, e.activations
        return (2.0 * self.steps.quadrature[:, None] * node).reshape(n * self.width)

    def gradient(self, x: FloatArray) -> FloatArray:
        """Of the integral."""
        return self._twice_weights() * x

    def rows(self, x: FloatArray) -> FloatArray:
        """Moments, equilibria, steps, and the beginning."""
        m, motion, point, s = self.muscles, self.motion, self._at(x), self.steps
        g = np.empty(len(self.row_names))
        moments = np.einsum("kme,km->ke", motion.arms, self.tensions(x))
        g[self._moments] = moments + np.einsum("kea,ka->ke", motion.actuators, x[self.control])
        g[self._equilibria] = x[self.tension] - point.fibers.force[:, m.elastic]
        states = np.concatenate([x[self.activation], x[self.tension]], axis=1)
        rates = np.concatenate([point.fibers.rate[:, m.driven], x[self.tension_rate]], axis=1)
        defects = np.zeros(self._defects.shape)
        np.add.at(defects, s.row, s.value[:, None] * states[s.node] + s.rate[:, None] * rates[s.node])
        g[self._defects] = defects
        g[self._first] = x[self.excitation[:1, m.driven]] - x[self.activation[:1]]
        return g

    # --- slopes -------------------------------------------------------------------------------------------------------
    def _make_jacobian(self) -> None:
        m, motion, s = self.muscles, self.motion, self.steps
        n, count = len(motion.time), len(m.names)
        self._arm_entries = np.abs(motion.arms).max(axis=0) > 0.0  # (muscles, equations) the same at every node
        self._control_entries = np.abs(motion.actuators).max(axis=0) > 0.0  # (equations, actuators)
        muscle, equation = np.nonzero(self._arm_entries)
        self._arm_muscle, self._arm_equation = muscle, equation
        tension = np.full((n, count), -1)
        tension[:, m.elastic] = self.tension
        tension[:, m.rigid] = self._of_muscle[:, m.rigid]
        e, a = np.nonzero(self._control_entries)
        d, el = len(m.driven), len(m.elastic)
        act, ten = self._defects[:, :d], self._defects[:, d:]
        elastic_activation = self._of_muscle[:, m.elastic]
        parts = [
            (self._moments[:, equation], tension[:, muscle]),
            (self._moments[:, e], self.control[:, a]),
            (self._equilibria, self.tension),
            (self._equilibria, elastic_activation),
            (self._equilibria, self.tension_rate),
            (act[s.row], self.activation[s.node]),
            (act[s.row], self.excitation[:, m.driven][s.node]),
            (ten[s.row], self.tension[s.node]),
            (ten[s.row], self.tension_rate[s.node]),
            (self._first, self.excitation[:1, m.driven]),
            (self._first, self.activation[:1]),
        ]
        rows, columns = (np.concatenate([part[k].ravel() for part in parts]) for k in (0, 1))
        self.jacobian_pattern = rows, columns
        # what does not depend on x
        self._control_values = motion.actuators[:, e, a]
        self._step_values = np.repeat(s.value[:, None], el, axis=1), np.repeat(s.rate[:, None], el, axis=1)

    def jacobian(self, x: FloatArray) -> FloatArray:
        """In the order of the pattern."""
        m, motion, point, s = self.muscles, self.motion, self._at(x), self.steps
        f, t = point.fibers, point.tendons
        gain = np.tile(m.max_force, (len(motion.time), 1))
        gain[:, m.rigid] *= f.by_activation[:, m.rigid]
        moments = motion.arms[:, self._arm_muscle, self._arm_equation] * gain[:, self._arm_muscle]
        by_s, by_v = f.by_along[:, m.elastic], f.by_speed[:, m.elastic]
        fd = x[self.tension_rate]
        d = m.driven
        one = np.ones((1, len(d)))
        parts = [
            moments,
            self._control_values,
            1.0 + by_s * t.first + by_v * t.second * fd,
            -f.by_activation[:, m.elastic],
            by_v * t.first,
            s.value[:, None] + s.rate[:, None] * f.rate_by_activation[:, d][s.node],
            s.rate[:, None] * f.rate_by_excitation[:, d][s.node],
            *self._step_values,
            one,
            -one,
        ]
        return np.concatenate([part.ravel() for part in parts])

    # --- curvatures ---------------------------------------------------------------------------------------------------
    def _make_hessian(self) -> None:
        m = self.muscles
        size = len(self.variable_names)
        self._weights = self._twice_weights()
        a, f, r = self._of_muscle[:, m.elastic], self.tension, self.tension_rate
        ex, ac = self.excitation[:, m.driven], self.activation
        # of single fibers: (f f), (f a), (f r), (a r), (r r); of activations: (e e), (e a), (a a)
        pairs = [(f, f), (f, a), (f, r), (a, r), (r, r), (ex, ex), (ex, ac), (ac, ac)]
        every = np.arange(size)
        first = np.concatenate([every, *(p.ravel() for p, _ in pairs)])
        second = np.concatenate([every, *(q.ravel() for _, q in pairs)])
        rows, columns = np.maximum(first, second), np.minimum(first, second)
        keys, self._hessian_places = np.unique(rows * size + columns, return_inverse=True)
        self.hessian_pattern = (keys // size, keys % size)
        self._curvatures = len(keys)

    def hessian(self, x: FloatArray, objective_factor: float, multipliers: FloatArray) -> FloatArray:
        """Lower triangle of that of the Lagrangian."""
        m, s = self.muscles, self.steps
        point = self._at(x, bends=True)
        f, t, b = point.fibers, point.tendons, point.fibers.bends
        fd = x[self.tension_rate]
        # along and speed by f, and speed by r: s_f = -t1, v_f = -t2 r, v_r = -t1
        sf, vf, vr = -t.first, -t.second * fd, -t.first
        b = b[:, :, m.elastic]
        pull = -multipliers[self._equilibria]  # the equilibrium is f - g
        gs, gv = f.by_along[:, m.elastic], f.by_speed[:, m.elastic]
        ff = (
            b[:, _S_S] * sf * sf + 2.0 * b[:, _S_V] * sf * vf + b[:, _V_V] * vf * vf - gs * t.second - gv * t.third * fd
        )
        fa = b[:, _A_S] * sf + b[:, _A_V] * vf
        fr = (b[:, _S_V] * sf + b[:, _V_V] * vf) * vr - gv * t.second
        ar, rr = b[:, _A_V] * vr, b[:, _V_V] * vr * vr
        # of the rates of activation, by the multipliers of all steps that a node has part in
        steps = multipliers[self._defects[:, : len(m.driven)]]
        push = np.zeros((len(self.motion.time), len(m.driven)))
        np.add.at(push, s.node, s.rate[:, None] * steps[s.row])
        rates = point.fibers.bends[:, :, m.driven]
        parts = [
            objective_factor * self._weights,
            *(pull * part for part in (ff, fa, fr, ar, rr)),
            *(push * rates[:, k] for k in (_E_E, _E_A, _A_A)),
        ]
        values = np.concatenate([part.ravel() for part in parts])
        summed = np.zeros(self._curvatures)
        np.add.at(summed, self._hessian_places, values)
        return summed
