"""Steps of one-step methods that a kernel takes many at a time, handed out one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.driver_code import Bound
from musculo.kernels.compiler.parts import Kernel
from musculo.kernels.integrate.one_step_methods import (
    FEHLBERG,
    IMEX,
    ONWARD,
    TR_BDF2,
    Request,
    StepControl,
    Steps,
    step_room,
)
from musculo.simulation.forces.acting import Acting
from musculo.simulation.integrators.control import Control

# Steps in one call: enough that what Python adds to a call does not count, and few enough that those which an event
# makes superfluous do not either.
AT_ONCE = 32
_METHODS = {"rkf45": FEHLBERG, "tr-bdf2": TR_BDF2, "imex": IMEX}


def bounds_of(control: Control, method: str) -> StepControl:
    """As kernels take them."""
    bounds = (float(control.rtol), float(control.atol), float(control.max_step))
    return StepControl(*bounds, _METHODS[method], projects=0, retries=0, judged=1)


class Landed(NamedTuple):
    """The end of a step, and what is known of it already."""

    t: float
    y: FloatArray  # (n_y,)
    f: FloatArray  # (n_y,)
    q: FloatArray  # (n,)
    u: FloatArray  # (n_u,)
    volume: float | None  # that rows of the constraints' matrix span, see `LoopWatch`
    n_evaluations: int


class Sizes(NamedTuple):
    """Of a system: its states, the model's coordinates and speeds, and equations of constraints."""

    states: int
    coordinates: int
    speeds: int
    equations: int = 0


def request_of(sizes: Sizes, rows: int = 1, control: StepControl | None = None) -> Request:
    """Of a system of these sizes, with room for so many steps."""
    n_y, n, n_u, m = sizes
    y, f, q, u, G = (np.zeros((rows, size)) for size in (n_y, n_y, n, n_u, m * n_u))
    out = Steps(np.zeros(rows), y, f, q, u, G, np.zeros(rows, dtype=np.int64))
    c = StepControl(0.0, 0.0, 0.0, FEHLBERG, 0, 0, 1) if control is None else control
    return Request(np.zeros(n_u), c, np.zeros(2), np.zeros(n_y), np.zeros(n_y), out)


class Driver:
    """A driver of `musculo.kernels` for one model: what it is asked for, of which state.

    Arrays are taken apart once for every request, since they are the same at every call: to look at them again
    takes as long as a step of a small model.

    Args:
        driver, room: the driver, and what makes the room in which it works.
        p: the model as both take it.
        sizes: of the system.
        more: what the driver takes after what all take.
    """

    def __init__(
        self, driver: Kernel, room: Callable[[Any], Any], p: Any, sizes: Sizes, more: tuple[Any, ...] = ()
    ) -> None:
        self._driver, self._more, self.sizes = driver, more, sizes
        self.room, self.step = room(p), step_room(sizes.states)
        self._model = (p, self.room, self.step)
        # by request: it, the call, and what it was asked for the last time
        self._bound: dict[int, tuple[Request, Bound, tuple[int, int, float]]] = {}

    def __call__(self, what: int, force: int, request: Request, end: float = 0.0) -> int:
        """What the driver answers."""
        known = self._bound.get(id(request))
        if known is None:
            call = self._driver.bound(self._model, what, force, end, request, *self._more)
            self._bound[id(request)] = request, call, (what, force, end)
        else:
            _, call, before = known
            # integrators ask for the same again and again
            if what != before[0]:
                call.put(1, what)
            if force != before[1]:
                call.put(2, force)
            if end != before[2]:
                call.put(3, end)
            self._bound[id(request)] = request, call, (what, force, end)
        return int(call())


class Ahead:
    """Steps from a state on, as many as a kernel takes in one call.

    Args:
        driver: of the system.
        acting: what acts on it, compiled.
        method, control: of the steps.
        projects: whether steps end on the constraints.
        begin: called before each call of the driver.
        retries: whether a trial without rates is tried again, shorter; else it is left to whoever asks for steps.
        volumes: gives (steps,) `Landed.volume` of matrices (steps, m, n_u), where it is wanted.
    """

    def __init__(
        self,
        driver: Driver,
        acting: Acting,
        method: str,
        control: Control,
        projects: bool = False,
        begin: Callable[[], None] | None = None,
        retries: bool = False,
        volumes: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        c = bounds_of(control, method)._replace(projects=int(projects), retries=int(retries))
        self._driver, self._force, self._begin, self._volumes = driver, int(acting.address), begin, volumes
        self._request = request_of(driver.sizes, AT_ONCE, c)
        self._request.tau[:] = acting.constant
        self.h = 0.0  # the length of the step to try after the last one

    def steps(self, t: float, y: FloatArray, f: FloatArray, h: float, end: float) -> list[Landed]:
        """From the state y with rates f, the first of length h, not beyond `end`; none where the kernel finds none."""
        a, sizes = self._request, self._driver.sizes
        a.here[0], a.here[1], a.y[:], a.f[:] = t, h, y, f
        if self._begin is not None:
            self._begin()
        count = self._driver(ONWARD, self._force, a, float(end))
        if not count:
            return []
        self.h = float(a.here[1])
        states = [part[:count].copy() for part in a.out[1:5]]
        volumes: Any = [None] * count
        if self._volumes is not None:
            volumes = self._volumes(a.out.G[:count].reshape(count, sizes.equations, sizes.speeds)).tolist()
        times, calls = a.out.t[:count].tolist(), a.out.calls[:count].tolist()
        return [Landed(*one) for one in zip(times, *states, volumes, calls, strict=True)]
