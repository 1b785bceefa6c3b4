"""Which equations repeat or contradict others, and which motion no equation determines, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.absolute.absolute_frames import rows_at
from musculo.spatial.inertia import tensor

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
    mechanism: Mechanism,
    x: FloatArray,
    residual: FloatArray,
    signals: FloatArray,
    frame: int = 0,
    determined: bool = True,
) -> Diagnosis:
    """Look at the equations of one position.

    Args:
        mechanism: whose equations.
        x: the position.
        residual: what they are off by there.
        signals: what the drivers are told.
        frame: its number.
        determined: False where elimination found a motion that is not determined. Near a singular position that motion
            is the one along the smallest singular value, however little it lacks.
    """
    if not np.isfinite(x).all():
        off = tuple(dict.fromkeys(mechanism.row_names))
        return Diagnosis(frame, mechanism.n_unknowns, mechanism.n_equations, 0, (), off, ())
    _, J = jacobian(mechanism, x, signals)
    left, values, right = np.linalg.svd(J)
    least = _RANK * max(values.max(initial=0.0), 1.0)
    if not determined and len(values) == mechanism.n_unknowns:
        least = max(least, 2.0 * float(values[-1]))
    rank = int(np.sum(values > least))
    names = np.array(mechanism.row_names)
    # equations in a dependence: rows with a part in the left null space
    repeated = np.linalg.norm(left[:, rank:], axis=1) > 1e-6
    moving = _movers(mechanism, right[rank:])
    return Diagnosis(
        frame,
        mechanism.n_unknowns,
        mechanism.n_equations,
        rank,
        tuple(dict.fromkeys(names[repeated].tolist())),
        missed(mechanism, residual),
        moving,
    )


def missed(mechanism: Mechanism, residual: FloatArray) -> tuple[str, ...]:
    """The constraints that are not satisfied, the worst first."""
    amount = np.abs(np.where(np.isfinite(residual), residual, np.inf))
    worst = [mechanism.row_names[k] for k in np.argsort(-amount) if amount[k] > _CONSISTENT]
    return tuple(dict.fromkeys(worst))


def unresisted(mechanism: Mechanism, x: FloatArray, signals: FloatArray) -> tuple[str, ...]:
    """Bodies and coordinates of motions that no constraint excludes and no inertia resists."""
    _, J = jacobian(mechanism, x, signals)
    _, values, right = np.linalg.svd(J)
    allowed = right[int(np.sum(values > _RANK * max(values.max(initial=0.0), 1.0))) :]
    M = np.zeros((mechanism.n_unknowns, mechanism.n_unknowns))
    for k, body in enumerate(mechanism.bodies):
        M[range(6 * k, 6 * k + 3), range(6 * k, 6 * k + 3)] = body.mass
        M[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = tensor(body.inertia)
    sizes, motions = np.linalg.eigh(allowed @ M @ allowed.T) if len(allowed) else (np.zeros(0), np.zeros((0, 0)))
    light = sizes <= _RANK * max(float(np.abs(M).max()), np.finfo(float).tiny)
    return _movers(mechanism, motions.T[light] @ allowed) if len(allowed) else ()


def _movers(mechanism: Mechanism, motions: FloatArray) -> tuple[str, ...]:
    """Bodies and coordinates with a part in some of the motions (k, unknowns)."""
    part = np.linalg.norm(motions, axis=0) > 1e-6
    bodies = [b.name for k, b in enumerate(mechanism.bodies) if part[6 * k : 6 * k + 6].any()]
    rest = part[6 * len(mechanism.bodies) :]
    return (*bodies, *(name for name, one in zip(mechanism.coordinates, rest, strict=True) if one))
