"""Muscles and other controlled forces of a model, as one compiled force that has states of its own."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import compiled
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.forces.stated_forces import number
from musculo.functions.function import Function
from musculo.functions.function_table import compile_functions
from musculo.kernels.compiler.driver_code import c_function
from musculo.kernels.hill.activation_rate import DIRECT
from musculo.kernels.integrate.muscle_drive import (
    ALONE,
    CONTROLLER,
    FIRST_PASS,
    FUNCTION_PATHS,
    LEFT,
    NEXT,
    SECOND_PASS,
    MuscleDrive,
    muscle_drive,
    muscle_room,
)
from musculo.kernels.paths.path_points import Paths
from musculo.kernels.paths.paths_of_state import PathRoom, geodesic_paths, opensim_paths, path_scratch
from musculo.like import Wrapping
from musculo.model.model import Model
from musculo.model.path_force import ClutchedPathSpring, PathActuator
from musculo.muscle.fibers.compile_muscles import CompiledMuscles, compiled_muscles
from musculo.muscle.path_loads.path_forces import compile_path_forces
from musculo.muscle.paths.compile_paths import CompiledPaths, compiled_paths
from musculo.muscle.paths.path_passes import begins_later
from musculo.muscle.paths.refused_paths import refuse_mixed_rates
from musculo.simulation.forces.acting import UserKernel, is_kernel
from musculo.simulation.forces.kernel_force import KernelForce
from musculo.simulation.muscles.excitations import actuator_names

# An actuator whose force follows an activation that follows the control; OpenSim's time constant of it [s].
_SLOW, _SLOW_TIME = "ActivationCoordinateActuator", 0.01
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class ControllerState(NamedTuple):
    """What a controller is shown of a state."""

    q: FloatArray  # (n,) [rad, m]
    u: FloatArray  # (n_u,)
    activation: FloatArray  # (muscles,); NaN where it is no state
    fiber_length: FloatArray  # (muscles,) [m]; NaN where it is no state
    length: FloatArray  # (muscles,) of the paths [m]
    speed: FloatArray  # (muscles,) lengthening [m/s]
    control: FloatArray  # (actuators,) what is prescribed
    names: tuple[str, ...]  # of the actuators


class MusclesNow(NamedTuple):
    """Muscles and other actuators at one state."""

    tau: FloatArray  # (n_u,) what all of them do [N m, N]
    rates: FloatArray  # (states,)
    control: FloatArray  # (actuators,)
    length: FloatArray  # (paths,) [m]
    speed: FloatArray  # (paths,) [m/s]
    tension: FloatArray  # (paths,) [N]


class MuscleForce(KernelForce):
    """A force of `simulate` that has states: activations and fiber lengths.

    Args:
        model: the model.
        functions: of time, one for each of `actuator_names`.
        wrapping: "geodesic" or "opensim".
        like_opensim: whether the laws of muscles are OpenSim's where these differ.
        controller: (t, state) -> what is added to the prescribed controls, by actuator or by name; or a kernel (t, x,
            v, control) that adds to them, compiled by `numba.njit`: x are q, activations, fiber lengths and path
            lengths one after the other, v are u and lengthening speeds.
        springs: whether springs and ligaments along paths act, too.
    """

    names: tuple[str, ...] = ("muscles",)

    def __init__(
        self,
        model: Model,
        functions: tuple[Function, ...],
        wrapping: Wrapping = "geodesic",
        like_opensim: bool = False,
        controller: Callable[[float, ControllerState], ArrayLike | Mapping[str, float]] | None = None,
        springs: bool = True,
    ) -> None:
        self.model, self.actuator_names, self.wrapping = model, actuator_names(model), wrapping
        _refuse_clutches(model)
        m, p = compiled_muscles(model), compiled_paths(model, muscles_only=False)
        self.path_names = p.names
        self.activation_state, self.fiber_state, names = _states(model, m)
        self.slow = tuple(f for f in model.forces if f.kind == _SLOW and f.applies_force)
        self.state_names = (*names, *(f"{one.name}/activation" for one in self.slow))
        self.slow_state = len(names) + np.arange(len(self.slow), dtype=np.int64)
        self.drive = self._drive(model, m, functions, like_opensim, springs)
        lines = compile_path_forces(model)
        depth = max(int(lines.programs.depth) + 2, 1)
        self.room = r = muscle_room(self.drive, len(self.state_names), len(self.actuator_names), depth)
        r.stretch[:, 0] = lines.initial_stretch
        super().__init__(muscle_drive, self.drive, r)
        self._paths = p
        self._calls: list[Any] = []  # kept for as long as their addresses are used
        if p.names:
            self._bind_paths(p, wrapping)
        self.refused: BaseException | None = None  # what the controller raised
        if controller is not None:
            self._bind_controller(controller)

    def follow(self, functions: tuple[Function, ...]) -> None:
        """Begin anew with other controls; what was bound before keeps those that it was bound with."""
        # where the search for a fiber begins is what the stage before found
        self.room.F[:], self.room.slopes[:] = 0.0, 0.0
        self.drive = self.drive._replace(controls=compile_functions(functions))
        super().__init__(muscle_drive, self.drive, self.room)

    @property
    def size(self) -> int:
        """How many states there are."""
        return len(self.state_names)

    def _drive(
        self, model: Model, m: CompiledMuscles, functions: tuple[Function, ...], like_opensim: bool, springs: bool
    ) -> MuscleDrive:
        """The model and its controls as the kernel takes them."""
        c, lines = compiled(model), compile_path_forces(model)
        place = {name: k for k, name in enumerate(self.actuator_names)}
        forces = {force.name: force for force in model.forces}
        controlled = [isinstance(forces[name], PathActuator | ClutchedPathSpring) for name in lines.names]
        return MuscleDrive(
            c.tree,
            c.table,
            *m.arrays,
            self.activation_state,
            self.fiber_state,
            np.array([muscle.applies_force for muscle in model.muscles], dtype=np.int64),
            np.array([place[name] for name in m.names], dtype=np.int64),
            lines.forces._replace(
                applies=np.where(springs | np.array(controlled, dtype=bool), lines.forces.applies, 0)
            ),
            lines.table,
            lines.programs,
            np.array([place[n] if of else -1 for n, of in zip(lines.names, controlled, strict=True)], dtype=np.int64),
            self.slow_state,
            np.array([place[one.name] for one in self.slow], dtype=np.int64),
            np.array([number(one, "activation_time_constant", _SLOW_TIME) for one in self.slow], dtype=np.float64),
            compile_functions(functions),
            like_opensim,
        )

    def _bind_paths(self, p: CompiledPaths, wrapping: Wrapping) -> None:
        r, c = self.room, compiled(self.model)
        if wrapping == "geodesic":
            refuse_mixed_rates(p)
        later = np.zeros(len(p.names), dtype=np.int64)
        if wrapping == "geodesic" and p.wrap_names:
            later[:] = begins_later(c, p, 1)
        scratch = path_scratch(p.paths)
        self._room = PathRoom(
            *(r.Q, r.U, r.motion, r.columns, r.length, r.speed, r.arms, r.status, r.turn, later), *scratch
        )
        if p.functions.members:
            self._bind_functions(p, wrapping)
        if p.all_functions:
            return
        if wrapping == "opensim":
            call = opensim_paths.bound(*self._state(), p.paths, p.table, self._room)
            self._put(FIRST_PASS, call)
            return
        self._first = geodesic_paths.bound(*self._state(), p.paths, p.table, self._room, 1)
        self._put(FIRST_PASS, self._first)
        if later.any():
            self.bind_second_pass()

    def _bind_functions(self, p: CompiledPaths, wrapping: Wrapping) -> None:
        from musculo.kernels.paths.paths_of_state import function_paths_of_state

        own = [m.name for m in p.functions.members if m.path.lengthening_speed_function is not None]
        if own and wrapping == "opensim":
            raise Unsupported(
                f"the path of {own[0]!r} states its lengthening speed, which simulations do not take; leave out "
                "like='opensim', and the speed follows from the length, or take the function out"
            )
        fitted, table = p.functions.arrays(wrapping == "opensim")
        work = np.zeros((int(fitted.rows[0]), 1))
        call = function_paths_of_state.bound(*self._state(), fitted, table, self._room, work)
        self._put(FUNCTION_PATHS, call)

    def _state(self) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Arguments that are given anew at every call."""
        n, n_u = len(self.model.coordinate_names), len(self.model.speed_names)
        return 0.0, np.zeros(n), np.zeros(n_u), np.zeros(len(self.actuator_names))

    def _put(self, which: int, call: Any) -> None:
        words = call.as_function(4)
        self._calls += [call, words]
        self.room.calls[which] = words.ctypes.data

    def bind_second_pass(self) -> None:
        """From now on paths that the first pass leaves are finished: its kernels are many, and most models never need
        them."""
        from musculo.kernels.paths.paths_of_state import second_pass_paths
        from musculo.kernels.wrapping.polyline.polyline_segment import polyline_work
        from musculo.kernels.wrapping.rules.wrap_geodesic import most_wraps

        paths: Paths = self._paths.paths
        polylines = polyline_work(most_wraps(paths))
        call = second_pass_paths.bound(*self._state(), paths, self._paths.table, self._room, polylines)
        self._put(SECOND_PASS, call)
        self._first.put(7, 0)
        self.room.turn[LEFT] = 0

    def begins_later(self) -> tuple[str, ...]:
        """Paths that begin in the second pass, since most poses leave them to it."""
        later = self._room.later if self._paths.names else ()
        return tuple(name for name, flag in zip(self._paths.names, later, strict=True) if flag)

    def finished(self) -> bool:
        """Whether no path of the last state waits for the second pass; if one does, it is there the next time."""
        if not self.room.turn[LEFT]:
            return True
        self.bind_second_pass()
        return False

    def begin_again(self) -> None:
        """Searches for fibers begin where they did before the last trial of a step."""
        r = self.room
        r.F[:, 0], r.slopes[:] = r.before[:, 0], r.before[:, 1]

    # --- controllers ------------------------------------------------------------------------------------------------
    def _bind_controller(self, controller: Callable[[float, ControllerState], Any]) -> None:
        r, n, n_u, m = self.room, len(self.model.coordinate_names), len(self.model.speed_names), len(self.model.muscles)
        x, v = r.known, r.known_rates
        parts = (x[:n], v[:n_u], x[n : n + m], x[n + m : n + 2 * m], x[n + 2 * m :], v[n_u:])
        names = {name: k for k, name in enumerate(self.actuator_names)}
        if is_kernel(controller):
            own = UserKernel(controller, x.size, v.size, r.control.size)
            self._calls.append(own)
            r.calls[CONTROLLER] = own.words.ctypes.data
            return

        def call(t: float, _q: int, _u: int, _x: int) -> None:
            try:
                prescribed = r.control.copy()
                shown = (*(part.copy() for part in (*parts, prescribed)), self.actuator_names)
                found = controller(t, ControllerState._make(shown))
                if isinstance(found, Mapping):
                    for name, value in found.items():
                        if name not in names:
                            raise UnknownName("muscle or actuator", name, self.actuator_names, "the controller")
                        r.control[names[name]] += float(value)
                else:
                    given = np.asarray(found, dtype=float)
                    if given.shape != r.control.shape:
                        raise InvalidInput(
                            f"the controller gave an array of shape {given.shape} at t = {t:.6g} s; it needs one "
                            f"control for each of {len(names)} actuators, or numbers by name"
                        )
                    r.control[:] += given
                lost = ~np.isfinite(r.control)
                if lost.any() and np.isfinite(prescribed).all():
                    raise InvalidInput(
                        f"the controller gives {r.control[lost][0]:g} for {self.actuator_names[int(lost.argmax())]!r} "
                        f"at t = {t:.6g} s; every control must be finite"
                    )
            except BaseException as error:  # nothing may leave a function that compiled code calls
                self.refused = error
                r.control[:] = np.nan

        function = _FUNCTION(call)
        words = c_function(ctypes.cast(function, ctypes.c_void_p).value or 0)
        self._calls += [function, words]
        r.calls[CONTROLLER] = words.ctypes.data

    def raise_refused(self) -> None:
        """What the controller raised, if it did."""
        if self.refused is not None:
            error, self.refused = self.refused, None
            raise error

    # --- one state --------------------------------------------------------------------------------------------------
    def take(self, states: FloatArray) -> None:
        """The states of muscles that the next call is about."""
        self.room.Y[:, 0] = states
        self.room.turn[NEXT] = ALONE

    def now(self, t: float, q: FloatArray, u: FloatArray, states: FloatArray) -> MusclesNow:
        """Everything at one state; arrays are new."""
        r = self.room
        for _ in range(2):
            self.take(states)
            tau = np.zeros(len(u))
            self(t, np.ascontiguousarray(q), np.ascontiguousarray(u), tau)
            self.raise_refused()
            if self.finished():
                break
        paths = (r.length[:, 0].copy(), r.speed[:, 0].copy(), r.tension[:, 0].copy())
        return MusclesNow(tau, r.F[:, 0].copy(), r.control.copy(), *paths)


def _refuse_clutches(model: Model) -> None:
    clutches = [f.name for f in model.forces if isinstance(f, ClutchedPathSpring) and f.applies_force]
    if clutches:
        raise Unsupported(
            f"the stretch of the ClutchedPathSpring {clutches[0]!r} is a state that simulations with muscles do not "
            "have; take it out, or switch it off (applies_force=False)"
        )


def _states(model: Model, m: CompiledMuscles) -> tuple[IntArray, IntArray, tuple[str, ...]]:
    """Which state is the activation and the fiber length of each muscle, or -1, and the names of the states."""
    activation, fiber = (np.full(len(m.names), -1, dtype=np.int64) for _ in range(2))
    names: list[str] = []
    for k, name in enumerate(m.names):
        if m.muscles.activation_model[k] != DIRECT:
            activation[k] = len(names)
            names.append(f"{name}/activation")
        if m.muscles.rigid[k] != 1:
            fiber[k] = len(names)
            names.append(f"{name}/fiber_length")
    return activation, fiber, tuple(names)
