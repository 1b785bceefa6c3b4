"""The forces of a model in a motion when nothing but coordinates is known: muscles at their default activation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from musculo.analyses.applied_forces import given_forces
from musculo.analyses.recorded_motion import Motion
from musculo.analyses.static_optimization.reserves import optimal_force
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import listed_names
from musculo.dynamics.constrained_dynamics import constrained_acceleration
from musculo.dynamics.inverse import inverse_dynamics, mass_matrix
from musculo.dynamics.loads.external import ExternalLoad
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import Embedding, embedding_of
from musculo.forces.model_forces import passive_forces
from musculo.like import Wrapping
from musculo.model.model import Model
from musculo.muscle.fibers.activation import activation_at_start
from musculo.muscle.fibers.equilibrium import MuscleForces, muscle_equilibrium, muscle_force
from musculo.muscle.path_loads.path_forces import path_generalized_forces, spring_forces
from musculo.muscle.paths.geometry import PathGeometry, muscle_geometry, path_geometry
from musculo.opensim_tools.forces.control_tool import is_direct
from musculo.opensim_tools.forces.simbody_departures import simbody_loop_accelerations
from musculo.opensim_tools.work import Work


@dataclass(frozen=True, eq=False)
class MuscleState:
    """Muscles of a model over the frames of a motion."""

    names: tuple[str, ...]
    geometry: PathGeometry = field(repr=False)
    tension: FloatArray = field(repr=False)  # (frames, muscles) [N], zero of those that apply no force
    activation: FloatArray = field(repr=False)
    forces: MuscleForces | None = field(repr=False)


def default_activation(model: Model) -> FloatArray:
    """(muscles,): the activation that the file states, else OpenSim's default of that kind.

    One that is not a state but the control of the muscle is zero, as where no controller gives another.
    """
    return np.array([0.0 if is_direct(m) else activation_at_start(m) for m in model.muscles])


def default_fiber_length(model: Model) -> FloatArray:
    """(muscles,): what the file states, else OpenSim's default: the optimum, and zero of its deprecated kinds [m]."""
    usual = {m.name: 0.0 if m.kind.endswith("_Deprecated") else m.optimal_fiber_length for m in model.muscles}
    return np.array([float(m.parameter("default_fiber_length", usual[m.name])) for m in model.muscles])


def say_powerless(model: Model, work: Work) -> None:
    """Muscles and actuators whose strength is zero, which OpenSim takes without a word."""
    muscles = [m.name for m in model.muscles if m.max_isometric_force == 0.0]
    actuators = [force.name for force in model.forces if force.applies_force and optimal_force(force) == 0.0]
    if muscles:
        work.note(
            f"muscles whose max_isometric_force is 0, and that pull nothing: {listed_names(muscles)}; their fibers are "
            "as long as those of a muscle that pulls; OpenSim's search for the length has nothing to go by, and ends "
            "elsewhere"
        )
    if actuators:
        work.note(f"actuators whose optimal_force is 0, and that give nothing: {listed_names(actuators)}")


def muscle_forces(
    model: Model,
    motion: Motion,
    work: Work,
    equilibrium: bool,
    activation: FloatArray | None = None,
    fiber_length: FloatArray | None = None,
    kept: bool = False,
) -> MuscleState:
    """Forces of muscles at given or default activations, their fibers in equilibrium or at their default lengths.

    Where `kept`, fibers are as long as given, whatever method is used.
    """
    g = muscle_geometry(model, motion.q, motion.u, wrapping=work.wrapping, threads=work.threads)
    a = np.broadcast_to(default_activation(model) if activation is None else activation, g.length.shape)
    if not model.muscles:
        return MuscleState((), g, np.zeros_like(g.length), a, None)
    assert g.speed is not None
    on = np.array([m.applies_force for m in model.muscles], dtype=float)
    states = default_fiber_length(model) if fiber_length is None else fiber_length
    if not kept and (equilibrium or work.exact):
        balanced = muscle_equilibrium(model, g.length, g.speed, a, method=work.method, threads=work.threads)
        # OpenSim leaves the fibers of muscles that are off as they are
        states = balanced.fiber_length if work.exact else np.where(on, balanced.fiber_length, states)
    elif fiber_length is None:
        _say_no_fibers(model, states, work)
    f = muscle_force(model, g.length, g.speed, a, states, method=work.method, threads=work.threads)
    return MuscleState(model.muscle_names, g, f.tendon_force * on, a, f)


def _say_no_fibers(model: Model, fiber_length: FloatArray, work: Work) -> None:
    """Muscles that start without any fiber: tendons are as long as whole paths, and pull a hundred times too hard."""
    names = [m.name for m, length in zip(model.muscles, fiber_length, strict=True) if length == 0.0 and m.applies_force]
    if names:
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        work.trouble(
            f"fibers of deprecated muscles start at a length of zero, as in OpenSim, and their forces mean nothing: "
            f"{shown}; set <solve_for_equilibrium_for_auxiliary_states> to true, or exclude them"
        )


def springs_in_motion(model: Model, motion: Motion, wrapping: Wrapping, threads: int | None) -> FloatArray:
    """(frames, n_u): what springs and ligaments along paths do on every speed."""
    if len(model.muscles) == sum(f.path is not None for f in model.forces):
        return np.zeros((len(motion), len(model.speed_names)))
    return spring_forces(model, path_geometry(model, motion.q, motion.u, wrapping=wrapping, threads=threads), threads)


def actuators_in_motion(
    model: Model, motion: Motion, forces: Mapping[str, FloatArray], wrapping: Wrapping, threads: int | None
) -> tuple[FloatArray, list[ExternalLoad]]:
    """What actuators that are no muscles do with given forces: on every speed (frames, n_u), and as loads on bodies."""
    if not any(force.any() for force in forces.values()):
        return np.zeros((len(motion), len(model.speed_names))), []
    given = given_forces(model, motion.q, None, forces, None)
    tau = given.on_speeds
    if given.on_paths:
        paths = path_geometry(model, motion.q, motion.u, wrapping=wrapping, threads=threads)
        tension = np.stack(list(given.on_paths.values()), axis=1)
        tau = tau + path_generalized_forces(paths, tension, tuple(given.on_paths))
    return tau, list(given.on_bodies)


def own_forces(model: Model, motion: Motion, work: Work) -> FloatArray:
    """(frames, n_u): what limits of coordinates, bushings, contacts and the like do on every speed."""
    return passive_forces(model, motion.q, motion.u, motion.time, work.method, work.threads)[0]


def accelerations(
    model: Model,
    motion: Motion,
    tau: FloatArray,
    loads: list[ExternalLoad],
    threads: int | None,
) -> FloatArray:
    """(frames, n_u): udot under generalized forces and loads, couplings embedded.

        J^T M J zudot = J^T (tau - ID(q, u, b)),   udot = J zudot + b

    As OpenSim, it takes the speeds as they are, even where those of coupled coordinates contradict their coupler, or
    those of locked ones their lock. Closed loops are equations with multipliers, for the same reason.
    """
    e = embedding_of(model)
    refuse_carried(e.unsolved)
    if e.loops:
        found = constrained_acceleration(model, motion.q, motion.u, tau, loads, motion.time, threads=threads)
        return found.udot + simbody_loop_accelerations(model, motion.q, motion.u, found.velocity_error)
    m = e.motion(e.independent(motion.q), e.independent_speeds(motion.q, motion.u), time=motion.time, guess=motion.q)
    b = m.b + _bends_of_speeds(e, motion, m.u)
    rest = inverse_dynamics(model, motion.q, motion.u, b, loads, threads=threads)
    M = mass_matrix(model, motion.q, threads=threads)
    Mz = np.swapaxes(m.J, 1, 2) @ M @ m.J
    force = np.einsum("fuz,fu->fz", m.J, tau - rest)
    return np.einsum("fuz,fz->fu", m.J, np.linalg.solve(Mz, force[..., None])[..., 0]) + b


def _bends_of_speeds(e: Embedding, motion: Motion, followed: FloatArray) -> FloatArray:
    """(frames, n_u): by how much b changes where speeds u are not the `followed` ones v of the embedding.

        db_k = sum_j f_j db_j + sum_ij f_ij (u_i u_j - v_i v_j)     for a coupler q_k = f(q_j)

    which are the speeds that Simbody's coupler differentiates itself with, be they those of locks.
    """
    model, change = e.model, np.zeros_like(followed)
    speeds = {name: k for k, name in enumerate(model.speed_names)}
    if np.array_equal(motion.u, followed):
        return change
    for rule in e.rules:
        if rule.dependent not in speeds or not rule.inputs or not all(name in speeds for name in rule.inputs):
            continue
        at = [speeds[name] for name in rule.inputs]
        d = rule.evaluate(motion.q[:, [model.coordinate_index(name) for name in rule.inputs]], motion.time)
        bends = [np.einsum("fij,fi,fj->f", d.hessian, s[:, at], s[:, at]) for s in (motion.u, followed)]
        change[:, speeds[rule.dependent]] = np.einsum("fj,fj->f", d.gradient, change[:, at]) + bends[0] - bends[1]
    return change
