"""The manipulators of Barman2020, tables 4.1 to 4.4: two links in a horizontal plane, without gravity."""

from __future__ import annotations

import math

from musculo.model.body import GROUND, Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.joints import PinJoint, SliderJoint
from musculo.model.model import Model
from musculo.trajectory.problem import variables

SOURCE = "Barman 2020, Recursive Newton-Euler Dynamics and Sensitivity Analysis for Dynamic Motion Planning"
LENGTH, MASS, INERTIA = 0.4, 0.5, 0.1  # of either link [m, kg, kg m^2]; the inertia is about the center of mass
LIMIT = 10.0  # of forces and moments [N, N m]


def _link(name: str, center: float) -> Body:
    return Body(name, MASS, (center, 0.0, 0.0), (INERTIA, INERTIA, INERTIA, 0.0, 0.0, 0.0))


def _coordinate(name: str) -> Coordinate:
    return Coordinate(name, range=(-10.0, 10.0))


def two_link() -> Model:
    """Two revolute joints, q1 and q2; at zero both links lie along x."""
    joints = (
        PinJoint("joint1", Placement(GROUND), Placement("link1"), (_coordinate("q1"),)),
        PinJoint("joint2", Placement("link1", (LENGTH, 0.0, 0.0)), Placement("link2"), (_coordinate("q2"),)),
    )
    return Model("two-link", (_link("link1", LENGTH / 2), _link("link2", LENGTH / 2)), joints, gravity=(0.0, 0.0, 0.0))


def prismatic(zero: float) -> Model:
    """A prismatic joint q1 along x and a revolute joint q2 at the link's end.

    Args:
        zero: the angle between the directions of both links where q2 is zero [rad].
    """
    joints = (
        SliderJoint("joint1", Placement(GROUND), Placement("link1"), (_coordinate("q1"),)),
        PinJoint(
            "joint2", Placement("link1", (0.0, 0.0, 0.0), (0.0, 0.0, zero)), Placement("link2"), (_coordinate("q2"),)
        ),
    )
    # the first link's origin is its tip, its center half a length before
    return Model(
        f"prismatic, zero at {math.degrees(zero):.0f} degrees",
        (_link("link1", -LENGTH / 2), _link("link2", LENGTH / 2)),
        joints,
        gravity=(0.0, 0.0, 0.0),
    )


def rest_to_rest(name: str, start: float, end: float) -> variables.Coordinate:
    """A coordinate that moves from rest to rest; wide limits of its value, speed and acceleration."""
    return variables.Coordinate(name, (-4.0, 4.0), (-20.0, 20.0), (-400.0, 400.0), start, end, 0.0, 0.0)
