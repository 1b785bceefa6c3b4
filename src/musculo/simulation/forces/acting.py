"""What acts on a model in a simulation: constants, functions of the state, compiled kernels, loads on bodies."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.dynamics.loads.external import ExternalLoad
from musculo.errors import InvalidInput
from musculo.kernels.compiler.driver_code import c_function
from musculo.kernels.integrate.forced_tree import in_turn
from musculo.model.model import Model
from musculo.simulation.forces.kernel_force import KernelForce

Forces = Callable[[float, FloatArray, FloatArray], ArrayLike]
LoadsOfState = Callable[[float, FloatArray, FloatArray], "ExternalLoad | Sequence[ExternalLoad]"]
# (t, q, u, tau) -> None, compiled by numba.njit, or a `KernelForce`: adds to tau
ForceKernel: TypeAlias = Callable[[float, FloatArray, FloatArray, FloatArray], None]
AllForces: TypeAlias = "Forces | ForceKernel | ArrayLike | Sequence[Forces | ForceKernel | ArrayLike] | None"

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
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


class _Compiled:
    """A `KernelForce` among others."""

    def __init__(self, force: KernelForce, n: int, n_u: int) -> None:
        self.force, self.add = force, force.__call__
        # the call is kept for as long as its words are used
        self._call = force.bound(n, n_u)
        self.words = self._call.as_function(4)


class UserKernel:
    """A user's kernel of (t, n numbers, n_u numbers, so many to write), as compiled code calls it by its words."""

    def __init__(self, kernel: Any, n: int, n_u: int, written: int | None = None) -> None:
        sizes = n, n_u, n_u if written is None else written
        self.add = _compiled(kernel, *sizes)
        self._call = _as_c(self.add, *sizes)
        self.words = c_function(int(self._call.address))


class _InPython:
    """A function of the state among others; compiled code calls it back.

    An error cannot pass through compiled code: forces are NaN then, no step leads on there, and the error is met again
    where Python asks for the same forces. What stops the program is kept, and raised there at once.

    Args:
        function: (t, q, u) -> (n_u,), checked.
    """

    def __init__(self, function: Callable[[float, FloatArray, FloatArray], FloatArray], n: int, n_u: int) -> None:
        self._function, self._sizes = function, (n, n_u, n_u)
        self._rows: dict[tuple[int, int], FloatArray] = {}
        self._stopped: BaseException | None = None
        self._call = _FUNCTION(self._called)
        self.words = c_function(ctypes.cast(self._call, ctypes.c_void_p).value or 0)

    def add(self, t: float, q: FloatArray, u: FloatArray, tau: FloatArray) -> None:
        if self._stopped is not None:
            raise self._stopped
        tau += self._function(t, q, u)

    def _called(self, t: float, *places: int) -> None:
        q, u, tau = (self._row(place, size) for place, size in zip(places, self._sizes, strict=True))
        try:
            if self._stopped is None:
                tau += self._function(t, q.copy(), u.copy())
                return
        except Exception:
            pass
        except BaseException as error:
            self._stopped = error
        tau[:] = np.nan

    def _row(self, place: int, size: int) -> FloatArray:
        """The numbers at an address; kernels call with the same few again and again."""
        found = self._rows.get((place, size))
        if found is None:
            found = np.ctypeslib.as_array((ctypes.c_double * size).from_address(place)) if size else np.zeros(0)
            self._rows[place, size] = found
        return found


class Acting:
    """What acts on the tree: generalized forces and loads, checked as they are called.

    Forces are added in their order, constant ones first, then those of the model and the loads: a kernel finds in tau
    what came before it.

    Args:
        model: the model.
        forces: (n_u,) constant, a function (t, q, u) -> (n_u,), a kernel (t, q, u, tau), a list of such, or None.
        loads: a function (t, q, u) -> list of `ExternalLoad`.
        own: forces of the model, and loads from a recording.
    """

    # of what adds all forces (`musculo.kernels.integrate.force_calls`); 0 where none varies
    address: int

    def __init__(
        self, model: Model, forces: AllForces, loads: LoadsOfState | None, own: Sequence[KernelForce | Forces] = ()
    ) -> None:
        self.model = model
        sizes = len(model.coordinates), len(model.speed_names)
        self.constant = np.zeros(sizes[1])
        self._names: list[str] = []
        self._parts: list[_Compiled | UserKernel | _InPython] = []
        kernels = False
        for force in own:
            one = _Compiled(force, *sizes) if isinstance(force, KernelForce) else self._in_python(force)
            self._parts.append(one)
        if loads is not None:
            from musculo.simulation.forces.loads_of_state import ForcesOfLoads

            self._parts.append(_InPython(ForcesOfLoads(model, loads), *sizes))
        for force in listed_forces(forces):
            if is_kernel(force) or isinstance(force, KernelForce):
                kernels = True
                kind = _Compiled if isinstance(force, KernelForce) else UserKernel
                self._parts.append(kind(force, *sizes))
            elif callable(force):
                self._names.append(getattr(force, "__name__", type(force).__name__))
                self._parts.append(self._in_python(force))
            elif force is not None:
                self.constant = self.constant + self._checked(force, "forces")
        own_names = [name for force in own for name in getattr(force, "names", (getattr(force, "__name__", ""),))]
        self._names += [*dict.fromkeys(own_names)]
        self._names += ["kernels"] * kernels + ["constant"] * bool(self.constant.any())
        self._names += ["external loads"] * (loads is not None)
        self.address = self._addressed(*sizes)

    def _addressed(self, n: int, n_u: int) -> int:
        if not self._parts:
            return 0
        # kept for as long as the address is used
        self._words = self._parts[0].words
        if len(self._parts) > 1:
            addresses = np.array([part.words.ctypes.data for part in self._parts], dtype=np.int64)
            self._all = _Compiled(KernelForce(in_turn, addresses), n, n_u)
            self._words = self._all.words
        return int(self._words.ctypes.data)

    def _in_python(self, force: Forces) -> _InPython:
        def checked(t: float, q: FloatArray, u: FloatArray) -> FloatArray:
            return self._checked(force(t, q, u), f"forces at t = {t:.6g} s")

        return _InPython(checked, len(self.model.coordinates), len(self.model.speed_names))

    @property
    def varies(self) -> bool:
        """Whether the state must be known first."""
        return bool(self._parts)

    def describe(self) -> str:
        """In words, for the provenance of results."""
        return ", ".join(self._names)

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
        """tau (n_u,) of everything but gravity, the loads as generalized forces J^T F."""
        if not self.varies:
            return self.constant
        tau = self.constant.copy()
        q, u = np.ascontiguousarray(q), np.ascontiguousarray(u)
        for part in self._parts:
            part.add(t, q, u, tau)
            self._checked(tau, f"forces at t = {t:.6g} s")
        return tau


def listed_forces(forces: Any) -> list[Any]:
    """Forces as a list: a list or tuple with something callable in it is one of forces, else it is numbers."""
    if isinstance(forces, list | tuple) and any(callable(force) for force in forces):
        return list(forces)
    return [forces]


@lru_cache(maxsize=_KEPT)
def _compiled(force: Any, n: int, n_u: int, written: int) -> Any:
    """The kernel, compiled and tried once on zeros: compiled code does not look whether indices fit."""
    from numba.core.errors import NumbaError

    name = force.py_func.__name__
    q, u, tau = np.zeros(n), np.zeros(n_u), np.zeros(written)
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
def _as_c(kernel: Any, n: int, n_u: int, written: int) -> Any:
    """The kernel as a C function of pointers; where it raises, forces are NaN, which is seen in what follows."""
    import numba

    pointer = numba.types.CPointer(numba.types.float64)

    @numba.cfunc(numba.types.void(numba.types.float64, pointer, pointer, pointer))
    def call(t, q, u, tau):  # type: ignore[no-untyped-def]
        forces = numba.carray(tau, written)
        try:
            kernel(t, numba.carray(q, n), numba.carray(u, n_u), forces)
        except Exception:
            forces[:] = np.nan

    return call
