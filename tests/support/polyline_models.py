"""Made-up models whose paths run over surfaces that overlap, each surface on a body of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo import Body, Coordinate, Model, Muscle, Placement
from musculo.functions import SimmSpline
from musculo.model.joints import BallJoint, CustomJoint, FreeJoint, GimbalJoint, SliderJoint, WeldJoint
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, Axis, Joint, along
from musculo.model.model_path import MovingPathPoint, Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapObject, WrapSphere, WrapTorus

# Of surfaces.
KINDS = ("cylinder", "sphere", "ellipsoid", "ring")
# The bodies that surfaces and ends of paths are on; `base` carries all.
BODIES = ("base", "a", "b", "c")
# Coordinates go so far either way [rad], [m].
TURN, SLIDE = 0.6, 0.012
_KNOTS = (-2.0, -1.0, 0.0, 1.0, 2.0)
_INERTIA = (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)


def _joints(rng: np.random.Generator, base: bool) -> tuple[Joint, ...]:
    """a turns in base (custom, with a slide that follows a turn), b in a (ball or gimbal), c slides in base."""

    def turns(name: str) -> tuple[Coordinate, ...]:
        return tuple(Coordinate(f"{name}_{k}", range=(-TURN, TURN)) for k in "xyz")

    def near(body: str) -> Placement:
        return Placement(body, tuple(rng.normal(0.0, 0.006, 3)), tuple(rng.uniform(-0.5, 0.5, 3)))

    follows = SimmSpline(_KNOTS, tuple(rng.uniform(-SLIDE, SLIDE, 5)))
    custom = CustomJoint(
        "of_a",
        near("base"),
        near("a"),
        turns("a"),
        rotations=(along(Z_AXIS, "a_x"), along(X_AXIS, "a_y"), along(Y_AXIS, "a_z")),
        translations=(Axis(X_AXIS, follows, ("a_y",)), Axis(Y_AXIS), Axis(Z_AXIS)),
    )
    inner = (BallJoint if rng.uniform() < 0.5 else GimbalJoint)("of_b", near("a"), near("b"), turns("b"))
    slider = SliderJoint("of_c", near("base"), near("c"), (Coordinate("c_slide", range=(-SLIDE, SLIDE)),))
    return _carrier(base), custom, inner, slider


def _carrier(free: bool) -> Joint:
    """What holds base to ground."""
    if not free:
        return WeldJoint("of_base", Placement("ground"), Placement("base"))
    reach = {"rx": 1.4, "ry": 1.4, "rz": 1.4, "tx": 0.3, "ty": 0.3, "tz": 0.3}
    coordinates = tuple(Coordinate(name, range=(-far, far)) for name, far in reach.items())
    return FreeJoint("of_base", Placement("ground"), Placement("base"), coordinates)


def _surface(kind: str, name: str, body: str, quadrants: bool, rng: np.random.Generator) -> WrapObject:
    """15 to 40 mm about a place 12 mm from the middle; cylinders lie across x, rings about it."""
    place = tuple(rng.normal(0.0, 0.007, 3))
    loose = tuple(rng.uniform(-3.0, 3.0, 3))
    if kind == "sphere":
        return WrapSphere(name, body, place, loose, radius=rng.uniform(0.015, 0.035))
    if kind == "ellipsoid":
        return WrapEllipsoid(name, body, place, loose, semi_axes=tuple(rng.uniform(0.015, 0.04, 3)))
    tilt = rng.normal(0.0, 0.3, 3)
    if kind == "cylinder":
        # about z, turned round x; a quadrant now and then
        side = str(rng.choice(["all", "all", "+y", "-x"]))
        angles = (rng.uniform(-3.0, 3.0), tilt[1], tilt[2])
        side = side if quadrants else "all"
        return WrapCylinder(name, body, place, angles, side, radius=rng.uniform(0.012, 0.03), length=0.3)
    # the axis z of a ring turned to x
    tube = rng.uniform(0.004, 0.007)
    angles = (tilt[0], np.pi / 2 + tilt[1], tilt[2])
    return WrapTorus(name, body, place, angles, inner_radius=tube, outer_radius=rng.uniform(0.025, 0.035) + tube)


def _point(name: str, body: str, at: Sequence[float], moves: bool, rng: np.random.Generator) -> PathPoint:
    """A point there, or one that moves about there by up to 20 mm as two turns of a say."""
    if not moves:
        return PathPoint(name, body, tuple(at))
    x, y, z = (SimmSpline(_KNOTS, tuple(p + rng.uniform(-0.02, 0.02, 5))) for p in at)
    return MovingPathPoint(name, body, x=x, y=y, z=float(z(0.0)), x_coordinate="a_x", y_coordinate="a_z")


def tangled(
    seed: int,
    kinds: Sequence[str] = (),
    paths: int = 3,
    base: bool = False,
    quadrants: bool = True,
    moving: float = 0.4,
    inside: float = 0.2,
) -> Model:
    """Two or three surfaces that overlap, each on a body of its own, and paths over all of them.

    Args:
        seed: all that is random follows from it.
        kinds: of the surfaces; two or three random ones by default.
        paths: how many.
        base: whether the body that carries all is free to move.
        quadrants: whether the side of some cylinders is held.
        moving: the part of ends that move on their body.
        inside: the part of paths one end of which is so near the middle that it comes to lie inside surfaces.
    """
    rng = np.random.default_rng(seed)
    if not len(kinds):
        kinds = [str(k) for k in rng.choice(KINDS, rng.integers(2, 4), p=(0.3, 0.25, 0.3, 0.15))]
    joints = _joints(rng, base)
    bodies = tuple(Body(name, 1.0, (0.0, 0.0, 0.0), _INERTIA) for name in BODIES)
    on = [str(b) for b in rng.permutation(BODIES)]
    surfaces = tuple(_surface(kind, f"s{k}", on[k], quadrants, rng) for k, kind in enumerate(kinds))
    wraps = tuple(PathWrap(f"over_{s.name}", s.name) for s in surfaces)
    made = []
    for k in range(paths):
        first, last = rng.uniform(0.05, 0.14, 2)
        ends = np.array([[-first, 0.0, 0.0], [last, 0.0, 0.0]]) + rng.normal(0.0, 0.012, (2, 3))
        if rng.uniform() < inside:
            # on a body without a surface, so that no surface holds it in all poses
            ends[1] = np.array([0.02, 0.0, 0.0]) + rng.normal(0.0, 0.008, 3)
        frames = [str(rng.choice(BODIES)), on[-1]]
        points = [_point(f"p{i}", frames[i], ends[i], bool(rng.uniform() < moving), rng) for i in range(2)]
        made.append(Muscle(f"m{k}", "Thelen2003Muscle", path=Path(tuple(points), wraps)))
    return Model(f"tangled {seed}", bodies, joints, forces=tuple(made), wrap_objects=surfaces)


def _two_bodies(surfaces: tuple[WrapObject, ...], ends: Sequence[Sequence[float]], turn: float) -> Model:
    """Surfaces on bodies a and b, both of which turn and slide in ground; a path from ground to b."""
    bodies = tuple(Body(name, 1.0, (0.0, 0.0, 0.0), _INERTIA) for name in ("a", "b"))
    joints = []
    for name in ("a", "b"):
        coordinates = [Coordinate(f"{name}_{k}", range=(-turn, turn)) for k in ("rx", "ry", "rz")]
        coordinates += [Coordinate(f"{name}_{k}", range=(-0.003, 0.003)) for k in ("tx", "ty", "tz")]
        axes = [along(axis, c.name) for axis, c in zip(2 * (X_AXIS, Y_AXIS, Z_AXIS), coordinates, strict=True)]
        place = Placement("ground"), Placement(name)
        joints.append(
            CustomJoint(
                f"of_{name}", *place, tuple(coordinates), rotations=tuple(axes[:3]), translations=tuple(axes[3:])
            )
        )
    wraps = tuple(PathWrap(f"over_{s.name}", s.name) for s in surfaces)
    points = (PathPoint("p0", "ground", tuple(ends[0])), PathPoint("p1", "b", tuple(ends[1])))
    muscle = Muscle("m", "Thelen2003Muscle", path=Path(points, wraps))
    return Model("two bodies", bodies, tuple(joints), forces=(muscle,), wrap_objects=surfaces)


def groove() -> Model:
    """Two balls that overlap, on two bodies, and a path that lies where they meet."""
    balls = (
        WrapSphere("ball_a", "a", (-0.015, 0.0, 0.0), radius=0.03),
        WrapSphere("ball_b", "b", (0.017, 0.002, 0.0), radius=0.028),
    )
    return _two_bodies(balls, ((0.0, -0.08, 0.012), (0.002, 0.07, 0.01)), 0.15)
