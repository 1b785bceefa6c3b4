"""Metabolic power against OpenSim's Bhargava2004SmoothedMuscleMetabolics, asked live in the same states."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
import musculo.demo
from musculo.io import write_osim
from musculo.muscle import Bhargava2004, metabolic_rate, with_de_groote_fregly_muscles

opensim = pytest.importorskip("opensim", reason="OpenSim is not installed; pip install 'musculo[oracles]'")

STATES = 12
# Both evaluate the same formulas, and wrap as OpenSim does: rounding remains, which is below 1e-11.
TOLERANCE = 1e-10
PARTS = {
    "activation_heat": "getTotalActivationRate",
    "maintenance_heat": "getTotalMaintenanceRate",
    "shortening_heat": "getTotalShorteningRate",
    "work": "getTotalMechanicalWorkRate",
}
# Our options, and OpenSim's names of them.
CHOICES = {
    "sharp": ({}, {}),
    "smooth": ({"smoothing": 10.0}, {"use_smoothing": True}),
    "smooth by force": (
        {"smoothing": (10.0, 5.0, 20.0), "force_dependent_shortening": True, "negative_work": False},
        {
            "use_smoothing": True,
            "power_smoothing": 5.0,
            "heat_rate_smoothing": 20.0,
            "use_force_dependent_shortening_prop_constant": True,
            "include_negative_mechanical_work": False,
        },
    ),
    "paper": (
        {"not_negative": False, "least_heat": False, "force_dependent_shortening": True, "basal_exponent": 0.8},
        {
            "forbid_negative_total_power": False,
            "enforce_minimum_heat_rate_per_muscle": False,
            "use_force_dependent_shortening_prop_constant": True,
            "basal_exponent": 0.8,
        },
    ),
}
# Part of slow fibers of the first muscle, and mass of the second.
SLOW, MASS = 0.7, 0.35


def kinds():
    arm = musculo.demo.arm()
    smooth = with_de_groote_fregly_muscles(arm)
    rigid = smooth
    for name in smooth.muscle_names:
        rigid = rigid.with_force(name, ignore_tendon_compliance=True)
    return {"as shipped": (arm, "fiber_length"), "rigid": (rigid, ""), "elastic": (smooth, "normalized_tendon_force")}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("kind", kinds())
def test_metabolic_power(tmp_path, kind, choice):
    model, state_name = kinds()[kind]
    ours, theirs = CHOICES[choice]
    peer, metabolics = peer_of(model, tmp_path / "arm.osim", theirs)
    names = model.muscle_names
    energy = Bhargava2004(slow_twitch={names[0]: SLOW}, mass={names[1]: MASS}, **ours)

    rng = np.random.default_rng(3)
    q, u = rng.uniform(0.2, 1.0, (STATES, 2)), rng.uniform(-6.0, 6.0, (STATES, 2))
    activation, excitation = rng.uniform(0.05, 1.0, (2, STATES, len(names)))
    found = {name: np.empty((STATES, len(names))) for name in ("fiber_length", "rate")}
    totals = {name: np.empty(STATES) for name in (*PARTS, "body")}
    state = peer.initSystem()
    for k in range(STATES):
        for i, name in enumerate(model.coordinate_names):
            coordinate = peer.getCoordinateSet().get(name)
            coordinate.setValue(state, q[k, i], False)
            coordinate.setSpeedValue(state, u[k, i])
        muscles = [peer.getMuscles().get(name) for name in names]
        for i, muscle in enumerate(muscles):
            muscle.setActivation(state, activation[k, i])
        if state_name:
            peer.equilibrateMuscles(state)
            for i, muscle in enumerate(muscles):  # away from rest
                path = f"{muscle.getAbsolutePathString()}/{state_name}"
                value = peer.getStateVariableValue(state, path)
                peer.setStateVariableValue(state, path, value * rng.uniform(0.98, 1.02))
                muscle.setActivation(state, activation[k, i])
        peer.realizeVelocity(state)
        peer.setControls(state, opensim.Vector.createFromMat(excitation[k]))
        peer.realizeDynamics(state)
        for i, muscle in enumerate(muscles):
            found["fiber_length"][k, i] = muscle.getFiberLength(state)
            found["rate"][k, i] = metabolics.getMuscleMetabolicRate(state, muscle.getAbsolutePathString())
        for name, getter in PARTS.items():
            totals[name][k] = getattr(metabolics, getter)(state)
        totals["body"][k] = metabolics.getTotalMetabolicRate(state)

    fiber = found["fiber_length"] if state_name else None
    result = metabolic_rate(
        model, q, u, activation, excitation=excitation, fiber_length=fiber, energy=energy, like="opensim"
    )
    scale = np.abs(found["rate"]).max()
    assert result.rate == pytest.approx(found["rate"], rel=TOLERANCE, abs=TOLERANCE * scale)
    assert result.body == pytest.approx(totals["body"], rel=TOLERANCE)
    for name in PARTS:
        assert getattr(result, name).sum(axis=1) == pytest.approx(totals[name], rel=TOLERANCE, abs=TOLERANCE * scale)


def peer_of(model, path, options):
    opensim.Logger.setLevelString("off")
    write_osim(model, path)
    peer = opensim.Model(str(path))
    metabolics = opensim.Bhargava2004SmoothedMuscleMetabolics()
    metabolics.setName("metabolics")
    for name, value in options.items():
        getattr(metabolics, f"set_{name}")(value)
    for k, name in enumerate(model.muscle_names):
        muscle = peer.getMuscles().get(name)
        if k == 0:
            metabolics.addMuscle(name, muscle, SLOW, 0.25e6)
        elif k == 1:
            metabolics.addMuscle(name, muscle, MASS)
        else:
            metabolics.addMuscle(name, muscle)
    peer.addComponent(metabolics)
    peer.finalizeConnections()
    return peer, metabolics
