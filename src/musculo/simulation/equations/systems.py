"""A model as an ordinary differential equation: in its independent coordinates, or in all of them with multipliers."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.constrained_dynamics import constrained_acceleration, constraint_equations
from musculo.dynamics.constraint_rank import scales_of
from musculo.dynamics.forward import forward_dynamics
from musculo.dynamics.inverse import inverse_dynamics
from musculo.embedding.embedded_motion import CONSISTENT
from musculo.embedding.embedding import embedding_of
from musculo.embedding.speed_rates import coordinate_rates, turning_joints
from musculo.errors import InvalidInput, SingularSystem, unwarned
from musculo.model.model import Model
from musculo.simulation.checks.dead_points import advice, dead_point, end_of_equation
from musculo.simulation.checks.singular import LoopWatch
from musculo.simulation.equations.accelerations import ConstrainedRates, EmbeddedRates
from musculo.simulation.equations.constraint_projection import project_position, project_velocity
from musculo.simulation.equations.implicit_state import ImplicitState
from musculo.simulation.forces.acting import Acting
from musculo.simulation.integrators.ahead import Ahead, Landed
from musculo.simulation.integrators.control import Control

# Where others move so many times faster than independent coordinates, errors of these are errors so many times larger.
_STEEP = 1e4
# Where they move so many times faster and no step leads on, that is the reason.
_RATHER_STEEP = 1e3
# Speeds that change by more than this many times what accelerations before and after explain have jumped.
_JUMP = 3.0
# States that are off their constraints by less cannot be brought nearer [rad, m, and of the largest speed].
_ROUNDING = 1e-15


class System(ABC):
    """dy/dt = rates(t, y) of a model, and the way between its states and those of the model."""

    n_z: int

    def __init__(self, model: Model, acting: Acting) -> None:
        self.model, self.acting = model, acting
        self._turning = tuple(turning_joints(model))
        self._quaternions = [list(joint.q) for joint in self._turning if len(joint.q) == 4]
        rows = {name: k for k, name in enumerate(model.speed_names)}
        # without freely turning joints every coordinate has the speed of its name
        self._rate_columns = [] if self._turning else [rows[name] for name in model.coordinate_names]
        self._compiled = bool(acting.address) or not acting.varies  # no force is in Python

    def _qdot(self, q: FloatArray, u: FloatArray) -> FloatArray:
        return coordinate_rates(self.model, q, u) if self._turning else u[self._rate_columns]

    def _unit(self, q: FloatArray) -> FloatArray:
        """q with quaternions of length one; integrators keep it only to their tolerance."""
        for at in self._quaternions:
            q[..., at] /= np.sqrt(np.sum(q[..., at] ** 2, axis=-1, keepdims=True))
        return q

    @abstractmethod
    def state(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        """y of a consistent q and u.

        Raises:
            InvalidInput: q or u contradicts what is enforced; names it.
        """

    @abstractmethod
    def rates(self, t: float, y: FloatArray) -> FloatArray: ...

    @abstractmethod
    def whole(self, t: FloatArray, y: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        """q and u (frames, ...) of states y (frames, n_y); guess (frames, n) are poses nearby."""

    @abstractmethod
    def accelerations(self, t: FloatArray, q: FloatArray, u: FloatArray, tau: FloatArray) -> FloatArray:
        """udot (frames, n_u)."""

    def accept(self, t: float, y: FloatArray, known: Landed | None = None) -> FloatArray:
        """Take a state as the last one that counts, and give its pose q (n,); `known` is what is known of it."""
        return self.one(t, y)[0] if known is None else known.q

    def ahead(self, method: str, control: Control, project: bool) -> Ahead | None:
        """Steps of a one-step method taken many at a time; None where no kernel does so."""
        return None

    def explain(self, t: float, y: FloatArray) -> str:
        """Why no step leads on from a state, as far as the system knows; else nothing."""
        return ""

    def one(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """q and u of one state."""
        q, u = self.whole(np.array([t]), y[None], self.guess[None])
        return q[0], u[0]

    guess: FloatArray  # (n,) the pose of the last state that counts
    independent: str = ""  # coordinates, in words for the provenance of results
    stabilized: str = ""  # how


class EmbeddedSystem(System):
    """y = (z, zu): independent coordinates and speeds alone; what follows from them is computed, not integrated."""

    def __init__(self, model: Model, acting: Acting) -> None:
        super().__init__(model, acting)
        e = self.embedding = embedding_of(model)
        self.n_z = len(e.coordinate_names)
        self._z = [model.coordinate_index(name) for name in e.coordinate_names]
        self._zu = [model.speed_index(name) for name in e.speed_names]
        self._rates = EmbeddedRates(model)
        self._state = self._rates.state
        self._looped = bool(e.loops)
        # a fit is smooth, and knows one branch only
        self._branching = bool(e.loops) and not e.fit_error
        self.guess = np.zeros(len(model.coordinate_names))
        self.independent = ", ".join(e.coordinate_names) if e.loops else ""

    def state(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        # the checks of consistency, and their words, are those of forward dynamics
        forward_dynamics(self.model, q, u, np.zeros(len(u)), time=t, threads=1)
        self.guess = q.copy()
        self._last = (t, u)
        return np.concatenate([self.embedding.independent(q), self.embedding.independent_speeds(q, u)])

    def _independent(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        z, zu = y[..., : self.n_z].copy(), y[..., self.n_z :]
        for at in self._quaternions:
            columns = [self._z.index(k) for k in at]
            z[..., columns] /= np.sqrt(np.sum(z[..., columns] ** 2, axis=-1, keepdims=True))
        return z, zu

    def rates(self, t: float, y: FloatArray) -> FloatArray:
        if self._state is not None and self._compiled:
            found = self._state.rates(t, y, self.acting.constant, self.acting.address, self.guess)
            if found is not None:
                return found
        z, zu = self._independent(y)
        zudot, q, u = self._rates(z, zu, self.acting, self.guess, t)
        return np.concatenate([self._qdot(q, u)[self._z], zudot])

    def ahead(self, method: str, control: Control, project: bool) -> Ahead | None:
        if self._state is None or not self._compiled:
            return None
        return self._state.ahead(self.acting, method, control, lambda: self.guess)

    def whole(self, t: FloatArray, y: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        z, zu = self._independent(y)
        with unwarned():  # of angles beyond ranges: nobody gave them, and in degrees they are not
            m = self.embedding.motion(z, zu, time=t, guess=guess)
        return m.q, m.u

    def one(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not self.embedding.rules:
            z, zu = self._independent(y)
            q, u = np.empty_like(z), np.empty_like(zu)
            q[self._z], u[self._zu] = z, zu
            return q, u
        if self._state is None and not self._looped:
            return super().one(t, y)
        known = self._state if not self._quaternions else None
        if known is not None and known.rates(t, y, 0.0, 0, self.guess) is not None:
            return known.q.copy(), known.u.copy()
        _, q, u = self._rates(*self._independent(y), np.zeros(len(self.model.speed_names)), self.guess, t)
        return q, u

    def accept(self, t: float, y: FloatArray, known: Landed | None = None) -> FloatArray:
        q, u = self.one(t, y) if known is None else (known.q, known.u)
        if self._looped:
            self._refuse_dead_point(t, y, q, u)
            if self._branching:
                self._refuse_turning_back(t, q, u)
            self._last = (t, u)
        self.guess = q
        return q

    def _refuse_dead_point(self, t: float, y: FloatArray, q: FloatArray, u: FloatArray) -> None:
        """Refuse states where others move so much faster than the independent ones that these say little of them."""
        # of so few numbers Python finds the largest sooner than NumPy
        if max(map(abs, u.tolist())) <= _STEEP * max(map(abs, y[self.n_z :].tolist()), default=0.0):
            return
        # the speeds alone may be those of prescribed motion
        if np.abs(u).max() > 0.0 and np.abs(self.embedding.jacobian(q, t)).max(initial=0.0) > _STEEP:
            raise self._dead_point()

    def explain(self, t: float, y: FloatArray) -> str:
        if not self._looped or not self.n_z:
            return ""
        steep = np.abs(self.embedding.jacobian(self.guess, t)).max(initial=0.0) > _RATHER_STEEP
        return str(self._dead_point()) if steep else ""

    def _dead_point(self) -> SingularSystem:
        return SingularSystem(dead_point(self.embedding, self.guess))

    def _refuse_turning_back(self, t: float, q: FloatArray, u: FloatArray) -> None:
        """Refuse a step across a dead point, behind which the loop goes on along another branch than was followed.

        There independent coordinates turn round and lead back on the old branch: the speeds of others jump.
        """
        before, u_0 = self._last
        jump = np.abs(u - u_0)
        odd = jump > 0.5 * max(np.abs(u).max(), np.abs(u_0).max())
        if not odd.any():
            return
        tau = self.acting(t, q, u)
        Q, U, times = np.stack([self.guess, q]), np.stack([u_0, u]), np.array([before, t])
        try:
            udot = forward_dynamics(self.model, Q, U, np.stack([tau, tau]), time=times)
        except InvalidInput:
            # so steep that a pose which closes the loop to rounding does not give the same speeds twice
            raise self._dead_point() from None
        odd &= jump > _JUMP * (t - before) * np.abs(udot).max(axis=0)
        if odd.any():
            name = self.model.speed_names[int(np.argmax(np.where(odd, jump, 0.0)))]
            raise SingularSystem(
                end_of_equation(self.embedding.loops, self.guess)
                or f"the loop of {', '.join(map(repr, self.embedding.loop_names))} passes a dead point before "
                f"t = {t:.9g} s: the speed {name!r} jumps, since the independent coordinates turn "
                f"round there and branches meet; {advice(self.embedding, self.guess)}"
            )

    def accelerations(self, t: FloatArray, q: FloatArray, u: FloatArray, tau: FloatArray) -> FloatArray:
        return forward_dynamics(self.model, q, u, tau, time=t)


class ConstrainedSystem(System):
    """y = (q, u): all coordinates and speeds of the tree, held together by multipliers.

    Args:
        model: the model.
        acting: what acts on it.
        stabilization: Baumgarte's rate [1/s].
        projects: whether states that it gives are brought onto the constraints.
    """

    def __init__(self, model: Model, acting: Acting, stabilization: float, projects: bool = False) -> None:
        super().__init__(model, acting)
        self.stabilization, self.projects = stabilization, projects
        rate = [f"{stabilization:g} /s"] if stabilization or not projects else []
        self.stabilized = ", ".join((["project"] if projects else []) + rate)
        self._rates = ConstrainedRates(model, stabilization)
        self._state = self._rates.state
        self.n_z = len(model.coordinate_names)
        self.equations = constraint_equations(model)

    def state(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        x = self.equations.by_speeds(q[None], None, np.array([t]))
        # equations may be written in any unit: what counts is how far coordinates would have to move
        slopes = np.maximum(np.abs(x.jacobian[0]).max(axis=1, initial=0.0), 1.0)
        off, fast = np.abs(x.residual[0]) / slopes, np.abs(x.jacobian[0] @ u + x.rate[0]) / slopes
        for what, error, unit, way in (
            ("coordinates", off, 1.0, "project_position"),
            ("speeds", fast, 1.0 + np.abs(u).max(initial=0.0), "project_velocity"),
        ):
            if error.max(initial=0.0) > CONSISTENT * unit:
                name = self.equations.name_of(int(np.argmax(error)))
                raise InvalidInput(
                    f"the {what} at the start are off constraint {name!r}, by {error.max():.3g}; "
                    f"musculo.simulation.{way}(model, ...) brings them onto it"
                )
        self.loops = LoopWatch(self.model, q)
        self.guess = q.copy()
        return np.concatenate([q, u])

    def rates(self, t: float, y: FloatArray) -> FloatArray:
        if self._state is not None and self._compiled:
            found = self._state.rates(t, y, self.acting.constant, self.acting.address)
            if found is not None:
                return found
        q, u = self._unit(y[: self.n_z].copy()), y[self.n_z :]
        udot = self._rates(q, u, self.acting, t)
        return np.concatenate([self._qdot(q, u), udot])

    def whole(self, t: FloatArray, y: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        q, u = self.parts(y)
        u = u.copy()
        if not self.projects or not self.equations.count:
            return q, u
        x = self.equations.by_speeds(q, None, t, 1)
        fast = np.abs(np.einsum("fij,fj->fi", x.jacobian, u) + x.rate).max(axis=1) / (1.0 + np.abs(u).max(axis=1))
        # steps that were projected are there already, up to rounding
        left = np.flatnonzero((np.abs(x.residual).max(axis=1) > _ROUNDING) | (fast > _ROUNDING))
        if left.size:
            q[left] = project_position(self.model, q[left], t[left], threads=1)
            u[left] = project_velocity(self.model, q[left], u[left], t[left], threads=1)
        return q, u

    def parts(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """q and u (frames, ...) of states y (frames, n_y) as they were integrated, projected or not."""
        return self._unit(y[:, : self.n_z].copy()), y[:, self.n_z : self.n_z + len(self.model.speed_names)]

    def one(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self._state is not None and self.projects:
            found = self._state.project(t, y)
            if found is not None:
                return found[: self.n_z], found[self.n_z :]
        return super().one(t, y)

    def accept(self, t: float, y: FloatArray, known: Landed | None = None) -> FloatArray:
        q = self._unit(y[: self.n_z].copy()) if known is None else known.q
        if self.loops.followed:
            self.loops.step(t, q, self._volume() if known is None else known.volume)
        return q

    def ahead(self, method: str, control: Control, project: bool) -> Ahead | None:
        if self._state is None or not self._compiled:
            return None
        watched = bool(self.loops.followed) and self._rates.jacobian is not None
        volumes = self.loops.volumes if watched else None
        return self._state.ahead(self.acting, method, control, project, volumes)

    def _volume(self) -> float | None:
        """That rows of `_matrix` span."""
        G = self._matrix()
        return None if G is None else float(self.loops.volumes(G[None])[0])

    def _matrix(self) -> FloatArray | None:
        """G (m, n_u) of all constraints at the last state that was looked at, if they are all between bodies."""
        return self._rates.jacobian

    def explain(self, t: float, y: FloatArray) -> str:
        return self.loops.explain(self._unit(y[: self.n_z].copy()))

    def settled(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The state nearest to y on the constraints, and its rates."""
        if self._state is not None and self._compiled:
            found = self._state.settle(t, y, self.acting.constant, self.acting.address)
            if found is not None:
                return found
        x = np.concatenate(self.one(t, y))
        return x, self.rates(t, x)

    def accelerations(self, t: FloatArray, q: FloatArray, u: FloatArray, tau: FloatArray) -> FloatArray:
        return constrained_acceleration(self.model, q, u, tau, time=t, stabilization=self.stabilization).udot


class MultiplierSystem(ConstrainedSystem):
    """y = (q, u, L) with residuals, for IDA: a differential-algebraic equation of index 1.

        qdot = N u,   M udot + G^T Ldot = tau - C - g,   G udot + gddot_0 + 2 a gdot + a^2 g = 0

    The multipliers are derivatives of the impulses L, as Gear proposed: IDA then bounds errors of impulses, which are
    as smooth as speeds, and not those of forces. Where equations repeat others, only what lies in the range of G is
    asked of speeds, and the rest of the equations makes the multipliers the shortest ones; P = V V^T projects on that
    range, which turns with the pose but keeps its dimension:

        P (G udot + ...) + (1 - P) Ldot = 0
    """

    _rank: int  # equations that do not repeat others
    _last_matrix: FloatArray | None = None

    def __init__(self, model: Model, acting: Acting, stabilization: float, projects: bool = False) -> None:
        super().__init__(model, acting, stabilization, projects)
        # None where functions for many states have to serve
        self._implicit = ImplicitState(model, self.equations) if ImplicitState.serves(self.equations) else None

    def state(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        y = super().state(t, q, u)
        found = constrained_acceleration(self.model, q, u, self.acting(t, q, u), time=t)
        self._rank = self.equations.count - int(found.redundant)
        self._units = scales_of(self.equations).plain[:, None]
        return np.concatenate([y, np.zeros(self.equations.count)])

    def rates(self, t: float, y: FloatArray) -> FloatArray:
        n, n_u = self.n_z, len(self.model.speed_names)
        q, u = self._unit(y[:n].copy()), y[n : n + n_u]
        found = constrained_acceleration(
            self.model, q, u, self.acting(t, q, u), time=t, stabilization=self.stabilization, threads=1
        )
        return np.concatenate([self._qdot(q, u), found.udot, found.multipliers])

    def _matrix(self) -> FloatArray | None:
        return None if self._rates.jacobian is None else self._last_matrix

    def residual(self, t: float, y: FloatArray, yp: FloatArray) -> FloatArray:
        n, n_u = self.n_z, len(self.model.speed_names)
        q, u, udot, lam = self._unit(y[:n].copy()), y[n : n + n_u], yp[n : n + n_u], yp[n + n_u :]
        x = None if self._implicit is None else self._implicit(q, u, udot)
        if x is None:
            tau = inverse_dynamics(self.model, q, u, udot, threads=1)
            found = self.equations.by_speeds(q[None], u[None], np.array([t]), 1)
            g, G, bias, rate = found.residual[0], found.jacobian[0], found.bias[0], found.rate[0]
        else:
            tau, g, G, bias = x
            rate = np.zeros(len(g))
        self._last_matrix = G
        a = self.stabilization
        gdot = G @ u + rate
        force = tau + G.T @ lam - self.acting(t, q, u)
        closing = G @ udot + bias + 2.0 * a * gdot + a * a * g
        if self._rank < len(lam):
            V = self._range(G)
            closing = lam + V @ (V.T @ (closing - lam))
        return np.concatenate([yp[:n] - self._qdot(q, u), force, closing])

    def _range(self, G: FloatArray) -> FloatArray:
        """V (m, rank), orthonormal: what G makes of the space of independent rows, in units in which they are alike."""
        rows = np.linalg.svd(G * self._units)[2][: self._rank]
        return np.linalg.qr(G @ rows.T)[0]
