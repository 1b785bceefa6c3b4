"""Loads from outside at the nodes of a mesh, whose times stay the same during a search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.dynamics.loads.external import ExternalLoad, Loads, listed, node_wrenches, repeated
from musculo.dynamics.loads.moving_loads import moves
from musculo.dynamics.poses import Kinematics
from musculo.model.model import Model


class Outside(NamedTuple):
    """Loads at nodes."""

    moving: tuple[ExternalLoad, ...]  # those given in frames that move
    wrenches: FloatArray | None  # (nodes, 6 n) all others, as `node_wrenches` has them; None: there are none

    def repeated(self, count: int) -> Outside:
        """At the same nodes, so many times one after another."""
        wrenches = None if self.wrenches is None else np.tile(self.wrenches, (count, 1))
        return Outside(tuple(repeated(load, count) for load in self.moving), wrenches)


class OutsideLoads:
    """Loads over time, or one for each node, looked up once for the same times."""

    def __init__(self, model: Model, loads: Loads) -> None:
        self.model, self.loads = model, loads
        self._last: tuple[FloatArray, Outside] | None = None

    def at(self, time: FloatArray) -> Outside:
        """At times (nodes,)."""
        if self._last is None or not np.array_equal(self._last[0], time):
            self._last = (time.copy(), self._found(time))
        return self._last[1]

    def _found(self, time: FloatArray) -> Outside:
        loads = listed(self.loads, len(time), time)
        still = [load for load in loads if not moves(load)]
        wrenches = node_wrenches(compiled(self.model), still, len(time), _no_poses) if still else None
        return Outside(tuple(load for load in loads if moves(load)), wrenches)


def _no_poses() -> Kinematics:
    raise AssertionError("a load in ground needs no poses")
