"""Forces of models with closed loops, in every form of the equations, from compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import Body, Coordinate, Model, PinJoint, Placement
from support.force_models import force

# Steps of both forms have errors of 1e-10; constraints are kept by Baumgarte's method in one of them.
SAME = 1e-6


def four_bar() -> Model:
    """With a spring between two bars, a bushing, a limit and a load on the coupler."""
    names, lengths, pose = ("crank", "coupler", "rocker"), (0.2, 0.5, 0.4), (0.9, 0.2, -2.0)
    bars = [
        Body(n, 1.0, (a / 2, 0.0, 0.0), (0.02, 0.02, 0.02, 0.0, 0.0, 0.0)) for n, a in zip(names, lengths, strict=True)
    ]
    ends = [Placement("ground"), Placement("crank", (0.2, 0.0, 0.0)), Placement("coupler", (0.5, 0.0, 0.0))]
    pins = [
        PinJoint(n, end, Placement(n), (Coordinate(n + "_angle", default_value=x, range=(-10.0, 10.0)),))
        for n, end, x in zip(names, ends, pose, strict=True)
    ]
    closure = musculo.PointConstraint("closure", True, (), "ground", "rocker", (0.45, 0.0, 0.0), (0.4, 0.0, 0.0))
    forces = (
        force("spring", "PointToPointSpring", socket_body1="/bodyset/crank", socket_body2="/bodyset/rocker",
              point1="0.05 0.02 0", point2="0.2 0 0", stiffness=60, rest_length=0.15),
        force("bushing", "BushingForce", socket_frame1="/ground", socket_frame2="/bodyset/coupler",
              rotational_stiffness="0 0 0.4", translational_stiffness="3 5 0", translational_damping="0.1 0.2 0"),
        force("limit", "CoordinateLimitForce", coordinate="crank_angle", upper_limit=60, lower_limit=-40,
              upper_stiffness=0.05, lower_stiffness=0.05, damping=0.001, transition=10),
    )  # fmt: skip
    return Model("four-bar", tuple(bars), tuple(pins), (closure,), forces=forces)


@pytest.mark.parametrize("method", ["rkf45", "cvode"])
def test_both_forms_move_alike(method):
    model = four_bar()
    load = musculo.ExternalLoad("coupler", (0.5, 1.0, 0.0), (0.25, 0.1, 0.0), (0.0, 0.0, 0.05), "coupler", "coupler")
    options = {"method": method, "loads": load, "rtol": 1e-10, "atol": 1e-12}
    times = np.linspace(0.0, 0.8, 9)
    one = musculo.simulate(model, None, None, times, **options)
    two = musculo.simulate(model, one.q[0], None, times, formulation="constrained", **options)
    assert one.status == two.status == "finished"
    assert_allclose(one.q, two.q, rtol=0, atol=SAME)
    without = musculo.simulate(model, one.q[0], None, times, model_forces=False, **{**options, "loads": None})
    assert np.abs(one.q - without.q).max() > 0.1
    # what acts is what the forces for many frames say
    tau = musculo.model_forces(model, one.q, one.u).tau
    rest = np.zeros_like(one.u)
    bare, under = (musculo.inverse_dynamics(model, one.q, rest, rest, x) for x in ((), [load]))
    udot = musculo.forward_dynamics(model, one.q, one.u, tau + bare - under)
    assert_allclose(one.udot, udot, rtol=0, atol=1e-9 * np.abs(udot).max())
