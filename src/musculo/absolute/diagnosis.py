"""Which equations repeat or contradict others, and which motion no equation determines, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.absolute.absolute_frames import rows_at

if TYPE_CHECKING:
    from musculo.absolute.mechanism import Mechanism

# Singular values below this part of the largest count as zero.
_RANK = 1e-9
# Residuals above this contradict each other [rad, m].
_CONSISTENT = 1e-8


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with the equations of one frame; empty lists where nothing is."""

    frame: int
    unknowns: int
    equations: int
    rank: int
    redundant: tuple[str, ...]  # constraints with equations that others imply
    inconsistent: tuple[str, ...]  # constraints that are not satisfied, the worst first
    free: tuple[str, ...]  # bodies and coordinates that move though all equations hold

    def __str__(self) -> str:
        parts = [f"frame {self.frame}: {self.equations} equations for {self.unknowns} unknowns, rank {self.rank}"]
        if self.free:
            parts.append(f"no equation determines the motion of {', '.join(self.free)}: drive it")
        if self.redundant:
            parts.append(f"equations of {', '.join(self.redundant)} follow from others")
        if self.inconsistent:
            parts.append(f"not satisfied: {', '.join(self.inconsistent)}")
        return "; ".join(parts)


def jacobian(mechanism: Mechanism, x: FloatArray, signals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Phi (equations,) and J (equations, unknowns) at one position."""
    c = mechanism.compiled
    phi, elements = np.zeros(mechanism.n_equations), np.zeros(c.system.column.size)
    rows_at(c.system, c.table, c.pattern, np.ascontiguousarray(x), np.ascontiguousarray(signals), phi, elements)
    J = np.zeros((mechanism.n_equations, mechanism.n_unknowns))
    for r in range(mechanism.n_equations):
        at = slice(c.system.row_first[r], c.system.row_first[r + 1])
        J[r, c.system.column[at]] = elements[at]
    return phi, J


def diagnose(
    mechanism: Mechanism, x: FloatArray, residual: FloatArray, signals: FloatArray, frame: int = 0
) -> Diagnosis:
    """Look at the equations of one position."""
    if not np.isfinite(x).all():
        off = tuple(dict.fromkeys(mechanism.row_names))
        return Diagnosis(frame, mechanism.n_unknowns, mechanism.n_equations, 0, (), off, ())
    _, J = jacobian(mechanism, x, signals)
    left, values, right = np.linalg.svd(J)
    rank = int(np.sum(values > _RANK * max(values.max(initial=0.0), 1.0)))
    names = np.array(mechanism.row_names)
    # equations in a dependence: rows with a part in the left null space
    repeated = np.linalg.norm(left[:, rank:], axis=1) > 1e-6
    free = np.linalg.norm(right[rank:], axis=0) > 1e-6
    moving = [b.name for k, b in enumerate(mechanism.bodies) if free[6 * k : 6 * k + 6].any()]
    moving += [name for name, one in zip(mechanism.coordinates, free[6 * len(mechanism.bodies) :], strict=True) if one]
    amount = np.abs(np.where(np.isfinite(residual), residual, np.inf))
    worst = [names[k] for k in np.argsort(-amount) if amount[k] > _CONSISTENT]
    return Diagnosis(
        frame,
        mechanism.n_unknowns,
        mechanism.n_equations,
        rank,
        tuple(dict.fromkeys(names[repeated].tolist())),
        tuple(dict.fromkeys(str(name) for name in worst)),
        tuple(moving),
    )
