"""All that acts on a tree besides gravity, muscles and what runs along paths: one state, from motion that is known."""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import apart, inline, kernel, room
from musculo.kernels.forces.actuator_laws import Actuators, actuator_forces
from musculo.kernels.forces.passive_forces import PassiveForces, body_forces, passive_room, speed_forces
from musculo.kernels.forces.recorded_loads import RecordedLoads, recorded_wrenches


class ActingForces(NamedTuple):
    """Forces of a model and from outside."""

    passive: PassiveForces
    actuators: Actuators
    loads: RecordedLoads
    on_bodies: int  # 0 where nothing acts on bodies, so that no motion is needed


class ForceState(NamedTuple):
    """A state that forces depend on, lanes last."""

    q: FloatArray  # (n_q, lanes)
    u: FloatArray  # (n_u, lanes)
    nodes: FloatArray  # (MOTION_ROWS nodes, lanes) positions and velocities as `kinematics` writes them


class ForceSums(NamedTuple):
    """What forces are added to."""

    wrench: FloatArray  # (6 nodes, lanes) force, then moment about ground's origin, on each node, in ground
    tau: FloatArray  # (n_u, lanes) generalized forces


@room
def acting_room(p):
    """Room for `ActingForces` at one state."""
    return passive_room(p.passive)


@inline
def _put(E, node, wrench, k, sign, lane):
    for i in range(3):
        row = 6 * node + i
        E[row, lane] = E[row, lane] + sign * wrench[k, 3 + i]
        E[row + 3, lane] = E[row + 3, lane] + sign * wrench[k, i]


@kernel
def acting_forces(p, t, state, controls, sums, values, lane):
    """Add the forces of one lane: wrenches E on nodes, generalized forces tau.

    E is what `rnea` and `aba` take as external wrenches; `wrench_forces.pull_back` makes generalized forces of it.

    Guarantees: (tau + J^T E) . u is the power of all forces.

    Args:
        p: `ActingForces`. t: time [s]. state: `ForceState`, whose nodes are not read where p.on_bodies is 0.
        controls: (rows, lanes) of actuators; an ActivationCoordinateActuator takes its activation from there.
        sums: `ForceSums`, added to. values: of `acting_room`, overwritten.
    """
    apart()
    c, motion, E, tau = p.passive, state.nodes, sums.wrench, sums.tau
    speed_forces(c, state.q, state.u, values, lane)
    for k in range(c.speed.size):
        tau[c.speed[k], lane] = tau[c.speed[k], lane] + values.on_speed[k]
    if p.on_bodies != 0:
        body_forces(c, t, motion, values, lane)
        for k in range(c.second.size):
            _put(E, c.second[k], values.wrench, k, 1.0, lane)
            if c.first[k] >= 0:
                _put(E, c.first[k], values.wrench, k, -1.0, lane)
        recorded_wrenches(p.loads, t, motion, E, lane)
    actuator_forces(p.actuators, controls, motion, E, tau, lane)
