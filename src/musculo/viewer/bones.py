"""Bones of a model that brings none along: shapes that joints, inertias and muscle attachments suggest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.poses import Kinematics
from musculo.model.body import GROUND, Body
from musculo.model.model import Model
from musculo.model.model_path import MovingPathPoint
from musculo.spatial.inertia import tensor

# Ends of a body that lie closer together than this share of its longest bone are one end (knee and patella).
_ONE_END = 0.3
# No axis is longer than this share of the model.
_LARGEST = 0.45
# [kg/m^3] Flesh has about 1000. An inertia that implies less was chosen for the numerics (toes, phantom bodies) and
# says nothing about the size, so the body is drawn as large as this density makes it.
_LIGHTEST = 500.0
# From this ratio of axes on a body without further joints is drawn as a long bone.
_SLENDER = 3.0
# A larger ellipsoid (share of the model) is a translucent shell: trunk and pelvis would hide what lies behind them.
_SHELL = 0.08


@dataclass(frozen=True, eq=False)
class Shape:
    """A "bone" from `a` to `b`, or an "ellipsoid" or "shell" at `a` with axes R; all in the body's frame."""

    body: str
    kind: str
    a: FloatArray
    b: FloatArray
    R: FloatArray
    sizes: tuple[float, ...]  # bone: radius of the shaft [m]; ellipsoid: semi-axes [m]


def made_bones(model: Model, poses: Kinematics, bodies: set[str]) -> tuple[Shape, ...]:
    """Shapes for the named bodies, from the first frame of a motion."""
    R, p = {}, {}
    for name in (GROUND, *model.body_names):
        rotation, position = poses.batch_pose(name)
        R[name], p[name] = rotation[0], position[0]
    anchors = _anchors(model, R, p)
    carried = _carried(model)
    attachments = _attachments(model)
    size = model_size(model, poses)
    shapes: list[Shape] = []
    for body in model.bodies:
        if body.name in bodies:
            origin, ends = anchors[body.name]
            # Heaviest first: of knee and patella, the femur reaches to the knee.
            places = [place for _, place in sorted(ends, key=lambda end: -carried[end[0]])]
            shapes += _shapes(body, origin, places, attachments.get(body.name, np.zeros((0, 3))), size)
    return tuple(shapes)


def model_size(model: Model, poses: Kinematics) -> float:
    """The diagonal of the box around all bodies, markers and path points of the first frame [m]; one if it is tiny."""
    places = [poses.batch_pose(name)[1][0] for name in model.body_names]
    points = _attachments(model)
    for name, local in points.items():
        rotation, position = poses.batch_pose(name)
        places += list(position[0] + local @ rotation[0].T)
    places += [np.atleast_2d(poses.position(m.frame, m.location))[0] for m in model.markers]
    extent = float(np.linalg.norm(np.ptp(places, axis=0))) if places else 0.0
    return extent if extent > 0.05 else 1.0


_Ends = list[tuple[str, FloatArray]]


def _anchors(model: Model, R: dict, p: dict) -> dict[str, tuple[FloatArray, _Ends]]:
    """For each body: where its joint to the parent is, and each child with the place of its joint, in its own frame."""
    found: dict[str, tuple[FloatArray, _Ends]] = {b.name: (np.zeros(3), []) for b in model.bodies}
    for joint in model.joints:
        parent, child = joint.parent.body, joint.child.body
        hinge = np.array(joint.child.translation)
        if child in found:
            found[child] = (hinge, found[child][1])
        if parent in found and child in p:
            # Where the child is, not the parent's frame: old knees carry the femur's length in the joint.
            world = p[child] + R[child] @ hinge
            found[parent][1].append((child, R[parent].T @ (world - p[parent])))
    return found


def _carried(model: Model) -> dict[str, float]:
    """The mass of each body with all that hangs on it [kg]."""
    total = {body.name: body.mass for body in model.bodies}
    parent = {joint.child.body: joint.parent.body for joint in model.joints}
    for body in model.bodies:
        above, passed = parent.get(body.name), {body.name}
        while above in total and above not in passed:
            total[above] += body.mass
            passed.add(above)
            above = parent.get(above)
    return total


def _attachments(model: Model) -> dict[str, FloatArray]:
    """Fixed path points of muscles by body, in its frame."""
    found: dict[str, list[FloatArray]] = {}
    for muscle in model.muscles:
        for point in muscle.path.points if muscle.path is not None else ():
            if not isinstance(point, MovingPathPoint) and point.frame in (GROUND, *model.body_names):
                found.setdefault(point.frame, []).append(np.array(point.location))
    return {name: np.array(points) for name, points in found.items()}


def _shapes(body: Body, origin: FloatArray, ends: list[FloatArray], points: FloatArray, size: float) -> list[Shape]:
    center, axes, semi = _ellipsoid(body, size)
    thin = float(semi.min()) if semi is not None else 0.0
    arm = float(np.linalg.norm(center - origin)) if body.mass > 0.0 else 0.0
    kept: list[FloatArray] = []
    longest = max((float(np.linalg.norm(end - origin)) for end in ends), default=0.0)
    for end in ends:
        length = float(np.linalg.norm(end - origin))
        near = any(np.linalg.norm(end - other) < _ONE_END * longest for other in kept)
        if length > max(0.02 * size, _ONE_END * longest, 0.4 * arm) and not near:
            kept.append(end)
    shapes = _spread(body.name, origin, kept, thin)
    if semi is None:
        return shapes or ([_ball(body.name, origin, 0.008 * size)] if len(points) else [])
    if not kept and semi.max() > _SLENDER * semi.min() and arm > 0.5 * semi.max():
        # The mass center of a segment lies near its middle. What joins close to its head is linked to it: the radius
        # of a forearm whose ulna ends at the wrist.
        links = [end for end in ends if np.linalg.norm(end - origin) > 0.004 * size]
        shaft = _bone(body.name, origin, origin + 1.9 * (center - origin), thin)
        return [shaft, *_links(body.name, origin, links, thin)]
    if len(kept) == 1 and thin < 0.5 * np.linalg.norm(kept[0] - origin):
        return shapes
    if not kept and arm > 0.1 * semi.max():
        semi = np.minimum(semi, 1.2 * arm)  # what hangs on a joint begins there
    share = 0.85 if kept else 0.75
    if len(points) >= 4:
        # Bone lies under the muscles that are attached to it.
        norms = np.linalg.norm((points - center) @ axes / semi, axis=1)
        share = float(np.clip(np.quantile(norms, 0.25), 0.5, share))
    semi = share * semi
    kind = "shell" if kept or semi.max() > _SHELL * size else "ellipsoid"
    shapes.append(Shape(body.name, kind, center, center, axes, tuple(float(x) for x in semi)))
    if not kept and arm > 0.02 * size and (kind == "shell" or arm > 1.1 * semi.max() > 0.03 * size):
        shapes.append(_bone(body.name, origin, center, thin))
    return shapes


def _spread(body: str, origin: FloatArray, ends: list[FloatArray], thin: float) -> list[Shape]:
    """Bones from the joint to the next ones; where several of those are far away, first to their middle (a spine)."""
    if len(ends) > 1:
        middle = np.mean(ends, axis=0)
        if np.linalg.norm(middle - origin) > 0.5 * np.linalg.norm(ends[0] - origin):
            return [_bone(body, origin, middle, thin), *(_bone(body, middle, end, 0.6 * thin) for end in ends)]
    return [_bone(body, origin, end, thin) for end in ends]


def _ellipsoid(body: Body, size: float) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Center, principal axes and semi-axes of the uniform ellipsoid with the body's mass and inertia.

    I_i = m (a_j^2 + a_k^2) / 5, so a_i^2 = 5 (I_j + I_k - I_i) / (2 m); None where that is not a shape.
    """
    center = np.array(body.mass_center)
    moments, axes = np.linalg.eigh(tensor(body.inertia))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    if body.mass <= 0.0 or moments[2] <= 0.0:
        return center, axes, None
    squares = 2.5 / body.mass * (moments.sum() - 2.0 * moments)
    largest = float(np.sqrt(max(squares.max(), 0.0)))
    semi = np.sqrt(np.maximum(squares, (0.2 * largest) ** 2))
    density = body.mass / (4.0 / 3.0 * np.pi * float(np.prod(semi)))
    share = min(1.0, (density / _LIGHTEST) ** (1.0 / 3.0))
    return center, axes, semi * min(share, _LARGEST * size / largest)


def _bone(body: str, a: FloatArray, b: FloatArray, thin: float) -> Shape:
    """A long bone whose shaft follows the thickness of the segment, within what looks like a bone."""
    length = float(np.linalg.norm(b - a))
    return Shape(body, "bone", a, b, np.eye(3), (float(np.clip(0.13 * thin, 0.024 * length, 0.06 * length)),))


def _links(body: str, origin: FloatArray, ends: list[FloatArray], thin: float) -> list[Shape]:
    return [Shape(body, "bone", origin, end, np.eye(3), (0.1 * thin,)) for end in ends]


def _ball(body: str, at: FloatArray, radius: float) -> Shape:
    return Shape(body, "ellipsoid", at, at, np.eye(3), (radius,) * 3)
