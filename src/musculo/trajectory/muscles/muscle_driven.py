"""A model with muscles and actuators as a node function: what its motion needs less what pulls, and its muscles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from musculo.analyses.static_optimization.reserves import Reserves, actuators_of, reserves_of
from musculo.arrays import FloatArray, IntArray
from musculo.dynamics.derivatives.dynamics_derivatives import pulled_back, torque_slopes_at
from musculo.dynamics.derivatives.embedded_slopes import embedded_slopes
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.loads.external import Loads
from musculo.errors import Unsupported
from musculo.forces.actuator_rows import AT_COORDINATE
from musculo.model.force import Muscle
from musculo.model.model import Model
from musculo.results.angle_columns import coordinate_units
from musculo.trajectory.functions.rates import RateModel
from musculo.trajectory.muscles.ground_contact import KIND as CONTACT
from musculo.trajectory.muscles.ground_contact import GroundContacts
from musculo.trajectory.muscles.inverse_program import TENSION_BOUNDS, TENSION_RATE_BOUNDS
from musculo.trajectory.muscles.muscle_curvature import curvature_blocks, curvature_places
from musculo.trajectory.muscles.muscle_nodes import SmoothMuscles, TendonChoice
from musculo.trajectory.muscles.muscle_state import Layout, Pull, Stretch, TreeMotion
from musculo.trajectory.muscles.node_paths import node_paths
from musculo.trajectory.muscles.outside_loads import Outside, OutsideLoads
from musculo.trajectory.muscles.scattered_blocks import ScatteredBlocks
from musculo.trajectory.problem.variables import Control, Coordinate, State, Variable

TIME = "time"
# States at which zeros of slopes are looked for: what is zero at all of them is zero because nothing connects it.
_LOOKS = 5
_SEED = 7


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
                duration of a motion under loads must be a number. Second derivatives are exact where paths are
                polynomials and no coordinate is coupled, to 1e-6; else bends of couplings are left out of them.

    Args:
        model: with muscles of the kind DeGrooteFregly2016Muscle, or none. Paths that are polynomials
            (`musculo.muscle.fit_paths`) are smoother than exact ones, and fast.
        loads: from outside, such as ground reactions; spheres that touch ground smoothly are part of the model.
        tendons: "rigid" lets no tendon stretch, "stated" those that the model does not say are rigid.
        reserves: optimal forces of extra actuators, by independent speed; or a number for all.
        threads: the number of threads; all cores by default.

    Raises:
        Unsupported: closed loops, joints whose speeds are no derivatives of coordinates, forces that are neither
            muscles, actuators at coordinates nor smooth contacts with ground.
    """

    def __init__(
        self,
        model: Model,
        *,
        loads: Loads = (),
        tendons: TendonChoice = "stated",
        reserves: Reserves | None = None,
        threads: int | None = None,
    ) -> None:
        self.model, self.loads, self.threads = model, loads, threads
        self.tendons, self.reserves = tendons, reserves
        rates = RateModel(model, type(self).__name__)
        self.embedding, self.names = rates.embedding, rates.names
        self.muscles = SmoothMuscles(model, tendons=tendons)
        self.paths = node_paths(model, threads)
        self.contacts, self._outside = _contacts(model, threads), OutsideLoads(model, loads)
        self.actuators = (*actuators_of(model), *reserves_of(model, reserves, self.names))
        self.layout = self._layout()
        self.inputs = self.layout.names
        m = self.muscles
        self.outputs: tuple[str, ...] = (
            *(f"{name}/moment" for name in self.names),
            *(f"{m.names[k]}/equilibrium" for k in m.elastic),
            *(f"{m.names[k]}/activation_rate" for k in m.driven),
        )

    def __repr__(self) -> str:
        return f"MuscleDriven({self.model.name!r})"

    # --- variables ----------------------------------------------------------------------------------------------------
    def _layout(self) -> Layout:
        names: list[str] = []

        def block(labels: Sequence[str]) -> IntArray:
            names.extend(labels)
            return np.arange(len(names) - len(labels), len(names))

        m = self.muscles
        elastic = [m.names[k] for k in m.elastic]
        value = block([f"{name}/value" for name in self.names])
        speed = block([f"{name}/speed" for name in self.names])
        acceleration = block([f"{name}/acceleration" for name in self.names])
        activation = block([f"{m.names[k]}/activation" for k in m.driven])
        tension = block([f"{name}/normalized_tendon_force" for name in elastic])
        rate = block([f"{name}/normalized_tendon_force_rate" for name in elastic])
        excitation = block([f"{name}/excitation" for name in m.names])
        control = block([f"{one.name}/control" for one in self.actuators])
        of_muscle = excitation.copy()
        of_muscle[m.driven] = activation
        (time,) = block([TIME])
        return Layout(
            value, speed, acceleration, excitation, of_muscle, tension, rate, control, int(time), tuple(names)
        )

    def variables(self, *, speed_limit: float = 50.0, control_limit: float | None = None) -> tuple[Variable, ...]:
        """Variables of a `Problem`, with the limits that the model states.

        Args:
            speed_limit: of all speeds [rad/s, m/s].
            control_limit: of actuators that state none.
        """
        m = self.muscles
        ranges = {one.name: one.range for one in self.model.coordinates}
        speed = (-speed_limit, speed_limit)
        found: list[Variable] = [Coordinate(name, (ranges[name][0], ranges[name][1]), speed) for name in self.names]
        found += [State(f"{m.names[k]}/activation", (m.low[k], m.top[k])) for k in m.driven]
        for k in m.elastic:
            found.append(State(f"{m.names[k]}/normalized_tendon_force", TENSION_BOUNDS, scale=1.0))
            found.append(Control(f"{m.names[k]}/normalized_tendon_force_rate", TENSION_RATE_BOUNDS, scale=1.0))
        found += [
            Control(f"{name}/excitation", (low, top)) for name, low, top in zip(m.names, m.low, m.top, strict=True)
        ]
        limit = np.inf if control_limit is None else control_limit
        for one in self.actuators:
            low, top = max(one.min_control, -limit), min(one.max_control, limit)
            found.append(Control(f"{one.name}/control", (low, top), scale=1.0))
        return tuple(found)

    def translates(self, coordinate: str) -> bool:
        """Whether a coordinate is a length."""
        return coordinate_units(self.model).get(coordinate) == "m"

    # --- values -------------------------------------------------------------------------------------------------------
    def motion(self, v: FloatArray) -> TreeMotion:
        """Of the tree."""
        x, time = self.layout, v[:, self.layout.time]
        m = self.embedding.motion(v[:, x.value], v[:, x.speed], v[:, x.acceleration], time)
        pushed = None if self.contacts is None else self.contacts.wrenches(m.q, m.u)
        return TreeMotion(m.q, m.u, m.udot, m.J, time, self._outside.at(time), pushed)

    def _controls(self, J: FloatArray) -> FloatArray:
        """(nodes, n, actuators) what full control of each gives."""
        rows = [self.model.speed_index(one.coordinate) for one in self.actuators]
        strength = np.array([one.optimal_force for one in self.actuators], dtype=float)
        return np.swapaxes(J[:, rows] * strength[:, None], 1, 2)

    def pull(self, v: FloatArray, motion: TreeMotion, bends: bool, second: bool = False) -> Pull:
        """Of all muscles; `bends`: derivatives of moment arms, `second`: second slopes of fibers."""
        m, x = self.muscles, self.layout
        paths, speeds, tendons, along, rate = self.stretch(v, motion.q, bends)
        fibers = m.fibers(v[:, x.excitation], v[:, x.activation], along, rate, second)
        force = m.max_force * fibers.force
        force[:, m.elastic] = m.max_force[m.elastic] * v[:, x.tension]
        return Pull(paths, speeds, tendons, fibers, force)

    def stretch(self, v: FloatArray, q: FloatArray, bends: bool) -> Stretch:
        """Of all muscles, in poses q of the tree; `bends`: derivatives of moment arms."""
        m, x = self.muscles, self.layout
        paths = self.paths.at(v[:, x.value], q, bends)
        speeds = v[:, x.speed][:, np.maximum(self.paths.own, 0)]
        along = paths.length - m.slack_length
        rate = -(paths.arms * speeds).sum(axis=2)
        tendons = m.tendons(v[:, x.tension])
        along[:, m.elastic] = paths.length[:, m.elastic] - tendons.length
        rate[:, m.elastic] -= tendons.first * v[:, x.tension_rate]
        return Stretch(paths, speeds, tendons, along, rate)

    @cached_property
    def _to_moments(self) -> FloatArray:
        """(muscles K, n) which coordinate each moment arm belongs to."""
        own = self.paths.own.ravel()
        found = np.zeros((len(own), len(self.names)))
        found[np.flatnonzero(own >= 0), own[own >= 0]] = 1.0
        return found

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, outputs)."""
        motion = self.motion(variables)
        return self._values(variables, motion, self.pull(variables, motion, bends=False))

    def _values(self, v: FloatArray, motion: TreeMotion, pull: Pull) -> FloatArray:
        x, m = self.layout, self.muscles
        tau = self._tree_forces(motion)
        moments = np.einsum("kun,ku->kn", motion.J, tau)
        moments -= np.einsum("kna,ka->kn", self._controls(motion.J), v[:, x.control])
        moments -= (pull.paths.arms * pull.force[:, :, None]).reshape(len(v), -1) @ self._to_moments
        balance = v[:, x.tension] - pull.fibers.force[:, m.elastic]
        return np.concatenate([moments, balance, pull.fibers.rate[:, m.driven]], axis=1)

    def _tree_forces(self, motion: TreeMotion) -> FloatArray:
        """(nodes, n_u) generalized forces that the motion needs beside loads and contacts."""
        wrenches = _together(motion.outside.wrenches, motion.contact)
        q, u, udot, loads = motion.q, motion.u, motion.udot, motion.outside.moving
        return inverse_dynamics(self.model, q, u, udot, loads, self.threads, wrenches=wrenches)

    # --- slopes -------------------------------------------------------------------------------------------------------
    @property
    def pattern(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of slopes."""
        return self._slope_blocks.rows, self._slope_blocks.columns

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, outputs) values and (nodes, entries) slopes in the order of `pattern`."""
        v = variables
        motion = self.motion(v)
        pull = self.pull(v, motion, bends=True)
        dynamics = self._dynamics_slopes(motion)
        rows, columns = self._dynamics_entries
        blocks = [dynamics[:, rows, columns], -self._controls(motion.J), *self._muscle_slopes(v, pull)]
        return self._values(v, motion, pull), self._slope_blocks.gathered(blocks)

    def tree_slopes(
        self, q: FloatArray, u: FloatArray, udot: FloatArray, outside: Outside
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of generalized forces of the tree (nodes, n_u, ...) by q, u and udot; of loads and contacts too."""
        touching = None if self.contacts is None else self.contacts.slopes(q, u)
        wrenches = _together(outside.wrenches, None if touching is None else touching.wrenches)
        given = self.model, q, u, udot, outside.moving
        by_q, by_u, mass = torque_slopes_at(*given, wrenches=wrenches, threads=self.threads)
        if touching is not None:
            by_q -= touching.by_q
            by_u -= touching.by_u
        return by_q, by_u, mass

    def _dynamics_slopes(self, motion: TreeMotion) -> FloatArray:
        """(nodes, n, 3 n) of moments that the motion needs."""
        q, u, udot = motion.q, motion.u, motion.udot
        parts = self.tree_slopes(q, u, udot, motion.outside)
        if self.embedding.rules:
            e = embedded_slopes(self.embedding, q, u, udot, motion.time)
            parts = pulled_back(e, parts, self._tree_forces(motion))
        return np.concatenate(parts, axis=2)

    def _muscle_slopes(self, v: FloatArray, pull: Pull) -> list[FloatArray]:
        """Blocks of `_slope_blocks` from the third on."""
        m, f, t = self.muscles, pull.fibers, pull.tendons
        r, bends, el, rigid = pull.paths.arms, pull.paths.bends, self.muscles.elastic, self.muscles.rigid
        by_s, by_v = f.by_along[:, :, None], f.by_speed[:, :, None]
        # of speeds of paths by coordinates: -sum_i dr_i/dq_j u_i
        by_value = -r * by_s - np.einsum("kmij,kmi->kmj", bends, pull.speeds) * by_v
        by_speed = -r * by_v
        strong = r * m.max_force[:, None]
        moments = -bends * pull.force[:, :, None, None]
        moments[:, rigid] -= strong[:, rigid, :, None] * by_value[:, rigid, None, :]
        gain = np.ones(f.force.shape)
        gain[:, rigid] = f.by_activation[:, rigid]
        fd = v[:, self.layout.tension_rate]
        return [
            moments,
            -strong[:, rigid, :, None] * by_speed[:, rigid, None, :],
            -strong * gain[:, :, None],
            -by_value[:, el],
            -by_speed[:, el],
            -f.by_activation[:, el],
            1.0 + f.by_along[:, el] * t.first + f.by_speed[:, el] * t.second * fd,
            f.by_speed[:, el] * t.first,
            f.rate_by_excitation[:, m.driven],
            f.rate_by_activation[:, m.driven],
        ]

    @cached_property
    def _dynamics_entries(self) -> tuple[IntArray, IntArray]:
        """Rows and columns (0 .. 3 n) of moments that the motion needs."""
        found = self._dynamics_slopes(self.motion(self.some_states()))
        rows, columns = np.nonzero((found != 0.0).any(axis=0))
        return rows, columns

    @cached_property
    def _slope_blocks(self) -> ScatteredBlocks:
        x, m, n, own = self.layout, self.muscles, len(self.names), self.paths.own
        moving = np.concatenate([x.value, x.speed, x.acceleration])
        el, rigid = m.elastic, m.rigid
        value, speed = (np.where(own >= 0, columns[np.maximum(own, 0)], -1) for columns in (x.value, x.speed))
        pulling = x.activation.copy()
        pulling[el] = x.tension
        equilibria = n + np.arange(len(el))
        rates = n + len(el) + np.arange(len(m.driven))
        rows, columns = self._dynamics_entries
        J = self.motion(self.some_states()).J
        acts = (self._controls(J) != 0.0).any(axis=0)
        blocks = ScatteredBlocks()
        blocks.add(rows, moving[columns])
        blocks.add(np.where(acts, np.arange(n)[:, None], -1), x.control)
        blocks.add(own[:, :, None], value[:, None, :])
        blocks.add(own[rigid][:, :, None], speed[rigid][:, None, :])
        blocks.add(own, pulling[:, None])
        blocks.add(equilibria[:, None], value[el])
        blocks.add(equilibria[:, None], speed[el])
        blocks.add(equilibria, x.activation[el])
        blocks.add(equilibria, x.tension)
        blocks.add(equilibria, x.tension_rate)
        blocks.add(rates, x.excitation[m.driven])
        blocks.add(rates, x.activation[m.driven])
        return blocks.made(len(self.inputs))

    def some_states(self) -> FloatArray:
        """Random variables at a few nodes, at which it is seen what depends on what."""
        rng, x = np.random.default_rng(_SEED), self.layout
        v = rng.normal(0.0, 0.1, (_LOOKS, len(self.inputs)))
        v[:, x.value] += self.embedding.independent(self.embedding.default_pose())
        for columns in (x.excitation, x.activation, x.tension):
            v[:, columns] = rng.uniform(0.1, 0.9, (_LOOKS, len(columns)))
        table: Any = getattr(self.loads, "table", None)
        first, last = (0.0, 1.0) if table is None else table.time[[0, -1]]
        v[:, x.time] = np.linspace(first, last, _LOOKS + 2)[1:-1]
        return v

    # --- curvatures ---------------------------------------------------------------------------------------------------
    @property
    def curvature_pattern(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of the lower triangle of second derivatives."""
        return self._curvature_blocks.rows, self._curvature_blocks.columns

    @cached_property
    def _curvature_blocks(self) -> ScatteredBlocks:
        return curvature_places(self)

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, entries) of the sum over outputs of multipliers (nodes, outputs) times second derivatives."""
        return self._curvature_blocks.gathered(curvature_blocks(self, variables, multipliers))


def _together(one: FloatArray | None, other: FloatArray | None) -> FloatArray | None:
    """The sum of wrenches, of which there may be none."""
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _contacts(model: Model, threads: int | None) -> GroundContacts | None:
    touching = []
    for force in model.forces:
        if not force.applies_force or isinstance(force, Muscle) or force.kind in AT_COORDINATE:
            continue
        if force.kind != CONTACT:
            raise Unsupported(
                f"force {force.name!r} is a {force.kind}, whose slopes are not known; those of muscles, actuators at "
                f"coordinates and {CONTACT} are: optimize without it, model.replace(forces=...)"
            )
        touching.append(force)
    return GroundContacts(model, touching, threads) if touching else None
