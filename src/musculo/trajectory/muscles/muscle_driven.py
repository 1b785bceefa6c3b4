"""A model with muscles and actuators as a node function: what its motion needs less what pulls, and its muscles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from musculo.analyses.static_optimization.reserves import Reserves, actuators_of, reserves_of
from musculo.arrays import BoolArray, FloatArray, IntArray
from musculo.dynamics.derivatives.dynamics_derivatives import inverse_dynamics_derivatives
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.loads.external import ExternalLoad, Loads, listed
from musculo.embedding.embedding import embedding_of
from musculo.errors import Unsupported
from musculo.forces.actuator_rows import AT_COORDINATE
from musculo.model.model import Model
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.muscle.paths.moment_arm_derivatives import moment_arm_derivatives
from musculo.trajectory.muscles.muscle_nodes import SmoothMuscles

Tendons = Literal["stated", "rigid"]
TIME = "time"
# States at which zeros of slopes are looked for: what is zero at all of them is zero because nothing connects it.
_LOOKS = 5
_SEED = 7


class _Motion(NamedTuple):
    """The motion of the tree at the nodes, and what its independent speeds need."""

    q: FloatArray  # (nodes, all)
    u: FloatArray
    udot: FloatArray
    J: FloatArray
    time: FloatArray
    loads: list[ExternalLoad]


class _Pull(NamedTuple):
    """What muscles do at the nodes."""

    arms: FloatArray  # (nodes, muscles, n)
    speed: FloatArray  # (nodes, muscles) of paths
    along: FloatArray  # (nodes, muscles) s
    along_rate: FloatArray  # (nodes, muscles) v


@dataclass(frozen=True)
class Layout:
    """Which columns of a node's variables are what."""

    value: IntArray  # (n,)
    speed: IntArray  # (n,)
    acceleration: IntArray  # (n,)
    excitation: IntArray  # (muscles,)
    activation: IntArray  # (muscles,) that of the excitation where a muscle has no dynamics
    tension: IntArray  # (elastic,)
    tension_rate: IntArray  # (elastic,)
    control: IntArray  # (actuators,)
    time: int
    names: tuple[str, ...]


class MuscleDriven:
    """The equations of motion of a model with muscles, as they stand at one node.

        tau(q, u, udot, t) - sum_i r_i(q) F_i - actuators = 0       one row for each independent speed: `knee/moment`
        f_i - g(a_i, s_i, v_i) = 0                                  for each elastic tendon: `soleus/equilibrium`
        da_i/dt = rate(e_i, a_i)                                    `soleus/activation_rate`

    with F_i = F_max f_i, or F_max g where the tendon does not stretch (`kernels/hill/muscle_slopes.py`). Variables are
    `knee/value`, `knee/speed`, `knee/acceleration`, `soleus/excitation`, `soleus/activation`,
    `soleus/normalized_tendon_force`, `soleus/normalized_tendon_force_rate`, `pelvis_tx_reserve/control` and `time`.
    A muscle without activation dynamics has its excitation for its activation.

    Source:     [DeGroote2016], third formulation; [Dembia2020], implicit dynamics of multibody and tendons.
    Guarantees: exact slopes, but by `time`, on which loads and prescribed motions depend: they are zero, so that the
                duration of a motion under loads must be a number.

    Args:
        model: with muscles of the kind DeGrooteFregly2016Muscle, or none.
        loads: from outside, such as ground reactions.
        tendons: "rigid" lets no tendon stretch, "stated" those that the model does not say are rigid.
        reserves: optimal forces of extra actuators, by independent speed; or a number for all.
        control_limits: of actuators that state none.
        threads: the number of threads; all cores by default.

    Raises:
        Unsupported: closed loops, joints whose speeds are no derivatives of coordinates, actuators on bodies or paths.
    """

    def __init__(
        self,
        model: Model,
        *,
        loads: Loads = (),
        tendons: Tendons = "stated",
        reserves: Reserves | None = None,
        threads: int | None = None,
    ) -> None:
        self.model, self.loads, self.threads = model, loads, threads
        self.embedding = embedding_of(model)
        self.names = self.embedding.speed_names
        _refuse(model, self.embedding.coordinate_names, self.names)
        self.muscles = SmoothMuscles(model, rigid=tendons == "rigid") if model.muscles else None
        self.actuators = (*actuators_of(model), *reserves_of(model, reserves, self.names))
        for one in self.actuators:
            if one.force is not None and one.force.kind not in AT_COORDINATE:
                raise Unsupported(f"actuator {one.name!r} is a {one.force.kind}; only actuators at coordinates are known")
        self.layout = self._layout()
        self.inputs = self.layout.names
        m = self.muscles
        self.outputs: tuple[str, ...] = tuple(f"{name}/moment" for name in self.names)
        if m is not None:
            self.outputs += tuple(f"{m.names[k]}/equilibrium" for k in m.elastic)
            self.outputs += tuple(f"{m.names[k]}/activation_rate" for k in m.driven)

    # --- variables ----------------------------------------------------------------------------------------------------
    def _layout(self) -> Layout:
        names: list[str] = []

        def block(labels: Sequence[str]) -> IntArray:
            names.extend(labels)
            return np.arange(len(names) - len(labels), len(names))

        value = block([f"{name}/value" for name in self.names])
        speed = block([f"{name}/speed" for name in self.names])
        acceleration = block([f"{name}/acceleration" for name in self.names])
        m = self.muscles
        muscles = m.names if m is not None else ()
        elastic = [muscles[k] for k in m.elastic] if m is not None else []
        driven = m.driven if m is not None else np.zeros(0, dtype=np.int64)
        activation = block([f"{muscles[k]}/activation" for k in driven])
        tension = block([f"{name}/normalized_tendon_force" for name in elastic])
        rate = block([f"{name}/normalized_tendon_force_rate" for name in elastic])
        excitation = block([f"{name}/excitation" for name in muscles])
        control = block([f"{one.name}/control" for one in self.actuators])
        of_muscle = excitation.copy()
        of_muscle[driven] = activation
        (time,) = block([TIME])
        return Layout(
            value, speed, acceleration, excitation, of_muscle, tension, rate, control, int(time), tuple(names)
        )

    # --- values -------------------------------------------------------------------------------------------------------
    def motion(self, v: FloatArray) -> _Motion:
        """Of the tree."""
        x, time = self.layout, v[:, self.layout.time]
        m = self.embedding.motion(v[:, x.value], v[:, x.speed], v[:, x.acceleration], time)
        return _Motion(m.q, m.u, m.udot, m.J, time, self.loads_at(time))

    def loads_at(self, time: FloatArray) -> list[ExternalLoad]:
        """Loads at times (nodes,)."""
        return listed(self.loads, len(time), time)

    def _controls(self, J: FloatArray) -> FloatArray:
        """(nodes, n, actuators) what full control of each gives."""
        columns = np.empty((len(J), J.shape[2], len(self.actuators)))
        for k, one in enumerate(self.actuators):
            columns[:, :, k] = one.optimal_force * J[:, self.model.speed_index(one.coordinate)]
        return columns

    def _pull(self, v: FloatArray, motion: _Motion, arms: FloatArray | None = None) -> _Pull:
        m, x = self.muscles, self.layout
        assert m is not None
        g = muscle_geometry(self.model, motion.q, threads=self.threads)
        if arms is None:
            arms = g.moment_arm @ motion.J
        speed = -np.einsum("kmn,kn->km", arms, v[:, x.speed])
        along, rate = g.length - m.slack_length, speed.copy()
        tendons = m.tendons(v[:, x.tension])
        along[:, m.elastic] = g.length[:, m.elastic] - tendons.length
        rate[:, m.elastic] -= tendons.first * v[:, x.tension_rate]
        return _Pull(arms, speed, along, rate)

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, outputs)."""
        v, x, m = variables, self.layout, self.muscles
        motion = self.motion(v)
        tau = inverse_dynamics(self.model, motion.q, motion.u, motion.udot, motion.loads, threads=self.threads)
        moments = np.einsum("kun,ku->kn", motion.J, tau)
        moments -= np.einsum("kna,ka->kn", self._controls(motion.J), v[:, x.control])
        if m is None:
            return moments
        pull = self._pull(v, motion)
        f = m.fibers(v[:, x.excitation], v[:, x.activation], pull.along, pull.along_rate)
        normalized = f.force.copy()
        normalized[:, m.elastic] = v[:, x.tension]
        moments -= np.einsum("kmn,km->kn", pull.arms, normalized * m.max_force)
        balance = v[:, x.tension] - f.force[:, m.elastic]
        return np.concatenate([moments, balance, f.rate[:, m.driven]], axis=1)

    # --- slopes -------------------------------------------------------------------------------------------------------
    @cached_property
    def pattern(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of slopes, found at random states."""
        return np.nonzero(self._mask)

    @cached_property
    def _mask(self) -> BoolArray:
        v = self._some_states(np.random.default_rng(_SEED))
        return np.asarray((self._dense(v)[1] != 0.0).any(axis=0))

    def _some_states(self, rng: np.random.Generator) -> FloatArray:
        v = rng.normal(0.0, 0.1, (_LOOKS, len(self.inputs)))
        v[:, self.layout.value] += self.embedding.independent(self.embedding.default_pose())
        v[:, np.concatenate([self.layout.excitation, self.layout.activation])] = rng.uniform(
            0.1, 0.9, (_LOOKS, 2 * len(self.layout.excitation))
        )
        v[:, self.layout.tension] = rng.uniform(0.1, 0.9, (_LOOKS, len(self.layout.tension)))
        first, last = (self.loads.table.time[[0, -1]] if hasattr(self.loads, "table") else (0.0, 1.0))
        v[:, self.layout.time] = np.linspace(first, last, _LOOKS + 2)[1:-1]
        return v

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, outputs) values and (nodes, entries) slopes in the order of `pattern`."""
        rows, columns = self.pattern
        values, dense = self._dense(variables)
        return values, dense[:, rows, columns]

    def _dense(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values, and slopes (nodes, outputs, inputs)."""
        x, m, n = self.layout, self.muscles, len(self.names)
        motion = self.motion(v)
        d = inverse_dynamics_derivatives(
            self.model, motion.q, motion.u, motion.udot, loads=motion.loads, time=motion.time, threads=self.threads
        ).independent
        tau = inverse_dynamics(self.model, motion.q, motion.u, motion.udot, motion.loads, threads=self.threads)
        values = np.empty((len(v), len(self.outputs)))
        slopes = np.zeros((len(v), len(self.outputs), len(self.inputs)))
        controls = self._controls(motion.J)
        values[:, :n] = np.einsum("kun,ku->kn", motion.J, tau)
        values[:, :n] -= np.einsum("kna,ka->kn", controls, v[:, x.control])
        slopes[:, :n, x.value], slopes[:, :n, x.speed] = d.dtau_dz, d.dtau_dzu
        slopes[:, :n, x.acceleration] = d.dtau_dzudot
        slopes[:, :n, x.control] = -controls
        if m is None:
            return values, slopes
        arms_of = moment_arm_derivatives(self.model, motion.q, threads=self.threads)
        bends = arms_of.independent  # (nodes, muscles, n, n)
        pull = self._pull(v, motion, arms_of.moment_arm @ motion.J)
        f = m.fibers(v[:, x.excitation], v[:, x.activation], pull.along, pull.along_rate)
        el, r = m.elastic, pull.arms
        # of speeds of paths by coordinates: -sum_j dr_j/dq_k u_j
        speed_by = -np.einsum("kmij,ki->kmj", bends, v[:, x.speed])
        by_value = -r * f.by_along[:, :, None] + speed_by * f.by_speed[:, :, None]
        by_speed = -r * f.by_speed[:, :, None]
        normalized = f.force.copy()
        normalized[:, el] = v[:, x.tension]
        F = normalized * m.max_force
        values[:, :n] -= np.einsum("kmn,km->kn", r, F)
        slopes[:, :n, x.value] -= np.einsum("kmij,km->kij", bends, F)
        rigid = m.rigid
        pulls = r[:, rigid] * m.max_force[rigid, None]
        slopes[:, :n, x.value] -= np.einsum("kmi,kmj->kij", pulls, by_value[:, rigid])
        slopes[:, :n, x.speed] -= np.einsum("kmi,kmj->kij", pulls, by_speed[:, rigid])
        slopes[:, :n, x.activation[rigid]] -= np.swapaxes(pulls * f.by_activation[:, rigid, None], 1, 2)
        slopes[:, :n, x.tension] -= np.swapaxes(r[:, el] * m.max_force[el, None], 1, 2)
        # equilibria f - g
        t = m.tendons(v[:, x.tension])
        fd = v[:, x.tension_rate]
        count, own = len(el), np.arange(len(el))
        rows = n + own
        values[:, rows] = v[:, x.tension] - f.force[:, el]
        slopes[:, n : n + count, x.value] = -by_value[:, el]
        slopes[:, n : n + count, x.speed] = -by_speed[:, el]
        slopes[:, rows, x.activation[el]] = -f.by_activation[:, el]
        slopes[:, rows, x.tension] = 1.0 + f.by_along[:, el] * t.first + f.by_speed[:, el] * t.second * fd
        slopes[:, rows, x.tension_rate] = f.by_speed[:, el] * t.first
        # activations
        rows = n + count + np.arange(len(m.driven))
        values[:, rows] = f.rate[:, m.driven]
        slopes[:, rows, x.excitation[m.driven]] = f.rate_by_excitation[:, m.driven]
        slopes[:, rows, x.activation[m.driven]] = f.rate_by_activation[:, m.driven]
        return values, slopes


    # --- curvatures ---------------------------------------------------------------------------------------------------
    @cached_property
    def curvature_pattern(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of the lower triangle of second derivatives."""
        return self._curvature_places[0], self._curvature_places[1]

    @cached_property
    def _curvature_places(self) -> tuple[IntArray, IntArray, IntArray]:
        """Rows, columns, and which number of all blocks of `node_curvature` stands there."""
        rng = np.random.default_rng(_SEED)
        v = self._some_states(rng)
        found = self._blocks(v, rng.normal(size=(_LOOKS, len(self.outputs))))
        x, n = self.layout, len(self.names)
        moving = np.concatenate([x.value, x.speed, x.acceleration])
        count = len(x.excitation)
        muscle = np.full((count, 4), -1)
        muscle[:, 0], muscle[:, 1] = x.excitation, x.activation
        if self.muscles is not None:
            muscle[self.muscles.elastic, 2], muscle[self.muscles.elastic, 3] = x.tension, x.tension_rate
        rows = [np.repeat(moving, 3 * n), np.repeat(muscle[:, 1:].ravel(), 2 * n), np.repeat(muscle.ravel(), 4)]
        columns = [np.tile(moving, 3 * n), np.tile(moving[: 2 * n], 3 * count), np.repeat(muscle, 4, axis=0).ravel()]
        row, column = np.concatenate(rows), np.concatenate(columns)
        # of mixed blocks one half is there, of others both: the lower half of these is taken
        both = np.arange(len(row))
        is_mixed = (both >= len(rows[0])) & (both < len(rows[0]) + len(rows[1]))
        keep = (found != 0.0).any(axis=0) & (row >= 0) & (column >= 0) & (is_mixed | (row >= column))
        own = np.flatnonzero(keep)
        return np.maximum(row, column)[own], np.minimum(row, column)[own], own

    def _blocks(self, v: FloatArray, multipliers: FloatArray) -> FloatArray:
        from musculo.trajectory.muscles.muscle_curvature import node_curvature

        return np.concatenate([block.reshape(len(v), -1) for block in node_curvature(self, v, multipliers)], axis=1)

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, entries) of the sum over outputs of multipliers (nodes, outputs) times second derivatives."""
        return self._blocks(variables, multipliers)[:, self._curvature_places[2]]


def _refuse(model: Model, coordinates: tuple[str, ...], speeds: tuple[str, ...]) -> None:
    if coordinates != speeds:
        other = next(name for name in speeds if name not in coordinates)
        raise Unsupported(
            f"speed {other!r} of {model.name!r} is no derivative of a coordinate; joints of a kind whose speeds are "
            "(Gimbal and Custom in place of Ball and Free) can be optimized"
        )
