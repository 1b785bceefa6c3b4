"""Planar mechanisms with loops: the four-bar, the five-bar and Andrews' squeezer, as trees closed by constraints."""

from __future__ import annotations

import numpy as np
from numpy.linalg import norm

from musculo import kinematics
from musculo.model.body import Body, Placement, Vec3
from musculo.model.constraint import (
    ConstantDistanceConstraint,
    Constraint,
    PointConstraint,
    PointOnLineConstraint,
    WeldConstraint,
)
from musculo.model.coordinate import Coordinate
from musculo.model.joints import PinJoint
from musculo.model.model import Model
from musculo.spatial.rotation import from_xyz, to_xyz


def link(name: str, mass: float, centre: tuple[float, float], inertia: float) -> Body:
    """A body that moves in a plane: only its inertia about z matters."""
    return Body(name, mass, (*centre, 0.0), (inertia, inertia, inertia, 0.0, 0.0, 0.0))


def hinge(name: str, parent: str, at: tuple[float, float], child: str, default: float = 0.0) -> PinJoint:
    """A pin about z at a point of the parent, at the child's origin; its coordinate has the joint's name."""
    coordinate = Coordinate(name, default_value=default, range=(-10.0, 10.0))
    return PinJoint(name, Placement(parent, (*at, 0.0)), Placement(child), (coordinate,))


def pinned(name: str, first: str, at: tuple[float, float], second: str, there: tuple[float, float]) -> PointConstraint:
    return PointConstraint(
        name, first_body=first, second_body=second, first_location=(*at, 0.0), second_location=(*there, 0.0)
    )


def chain(
    name: str, lengths: tuple[float, ...], base: float, pose: tuple[float, ...], gravity: Vec3 = (0.0, -9.81, 0.0)
) -> Model:
    """Bars in a row from the origin, the last one's end pinned to ground at (base, 0)."""
    bodies = tuple(link(f"bar{k}", 1.0 + 0.3 * k, (0.45 * a, 0.05 * a), 0.1 * a * a) for k, a in enumerate(lengths))
    parents = [("ground", (0.0, 0.0)), *((f"bar{k}", (a, 0.0)) for k, a in enumerate(lengths[:-1]))]
    joints = tuple(hinge(f"q{k}", *parents[k], f"bar{k}", pose[k]) for k in range(len(lengths)))
    loop: Constraint = pinned("closure", "ground", (base, 0.0), f"bar{len(lengths) - 1}", (lengths[-1], 0.0))
    return Model(name, bodies, joints, (loop,), gravity=gravity)


def four_bar(crank: float = 0.2, coupler: float = 0.5, rocker: float = 0.4, base: float = 0.45) -> Model:
    """Grashof's by default: the shortest bar turns round."""
    return chain("four-bar", (crank, coupler, rocker), base, (0.9, 0.2, -2.0))


def five_bar() -> Model:
    """Lengths of Ehsani2023, table 2."""
    return chain("five-bar", (1.0, 1.0, 3.0, 3.0), 3.0, (1.2, 0.4, -1.0, -1.8))


# Andrews' squeezer, figures of the public test set [SI].
START = {
    "beta": -0.0617138900142764496,
    "theta": 0.0,
    "gamma": 0.455279819163070380,
    "phi": 0.222668390165885885,
    "delta": 0.487364979543842550,
    "omega": -0.222668390165885885,
    "epsilon": 1.23054744454982119,
}
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
RR, RA, D, DA, SS, SA, SB, SC, SD = 0.007, 0.00092, 0.028, 0.0115, 0.035, 0.01874, 0.01043, 0.018, 0.02
E, EA, ZF, FA, ZT, TA, TB, U, UA, UB = 0.02, 0.01421, 0.02, 0.01421, 0.04, 0.02308, 0.00916, 0.04, 0.01228, 0.00449
STIFFNESS, REST, TORQUE = 4530.0, 0.07785, 0.033


def andrews_squeezer() -> Model:
    """Seven bodies, seven angles, three points that meet the end of the second body: one degree of freedom."""
    s = START
    bodies = (
        link("k1", 0.04325, (RA, 0.0), 2.194e-6),
        link("k2", 0.00365, (-DA, 0.0), 4.410e-7),
        link("k3", 0.02373, (SB, -SA), 5.255e-6),
        link("k5", 0.07050, (TA, TB), 1.169e-5),
        link("k4", 0.00706, (0.0, -(E - EA)), 5.667e-7),
        link("k7", 0.05498, (-UB, -UA), 1.912e-5),
        link("k6", 0.00706, (ZF - FA, 0.0), 5.667e-7),
    )
    joints = (
        hinge("beta", "ground", (0.0, 0.0), "k1", s["beta"]),
        hinge("theta", "k1", (RR, 0.0), "k2", s["theta"]),
        hinge("gamma", "ground", B, "k3", s["gamma"]),
        hinge("delta", "ground", A, "k5", s["delta"]),
        hinge("phi", "k5", (ZT, 0.0), "k4", s["phi"]),
        hinge("epsilon", "ground", A, "k7", s["epsilon"]),
        hinge("omega", "k7", (0.0, -U), "k6", s["omega"]),
    )
    meet = (-D, 0.0)
    loops = (
        pinned("k2_meets_k3", "k2", meet, "k3", (0.0, -SS)),
        pinned("k2_meets_k4", "k2", meet, "k4", (0.0, -E)),
        pinned("k2_meets_k6", "k2", meet, "k6", (ZF, 0.0)),
    )
    return Model("Andrews' squeezer", bodies, joints, loops, gravity=(0.0, 0.0, 0.0))


def squeezer_forces(model: Model, q: np.ndarray) -> np.ndarray:
    """Generalised forces of the spring from D on the third body to C, and of the torque that drives the first."""
    tau = np.zeros_like(q)
    gamma = q[..., model.coordinate_index("gamma")]
    x = SD * np.cos(gamma) + SC * np.sin(gamma) + B[0]
    y = SD * np.sin(gamma) - SC * np.cos(gamma) + B[1]
    length = np.hypot(x - C[0], y - C[1])
    pull = -STIFFNESS * (length - REST) / length
    dx, dy = -SD * np.sin(gamma) + SC * np.cos(gamma), SD * np.cos(gamma) + SC * np.sin(gamma)
    tau[..., model.coordinate_index("gamma")] = pull * ((x - C[0]) * dx + (y - C[1]) * dy)
    tau[..., model.coordinate_index("beta")] = TORQUE
    return tau


def closing(model: Model, q: np.ndarray, kind: str, first: str, second: str, rng: np.random.Generator) -> Constraint:
    """A constraint between two bodies that holds at the pose q, at random places of them."""
    motion = kinematics(model, q)
    p_1, line = rng.uniform(-0.3, 0.3, 3), rng.normal(size=3)
    X_1, X_2 = motion.pose(first), motion.pose(second)

    def seen(point: np.ndarray) -> Vec3:
        """A point of the first body, in the second."""
        x, y, z = X_2.R.T @ (X_1.R @ point + X_1.p - X_2.p)
        return (x, y, z)

    if kind == "point":
        return PointConstraint(kind, True, (), first, second, tuple(p_1), seen(p_1))
    if kind == "line":
        return PointOnLineConstraint(kind, True, (), first, second, tuple(line), tuple(p_1), seen(p_1 + 0.2 * line))
    if kind == "distance":
        return ConstantDistanceConstraint(kind, True, (), first, second, tuple(p_1), seen(p_1 + line), norm(line))
    R = from_xyz(angles := rng.uniform(-1.0, 1.0, 3))
    turned = to_xyz(X_2.R.T @ X_1.R @ R)
    return WeldConstraint(
        kind, True, (), Placement(first, tuple(p_1), tuple(angles)), Placement(second, seen(p_1), tuple(turned))
    )
