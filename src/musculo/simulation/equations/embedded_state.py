"""One state of a simulation in independent coordinates: `open_state` and `closed_state` from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.dynamics.embedded_dynamics import embedded_dynamics
from musculo.dynamics.forward import SINGULAR_HINGE
from musculo.embedding.couplers.coordinate_rules import Coupled, Locked, Prescribed, Rule
from musculo.embedding.couplers.rule_table import rule_rows, turning_rows
from musculo.embedding.embedding import Embedding, embedding_of
from musculo.embedding.loops.closed_loop import SINGULAR
from musculo.embedding.loops.methods.fitted_loop import FittedFunction, FittedVariables
from musculo.embedding.loops.methods.joint_variables import Looped
from musculo.embedding.speed_rates import turning_joints
from musculo.functions.elementary_functions import FourierSeries
from musculo.kernels.constraints.embedded_acceleration import Followers
from musculo.kernels.integrate.closed_state import ClosedTree, closed_room, closed_state
from musculo.kernels.integrate.one_step_methods import RATES
from musculo.kernels.integrate.open_state import OpenTree, open_room, open_state
from musculo.model.model import Model
from musculo.simulation.forces.acting import Acting
from musculo.simulation.integrators.ahead import Ahead, Driver, Sizes, request_of
from musculo.simulation.integrators.control import Control

_NONE = np.zeros(0, dtype=np.int64)


class EmbeddedState:
    """Rates and steps of one state y = (z, zu) after the other; None where the kernel finds nothing.

    Args:
        model: the model.
        driver, room: the kernel, and the one that makes its room.
        p: the model as both take it.
        guess: (n,) the array in which it looks for the pose whose branch is meant, if it does.
    """

    def __init__(self, model: Model, driver: Any, room: Any, p: Any, guess: FloatArray | None = None) -> None:
        sizes = Sizes(p.z.size + p.zu.size, len(model.coordinate_names), len(model.speed_names))
        self._guess = guess
        self._driver = Driver(driver, room, p, sizes, () if guess is None else (guess,))
        self._request = a = request_of(sizes)
        self.q, self.u = a.out.q[0], a.out.u[0]  # of the last state

    def rates(
        self, t: float, y: FloatArray, tau: FloatArray | float, force: int, guess: FloatArray
    ) -> FloatArray | None:
        """(n_y,) derivatives under forces tau (n_u,) and those of the C function at the address `force`.

        guess: (n,) a pose on the branch that is meant.
        """
        a = self._request
        a.tau[:], a.y[:], a.here[0] = tau, y, t
        if self._guess is not None:
            self._guess[:] = guess
        return a.f.copy() if self._driver(RATES, force, a) else None

    def ahead(self, acting: Acting, method: str, control: Control, guess: Callable[[], FloatArray]) -> Ahead:
        """Steps of a method, many at a time; `guess` gives the pose of the state that they start from."""
        held = self._guess
        if held is None:
            return Ahead(self._driver, acting, method, control)
        return Ahead(self._driver, acting, method, control, begin=lambda: np.copyto(held, guess()))


def is_open(model: Model) -> bool:
    """Whether no loop is left to solve, and every rule is one of coordinates whose derivatives are speeds.

    Loops that were solved beforehand are rules like couplers, as far as they follow one coordinate each.
    """
    e = embedding_of(model)
    if e.unsolved:
        return False
    if not e.rules:
        return True
    known = all(isinstance(rule, Coupled | Locked | Prescribed) or _fitted(rule) for rule in e.rules)
    return known and not turning_joints(model) and embedded_dynamics(model) is not None


def _fitted(rule: Rule) -> tuple[FittedFunction, ...]:
    """The functions of all dependents of a loop that was solved beforehand; empty where it was not, or has several
    inputs."""
    if not (isinstance(rule, Looped) and isinstance(rule.variables, FittedVariables)):
        return ()
    return rule.variables.functions()


def is_one_loop(model: Model) -> bool:
    """Whether the only rule is a loop that a kernel knows."""
    e, dynamics = embedding_of(model), embedded_dynamics(model)
    alone = len(e.loops) == 1 and len(e.steps) == 1 and not e.unsolved
    return alone and dynamics is not None and dynamics.loop is not None


def embedded_state(model: Model) -> EmbeddedState | None:
    """The one that serves a model, if there is one."""
    if is_open(model):
        return EmbeddedState(model, open_state, open_room, model.derived("open tree", lambda: open_tree(model)))
    if is_one_loop(model):
        tree = model.derived("closed tree", lambda: _closed_tree(model))
        return EmbeddedState(model, closed_state, closed_room, tree, np.zeros(len(model.coordinate_names)))
    return None


def _columns(model: Model, e: Embedding) -> tuple[np.ndarray, np.ndarray]:
    z = [model.coordinate_index(name) for name in e.coordinate_names]
    zu = [model.speed_index(name) for name in e.speed_names]
    return np.array(z, dtype=np.int64), np.array(zu, dtype=np.int64)


def open_tree(model: Model) -> OpenTree:
    c, e = compiled(model), embedding_of(model)
    followers = Followers(_NONE, np.zeros(1, dtype=np.int64), _NONE, _NONE, np.zeros(1, dtype=np.int64), _NONE)
    if e.rules:
        dynamics = embedded_dynamics(model)
        assert dynamics is not None
        followers = dynamics.followers
    ruled: list[tuple[Rule, list[int], int]] = []
    growth: list[float] = []
    waves_until: list[int] = []
    for rule, dependents in e.steps:
        # the dependents of a loop come together, in the order of its functions
        known = _fitted(rule) or (None,) * len(dependents)
        for name, fit in zip(dependents, known, strict=True):
            one = rule if fit is None else Coupled(name, rule.inputs, rule.reason, fit.function)
            ruled.append((one, [model.coordinate_index(n) for n in (*rule.inputs, name)], -1))
            growth.append(0.0 if fit is None else fit.growth)
        together = all(fit is not None and isinstance(fit.function, FourierSeries) for fit in known)
        waves_until += [len(ruled) if together else 0] * len(dependents)
    rows, functions = rule_rows(model, ruled)
    series = np.array(growth, dtype=float), np.array(waves_until, dtype=np.int64)
    tree = (c.tree, c.table, rows, functions, *series, followers)
    return OpenTree(*tree, *_columns(model, e), *turning_rows(model), SINGULAR_HINGE)


def _closed_tree(model: Model) -> ClosedTree:
    e, dynamics = embedding_of(model), embedded_dynamics(model)
    assert dynamics is not None
    assert dynamics.loop is not None
    return ClosedTree(
        dynamics.loop, dynamics.followers, *_columns(model, e), *turning_rows(model), SINGULAR_HINGE, SINGULAR
    )
