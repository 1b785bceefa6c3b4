"""Numbers of muscles and formulas that no file means: one sentence that names them, and no traceback."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import musculo
from musculo.demo import arm
from musculo.errors import InvalidInput, InvalidModel
from musculo.functions.formula import compile_expressions
from musculo.model.force import MuscleCurve

SMALLEST, SMALL = 5e-324, 1e-310


def _arm(**changes: object) -> musculo.Model:
    model = arm()
    first = model.muscles[0]
    return model.replace(forces=tuple(replace(f, **changes) if f is first else f for f in model.forces))


def _thelen(key: str, value: float) -> musculo.Model:
    known = arm().muscles[0].parameters
    assert key in dict(known)
    return _arm(parameters=tuple((name, value if name == key else own) for name, own in known))


def _millard(element: str, key: str, value: float) -> musculo.Model:
    curve = MuscleCurve(element, "", ((key, value),))
    return _arm(kind="Millard2012EquilibriumMuscle", parameters=(), curves=(curve,), min_control=None)


def _optimised(model: musculo.Model) -> musculo.results.StaticOptimum:
    q = np.linspace(0.0, 1.5, 3)[:, None] * np.ones((1, 2))
    return musculo.static_optimization(model, q, np.full((3, 2), 0.3), tau=np.ones((3, 2)), reserves=1.0)


@pytest.mark.parametrize("value", [SMALLEST, SMALL, -SMALLEST])
@pytest.mark.parametrize(
    ("model", "key"),
    [
        (lambda value: _thelen("Af", value), "Af"),
        (lambda value: _thelen("FmaxTendonStrain", value), "FmaxTendonStrain"),
        (lambda value: _millard("ForceVelocityCurve", "isometric_slope", value), "isometric_slope"),
        (
            lambda value: _millard("TendonForceLengthCurve", "strain_at_one_norm_force", value),
            "strain_at_one_norm_force of TendonForceLengthCurve",
        ),
    ],
    ids=["Af", "FmaxTendonStrain", "isometric slope", "tendon strain"],
)
def test_a_denormal_parameter_of_a_muscle_is_named(model, key, value):
    with pytest.raises(InvalidModel, match=rf"muscle 'triceps_long': its {key}.* is {value:g}, too small"):
        _optimised(model(value))


@pytest.mark.parametrize(
    "model",
    [
        _millard("TendonForceLengthCurve", "strain_at_one_norm_force", 1e-300),
        _millard("TendonForceLengthCurve", "strain_at_one_norm_force", 1e-16),
        _thelen("KshapePassive", 1e16),
        _arm(kind="DeGrooteFregly2016Muscle", parameters=(), curves=(), min_control=None, optimal_fiber_length=1e-160),
    ],
    ids=["no strain", "hardly any strain", "steep", "no fiber"],
)
def test_curves_that_cannot_be_computed_name_the_muscle(model):
    with pytest.raises(InvalidModel, match="muscle 'triceps_long'"):
        _optimised(model)


def test_small_parameters_that_can_be_computed_are_taken():
    model = _thelen("Af", 1e-300)
    length = [m.optimal_fiber_length + m.tendon_slack_length for m in model.muscles]
    assert np.isfinite(musculo.muscle_equilibrium(model, length, 0.0, 0.5).tendon_force).all()


def _chain(n: int, form: str) -> str:
    """a0; a0 = form of a1; ...; an = x"""
    return ";".join(["a0", *(f"a{k}={form.format(f'a{k + 1}')}" for k in range(n)), f"a{n}=x"])


@pytest.mark.parametrize(
    "formula",
    [
        "(" * 500 + "x" + ")" * 500,
        "(" * 100_000,
        "-" * 500 + "x",
        "^".join("x" * 500),
        "sqrt(" * 500 + "x" + ")" * 500,
        _chain(500, "{0}"),
        _chain(60, "{0}+{0}"),  # 2^60 terms
    ],
    ids=["brackets", "open brackets", "signs", "powers", "functions", "definitions", "doubled definitions"],
)
def test_formulas_that_are_nested_without_end_are_refused(formula):
    with pytest.raises(InvalidInput, match=r"it has more than 100.* each other; write it in simpler terms") as told:
        compile_expressions([formula], ["x"])
    assert len(str(told.value)) < 400


def test_formulas_that_are_long_are_read():
    for formula, steps in (("(" * 90 + "x" + ")" * 90, 1), ("+".join("x" * 5000), 9999), (_chain(40, "2*{0}"), 81)):
        assert len(compile_expressions([formula], ["x"])[1]) == steps
