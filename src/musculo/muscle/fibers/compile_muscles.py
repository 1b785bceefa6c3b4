"""All muscles of a model as arrays: what muscle kernels run on."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, InvalidModel, Unsupported
from musculo.kernels.hill.muscle_table import (
    MuscleTable,
)
from musculo.model.force import Muscle
from musculo.model.model import Model
from musculo.muscle.fibers.muscle_kinds import KINDS, REFUSED, check, common, refuse, refuse_subnormal
from musculo.muscle.hill_curves.curve_table import CurveTable


@dataclass(frozen=True, eq=False)
class CompiledMuscles:
    """The muscles of a model in file order, as arrays."""

    names: tuple[str, ...]
    muscles: MuscleTable
    curves: FloatArray  # as in `musculo.kernels.hill.curve_lookup`

    @property
    def arrays(self) -> tuple[MuscleTable, FloatArray]:
        """What muscle kernels take first."""
        return self.muscles, self.curves


def compile_muscles(model: Model) -> CompiledMuscles:
    """Check and compile every muscle of a model.

    Raises:
        InvalidModel: a parameter that no muscle can have, naming the muscle.
        Unsupported: a kind of muscle whose equations are not known.
    """
    curves = CurveTable()
    rows = []
    for muscle in model.muscles:
        why = not_computed(muscle)
        if why:
            raise Unsupported(f"{why}; known kinds: {', '.join(KINDS)}")
        check(muscle)
        refuse_subnormal(muscle)
        try:
            rows.append({**common(muscle), **KINDS[muscle.kind](muscle, curves)})
        except InvalidInput as error:
            raise InvalidModel(f"muscle {muscle.name!r}: {error}") from None
        except ArithmeticError as error:
            raise refuse(
                muscle, f"its curves cannot be computed ({error}); give parameters that are less small or large"
            ) from None
    columns: dict[str, Any] = {
        name: np.full(len(rows), -1, dtype=np.int64) if name in _WHOLE_NUMBERS else np.zeros(len(rows))
        for name in MuscleTable._fields
    }
    for k, row in enumerate(rows):
        for name, value in row.items():
            columns[name][k] = value
    for name in ("optimal_length", "slack_length", "max_speed", "toe_strain"):
        np.divide(1.0, columns[name], out=columns[f"per_{name}"], where=columns[name] > 0.0)
    return CompiledMuscles(model.muscle_names, MuscleTable(**columns), curves.table())


def not_computed(muscle: Muscle) -> str:
    """Why the forces of a muscle are not computed, by its kind; empty where they are."""
    if muscle.kind in KINDS:
        return ""
    reason = REFUSED.get(muscle.kind, "whose forces are not computed")
    return f"muscle {muscle.name!r} is a {muscle.kind}, {reason}"


_cache: weakref.WeakKeyDictionary[Model, CompiledMuscles] = weakref.WeakKeyDictionary()


def compiled_muscles(model: Model, rigid: bool = False) -> CompiledMuscles:
    """The compiled muscles of a model, made once; models are frozen, so they cannot go stale.

    Tendons of no length are refused but where they do not stretch: those that say so, or all if `rigid`.
    """
    if model not in _cache:
        _cache[model] = compile_muscles(model)
    c = _cache[model]
    if not rigid:
        bare = (c.muscles.slack_length == 0.0) & (c.muscles.rigid != 1)
        if bare.any():
            raise InvalidModel(
                f"muscle {c.names[int(bare.argmax())]!r}: its tendon_slack_length is zero, and a tendon of no length "
                "cannot stretch; give a positive length, set ignore_tendon_compliance, or ask for tendon='rigid'"
            )
    return c


_WHOLE_NUMBERS = {
    *("kind", "rigid", "active_curve", "passive_curve", "tendon_curve", "velocity_curve", "velocity_inverse"),
    "activation_model",
}
