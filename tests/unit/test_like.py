"""One word chooses between exact methods and OpenSim's: `like`, in every function that has the choice."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import musculo
from musculo.demo import arm, arm_flexion
from musculo.errors import InvalidInput
from musculo.window import shown

FOLDERS = ("musculo", *(f"musculo.{name}" for name in ("model", "muscle", "signals", "opensim")))
WITH_A_CHOICE = {
    *(
        "muscle_geometry",
        "path_geometry",
        "path_wrenches",
        "muscle_equilibrium",
        "muscle_force",
        "active_force_capacity",
    ),
    *("muscle_analysis", "static_optimization", "static_optimisation", "joint_loads", "model_forces", "motion_of"),
    *("point_kinematics", "lowpass", "place_sensors", "scale_model", "run_setup", "view", "simulate", "simulate_many"),
    *("uncertainty", "metabolic_rate"),
}
# What repeats OpenSim's tools does so by default.
OPENSIMS = {"scale_model", "run_setup"}
# Parts of the choice, and the flag of `musculo run`.
PARTS = {"wrapping", "method", "exact"}


def functions():
    for folder in FOLDERS:
        module = musculo if folder == "musculo" else getattr(musculo, folder.removeprefix("musculo."))
        for name in shown(folder):
            if inspect.isfunction(value := getattr(module, name)):
                yield name, inspect.signature(value).parameters


def test_every_function_with_the_choice_takes_like():
    found = {name: parameters for name, parameters in functions() if "like" in parameters}
    assert set(found) == WITH_A_CHOICE
    for name, parameters in found.items():
        assert parameters["like"].kind is inspect.Parameter.KEYWORD_ONLY, name
        assert parameters["like"].default == ("opensim" if name in OPENSIMS else None), name
        assert all(p.default in (None, False) for part in PARTS if (p := parameters.get(part)) is not None), name


def test_no_other_word_of_an_argument_is_opensim():
    for name, parameters in functions():
        for one in parameters.values():
            if one.name not in ("like", "wrapping", "method"):
                assert "opensim" not in str(one.default), (name, one.name)


def test_other_words_are_refused():
    model = arm()
    for call in (
        lambda: musculo.muscle_geometry(model, (0.0, 0.0), like="exact"),
        lambda: musculo.muscle_equilibrium(model, 0.3, 0.0, 0.5, like="simm"),
        lambda: musculo.motion_of(model, arm_flexion(), like="opensim id"),
        lambda: musculo.signals.lowpass(np.arange(9.0), np.arange(9.0), 0.1, like=True),
    ):
        with pytest.raises(InvalidInput, match=r"like=.*; it is 'opensim', or None for the exact methods"):
            call()
    with pytest.raises(InvalidInput, match="known: id, analyze"):
        musculo.motion_of(model, arm_flexion(), like="opensim", tool="so")


def test_older_words_are_parts_of_it():
    model, q, u = arm(), np.array([0.3, 1.9]), np.array([0.2, -0.4])
    ours, theirs = (musculo.path_geometry(model, q, u, like=like) for like in (None, "opensim"))
    assert_array_equal(musculo.path_geometry(model, q, u, wrapping="opensim").moment_arm, theirs.moment_arm)
    assert np.abs(ours.moment_arm - theirs.moment_arm).max() > 1e-5
    given = (model, ours.length, 4.0 * ours.speed, 0.4)
    state = musculo.muscle_equilibrium(*given, like="opensim").tendon_force
    assert_array_equal(musculo.muscle_equilibrium(*given, method="opensim").tendon_force, state)
    assert np.abs(musculo.muscle_equilibrium(*given).tendon_force - state).max() > 1e-3
    effort = [
        musculo.static_optimization(model, q, u, 0.0 * u, reserves=1.0, **how).options
        for how in ({"like": "opensim"}, {"wrapping": "opensim"}, {"like": "opensim", "method": "exact"}, {})
    ]
    assert [(one["wrapping"], one["method"]) for one in effort] == [
        ("opensim", "opensim"),
        ("opensim", "exact"),
        ("opensim", "exact"),
        ("geodesic", "exact"),
    ]
