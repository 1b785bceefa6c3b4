"""Runge-Kutta's steps over contacts are noted; and a motion beyond ranges is not asked whether it is in degrees."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

from musculo import MusculoWarning, simulate
from musculo.demo import arm
from support.force_models import bouncing_ball

FALL = ([0.0, 0.0, 0.0, 0.0, 0.6, 0.0], None, (0.0, 0.3))


def test_long_steps_over_a_contact_are_noted() -> None:
    ball = bouncing_ball("HuntCrossleyForce")
    with pytest.warns(MusculoWarning, match=r"contacts act \('bounce'\)"):
        done = simulate(ball, *FALL, method="rkf45")
    assert "may pass over an impact" in done.notes[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(ball, *FALL, method="rkf45", max_step=1e-3)
        simulate(ball, *FALL, method="rkf45", model_forces=False)
        simulate(ball, *FALL)


def test_motions_of_our_own_are_not_taken_for_degrees() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = simulate(replace(arm(), forces=()), [0.0, 0.5], [0.0, 60.0], (0.0, 0.5), method="rkf45")
    assert abs(done.q[:, 0]).max() > 10.0
