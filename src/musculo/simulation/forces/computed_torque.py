"""Computed torque control: generalized forces with which a model follows functions of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.dynamics.embedded_dynamics import embedded_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.embedding.speed_rates import turning_joints
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.functions.elementary_functions import Constant
from musculo.functions.function import Function
from musculo.functions.function_table import compile_functions
from musculo.kernels.tracking.tracking_torque import TrackedTree, torque_room, tracking_torque
from musculo.model.model import Model
from musculo.simulation.forces.kernel_force import KernelForce

# What a gain may be: one number for all coordinates, one for each, or by name.
Gain = ArrayLike | Mapping[str, float]


class ComputedTorque(KernelForce):
    """A force for `simulate` under which the independent coordinates of a model follow functions of time.

    Made by `computed_torque`.

    Args:
        model: the model.
        functions: of time, one for each independent coordinate.
        tracked: the model's arrays with these functions and the gains.
    """

    def __init__(self, model: Model, functions: tuple[Function, ...], tracked: TrackedTree) -> None:
        super().__init__(tracking_torque, tracked, torque_room(tracked))
        self.model, self.functions = model, functions
        self.coordinate_names = embedding_of(model).coordinate_names

    def desired(self, times: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Independent coordinates, speeds and accelerations (times, n_z) that are followed."""
        t = np.asarray(times, dtype=float)
        found = [[np.broadcast_to(f.derivative(t, order=k), t.shape) for f in self.functions] for k in range(3)]
        z, zu, zudot = (np.stack(one, axis=-1) for one in found)
        return z, zu, zudot

    def start(self, time: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """q (n,) and u (n_u,) of the model on the desired motion."""
        z, zu, _ = self.desired([time])
        found = embedding_of(self.model).motion(z, zu, time=time)
        return found.q[0], found.u[0]

    def torques(self, times: ArrayLike, q: ArrayLike, u: ArrayLike, tau: ArrayLike | None = None) -> FloatArray:
        """Forces (times, n_u) that it adds at states q (times, n) and u (times, n_u), where forces tau act already."""
        t, Q, U = (np.atleast_1d(np.asarray(one, dtype=float)) for one in (times, q, u))
        known = np.zeros(U.shape) if tau is None else np.array(np.broadcast_to(np.asarray(tau, dtype=float), U.shape))
        both = known.copy()
        for one, row, speeds, out in zip(t.tolist(), Q, U, both, strict=True):
            self(one, np.ascontiguousarray(row), np.ascontiguousarray(speeds), out)
        return both - known


def computed_torque(
    model: Model, desired: Mapping[str, Function | float], kp: Gain, kv: Gain | None = None
) -> ComputedTorque:
    """Computed torque control with proportional and derivative gains: a force of `simulate`, compiled.

        zudot = f'' - kv (zu - f') - kp (z - f),   tau_z = J^T (M udot + c)

    Errors of every coordinate decay by themselves as those of a linear oscillator do. Source: [Ehsani2023], eq. 200
    and 201. Gravity, velocity terms and constant forces that are handed to `simulate` are made up for.

    Args:
        model: couplers, locks and prescribed motions may tie coordinates together; closed loops, ball and free joints
            are not known here.
        desired: for every independent coordinate a function of time with two derivatives, or a number to stay at.
        kp: gains of coordinates [1/s^2]: one number, one for each independent coordinate, or by name.
        kv: gains of speeds [1/s]; by default 2 sqrt(kp), with which errors decay fastest without swinging over.

    Raises:
        InvalidInput: a coordinate without a function, or one that follows others; names it.
        Unsupported: the model has loops, or joints whose speeds are no derivatives of coordinates.

    Example:
        control = computed_torque(model, {"elbow": Sine(0.5, 2.0)}, kp=100.0**2)
        q0, u0 = control.start()
        motion = simulate(model, q0, u0, (0.0, 1.0), forces=control, method="rkf45")
    """
    e = embedding_of(model)
    own = embedded_dynamics(model)
    if own is None or own.rows is None or turning_joints(model):
        what = f"the loop of {', '.join(e.loop_names)}" if e.loops else "joints whose speeds are no coordinate rates"
        raise Unsupported(
            f"computed torque control of {model.name!r}: {what}; it knows trees with couplers, locked and prescribed "
            "coordinates. For other models give simulate a function (t, q, u) -> forces"
        )
    names = e.coordinate_names
    for name in desired:
        if name not in model.coordinate_names:
            raise UnknownName("coordinate", name, names)
        if name not in names:
            raise InvalidInput(f"desired[{name!r}]: this coordinate follows others; those that can be controlled are "
                               f"{', '.join(names)}")  # fmt: skip
    missing = [name for name in names if name not in desired]
    if missing:
        raise InvalidInput(
            f"desired has no function for {', '.join(missing)}; give one for every independent coordinate, or lock it"
        )
    functions = tuple(_function(name, desired[name]) for name in names)
    proportional = _gains("kp", kp, names)
    derivative = 2.0 * np.sqrt(proportional) if kv is None else _gains("kv", kv, names)
    c = compiled(model)
    tracked = TrackedTree(
        c.tree,
        c.table,
        *own.rows,
        own.followers,
        np.array([model.coordinate_index(name) for name in names], dtype=np.int64),
        np.array([model.speed_index(name) for name in names], dtype=np.int64),
        compile_functions(functions),
        proportional,
        derivative,
    )
    return ComputedTorque(model, functions, tracked)


def _function(name: str, given: Any) -> Function:
    if isinstance(given, Function):
        if given.n_arguments > 1:
            raise InvalidInput(f"desired[{name!r}] takes {given.n_arguments} arguments; give a function of time")
        return given
    try:
        value = float(given)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"desired[{name!r}] is {given!r:.60}; give a function of musculo.functions, or a number"
        ) from None
    return Constant(value)


def _gains(what: str, given: Gain, names: tuple[str, ...]) -> FloatArray:
    """(n_z,) of what was given."""
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise UnknownName("independent coordinate", name, names)
        missing = [name for name in names if name not in given]
        if missing:
            raise InvalidInput(f"{what} has no gain for {', '.join(missing)}")
        given = [given[name] for name in names]
    try:
        found = np.array(np.broadcast_to(np.asarray(given, dtype=float), (len(names),)))
    except (TypeError, ValueError):
        raise InvalidInput(f"{what} is {given!r:.60}; give one number, or {len(names)}: {', '.join(names)}") from None
    if not (np.isfinite(found).all() and (found >= 0.0).all()):
        raise InvalidInput(f"{what} is {found.tolist()}; gains are finite and not negative")
    return found
