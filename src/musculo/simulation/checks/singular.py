"""Singular positions of closed loops, in simulations that keep loops as equations.

There equations that are independent elsewhere repeat each other, so that multipliers and accelerations are not
determined, and branches meet: which one a motion follows then is decided by rounding. The embedding meets such
positions by itself, since it has to invert the same matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loops.closed_loop import Loop
from musculo.embedding.loops.loop_assembly import RANK
from musculo.errors import SingularSystem
from musculo.model.model import Model
from musculo.simulation.checks.dead_points import end_of_equation

# A smallest singular value below this part of the largest explains why no step leads on ...
_NEAR = 1e-2
# ... and below this one nothing that follows can be trusted: it would have lost as many digits.
_LOST = 1e-3
# Volumes that shrink to less than this part in a step, or of the first, are a reason to look at singular values.
_SHRUNK, _SMALL = 0.7, 1e-2


@dataclass
class Followed:
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
        least, largest = self.all_values(q[None])
        return float(least[0]), float(largest[0])

    def all_values(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same of poses q (frames, n)."""
        _, A = self.loop.evaluate(q[:, self.loop.columns])
        scaled = A * self.loop.scale / self.loop.row_scale[:, None]
        found = np.linalg.svd(scaled[:, :, self.free], compute_uv=False)
        return np.asarray(found[:, self.rank - 1]), np.asarray(found[:, 0])


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
        self._loops: list[Followed] = []
        for loop in e.loops:
            names = (*loop.inputs, *loop.dependents)
            driven = tuple(name for name in loop.inputs if name not in e.coordinate_names)
            free = [k for k, name in enumerate(names) if name not in driven]
            rank = min(loop.equations.count - loop.redundant, len(free))
            if rank:
                self._loops.append(Followed(loop, free, rank, driven))
        for one in self._loops:
            least, largest = one.values(q)
            if least <= RANK * largest:
                raise SingularSystem(
                    f"the {one.loop.title} is in a singular position at the start: fewer than {one.rank} of its "
                    "equations are independent there, and branches meet; start beside it, on the branch that is meant"
                )
            one.margin = least
        self._q = self._earlier = q
        self._time = -np.inf
        # loops, and the steps (from, to) in which they may have passed a singular position
        self.suspects: list[tuple[Followed, float, float]] = []
        # what `volumes` needs and found, from the first state on
        self._rows: np.ndarray | None = None
        self._scale = np.ones(0)
        self._first = self._last = 0.0

    @property
    def followed(self) -> tuple[Followed, ...]:
        """The loops."""
        return tuple(self._loops)

    def step(self, t: float, q: FloatArray, volume: float | None = None) -> None:
        """Take the next state.

        Args:
            t, q: time and pose.
            volume: `volumes` of the matrix of all constraints near that pose, where it is known and all belong to
                loops: as long as its rows span about what they did, nothing else is looked at.

        Raises:
            SingularSystem: another step like the last one would reach a singular position.
        """
        before, self._q = self._q, q
        if volume is not None and self._loops:
            if not self._first:
                self._first = self._last = volume
            usual = volume > _SHRUNK * self._last and volume > _SMALL * self._first
            self._last = volume
            if usual:
                self._earlier, self._time = before, t
                return
            for one in self._loops:
                one.margin = one.values(before)[0]
        for one in self._loops:
            least, largest = one.values(q)
            self._suspect(t, one, largest, before, q)
            if 2.0 * least <= one.margin or (least < one.margin and least < _LOST * largest):
                raise SingularSystem(
                    end_of_equation([one.loop], q)
                    or f"the {one.loop.title} comes to a singular position within a step of t = {t:.9g} s: its "
                    f"equations repeat each other there, and {one.consequence}; change the mechanism or the motion, "
                    "or, where it only passes near, take shorter steps (max_step)"
                )
            one.margin = least
        self._earlier, self._time = before, t

    def _suspect(self, t: float, one: Followed, largest: float, before: FloatArray, q: FloatArray) -> None:
        """Note a step over which the smallest singular value would change its sign if it went on as it did before."""
        passed, now = np.abs(before - self._earlier).max(), np.abs(q - before).max()
        if passed == 0.0 or one.margin * (passed + now) >= largest * now:
            return
        if one.margin * (passed + now) < one.values(self._earlier)[0] * now:
            self.suspects.append((one, self._time, t))

    def volumes(self, G: FloatArray) -> FloatArray:
        """Of the boxes that independent rows of matrices G (frames, m, n_u) span: products of singular values."""
        if self._rows is None:
            from scipy.linalg import qr

            rank = sum(one.rank for one in self._loops)
            self._scale = 1.0 / np.maximum(np.linalg.norm(G[0], axis=0), 1e-300)
            self._rows = np.sort(qr((G[0] * self._scale).T, mode="r", pivoting=True)[1][:rank])
        rows = G[:, self._rows] * self._scale
        return np.array([_root_of_determinant(gram) for gram in rows @ np.swapaxes(rows, 1, 2)])

    def explain(self, q: FloatArray) -> str:
        """Why no step leads on from here, where a loop is the reason; else nothing."""
        for one in self._loops:
            least, largest = one.values(q)
            if least < _NEAR * largest:
                return f"the {one.loop.title} is close to a singular position, where {one.consequence}"
        return ""


def _root_of_determinant(gram: FloatArray) -> float:
    """Of a matrix that is positive definite; zero where it is not, up to rounding."""
    from scipy.linalg.lapack import dpotrf

    # LAPACK itself: NumPy's way to a determinant of so few rows costs several times as much
    factor, failed = dpotrf(gram)
    return 0.0 if failed else math.prod(factor.diagonal().tolist())
