"""One state of a simulation with constraints as equations: `musculo.kernels.constrained_state` from Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from musculo.compile.compiled import compiled
from musculo.compile.frames import FloatArray
from musculo.dynamics.constraint_rank import tolerances_of
from musculo.dynamics.constraints import constraint_equations
from musculo.embedding.body_equations import BodyEquation
from musculo.embedding.coordinate_equations import RuleEquation
from musculo.embedding.rates import turning_joints
from musculo.embedding.rules import Coupled, Locked, Prescribed
from musculo.functions.base import Function
from musculo.functions.table import FunctionTable, compile_functions
from musculo.kernels.constrained_state import (
    PROJECT,
    RATES,
    SETTLE,
    STEP,
    ConstrainedTree,
    Fehlberg,
    RuleRows,
    constrained_state,
)
from musculo.model.model import Model
from musculo.simulation import tableaus


class ConstrainedState:
    """Rates, steps and projections of one state y = (q, u) after the other; None where the kernel finds nothing.

    Args:
        model: the model; `serves` says whether it can be one.
        stabilisation: Baumgarte's rate [1/s].
    """

    def __init__(self, model: Model, stabilisation: float) -> None:
        n, n_u, m = len(model.coordinate_names), len(model.speed_names), constraint_equations(model).count
        tables = model.derived("constrained tree", lambda: _constrained_tree(model))
        self._p = tables._replace(decay=float(stabilisation))
        self.multipliers = np.zeros(m)  # of the last state
        self.jacobian = np.zeros((m, n_u))  # G of the last state
        self._y, self._f, self._x, self._error = (np.zeros(n + n_u) for _ in range(4))
        self._tau, self._of_last = np.zeros(n_u), (self.jacobian.reshape(-1), self.multipliers)
        self._kernel = model.derived("constrained kernel", self._known)

    def _known(self) -> Any:
        """The kernel for the types of our arguments.

        Numba would look at the type of every array of the model at each call, which takes as long as all the rest.
        The types are known here: buffers are our own.
        """
        arguments = (self._p, *self._arguments(RATES, 0, 0.0, 0.0))
        return constrained_state.compile(tuple(numba.typeof(part) for part in arguments))

    def _arguments(self, what: int, force: int, t: float, h: float) -> tuple[Any, ...]:
        states = (self._y, self._f, float(h), self._x, self._error)
        return (what, int(force), self._tau, float(t), *states, *self._of_last)

    @staticmethod
    def serves(model: Model) -> bool:
        """Whether all constraints are between bodies, or rules of coordinates that no joint turns freely."""
        turned = {k for joint in turning_joints(model) for k in joint.q}
        return all(
            isinstance(e, BodyEquation) or (isinstance(e, RuleEquation) and not turned & set(e.columns))
            for e in constraint_equations(model).equations
        )

    def rates(self, t: float, y: FloatArray, tau: FloatArray, force: int = 0) -> FloatArray | None:
        """(n + n_u,) derivatives under forces tau (n_u,) and those of the C function at the address `force`."""
        self._tau[:] = tau
        return self._f.copy() if self._call(RATES, force, t, y) else None

    def step(
        self, t: float, y: FloatArray, f: FloatArray, h: float, tau: FloatArray, force: int = 0
    ) -> tuple[FloatArray, FloatArray] | None:
        """As `rkf45_step`."""
        self._tau[:], self._f[:] = tau, f
        return (self._x.copy(), self._error.copy()) if self._call(STEP, force, t, y, h) else None

    def project(self, t: float, y: FloatArray) -> FloatArray | None:
        """The state nearest to y on the constraints."""
        return self._x.copy() if self._call(PROJECT, 0, t, y) else None

    def settle(self, t: float, y: FloatArray, tau: FloatArray, force: int = 0) -> tuple[FloatArray, FloatArray] | None:
        """The same, and its rates."""
        self._tau[:] = tau
        return (self._x.copy(), self._f.copy()) if self._call(SETTLE, force, t, y) else None

    def _call(self, what: int, force: int, t: float, y: FloatArray, h: float = 0.0) -> bool:
        self._y[:] = y[: self._y.size]
        return bool(self._kernel(self._p, *self._arguments(what, force, t, h)))


def _constrained_tree(model: Model) -> ConstrainedTree:
    """The model as the kernel takes it, without stabilisation."""
    c, (rules, functions) = compiled(model), _rule_rows(model)
    speeds = {name: k for k, name in enumerate(model.speed_names)}
    turning = turning_joints(model)
    return ConstrainedTree(
        c.tree,
        c.table,
        constraint_equations(model).table,
        rules,
        functions,
        _ints([speeds.get(name, -1) for name in model.coordinate_names]),
        _ints([(*joint.q, -1)[:4] for joint in turning]).reshape(-1, 4),
        _ints([joint.u for joint in turning]).reshape(-1, 3),
        tolerances_of(constraint_equations(model)),
        0.0,
        _fehlberg(),
    )


def _ints(values: Sequence[int] | Sequence[Sequence[int]]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def _rule_rows(model: Model) -> tuple[RuleRows, FunctionTable]:
    """Locks, prescribed motions and couplers as arrays."""
    system = constraint_equations(model)
    speeds = {name: k for k, name in enumerate(model.speed_names)}
    found = [(e, rows.start) for e, rows in zip(system.equations, system.rows, strict=True)]
    ours = [(e, row) for e, row in found if isinstance(e, RuleEquation)]
    functions: list[Function] = []
    inputs: list[int] = []
    first, numbers, function, timed, scales = [0], [], [], [], []
    for equation, _ in ours:
        rule = equation.rule
        known = rule.function if isinstance(rule, Coupled | Prescribed) else None
        function.append(-1 if known is None else len(functions))
        functions += [] if known is None else [known]
        timed.append(int(isinstance(rule, Prescribed)))
        scales.append(rule.scale if isinstance(rule, Coupled) else 1.0)
        numbers.append(rule.value if isinstance(rule, Locked) else 0.0)
        inputs += equation.columns[:-1]
        first.append(len(inputs))
    names = model.coordinate_names
    followers = [equation.columns[-1] for equation, _ in ours]
    rows = RuleRows(
        row=_ints([row for _, row in ours]),
        follower=_ints([(k, speeds.get(names[k], -1)) for k in followers]).reshape(-1, 2),
        function=_ints(function),
        timed=_ints(timed),
        scale=np.array(scales, dtype=float),
        value=np.array(numbers, dtype=float),
        first_input=_ints(first),
        input_q=_ints(inputs or [0]),
        input_u=_ints([speeds.get(names[k], -1) for k in inputs] or [0]),
    )
    return rows, compile_functions(functions)


def _fehlberg() -> Fehlberg:
    stages = np.zeros((6, 6))
    for i, row in enumerate(tableaus.STAGES, start=1):
        stages[i, : row.size] = row
    fifth, fourth = tableaus.FIFTH, tableaus.FOURTH
    return Fehlberg(np.ascontiguousarray(tableaus.NODES), stages, fifth, fifth - fourth)
