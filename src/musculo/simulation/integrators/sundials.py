"""SUNDIALS' multistep methods as steppers: CVODE for ordinary equations, IDA for implicit ones."""

from __future__ import annotations

import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sksundae.cvode import CVODE
from sksundae.ida import IDA

from musculo.arrays import FloatArray
from musculo.errors import MusculoError
from musculo.simulation.integrators.called_steps import StepFailed
from musculo.simulation.integrators.control import Control
from musculo.simulation.integrators.stepped_run import chebyshev_points
from musculo.simulation.integrators.steppers import Rates, Stepper

Residual = Callable[[float, FloatArray, FloatArray], FloatArray]
# Orders of the methods: their interpolants are polynomials of that degree.
_ORDER = {"BDF": 5, "Adams": 12}
# New starts, with a shorter step, after a trial was out of reach or singular, before that counts as the end.
_RESTARTS = 24
_SHORTER = 1.0 / 16.0
# How the solver prints an error.
_ERROR = re.compile(r"\s*\[\w+, Error: -?\d+\](.*)", re.DOTALL)


class _Listening:
    """Standard output less what the solver prints of its errors, which belongs to the reason of an outcome."""

    def __init__(self, output: Any) -> None:
        self._output, self.errors = output, list[str]()
        self._swallow = False

    def write(self, text: str) -> int:
        found = _ERROR.match(text)
        if found:
            self.errors.append(found.group(1).strip())
            self._swallow = True  # the end of that line comes by itself
            return len(text)
        if self._swallow and text == "\n":
            self._swallow = False
            return len(text)
        return int(self._output.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)


@contextmanager
def _listening() -> Iterator[_Listening]:
    before = sys.stdout
    heard = sys.stdout = _Listening(before)
    try:
        yield heard
    finally:
        sys.stdout = before


class Sundials(Stepper):
    """Steps inside the solver, one at a time; its own interpolant gives states within the last one."""

    degree: int

    def __init__(self, rates: Rates, t: float, y: FloatArray, control: Control) -> None:
        super().__init__(rates, t, y, control)
        self._restarts = 0
        self._solver = self._started(0.0)

    @abstractmethod
    def _started(self, first_step: float) -> Any:
        """The solver from the present state on, its first step so long; zero leaves that to it."""

    def _options(self, first_step: float) -> dict[str, Any]:
        longest = self.control.max_step
        return {
            "rtol": self.control.rtol,
            "atol": self.control.atol,
            "max_step": longest if np.isfinite(longest) else 0.0,
            "first_step": first_step,
        }

    def advance(self, end: float) -> None:
        while True:
            try:
                with _listening() as said:
                    result = self._solver.step(end, method="onestep", tstop=end)
                    if result.success and result.t == self.t:
                        # after states within a step were asked for, the first answer is its end once more
                        result = self._solver.step(end, method="onestep", tstop=end)
            except MusculoError as error:
                # the solver cannot be told that a trial was refused: it begins anew where it stood, more carefully
                self._restarts += 1
                length = _SHORTER ** (1 + self._restarts // 4) * max(self.t - self.t0, 1e-8 * (end - self.t))
                if self._restarts > _RESTARTS or self.t + length == self.t:
                    raise StepFailed(str(error)) from None
                self._solver = self._started(length)
                continue
            except RuntimeError as error:
                raise StepFailed(f"SUNDIALS stops: {error}") from None
            break
        if not result.success and result.status < 0:
            raise StepFailed(f"SUNDIALS stops: {' '.join([result.message, *said.errors])}")
        if not result.t > self.t:
            raise StepFailed("the error stays above the tolerance however short the step")
        self.t0, self.y0, self.f0 = self.t, self.y, self.f
        self.t, self.y = float(result.t), np.array(result.y, dtype=float)

    def inside(self, t: float) -> FloatArray:
        if t <= self.t0:
            return self.y0
        if t >= self.t:
            return self.y
        return np.array(self._solver.step(t).y, dtype=float)

    def polynomial(self) -> FloatArray:
        return np.stack([self.inside(t) for t in chebyshev_points(self.t0, self.t, self.degree)])


class Cvode(Sundials):
    """Adams' or backward differentiation formulas of variable order."""

    def __init__(self, rates: Rates, t: float, y: FloatArray, control: Control, method: str = "BDF") -> None:
        self._method, self.degree = method, _ORDER[method]
        super().__init__(rates, t, y, control)

    def _started(self, first_step: float) -> Any:
        def fill(t: float, y: FloatArray, yp: FloatArray) -> None:
            yp[:] = self.rates(t, y)

        solver = CVODE(fill, method=self._method, **self._options(first_step))
        solver.init_step(self.t, self.y)
        return solver


class Ida(Sundials):
    """Backward differentiation on residual(t, y, yp) = 0, whose rates are known at the start."""

    degree = _ORDER["BDF"]

    def __init__(
        self,
        rates: Rates,
        t: float,
        y: FloatArray,
        control: Control,
        residual: Residual | None = None,
    ) -> None:
        self._residual = residual
        super().__init__(rates, t, y, control)

    def _started(self, first_step: float) -> Any:
        def fill(t: float, y: FloatArray, yp: FloatArray, res: FloatArray) -> None:
            if self._residual is None:
                res[:] = yp - self.rates(t, np.array(y))
            else:
                self.n_evaluations += 1
                res[:] = self._residual(t, np.array(y), np.array(yp))

        solver = IDA(fill, **self._options(first_step))
        solver.init_step(self.t, self.y, self.f if first_step == 0.0 else self.rates(self.t, self.y))
        return solver
