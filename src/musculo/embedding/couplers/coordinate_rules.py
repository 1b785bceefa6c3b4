"""How one coordinate depends on others or on time; a new way to depend is a new rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.functions.function import Function


class Dependence(NamedTuple):
    """A dependent coordinate over frames, to second order in its inputs x and in time."""

    value: FloatArray  # (frames,)
    gradient: FloatArray  # (frames, m) by the inputs
    hessian: FloatArray  # (frames, m, m)
    rate: FloatArray  # (frames,) partial derivative by time
    acceleration: FloatArray  # (frames,) second partial derivative by time


@dataclass(frozen=True)
class Rule(ABC):
    """q[dependent] follows from q[inputs] and time; names are coordinates. `reason` is shown to users."""

    dependent: str
    inputs: tuple[str, ...]
    reason: str

    @abstractmethod
    def evaluate(self, x: FloatArray, time: FloatArray) -> Dependence:
        """At inputs x (frames, m) and time (frames,)."""

    def _frozen(self, x: FloatArray) -> Dependence:
        """Everything zero, to start from."""
        frames, m = x.shape
        zero = np.zeros(frames)
        return Dependence(zero, np.zeros((frames, m)), np.zeros((frames, m, m)), zero, zero)


@dataclass(frozen=True)
class Locked(Rule):
    """q = value."""

    value: float = 0.0

    def evaluate(self, x: FloatArray, time: FloatArray) -> Dependence:
        return self._frozen(x)._replace(value=np.full(len(x), self.value))


@dataclass(frozen=True)
class Prescribed(Rule):
    """q = function(time)."""

    function: Function | None = None

    def evaluate(self, x: FloatArray, time: FloatArray) -> Dependence:
        assert self.function is not None
        value, rate, acceleration = (self.function.derivative(time, order=k) for k in range(3))
        return self._frozen(x)._replace(value=value, rate=rate, acceleration=acceleration)


@dataclass(frozen=True)
class Coupled(Rule):
    """q = scale function(inputs), OpenSim's coordinate coupler."""

    function: Function | None = None
    scale: float = 1.0

    def evaluate(self, x: FloatArray, time: FloatArray) -> Dependence:
        assert self.function is not None
        columns = [x[:, k] for k in range(x.shape[1])]
        if self.function.n_arguments == 0:
            return self._frozen(x)._replace(value=self.scale * self.function(*columns))
        if x.shape[1] == 1:
            value, first, second = (self.function.derivative(columns[0], order=k) for k in range(3))
            gradient, hessian = first[:, None], second[:, None, None]
        else:
            value = self.function(*columns)
            gradient, hessian = self.function.gradient(*columns), self.function.hessian(*columns)
        start = self._frozen(x)
        return start._replace(value=self.scale * value, gradient=self.scale * gradient, hessian=self.scale * hessian)
