"""Joints that turn by their coordinate and slide as functions of it say, as a knee does: a short cut for them alone."""

from __future__ import annotations

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Placement, forward_dynamics, inverse_dynamics, kinematics, mass_matrix
from musculo.compile.compiled import compiled
from musculo.functions.elementary_functions import Constant, FourierSeries, Linear, PiecewiseLinear, Polynomial
from musculo.functions.splines import GCVSpline, SimmSpline
from musculo.model.joints import Axis, CustomJoint, PinJoint

X = np.linspace(-2.0, 2.0, 9)
MANY = np.linspace(-2.0, 2.0, 121)
SLIDES = {
    "cubic": SimmSpline(tuple(X), tuple(0.1 * np.sin(2.0 * X))),
    "fifth degree": GCVSpline(tuple(X), tuple(0.1 * np.cos(X)), half_order=3),
    "many pieces": SimmSpline(tuple(MANY), tuple(0.1 * np.sin(3.0 * MANY))),
    "corners": PiecewiseLinear(tuple(X), tuple(0.1 * X**2)),
    "polynomial": Polynomial((0.02, -0.1, 0.3)),
    "wave": FourierSeries(0.1, (0.05, 0.01), (0.02, -0.03), 1.3),
    "constant": Constant(0.3),
}


def leg(slide, turn, more: tuple[Axis, ...]) -> Model:
    """Two bodies; the second hangs on the joint in question, with slanted axes."""
    bodies = tuple(Body(name, 2.0, (0.02, -0.2, 0.01), (0.05, 0.01, 0.05, 0.0, 0.001, 0.002)) for name in ("a", "b"))
    hip = PinJoint("hip", Placement("ground"), Placement("a"), (Coordinate("flex"),))
    where = Placement("a", (0.0, -0.4, 0.1), (0.3, -0.2, 0.5))
    slides = (
        Axis((1.0, 2.0, 0.0), slide, ("bend",)),
        Axis((0.0, 1.0, 1.0), Linear(0.2, 0.1), ("bend",)),
        Axis((0.0, 0.0, 1.0)),
    )
    rotations = (Axis((1.0, 1.0, -0.5), turn, ("bend",)), *more)
    knee = CustomJoint(
        "knee", where, Placement("b", (0.0, 0.1, 0.0), (0.1, 0.2, 0.3)), (Coordinate("bend"),), (), rotations, slides
    )
    return Model("leg", bodies, (hip, knee), gravity=(0.0, -9.81, 0.5))


@pytest.mark.parametrize("name", SLIDES)
@pytest.mark.parametrize("turn", [Linear(1.0, 0.0), Linear(-1.0, 0.4)], ids=["straight", "back"])
def test_short_cut_gives_what_the_general_joint_gives(name, turn):
    idle = (Axis((0.0, 1.0, 0.0)), Axis((0.0, 0.0, 1.0)))
    # a rotation by a polynomial that is zero: nobody knows that beforehand
    hidden = (Axis((0.0, 1.0, 0.0), Polynomial((0.0, 0.0)), ("bend",)), Axis((0.0, 0.0, 1.0)))
    short, general = leg(SLIDES[name], turn, idle), leg(SLIDES[name], turn, hidden)
    assert [int(compiled(m).tree.guided.sum()) for m in (short, general)] == [1, 0]
    rng = np.random.default_rng(3)
    q, u, tau = rng.uniform(-2.5, 2.5, (21, 2)), rng.normal(size=(21, 2)), rng.normal(size=(21, 2))
    # at knots, too
    q[:9, 1] = X
    results = [
        (
            forward_dynamics(m, q, u, tau),
            inverse_dynamics(m, q, u, tau),
            mass_matrix(m, q),
            kinematics(m, q, u, tau).pose("b").p,
            kinematics(m, q, u, tau).pose("b").R,
        )
        for m in (short, general)
    ]
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)
