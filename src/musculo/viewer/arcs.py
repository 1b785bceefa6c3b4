"""The way of a path over a wrap surface between its two contacts, sampled for drawing.

The mechanics knows the contacts and the length; what lies between is the geodesic through both. On a cylinder it is a
helix and on a sphere a great circle, sampled exactly. On an ellipsoid or torus the samples start on a curve of the
surface that leaves the first contact the right way, and are pulled taut on the surface until they lie on the geodesic.
Where a path point lies inside a surface, the mechanics shrinks the surface to it (`kernels.geodesic`); so the sizes
here are those of the surface through the first contact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapObject, WrapSphere, WrapTorus

# [rad] An arc gets a sample for so much turning, so that its chords look round.
TURN = 0.22
MOST = 14
# Pulling taut: the slowest mode of 14 samples shrinks by 0.6 in each round.
_PULL = 16.0
_ROUNDS = 24
_AT_REST = 1e-5  # [m]
# [rad] Against the direction of arrival an arc may turn by so much, as rounding, before it goes the long way round.
_ROUNDING = 0.05


def arc(surface: WrapObject, a: FloatArray, b: FloatArray, arriving: FloatArray, leaving: FloatArray) -> FloatArray:
    """Samples (frames, n, 3) strictly between the contacts, in the frame of the surface; n from the longest arc.

    Args:
        surface: the wrap object; its own frame is that of all points.
        a: (frames, 3) where the path meets the surface [m].
        b: (frames, 3) where it leaves [m].
        arriving: (frames, 3) from the point before to `a`; it says which way round the path goes.
        leaving: (frames, 3) from `b` to the point after; it says so, too, where a point lies in the surface.
    """
    if isinstance(surface, WrapCylinder):
        return _about_z(a, b, arriving, leaving)
    if isinstance(surface, WrapSphere):
        return _great_circle(a, b, arriving, leaving)[0]
    if isinstance(surface, WrapEllipsoid):
        axes = np.array(surface.semi_axes)
        axes = axes * np.linalg.norm(a / axes, axis=1, keepdims=True)
        start, angle = _great_circle(a / axes, b / axes, arriving / axes, leaving / axes)
        axes = axes[:, None]
        on = _Surface(lambda x: _on_ellipsoid(x, axes), lambda x: _unit(x / axes**2))
        return _taut(start * axes, a, b, on, angle)
    if isinstance(surface, WrapTorus):
        ring = surface.outer_radius
        tube = np.hypot(np.hypot(a[:, 0], a[:, 1]) - ring, a[:, 2])[:, None]
        start, angle = _around_tube(a, b, arriving, leaving, ring, tube)
        on = _Surface(lambda x: _on_torus(x, ring, tube), lambda x: _unit(x - _ring_center(x, ring)))
        return _taut(start, a, b, on, angle)
    return np.zeros((len(a), 0, 3))


def _samples(angle: FloatArray) -> FloatArray:
    """Parameters (n,) strictly between 0 and 1, as many as the longest arc wants."""
    longest = float(np.max(np.abs(angle), initial=0.0))
    n = int(np.clip(np.ceil(longest / TURN) - 1, 1, MOST))
    return np.arange(1, n + 1) / (n + 1)


def _turn(angle: FloatArray, way: FloatArray) -> FloatArray:
    """The angle in (-pi, pi], or the long way round where the path arrives the other way."""
    angle = np.arctan2(np.sin(angle), np.cos(angle))
    against = (angle * way < 0.0) & (np.abs(angle) > _ROUNDING)
    return np.where(against, angle - 2.0 * np.pi * np.sign(angle), angle)


def _about_z(a: FloatArray, b: FloatArray, arriving: FloatArray, leaving: FloatArray) -> FloatArray:
    """A helix about z: the angle and z grow evenly."""
    start, radius = np.arctan2(a[:, 1], a[:, 0]), np.hypot(a[:, 0], a[:, 1])
    way = sum(x[:, 0] * d[:, 1] - x[:, 1] * d[:, 0] for x, d in ((a, arriving), (b, leaving)))
    angle = _turn(np.arctan2(b[:, 1], b[:, 0]) - start, np.asarray(way))
    s = _samples(angle)
    phi = start[:, None] + angle[:, None] * s
    z = a[:, 2:] + (b - a)[:, 2:] * s
    return np.stack([radius[:, None] * np.cos(phi), radius[:, None] * np.sin(phi), z], axis=-1)


def _great_circle(
    a: FloatArray, b: FloatArray, arriving: FloatArray, leaving: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Slerp from a to b about the origin, and the angle; the long way where the path arrives the other way."""
    radius = np.linalg.norm(a, axis=1, keepdims=True)
    u, v = a / radius, b / np.maximum(np.linalg.norm(b, axis=1, keepdims=True), 1e-12)
    cross = np.cross(u, v)
    axis = np.where(np.linalg.norm(cross, axis=1, keepdims=True) > 1e-9, cross, np.cross(u, arriving))
    axis = axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-12)
    way = sum(np.einsum("fi,fi->f", np.cross(axis, x), d) for x, d in ((u, arriving), (v, leaving)))
    angle = _turn(np.arctan2(np.einsum("fi,fi->f", axis, cross), np.einsum("fi,fi->f", u, v)), way)
    s = _samples(angle)
    phi = angle[:, None, None] * s[:, None]
    return (u[:, None] * np.cos(phi) + np.cross(axis, u)[:, None] * np.sin(phi)) * radius[:, None], angle


def _around_tube(
    a: FloatArray, b: FloatArray, arriving: FloatArray, leaving: FloatArray, ring: float, tube: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Even steps of the angle around the ring and the angle around the tube; and the latter."""
    way = 0.0
    angles = []
    for x, direction in ((a, arriving), (b, leaving)):
        phi, theta = np.arctan2(x[:, 1], x[:, 0]), np.arctan2(x[:, 2], np.hypot(x[:, 0], x[:, 1]) - ring)
        c, s, st = np.cos(phi), np.sin(phi), np.sin(theta)
        along_tube = np.stack([-st * c, -st * s, np.cos(theta)], axis=1)
        way = way + np.einsum("fi,fi->f", along_tube, direction)
        angles.append((phi, theta))
    (phi_a, theta_a), (phi_b, theta_b) = angles
    turned = _turn(theta_b - theta_a, np.asarray(way))
    along = np.arctan2(np.sin(phi_b - phi_a), np.cos(phi_b - phi_a))
    t = _samples(np.maximum(np.abs(turned), np.abs(along)))
    phi, theta = phi_a[:, None] + along[:, None] * t, theta_a[:, None] + turned[:, None] * t
    r = ring + tube * np.cos(theta)
    return np.stack([r * np.cos(phi), r * np.sin(phi), tube * np.sin(theta)], axis=-1), turned


def _taut(x: FloatArray, a: FloatArray, b: FloatArray, on: _Surface, angle: FloatArray) -> FloatArray:
    """Samples pulled along the surface until they rest on the geodesic, evenly spread.

        x' = x + (1 - p L)^-1 p T L x,   L: second differences, ends included; T: into the tangent plane

    and back onto the surface. At rest T L x = 0: the curve bends along the normal only. (1 - p L)^-1 p makes long waves
    rest as soon as short ones. An arc of more than half a turn is not the shortest and would slip off; it stays on
    its first curve.
    """
    n = x.shape[1]
    short = (np.abs(angle) < np.pi)[:, None, None]
    L = np.diag(np.full(n, -2.0)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    step = np.linalg.inv(np.eye(n) - _PULL * L) * _PULL
    x = on.closest(x)
    for _ in range(_ROUNDS):
        bend = L @ x
        bend[:, 0] += a
        bend[:, -1] += b
        out = on.normal(x)
        bend -= np.einsum("fni,fni->fn", bend, out)[..., None] * out
        new = np.where(short, on.closest(x + step @ bend), x)
        moved = np.abs(new - x).max(initial=0.0)
        x = new
        if moved < _AT_REST:
            break
    return x


class _Surface(NamedTuple):
    """Points (frames, n, 3) put onto a surface, and its unit normals there."""

    closest: Callable[[FloatArray], FloatArray]
    normal: Callable[[FloatArray], FloatArray]


def _unit(x: FloatArray) -> FloatArray:
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)


def _on_ellipsoid(x: FloatArray, axes: FloatArray) -> FloatArray:
    """Moved along the gradient of the quadric to the surface; near it this is the closest point to first order."""
    for _ in range(2):
        slope = 2.0 * x / axes**2
        level = 0.5 * np.einsum("fni,fni->fn", x, slope) - 1.0
        x = x - (level / np.maximum(np.einsum("fni,fni->fn", slope, slope), 1e-12))[..., None] * slope
    return x


def _on_torus(x: FloatArray, ring: float, tube: FloatArray) -> FloatArray:
    """The closest point of the tube."""
    center = _ring_center(x, ring)
    return center + tube[..., None] * _unit(x - center)


def _ring_center(x: FloatArray, ring: float) -> FloatArray:
    """The closest point of the center line of the tube."""
    flat = x * np.array([1.0, 1.0, 0.0])
    return ring * _unit(flat)
