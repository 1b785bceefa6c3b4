"""Residuals for implicit methods, one state at a time: the same numbers as the functions for many states give."""

from __future__ import annotations

import numpy as np
import pytest

from musculo.dynamics.constrained_dynamics import constraint_equations
from musculo.dynamics.inverse import inverse_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput
from musculo.replications.closed_loops.mechanisms import START, andrews_squeezer, squeezer_drive
from musculo.replications.joints.rival_times import Work
from musculo.simulation.equations.implicit_state import ImplicitState
from musculo.simulation.equations.systems import MultiplierSystem
from musculo.simulation.forces.acting import Acting

SEED = 5


def test_the_equations_of_one_state_are_those_of_many():
    model = andrews_squeezer()
    system = constraint_equations(model)
    assert ImplicitState.serves(system)
    state, rng = ImplicitState(model, system), np.random.default_rng(SEED)
    for _ in range(5):
        q, u, udot = rng.uniform(-1.0, 1.0, (3, 7))
        found, all_of_them = state(q, u, udot), system.by_speeds(q[None], u[None], np.zeros(1))
        assert np.array_equal(found.tau, inverse_dynamics(model, q, u, udot))
        for name in ("residual", "jacobian", "bias"):
            assert np.array_equal(getattr(found, name), getattr(all_of_them, name)[0])
    assert state(np.full(7, np.nan), u, udot) is None


def test_residuals_are_the_same_with_and_without_it():
    model = andrews_squeezer()
    system = MultiplierSystem(model, Acting(model, squeezer_drive(model), None), 10.0)
    y = system.state(0.0, embedding_of(model).coordinates([START["beta"]]), np.zeros(7))
    rng = np.random.default_rng(SEED)
    y, yp = y + 1e-3 * rng.uniform(-1.0, 1.0, len(y)), rng.uniform(-1.0, 1.0, len(y))
    quick = system.residual(0.0, y, yp)
    system._implicit = None
    assert np.array_equal(quick, system.residual(0.0, y, yp))


def test_a_state_that_is_no_number_is_refused_in_words():
    model = andrews_squeezer()
    system = MultiplierSystem(model, Acting(model, None, None), 10.0)
    y = system.state(0.0, embedding_of(model).coordinates([START["beta"]]), np.zeros(7))
    with pytest.raises(InvalidInput, match="nan"):
        system.residual(0.0, np.full_like(y, np.nan), y)


def test_only_the_two_runs_that_enclose_an_error_count():
    work = Work(np.array([1e-7, 3e-5, 2e-6, 1e-3]), np.array([8.0, 2.0, 4.0, 1.0]))
    assert work.enclosing(1e-5) == (2, 1)
    assert work.enclosing(1e-7) == (0, 2)
    assert work.enclosing(1e-3) == (1, 3)
    assert work.enclosing(1e-8) == work.enclosing(1.0) == ()
    assert work.at(2e-6) == pytest.approx(4.0)
    assert 2.0 < work.at(1e-5) < 4.0
    assert np.isnan(work.at(1.0))
