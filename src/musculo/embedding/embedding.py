"""The map from independent coordinates z to all coordinates q of the tree, and back for forces.

    q = f(z, t),   u = J zu + c,   udot = J zudot + b,   tau_z = J^T tau,   M_z = J^T M J

Ehsani2023 embeds what other codes constrain: no algebraic equation is left, so nothing drifts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.compile.frames import FloatArray, frames_of, same_frames
from musculo.embedding.rates import (
    TurningJoint,
    angle_rates_inverse,
    angle_rates_inverse_dot,
    joint_rates,
    quaternion_rates,
    turning_joints,
)
from musculo.embedding.rules import Coupled, Locked, Prescribed, Rule
from musculo.errors import InvalidInput, InvalidModel, UnknownName
from musculo.model.constraint import CoordinateCoupler
from musculo.model.model import Model

# A frame whose dependent coordinates are further than this from what they depend on is refused [rad, m].
CONSISTENT = 1e-6


class EmbeddedMotion(NamedTuple):
    """All coordinates of the tree from the independent ones; arrays have the frames first, unless one was given."""

    q: FloatArray  # (frames, n)
    u: FloatArray  # (frames, n_u)
    udot: FloatArray  # (frames, n_u)
    J: FloatArray  # (frames, n_u, n_zu): u = J zu + c
    c: FloatArray  # (frames, n_u)
    b: FloatArray  # (frames, n_u): udot = J zudot + b


@dataclass(frozen=True, eq=False)
class Embedding:
    """Rules sorted so that inputs come before what depends on them; made by `embedding_of(model)`."""

    model: Model
    rules: tuple[Rule, ...]
    unsolved: tuple[str, ...]  # enforced constraints that no rule expresses: closed loops

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """The independent coordinates z, in file order."""
        dependent = {rule.dependent for rule in self.rules}
        return tuple(name for name in self.model.coordinate_names if name not in dependent)

    @cached_property
    def _whole(self) -> tuple[TurningJoint, ...]:
        """Freely turning joints none of whose coordinates depend on others: their own speeds are independent."""
        free = {self.model.coordinate_index(name) for name in self.coordinate_names}
        return tuple(j for j in turning_joints(self.model) if free.issuperset(j.q))

    @cached_property
    def _partial(self) -> tuple[TurningJoint, ...]:
        partial = tuple(j for j in turning_joints(self.model) if j not in self._whole)
        for joint in partial:
            if len(joint.q) == 4:
                raise InvalidModel(
                    f"joint {joint.joint!r} has quaternion coordinates, of which one is locked, prescribed or coupled; "
                    "use its angles instead"
                )
        return partial

    @cached_property
    def speed_names(self) -> tuple[str, ...]:
        """The independent speeds zu: angular velocities of joints that turn freely, else derivatives of z.

        Where only some angles of such a joint are independent, their derivatives are the independent speeds.
        """
        turning = {column: j for j in self._whole for column in j.q}
        names: list[str] = []
        for name in self.coordinate_names:
            joint = turning.get(self.model.coordinate_index(name))
            if joint is None:
                names.append(name)
            elif self.model.coordinate_index(name) == joint.q[0]:
                names += [self.model.speed_names[k] for k in joint.u]
        return tuple(names)

    @property
    def selects(self) -> bool:
        """Whether J merely selects: no coordinate follows another one."""
        return not self._partial and not any(rule.inputs for rule in self.rules)

    # --- positions --------------------------------------------------------------------------------------------------
    def independent(self, q: ArrayLike) -> FloatArray:
        """z of q: its independent columns."""
        Q, single = frames_of("q", q, self.model.coordinate_names)
        z = Q[:, [self.model.coordinate_index(name) for name in self.coordinate_names]]
        return z[0] if single else z

    def independent_speeds(self, q: ArrayLike, u: ArrayLike) -> FloatArray:
        """zu of (q, u)."""
        Q, single = frames_of("q", q, self.model.coordinate_names)
        U, _ = frames_of("u", u, self.model.speed_names)
        same_frames(q=Q, u=U)
        rates = U.copy()
        for joint in self._partial:
            at = list(joint.u)
            rates[:, at] = np.einsum("fij,fj->fi", joint_rates(joint, Q), U[:, at])
        zu = rates[:, [self.model.speed_index(name) for name in self.speed_names]]
        return zu[0] if single else zu

    def coordinates(self, z: ArrayLike, time: ArrayLike = 0.0) -> FloatArray:
        """q = f(z, t): (frames, n) or (n,)."""
        Z, single = frames_of("z", z, self.coordinate_names)
        q = self._fill(Z, times_of(time, len(Z)))
        return q[0] if single else q

    def _fill(self, Z: FloatArray, time: FloatArray) -> FloatArray:
        q = np.zeros((len(Z), len(self.model.coordinates)))
        q[:, [self.model.coordinate_index(name) for name in self.coordinate_names]] = Z
        for rule in self.rules:
            x = q[:, [self.model.coordinate_index(name) for name in rule.inputs]]
            q[:, self.model.coordinate_index(rule.dependent)] = rule.evaluate(x, time).value
        return q

    def check(self, q: ArrayLike, time: ArrayLike = 0.0) -> None:
        """Refuse coordinates that contradict the model's couplers, locks or prescribed motions.

        Raises:
            InvalidInput: naming the coordinate, its value, and what it should be.
        """
        Q, _ = frames_of("q", q, self.model.coordinate_names)
        expected = self._fill(self.independent(Q), times_of(time, len(Q)))
        error = np.abs(Q - expected)
        if error.size and error.max() > CONSISTENT:
            frame, column = np.unravel_index(int(error.argmax()), error.shape)
            name = self.model.coordinate_names[column]
            rule = next(rule for rule in self.rules if rule.dependent == name)
            raise InvalidInput(
                f"coordinate {name!r} is {Q[frame, column]:.6g} at frame {frame}, but it is {rule.reason} and should "
                f"be {expected[frame, column]:.6g}; make q with embedding_of(model).coordinates(z), or change the "
                f"model with model.with_coordinate({name!r}, ...)"
            )

    def default_pose(self, time: float = 0.0) -> FloatArray:
        """q (n,) with every independent coordinate at its default value and the others as they follow."""
        defaults = {c.name: c.default_value for c in self.model.coordinates}
        return self.coordinates([defaults[name] for name in self.coordinate_names], time)

    # --- speeds and accelerations -----------------------------------------------------------------------------------
    def motion(
        self, z: ArrayLike, zu: ArrayLike, zudot: ArrayLike | None = None, time: ArrayLike = 0.0
    ) -> EmbeddedMotion:
        """All coordinates, speeds and accelerations, with the maps between them.

        Args:
            z: (frames, n_z) or (n_z,) independent coordinates, in the order of `coordinate_names`.
            zu, zudot: independent speeds and their derivatives, in the order of `speed_names`.
            time: (frames,) or a number, for prescribed motion [s].
        """
        Z, single = frames_of("z", z, self.coordinate_names)
        U, _ = frames_of("zu", zu, self.speed_names)
        D = np.zeros_like(U) if zudot is None else frames_of("zudot", zudot, self.speed_names)[0]
        frames = same_frames(z=Z, zu=U, zudot=D)
        times = times_of(time, frames)
        q = self._fill(Z, times)
        E, e, qdot, s = self._rates(q, U, times)
        n_u = len(self.model.speed_names)
        J, c, b = np.zeros((frames, n_u, U.shape[1])), np.zeros((frames, n_u)), np.zeros((frames, n_u))
        columns = {name: k for k, name in enumerate(self.model.coordinate_names)}
        for k, name in enumerate(self.model.speed_names):
            if name in columns:
                J[:, k], c[:, k], b[:, k] = E[:, columns[name]], e[:, columns[name]], s[:, columns[name]]
        for joint in self._whole:
            at = list(joint.u)
            J[:, at], c[:, at], b[:, at] = 0.0, 0.0, 0.0
            for k in at:
                J[:, k, self.speed_names.index(self.model.speed_names[k])] = 1.0
        for joint in self._partial:
            at, rows = list(joint.q), list(joint.u)
            inverse = angle_rates_inverse(q[:, at])
            J[:, rows] = inverse @ E[:, at]
            c[:, rows] = np.einsum("fij,fj->fi", inverse, e[:, at])
            turn = angle_rates_inverse_dot(q[:, at], qdot[:, at])
            b[:, rows] = np.einsum("fij,fj->fi", inverse, s[:, at]) + np.einsum("fij,fj->fi", turn, qdot[:, at])
        u = np.einsum("fij,fj->fi", J, U) + c
        udot = np.einsum("fij,fj->fi", J, D) + b
        result = EmbeddedMotion(q, u, udot, J, c, b)
        return EmbeddedMotion(*(part[0] for part in result)) if single else result

    def _rates(
        self, q: FloatArray, zu: FloatArray, time: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """E, e, qdot, s with qdot = E zu + e and qddot = E zudot + s."""
        frames, n = q.shape
        E, e, s = np.zeros((frames, n, zu.shape[1])), np.zeros((frames, n)), np.zeros((frames, n))
        turning = {column for joint in self._whole for column in joint.q}
        for name in self.coordinate_names:
            column = self.model.coordinate_index(name)
            if column not in turning:
                E[:, column, self.speed_names.index(name)] = 1.0
        for joint in self._whole:
            at = list(joint.q)
            speeds = [self.speed_names.index(self.model.speed_names[k]) for k in joint.u]
            w = zu[:, speeds]
            N = joint_rates(joint, q)
            E[np.ix_(range(frames), at, speeds)] = N
            rate = np.einsum("fij,fj->fi", N, w)
            if len(at) == 4:
                s[:, at] = np.einsum("fij,fj->fi", quaternion_rates(rate), w)
            else:
                turn = np.einsum("fij,fj->fi", angle_rates_inverse_dot(q[:, at], rate), rate)
                s[:, at] = -np.einsum("fij,fj->fi", N, turn)
        qdot = np.einsum("fij,fj->fi", E, zu) + e
        for rule in self.rules:
            at = [self.model.coordinate_index(name) for name in rule.inputs]
            k = self.model.coordinate_index(rule.dependent)
            d = rule.evaluate(q[:, at], time)
            E[:, k] = np.einsum("fj,fjz->fz", d.gradient, E[:, at])
            e[:, k] = np.einsum("fj,fj->f", d.gradient, e[:, at]) + d.rate
            qdot[:, k] = np.einsum("fz,fz->f", E[:, k], zu) + e[:, k]
            bend = np.einsum("fjk,fj,fk->f", d.hessian, qdot[:, at], qdot[:, at])
            s[:, k] = np.einsum("fj,fj->f", d.gradient, s[:, at]) + bend + d.acceleration
        return E, e, qdot, s

    # --- forces -----------------------------------------------------------------------------------------------------
    def jacobian(self, q: ArrayLike, time: ArrayLike = 0.0) -> FloatArray:
        """J (frames, n_u, n_zu) at coordinates q; only its independent columns are looked at."""
        Q, single = frames_of("q", q, self.model.coordinate_names)
        rest = np.zeros((len(Q), len(self.speed_names)))
        J = self.motion(self.independent(Q), rest, time=time).J
        return J[0] if single else J

    def pull_back(self, q: ArrayLike, tau: ArrayLike, time: ArrayLike = 0.0) -> FloatArray:
        """tau_z = J^T tau: generalised forces of the tree, felt by the independent coordinates."""
        T, single = frames_of("tau", tau, self.model.speed_names)
        J = self.jacobian(frames_of("q", q, self.model.coordinate_names)[0], time)
        same_frames(q=J, tau=T)
        forces = np.einsum("fij,fi->fj", J, T)
        return forces[0] if single else forces

    def pull_back_mass(self, q: ArrayLike, M: ArrayLike, time: ArrayLike = 0.0) -> FloatArray:
        """M_z = J^T M J for mass matrices (frames, n_u, n_u) or (n_u, n_u)."""
        J = self.jacobian(q, time)
        mass = np.asarray(M, dtype=float)
        n = len(self.model.speed_names)
        if mass.shape != (*J.shape[:-2], n, n):
            raise InvalidInput(f"M has shape {mass.shape}; it needs {(*J.shape[:-2], n, n)}, as mass_matrix gives it")
        return np.swapaxes(J, -1, -2) @ mass @ J


def times_of(time: ArrayLike, frames: int) -> FloatArray:
    """Time as (frames,), from a number or one for each frame."""
    try:
        times = np.asarray(time, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"time is not a number or an array of numbers: {error}") from None
    if not np.isfinite(times).all():
        raise InvalidInput(f"time holds a number that is not finite; it needs a number or ({frames},)")
    if times.shape not in ((), (frames,)):
        raise InvalidInput(f"time has shape {times.shape}; it needs a number or ({frames},)")
    return np.ascontiguousarray(np.broadcast_to(times, (frames,)))


def _check_function(coupler: CoordinateCoupler) -> None:
    if coupler.function is None:
        raise InvalidModel(f"coupler {coupler.name!r} has no function; give it one, or switch it off (enforced=False)")
    wanted, given = coupler.function.n_arguments, len(coupler.independents)
    if wanted not in (0, given):
        raise InvalidModel(
            f"coupler {coupler.name!r} hands {given} coordinates ({', '.join(coupler.independents) or 'none'}) to a "
            f"function of {wanted}"
        )


def _collect(model: Model) -> tuple[list[Rule], list[str]]:
    """The rules of a model in file order, and the enforced constraints that are none."""
    rules: list[Rule] = []
    for coordinate in model.coordinates:
        if coordinate.locked:
            rules.append(
                Locked(coordinate.name, (), f"locked at {coordinate.default_value:.6g}", coordinate.default_value)
            )
        elif coordinate.prescribed and coordinate.prescribed_function is not None:
            rules.append(
                Prescribed(coordinate.name, (), "prescribed as a function of time", coordinate.prescribed_function)
            )
    unsolved = []
    for constraint in model.constraints:
        if not constraint.enforced:
            continue
        if not isinstance(constraint, CoordinateCoupler):
            unsolved.append(constraint.name)
            continue
        for name in (constraint.dependent, *constraint.independents):
            if name not in model.coordinate_names:
                raise UnknownName("coordinate", name, model.coordinate_names, f"coupler {constraint.name!r}")
        _check_function(constraint)
        reason = f"coupled to {', '.join(constraint.independents)} by {constraint.name!r}"
        rules.append(
            Coupled(constraint.dependent, constraint.independents, reason, constraint.function, constraint.scale)
        )
    return rules, unsolved


def _sorted(rules: list[Rule]) -> tuple[Rule, ...]:
    """Inputs before what depends on them; chains are followed, cycles and two rules for one coordinate refused."""
    by_name: dict[str, Rule] = {}
    for rule in rules:
        if rule.dependent in by_name:
            raise InvalidModel(
                f"coordinate {rule.dependent!r} is {by_name[rule.dependent].reason} and also {rule.reason}; "
                "switch one of them off"
            )
        by_name[rule.dependent] = rule
    done: dict[str, Rule] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in done or name not in by_name:
            return
        if name in path:
            cycle = " -> ".join((*path[path.index(name) :], name))
            raise InvalidModel(f"coordinate couplers form a cycle: {cycle}; switch one of them off")
        for needed in by_name[name].inputs:
            visit(needed, (*path, name))
        done[name] = by_name[name]

    for rule in rules:
        visit(rule.dependent, ())
    return tuple(done.values())


def embedding_of(model: Model) -> Embedding:
    """The embedding of a model, made once.

    Raises:
        InvalidModel: couplers that form a cycle, or two rules for one coordinate.
        InvalidInput: what is handed in is no model.
    """
    if not isinstance(model, Model):
        raise InvalidInput(
            f"a Model is needed, not {type(model).__name__} {model!r:.60}; read one with read_osim(path)"
        )

    def make() -> Embedding:
        rules, unsolved = _collect(model)
        return Embedding(model, _sorted(rules), tuple(unsolved))

    return model.derived("embedding", make)
