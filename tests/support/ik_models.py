"""Small models for inverse kinematics, with every kind of joint, and recordings made from known motions."""

from __future__ import annotations

import numpy as np

from musculo import Body, Coordinate, Markers, Model, Placement, embedding_of, kinematics
from musculo.functions import Linear, MultivariatePolynomial, Polynomial
from musculo.model import CoordinateCoupler
from musculo.model.body import Marker
from musculo.model.joints import Axis, BallJoint, CustomJoint, FreeJoint, PinJoint, SliderJoint


def markers_on(*bodies: str) -> tuple[Marker, ...]:
    places = ((0.11, 0.02, -0.05), (-0.07, 0.13, 0.04), (0.03, -0.12, 0.09))
    return tuple(Marker(f"{body}_{k}", body, place) for body in bodies for k, place in enumerate(places))


def planar_arm(**elbow) -> Model:
    """Two links of 1 m in the plane, a marker at the end of each."""
    joints = (
        PinJoint("shoulder", Placement("ground"), Placement("upper"), (Coordinate("shoulder"),)),
        PinJoint("elbow", Placement("upper", (1.0, 0.0, 0.0)), Placement("lower"), (Coordinate("elbow", **elbow),)),
    )
    ends = (Marker("elbow", "upper", (1.0, 0.0, 0.0)), Marker("hand", "lower", (1.0, 0.0, 0.0)))
    return Model("arm", (Body("upper", 1.0), Body("lower", 1.0)), joints, markers=ends)


def limb() -> Model:
    """A free base, a knee of functions, a backwards ball, a pin, a slider, and a joint on a surface."""
    x = np.linspace(-1.5, 1.5, 9)
    names = "abcdef"
    surface = MultivariatePolynomial(2, 2, (0.0, 0.1, 0.3, 0.2, 0.4, 0.1))
    both = ("s1", "s2")
    turns = (Axis((1, 0, 0), Linear(1.0, 0.0), both[:1]), Axis((0, 1, 0), surface, both), Axis((0, 0, 1)))
    slides = (Axis((1, 0, 0), Linear(1.0, 0.0), both[1:]), Axis((0, 1, 0), surface, both), Axis((0, 0, 1)))
    free = tuple(Coordinate(f"base_{k}") for k in ("rx", "ry", "rz", "tx", "ty", "tz"))
    joints = (
        FreeJoint("base", Placement("ground", (0.1, 0.9, 0.2), (0.2, 0.1, -0.3)), Placement("a"), free),
        CustomJoint.from_samples(
            "knee", "a", "b", {"rz": x, "rx": 0.2 * x**2, "tx": 0.1 * np.sin(x), "ty": 0.2 * x**2}, "rz"
        ),
        BallJoint("ball", Placement("c", (0.1, 0.2, 0.3)), Placement("b"), tuple(Coordinate(f"b{k}") for k in "xyz")),
        PinJoint("pin", Placement("c", (0.0, 0.3, 0.0)), Placement("d"), (Coordinate("pin"),)),
        SliderJoint("slide", Placement("d", (0.0, 0.3, 0.0)), Placement("e"), (Coordinate("slide"),)),
        CustomJoint(
            "surface", Placement("f"), Placement("b", (0.1, 0.0, 0.2)), tuple(map(Coordinate, both)), (), turns, slides
        ),
    )
    return Model("limb", tuple(Body(n, 1.0) for n in names), joints, markers=markers_on(*names))


def chain() -> tuple[CoordinateCoupler, ...]:
    """pin follows slide, which follows bx and s1."""
    surface = MultivariatePolynomial(2, 2, (0.1, 0.2, 0.3, 0.5, 0.2, 0.1))
    return (
        CoordinateCoupler("pin", dependent="pin", independents=("slide",), function=Polynomial((0.3, 0.5, 0.1))),
        CoordinateCoupler("slide", dependent="slide", independents=("bx", "s1"), function=surface, scale=0.5),
    )


def recorded(model: Model, q, names=None) -> Markers:
    names = model.marker_names if names is None else names
    position = kinematics(model, np.atleast_2d(q)).markers(names)
    return Markers(0.01 * np.arange(len(position)), tuple(names), position)


def motion(model: Model, frames: int, size: float = 0.5, seed: int = 1) -> np.ndarray:
    """Smooth coordinates (frames, n) about the default pose that obey the model's rules."""
    e = embedding_of(model)
    rng = np.random.default_rng(seed)
    n = len(e.coordinate_names)
    t = np.arange(frames)[:, None] / 100.0
    z = size * rng.uniform(-1, 1, n) * np.sin(2.0 * t * rng.uniform(0.5, 1.5, n) + rng.uniform(0, 6, n))
    return e.coordinates(z, 0.01 * np.arange(frames))


_ALONG_X = (0.0, np.pi / 2.0, 0.0)  # turns z of a joint frame to x of its body
TWIST_TIME = np.arange(20) / 100.0


def twisting_rod(off_axis: float, **twist: object) -> Model:
    """A rod that swings, and a hand that twists about its long axis, with a marker so far from that axis."""
    joints = (
        PinJoint("shoulder", Placement("ground"), Placement("rod"), (Coordinate("swing"),)),
        PinJoint(
            "wrist",
            Placement("rod", (0.3, 0.0, 0.0), _ALONG_X),
            Placement("hand", (0.0, 0.0, 0.0), _ALONG_X),
            (Coordinate("twist", **twist),),  # type: ignore[arg-type]
        ),
    )
    # many on the rod, so that its swing does not make up for a twist
    along = np.linspace(0.0, 0.3, 7).tolist()
    markers = (
        Marker("tip", "hand", (0.1, off_axis, 0.0)),
        *(Marker(f"rod{x:.2f}", "rod", (x, 0.0, 0.3)) for x in along),
    )
    return Model("rod", (Body("rod", 1.0), Body("hand", 1.0)), joints, markers=markers)


def seemingly_twisted(model: Model, twist: float, noise: float = 0.005) -> Markers:
    """A swing, with the marker of the hand displaced so that the hand seems to be twisted."""
    poses = np.stack([0.4 * np.sin(5.0 * TWIST_TIME), np.full_like(TWIST_TIME, twist)], axis=1)
    straight = np.stack([poses[:, 0], np.zeros_like(TWIST_TIME)], axis=1)
    at = kinematics(model, straight).markers()
    R = kinematics(model, straight).batch_pose("rod")[0]
    displaced = noise * np.array([0.0, np.cos(twist), np.sin(twist)])
    at[:, 0] += R @ displaced
    return Markers(TWIST_TIME, model.marker_names, at)
