"""Mechanisms of one's own: positions and distances, what is wrong with equations, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, ExternalLoad, Placement
from musculo.absolute import (
    AngleDriver,
    CoordinateDriver,
    Distance,
    DistanceDriver,
    EulerDriver,
    Frame,
    GivenNumbers,
    GivenOrientation,
    LoadOf,
    Mechanism,
    OrientationDriver,
    PointOnEllipsoid,
    PositionDriver,
    Revolute,
    Scapulothoracic,
    Spherical,
    Status,
    Universal,
    kinematic_analysis,
)
from musculo.errors import InvalidInput, InvalidModel, MusculoError, UnknownName
from musculo.model.joints.joint import FunctionMotion, along

# Newton's method stops where its last step is smaller than 1e-10.
STEP = 1e-9
ROD = Body("rod", 2.0, (0.1, -0.3, 0.05), (0.06, 0.01, 0.07, 0.002, 0.001, -0.003))
Z = (0.0, 0.0, 1.0)
T = np.linspace(0.0, 1.0, 101)


def turn(degrees: float) -> GivenOrientation:
    """About z from zero on at a constant rate."""
    rate = np.radians(degrees)
    return GivenOrientation.about(Z, rate * T, np.full(T.size, rate))


def test_positions_and_distances():
    """A body whose point is driven along two directions and held at a distance from another point."""
    base, tip, far = Frame("ground"), Frame("rod"), Frame(Placement("ground", (0.0, 0.0, -2.0)))
    turned, place = OrientationDriver("turn", base, tip), PositionDriver("place", base, tip, ((1, 0, 0), (0, 1, 0)))
    rod = DistanceDriver("distance", far, tip)
    m = Mechanism((ROD,), (turned, place, rod), gravity=(0.0, 0.0, -10.0))
    still = GivenOrientation.about(Z, 0.0 * T)
    x, y = 0.3 * T, 0.2 * T**2
    numbers = GivenNumbers.of(
        np.stack([x, y], 1), np.stack([0 * T + 0.3, 0.4 * T], 1), np.stack([0 * T, 0 * T + 0.4], 1)
    )
    given = {"turn": still, "place": numbers, "distance": GivenNumbers.of(2.5 + 0 * T)}
    start = m.positions(np.array([[[0.0, 0.0, 0.4]]]), np.array([[[1.0, 0.0, 0.0, 0.0]]]), np.zeros((1, 0)))[0]
    found = kinematic_analysis(m, given, start=start, loads=True)
    assert found.found
    z = np.sqrt(2.5**2 - x**2 - y**2) - 2.0
    assert_allclose(found.place("rod"), np.stack([x, y, z], 1), atol=STEP)
    # the rod from below carries the weight at the beginning, where it stands upright
    assert_allclose(found.load("distance")[0][0, 2], 20.0 - 2.0 * 0.3**2 / 2.5, atol=1e-6)


def test_what_drivers_refuse():
    base, tip = Frame("ground"), Frame("rod")
    m = Mechanism((ROD,), (Revolute("pin", base, tip), OrientationDriver("drive", base, tip, "z")))
    x = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    with pytest.raises(InvalidInput, match="'drive' is told nothing"):
        kinematic_analysis(m, {}, start=x)
    with pytest.raises(InvalidInput, match="is told an orientation"):
        kinematic_analysis(m, {"drive": GivenNumbers.of(T)}, start=x)
    with pytest.raises(InvalidInput, match="does not say how its 1 bodies are assembled"):
        kinematic_analysis(m, {"drive": turn(10.0)})
    with pytest.raises(InvalidInput, match="axes is 'u'"):
        OrientationDriver("drive", base, tip, "u")
    with pytest.raises(InvalidInput, match="start has shape"):
        kinematic_analysis(m, {"drive": turn(10.0)}, start=x[:3])


def test_free_motion_is_named():
    m = Mechanism((ROD,), (Revolute("pin", Frame("ground"), Frame("rod")),))
    found = kinematic_analysis(m, {}, start=np.array([0.1, -0.3, 0.05, 1.0, 0.0, 0.0, 0.0]))
    assert found.status[0] == Status.NOT_DETERMINED
    assert found.diagnosis.free == ("rod",)
    assert "drive it" in str(found.diagnosis)


@pytest.mark.parametrize("angle", [0.0, 1e-7])
def test_singular_positions_are_named(angle):
    """A parallelogram at its dead point, where the rocker may turn either way; so it is a hair beside it."""
    names, turned = ("crank", "coupler", "rocker"), (0.0, np.pi / 2, 0.0)
    bodies = tuple(Body(name, 1.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0)) for name in names)
    equations = (
        Revolute("A", "ground", "crank"),
        Spherical("B", Placement("crank", (1.0, 0.0, 0.0)), "coupler"),
        Universal("C", Placement("coupler", (3.0, 0.0, 0.0), turned), Placement("rocker", (1.0, 0.0, 0.0))),
        Revolute("D", Placement("ground", (3.0, 0.0, 0.0)), "rocker"),
        OrientationDriver("motor", "ground", "crank", "z"),
    )
    m = Mechanism(bodies, equations)

    def at(a):
        places = {"crank": ((0, 0, 0), a), "coupler": ((np.cos(a), np.sin(a), 0), 0.0), "rocker": ((3, 0, 0), a)}
        start = m.position({name: Placement("ground", p, (0, 0, turn)) for name, (p, turn) in places.items()})
        return kinematic_analysis(m, {"motor": GivenOrientation.about(Z, [a])}, start=start)

    assert at(0.4).found
    found = at(angle)
    assert found.status[0] == Status.NOT_DETERMINED
    assert found.diagnosis.free == ("coupler", "rocker")
    assert {"A", "B", "C", "D"} <= set(found.diagnosis.redundant)


def test_contradictions_are_named():
    """A rod between two pins that are further apart than it is long."""
    pins = [Frame(Placement("ground", (x, 0.0, 0.0))) for x in (0.0, 2.0)]
    ends = [Frame(Placement("rod", (x, 0.0, 0.0))) for x in (0.0, 1.0)]
    constraints = [
        Spherical(name, *pair) for name, pair in zip(("left", "right"), zip(pins, ends, strict=True), strict=True)
    ]
    m = Mechanism((ROD,), (*constraints, OrientationDriver("roll", pins[0], ends[0], "x")))
    start = m.positions(np.array([[[0.4, 0.0, 0.0]]]), np.array([[[1.0, 0.0, 0.0, 0.0]]]), np.zeros((1, 0)))[0]
    found = kinematic_analysis(m, {"roll": GivenOrientation.about(Z, [0.0])}, start=start)
    assert found.status[0] == Status.INCONSISTENT
    assert not found.found
    assert set(found.diagnosis.inconsistent) == {"left", "right"}
    # half of what is missing at each end
    assert_allclose(np.abs(found.residual).max(), 0.5, atol=1e-6)


def test_loads_from_outside():
    """A rod that hangs still from a hinge, with a load at its end: loads of the hinge by hand; what is refused."""
    base, top = Frame("ground"), Frame("rod")
    motor = OrientationDriver("motor", base, top, "z")
    m = Mechanism((ROD,), (Revolute("hinge", base, top), motor), (0.0, 0.0, 0.0), chain=((motor.guided, top),))
    still = {"motor": GivenOrientation.about(Z, np.zeros(3))}
    load = ExternalLoad("rod", (0.0, -50.0, 7.0), (0.4, 0.0, 0.0), moment=(1.0, 2.0, 3.0))
    found = kinematic_analysis(m, still, forces=[load], loads=True)
    assert_allclose(found.load("hinge")[0], np.tile([0.0, 50.0, -7.0], (3, 1)), atol=1e-12)
    assert_allclose(found.load("motor")[1][:, 2], 0.4 * 50.0 - 3.0, atol=1e-12)
    assert_allclose(found.load("hinge")[1][:, :2], np.tile([-1.0, -2.0 + 7.0 * 0.4], (3, 1)), atol=1e-12)
    same = kinematic_analysis(m, still, forces=m.forces([load], 3), loads=True)
    assert np.array_equal(same.multipliers, found.multipliers)
    placed = kinematic_analysis(m, still, start={"rod": Placement("ground")})
    assert_allclose(placed.relative("ground", "rod"), found.relative(base, top), atol=STEP)
    for forces, why in (
        (np.zeros((3, 3)), r"forces have shape \(3, 3\); give .* here \(3, 6\)"),
        (np.full((3, 6), np.nan), "of finite numbers"),
        ([ExternalLoad("rod", force_in="rod")], "given in another frame"),
        ([ExternalLoad("rodd")], "no body 'rodd'"),
    ):
        with pytest.raises(MusculoError, match=why):
            kinematic_analysis(m, still, forces=forces)
    with pytest.raises(InvalidInput, match=r"weights are .* two above zero"):
        kinematic_analysis(m, still, weights=(1.0, 0.0))


def test_frames_after_one_without_a_position():
    """They start from the last that has one: a distance out of reach for a while."""
    base, tip, far = (
        Frame("ground"),
        Frame(Placement("rod", (1.0, 0.0, 0.0))),
        Frame(Placement("ground", (2.0, 0.0, 0.0))),
    )
    m = Mechanism((ROD,), (Revolute("pin", base, Frame("rod")), DistanceDriver("reach", far, tip)))
    reach = 2.0 + 1.3 * np.sin(np.pi * T)
    start = m.positions(np.zeros((1, 1, 3)), np.array([[[np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]]]), np.zeros((1, 0)))[0]
    found = kinematic_analysis(m, {"reach": GivenNumbers.of(reach)}, start=start, together=1)
    within = reach < 2.99
    assert np.all(found.status[within] == Status.FOUND)
    assert np.abs(found.residual[within]).max() < STEP
    assert np.abs(found.residual[reach > 3.01]).max() > 1e-3


def test_a_position_to_start_from():
    """A four-bar linkage that turns from a rough position; loads are computed if asked for."""
    crank, coupler, rocker = (
        Body(name, 1.0, inertia=(0.1,) * 3 + (0.0,) * 3) for name in ("crank", "coupler", "rocker")
    )

    def at(body, x):
        return Frame(Placement(body, (x, 0.0, 0.0)))

    motor = OrientationDriver("motor", "ground", "crank", "z")
    linkage = Mechanism(
        (crank, coupler, rocker),
        (
            Revolute("A", "ground", "crank"),
            Revolute("B", at("crank", 1.0), "coupler"),
            Revolute("C", at("coupler", 3.5), at("rocker", 3.0)),
            Revolute("D", at("ground", 4.0), "rocker"),
            motor,
        ),
    )
    places = {"crank": ((0, 0, 0), 0.5), "coupler": ((0.9, 0.5, 0), 0.6), "rocker": ((4, 0, 0), 1.8)}
    start = linkage.position({name: Placement("ground", p, (0, 0, a)) for name, (p, a) in places.items()})
    told = {"motor": GivenOrientation.about(Z, 0.5 + 2 * np.pi * T, np.full(T.size, 2 * np.pi))}
    found = kinematic_analysis(linkage, told, start=start)
    assert found.found
    assert np.abs(found.residual).max() < STEP
    assert_allclose(found.rotation("coupler")[-1], found.rotation("coupler")[0], atol=STEP)
    assert set(found.diagnosis.redundant) == {"A", "B", "C", "D"}
    # so few frames that eight at once would find the other branch of the linkage
    for frames in (13, 21, 31):
        angle = 0.5 + 2 * np.pi * np.linspace(0.0, 1.0, frames)
        few = kinematic_analysis(linkage, {"motor": GivenOrientation.about(Z, angle)}, start=start)
        each = kinematic_analysis(linkage, {"motor": GivenOrientation.about(Z, angle)}, start=start, together=1)
        assert few.found
        assert_allclose(few.rotation("rocker"), each.rotation("rocker"), atol=STEP)
        assert_allclose(few.rotation("rocker")[-1], found.rotation("rocker")[0], atol=STEP)
    assert "101 found" in repr(found)
    assert "3 bodies, 21 equations for 18 unknowns" in repr(linkage)
    with pytest.raises(InvalidInput, match="loads=True"):
        found.load("motor")
    with pytest.raises(InvalidInput, match="body 'coupler' has no place"):
        linkage.position({"crank": Placement("ground")})
    with pytest.raises(UnknownName, match="no body 'crnk'"):
        linkage.position({"crnk": Placement("ground")})
    with pytest.raises(UnknownName, match="no coordinate 'angle'"):
        linkage.position({}, {"angle": 1.0})


def test_mechanisms_that_are_none():
    with pytest.raises(InvalidModel, match="two bodies are called 'rod'"):
        Mechanism((ROD, ROD), ())
    with pytest.raises(InvalidModel, match="needs a body"):
        Mechanism((), ())
    base, tip = Frame("ground"), Frame("rod")
    with pytest.raises(InvalidModel, match="are called 'pin'"):
        Mechanism((ROD,), (Revolute("pin", base, tip), Spherical("pin", base, tip)))
    with pytest.raises(InvalidModel, match=r"as \(rod,\)"):
        Mechanism(ROD, ())
    with pytest.raises(UnknownName, match="no body 'rodd' in 'pin'; did you mean 'rod'"):
        Mechanism((ROD,), (Revolute("pin", "ground", "rodd"),))
    with pytest.raises(UnknownName, match="no constraint or driver 'pinn' in load 'l'"):
        Mechanism((ROD,), (Revolute("pin", base, tip),), loads=(LoadOf("l", ("pinn",), tip, base),))
    for chain, why in ((((tip, tip),), "'rod' has no place yet"), (((base, tip),) * 2, "it has a place already")):
        with pytest.raises(InvalidModel, match=why):
            Mechanism((ROD,), (), chain=chain)
    guided = OrientationDriver("far", base, tip).guided
    with pytest.raises(UnknownName, match="no driver 'far' in the chain, as what moves a frame"):
        Mechanism((ROD,), (Revolute("pin", base, tip),), chain=((guided, tip),))
    hinge = Frame("ground", FunctionMotion((along(Z, "angle"),)))
    with pytest.raises(UnknownName, match="no coordinate 'angle' in the constraints; the chain"):
        Mechanism((ROD,), (Revolute("pin", base, tip),), chain=((hinge, tip),))
    with pytest.raises(InvalidInput, match="told numbers, which give no frame"):
        _ = DistanceDriver("reach", base, tip).guided
    for made, why in (
        (EulerDriver("e", base, tip, ((0, 0, 1),)), "'e': a vector of Euler parameters is .* needs 4 numbers"),
        (AngleDriver("e", base, tip, (((0, 1), (0, 0, 1)),)), "'e': a direction is .* needs 3 numbers"),
        (PointOnEllipsoid("e", base, tip, (1, 0, 1)), "'e': radii are .* three above zero"),
        (Distance("e", base, tip, 0.0), "'e': the distance is 0.0 m"),
        (Scapulothoracic("e", base, tip), "'e': points are .* two that differ"),
        (CoordinateDriver("e"), "'e' names no coordinate"),
    ):
        with pytest.raises(InvalidModel, match=why):
            Mechanism((ROD,), (made,))
    m = Mechanism((ROD,), (Revolute("pin", base, tip), OrientationDriver("drive", base, tip, "z")))
    for given, why in (({"drive": T}, "'drive' is told ndarray; give GivenOrientation.about"),):
        with pytest.raises(InvalidInput, match=why):
            kinematic_analysis(m, given, start=np.eye(7)[3])
    for axis in ((0, 0, 0), (0, 1)):
        with pytest.raises(InvalidInput, match="three numbers, not all zero"):
            GivenOrientation.about(axis, T)
    with pytest.raises(InvalidInput, match="not finite"):
        kinematic_analysis(m, {"drive": GivenOrientation.about(Z, [np.nan])}, start=np.eye(7)[3])
    with pytest.raises(InvalidInput, match="give 1 to 8"):
        kinematic_analysis(m, {"drive": turn(10.0)}, start=np.eye(7)[3], together=9)
