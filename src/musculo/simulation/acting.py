"""What acts on a model in a simulation: constants, functions of the state, compiled kernels, loads on bodies."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.dynamics.external import ExternalLoad, listed
from musculo.dynamics.inverse import inverse_dynamics
from musculo.errors import InvalidInput
from musculo.kernels.compiler.driver_code import c_function
from musculo.model.model import Model
from musculo.simulation.kernel_force import KernelForce

Forces = Callable[[float, FloatArray, FloatArray], ArrayLike]
Loads = Callable[[float, FloatArray, FloatArray], "ExternalLoad | Sequence[ExternalLoad]"]
# (t, q, u, tau) -> None, compiled by numba.njit, or a `KernelForce`: adds to tau
ForceKernel: TypeAlias = Callable[[float, FloatArray, FloatArray, FloatArray], None]
AllForces: TypeAlias = "Forces | ForceKernel | ArrayLike | Sequence[Forces | ForceKernel | ArrayLike] | None"

# Forces whose compiled form is kept for the next simulation.
_KEPT = 64


def is_kernel(force: object) -> bool:
    """Whether it is a compiled function of (t, q, u, tau); where nobody has imported Numba, there is none."""
    compiler = sys.modules.get("numba.core.dispatcher")
    return compiler is not None and isinstance(force, compiler.Dispatcher) and force.py_func.__code__.co_argcount == 4


@cache
def _signature() -> Any:
    """Of a force kernel."""
    from numba import types

    row = types.Array(types.float64, 1, "C")
    return types.void(types.float64, row, row, row)


class Acting:
    """What acts on the tree: generalised forces and loads, checked as they are called.

    Args:
        model: the model.
        forces: (n_u,) constant, a function (t, q, u) -> (n_u,), a kernel (t, q, u, tau), a list of such, or None.
        loads: a function (t, q, u) -> list of `ExternalLoad`.
    """

    # of what adds all forces (`musculo.kernels.integrate.force_calls`); 0 where some of them are in Python, or none
    # varies
    address: int

    def __init__(self, model: Model, forces: AllForces, loads: Loads | None) -> None:
        self.model, self._external = model, loads
        if loads is not None and not callable(loads):
            raise InvalidInput(f"loads is {loads!r:.60}; give a function (t, q, u) -> list of ExternalLoad")
        self.constant = np.zeros(len(model.speed_names))
        self._functions: list[Forces] = []
        kernels: list[Any] = []
        ready: list[KernelForce] = []
        for force in listed_forces(forces):
            if is_kernel(force):
                kernels.append(_compiled(force, len(model.coordinates), len(model.speed_names)))
            elif isinstance(force, KernelForce):
                ready.append(force)
            elif callable(force):
                self._functions.append(force)
            elif force is not None:
                self.constant = self.constant + self._checked(force, "forces")
        alone = len(ready) == 1 and not kernels
        self._kernel = ready[0] if alone else _one_after_the_other(tuple(kernels))
        self._functions += [] if alone else [force.as_function for force in ready]
        self.address = 0
        self._call: Any = None
        if self._kernel is not None and not self._functions and loads is None:
            sizes = len(model.coordinates), len(model.speed_names)
            # the call and its words are kept for as long as the address is used
            if alone:
                self._call = ready[0].bound(*sizes)
                self._words = self._call.as_function(4)
            else:
                self._call = _as_c(self._kernel, *sizes)
                self._words = c_function(int(self._call.address))
            self.address = self._words.ctypes.data

    @property
    def varies(self) -> bool:
        """Whether the state must be known first."""
        return bool(self._functions) or self._kernel is not None or self._external is not None

    def describe(self) -> str:
        """In words, for the provenance of results."""
        names = [getattr(f, "__name__", type(f).__name__) for f in self._functions]
        if self._kernel is not None:
            names.append("kernels")
        if self.constant.any():
            names.append("constant")
        if self._external is not None:
            names.append("external loads")
        return ", ".join(names)

    def _checked(self, values: Any, what: str) -> FloatArray:
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
        if not self.varies:
            return self.constant
        tau = self.constant.copy()
        if self._kernel is not None:
            self._kernel(t, np.ascontiguousarray(q), np.ascontiguousarray(u), tau)
            self._checked(tau, f"forces at t = {t:.6g} s")
        for function in self._functions:
            tau += self._checked(function(t, q, u), f"forces at t = {t:.6g} s")
        if self._external is not None:
            loads = listed(self._external(t, q, u), 1)
            if loads:
                rest = np.zeros_like(u)
                without, under = (inverse_dynamics(self.model, q, rest, rest, x, threads=1) for x in ((), loads))
                tau += without - under
        return tau


def listed_forces(forces: Any) -> list[Any]:
    """Forces as a list: a list or tuple with something callable in it is one of forces, else it is numbers."""
    if isinstance(forces, list | tuple) and any(callable(force) for force in forces):
        return list(forces)
    return [forces]


@lru_cache(maxsize=_KEPT)
def _compiled(force: Any, n: int, n_u: int) -> Any:
    """The kernel, compiled and tried once on zeros: compiled code does not look whether indices fit."""
    from numba.core.errors import NumbaError

    name = force.py_func.__name__
    q, u, tau = np.zeros(n), np.zeros(n_u), np.zeros(n_u)
    try:
        with np.errstate(all="ignore"):
            force.py_func(0.0, q, u, tau)
        force.compile(_signature())
    except (IndexError, ZeroDivisionError, TypeError, ValueError) as error:
        if not isinstance(error, ZeroDivisionError):
            raise InvalidInput(
                f"the force kernel {name!r} fails with {len(q)} coordinates and {len(u)} speeds: {error}"
            ) from None
    except (NumbaError, RuntimeError, AssertionError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InvalidInput(
            f"the force kernel {name!r} does not compile: {why}; without a signature of its own it takes (t, q, u, "
            "tau), adds to tau and returns nothing. Without @numba.njit it may be any function (t, q, u) -> forces"
        ) from None
    return force


@lru_cache(maxsize=_KEPT)
def _one_after_the_other(kernels: tuple[Any, ...]) -> Any:
    """One kernel that calls all."""
    if not kernels:
        return None
    import numba

    first, rest = kernels[0], _one_after_the_other(kernels[1:])
    if rest is None:
        return first

    @numba.njit
    def both(t, q, u, tau):  # type: ignore[no-untyped-def]
        first(t, q, u, tau)
        rest(t, q, u, tau)

    both.compile(_signature())
    return both


@lru_cache(maxsize=_KEPT)
def _as_c(kernel: Any, n: int, n_u: int) -> Any:
    """The kernel as a C function of pointers; where it raises, forces are NaN, which is seen in what follows."""
    import numba

    pointer = numba.types.CPointer(numba.types.float64)

    @numba.cfunc(numba.types.void(numba.types.float64, pointer, pointer, pointer))
    def call(t, q, u, tau):  # type: ignore[no-untyped-def]
        forces = numba.carray(tau, n_u)
        try:
            kernel(t, numba.carray(q, n), numba.carray(u, n_u), forces)
        except Exception:
            forces[:] = np.nan

    return call
