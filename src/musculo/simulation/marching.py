"""Simulations of closed loops that stay compiled from step to step: `musculo.kernels.march` from Python.

What a kernel cannot do, it hands back: a step across a dead point, or one that fails, is done again by the steppers,
whose words name what happened.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.compile.compiled import compiled
from musculo.compile.frames import FloatArray
from musculo.dynamics.constraints import TOLERANCES, constraint_equations
from musculo.dynamics.embedded import embedded_dynamics
from musculo.dynamics.forward import SINGULAR_HINGE
from musculo.embedding.body_equations import BodyEquation
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loop import SEARCH, SINGULAR
from musculo.embedding.rates import turning_joints
from musculo.kernels.march import ODD, RKF45, TR_BDF2, Stepping, march
from musculo.kernels.states import Mechanism
from musculo.model.model import Model
from musculo.simulation import steppers, tableaus

# So many steps are kept by the kernel before they are handed over.
_ROOM = 2048


class Marched(NamedTuple):
    """Steps that were done: times (k,), states and their rates (k, n), poses (k, n_q)."""

    t: FloatArray
    y: FloatArray
    f: FloatArray
    poses: FloatArray
    odd: bool  # the next step has to be looked at


def mechanism(
    model: Model, embedded: bool, tau: FloatArray | None = None, decay: float = 0.0, acts: int = 0
) -> Mechanism | None:
    """A model as the kernel takes it; None where it does not: all that is enforced must be one loop between bodies.

    Args:
        model: the model.
        embedded: whether states are independent coordinates and speeds, or all of them.
        tau: (n_u,) generalised forces that stay.
        decay: Baumgarte's rate where constraints are equations [1/s].
        acts: address of a C function (t, q, u, tau) that adds to tau; 0 for none.
    """
    e = embedding_of(model)
    dynamics = embedded_dynamics(model)
    loop = e.loops[0].table if len(e.loops) == 1 and len(e.steps) == 1 else None
    system = constraint_equations(model) if loop is not None else None
    if loop is None or system is None or dynamics is None or any(True for _ in turning_joints(model)):
        return None
    if not all(isinstance(equation, BodyEquation) for equation in system.equations):
        return None
    c, n_u = compiled(model), len(model.speed_names)
    names = (e.coordinate_names, e.speed_names) if embedded else (model.coordinate_names, model.coordinate_names)
    at = (
        np.array([model.coordinate_index(name) for name in names[0]], dtype=np.int64),
        np.array([model.speed_index(name) for name in names[1]], dtype=np.int64),
    )
    constant = np.zeros(n_u) if tau is None else np.ascontiguousarray(tau, dtype=float)
    tables = (c.tree, c.table, loop, SEARCH, dynamics.followers, system.table, TOLERANCES)
    return Mechanism(*tables, embedded, *at, float(decay), SINGULAR, SINGULAR_HINGE, constant, acts)


def stepping(method: str, projected: bool, control: steppers.Control, steep: float, jump: float) -> Stepping:
    """How the kernel makes steps."""
    stages = np.zeros((6, 6))
    for i, row in enumerate(tableaus.STAGES, start=1):
        stages[i, : row.size] = row
    lengths = (steppers.SAFETY, steppers.LEAST, steppers.MOST, steppers.SMALLEST)
    fehlberg = (tableaus.NODES, stages, tableaus.FIFTH, tableaus.FOURTH)
    bank = (float(tableaus.GAMMA), tableaus.SECOND, tableaus.THIRD, tableaus.ROUNDS)
    kind = RKF45 if method == "rkf45" else TR_BDF2
    bounds = (control.rtol, control.atol, control.max_step)
    parts: Any = (*bounds, *lengths, *fehlberg, *bank, steep, jump)
    return Stepping(kind, projected, *parts)


class March:
    """A march from a state; `go` does as many steps as there is room for.

    Args:
        p, s: what moves, and how steps are made.
        q, u, udot: (n,) and (n_u,) of all the tree at the start.
    """

    def __init__(self, p: Mechanism, s: Stepping, q: FloatArray, u: FloatArray, udot: FloatArray) -> None:
        self._p, self._s = p, s
        self.q, self.u, self.udot = q.copy(), u.copy(), udot.copy()
        self.n_evaluations = 0

    def go(self, t: float, end: float, h: float, y: FloatArray, f: FloatArray, most: int) -> tuple[Marched, float]:
        """At most so many steps from (t, y, f) with a first one of length h; what was done, and the next length."""
        room = max(1, min(_ROOM, most))
        n, n_q = y.size, self.q.size
        times, states, slopes, poses = np.empty(room), np.empty((room, n)), np.empty((room, n)), np.empty((room, n_q))
        at: Any = (float(t), float(end), float(h), y.copy(), f.copy(), self.q, self.u, self.udot)
        count, how, following, evaluations = march(self._p, self._s, *at, times, states, slopes, poses)
        self.n_evaluations += evaluations
        done = Marched(times[:count], states[:count], slopes[:count], poses[:count], how == ODD)
        return done, following
