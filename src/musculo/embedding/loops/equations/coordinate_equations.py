"""Equations of coordinates: couplers, locks and prescribed motions as constraints, and what a user writes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.couplers.coordinate_rules import Rule
from musculo.embedding.loops.equations.frame_jets import Jet
from musculo.errors import InvalidModel, MusculoError
from musculo.model.model import Model
from musculo.model.model_constraint import EquationConstraint


class CoordinateRows(NamedTuple):
    """Equations over frames, by the coordinates of `columns` and by time."""

    residual: FloatArray  # (frames, k)
    jacobian: FloatArray  # (frames, k, columns) by coordinates
    hessian: FloatArray  # (frames, k, columns, columns)
    rate: FloatArray  # (frames, k) partial derivative by time
    acceleration: FloatArray  # (frames, k) second partial derivative by time


class CoordinateEquation(ABC):
    """Equations of the coordinates in `columns` (columns of q)."""

    name: str
    count: int
    columns: list[int]

    @abstractmethod
    def rows(self, x: FloatArray, time: FloatArray) -> CoordinateRows:
        """At x (frames, columns) and time (frames,)."""


class RuleEquation(CoordinateEquation):
    """A rule as a constraint: what its inputs say minus the dependent coordinate, as OpenSim writes it."""

    count = 1

    def __init__(self, model: Model, rule: Rule, name: str) -> None:
        self.name, self.rule = name, rule
        self.columns = [model.coordinate_index(n) for n in (*rule.inputs, rule.dependent)]

    def rows(self, x: FloatArray, time: FloatArray) -> CoordinateRows:
        d = self.rule.evaluate(x[:, :-1], time)
        frames, m = x.shape
        jacobian, hessian = np.zeros((frames, 1, m)), np.zeros((frames, 1, m, m))
        jacobian[:, 0, :-1], jacobian[:, 0, -1] = d.gradient, -1.0
        hessian[:, 0, :-1, :-1] = d.hessian
        residual = (d.value - x[:, -1])[:, None]
        return CoordinateRows(residual, jacobian, hessian, d.rate[:, None], d.acceleration[:, None])


class UserEquation(CoordinateEquation):
    """What an EquationConstraint holds, with derivatives carried through its arithmetic."""

    def __init__(self, model: Model, constraint: EquationConstraint) -> None:
        self.name, self._constraint = constraint.name, constraint
        self.columns = [model.coordinate_index(name) for name in constraint.coordinates]
        self.count = len(self._expressions(np.zeros((1, len(self.columns)))))

    def _expressions(self, x: FloatArray) -> list[Jet]:
        where = f"constraint {self.name!r}"
        if self._constraint.equations is None:
            raise InvalidModel(f"{where} has no equations; give a function of its coordinates")
        variables = Jet.variables(x)
        try:
            with np.errstate(all="ignore"):
                given: Any = self._constraint.equations(*variables)
        except MusculoError as error:
            raise InvalidModel(f"{where}: {error}") from None
        except Exception as error:
            raise InvalidModel(
                f"{where}: its equations fail with {type(error).__name__}: {error}; they take "
                f"{len(variables)} coordinates and use arithmetic and NumPy's functions"
            ) from None
        found = list(given) if isinstance(given, Sequence) else [given]
        if not found or not all(isinstance(x, Jet) for x in found):
            raise InvalidModel(f"{where}: its equations return {given!r:.60}; return expressions of the coordinates")
        return found

    def rows(self, x: FloatArray, time: FloatArray) -> CoordinateRows:
        found = self._expressions(x)
        residual = np.stack([jet.value for jet in found], axis=1)
        jacobian = np.stack([jet.gradient for jet in found], axis=1)
        still = np.zeros_like(residual)
        return CoordinateRows(residual, jacobian, np.stack([jet.hessian for jet in found], axis=1), still, still)
