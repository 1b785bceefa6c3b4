"""Every muscle of every model has an answer at every length, speed and activation, far beyond what paths reach."""

from __future__ import annotations

import os

import numpy as np
import pytest

from musculo import read_osim
from musculo.muscle.fibers.equilibrium import Status, muscle_equilibrium, muscle_force
from support.muscle_rig import KINDS, model_of, muscle

# Over all models together; MUSCULO_SWEEP=1000000 for a thorough run.
STATES = int(os.environ.get("MUSCULO_SWEEP", "100000"))
# Fibres and tendons balance to this part of the maximum isometric force, or of the force where that is larger.
BALANCE = 1e-8


@pytest.fixture(scope="module")
def models(data_folder):
    found = [read_osim(path) for path in sorted(data_folder.glob("*/*.osim"))]
    return [model for model in found if model.muscles]


def test_no_state_is_without_an_answer(models):
    total = sum(len(model.muscles) for model in models)
    frames = -(-STATES // total)
    rng = np.random.default_rng(5)
    seen, counts = 0, np.zeros(len(Status), dtype=int)
    for model in models:
        slack, optimal, speed, force = (
            np.array([getattr(m, key) for m in model.muscles])
            for key in (
                "tendon_slack_length",
                "optimal_fiber_length",
                "max_contraction_velocity",
                "max_isometric_force",
            )
        )
        shape = (frames, len(slack))
        # from a path of no length to one that triples the fibre, up to twice the largest speed, all activations
        length = rng.uniform(0.0, 1.0, shape) * (1.1 * slack + 3.0 * optimal)
        v = rng.uniform(-2.0, 2.0, shape) * np.maximum(speed, 10.0) * optimal
        activation = rng.choice([0.0, 1.0, 0.5], shape) * rng.uniform(0.0, 2.0, shape).clip(0.0, 1.0)
        r = muscle_equilibrium(model, length, v, activation)
        counts += np.bincount(r.status.ravel(), minlength=len(Status))
        assert r.converged, model.name
        for field in ("fiber_length", "fiber_velocity", "pennation", "tendon_force", "active_fiber_force", "stiffness"):
            assert np.isfinite(getattr(r, field)).all(), (model.name, field)
        assert (r.tendon_force >= 0.0).all()
        assert (r.fiber_length > 0.0).all()
        ok = r.status == Status.CONVERGED
        gap = np.abs(r.tendon_force - r.fiber_force_along_tendon) / np.maximum(force, r.tendon_force)
        assert gap[ok].max(initial=0.0) <= BALANCE, model.name
        slack_ones = r.status == Status.TENDON_SLACK
        assert (r.tendon_force[slack_ones] == 0.0).all()
        state = muscle_force(model, length, v, activation, rng.uniform(0.0, 3.0, shape) * optimal)
        assert np.isfinite(state.fiber_velocity).all(), model.name
        seen += ok.size
    assert seen >= STATES
    # all three outcomes occur, so the sweep does look beyond the range
    assert (counts[[Status.CONVERGED, Status.TENDON_SLACK, Status.FIBER_AT_MINIMUM]] > 0).all()
    assert counts[Status.NOT_CONVERGED] == 0


def _any_spline_muscles(rng):
    """Schutte's and Delp's muscles of all sizes, from tendons of 0.1 mm to 1 m, with little damping and with much."""
    muscles = []
    for k in range(40):
        kind = KINDS[3 + k % 2]
        damping = (("damping", 10.0 ** rng.uniform(-4.0, 0.0)),) if kind == KINDS[3] else ()
        sizes = {
            "optimal_fiber_length": 10.0 ** rng.uniform(-3.0, -0.3),
            "tendon_slack_length": 10.0 ** rng.uniform(-4.0, 0.0),
            "pennation_angle_at_optimal": rng.choice([0.0, rng.uniform(0.0, 1.4)]),
        }
        muscles.append(muscle(kind, f"m{k}", parameters=damping, **sizes))
    return model_of(*muscles)


@pytest.mark.parametrize("method", ["exact", "opensim"])
def test_spline_muscles_have_an_answer_at_lengths_no_body_has(models, method):
    """From 1 cm to 10 m, up to 20 m/s: the curves of Schutte and Delp are flat there, or fall."""
    rng = np.random.default_rng(9)
    old = [model for model in models if any(m.kind in KINDS[3:5] for m in model.muscles)]
    assert old
    for model in (*old, _any_spline_muscles(rng)):
        shape = (-(-STATES // len(model.muscles)), len(model.muscles))
        length = np.concatenate([rng.uniform(0.01, 10.0, shape), 10.0 ** rng.uniform(-2.0, 1.0, shape)])
        speed, activation = rng.uniform(-20.0, 20.0, length.shape), rng.uniform(0.0, 1.0, length.shape)
        speed[::3], activation[::5] = 0.0, 0.0
        r = muscle_equilibrium(model, length, speed, activation, method=method)
        assert r.converged, model.name
        for field in ("fiber_length", "fiber_velocity", "tendon_force", "active_fiber_force", "stiffness"):
            assert np.isfinite(getattr(r, field)).all(), (model.name, field)
