"""Accelerations on the tree with constraints kept as equations: multipliers, reactions, stabilization.

The rival of the embedding: the same model, the same kernels, all coordinates, and one multiplier an equation.

    M udot + G^T lambda = tau - C(q, u) - g(q) + J_ext^T loads,    G udot = -gddot_0 - 2 a gdot - a^2 g

Index 1: the equations hold in their second derivative. Without stabilization (a = 0) a simulation drifts off them;
`musculo.simulation.equations.constraint_projection` projects it back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.compile.frame_arrays import finite, frames_of, same_frames
from musculo.dynamics.constraint_rank import (
    CONSISTENT,
    SINGULAR_MASS,
    Scales,
    rank_when_closed,
    ranks_of,
    scales_of,
    tolerances_of,
)
from musculo.dynamics.inverse import inverse_dynamics, mass_matrix
from musculo.dynamics.loads.external import ExternalLoad, Loads, listed, node_wrenches
from musculo.dynamics.poses import kinematics
from musculo.embedding.couplers.coordinate_rules import Coupled
from musculo.embedding.couplers.stated_rules import collect_rules, refuse_carried
from musculo.embedding.embedding import times_of
from musculo.embedding.loops.equations.body_equations import BodyEquation
from musculo.embedding.loops.equations.coordinate_equations import RuleEquation
from musculo.embedding.loops.equations.loop_equations import Equation, EquationSet, Residuals
from musculo.errors import InvalidInput, SingularSystem, UnknownName
from musculo.kernels.constraints.multipliers import SOLVED, ConstrainedFrames, ConstrainedSystem, constrained_frames
from musculo.kernels.constraints.repeated_equations import DISAGREE
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.model.model_constraint import CoordinateCoupler

_NO_WRENCH = np.zeros((0, 6))
# Poses that are further off their constraints are in no position of the mechanism, singular or not [rad, or of size].
_CLOSED = 1e-3


def constraint_equations(model: Model) -> EquationSet:
    """All that is enforced in a model, as equations on the tree: locks and prescribed motions, couplers, loops.

    Rows: locked and prescribed coordinates in file order, then constraints in file order.

    Raises:
        Unsupported: a constraint that musculo cannot compute.
    """

    def make() -> EquationSet:
        rules, closing, unsolved = collect_rules(model)
        refuse_carried(unsolved)
        driven: list[Equation] = [RuleEquation(model, r, r.dependent) for r in rules if not isinstance(r, Coupled)]
        followers = {rule.dependent: rule for rule in rules if isinstance(rule, Coupled)}
        others = iter(closing)
        for constraint in model.constraints:
            if not constraint.enforced:
                continue
            if isinstance(constraint, CoordinateCoupler):
                driven.append(RuleEquation(model, followers[constraint.dependent], constraint.name))
            else:
                driven.append(next(others))
        return EquationSet(model, driven)

    return model.derived("constraint equations", make)


@dataclass(frozen=True, eq=False)
class ConstrainedMotion:
    """Accelerations under constraints, and what the constraints exert; arrays have the frames first, unless one was
    given."""

    model: Model
    names: tuple[str, ...]  # constraint of each equation, (m,)
    redundant: IntArray  # (frames,) equations that repeat others
    _q: FloatArray = field(repr=False)
    _single: bool = field(repr=False)
    udot: FloatArray  # (frames, n_u)
    multipliers: FloatArray  # (frames, m), of M udot + G^T lambda = f; the smallest where equations repeat each other
    generalized: FloatArray  # (frames, n_u) -G^T lambda: forces of the constraints on the speeds
    position_error: FloatArray  # (frames, m) g
    velocity_error: FloatArray  # (frames, m) gdot

    @cached_property
    def reactions(self) -> dict[str, ConstraintReaction]:
        """What each constraint between bodies exerts, by its name."""
        multipliers = self.multipliers[None] if self._single else self.multipliers
        found = reactions_of(self.model, self._q, multipliers)
        return {name: one.frame(0) for name, one in found.items()} if self._single else found

    def reaction(self, name: str) -> ConstraintReaction:
        """What one constraint exerts."""
        if name not in self.reactions:
            raise UnknownName("constraint between bodies", name, self.reactions)
        return self.reactions[name]


@dataclass(frozen=True, eq=False)
class ConstraintReaction:
    """What a constraint exerts on its second body, in ground; its first body feels the opposite at the same point."""

    first_body: str
    second_body: str
    force: FloatArray  # (frames, 3) or (3,) [N]
    moment: FloatArray  # (frames, 3) or (3,) [N m]
    point: FloatArray  # (frames, 3) or (3,) where the force acts [m]

    def frame(self, k: int) -> ConstraintReaction:
        """One of the frames."""
        return replace(self, force=self.force[k], moment=self.moment[k], point=self.point[k])

    def loads(self) -> tuple[ExternalLoad, ...]:
        """The same as loads from outside, for instance for joint reactions."""
        pairs = ((self.second_body, 1.0), (self.first_body, -1.0))
        return tuple(
            ExternalLoad(body, force=sign * self.force, point=self.point, moment=sign * self.moment)
            for body, sign in pairs
            if body != GROUND
        )


def reactions_of(model: Model, Q: FloatArray, multipliers: FloatArray) -> dict[str, ConstraintReaction]:
    """What each constraint between bodies exerts at poses Q (frames, n), of all equations' multipliers (frames, m)."""
    system = constraint_equations(model)
    motion = system.poses(Q)
    found = {}
    for equation, rows in zip(system.equations, system.rows, strict=True):
        if isinstance(equation, BodyEquation):
            parts = (*equation.wrench(motion, multipliers[:, rows]), equation.place(motion))
            found[equation.name] = ConstraintReaction(equation.first_body, equation.second_body, *parts)
    return found


def constrained_acceleration(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    tau: ArrayLike,
    loads: Loads = (),
    time: ArrayLike = 0.0,
    *,
    stabilization: float = 0.0,
    threads: int | None = None,
) -> ConstrainedMotion:
    """udot of all speeds with every lock, coupler and loop as an equation with a multiplier.

    With the factor M = L L^T and Y = L^-1 G^T, whose orthogonal factors eliminate the multipliers:

        Y^T Y lambda = Y^T L^-1 f - r,   udot = L^-T (L^-1 f - Y lambda)

    Where equations repeat others, the shortest multipliers do. Where the tree's mass matrix is singular by itself and
    held by its constraints, the null space Z of G serves:

        udot = G^+ r + Z v,   Z^T M Z v = Z^T (f - M G^+ r),   lambda = (G^T)^+ (f - M udot)

    Source:     Ehsani2023 calls it the index-1 form; the sign of lambda is Simbody's.
    Guarantees: agrees with `forward_dynamics` wherever q and u satisfy the constraints.

    Args:
        model: the model.
        q, u: (frames, n) or (n,) coordinates and speeds of all the file; they need not satisfy the constraints exactly,
            and `position_error` and `velocity_error` say how well they do.
        tau: (frames, n_u) or (n_u,) generalized forces of the tree.
        loads: from outside, for instance ground reactions.
        time: (frames,) or a number, for prescribed motion [s].
        stabilization: Baumgarte's rate a: errors decay as exp(-a t) [1/s]; 0 for none.
        threads: the number of threads; all cores by default.

    Raises:
        SingularSystem: a singular position, equations that contradict each other, or speeds without inertia.
        Unsupported: a constraint that musculo cannot compute.
    """
    Q, single = coordinates_of(model, q)
    U, _ = speeds_of(model, u)
    T, _ = frames_of("tau", tau, model.speed_names)
    frames = same_frames(q=Q, u=U, tau=T)
    compiled(model).check_coordinates(Q)
    times = times_of(time, frames)
    loads = listed(loads, frames, times if np.ndim(time) else None)
    if not (np.isfinite(stabilization) and stabilization >= 0.0):
        raise InvalidInput(f"stabilization is {stabilization!r}; give a rate of zero or more [1/s]")
    c, system = compiled(model), constraint_equations(model)
    poses = cache(lambda: kinematics(model, Q, threads=threads))
    wrenches = node_wrenches(c, loads, frames, poses) if loads else _NO_WRENCH
    x = system.others_by_speeds(Q, U, times)
    gdot, udot, multipliers = np.zeros_like(x.residual), np.empty_like(U), np.zeros_like(x.residual)
    status, redundant = np.zeros(frames, dtype=np.int64), np.zeros(frames, dtype=np.int64)
    tree = ConstrainedSystem(c.tree, c.table, system.table, tolerances_of(system), float(stabilization))
    equations = (x.rate, x.residual, x.jacobian.reshape(frames, -1), x.bias, gdot)
    every = ConstrainedFrames(Q, U, T, wrenches, *equations, udot, multipliers, status, redundant)
    over_frames(constrained_frames, (tree, every, bool(loads)), frames, threads)
    left = np.flatnonzero(status != SOLVED)
    if left.size:
        # speeds without inertia of their own, or equations that contradict or may repeat others: slower, and for all
        loads = [
            replace(v, force=_some(v.force, left), point=_some(v.point, left), moment=_some(v.moment, left))
            for v in loads
        ]
        force = T[left] - inverse_dynamics(model, Q[left], U[left], np.zeros_like(U[left]), loads, threads)
        with np.errstate(invalid="ignore"):  # equations that are not finite are named below
            right = -x.bias[left] - 2.0 * stabilization * gdot[left] - stabilization**2 * x.residual[left]
            scales = scales_of(system)
            far = scales.far(x.residual[left])
            slack = scales.slack(far, gdot[left], U[left], stabilization)
        M, at = mass_matrix(model, Q[left], threads=threads), Around(far, slack, Q[left], times[left], left)
        udot[left], multipliers[left], redundant[left] = solve_constrained(
            system, M, force, x.jacobian[left], right, at
        )
    _refuse_singular(system, x, redundant)
    finite("the acceleration", udot, model.speed_names)
    forces = -np.einsum("fij,fi->fj", x.jacobian, multipliers)
    parts = (udot, multipliers, forces, x.residual, gdot)
    found = (part[0] if single else part for part in parts)
    return ConstrainedMotion(model, system.row_names, redundant[0] if single else redundant, Q, single, *found)


def _some(values: ArrayLike, frames: IntArray) -> ArrayLike:
    array = np.asarray(values)
    return array[frames] if array.ndim == 2 else array


class Around(NamedTuple):
    """What is known of the frames that equations are solved at; made where poses are off their constraints."""

    far: FloatArray  # (frames,) how far, as `Scales.far` says it
    slack: FloatArray  # (frames,) what repeated equations may leave of each other, as `Scales.slack` says it
    q: FloatArray | None = None  # (frames, n)
    time: FloatArray | None = None  # (frames,)
    numbers: IntArray | None = None  # of the frames, for messages


def solve_constrained(
    system: EquationSet,
    M: FloatArray,
    force: FloatArray,
    G: FloatArray,
    right: FloatArray,
    around: Around | None = None,
    strict: bool = True,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """x and lambda of M x + G^T lambda = force, G x = right, over frames; and how many equations repeat others.

    `strict` refuses equations that contradict each other, which otherwise are met as well as they can. Without
    `around` frames count as on the constraints.
    """
    frames, m, n = G.shape
    if around is None:
        around = Around(np.zeros(frames), np.zeros(frames))
    known = np.arange(frames) if around.numbers is None else around.numbers
    if m == 0:
        return _free(system, M, force, known), np.zeros((frames, 0)), np.zeros(frames, dtype=np.int64)
    _refuse_endless(system, G, right, known)
    scales = scales_of(system)
    _, values, rows = np.linalg.svd(G * scales.plain[:, None])
    rank, doubtful = ranks_of(scales, values, around.far)
    if around.q is not None and around.time is not None:
        for k in doubtful:
            closed = rank_when_closed(system, around.q[k], float(around.time[k]))
            rank[k] = closed if closed >= 0 else rank[k]
    x, multipliers = np.zeros((frames, n)), np.zeros((frames, m))
    for r in np.unique(rank):
        at = np.flatnonzero(rank == r)
        Y, Z = np.swapaxes(rows[at, :r], 1, 2), np.swapaxes(rows[at, r:], 1, 2)
        B = np.linalg.pinv(G[at] @ Y, rcond=1e-13)
        held = np.einsum("fnr,fr->fn", Y, np.einsum("frm,fm->fr", B, right[at]))
        if strict:
            _refuse_contradiction(system, scales, int(r), G[at], held, right[at], around, at, known[at])
        over = force[at] - np.einsum("fij,fj->fi", M[at], held)
        reduced = np.swapaxes(Z, 1, 2) @ M[at] @ Z
        v = _free(system, reduced, np.einsum("fnz,fn->fz", Z, over), known[at], Z)
        x[at] = held + np.einsum("fnz,fz->fn", Z, v)
        carried = force[at] - np.einsum("fij,fj->fi", M[at], x[at])
        multipliers[at] = np.einsum("frm,fr->fm", B, np.einsum("fnr,fn->fr", Y, carried))
    return x, multipliers, m - rank


def _refuse_singular(system: EquationSet, x: Residuals, redundant: IntArray) -> None:
    """Refuse closed poses with fewer independent equations than usual: what is found there is one of many answers."""
    scales = scales_of(system)
    usual = scales.usual
    if not np.any(system.count - redundant < usual):
        return
    bad = np.flatnonzero((system.count - redundant < usual) & (scales.far(x.residual) <= _CLOSED))
    if bad.size:
        left, _, _ = np.linalg.svd(x.jacobian[bad[0]] * scales.plain[:, None])
        name = system.name_of(int(np.argmax(np.abs(left[:, usual - 1]))))
        raise SingularSystem(
            f"constraint {name!r} is in a singular position at frame {bad[0]}: {system.count - redundant[bad[0]]} "
            f"equations of the model are independent there and {usual} beside it, so that accelerations and "
            "multipliers are not determined; take a pose beside it"
        )


def _refuse_endless(system: EquationSet, G: FloatArray, right: FloatArray, frames: IntArray) -> None:
    bad = np.argwhere(~np.isfinite(G).all(axis=2) | ~np.isfinite(right))
    if bad.size:
        frame, row = bad[0]
        raise SingularSystem(
            f"the equations of constraint {system.name_of(int(row))!r}, or their derivatives, are not finite at frame "
            f"{frames[frame]}: check the state, and where the equations are defined"
        )


def _refuse_contradiction(
    system: EquationSet,
    scales: Scales,
    rank: int,
    G: FloatArray,
    held: FloatArray,
    right: FloatArray,
    around: Around,
    at: IntArray,
    frames: IntArray,
) -> None:
    left = np.abs(np.einsum("fij,fj->fi", G, held) - right) * scales.unit
    far, large = around.far[at], np.max(np.abs(right) * scales.unit, axis=1, initial=0.0)
    scale = (CONSISTENT + DISAGREE * far) * large + around.slack[at]
    bad = np.argwhere(left > np.maximum(scale, 1e-12)[:, None])
    if not bad.size:
        return
    frame, row = bad[0]
    if far[frame] > CONSISTENT:
        why = (
            f"the pose is off the constraints by {far[frame]:.3g} (radians, or parts of the mechanism's size); "
            "project_position brings it back"
        )
    elif rank < scales.usual:
        why = f"a singular position, where {rank} equations of the model are independent and not {scales.usual}"
    else:
        why = (
            f"what they ask for differs by {left[frame, row]:.3g} /s^2; project_velocity brings speeds onto the "
            "constraints, and equations that cannot hold together must be changed"
        )
    raise SingularSystem(
        f"the equations of constraint {system.name_of(int(row))!r} contradict others at frame {frames[frame]}: {why}"
    )


def _free(
    system: EquationSet, M: FloatArray, force: FloatArray, frames: IntArray, Z: FloatArray | None = None
) -> FloatArray:
    try:
        np.linalg.cholesky(M)
        return np.asarray(np.linalg.solve(M, force[..., None])[..., 0])
    except np.linalg.LinAlgError:
        for k, mass in enumerate(M):
            values, vectors = np.linalg.eigh(mass)
            if values[0] <= SINGULAR_MASS * values[-1]:
                way = vectors[:, 0] if Z is None else Z[k] @ vectors[:, 0]
                speed = system.model.speed_names[int(np.argmax(np.abs(way)))]
                raise SingularSystem(
                    f"no inertia resists the speed {speed!r} at frame {frames[k]}, constraints included; give its body "
                    "mass, or lock the coordinate"
                ) from None
        raise


def constraint_residuals(
    model: Model, q: ArrayLike, u: ArrayLike | None = None, time: ArrayLike = 0.0, *, threads: int | None = None
) -> Residuals:
    """g, G, gddot at udot = 0, and dg/dt of everything enforced in a model, over frames (always with the frame axis).

    Args:
        model: the model.
        q, u: coordinates and speeds; without speeds the bias is that of rest.
        time: for prescribed motion [s].
        threads: the number of threads; all cores by default.
    """
    Q, _ = coordinates_of(model, q)
    U = None if u is None else speeds_of(model, u)[0]
    if U is not None:
        same_frames(q=Q, u=U)
    compiled(model).check_coordinates(Q)
    return constraint_equations(model).by_speeds(Q, U, times_of(time, len(Q)), threads)
