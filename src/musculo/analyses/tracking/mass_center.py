"""The mass center of a body, moved so that mean residual moments vanish, and masses that the mean force suggests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from musculo.analyses.recorded_motion import Motion, opensim_rows
from musculo.analyses.static_optimization.reserves import actuators_of, generalized_force_on_bodies
from musculo.analyses.tracking.actuated_model import StateLoads
from musculo.arrays import FloatArray
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.loads.external import ExternalLoad
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, UnknownName
from musculo.model.body import Body, Vec6
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads

# The actuators that are residuals, by their names.
RESIDUALS = ("FX", "FY", "FZ", "MX", "MY", "MZ")
# OpenSim moves a mass center by no more [m].
FARTHEST = 0.1
# A body of less weight has none [N].
_NO_WEIGHT = 1e-14


@dataclass(frozen=True)
class MassAdjustment:
    """What `adjusted_mass_center` found.

    Args:
        body: whose mass center was moved.
        moved: along x and z of the body, by which it was moved back [m].
        mass_center: where it is now, in the body [m].
        before, after: mean residuals (6,) FX, FY, FZ, MX, MY, MZ before and after [N, N m].
        mass_change: of all bodies together that the mean vertical residual suggests [kg].
        masses: of every body, as it is and as suggested [kg].
        span: from when to when residuals were averaged [s].
    """

    body: str
    moved: tuple[float, float]
    mass_center: tuple[float, float, float]
    before: FloatArray
    after: FloatArray
    mass_change: float
    masses: dict[str, tuple[float, float]]
    span: tuple[float, float]


def mean_over_time(time: FloatArray, values: FloatArray) -> FloatArray:
    """The mean (columns,) of values (n, columns) over time, by trapezoids."""
    if len(time) < 2:
        return np.asarray(values[0])
    return np.asarray(np.trapezoid(values, time, axis=0) / (time[-1] - time[0]))


def residual_columns(names: Sequence[str], values: FloatArray) -> FloatArray:
    """(n, 6): the columns of values (n, actuators) that are residuals by their names, zero where there is none."""
    found = np.zeros((len(values), len(RESIDUALS)))
    for k, name in enumerate(RESIDUALS):
        if name in names:
            found[:, k] = values[:, list(names).index(name)]
    return found


def mean_residuals(
    model: Model,
    motion: Motion,
    loads: ExternalLoads | None = None,
    departures: StateLoads | None = None,
    *,
    threads: int | None = None,
) -> FloatArray:
    """Mean residuals (6,) FX, FY, FZ, MX, MY, MZ with which the actuators of a model give a motion [N, N m].

    At every frame the shortest vector of actuator forces F that gives the accelerations, so B F = tau. Source: OpenSim
    4.6, `InverseDynamics` (the analysis) in `RRATool::computeAverageResiduals`.
    """
    motors = actuators_of(model)
    acting = [] if loads is None else [ExternalLoad(*series) for series in loads.at(motion.time)]
    acting += [] if departures is None else departures(motion.q, motion.u)
    tau = inverse_dynamics(model, motion.q, motion.u, motion.udot, acting, threads=threads)
    B = np.zeros((*tau.shape, len(motors)))
    for k, motor in enumerate(motors):
        if motor.coordinate:
            B[:, model.speed_index(motor.coordinate), k] = 1.0
        elif motor.force is not None:
            B[:, :, k] = generalized_force_on_bodies(model, motion.q, motor.force, threads)
    e = embedding_of(model)
    if e.rules:
        J = e.motion(e.independent(motion.q), e.independent_speeds(motion.q, motion.u), time=motion.time).J
        tau, B = np.einsum("fuz,fu->fz", J, tau), np.swapaxes(J, 1, 2) @ B
    force = (np.linalg.pinv(B) @ tau[..., None])[..., 0]
    return mean_over_time(motion.time, residual_columns([motor.name for motor in motors], force))


def adjusted_mass_center(
    model: Model,
    body: str,
    motion: Motion,
    span: tuple[float, float],
    *,
    loads: ExternalLoads | None = None,
    departures: Callable[[Model], StateLoads | None] | None = None,
    threads: int | None = None,
) -> tuple[Model, MassAdjustment]:
    """The model with the mass center of a body moved by its mean residual moments, and what was done.

        dx = MZ / W,   dz = -MX / W,   c_x -= dx,   c_z -= dz,   W = m |g_y|,   both at most 0.1 m
        dm = FY / g_y, shared among bodies in proportion to their masses, is suggested and not done

    Source: OpenSim 4.6, `RRATool::adjustCOMToReduceResiduals`.

    Args:
        model: with its residual actuators.
        body: the name of a body with weight.
        motion: the rows of the motion to follow.
        span: of time, over which residuals are averaged: from the last row at or before its start to the last at or
            before its end [s].
        departures: for a model, loads by its state that act besides.
    """
    if body not in model.body_names:
        raise UnknownName("body", body, model.body_names, "adjusted_com_body")
    rows = motion.rows(opensim_rows(motion.time, *span))

    def means(one: Model) -> FloatArray:
        return mean_residuals(one, rows, loads, departures(one) if departures else None, threads=threads)

    before = means(model)
    g = model.gravity[1]
    one = next(b for b in model.bodies if b.name == body)
    weight = abs(g) * one.mass
    if weight < _NO_WEIGHT:
        raise InvalidInput(f"adjusted_com_body {body!r} has no weight (or gravity no part along y): name a heavy body")
    dx, dz = (float(np.clip(x / weight, -FARTHEST, FARTHEST)) for x in (before[5], -before[3]))
    x, y, z = one.mass_center
    center = (x - dx, y, z - dz)
    changed = with_bodies(model, {body: replace(one, mass_center=center)})
    after = means(changed)
    dm = float(before[1] / g)
    total = sum(b.mass for b in model.bodies)
    masses = {b.name: (b.mass, b.mass + dm * b.mass / total) for b in model.bodies}
    ends = (float(rows.time[0]), float(rows.time[-1]))
    return changed, MassAdjustment(body, (dx, dz), center, before, after, dm, masses, ends)


def with_bodies(model: Model, changed: Mapping[str, Body]) -> Model:
    """A model some of whose bodies are others, by name."""
    return model.replace(bodies=tuple(changed.get(b.name, b) for b in model.bodies))


def with_masses(model: Model, masses: dict[str, tuple[float, float]]) -> Model:
    """The model with suggested masses; moments of inertia grow with them."""
    changed: dict[str, Body] = {}
    for b in model.bodies:
        factor = masses[b.name][1] / b.mass if b.mass else 1.0
        changed[b.name] = replace(b, mass=b.mass * factor, inertia=_scaled(b.inertia, factor))
    return with_bodies(model, changed)


def _scaled(inertia: Vec6, factor: float) -> Vec6:
    xx, yy, zz, xy, xz, yz = (factor * x for x in inertia)
    return xx, yy, zz, xy, xz, yz
