"""Tensions along paths by hand, what they do to coordinates, and messages about what does not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, PinJoint, Placement, muscle_equilibrium, path_geometry, path_tensions
from musculo.errors import InvalidInput, InvalidModel, UnknownName, Unsupported
from musculo.functions.formula import compile_expressions
from musculo.model.force import Force, Muscle
from musculo.model.model_path import Path, PathPoint
from musculo.model.path_force import (
    Blankevoort1991Ligament,
    ClutchedPathSpring,
    ExpressionBasedPathForce,
    Ligament,
    PathActuator,
    PathSpring,
)
from musculo.muscle import path_generalized_forces
from musculo.muscle.path_loads.path_forces import spring_forces

# A few operations on numbers of order one to a thousand.
ROUNDING = 1e-12


def hinge(*forces):
    """A rod on a pin; every force pulls its end towards a point of ground."""
    body = Body("rod", 1.0, (0.0, -0.5, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    joint = PinJoint("pin", Placement("ground"), Placement("rod"), (Coordinate("angle"),))
    path = Path((PathPoint("a", "ground", (0.3, 0.1, 0.0)), PathPoint("b", "rod", (0.0, -0.4, 0.0))))
    with_path = tuple(type(f)(**{**vars(f), "path": path}) for f in forces)
    return Model("hinge", (body,), (joint,), forces=with_path)


def test_a_spring_by_hand():
    model = hinge(PathSpring("s", resting_length=0.2, stiffness=100.0, dissipation=0.5))
    t = path_tensions(model, [[0.1], [0.3], [0.3]], [[1.0], [0.0], [2.0]]).tension
    assert t[:, 0] == pytest.approx([0.0, 10.0, 20.0], rel=ROUNDING)


def test_a_ligament_of_blankevoort_by_hand():
    """Strains of 3 % (toe), 10 % (linear), and 0.5 % with half of the damping faded in."""
    made = Blankevoort1991Ligament("b", slack_length=1.0, linear_stiffness=1000.0, damping_coefficient=8.0)
    t = path_tensions(hinge(made), [[0.9], [1.03], [1.1], [1.005]], [[0.0], [0.0], [-5.0], [1.0]]).tension[:, 0]
    toe = 0.5 * 1000.0 / 0.06
    assert t == pytest.approx([0.0, toe * 0.03**2, 1000.0 * 0.07, toe * 0.005**2 + 4.0], rel=1e-10)


def test_controls_go_to_those_that_have_them_in_order():
    model = hinge(
        PathActuator("first", optimal_force=10.0),
        PathSpring("spring", resting_length=0.0, stiffness=1.0),
        ClutchedPathSpring("clutch", stiffness=100.0, initial_stretch=0.1),
    )
    assert path_tensions(model, [1.0] * 3, [0.0] * 3, [2.0, 0.5]).tension == pytest.approx([20.0, 1.0, 5.0])
    assert path_tensions(model, [1.0] * 3, [0.0] * 3, [2.0, 7.0], [0.2]).tension == pytest.approx([20.0, 1.0, 20.0])


def test_what_is_switched_off_does_not_pull():
    off = PathSpring("s", applies_force=False, resting_length=0.2, stiffness=100.0)
    assert path_tensions(hinge(off), [1.0], [0.0]).tension == [0.0]


def test_a_muscle_that_is_switched_off_has_a_state_and_does_nothing():
    """As OpenSim 4.6: getTendonForce is that of the state, getActuation zero."""
    on = Muscle("on", "Thelen2003Muscle", optimal_fiber_length=0.3, tendon_slack_length=0.2)
    model = hinge(on, replace(on, name="off", applies_force=False))
    g = path_geometry(model, [0.0], [0.0])
    forces = muscle_equilibrium(model, g.length, g.speed, 0.5)
    assert forces.tendon_force[0] == forces.tendon_force[1] > 100.0
    tau = path_generalized_forces(g, forces.tendon_force, forces.muscles)
    assert tau == pytest.approx(forces.tendon_force[0] * g.moment_arm[0], rel=ROUNDING)


def test_power_of_the_tensions_is_that_of_the_generalised_forces():
    """tau . u = -sum T ldot."""
    model = hinge(
        PathSpring("a", resting_length=0.1, stiffness=70.0), Ligament("b", resting_length=0.3, pcsa_force=50.0)
    )
    rng = np.random.default_rng(0)
    q, u = rng.uniform(-1.0, 1.0, (20, 1)), rng.normal(size=(20, 1))
    g = path_geometry(model, q, u)
    tension = path_tensions(model, g.length, g.speed)
    tau = tension.generalized_forces(g)
    power = -np.sum(tension.tension * g.speed, axis=1)
    assert np.abs(np.sum(tau * u, axis=1) - power).max() < ROUNDING * np.abs(power).max()
    assert (tension.tension > 0.0).any(axis=0).all()


def test_springs_act_where_actuators_are_idle():
    """The power of what springs do is that of their tensions; an actuator beside them has none, nor has a clutch."""
    spring = PathSpring("s", resting_length=0.2, stiffness=100.0, dissipation=0.5)
    idle = PathActuator("m", optimal_force=50.0), ClutchedPathSpring("c", stiffness=10.0)
    q, u = np.array([[0.3], [-0.2]]), np.array([[1.0], [-2.0]])
    model = hinge(spring, *idle)
    g = path_geometry(model, q, u)
    alone = hinge(spring)
    tension = path_tensions(alone, g.length[:, :1], g.speed[:, :1]).tension
    tau = spring_forces(model, g)
    np.testing.assert_allclose((tau * u)[:, 0], -(tension * g.speed[:, :1])[:, 0], rtol=ROUNDING)
    assert (np.abs(tau) > 1.0).all()
    np.testing.assert_allclose(tau, spring_forces(alone, path_geometry(alone, q, u)), rtol=ROUNDING)


def test_muscle_forces_are_pulled_back_by_name(leg):
    q = np.full((3, len(leg.coordinate_names)), 0.1)
    g = path_geometry(leg, q, like="opensim")
    names = leg.muscle_names[::-1]
    T = np.arange(3.0 * len(names)).reshape(3, -1)
    expected = np.einsum("fp,fpu->fu", T[:, ::-1], g.moment_arm)
    assert np.allclose(path_generalized_forces(g, T, names), expected, rtol=ROUNDING, atol=ROUNDING)
    with pytest.raises(UnknownName, match="no path 'soleus_x'"):
        path_generalized_forces(g, T[:, :1], ["soleus_x"])


def test_errors_say_what_is_missing():
    spring = hinge(PathSpring("s", resting_length=0.2, stiffness=100.0))
    with pytest.raises(InvalidInput, match="it needs 1 columns"):
        path_tensions(spring, [[1.0, 2.0, 3.0]], [[0.0, 0.0, 0.0]])
    with pytest.raises(InvalidInput, match="speed is missing"):
        path_tensions(spring, [1.0], path_geometry(spring, [0.0]).speed)
    with pytest.raises(InvalidInput, match="give their control"):
        path_tensions(hinge(PathActuator("motor")), [1.0], [0.0])
    with pytest.raises(InvalidModel, match="resting length is 0 m"):
        path_tensions(hinge(Ligament("l", pcsa_force=1.0)), [1.0], [0.0])
    with pytest.raises(Unsupported, match="SpecialCord 'x' runs along a path"):
        path_tensions(hinge(Force("x", "SpecialCord")), [1.0], [0.0])
    with pytest.raises(InvalidModel, match=r"ExpressionBasedPathForce 'e': .*no variable 'z'"):
        path_tensions(hinge(ExpressionBasedPathForce("e", expression="2*z")), [1.0], [0.0])


@pytest.mark.parametrize("bad", ["", "1+", "(1", "s s", "min(1)", "a; a=a", "1; b", "sin 2", "s$"])
def test_expressions_that_cannot_be_read(bad):
    with pytest.raises((InvalidInput, UnknownName)):
        compile_expressions([bad], ("s",))


def test_powers_bind_before_signs_and_from_the_right():
    value = {text: _value(text) for text in ("-2^2", "2^3^2", "8/4/2", "2-3-4", "-2*-3", "2^-1", "a*s; a=b+1; b=2")}
    assert list(value.values()) == [-4.0, 512.0, 1.0, -5.0, 6.0, 0.5, 15.0]


def _value(text):
    model = hinge(ExpressionBasedPathForce("e", expression=text))
    return float(path_tensions(model, [5.0], [0.0]).tension[0])


@pytest.mark.parametrize(
    ("force", "key"),
    [
        (PathSpring, "resting_length"),
        (PathSpring, "stiffness"),
        (PathSpring, "dissipation"),
        (ClutchedPathSpring, "stiffness"),
        (ClutchedPathSpring, "dissipation"),
        (ClutchedPathSpring, "initial_stretch"),
        (Blankevoort1991Ligament, "linear_stiffness"),
        (Blankevoort1991Ligament, "damping_coefficient"),
        (Ligament, "pcsa_force"),
    ],
)
def test_what_would_make_a_cord_push_is_an_error(force, key):
    """As in OpenSim 4.6, but for pcsa_force: a ligament of -1 N pushes there."""
    sizes = {"slack_length": 0.2} if force is Blankevoort1991Ligament else {}
    sizes |= {"resting_length": 0.2} if force is Ligament else {}
    model = hinge(force("cord", **sizes, **{key: -0.1}))
    with pytest.raises(InvalidModel, match=rf"{force.__name__} 'cord': its {key} is -0.1; give zero or more"):
        path_tensions(model, [0.5], [0.0], 0.0)
