"""What to say where independent coordinates can no longer lead a closed loop, and which ones could."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.embedding import Embedding
from musculo.embedding.loops.closed_loop import Loop
from musculo.embedding.loops.equations.body_equations import BodyEquation

# A user's equation whose slopes have grown so many times over comes to the end of where it is defined.
_ENDLESS = 50.0


def dead_point(embedding: Embedding, q: FloatArray) -> str:
    """Why a motion does not go on from a pose q (n,) where others move many times faster than independent ones.

    Either an equation of the user ends there (the square root of zero), or it is a dead point; then coordinates are
    named that would lead on: those that the best conditioned choice of dependents leaves.
    """
    return end_of_equation(embedding.loops, q) or (
        f"the loop of {', '.join(map(repr, embedding.loop_names))} comes to a dead point of "
        f"{', '.join(map(repr, embedding.coordinate_names))}: others move on while these turn round, and branches "
        f"meet; {advice(embedding, q)}"
    )


def end_of_equation(loops: Sequence[Loop], q: FloatArray) -> str:
    """That a user's equation comes to its end at q (n,), in words; empty where none does."""
    for loop in loops:
        with np.errstate(all="ignore"):
            _, A = loop.evaluate(q[loop.columns][None])
        slopes = np.nan_to_num(np.abs(A[0] * loop.scale).max(axis=1), nan=np.inf) / loop.row_scale
        for equation, at in zip(loop.equations.equations, loop.equations.rows, strict=True):
            if not isinstance(equation, BodyEquation) and slopes[at].max(initial=0.0) > _ENDLESS:
                return (
                    f"constraint {equation.name!r} comes to the end of where it is defined: its slopes grow without "
                    "bound, as those of a square root at zero; keep away from there, or write the equation without it"
                )
    return ""


def advice(embedding: Embedding, q: FloatArray) -> str:
    """How to go on from a dead point at q (n,)."""
    leading = tuple(name for name in embedding.coordinate_names if name in _leading(embedding, q))
    if leading == embedding.coordinate_names:
        return "name others with independent=, or use formulation='constrained'"
    better = [name for name in embedding.model.coordinate_names if name in _leading(embedding, q)]
    named = repr(better[0]) if len(better) == 1 else repr(tuple(better))
    return f"independent={named} leads on from here, or use formulation='constrained'"


def _leading(embedding: Embedding, q: FloatArray) -> set[str]:
    """Independent coordinates as they were best chosen at q."""
    from scipy.linalg import qr

    dependent = {rule.dependent for rule in embedding.rules}
    for loop in embedding.loops:
        names = (*loop.inputs, *loop.dependents)
        free = [k for k, name in enumerate(names) if name in embedding.coordinate_names or name in loop.dependents]
        _, A = loop.evaluate(q[loop.columns][None])
        order = qr((A[0] * loop.scale / loop.row_scale[:, None])[:, free], mode="r", pivoting=True)[1]
        dependent -= set(loop.dependents)
        dependent |= {names[free[k]] for k in order[: len(loop.dependents)]}
    return set(embedding.model.coordinate_names) - dependent
