"""Mechanisms whose equations repeat each other: planar ones in any plane, and ones that move only by their measures."""

from __future__ import annotations

import numpy as np

from musculo.model.body import Body, Placement, Vec3
from musculo.model.coordinate import Coordinate
from musculo.model.joints import PinJoint
from musculo.model.model import Model
from musculo.model.model_constraint import Constraint, PointConstraint, PointOnLineConstraint, WeldConstraint
from musculo.spatial.rotation import to_xyz

GRAVITY = np.array([0.0, -9.81, 0.0])


class Plane:
    """Bars and closures in the plane that a rotation R makes of xy."""

    def __init__(self, R: np.ndarray) -> None:
        self.R, self.turn = R, _vec(to_xyz(R))
        self.bodies: list[Body] = []
        self.joints: list[PinJoint] = []

    def bar(self, name: str, parent: str, at: tuple[float, float], angle: float) -> None:
        body = Body(name, 0.7 + 0.1 * len(self.bodies), (0.2, 0.01, 0.0), (0.01, 0.02, 0.02, 0.0, 0.0, 0.0))
        place = self.ground(at) if parent == "ground" else Placement(parent, (*at, 0.0))
        self.bodies.append(body)
        self.joints.append(PinJoint(name, place, Placement(name), (Coordinate(name, default_value=angle),)))

    def ground(self, at: tuple[float, float]) -> Placement:
        return Placement("ground", _vec(self.R @ [*at, 0.0]), self.turn)

    def model(self, name: str, *constraints: Constraint) -> Model:
        parts = (tuple(self.bodies), tuple(self.joints), constraints)
        return Model(name, *parts, gravity=_vec(self.R @ GRAVITY))


def _vec(x: np.ndarray) -> Vec3:
    return (float(x[0]), float(x[1]), float(x[2]))


def four_bar(R: np.ndarray) -> Model:
    """Closed by a point."""
    p = Plane(R)
    p.bar("crank", "ground", (0.0, 0.0), 0.9)
    p.bar("coupler", "crank", (0.2, 0.0), 0.0)
    p.bar("rocker", "ground", (0.45, 0.0), 1.5)
    return p.model("four-bar", PointConstraint("pin", True, (), "coupler", "rocker", (0.5, 0.0, 0.0), (0.4, 0.0, 0.0)))


def welded(R: np.ndarray) -> Model:
    """A four-bar closed by a weld of its last body to ground."""
    p = Plane(R)
    for name, parent, at, angle in (
        ("crank", "ground", (0.0, 0.0), 0.9),
        ("coupler", "crank", (0.2, 0.0), -0.4),
        ("rocker", "coupler", (0.5, 0.0), -1.8),
        ("foot", "rocker", (0.4, 0.0), 1.3),
    ):
        p.bar(name, parent, at, angle)
    return p.model("welded", WeldConstraint("weld", True, (), p.ground((0.45, 0.0)), Placement("foot")))


def slider_crank(R: np.ndarray) -> Model:
    """Closed by a point on a line."""
    p = Plane(R)
    p.bar("crank", "ground", (0.0, 0.0), 0.9)
    p.bar("rod", "crank", (0.2, 0.0), -1.2)
    line, at = _vec(R @ [1.0, 0.1, 0.0]), _vec(R @ [0.0, 0.05, 0.0])
    guide = PointOnLineConstraint("guide", True, (), "ground", "rod", line, at, (0.5, 0.0, 0.0))
    return p.model("slider-crank", guide)


def six_bar(R: np.ndarray) -> Model:
    """Two loops with bars in common, closed by points."""
    p = Plane(R)
    p.bar("crank", "ground", (0.0, 0.0), 0.9)
    p.bar("coupler", "crank", (0.2, 0.0), 0.0)
    p.bar("rocker", "ground", (0.45, 0.0), 1.5)
    p.bar("link", "rocker", (0.2, 0.1), -1.0)
    p.bar("arm", "ground", (0.8, 0.1), 1.3)
    first = PointConstraint("first", True, (), "coupler", "rocker", (0.5, 0.0, 0.0), (0.4, 0.0, 0.0))
    second = PointConstraint("second", True, (), "link", "arm", (0.35, 0.0, 0.0), (0.25, 0.0, 0.0))
    return p.model("six-bar", first, second)


PLANAR = {"point": four_bar, "weld": welded, "line": slider_crank, "six-bar": six_bar}


def coupled_cranks(R: np.ndarray | None = None, angle: float = 0.9) -> Model:
    """Three equal cranks on one rod: one of its pins could be left out."""
    p = Plane(np.eye(3) if R is None else R)
    p.bar("crank", "ground", (0.0, 0.0), angle)
    p.bar("rod", "crank", (0.3, 0.0), -angle)
    p.bar("crank2", "ground", (0.6, 0.0), angle)
    p.bar("crank3", "ground", (0.4, 0.0), angle)
    pin2 = PointConstraint("pin2", True, (), "rod", "crank2", (0.6, 0.0, 0.0), (0.3, 0.0, 0.0))
    pin3 = PointConstraint("pin3", True, (), "rod", "crank3", (0.4, 0.0, 0.0), (0.3, 0.0, 0.0))
    return p.model("coupled cranks", pin2, pin3)


def bennett() -> Model:
    """Four pins that are not parallel, which turn since sines of the bars' twists are as their lengths."""
    first, twist = 0.3, np.pi / 3
    second, other = 0.15, float(np.arcsin(0.5 * np.sin(np.pi / 3)))
    ratio = np.sin((other + twist) / 2) / np.sin((other - twist) / 2)
    a = 1.0
    b = 2.0 * float(np.arctan(ratio / np.tan(a / 2)))
    angles, lengths, twists = (a, b, -a, -b), (first, second) * 2, (twist, other) * 2
    bodies, joints, at = [], [], Placement("ground")
    for k in range(4):
        name = f"bar{k}"
        bodies.append(Body(name, 0.5 + 0.1 * k, (0.5 * lengths[k], 0.0, 0.0), (2e-3, 3e-3, 4e-3, 0.0, 0.0, 0.0)))
        joints.append(PinJoint(name, at, Placement(name), (Coordinate(f"q{k}", default_value=angles[k]),)))
        at = Placement(name, (lengths[k], 0.0, 0.0), (twists[k], 0.0, 0.0))
    weld = WeldConstraint("close", True, (), Placement("ground"), at)
    return Model("Bennett", tuple(bodies), tuple(joints), (weld,), gravity=(0.0, -9.81, 0.0))
