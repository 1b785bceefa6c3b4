"""Kinematics of bodies and points: a turntable by hand, derivatives over time, names of columns, mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Model, PinJoint, Placement, body_kinematics, coordinate_rates, kinematics, point_kinematics
from musculo.errors import InvalidInput, UnknownName
from musculo.model import BallJoint, SliderJoint
from musculo.model.coordinate import Coordinate

# Central differences of step h: h^2 times a third derivative of some hundred, and rounding over h.
STEP, DIFFERENCE = 1e-5, 1e-6


def turntable(mass: float = 1.0) -> Model:
    """A table on a pin about z, a slider along its x, and a ball joint on that."""
    table = Body("table", 3.0 * mass, (0.0, 0.0, 0.2), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    cart = Body("cart", 1.0 * mass, (0.1, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    top = Body("top", 2.0 * mass, (0.0, 0.3, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    pin = PinJoint("pin", "ground", "table", (Coordinate("angle"),))
    slide = SliderJoint("slide", "table", "cart", (Coordinate("way"),))
    ball = BallJoint("ball", Placement("cart", (0.0, 0.0, 1.0)), "top", tuple(map(Coordinate, ("a", "b", "c"))))
    return Model("turntable", (table, cart, top), (pin, slide, ball))


def test_a_turning_table_by_hand():
    """At 90 degrees, 2 rad/s, half a metre out: centripetal, Coriolis and Euler's acceleration."""
    q = np.array([np.pi / 2, 0.5, 0.0, 0.0, 0.0])
    u = np.array([2.0, 0.25, 0.0, 0.0, 0.0])
    udot = np.array([3.0, 0.0, 0.0, 0.0, 0.0])
    found = body_kinematics(turntable(), q, u, udot, ["cart"])
    assert_allclose(found.position, [[0.0, 0.6, 0.0]], atol=1e-15)
    assert_allclose(found.orientation, [[0.0, 0.0, np.pi / 2]], atol=1e-15)
    assert_allclose(found.velocity, [[-1.2, 0.25, 0.0]], atol=1e-15)
    assert_allclose(found.acceleration, [[-3.0 * 0.6 - 2.0 * 2.0 * 0.25, -4.0 * 0.6, 0.0]], atol=1e-14)
    assert_allclose(found.angular_acceleration, [[0.0, 0.0, 3.0]], atol=1e-15)
    local = body_kinematics(turntable(), q, u, udot, "cart", in_body_frame=True)
    assert_allclose(local.velocity, [[0.25, 1.2, 0.0]], atol=1e-15)
    assert_allclose(local.position, found.position, rtol=0, atol=0)
    # Mass centre of all: the table's on the axis, the cart's, and the top's 0.3 along the cart's y.
    assert_allclose(found.center_of_mass, [-2 * 0.3 / 6, (0.6 + 2 * 0.5) / 6, (3 * 0.2 + 2 * 1.0) / 6], atol=1e-15)
    # Seen from the table nothing turns: the point slides along x.
    seen = point_kinematics(turntable(), q, u, udot, "cart", (0.0, 0.2, 0.0), "table")
    assert_allclose(seen.position, [0.5, 0.2, 0.0], atol=1e-15)
    assert_allclose(seen.velocity, [0.25, 0.0, 0.0], atol=1e-15)
    assert_allclose(seen.acceleration, 0.0, atol=1e-14)
    # OpenSim's: the velocity in ground, in the axes of the table.
    theirs = point_kinematics(turntable(), q, u, udot, "cart", (0.0, 0.2, 0.0), "table", like="opensim")
    assert_allclose(theirs.velocity, [0.25 - 2.0 * 0.2, 1.0, 0.0], atol=1e-15)


def around(model, seed):
    """(q, u, udot) at t - h, t, t + h of a motion with constant udot, the ball's angles integrated to second order."""
    rng = np.random.default_rng(seed)
    q, u, udot = rng.uniform(-1.0, 1.0, (3, 5))
    h, now = STEP, coordinate_rates(model, q, u)
    rate = coordinate_rates(model, np.array([q - h * now, q + h * now]), np.array([u - h * udot, u + h * udot]))
    bend = (rate[1] - rate[0]) / (2 * h)
    steps = np.array([-h, 0.0, h])[:, None]
    return q + steps * now + 0.5 * steps**2 * bend, u + steps * udot, np.tile(udot, (3, 1))


def slope(series):
    return (series[2] - series[0]) / (2 * STEP)


@pytest.mark.parametrize("seed", range(3))
def test_rates_are_derivatives(seed):
    model = turntable()
    q, u, udot = around(model, seed)
    found = body_kinematics(model, q, u, udot)
    assert_allclose(found.velocity[1], slope(found.position), atol=DIFFERENCE)
    assert_allclose(found.acceleration[1], slope(found.velocity), atol=DIFFERENCE)
    assert_allclose(found.angular_acceleration[1], slope(found.angular_velocity), atol=DIFFERENCE)
    assert_allclose(found.center_of_mass_velocity[1], slope(found.center_of_mass), atol=DIFFERENCE)
    assert_allclose(found.center_of_mass_acceleration[1], slope(found.center_of_mass_velocity), atol=DIFFERENCE)
    for body, other in (("top", "table"), ("table", "top"), ("top", None)):
        seen = point_kinematics(model, q, u, udot, body, (0.1, 0.2, 0.3), other)
        assert_allclose(seen.velocity[1], slope(seen.position), atol=DIFFERENCE)
        assert_allclose(seen.acceleration[1], slope(seen.velocity), atol=DIFFERENCE)
    assert np.abs(found.acceleration).max() > 0.1


def test_body_axes_are_those_of_each_body():
    model = turntable()
    q, u, udot = around(model, 4)
    ground, local = (body_kinematics(model, q, u, udot, in_body_frame=flag) for flag in (False, True))
    for k, name in enumerate(model.body_names):
        R = kinematics(model, q).pose(name).R
        for what in ("velocity", "angular_velocity", "acceleration", "angular_acceleration"):
            turned = np.einsum("fij,fj->fi", R, getattr(local, what)[:, k])
            assert_allclose(turned, getattr(ground, what)[:, k], atol=1e-14)
    assert_allclose(local.center_of_mass_velocity, ground.center_of_mass_velocity, rtol=0, atol=0)


def test_columns_are_opensims():
    model = turntable()
    q, u, udot = around(model, 5)
    found = body_kinematics(model, q, u, udot, ["top"])
    tables = found.tables([0.0, 1.0, 2.0], degrees=True)
    names = ("top_X", "top_Y", "top_Z", "top_Ox", "top_Oy", "top_Oz")
    assert tables["acc"].names == (*names, "center_of_mass_X", "center_of_mass_Y", "center_of_mass_Z")
    assert tables["vel"].units == ("m/s",) * 3 + ("deg/s",) * 3 + ("m/s",) * 3
    assert_allclose(tables["pos"].values[:, 3:6], np.degrees(found.orientation[:, 0]))
    assert_allclose(tables["vel"].values[:, 6:], found.center_of_mass_velocity)
    alone = found.tables([0.0, 1.0, 2.0], center_of_mass=False)
    assert alone["pos"].names == names
    assert alone["pos"].units == ("m",) * 3 + ("rad",) * 3
    point = point_kinematics(model, q[0], u[0], udot[0], "top")
    assert point.tables([0.5])["vel"].names == ("state_0", "state_1", "state_2")
    assert_allclose(point.tables([0.5])["acc"].values, [point.acceleration])


def test_no_mass_has_no_centre():
    q, u, udot = around(turntable(), 6)
    found = body_kinematics(turntable(mass=0.0), q, u, udot)
    assert np.isnan(found.center_of_mass).all()
    assert np.isfinite(found.acceleration).all()


def test_mistakes_are_named():
    model, zero = turntable(), np.zeros(5)
    with pytest.raises(UnknownName, match="plate"):
        body_kinematics(model, zero, zero, zero, ["plate"])
    with pytest.raises(UnknownName, match="plate"):
        point_kinematics(model, zero, zero, zero, "cart", relative_to="plate")
    with pytest.raises(InvalidInput, match="method"):
        point_kinematics(model, zero, zero, zero, "cart", like="simm")
    with pytest.raises(InvalidInput, match="point"):
        point_kinematics(model, zero, zero, zero, "cart", (1.0, 2.0))
