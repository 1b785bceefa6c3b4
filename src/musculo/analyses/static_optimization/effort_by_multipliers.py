"""Static optimization in absolute coordinates: activations and all reactions are found at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.absolute.absolute_model import AbsoluteModel, JointForm, from_model
from musculo.absolute.diagnosis import jacobian
from musculo.absolute.euler_parameters import rotation_matrix
from musculo.absolute.multiplier_dynamics import loads_by_multipliers
from musculo.absolute.muscles_on_bodies import muscle_jacobian
from musculo.analyses.static_optimization.force_by_activation import ForceByActivation
from musculo.analyses.static_optimization.least_effort import least_effort
from musculo.analyses.static_optimization.reserves import Reserves, reserves_of
from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import motion_in
from musculo.dynamics.loads.external import Loads
from musculo.embedding.embedding import embedding_of
from musculo.errors import Unsupported
from musculo.model.model import Model
from musculo.muscle.path_loads.path_wrenches import path_wrenches
from musculo.results.table import Table


@dataclass(frozen=True, eq=False)
class EffortByMultipliers:
    """Activations, and the multipliers of all constraints; frames first.

    `joint_force` and `joint_moment` are what each joint exerts on the body outboard of it beside muscles, reserves
    included, at the origin of the outboard joint frame, in ground.
    """

    muscle_names: tuple[str, ...]
    activation: FloatArray  # (frames, muscles)
    force: FloatArray  # (frames, muscles) [N]
    coordinate_names: tuple[str, ...]
    residual_force: FloatArray  # (frames, speeds) of residual actuators [N m, N]
    joint_names: tuple[str, ...]
    joint_force: FloatArray  # (frames, joints, 3) [N]
    joint_moment: FloatArray  # (frames, joints, 3) [N m]
    multipliers: FloatArray  # (frames, equations) lambda_s, and lambda_r in the rows of drivers
    balance_residual: FloatArray  # (frames,) the largest force or moment that the equations of motion miss
    status: NDArray[np.int64]  # (frames,) of `least_effort`


def static_optimization_by_multipliers(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    loads: Loads = (),
    *,
    power: float = 2.0,
    force_length_velocity: bool = True,
    passive: bool = False,
    reserves: Reserves | None = None,
    joints: JointForm = "functions",
    threads: int | None = None,
) -> EffortByMultipliers:
    """The activations of least effort under the equations of motion of all bodies, with reactions as unknowns.

        minimize sum a_i^p + sum (lambda_r / reserve)^p   subject to
        Phi_CE^T a - C_s^T lambda_s - C_r^T lambda_r = Q_c - Q_PE,   0 <= a <= 1

    The lambda_s have no bounds and no part in the sum. So they are eliminated by the directions Z in which constraints
    let the bodies move (C_s Z = 0, C_r Z = 1), and are found afterwards. Forces of the model beside muscles are left
    out, as `model_forces=False` of `musculo.static_optimization` does; both find the same activations.

    Source:  Ruggiero2020 eq. 27-33.
    Departs: eq. 33 gives the sum of squares of all unknowns of the residual actuators' rows the weight of activations;
             here each reserve is in units of its optimal force, and without `reserves` there is none.

    Args:
        model: the model; its muscles have rigid tendons.
        q, u, udot: (frames, n), (frames, n_u), (frames, n_u) of all coordinates in file order.
        loads: external loads.
        power: of the activations, 1 to 100.
        force_length_velocity, passive: as in `musculo.static_optimization`.
        reserves: optimal forces of residual actuators, by independent speed; or a number for all.
        joints: as in `musculo.absolute.from_model`.
        threads: the number of threads; all cores by default.
    """
    Q, U, A, _ = motion_in(model, q, u, udot)
    e = embedding_of(model)
    system = from_model(model, driven="independent", joints=joints)
    found = loads_by_multipliers(model, Q, U, A, loads, driven="independent", joints=joints, threads=threads)
    analysis = found.analysis
    geometry = path_wrenches(model, Q, U, threads=threads)
    phi = muscle_jacobian(model, analysis, geometry)
    muscles = ForceByActivation(
        model, geometry, e.jacobian(Q), force_length_velocity, passive, "rigid", "exact", threads
    )
    passive_force = muscles.force(np.zeros((len(Q), len(muscles.names))))
    active = muscles.force(np.ones_like(passive_force)) - passive_force
    reserved = reserves_of(model, reserves, e.speed_names)

    mechanism = system.mechanism
    driving = _driving_rows(system)
    J = np.stack([jacobian(mechanism, x, s)[1] for x, s in zip(analysis.x, analysis.signals, strict=True)])
    needed = np.einsum("fij,fi->fj", J, analysis.multipliers)  # g - M a
    directions = np.stack([_directions(one, driving) for one in J])  # (frames, n_unknowns, speeds)
    right = -needed - np.einsum("fmj,fm->fj", phi, passive_force)
    on_speeds = np.einsum("fjz,fmj->fzm", directions, phi * active[:, :, None])
    columns = np.zeros((len(Q), len(driving), len(reserved)))
    for k, one in enumerate(reserved):
        columns[:, e.speed_names.index(one.coordinate), k] = -one.optimal_force
    used = np.flatnonzero(muscles.used)
    low = np.concatenate([[model.muscles[k].min_control for k in used], np.full(len(reserved), -np.inf)])
    top = np.concatenate([[model.muscles[k].max_control for k in used], np.full(len(reserved), np.inf)])
    effort = least_effort(
        np.concatenate([on_speeds[:, :, used], columns], axis=2),
        np.einsum("fjz,fj->fz", directions, right),
        low,
        top,
        np.ones(len(low)),
        power,
        threads,
    )
    activation = np.zeros_like(passive_force)
    activation[:, used] = effort.x[:, : len(used)]
    force = activation * active + passive_force
    residual = np.einsum("fzk,fk->fz", columns, effort.x[:, len(used) :])
    # what is left of the bodies' equations for the constraints: C_s^T lambda_s
    pulled = np.einsum("fmj,fm->fj", phi, force) + needed
    multipliers = np.zeros_like(analysis.multipliers)
    multipliers[:, driving] = -residual
    left = pulled + np.einsum("fij,fi->fj", J[:, driving], residual)
    fixed = np.setdiff1d(np.arange(mechanism.n_equations), driving)
    for frame in range(len(Q)):
        C = J[frame, fixed]
        multipliers[frame, fixed] = np.linalg.lstsq(C.T, left[frame], rcond=1e-12)[0]
    missed = np.abs(pulled - np.einsum("fij,fi->fj", J, multipliers)).max(axis=1)
    joint_force, joint_moment = _joint_loads(system, found.analysis.x, J, multipliers, fixed)
    return EffortByMultipliers(
        muscles.names,
        activation,
        force,
        e.speed_names,
        residual,
        model.joint_names,
        joint_force,
        joint_moment,
        multipliers,
        missed,
        effort.status,
    )


def _driving_rows(system: AbsoluteModel) -> NDArray[np.int64]:
    """The equations that drive the independent speeds, in their order."""
    for name, (_, component) in zip(system.speed_names, system.speed_rows, strict=True):
        if component >= 0:
            raise Unsupported(
                f"speed {name!r} is part of an angular velocity; static optimization with multipliers needs joints "
                "whose speeds are coordinate derivatives: use musculo.static_optimization"
            )
    return np.array([row for row, _ in system.speed_rows], dtype=np.int64)


def _directions(J: FloatArray, driving: NDArray[np.int64]) -> FloatArray:
    """Z (n_unknowns, speeds): C_s Z = 0, C_r Z = 1."""
    unit = np.zeros((len(J), len(driving)))
    unit[driving, np.arange(len(driving))] = 1.0
    return np.asarray(np.linalg.lstsq(J, unit, rcond=1e-12)[0])


def _joint_loads(
    system: AbsoluteModel, x: FloatArray, J: FloatArray, multipliers: FloatArray, fixed: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Force and moment (frames, joints, 3) of the constraints of each joint, at its outboard frame, in ground."""
    names, rows = list(system.model.body_names), np.array(system.mechanism.row_names)
    n = len(system.model.joints)
    force, moment = np.zeros((len(x), n, 3)), np.zeros((len(x), n, 3))
    for k, load in enumerate(system.mechanism.loads[:n]):
        at = np.intersect1d(np.flatnonzero(np.isin(rows, load.equations)), fixed)
        b = names.index(load.at.body)
        wrench = -np.einsum("fri,fr->fi", J[:, at, 6 * b : 6 * b + 6], multipliers[:, at])
        R = rotation_matrix(x[:, 7 * b + 3 : 7 * b + 7])
        arm = R @ (load.at.base[1] - np.asarray(system.model.bodies[b].mass_center))
        force[:, k] = wrench[:, :3]
        moment[:, k] = np.einsum("fij,fj->fi", R, wrench[:, 3:]) - np.cross(arm, wrench[:, :3])
    return force, moment
