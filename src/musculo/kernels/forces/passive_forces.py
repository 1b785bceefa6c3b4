"""Forces of a model that need no control, force by force: limits, springs, bushings, contacts, prescribed forces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, kernel, room
from musculo.kernels.contact.contact_pressure import Beds, Pairs, SmoothPairs, bed_wrench, hertz_wrench, smooth_wrench
from musculo.kernels.contact.lost_contacts import Sweep, lose_contacts
from musculo.kernels.contact.nearest_triangle import Meshes
from musculo.kernels.forces.bushing_law import Bushings, bushing_wrench
from musculo.kernels.forces.coordinate_laws import (
    CoordinateFormulas,
    Limits,
    Springs,
    formula_force,
    limit_force,
    spring_force,
)
from musculo.kernels.forces.point_laws import PointPairs, Prescribed, point_pull, prescribed_wrench


class PassiveForces(NamedTuple):
    """Forces by their laws. Those on speeds and those on bodies are numbered in this order."""

    limits: Limits
    springs: Springs
    formulas: CoordinateFormulas
    bushings: Bushings  # linear
    curved_bushings: Bushings  # of functions
    formula_bushings: Bushings
    point_springs: PointPairs
    point_formulas: PointPairs
    prescribed: Prescribed
    smooth: SmoothPairs
    hertz: Pairs
    beds: Beds
    meshes: Meshes
    sweep: Sweep  # of those of Hertz, where contacts are lost as in OpenSim
    speed: IntArray  # (on speeds,) row of u
    first: IntArray  # (on bodies,) node that feels the opposite; -1: none does
    second: IntArray  # (on bodies,) node that feels the wrench


class PassiveRoom(NamedTuple):
    """What each force does, and where it is computed."""

    on_speed: FloatArray  # (on speeds,) [N m, N]
    wrench: FloatArray  # (on bodies, 6) moment about ground's origin, force, in ground, on the second body
    energy: FloatArray  # (on speeds + on bodies,) potential energy [J]
    state: IntArray  # (on bodies,) of contacts
    variables: FloatArray  # (6, 1) of formulas
    resistance: FloatArray  # (6,)
    stack: FloatArray  # (depth, 1)
    begin: FloatArray  # (shapes,) of a sweep


@room
def passive_room(p):
    """Room for the forces `PassiveForces` at one state."""
    depth = max(
        p.formulas.programs.depth,
        p.bushings.programs.depth,
        p.curved_bushings.programs.depth,
        p.formula_bushings.programs.depth,
        p.point_springs.programs.depth,
        p.point_formulas.programs.depth,
    )
    speeds, bodies = p.speed.size, p.second.size
    return PassiveRoom(
        np.zeros(speeds),
        np.zeros((bodies, 6)),
        np.zeros(speeds + bodies),
        np.zeros(bodies, dtype=np.int64),
        np.zeros((6, 1)),
        np.zeros(6),
        np.zeros((depth, 1)),
        np.zeros(p.sweep.radius.size),
    )


@inline
def _put(r, row, moment, force):
    for i in range(3):
        r.wrench[row, i] = moment[i]
        r.wrench[row, 3 + i] = force[i]


@kernel
def _bushings(b, first, motion, r, lane):
    """Those of one table, from row `first` on; the row after them."""
    n = b.formula.size
    for k in range(n):
        moment, force, energy = bushing_wrench(b, k, motion, lane, r.variables, r.resistance, r.stack)
        _put(r, first + k, moment, force)
        r.energy[r.on_speed.size + first + k] = energy
    return first + n


@kernel
def _points(pairs, first, motion, r, lane):
    n = pairs.formula.size
    for k in range(n):
        moment, force, energy = point_pull(pairs, k, motion, lane, r.variables, r.stack)
        _put(r, first + k, moment, force)
        r.energy[r.on_speed.size + first + k] = energy
    return first + n


@kernel
def speed_forces(p, q, u, r, lane):
    """Forces at coordinates of one lane into r.on_speed, with their energies.

    Args:
        p: `PassiveForces`. q, u: (rows, lanes). r: `PassiveRoom`.
    """
    at = 0
    for k in range(p.limits.q.size):
        force, energy = limit_force(p.limits, k, q[p.limits.q[k], lane], u[p.limits.u[k], lane])
        r.on_speed[at + k], r.energy[at + k] = force, energy
    at += p.limits.q.size
    for k in range(p.springs.q.size):
        force, energy = spring_force(p.springs, k, q[p.springs.q[k], lane], u[p.springs.u[k], lane])
        r.on_speed[at + k], r.energy[at + k] = force, energy
    at += p.springs.q.size
    for k in range(p.formulas.q.size):
        x, v = q[p.formulas.q[k], lane], u[p.formulas.u[k], lane]
        r.on_speed[at + k] = formula_force(p.formulas, k, x, v, r.variables, r.stack)


@kernel
def body_forces(p, t, motion, r, lane):
    """Wrenches of one lane into r.wrench, with their energies, and the states of contacts.

    Args:
        p: `PassiveForces`. t: time [s]. motion: (MOTION_ROWS nodes, lanes) as `kinematics` writes it. r: `PassiveRoom`.
    """
    stored = r.on_speed.size
    row = _bushings(p.bushings, 0, motion, r, lane)
    row = _bushings(p.curved_bushings, row, motion, r, lane)
    row = _bushings(p.formula_bushings, row, motion, r, lane)
    row = _points(p.point_springs, row, motion, r, lane)
    row = _points(p.point_formulas, row, motion, r, lane)
    for k in range(p.prescribed.force_in_ground.size):
        moment, force = prescribed_wrench(p.prescribed, k, t, motion, lane)
        _put(r, row + k, moment, force)
    row += p.prescribed.force_in_ground.size
    for k in range(p.smooth.radius.size):
        moment, force, energy = smooth_wrench(p.smooth, k, motion, lane)
        _put(r, row + k, moment, force)
        r.energy[stored + row + k] = energy
    row += p.smooth.radius.size
    for k in range(p.hertz.radius.size):
        moment, force, energy, state = hertz_wrench(p.hertz, k, motion, lane)
        _put(r, row + k, moment, force)
        r.energy[stored + row + k] = energy
        r.state[row + k] = state
    lose_contacts(p.sweep, row, motion, r, lane)
    row += p.hertz.radius.size
    for k in range(p.beds.kind.size):
        moment, force, energy = bed_wrench(p.beds, k, p.meshes, motion, lane)
        _put(r, row + k, moment, force)
        r.energy[stored + row + k] = energy
