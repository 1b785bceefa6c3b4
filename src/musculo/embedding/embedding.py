"""The map from independent coordinates z to all coordinates q of the tree, and back for forces.

    q = f(z, t),   u = J zu + c,   udot = J zudot + b,   tau_z = J^T tau,   M_z = J^T M J

Ehsani2023 embeds what other codes constrain: no algebraic equation is left, so nothing drifts. Closed loops are solved
on the tree and differentiated (`musculo.embedding.loops.closed_loop`); their branch is an input.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import check_model
from musculo.compile.coordinate_arrays import accelerations_of, coordinates_of, speeds_of
from musculo.compile.frame_arrays import frames_of, same_frames
from musculo.embedding.couplers.coordinate_rules import Rule
from musculo.embedding.couplers.stated_rules import collect_rules, sort_rules
from musculo.embedding.embedded_motion import CONSISTENT as CONSISTENT
from musculo.embedding.embedded_motion import Closure, EmbeddedMotion, speed_map
from musculo.embedding.embedded_motion import times_of as times_of
from musculo.embedding.loops.closed_loop import Loop, refuse_unsolved
from musculo.embedding.loops.loop_choice import choose_loops
from musculo.embedding.loops.methods.fitted_loop import FittedVariables
from musculo.embedding.loops.methods.joint_variables import Looped, LoopMethod
from musculo.embedding.loops.methods.loop_methods import LoopName, method_of
from musculo.embedding.loops.methods.loop_projection import Projection
from musculo.embedding.speed_rates import TurningJoint, joint_rates, turning_joints
from musculo.errors import InvalidInput, InvalidModel, MusculoWarning
from musculo.model.model import Model


@dataclass(frozen=True, eq=False)
class Embedding:
    """Rules sorted so that inputs come before what depends on them; made by `embedding_of(model)`."""

    model: Model
    rules: tuple[Rule, ...]
    unsolved: tuple[str, ...]  # enforced constraints of kinds that are carried only
    loops: tuple[Loop, ...] = ()  # closed loops, solved by rules of their own
    branch: FloatArray | None = None  # (n,) a closed pose on the branch that is meant; None without loops
    notes: tuple[str, ...] = ()  # what could not be had of the values in the file, and loops that cannot move
    _default: FloatArray | None = field(default=None, repr=False)  # (n,) where loops move values of the file

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """The independent coordinates z, in file order."""
        dependent = {rule.dependent for rule in self.rules}
        return tuple(name for name in self.model.coordinate_names if name not in dependent)

    @cached_property
    def steps(self) -> tuple[tuple[Rule, tuple[str, ...]], ...]:
        """The rules in order, each with what it determines: the dependents of a loop come together, by its first."""
        seen: set[int] = set()
        steps: list[tuple[Rule, tuple[str, ...]]] = []
        for rule in self.rules:
            if not isinstance(rule, Looped):
                steps.append((rule, (rule.dependent,)))
            elif id(rule.variables) not in seen:
                seen.add(id(rule.variables))
                steps.append((rule, rule.variables.loop.dependents))
        return tuple(steps)

    @cached_property
    def freely_turning(self) -> tuple[TurningJoint, ...]:
        """Joints whose speeds are angular velocities and independent: none of their coordinates depends on others."""
        free = {self.model.coordinate_index(name) for name in self.coordinate_names}
        return tuple(j for j in turning_joints(self.model) if free.issuperset(j.q))

    @cached_property
    def partly_turning(self) -> tuple[TurningJoint, ...]:
        """The other joints whose speeds are angular velocities: some or all of their angles are dependent or locked."""
        partial = tuple(j for j in turning_joints(self.model) if j not in self.freely_turning)
        for joint in partial:
            if len(joint.q) == 4:
                raise InvalidModel(
                    f"joint {joint.joint!r} has quaternion coordinates, of which one is locked, prescribed or coupled; "
                    "use its angles instead"
                )
        return partial

    @cached_property
    def speed_names(self) -> tuple[str, ...]:
        """The independent speeds zu: angular velocities of ball, free and ellipsoid joints, else derivatives of z.

        Where only some angles of such a joint are independent, their derivatives are the independent speeds.
        """
        turning = {column: j for j in self.freely_turning for column in j.q}
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
        return not self.partly_turning and not any(rule.inputs for rule in self.rules)

    @property
    def loop_names(self) -> tuple[str, ...]:
        """The constraints that close loops."""
        return tuple(name for loop in self.loops for name in loop.names)

    @property
    def fit_error(self) -> dict[str, tuple[float, float, float]]:
        """By dependent coordinate of fitted loops: the largest errors of value, gradient and Hessian [rad, m].

        They are measured halfway between samples, against the exact ones. Empty where nothing is fitted.
        """
        found: dict[str, tuple[float, float, float]] = {}
        for rule in self.rules:
            if isinstance(rule, Looped) and isinstance(rule.variables, FittedVariables):
                value, gradient, hessian = (float(part[rule.row]) for part in rule.variables.error)
                found[rule.dependent] = (value, gradient, hessian)
        return found

    # --- positions --------------------------------------------------------------------------------------------------
    def independent(self, q: ArrayLike) -> FloatArray:
        """z of q: its independent columns."""
        Q, single = coordinates_of(self.model, q)
        z = Q[:, [self.model.coordinate_index(name) for name in self.coordinate_names]]
        return z[0] if single else z

    def independent_speeds(self, q: ArrayLike, u: ArrayLike) -> FloatArray:
        """zu of (q, u)."""
        Q, single = coordinates_of(self.model, q)
        zu = self._picked(Q, speeds_of(self.model, u)[0])
        return zu[0] if single else zu

    def independent_accelerations(self, q: ArrayLike, udot: ArrayLike) -> FloatArray:
        """Derivatives of zu of (q, udot).

        Of a ball joint of which only some angles are independent, without what the change of their axes adds.
        """
        Q, single = coordinates_of(self.model, q)
        zudot = self._picked(Q, accelerations_of(self.model, udot)[0])
        return zudot[0] if single else zudot

    def _picked(self, Q: FloatArray, U: FloatArray) -> FloatArray:
        same_frames(q=Q, u=U)
        rates = U.copy()
        for joint in self.partly_turning:
            at = list(joint.u)
            rates[:, at] = np.einsum("fij,fj->fi", joint_rates(joint, Q), U[:, at])
        return rates[:, [self.model.speed_index(name) for name in self.speed_names]]

    def coordinates(self, z: ArrayLike, time: ArrayLike = 0.0, guess: ArrayLike | None = None) -> FloatArray:
        """q = f(z, t): (frames, n) or (n,).

        Args:
            z: (frames, n_z) or (n_z,) independent coordinates, in the order of `coordinate_names`.
            time: (frames,) or a number, for prescribed motion [s].
            guess: (n,) or (frames, n) poses on the branch that is meant, where loops are closed; `branch` by default.
                The answer depends on z and the guess alone.

        Raises:
            InvalidInput: a loop cannot be closed at some frame; names it, and how far it closes.
            SingularSystem: a singular position stands between the guess and z.
        """
        Z, single = coordinates_of(self.model, z, "z", self.coordinate_names)
        q = self._fill(Z, times_of(time, len(Z)), self._guess(guess, len(Z)))
        return q[0] if single else q

    def closure(self, z: ArrayLike, time: ArrayLike = 0.0, guess: ArrayLike | None = None) -> Closure:
        """`coordinates` for positions of which some may be out of reach: what was found, and how each frame came out.

        Args: as `coordinates`.
        """
        Z, single = coordinates_of(self.model, z, "z", self.coordinate_names)
        status = np.zeros(len(Z), dtype=np.int64)
        q = self._fill(Z, times_of(time, len(Z)), self._guess(guess, len(Z)), status)
        return Closure(q[0], status[0]) if single else Closure(q, status)

    def _guess(self, guess: ArrayLike | None, frames: int) -> FloatArray | None:
        """Poses (frames, n) that pick the branch; None for the embedding's own."""
        if guess is None or not self.loops:
            return None
        Q, single = coordinates_of(self.model, guess, "guess")
        if not single and len(Q) != frames:
            raise InvalidInput(f"guess has {len(Q)} frames and z {frames}; give one pose, or one for each frame")
        return np.tile(Q, (frames, 1)) if single else Q

    def _fill(
        self, Z: FloatArray, time: FloatArray, guess: FloatArray | None = None, status: IntArray | None = None
    ) -> FloatArray:
        """All coordinates; frames that a loop refuses are noted in `status`, or raise where there is none."""
        q = np.zeros((len(Z), len(self.model.coordinates)))
        q[:, [self.model.coordinate_index(name) for name in self.coordinate_names]] = Z
        for rule, _ in self.steps:
            x = q[:, [self.model.coordinate_index(name) for name in rule.inputs]]
            if not isinstance(rule, Looped):
                q[:, self.model.coordinate_index(rule.dependent)] = rule.evaluate(x, time).value
            else:
                loop = rule.variables.loop
                found = rule.solve(x, guess)
                if status is None:
                    refuse_unsolved(loop, found, x)
                else:
                    status[:] = np.where(status == 0, found.status, status)
                q[:, loop.columns[len(loop.inputs) :]] = found.dependents
        return q

    def check(self, q: ArrayLike, time: ArrayLike = 0.0) -> None:
        """Refuse coordinates that contradict the model's couplers, locks or prescribed motions.

        Raises:
            InvalidInput: naming the coordinate, its value, and what it should be.
        """
        Q, _ = coordinates_of(self.model, q)
        self.refuse_difference(Q, self._fill(self.independent(Q), times_of(time, len(Q)), Q))

    def refuse_difference(self, Q: FloatArray, expected: FloatArray, first: int = 0) -> None:
        """Refuse coordinates that are not as expected; `first` is the number of the first frame."""
        error = np.abs(Q - expected)
        if error.size and error.max() > CONSISTENT:
            frame, column = np.unravel_index(int(error.argmax()), error.shape)
            name = self.model.coordinate_names[column]
            rule = next(rule for rule in self.rules if rule.dependent == name)
            raise InvalidInput(
                f"coordinate {name!r} is {Q[frame, column]:.6g} at frame {frame + first}, but it is {rule.reason} and "
                f"should be {expected[frame, column]:.6g}; make q with embedding_of(model).coordinates(z), or change "
                f"the model with model.with_coordinate({name!r}, ...)"
            )

    def default_pose(self, time: float = 0.0) -> FloatArray:
        """q (n,) with every independent coordinate at its default value and the others as they follow.

        Where loops cannot be closed with these, or are at a dead point there, those of the coordinates first in the
        file stay that can; `notes` name the others.
        """
        if self._default is not None:
            return self.coordinates(self.independent(self._default), time)
        defaults = {c.name: c.default_value for c in self.model.coordinates}
        return self.coordinates([defaults[name] for name in self.coordinate_names], time)

    # --- speeds and accelerations -----------------------------------------------------------------------------------
    def motion(
        self,
        z: ArrayLike,
        zu: ArrayLike,
        zudot: ArrayLike | None = None,
        time: ArrayLike = 0.0,
        guess: ArrayLike | None = None,
    ) -> EmbeddedMotion:
        """All coordinates, speeds and accelerations, with the maps between them.

        Args:
            z: (frames, n_z) or (n_z,) independent coordinates, in the order of `coordinate_names`.
            zu, zudot: independent speeds and their derivatives, in the order of `speed_names`.
            time: (frames,) or a number, for prescribed motion [s].
            guess: poses on the branch that is meant where loops are closed, as in `coordinates`.
        """
        Z, single = coordinates_of(self.model, z, "z", self.coordinate_names)
        U, _ = speeds_of(self.model, zu, "zu", self.speed_names)
        D = np.zeros_like(U) if zudot is None else accelerations_of(self.model, zudot, "zudot", self.speed_names)[0]
        frames = same_frames(z=Z, zu=U, zudot=D)
        times = times_of(time, frames)
        q = self._fill(Z, times, self._guess(guess, frames))
        J, c, b = speed_map(self, q, U, times)
        u = np.einsum("fij,fj->fi", J, U) + c
        udot = np.einsum("fij,fj->fi", J, D) + b
        result = EmbeddedMotion(q, u, udot, J, c, b)
        return EmbeddedMotion(*(part[0] for part in result)) if single else result

    # --- forces -----------------------------------------------------------------------------------------------------
    def jacobian(self, q: ArrayLike, time: ArrayLike = 0.0) -> FloatArray:
        """J (frames, n_u, n_zu) at coordinates q; only its independent columns are looked at, and for the branch the
        rest."""
        Q, single = coordinates_of(self.model, q)
        rest = np.zeros((len(Q), len(self.speed_names)))
        J = self.motion(self.independent(Q), rest, time=time, guess=Q).J
        return J[0] if single else J

    def pull_back(self, q: ArrayLike, tau: ArrayLike, time: ArrayLike = 0.0) -> FloatArray:
        """tau_z = J^T tau: generalized forces of the tree, felt by the independent coordinates."""
        T, single = frames_of("tau", tau, self.model.speed_names)
        J = self.jacobian(coordinates_of(self.model, q)[0], time)
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


def embedding_of(
    model: Model,
    independent: Sequence[str] | None = None,
    *,
    loops: LoopName | LoopMethod = "projection",
    branch: ArrayLike | None = None,
) -> Embedding:
    """The embedding of a model, made once.

    Closed loops are solved: as many coordinates as they have independent equations depend on the others. The defaults
    suit every model; the other arguments matter to models with loops only.

    Args:
        model: the model.
        independent: coordinates that shall be independent; the rest is chosen. By default those first in the file stay
            independent where they can. The file's values of the independent ones count, the others are found; where
            a loop cannot be closed with them, `MusculoWarning` and `Embedding.notes` say what moved.
        loops: how the dependents are differentiated: "projection" (exact), "molecule" (numerical differentiation) or
            "fitted" (a model made once in advance); or one of these methods with settings: `Projection()`,
            `Molecule(step=...)`, `Fitted(...)`.
        branch: (n,) a pose near the branch that is meant; the default pose by default.

    Raises:
        InvalidModel: couplers that form a cycle, two rules for one coordinate, or a loop that cannot be closed.
        SingularSystem: a loop that starts in a singular position.
        InvalidInput: the argument is not a model, or named coordinates cannot be independent.
    """
    check_model(model)
    named = (independent,) if isinstance(independent, str) else tuple(independent or ())
    method = method_of(loops)
    pose = None if branch is None else _one_pose(model, branch)

    def make() -> Embedding:
        rules, equations, unsolved = collect_rules(model)
        ordered = sort_rules(rules)
        for name in named:
            rule = next((rule for rule in ordered if rule.dependent == name), None)
            model.coordinate_index(name)
            if rule is not None:
                raise InvalidInput(f"coordinate {name!r} cannot be independent: it is {rule.reason}")
        if not equations:
            return Embedding(model, ordered, tuple(unsolved))
        start = _open_pose(model, ordered) if pose is None else pose
        found = choose_loops(model, ordered, equations, named, start)
        looped: list[Rule] = []
        closed = start.copy()
        notes = tuple(note for _, _, some in found for note in some)
        for loop, y, _ in found:
            closed[loop.columns] = y
        method.check([loop for loop, _, _ in found], model.coordinate_names)
        for loop, _, _ in found:
            reason = f"closed by the {loop.title}"
            variables = method.variables(loop, closed)
            looped += [Looped(name, loop.inputs, reason, variables, k) for k, name in enumerate(loop.dependents)]
        known = tuple(loop for loop, _, _ in found)
        own = closed if pose is None else None
        made = Embedding(model, sort_rules([*rules, *looped]), tuple(unsolved), known, closed, notes, own)
        for note in notes if pose is None else ():
            warnings.warn(note, MusculoWarning, stacklevel=5)
        return replace(made, branch=made.coordinates(made.independent(closed), guess=closed))

    if named or pose is not None or method != Projection():
        key = ("embedding", named, method, None if pose is None else pose.tobytes())
        return model.derived(key, make)
    return model.derived("embedding", make)


def _one_pose(model: Model, branch: ArrayLike) -> FloatArray:
    Q, single = coordinates_of(model, branch, "branch")
    if not single:
        raise InvalidInput(f"branch has {len(Q)} frames; give one pose of {Q.shape[1]} coordinates")
    return Q[0]


def _open_pose(model: Model, rules: tuple[Rule, ...]) -> FloatArray:
    """The default pose with couplers, locks and prescribed motions, loops left open."""
    e = Embedding(model, rules, ())
    return e.default_pose()
