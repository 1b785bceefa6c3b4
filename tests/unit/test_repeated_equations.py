"""Constraints that repeat others: accelerations do not care, and the multipliers are the shortest there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from musculo import Model, constrained_acceleration, embedding_of, inverse_dynamics, mass_matrix
from musculo.dynamics.constrained_dynamics import constraint_equations, solve_constrained
from musculo.errors import SingularSystem
from support.mechanisms import andrews_squeezer, five_bar, four_bar


def twice(model: Model) -> Model:
    again = tuple(replace(c, name=f"{c.name}_again") for c in model.constraints)
    return model.replace(constraints=(*model.constraints, *again))


@pytest.mark.parametrize("make", [four_bar, five_bar, andrews_squeezer])
def test_repeated_equations_share_the_load(make):
    once, doubled = make(), twice(make())
    e, rng = embedding_of(once), np.random.default_rng(5)
    z = e.independent(e.branch) + rng.uniform(-0.05, 0.05, (11, len(e.coordinate_names)))
    motion = e.motion(z, rng.normal(size=(11, len(e.speed_names))))
    tau = rng.normal(size=motion.u.shape)
    one = constrained_acceleration(once, motion.q, motion.u, tau)
    two = constrained_acceleration(doubled, motion.q, motion.u, tau)
    np.testing.assert_allclose(two.udot, one.udot, rtol=1e-9, atol=1e-9 * abs(one.udot).max())
    np.testing.assert_allclose(two.generalized, one.generalized, rtol=1e-9, atol=1e-9 * abs(one.generalized).max())
    m = one.multipliers.shape[1]
    np.testing.assert_allclose(two.multipliers[:, :m], two.multipliers[:, m:], atol=1e-9 * abs(one.multipliers).max())
    assert np.all(two.redundant == m + one.redundant)
    # singular values say the same
    system = constraint_equations(doubled)
    x = system.by_speeds(motion.q, motion.u, np.zeros(11))
    force = tau - inverse_dynamics(doubled, motion.q, motion.u, np.zeros_like(tau))
    _, shortest, repeats = solve_constrained(system, mass_matrix(doubled, motion.q), force, x.jacobian, -x.bias)
    np.testing.assert_allclose(two.multipliers, shortest, rtol=1e-8, atol=1e-8 * abs(shortest).max())
    assert np.array_equal(two.redundant, repeats)


def test_repeated_equations_that_contradict_are_named():
    model = twice(four_bar())
    far = replace(model.constraints[1], first_location=(0.46, 0.0, 0.0))
    model = model.replace(constraints=(model.constraints[0], far))
    q = embedding_of(four_bar()).branch
    with pytest.raises(SingularSystem, match="closure"):
        constrained_acceleration(model, q, np.zeros(3), np.zeros(3), stabilization=10.0)
