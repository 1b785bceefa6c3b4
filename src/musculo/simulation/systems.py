"""A model as an ordinary differential equation: in its independent coordinates, or in all of them with multipliers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from musculo.compile.frames import FloatArray
from musculo.dynamics.constraints import constrained_acceleration, constraint_equations
from musculo.dynamics.external import ExternalLoad, listed
from musculo.dynamics.forward import forward_dynamics
from musculo.dynamics.inverse import inverse_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.embedding.motion import CONSISTENT
from musculo.embedding.rates import coordinate_rates, turning_joints
from musculo.errors import InvalidInput, SingularSystem
from musculo.model.model import Model
from musculo.simulation.constrained import constraint_drift, project_position, project_velocity
from musculo.simulation.rates import ConstrainedRates, EmbeddedRates

Forces = Callable[[float, FloatArray, FloatArray], ArrayLike]
Loads = Callable[[float, FloatArray, FloatArray], "ExternalLoad | Sequence[ExternalLoad]"]


# Where others move so many times faster than independent coordinates, errors of these are errors so many times larger.
_STEEP = 1e4
# Speeds that change by more than this many times what accelerations before and after explain have jumped.
_JUMP = 3.0


class Acting:
    """What acts on the tree: the user's generalised forces and loads, checked at every call."""

    def __init__(self, model: Model, forces: Forces | ArrayLike | None, external: Loads | None) -> None:
        self.model, self._external = model, external
        if external is not None and not callable(external):
            raise InvalidInput(f"external is {external!r:.60}; give a function (t, q, u) -> list of ExternalLoad")
        self._function = forces if callable(forces) else None
        n = len(model.speed_names)
        self._constant = np.zeros(n)
        if forces is not None and not callable(forces):
            self._constant = self._checked(forces, "forces")

    @property
    def varies(self) -> bool:
        """Whether the state must be known first."""
        return self._function is not None or self._external is not None

    def _checked(self, values: ArrayLike, what: str) -> FloatArray:
        names = self.model.speed_names
        try:
            tau = np.asarray(values, dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{what}: not an array of numbers: {error}") from None
        if tau.shape != (len(names),):
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise InvalidInput(f"{what}: shape {tau.shape}; it needs ({len(names)},), one each for {shown}")
        if not np.isfinite(tau).all():
            k = int(np.flatnonzero(~np.isfinite(tau))[0])
            raise InvalidInput(f"{what}: {tau[k]} on the speed {names[k]!r}; every force must be finite")
        return tau

    def __call__(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        """tau (n_u,) of everything but gravity, the loads as generalised forces J^T F."""
        tau = self._constant
        if self._function is not None:
            tau = self._checked(self._function(t, q, u), f"forces at t = {t:.6g} s")
        if self._external is not None:
            loads = listed(self._external(t, q, u), 1)
            if loads:
                rest = np.zeros_like(u)
                without, under = (inverse_dynamics(self.model, q, rest, rest, x, threads=1) for x in ((), loads))
                tau = tau + (without - under)
        return tau


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

    def accept(self, t: float, y: FloatArray) -> FloatArray:
        """Take a state as the last one that counts, and give its pose q (n,)."""
        return self.one(t, y)[0]

    def one(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """q and u of one state."""
        q, u = self.whole(np.array([t]), y[None], self.guess[None])
        return q[0], u[0]

    guess: FloatArray  # (n,) the pose of the last state that counts


class EmbeddedSystem(System):
    """y = (z, zu): independent coordinates and speeds alone; what follows from them is computed, not integrated."""

    def __init__(self, model: Model, acting: Acting) -> None:
        super().__init__(model, acting)
        e = self.embedding = embedding_of(model)
        self.n_z = len(e.coordinate_names)
        self._z = [model.coordinate_index(name) for name in e.coordinate_names]
        self._zu = [model.speed_index(name) for name in e.speed_names]
        self._looped = EmbeddedRates(model) if e.loops else None

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
        z, zu = self._independent(y)
        if self._looped is not None:
            tau = np.zeros(len(self.model.speed_names)) if self.acting.varies else self.acting(t, self.guess, zu)
            zudot, q, u = self._looped(z, zu, tau, self.guess, t)
            if self.acting.varies:
                zudot, q, u = self._looped(z, zu, self.acting(t, q, u), q, t)
            return np.concatenate([self._qdot(q, u)[self._z], zudot])
        q, u = self._open(t, z, zu)
        udot = forward_dynamics(self.model, q, u, self.acting(t, q, u), time=t, threads=1)
        zudot = self.embedding.independent_speeds(q, udot) if self.embedding.rules else udot[self._zu]
        if self.embedding.rules and self._turning:
            zudot = self._reduced(t, z, zu, udot, q)
        return np.concatenate([self._qdot(q, u)[self._z], zudot])

    def _reduced(self, t: float, z: FloatArray, zu: FloatArray, udot: FloatArray, q: FloatArray) -> FloatArray:
        """zudot of udot = J zudot + b where angles of a ball are independent one by one: J is no selection then."""
        m = self.embedding.motion(z, zu, time=t, guess=q)
        return np.asarray(np.linalg.lstsq(m.J, udot - m.b, rcond=None)[0])

    def _open(self, t: float, z: FloatArray, zu: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.embedding.rules:
            m = self.embedding.motion(z, zu, time=t)
            return m.q, m.u
        q, u = np.empty(len(self._z)), np.empty(len(self._zu))
        q[self._z], u[self._zu] = z, zu
        return q, u

    def whole(self, t: FloatArray, y: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        z, zu = self._independent(y)
        m = self.embedding.motion(z, zu, time=t, guess=guess)
        return m.q, m.u

    def one(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self._looped is None:
            return super().one(t, y)
        _, q, u = self._looped(*self._independent(y), np.zeros(len(self.model.speed_names)), self.guess, t)
        return q, u

    def accept(self, t: float, y: FloatArray) -> FloatArray:
        q, u = self.one(t, y)
        if self._looped is not None:
            self._refuse_dead_point(t, y, q, u)
            self._refuse_turning_back(t, q, u)
            self._last = (t, u)
        self.guess = q
        return q

    def _refuse_dead_point(self, t: float, y: FloatArray, q: FloatArray, u: FloatArray) -> None:
        """Refuse states where others move so much faster than the independent ones that these say little of them."""
        if np.abs(u).max() <= _STEEP * np.abs(y[self.n_z :]).max(initial=0.0):
            return
        # the speeds alone may be those of prescribed motion
        if np.abs(u).max() > 0.0 and np.abs(self.embedding.jacobian(q, t)).max() > _STEEP:
            raise SingularSystem(
                f"the loop of {', '.join(map(repr, self.embedding.loop_names))} comes to a dead point of "
                f"{', '.join(map(repr, self.embedding.coordinate_names))}: others move on while these turn round, and "
                "branches meet; use formulation='constrained'"
            )

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
        udot = forward_dynamics(self.model, np.stack([self.guess, q]), np.stack([u_0, u]), np.stack([tau, tau]), time=t)
        odd &= jump > _JUMP * (t - before) * np.abs(udot).max(axis=0)
        if odd.any():
            name = self.model.speed_names[int(np.argmax(np.where(odd, jump, 0.0)))]
            raise SingularSystem(
                f"the loop of {', '.join(map(repr, self.embedding.loop_names))} passes a dead point before "
                f"t = {t:.9g} s: the speed {name!r} jumps, since the independent coordinates turn "
                "round there and branches meet; use formulation='constrained'"
            )

    def accelerations(self, t: FloatArray, q: FloatArray, u: FloatArray, tau: FloatArray) -> FloatArray:
        return forward_dynamics(self.model, q, u, tau, time=t)


class ConstrainedSystem(System):
    """y = (q, u): all coordinates and speeds of the tree, held together by multipliers.

    Args:
        model: the model.
        acting: what acts on it.
        stabilisation: Baumgarte's rate [1/s].
    """

    def __init__(self, model: Model, acting: Acting, stabilisation: float) -> None:
        super().__init__(model, acting)
        self.stabilisation = stabilisation
        self._rates = ConstrainedRates(model, stabilisation)
        self.n_z = len(model.coordinate_names)
        self.equations = constraint_equations(model)

    def state(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        drift = constraint_drift(self.model, q, u, t)
        for what, size, way in (
            ("coordinates", drift.position, "project_position"),
            ("speeds", drift.velocity / (1.0 + np.abs(u).max(initial=0.0)), "project_velocity"),
        ):
            if size > CONSISTENT:
                raise InvalidInput(
                    f"the {what} at the start are off constraint {drift.worst!r} (positions by {drift.position:.3g}, "
                    f"velocities by {drift.velocity:.3g}); musculo.{way}(model, ...) brings them onto it"
                )
        self.guess = q.copy()
        return np.concatenate([q, u])

    def rates(self, t: float, y: FloatArray) -> FloatArray:
        q, u = self._unit(y[: self.n_z].copy()), y[self.n_z :]
        udot = self._rates(q, u, self.acting(t, q, u), t)
        return np.concatenate([self._qdot(q, u), udot])

    def whole(self, t: FloatArray, y: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        n_u = len(self.model.speed_names)
        return self._unit(y[:, : self.n_z].copy()), y[:, self.n_z : self.n_z + n_u].copy()

    def projected(self, t: float, y: FloatArray) -> FloatArray:
        """The state nearest to y on the constraints."""
        q = project_position(self.model, self._unit(y[: self.n_z].copy()), t, threads=1)
        return np.concatenate([q, project_velocity(self.model, q, y[self.n_z :], t, threads=1)])

    def accelerations(self, t: FloatArray, q: FloatArray, u: FloatArray, tau: FloatArray) -> FloatArray:
        return constrained_acceleration(self.model, q, u, tau, time=t, stabilisation=self.stabilisation).udot


class MultiplierSystem(ConstrainedSystem):
    """y = (q, u, L) with residuals, for IDA: a differential-algebraic equation of index 1.

        qdot = N u,   M udot + G^T Ldot = tau - C - g,   G udot + gddot_0 + 2 a gdot + a^2 g = 0

    The multipliers are derivatives of the impulses L, as Gear proposed: IDA then bounds errors of impulses, which are
    as smooth as speeds, and not those of forces.
    """

    _rows: np.ndarray  # equations that do not repeat others

    def state(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        y = super().state(t, q, u)
        # equations that repeat others would leave multipliers open: those that do at the start are left out
        found = constrained_acceleration(self.model, q, u, self.acting(t, q, u), time=t)
        G = self._jacobian(t, q, u)
        order = qr(G.T, mode="r", pivoting=True)[1] if G.size else np.zeros(0, dtype=np.int64)
        self._rows = np.sort(order[: self.equations.count - int(found.redundant)])
        return np.concatenate([y, np.zeros(len(self._rows))])

    def _jacobian(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        return self.equations.by_speeds(q[None], u[None], np.array([t]), 1).jacobian[0]

    def rates(self, t: float, y: FloatArray) -> FloatArray:
        n, n_u = self.n_z, len(self.model.speed_names)
        q, u = self._unit(y[:n].copy()), y[n : n + n_u]
        found = constrained_acceleration(
            self.model, q, u, self.acting(t, q, u), time=t, stabilisation=self.stabilisation, threads=1
        )
        G = self._jacobian(t, q, u)[self._rows]
        multipliers = np.linalg.lstsq(G.T, -found.generalized, rcond=None)[0]
        return np.concatenate([self._qdot(q, u), found.udot, multipliers])

    def residual(self, t: float, y: FloatArray, yp: FloatArray) -> FloatArray:
        n, n_u = self.n_z, len(self.model.speed_names)
        q, u, udot, lam = self._unit(y[:n].copy()), y[n : n + n_u], yp[n : n + n_u], yp[n + n_u :]
        x = self.equations.by_speeds(q[None], u[None], np.array([t]), 1)
        G, a = x.jacobian[0, self._rows], self.stabilisation
        gdot = G @ u + x.rate[0, self._rows]
        force = inverse_dynamics(self.model, q, u, udot, threads=1) + G.T @ lam - self.acting(t, q, u)
        closing = G @ udot + x.bias[0, self._rows] + 2.0 * a * gdot + a * a * x.residual[0, self._rows]
        return np.concatenate([yp[:n] - self._qdot(q, u), force, closing])
