"""Planar mechanisms of Ehsani2023 as trees closed by constraints: the four-bar, the five-bar and Andrews' squeezer."""

from __future__ import annotations

import math

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.integrate.known_forces import TurningSpring, turning_spring
from musculo.model.body import Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.joints import PinJoint, SliderJoint
from musculo.model.model import Model
from musculo.model.model_constraint import EquationConstraint, PointConstraint
from musculo.simulation.forces.kernel_force import KernelForce

Vec2 = tuple[float, float]


def link(name: str, mass: float, center: Vec2, inertia: float) -> Body:
    """A body that moves in a plane: only its inertia about z matters."""
    return Body(name, mass, (*center, 0.0), (inertia, inertia, inertia, 0.0, 0.0, 0.0))


def hinge(name: str, parent: str, at: Vec2, child: str, default: float = 0.0) -> PinJoint:
    """A pin about z at a point of the parent, at the child's origin; its coordinate has the joint's name."""
    coordinate = Coordinate(name, default_value=default, range=(-10.0, 10.0))
    return PinJoint(name, Placement(parent, (*at, 0.0)), Placement(child), (coordinate,))


def pinned(name: str, first: str, at: Vec2, second: str, there: Vec2) -> PointConstraint:
    """A point of one body coincides with a point of another."""
    return PointConstraint(
        name, first_body=first, second_body=second, first_location=(*at, 0.0), second_location=(*there, 0.0)
    )


def bars(lengths: tuple[float, ...], pose: tuple[float, ...]) -> tuple[tuple[Body, ...], tuple[PinJoint, ...]]:
    """Uniform bars of 1 kg/m in a row from the origin, and the hinges theta1, theta2, ... between them."""
    bodies = tuple(link(f"bar{k}", a, (a / 2.0, 0.0), a**3 / 12.0) for k, a in enumerate(lengths, 1))
    ends = [("ground", (0.0, 0.0)), *((f"bar{k}", (a, 0.0)) for k, a in enumerate(lengths, 1))]
    joints = tuple(hinge(f"theta{k}", *ends[k - 1], f"bar{k}", pose[k - 1]) for k in range(1, len(lengths) + 1))
    return bodies, joints


# --- the four-bar of table 1 -----------------------------------------------------------------------------------------
FOUR_BASE, FOUR_BARS, FOUR_CENTER, FOUR_P = 5.0, (2.0, 4.0, math.sqrt(5.0)), 2.0, math.sqrt(5.0) / 2.0


def four_bar() -> Model:
    """Three bars driven by the height of the second one's middle, which is a coordinate of its own [Ehsani2023, 121].

    The height belongs to a slider beside the bars; the paper's equations, as they are printed, tie all together. Of the
    two branches, which mirror each other, this one has the first bar below at height zero.
    """
    l1, l2, l3 = FOUR_BARS
    bodies, joints = bars(FOUR_BARS, (-0.95, 1.9, -1.77))
    upwards = Placement("ground", (0.0, 0.0, 0.0), (0.0, 0.0, math.pi / 2.0))
    height = Coordinate("height", default_value=0.0, range=(-2.0, 2.0))
    gauge = SliderJoint("gauge", upwards, Placement("gauge"), (height,))

    def equations(a: FloatArray, b: FloatArray, c: FloatArray, q: FloatArray) -> tuple[FloatArray, ...]:
        ab = a + b
        abc = ab + c
        return (
            l1 * np.sin(a) + FOUR_CENTER * np.sin(ab) - q,
            (l2 - FOUR_CENTER) * np.sin(ab) + l3 * np.sin(abc) + q,
            l1 * np.cos(a) + l2 * np.cos(ab) + l3 * np.cos(abc) - FOUR_BASE,
        )

    loop = EquationConstraint("closure", True, (), ("theta1", "theta2", "theta3", "height"), equations)
    return Model("four-bar", (*bodies, link("gauge", 1.0, (0.0, 0.0), 1.0)), (*joints, gauge), (loop,))


# --- the five-bar of table 2 -----------------------------------------------------------------------------------------
FIVE_BASE, FIVE_BARS, FIVE_P = 3.0, (1.0, 1.0, 3.0, 3.0), 2.0


def five_bar() -> Model:
    """Four bars of which the last is pinned to ground; the first two angles are independent [Ehsani2023, 123]."""
    bodies, joints = bars(FIVE_BARS, (1.2, 0.4, -1.0, -1.8))
    loop = pinned("closure", "ground", (FIVE_BASE, 0.0), "bar4", (FIVE_BARS[3], 0.0))
    return Model("five-bar", bodies, joints, (loop,))


# --- Andrews' squeezer, figures of the public test set [Hairer and Wanner; Mazzia and Magherini] ----------------------
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
MASSES = {1: 0.04325, 2: 0.00365, 3: 0.02373, 4: 0.00706, 5: 0.07050, 6: 0.00706, 7: 0.05498}
INERTIAS = {1: 2.194e-6, 2: 4.410e-7, 3: 5.255e-6, 4: 5.667e-7, 5: 1.169e-5, 6: 5.667e-7, 7: 1.912e-5}
STIFFNESS, REST, TORQUE = 4530.0, 0.07785, 0.033


def andrews_squeezer() -> Model:
    """Seven bodies, seven angles, three points that meet the end of the second body: one degree of freedom."""
    s = START
    centers = {
        1: (RA, 0.0),
        2: (-DA, 0.0),
        3: (SB, -SA),
        5: (TA, TB),
        4: (0.0, -(E - EA)),
        7: (-UB, -UA),
        6: (ZF - FA, 0.0),
    }
    bodies = tuple(link(f"k{k}", MASSES[k], center, INERTIAS[k]) for k, center in centers.items())
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


def squeezer_forces(model: Model, q: FloatArray) -> FloatArray:
    """Generalized forces of the spring from the third body to C, and of the torque that drives the first.

    Args: q: (..., 7) coordinates. Gives (..., 7) [N m].
    """
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


def squeezer_drive(model: Model) -> KernelForce:
    """`squeezer_forces` of one state, compiled, for `simulate`: adds to tau (7,)."""
    beta, gamma = model.coordinate_index("beta"), model.coordinate_index("gamma")
    spring = TurningSpring(gamma, B[0] - C[0], B[1] - C[1], SD, -SC, STIFFNESS, REST)
    return KernelForce(turning_spring, spring, beta, TORQUE)


def squeezer_in_opensim() -> str:
    """Python source that gives OpenSim's `model` of the squeezer its spring and its torque."""
    return f"""
k1, k3 = (model.getBodySet().get(name) for name in ("k1", "k3"))
ends = opensim.Vec3({C[0]!r}, {C[1]!r}, 0.0), opensim.Vec3({SD!r}, {-SC!r}, 0.0)
spring = opensim.PointToPointSpring(model.getGround(), ends[0], k3, ends[1], {STIFFNESS!r}, {REST!r})
spring.setName("spring")
model.addForce(spring)
drive = opensim.PrescribedForce("drive", k1)
drive.setTorqueFunctions(*(opensim.Constant(x) for x in (0.0, 0.0, {TORQUE!r})))
model.addForce(drive)
"""
