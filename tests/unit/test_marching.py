"""Simulations that stay compiled from step to step do what the steppers in Python do."""

from __future__ import annotations

import numpy as np
import pytest

from musculo import embedding_of, forward_dynamics, simulate
from musculo.simulation.marching import March, mechanism, stepping
from musculo.simulation.steppers import Control
from support.mechanisms import five_bar, four_bar


@pytest.mark.parametrize("make", [four_bar, five_bar])
@pytest.mark.parametrize("formulation", ["embedded", "constrained"])
@pytest.mark.parametrize(("method", "rtol"), [("rkf45", 1e-9), ("tr-bdf2", 1e-5)])
def test_march_ends_where_the_steppers_end(make, formulation, method, rtol):
    model, end, atol = make(), 0.2, 0.01 * rtol
    e, embedded = embedding_of(model), formulation == "embedded"
    motion = e.motion(e.independent(e.branch), np.full(len(e.speed_names), 0.3))
    q, u = motion.q, motion.u
    udot = forward_dynamics(model, q, u, np.zeros_like(u))
    p = mechanism(model, embedded)
    assert p is not None
    s = stepping(method, not embedded, Control(rtol, atol), 1e4, 3.0)
    y, f = np.concatenate([q[p.q_at], u[p.u_at]]), np.concatenate([u[p.u_at], udot[p.u_at]])
    m = March(p, s, q, u, udot)
    done, _ = m.go(0.0, end, 1e-4, y, f, 10_000)
    reference = simulate(model, q, u, (0.0, end), method="rkf45", rtol=1e-12, atol=1e-13)
    assert not done.odd
    assert done.t[-1] == end
    far = 30.0 * rtol if method == "rkf45" else 300.0 * rtol
    np.testing.assert_allclose(m.q, reference.q[-1], atol=far)
    np.testing.assert_allclose(m.u, reference.u[-1], atol=10.0 * far)
