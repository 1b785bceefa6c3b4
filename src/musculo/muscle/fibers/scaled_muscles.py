"""Compiled muscles with other strengths and lengths, without compiling them again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from musculo.arrays import FloatArray
from musculo.muscle.fibers.compile_muscles import CompiledMuscles

# What grows with the optimal length of fibers, in every kind of muscle.
_WITH_FIBERS = ("optimal_length", "width", "least_length", "least_along", "max_speed")
_AGAINST_FIBERS = ("per_optimal_length", "per_max_speed")


def scaled_muscles(c: CompiledMuscles, force: FloatArray, fiber: FloatArray, slack: FloatArray) -> CompiledMuscles:
    """Muscles whose maximal isometric force, optimal fiber length and tendon slack length are multiplied by factors.

    Guarantees: what `compile_muscles` gives of the model so changed, to rounding; a factor of one changes no bit.

    Args: c: compiled muscles. force, fiber, slack: (muscles,) factors above zero.
    """
    m = c.muscles
    changed: dict[str, Any] = {"max_force": m.max_force * force, "slack_length": m.slack_length * slack}
    changed["per_slack_length"] = m.per_slack_length / slack
    changed |= {name: getattr(m, name) * fiber for name in _WITH_FIBERS}
    changed |= {name: getattr(m, name) / fiber for name in _AGAINST_FIBERS}
    return replace(c, muscles=m._replace(**changed))
