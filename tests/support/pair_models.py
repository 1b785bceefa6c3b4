"""Made-up models of two surfaces near each other, with paths whose ends may be anywhere about them."""

from __future__ import annotations

import math

import numpy as np

from musculo import Body, Coordinate, Model, Muscle, Placement
from musculo.model import Path, PathPoint, PathWrap
from musculo.model.joints import CustomJoint
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, along
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapObject, WrapSphere

# How far the middles of surfaces are apart, in each direction [m]; and how long ellipsoids are at most.
_SPREAD, _RATIO = 0.015, 4.5
_INERTIA = (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)
# How far bodies slide: the one with the end of paths, and the one with the second surface [m].
_SLIDES = {"a": 0.1, "b": 0.02}


def _surface(kind: str, name: str, body: str, quadrants: bool, rng: np.random.Generator) -> WrapObject:
    """A cylinder (c), sphere (s) or ellipsoid (e) of 12 to 50 mm."""
    at, turn = tuple(rng.normal(0.0, _SPREAD, 3)), tuple(rng.uniform(-3.0, 3.0, 3))
    size = rng.uniform(0.012, 0.05)
    sides = ["all", "+x", "-x", "+y", "-y"] + ([] if kind == "c" else ["+z", "-z"])
    side = str(rng.choice(sides)) if quadrants else "all"
    if kind == "c":
        return WrapCylinder(name, body, at, turn, side, radius=size, length=float(rng.uniform(0.05, 0.4)))
    if kind == "s":
        return WrapSphere(name, body, at, turn, side, radius=size)
    axes = size * np.exp(rng.uniform(-0.5, 0.5, 3) * math.log(_RATIO))
    return WrapEllipsoid(name, body, at, turn, side, semi_axes=tuple(axes))


def pair(kinds: str, seed: int, quadrants: bool = True, paths: int = 5) -> Model:
    """Surfaces of the kinds (letters c, s, e), the first in ground and the others on a body that moves, and paths from
    ground to another body. A third of them end near the surfaces, or inside; all that is random follows from the seed.
    """
    rng = np.random.default_rng(seed)
    bodies = tuple(Body(name, 1.0, (0.0, 0.0, 0.0), _INERTIA) for name in _SLIDES)
    joints = []
    for name, far in _SLIDES.items():
        coordinates = [Coordinate(f"{name}_{k}", range=(-1.0, 1.0)) for k in ("rx", "ry", "rz")]
        coordinates += [Coordinate(f"{name}_{k}", range=(-far, far)) for k in ("tx", "ty", "tz")]
        axes = [along(axis, c.name) for axis, c in zip(2 * (X_AXIS, Y_AXIS, Z_AXIS), coordinates, strict=True)]
        place = Placement("ground"), Placement(name)
        motions = {"rotations": tuple(axes[:3]), "translations": tuple(axes[3:])}
        joints.append(CustomJoint(f"of_{name}", *place, tuple(coordinates), **motions))
    surfaces = tuple(
        _surface(kind, f"s{i}_{kind}", "ground" if i == 0 else "b", quadrants, rng) for i, kind in enumerate(kinds)
    )
    wraps = tuple(PathWrap(f"over_{s.name}", s.name) for s in surfaces)
    muscles = []
    for i in range(paths):
        p = rng.uniform(-0.1, 0.1, 3)
        q = -p * rng.uniform(0.3, 1.2) + rng.normal(0.0, 0.03, 3)
        if rng.uniform() < 0.3:
            q = rng.uniform(-0.03, 0.03, 3)
        points = (PathPoint("p", "ground", tuple(p)), PathPoint("q", "a", tuple(q)))
        muscles.append(Muscle(f"m{i}", "Thelen2003Muscle", path=Path(points, wraps)))
    return Model(f"{kinds} {seed}", bodies, tuple(joints), forces=tuple(muscles), wrap_objects=surfaces)
