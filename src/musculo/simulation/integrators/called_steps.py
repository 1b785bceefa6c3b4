"""Steps along rates in Python, by the kernel that takes all steps: it calls back for every state."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import MusculoError
from musculo.kernels.compiler.driver_code import c_function
from musculo.kernels.integrate.called_state import (
    ANSWERED,
    ITS_END,
    CalledSystem,
    called_room,
    called_state,
)
from musculo.kernels.integrate.one_step_methods import NO_RATES, ONWARD, UNSOLVED
from musculo.simulation.integrators.ahead import Driver, Sizes, bounds_of, request_of
from musculo.simulation.integrators.control import Control

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_UNSOLVED = "the implicit equations of a step cannot be solved"


class StepFailed(Exception):
    """No step leads on from here; the text says why."""


class CalledSteps:
    """One step at a time.

    Args:
        method: "rkf45" or "tr-bdf2".
        answer: (t, y, end) -> a state and its rates; where `end`, of the state that steps go on from if they come to y.
        size: of states.
        control: what bounds the error and the length of a step.
    """

    def __init__(
        self,
        method: str,
        answer: Callable[[float, FloatArray, bool], tuple[FloatArray, FloatArray]],
        size: int,
        control: Control,
    ) -> None:
        self._answer = answer
        self._driver = Driver(called_state, called_room, CalledSystem(size), Sizes(size, 0, 0))
        bounds = bounds_of(control, method)
        self._steps = request_of(self._driver.sizes, 1, bounds._replace(retries=1))
        self._trial = request_of(self._driver.sizes, 1, bounds._replace(longest=np.inf, judged=0))
        self._refused: MusculoError | None = None  # why no answer came last
        self._foreign: BaseException | None = None  # what no shorter step mends
        # kept for as long as their address is used
        self._function = _FUNCTION(self._called)
        self._words = c_function(ctypes.cast(self._function, ctypes.c_void_p).value or 0)

    def _called(self, t: float, *_places: Any) -> None:
        room = self._driver.room
        asked, room.word[0] = room.word[0], 0.0
        if self._foreign is not None:
            return
        try:
            room.y[:], room.f[:] = self._answer(t, room.y.copy(), bool(asked == ITS_END))
            room.word[0] = ANSWERED
        except MusculoError as error:
            # beyond reach, or singular: perhaps only this trial was
            self._refused = error
        except BaseException as error:  # it cannot pass through compiled code
            self._foreign = error

    def _call(self, request: Any, here: tuple[float, float], y: FloatArray, f: FloatArray, end: float) -> bool:
        request.here[:], request.y[:], request.f[:] = here, y, f
        found = self._driver(ONWARD, self._words.ctypes.data, request, float(end)) == 1
        if self._foreign is not None:
            error, self._foreign = self._foreign, None
            raise error
        return found

    def step(
        self, t: float, y: FloatArray, f: FloatArray, h: float, end: float
    ) -> tuple[float, FloatArray, FloatArray, float]:
        """From the state y with rates f, one step of length h or shorter, not beyond `end`: t, y, f and the next h.

        Raises:
            StepFailed: none is possible.
        """
        a = self._steps
        if self._call(a, (t, h), y, f, end):
            return float(a.here[0]), a.out.y[0].copy(), a.out.f[0].copy(), float(a.here[1])
        reasons = {UNSOLVED: _UNSOLVED, NO_RATES: str(self._refused)}
        why = int(self._driver.step.why[0])
        raise StepFailed(reasons.get(why, "the error stays above the tolerance however short the step"))

    def trial(self, t: float, y: FloatArray, f: FloatArray, end: float) -> tuple[FloatArray, FloatArray]:
        """The state to which one step leads from y with rates f, and its error, whatever that is.

        Raises:
            StepFailed: its equations cannot be solved. Or what `answer` raised.
        """
        a = self._trial
        if self._call(a, (t, end - t), y, f, end):
            return a.out.y[0].copy(), a.out.f[0].copy()
        if self._refused is not None and int(self._driver.step.why[0]) == NO_RATES:
            raise self._refused
        raise StepFailed(_UNSOLVED)
