"""OpenSim's wrapping where its answer is an arc that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Placement
from musculo.model.force import Muscle
from musculo.model.joints import PinJoint
from musculo.model.model_path import Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapSphere
from musculo.muscle.paths.geometry import muscle_geometry

ROUNDING = 1e-13
# OpenSim stops an ellipsoid's contacts at 1e-4 of its size and measures the arc by chords of a millimetre.
OPENSIM_ELLIPSOID = 1e-5


def over(surface, start=(-0.3, 0.01, 0.0), stop=(0.3, 0.01, 0.0), **wrap) -> Model:
    """A path from ground to a body that turns about z, over one surface at the origin."""
    points = (PathPoint("a", "ground", start), PathPoint("b", "arm", stop))
    muscle = Muscle("cord", "Thelen2003Muscle", path=Path(points, (PathWrap("w", surface.name, **wrap),)))
    joint = PinJoint("pin", Placement("ground"), Placement("arm"), (Coordinate("turn"),))
    return Model("arc", (Body("arm", 1.0),), (joint,), wrap_objects=(surface,), forces=(muscle,))


def around(radius, start=(-0.3, 0.01), stop=(0.3, 0.01)):
    """Length over a circle about the origin, on the side the straight line passes."""
    a, b = np.hypot(*start), np.hypot(*stop)
    between = np.arccos(np.dot(start, stop) / (a * b))
    arc = between - np.arccos(radius / a) - np.arccos(radius / b)
    return np.sqrt(a**2 - radius**2) + np.sqrt(b**2 - radius**2) + radius * arc


@pytest.mark.parametrize(
    ("surface", "allowed"),
    [
        (WrapCylinder("s", "ground", radius=0.1, length=1.0), ROUNDING),
        (WrapSphere("s", "ground", radius=0.1), ROUNDING),
        (WrapEllipsoid("s", "ground", semi_axes=(0.1, 0.1, 0.1)), OPENSIM_ELLIPSOID),
    ],
)
def test_a_circle_across_the_path(surface, allowed):
    """Tangent, arc, tangent; the arm about the circle's centre is its radius."""
    g = muscle_geometry(over(surface), (0.0,), like="opensim")
    assert g.length[0] == pytest.approx(around(0.1), abs=allowed)
    assert abs(g.moment_arm[0, 0]) == pytest.approx(0.1, abs=max(allowed, ROUNDING) * 10)
    points, touched = g.path_points.of("cord")
    assert touched == ("", "s", "s", "")
    assert np.linalg.norm(points[1:3], axis=1) == pytest.approx(0.1, abs=10 * allowed)


def test_a_quadrant_sends_the_path_round_the_other_side():
    """Ends a little above the axis; held to -y it goes below: the other arc, the other sign of the arm."""
    cylinder = WrapCylinder("s", "ground", radius=0.1, length=1.0)
    above = muscle_geometry(over(cylinder), (0.0,), like="opensim")
    below = WrapCylinder("s", "ground", radius=0.1, length=1.0, quadrant="-y")
    g = muscle_geometry(over(below), (0.0,), like="opensim")
    extra = 2.0 * np.pi - 2.0 * np.arccos(np.dot((-0.3, 0.01), (0.3, 0.01)) / (0.3**2 + 0.01**2))
    assert g.length[0] - above.length[0] == pytest.approx(0.1 * extra, abs=ROUNDING)
    assert np.sign(g.moment_arm[0, 0]) == -np.sign(above.moment_arm[0, 0])
    assert (g.path_points.of("cord")[0][1:3, 1] < 0.0).all()


@pytest.mark.parametrize(
    "surface",
    [
        WrapCylinder("s", "ground", radius=0.1, length=1.0, active=False),
        WrapCylinder("s", "ground", radius=0.1, length=1.0, translation=(0.0, -0.2, 0.0)),
        WrapCylinder("s", "ground", radius=0.1, length=1.0, translation=(0.0, 0.0, 0.6)),
        WrapSphere("s", "ground", radius=0.31),
    ],
)
def test_straight_where_the_surface_is_off_beside_beyond_or_around_an_end(surface):
    g = muscle_geometry(over(surface), (0.0,), like="opensim")
    assert g.length[0] == pytest.approx(0.6, abs=ROUNDING)
    assert g.path_points.of("cord")[1] == ("", "")


def test_threads_and_order_do_not_change_an_answer():
    model = over(WrapEllipsoid("s", "ground", semi_axes=(0.1, 0.08, 0.2)))
    q = np.linspace(-0.5, 0.5, 1201)[:, None]
    one = muscle_geometry(model, q, like="opensim", threads=1)
    two = muscle_geometry(model, q, like="opensim", threads=2)
    back = muscle_geometry(model, q[::-1], like="opensim", threads=1)
    for name in ("length", "moment_arm"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
        assert np.array_equal(getattr(one, name), getattr(back, name)[::-1])
