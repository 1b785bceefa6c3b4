"""What a recorded motion asks of muscles at the nodes of a mesh."""

from __future__ import annotations

import numpy as np

from musculo.analyses.acting_loads import acting_loads
from musculo.analyses.recorded_motion import Motion, filtered_motion, motion_of_rates
from musculo.analyses.static_optimization.reserves import (
    Actuator,
    Reserves,
    actuator_columns,
    actuators_of,
    reserves_of,
)
from musculo.arrays import FloatArray
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.loads.external import Loads
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput
from musculo.forces.model_forces import passive_forces
from musculo.like import Like
from musculo.model.model import Model
from musculo.muscle.path_loads.path_forces import spring_forces
from musculo.muscle.paths.geometry import muscle_geometry, path_geometry
from musculo.results.table import Table
from musculo.signals.natural_smoothing import NaturalSpline
from musculo.trajectory.muscles.inverse_program import KnownMotion

# A mesh may end this much before or after the recording, over the length of an interval: rounding of times in files.
_SAME = 1e-6


def mesh_nodes(table: Table, start: float | None, end: float | None, interval: float) -> FloatArray:
    """Nodes of intervals of equal length, as near as they can be to `interval`, and their midpoints."""
    first, last = (
        given if given is not None else own for given, own in ((start, table.time[0]), (end, table.time[-1]))
    )
    slack = _SAME * interval
    if not (np.isfinite(interval) and interval > 0.0):
        raise InvalidInput(f"interval is {interval!r}; give a length in seconds, such as 0.02")
    if not (table.time[0] - slack <= first < last <= table.time[-1] + slack):
        span = f"{table.time[0]:g} to {table.time[-1]:g} s"
        raise InvalidInput(f"the time range is {first:g} to {last:g} s; the motion spans {span}")
    count = max(int(np.ceil((last - first) / interval - _SAME)), 1)
    return np.linspace(first, last, 2 * count + 1)


def motion_at(model: Model, table: Table, time: FloatArray, cutoff: float | None, like: Like | None) -> Motion:
    """A table of coordinates at other times: filtered, and quintic splines through it."""
    if cutoff is not None:
        table = filtered_motion(table, cutoff, like)
    spline = NaturalSpline(table.time, table.coordinates(model, missing="default"))
    return motion_of_rates(model, time, spline(time), spline(time, 1), spline(time, 2))


def known_motion(
    model: Model,
    motion: Motion,
    loads: Loads,
    reserves: Reserves | None,
    like: Like | None = None,
    threads: int | None = None,
) -> tuple[KnownMotion, tuple[Actuator, ...]]:
    """Moments, moment arms, lengths and speeds of a motion, on the independent speeds."""
    e = embedding_of(model)
    refuse_carried(e.unsolved)
    Q, U, time = motion.q, motion.u, motion.time
    acting, _ = acting_loads(model, Q, loads, time)
    tau = inverse_dynamics(model, Q, U, motion.udot, acting, threads=threads)
    J = e.jacobian(Q, time)
    actuators = (*actuators_of(model), *reserves_of(model, reserves, e.speed_names))
    paths = len(model.muscles) < sum(f.path is not None for f in model.forces)
    g = (path_geometry if paths else muscle_geometry)(model, Q, U, like=like, threads=threads)
    if paths:
        tau = tau - spring_forces(model, g, threads)
    tau = tau - passive_forces(model, Q, U, time, "exact", threads)[0]
    muscles = [g.index(name) for name in model.muscle_names]
    known = KnownMotion(
        time=time,
        moment=np.einsum("fuz,fu->fz", J, tau),
        arms=np.einsum("fmu,fuz->fmz", g.moment_arm[:, muscles], J),
        length=g.length[:, muscles],
        speed=g.speed[:, muscles],  # type: ignore[index]  # U is given
        actuators=actuator_columns(model, Q, J, g, actuators, threads),
        low=np.array([a.min_control for a in actuators], dtype=float),
        top=np.array([a.max_control for a in actuators], dtype=float),
        equation_names=e.speed_names,
        actuator_names=tuple(a.name for a in actuators),
    )
    return known, actuators
