"""Energies, momenta and mass centres by hand."""

from __future__ import annotations

import math

import numpy as np

import musculo
from musculo import Body, Coordinate, Model, Placement
from musculo.model.joints import FreeJoint, PinJoint, SliderJoint
from support.dynamics_models import assert_allclose, random_state, random_tree

# A handful of products in float64.
ROUNDING = 1e-13

NAMES = tuple(map(Coordinate, ("a", "b", "c", "x", "y", "z")))


def free_body(**changes) -> Model:
    body = Body("b", 2.0, (0.0, 0.0, 0.0), (0.3, 0.4, 0.5, 0, 0, 0))
    return Model("free", (body,), (FreeJoint("j", Placement("ground"), Placement("b"), NAMES),), **changes)


def test_a_spinning_flying_body():
    """T = m v^2 / 2 + w I w / 2, p = m v, L = I w, V = m g y."""
    model, q, u = free_body(), [0, 0, 0, 1.0, 2.0, 3.0], [1.0, -2.0, 0.5, 3.0, 0, 4.0]
    assert_allclose(
        musculo.kinetic_energy(model, q, u), 0.5 * 2.0 * 25 + 0.5 * (0.3 + 0.4 * 4 + 0.5 * 0.25), rtol=ROUNDING
    )
    linear, angular = musculo.momentum(model, q, u)
    assert_allclose(linear, [6.0, 0, 8.0], atol=ROUNDING)
    assert_allclose(angular, [0.3, -0.8, 0.25], atol=ROUNDING)
    assert_allclose(musculo.potential_energy(model, q), 2.0 * 9.80665 * 2.0, rtol=ROUNDING)


def test_angular_momentum_is_about_the_mass_centre():
    """Two beads on a turning bar: L = 2 m r^2 w, and flying along does not add to it."""
    bodies = (Body("bar", 0.0), Body("left", 1.0), Body("right", 1.0))
    slide = lambda name, x: SliderJoint(  # noqa: E731
        name, Placement("bar", (x, 0, 0)), Placement(name.split("_")[0]), (Coordinate(name),)
    )
    model = Model(
        "beads",
        bodies,
        (FreeJoint("j", Placement("ground"), Placement("bar"), NAMES), slide("left_x", -0.5), slide("right_x", 0.5)),
    )
    u = [0, 0, 2.0, 7.0, 0, 0, 0, 0]
    q = [0, 0, 0, 1.0, 5.0, 0, 0, 0]
    assert_allclose(musculo.momentum(model, q, u).angular, [0, 0, 2 * 0.25 * 2.0], atol=ROUNDING)
    assert_allclose(musculo.center_of_mass(model, q), [1.0, 5.0, 0], atol=ROUNDING)
    assert musculo.total_mass(model) == 2.0


def test_gravity_may_point_anywhere():
    q = [0, 0, 0, 1.0, 2.0, 3.0]
    assert_allclose(musculo.potential_energy(free_body(gravity=(0, 0, 4.0)), q), -2.0 * 4.0 * 3.0, rtol=ROUNDING)


def test_a_pendulum_swings_between_its_energies():
    body = Body("bob", 1.5, (0.8, 0, 0), (0, 0.1, 0.1, 0, 0, 0))
    model = Model("pendulum", (body,), (PinJoint("j", Placement("ground"), Placement("bob"), (Coordinate("q"),)),))
    for q in (-1.2, 0.0, 0.9):
        assert_allclose(musculo.potential_energy(model, [q]), 1.5 * 9.80665 * 0.8 * math.sin(q), atol=ROUNDING)
        assert_allclose(musculo.kinetic_energy(model, [q], [2.0]), 0.5 * (0.1 + 1.5 * 0.64) * 4.0, rtol=ROUNDING)


def test_without_mass_the_centre_is_the_origin():
    model = Model("ghost", (Body("b", 0.0),), (FreeJoint("j", Placement("ground"), Placement("b"), NAMES),))
    assert_allclose(musculo.center_of_mass(model, [0, 0, 0, 1, 2, 3]), 0)
    assert musculo.potential_energy(model, [0, 0, 0, 1, 2, 3]) == 0.0


def test_one_frame_and_many():
    rng = np.random.default_rng(0)
    model = random_tree(rng)
    q, u, _ = random_state(model, rng, frames=3)
    assert musculo.kinetic_energy(model, q, u).shape == (3,)
    assert np.shape(musculo.kinetic_energy(model, q[0], u[0])) == ()
    assert np.shape(musculo.potential_energy(model, q[0])) == ()
    assert musculo.center_of_mass(model, q).shape == (3, 3)
    for many, one in zip(musculo.momentum(model, q, u), musculo.momentum(model, q[1], u[1]), strict=True):
        assert_allclose(many[1], one, atol=ROUNDING)
