"""Where loops are closed from: values of the file stay where they can, and what cannot is said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, MusculoWarning, PinJoint, Placement, PointConstraint
from musculo.errors import InvalidModel
from musculo.model import BallJoint, SliderJoint
from musculo.spatial.rotation import from_xyz

INERTIA = (0.02, 0.02, 0.02, 0.0, 0.0, 0.0)
ROUNDING = 1e-12
# How much more than nothing the bars of a random mechanism have to spare [m].
SPARE = 0.01


def bar(name, parent, at, angle, turn=(0.0, 0.0, 0.0)):
    coordinate = Coordinate(name, default_value=angle, range=(-10.0, 10.0))
    return Body(name, 1.0, (0.2, 0.0, 0.0), INERTIA), PinJoint(
        name, Placement(parent, tuple(at), tuple(turn)), Placement(name), (coordinate,)
    )


def closed_by(name, parts, first, second, p_1, p_2):
    pin = PointConstraint("pin", True, (), first, second, (p_1, 0.0, 0.0), (p_2, 0.0, 0.0))
    return Model(name, *map(tuple, zip(*parts, strict=True)), (pin,))


def bars(crank, coupler, rocker, ground, pose):
    parts = [
        bar("crank", "ground", (0.0, 0.0, 0.0), pose[0]),
        bar("coupler", "crank", (crank, 0.0, 0.0), pose[1]),
        bar("rocker", "ground", (ground, 0.0, 0.0), pose[2]),
    ]
    return closed_by("four-bar", parts, "coupler", "rocker", coupler, rocker)


def random_four_bar(rng):
    """A four-bar that closes with the crank at its file value, by the triangle of the other two bars."""
    while True:
        crank, coupler, rocker, ground = rng.uniform(0.15, 0.6, 4)
        angle = rng.uniform(-np.pi, np.pi)
        gap = np.hypot(crank * np.cos(angle) - ground, crank * np.sin(angle))
        if abs(coupler - rocker) + SPARE < gap < coupler + rocker - SPARE:
            return bars(crank, coupler, rocker, ground, (angle, *rng.uniform(-np.pi, np.pi, 2)))


def random_slider_crank(rng):
    while True:
        crank, rod, height = rng.uniform(0.1, 0.5), rng.uniform(0.1, 0.6), rng.uniform(-0.2, 0.2)
        angle = rng.uniform(-np.pi, np.pi)
        if abs(crank * np.sin(angle) - height) < rod - SPARE:
            break
    slides = Coordinate("piston", default_value=rng.uniform(-1.0, 1.0), range=(-10.0, 10.0))
    joint = SliderJoint("piston", Placement("ground", (0.0, height, 0.0)), Placement("piston"), (slides,))
    parts = [
        bar("crank", "ground", (0.0, 0.0, 0.0), angle),
        bar("rod", "crank", (crank, 0.0, 0.0), rng.uniform(-np.pi, np.pi)),
        (Body("piston", 1.0, (0.0, 0.0, 0.0), INERTIA), joint),
    ]
    return closed_by("slider-crank", parts, "rod", "piston", rod, 0.0)


def random_rssr(rng):
    """Two cranks about axes in space with a rod between, by the circle that the end of the second describes."""
    while True:
        first, second, rod = rng.uniform(0.1, 0.3), rng.uniform(0.2, 0.5), rng.uniform(0.3, 0.9)
        angle, base, turn = rng.uniform(-np.pi, np.pi), rng.uniform(-0.5, 0.5, 3), rng.uniform(-np.pi, np.pi, 3)
        R, way = from_xyz(turn), np.linspace(0.0, 2.0 * np.pi, 721)
        ends = base + second * (np.outer(np.cos(way), R[:, 0]) + np.outer(np.sin(way), R[:, 1]))
        gap = np.linalg.norm(ends - first * np.array([np.cos(angle), np.sin(angle), 0.0]), axis=1)
        if gap.min() + SPARE < rod < gap.max() - SPARE:
            break
    angles = [
        Coordinate(name, default_value=half * rng.uniform(-np.pi, np.pi), range=(-10.0, 10.0))
        for name, half in (("bx", 1.0), ("by", 0.4), ("bz", 1.0))
    ]
    ball = BallJoint("ball", Placement("crank", (first, 0.0, 0.0)), Placement("rod"), tuple(angles))
    parts = [
        bar("crank", "ground", (0.0, 0.0, 0.0), angle),
        (Body("rod", 1.0, (0.2, 0.0, 0.0), INERTIA), ball),
        bar("rocker", "ground", base, rng.uniform(-np.pi, np.pi), turn),
    ]
    return closed_by("RSSR", parts, "rod", "rocker", rod, second)


@pytest.mark.parametrize("make", [random_four_bar, random_slider_crank, random_rssr])
def test_a_crank_stays_where_the_file_has_it(make):
    """Whatever the file says of the others; the crank is first in the file, and can be there by elementary geometry."""
    rng = np.random.default_rng(7)
    led = 0
    for _ in range(12):
        model = make(rng)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "(?s).*'b[xyz]' is .* in the file", MusculoWarning)
            warnings.filterwarnings("error", "(?s).*'crank' is .* in the file", MusculoWarning)
            e = musculo.embedding_of(model)
        q = e.default_pose()
        assert abs(q[0] - model.coordinate("crank").default_value) < ROUNDING
        assert np.abs(musculo.constraint_residuals(model, q).residual).max() < ROUNDING
        led += "crank" in e.coordinate_names
    assert led >= 10  # the others are near a dead point of the crank


def test_the_branch_nearest_to_the_file_is_taken():
    """A triangle of two bars closes on either side: that whose angles the file has is meant, also half a turn off."""
    for side in (1.0, -1.0):
        truth = musculo.embedding_of(bars(0.2, 0.5, 0.4, 0.45, (0.9, 0.0, 1.5 * side))).default_pose()
        for turned in (0.3, -0.3):
            pose = truth + np.array([0.0, turned, -turned])
            found = musculo.embedding_of(bars(0.2, 0.5, 0.4, 0.45, pose)).default_pose()
            assert np.abs(found - truth).max() < 1e-9


def test_simulations_start_there():
    """The crank was moved by a radian, since at another pose that closes the loop it has a dead point."""
    model = bars(0.4, 0.3, 0.25, 0.5, (0.5, 0.5, 1.9))
    for independent in (None, "crank"):
        done = musculo.simulate(model, None, None, (0.0, 0.01), independent=independent)
        assert done.q[0, 0] == 0.5
        assert done.notes == ()
    assert musculo.simulate(model, None, None, (0.0, 0.01), independent="coupler").q[0, 1] == 0.5


def test_a_crank_that_cannot_stay_is_named():
    """At 2.5 rad the crank's end is farther from the rocker's pin than the other bars reach."""
    model = bars(0.4, 0.3, 0.25, 0.5, (2.5, 0.5, 1.9))
    with pytest.warns(MusculoWarning, match=r"'crank' is 2\.5 in the file and -?0\.\d+ there"):
        done = musculo.simulate(model, None, None, (0.0, 0.01))
    assert "'crank' is 2.5 in the file" in done.notes[0]
    assert done.notes == musculo.embedding_of(model).notes
    assert done.q[0, 1] == 0.5  # the next in the file can stay, and does
    given = musculo.simulate(model, done.q[0], None, (0.0, 0.01))
    assert given.notes == ()


def wheels(off):
    """Three equal cranks on one rod, of which one hole is off: it moves only where that is nothing."""
    parts = [
        bar("crank", "ground", (0.0, 0.0, 0.0), 0.9),
        bar("rod", "crank", (0.3, 0.0, 0.0), -0.9),
        bar("crank2", "ground", (0.6, 0.0, 0.0), 0.9),
        bar("crank3", "ground", (0.4, 0.0, 0.0), 0.9),
    ]
    model = closed_by("wheels", parts, "rod", "crank2", 0.6, 0.3)
    third = PointConstraint("pin3", True, (), "rod", "crank3", (0.4 + off, 0.0, 0.0), (0.3, 0.0, 0.0))
    return model.replace(constraints=(*model.constraints, third))


def test_mechanisms_without_freedom_are_told():
    with pytest.warns(MusculoWarning, match=r"leaves none of its 4 coordinates free.*crank = 1\.57\d+ \(0\.9 in the"):
        musculo.embedding_of(wheels(1e-4))
    with pytest.raises(InvalidModel, match=r"'pin', 'pin3' is neither free nor rigid"):
        musculo.embedding_of(wheels(1e-7))
    assert musculo.embedding_of(wheels(0.0)).coordinate_names == ("crank",)


@pytest.mark.parametrize("formulation", ["embedded", "constrained"])
@pytest.mark.parametrize("name", ["crank", "coupler", "rocker"])
def test_a_mechanism_that_a_lock_holds_is_told(name, formulation):
    """The file's values do not close it, but for the locked one; where they do, there is nothing to tell."""
    model = bars(0.2, 0.5, 0.4, 0.45, (0.9, 0.0, 1.5)).with_coordinate(name, locked=True)
    said = rf"leaves none of its 2 coordinates free with '{name}' locked: it stands still with"
    with pytest.warns(MusculoWarning, match=said):
        done = musculo.simulate(model, None, None, (0.0, 0.01), formulation=formulation)
    for k, c in enumerate(model.coordinates):
        assert (c.name == name) == (done.q[0, k] == c.default_value)
        assert (f"{c.name} = {done.q[0, k]:.6g} ({c.default_value:.6g} in the file)" in done.notes[0]) == (
            c.name != name
        )
        model = model.with_coordinate(c.name, default_value=float(done.q[0, k]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MusculoWarning)
        again = musculo.simulate(model, None, None, (0.0, 0.01), formulation=formulation)
    assert again.notes == ()
