"""One state of a simulation with constraints as equations: `musculo.kernels.integrate.multiplier_state` from Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.dynamics.constrained_dynamics import constraint_equations
from musculo.dynamics.constraint_rank import tolerances_of
from musculo.embedding.couplers.rule_table import rule_rows, turning_rows
from musculo.embedding.loops.equations.body_equations import BodyEquation
from musculo.embedding.loops.equations.coordinate_equations import RuleEquation
from musculo.embedding.speed_rates import turning_joints
from musculo.kernels.constraints.multipliers import ConstrainedSystem
from musculo.kernels.integrate.multiplier_state import (
    PROJECT,
    SETTLE,
    ConstrainedTree,
    constrained_room,
    constrained_state,
)
from musculo.kernels.integrate.one_step_methods import RATES
from musculo.model.model import Model
from musculo.simulation.forces.acting import Acting
from musculo.simulation.integrators.ahead import Ahead, Driver, Sizes, request_of
from musculo.simulation.integrators.control import Control


class ConstrainedState:
    """Rates, steps and projections of one state y = (q, u) after the other; None where the kernel finds nothing.

    Args:
        model: the model; `serves` says whether it can be one.
        stabilization: Baumgarte's rate [1/s].
    """

    def __init__(self, model: Model, stabilization: float) -> None:
        n, n_u, m = len(model.coordinate_names), len(model.speed_names), constraint_equations(model).count
        tables = model.derived("constrained tree", lambda: _constrained_tree(model))
        sizes = Sizes(n + n_u, n, n_u, m)
        self.multipliers, self._x = np.zeros(m), np.zeros(n + n_u)  # of the last state
        more = (self._x, self.multipliers)
        tables = tables._replace(system=tables.system._replace(decay=float(stabilization)))
        self._driver = Driver(constrained_state, constrained_room, tables, sizes, more)
        self._request = request_of(sizes)
        self.jacobian = self._request.out.G[0].reshape(m, n_u)  # G of the last state

    @staticmethod
    def serves(model: Model) -> bool:
        """Whether all constraints are between bodies, or rules of coordinates whose rates are speeds."""
        turned = {k for joint in turning_joints(model) for k in joint.q}
        return all(
            isinstance(e, BodyEquation) or (isinstance(e, RuleEquation) and not turned & set(e.columns))
            for e in constraint_equations(model).equations
        )

    def rates(self, t: float, y: FloatArray, tau: FloatArray, force: int = 0) -> FloatArray | None:
        """(n + n_u,) derivatives under forces tau (n_u,) and those of the C function at the address `force`."""
        return self._request.f.copy() if self._call(RATES, t, y, tau, force) else None

    def project(self, t: float, y: FloatArray) -> FloatArray | None:
        """The state nearest to y on the constraints."""
        return self._x.copy() if self._call(PROJECT, t, y, 0.0) else None

    def settle(self, t: float, y: FloatArray, tau: FloatArray, force: int = 0) -> tuple[FloatArray, FloatArray] | None:
        """The same, and its rates."""
        return (self._x.copy(), self._request.f.copy()) if self._call(SETTLE, t, y, tau, force) else None

    def _call(self, what: int, t: float, y: FloatArray, tau: FloatArray | float, force: int = 0) -> bool:
        a = self._request
        a.tau[:], a.y[:], a.here[0] = tau, y[: a.y.size], t
        return bool(self._driver(what, force, a))

    def ahead(
        self,
        acting: Acting,
        method: str,
        control: Control,
        projects: bool,
        volumes: Callable[[FloatArray], FloatArray] | None,
    ) -> Ahead:
        """Steps of a method, many at a time."""
        return Ahead(self._driver, acting, method, control, projects, volumes=volumes)


def _constrained_tree(model: Model) -> ConstrainedTree:
    """The model as the kernel takes it, without stabilization."""
    c, system = compiled(model), constraint_equations(model)
    found = [(e, rows.start) for e, rows in zip(system.equations, system.rows, strict=True)]
    ruled = [(e.rule, e.columns, row) for e, row in found if isinstance(e, RuleEquation)]
    tree = ConstrainedSystem(c.tree, c.table, system.table, tolerances_of(system), 0.0)
    return ConstrainedTree(tree, *rule_rows(model, ruled), *turning_rows(model), int(system.count))
