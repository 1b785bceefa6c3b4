"""Inertias that no body can have: used as they stand, noted, and named where forward dynamics cannot go on."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, PinJoint, Placement
from musculo.errors import SingularSystem
from musculo.functions import Linear
from musculo.model.model_constraint import CoordinateCoupler

GOOD = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def pendulum(inertia=GOOD, center=(0.1, 0.0, 0.0)) -> Model:
    joint = PinJoint("pin", "ground", "rod", (Coordinate("angle", 0.3),))
    return Model("pendulum", (Body("rod", 1.0, center, inertia),), (joint,))


@pytest.mark.parametrize(
    ("inertia", "moment"),
    [
        ((-1.0, 1.0, 1.0, 0.0, 0.0, 0.0), "-1 "),
        ((1.0, 1.0, 1.0, 5.0, 0.0, 0.0), "-4 "),
        ((1.0, 1.0, -5.0, 0.0, 0.0, 0.0), "-5 "),
    ],
)
def test_negative_moments_are_noted(inertia, moment, tmp_path):
    model = pendulum(inertia)
    (note,) = model.notes
    assert note.where == "/bodyset/rod"
    assert f"negative moment ({moment}kg m^2)" in note.why
    assert "forward dynamics and simulations stop" in note.why
    musculo.write_osim(model, tmp_path / "m.osim")
    read = musculo.read_osim(tmp_path / "m.osim")
    assert [n for n in read.notes if "negative moment" in n.why] == [note]
    assert read.body("rod").inertia == inertia


def test_the_note_goes_with_the_inertia():
    model = pendulum((1.0, 1.0, -5.0, 0.0, 0.0, 0.0))
    assert model.replace(name="other").notes == model.notes
    assert model.with_body("rod", inertia=GOOD).notes == ()
    assert pendulum().with_body("rod", inertia=(-1.0, 1.0, 1.0, 0.0, 0.0, 0.0)).notes != ()


def test_mechanics_uses_them_as_they_stand():
    model = pendulum((1.0, 1.0, -5.0, 0.0, 0.0, 0.0))
    assert musculo.mass_matrix(model, [0.3]).item() == pytest.approx(0.01 - 5.0, abs=1e-14)
    # about the axis of the pin the moment is positive
    turned = pendulum((-1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    assert np.isfinite(musculo.forward_dynamics(turned, [0.3], [0.0], [0.0])).all()
    assert musculo.simulate(turned, [0.3], [0.0], (0.0, 0.1)).status == "finished"


@pytest.mark.parametrize("zz", [-5.0, -0.01], ids=["indefinite", "singular"])
def test_forward_dynamics_names_the_body(zz):
    model = pendulum((1.0, 1.0, zz, 0.0, 0.0, 0.0))
    named = r"speed 'angle' at frame 0: the mass matrix is singular or indefinite there, for the inertia of 'rod'"
    with pytest.raises(SingularSystem, match=named):
        musculo.forward_dynamics(model, [0.3], [0.0], [0.0])
    with pytest.raises(SingularSystem, match=named):
        musculo.simulate(model, [0.3], [0.0], (0.0, 0.1))


def with_tip(constraints=()) -> Model:
    """A second body whose inertia is negative; bent, its share of the first joint's inertia is smaller."""
    one = pendulum((1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    knee = PinJoint("knee", Placement("rod", (0.5, 0.0, 0.0)), "tip", (Coordinate("bend", 0.2),))
    tip = Body("tip", 1.0, (1.0, 0.0, 0.0), (1.0, 1.0, -0.5, 0.0, 0.0, 0.0))
    return Model("two", (*one.bodies, tip), (*one.joints, knee), constraints)


def test_forward_dynamics_under_couplers_names_the_body():
    coupler = CoordinateCoupler("c", dependent="bend", independents=("angle",), function=Linear(2.0, 0.0))
    model = with_tip((coupler,)).with_body("tip", inertia=(1.0, 1.0, -9.0, 0.0, 0.0, 0.0))
    q = musculo.embedding_of(model).coordinates([0.3])
    with pytest.raises(SingularSystem, match="the inertia of 'tip' has a negative moment"):
        musculo.forward_dynamics(model, q, [0.0, 0.0], [0.0, 0.0])


def test_a_simulation_that_comes_to_an_indefinite_mass_matrix_has_failed():
    """At a right angle the mass matrix is positive; straight and folded it is not."""
    model = with_tip().with_body("rod", inertia=(1.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    smallest = [np.linalg.eigvalsh(musculo.mass_matrix(model, [0.0, bend]))[0] for bend in (0.0, np.pi / 2, np.pi)]
    assert smallest[0] < 0.0 < smallest[1]
    assert smallest[2] < 0.0
    run = musculo.simulate(model, [0.0, np.pi / 2], [0.0, 3.0], (0.0, 1.0))
    assert run.status == "failed"
    assert "the inertia of 'tip' has a negative moment" in run.reason
