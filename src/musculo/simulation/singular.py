"""Singular positions of closed loops, in simulations that keep loops as equations.

There equations that are independent elsewhere repeat each other, so that multipliers and accelerations are not
determined, and branches meet: which one a motion follows then is decided by rounding. The embedding meets such
positions by itself, since it has to invert the same matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from musculo.compile.frames import FloatArray
from musculo.embedding.assembly import RANK
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loop import Loop
from musculo.errors import SingularSystem
from musculo.model.model import Model
from musculo.simulation.dead_points import end_of_equation

# A smallest singular value below this part of the largest explains why no step leads on ...
_NEAR = 1e-2
# ... and below this one nothing that follows can be trusted: it would have lost as many digits.
_LOST = 1e-3
# Volumes that shrink to less than this part in a step, or of the first, are a reason to look at singular values.
_SHRUNK, _SMALL = 0.7, 1e-2


@dataclass
class _Followed:
    """One loop, and how far from singular it was."""

    loop: Loop
    free: list[int]  # its coordinates that nothing prescribes, as columns of its matrix
    rank: int  # of its equations, at usual poses
    driven: tuple[str, ...]
    margin: float = np.inf

    @property
    def consequence(self) -> str:
        if self.driven:
            return f"{', '.join(map(repr, self.driven))} cannot be driven further, or branches meet"
        return "branches meet"

    def values(self, q: FloatArray) -> tuple[float, float]:
        """The smallest singular value that is not always zero, and the largest."""
        _, A = self.loop.evaluate(q[self.loop.columns][None])
        scaled = A[0] * self.loop.scale / self.loop.row_scale[:, None]
        found = np.linalg.svd(scaled[:, self.free], compute_uv=False)
        return float(found[self.rank - 1]), float(found[0])


class LoopWatch:
    """The closed loops of a model, followed from step to step.

    Args:
        model: the model.
        q: (n,) the pose at the start.

    Raises:
        SingularSystem: a loop is in a singular position there; names it.
    """

    def __init__(self, model: Model, q: FloatArray) -> None:
        e = embedding_of(model)
        self._loops: list[_Followed] = []
        for loop in e.loops:
            names = (*loop.inputs, *loop.dependents)
            driven = tuple(name for name in loop.inputs if name not in e.coordinate_names)
            free = [k for k, name in enumerate(names) if name not in driven]
            rank = min(loop.equations.count - loop.redundant, len(free))
            if rank:
                self._loops.append(_Followed(loop, free, rank, driven))
        for one in self._loops:
            least, largest = one.values(q)
            if least <= RANK * largest:
                raise SingularSystem(
                    f"the {one.loop.title} is in a singular position at the start: fewer than {one.rank} of its "
                    "equations are independent there, and branches meet; start beside it, on the branch that is meant"
                )
            one.margin = least
        self._q = q
        # what `_volume` needs and found, from the first state on
        self._rows: np.ndarray | None = None
        self._scale = np.ones(0)
        self._first = self._last = 0.0

    def step(self, t: float, q: FloatArray, G: FloatArray | None = None) -> None:
        """Take the next state.

        Args:
            t, q: time and pose.
            G: (m, n_u) the matrix of all constraints near that pose, where it is known and all belong to loops: as
                long as its rows span about what they did, nothing else is looked at.

        Raises:
            SingularSystem: another step like the last one would reach a singular position.
        """
        before, self._q = self._q, q
        if G is not None and self._loops:
            volume = self._volume(G)
            usual = volume > _SHRUNK * self._last and volume > _SMALL * self._first
            self._last = volume
            if usual:
                return
            for one in self._loops:
                one.margin = one.values(before)[0]
        for one in self._loops:
            least, largest = one.values(q)
            if 2.0 * least <= one.margin or (least < one.margin and least < _LOST * largest):
                raise SingularSystem(
                    end_of_equation([one.loop], q)
                    or f"the {one.loop.title} comes to a singular position within a step of t = {t:.9g} s: its "
                    f"equations repeat each other there, and {one.consequence}; change the mechanism or the motion, "
                    "or, where it only passes near, take shorter steps (max_step)"
                )
            one.margin = least

    def _volume(self, G: FloatArray) -> float:
        """Of the box that independent rows of G span: the product of its singular values."""
        if self._rows is None:
            rank = sum(one.rank for one in self._loops)
            self._scale = 1.0 / np.maximum(np.linalg.norm(G, axis=0), 1e-300)
            self._rows = np.sort(qr((G * self._scale).T, mode="r", pivoting=True)[1][:rank])
        rows = G[self._rows] * self._scale
        volume = math.sqrt(abs(float(np.linalg.det(rows @ rows.T))))
        if not self._first:
            self._first = self._last = volume
        return volume

    def explain(self, q: FloatArray) -> str:
        """Why no step leads on from here, where a loop is the reason; else nothing."""
        for one in self._loops:
            least, largest = one.values(q)
            if least < _NEAR * largest:
                return f"the {one.loop.title} is close to a singular position, where {one.consequence}"
        return ""
