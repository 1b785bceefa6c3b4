"""Contacts: what shapes that touch do to each other.

Rotations R (frames, nodes, 3, 3) and motion (frames, nodes, 5, 3) of the nodes of a tree are as `kinematics` has them:
positions, angular velocities and velocities are the first three rows. A wrench is a moment about ground's origin and a
force, in ground. States are real numbers here: contacts begin and end, and no derivative is taken through them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver, inline
from musculo.kernels.contact.nearest_triangle import nearest_of_mesh

# Of a pair of shapes: not in contact, pressing, or parting so fast that nothing presses.
APART, PRESSING, PARTING = range(3)
# Shapes that a bed of springs may press on.
PLANE, BALL, MESH = range(3)


class Friction(NamedTuple):
    """Coefficients of contacts, one entry each."""

    static: FloatArray
    dynamic: FloatArray
    viscous: FloatArray  # [s/m]
    transition: FloatArray  # [m/s]


class Pairs(NamedTuple):
    """Two shapes each that may touch: a half-space or a sphere, and a sphere."""

    node_1: IntArray
    node_2: IntArray
    p_1: FloatArray  # (pairs, 3) origin of the half-space, or centre, in its node
    p_2: FloatArray
    axis: FloatArray  # (pairs, 3) x of a half-space in its node: there it is solid
    on_plane: IntArray  # whether the first is a half-space
    r_1: FloatArray
    r_2: FloatArray
    radius: FloatArray  # of both together
    stiffness: FloatArray  # of both together, E^(2/3)
    dissipation: FloatArray
    share: FloatArray  # of the depth, which the first gives way
    friction: Friction


class SmoothPairs(NamedTuple):
    """A half-space and a sphere each."""

    node_1: IntArray
    node_2: IntArray
    p_1: FloatArray
    p_2: FloatArray
    axis: FloatArray
    radius: FloatArray
    stiffness: FloatArray  # E^(2/3) / 2
    dissipation: FloatArray
    lowest: FloatArray  # 2 / (3 dissipation), infinite without
    constant: FloatArray
    hertz: FloatArray
    hunt: FloatArray
    friction: Friction


class Mesh(NamedTuple):
    """Triangles of a shape, in its frame."""

    middle: FloatArray  # (triangles, 3)
    area: FloatArray  # (triangles,)
    normal: FloatArray  # (triangles, 3) outward
    corners: FloatArray  # (triangles, 9)
    size: FloatArray  # (triangles,) radius about the middle


class Bed(NamedTuple):
    """The springs of a mesh, and the shape that they are pressed by."""

    node_1: int
    node_2: int
    R_1: FloatArray  # (3, 3) in the node
    R_2: FloatArray
    p_1: FloatArray  # (3,)
    p_2: FloatArray
    kind: int  # of the other shape
    radius: float  # of a sphere
    stiffness: float  # by area
    dissipation: float
    friction: Friction  # of one entry


# --- small vectors ----------------------------------------------------------------------------------------------------
@inline
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inline
def _plus(a, s, b):
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@inline
def _turn(R, v):
    return (
        R[0, 0] * v[0] + R[0, 1] * v[1] + R[0, 2] * v[2],
        R[1, 0] * v[0] + R[1, 1] * v[1] + R[1, 2] * v[2],
        R[2, 0] * v[0] + R[2, 1] * v[1] + R[2, 2] * v[2],
    )


@inline
def _turn_back(R, v):
    return (
        R[0, 0] * v[0] + R[1, 0] * v[1] + R[2, 0] * v[2],
        R[0, 1] * v[0] + R[1, 1] * v[1] + R[2, 1] * v[2],
        R[0, 2] * v[0] + R[1, 2] * v[1] + R[2, 2] * v[2],
    )


@inline
def _product(A, B, out):
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@inline
def _place(R, motion, p):
    """A point of a node in ground."""
    return _plus(_turn(R, p), 1.0, motion[0])


@inline
def _speed(motion, x):
    """Velocity of the point of a node that is at x in ground."""
    return _plus(_cross(motion[1], _plus(x, -1.0, motion[0])), 1.0, motion[2])


@inline
def _put(wrench, point, force):
    m = _cross(point, force)
    for k in range(3):
        wrench[k] = m[k]
        wrench[3 + k] = force[k]


@inline
def _friction(friction, k, slip):
    """Friction by normal force, of the speed of slip.

        mu = min(v / v_t, 1) (mu_d + 2 (mu_s - mu_d) / (1 + (v / v_t)^2)) + mu_v v

    It is zero at rest and largest, mu_s, at the transition velocity v_t, so that nothing sticks: what stands on a slope
    creeps.

    Source: [Sherman2011], and OpenSim 4.6, observed behaviour.
    """
    r = slip / friction.transition[k]
    dry = friction.dynamic[k] + 2.0 * (friction.static[k] - friction.dynamic[k]) / (1.0 + r * r)
    return min(r, 1.0) * dry + friction.viscous[k] * slip


@inline
def _push(normal, n, v, v_n, softened, friction, k):
    """The force of a contact: normal n, and friction along the slip, whose speed is softened by a constant."""
    slide = _plus(v, -v_n, n)
    slip = math.sqrt(_dot(slide, slide) + softened)
    along = normal * _friction(friction, k, slip) / slip if slip > 0.0 else 0.0
    return along * slide[0] + normal * n[0], along * slide[1] + normal * n[1], along * slide[2] + normal * n[2]


# --- over all frames --------------------------------------------------------------------------------------------------
@driver
def hertz_frames(pairs, R, motion, wrench, energy, state, start, stop):
    """The law of `musculo.forces.contact_hertz.HertzContacts`.

    Writes the wrench (frames, pairs, 6) on the second shape, the energy and the state (frames, pairs).
    """
    for f in range(start, stop):
        for k in range(pairs.node_1.size):
            a, b = pairs.node_1[k], pairs.node_2[k]
            wrench[f, k, :] = 0.0
            energy[f, k] = 0.0
            state[f, k] = APART
            p_1, p_2 = _place(R[f, a], motion[f, a], pairs.p_1[k]), _place(R[f, b], motion[f, b], pairs.p_2[k])
            apart = _plus(p_2, -1.0, p_1)
            if pairs.on_plane[k] == 1:
                x = _turn(R[f, a], pairs.axis[k])
                n = (-x[0], -x[1], -x[2])
                depth = pairs.r_2[k] - _dot(apart, n)
            else:
                distance = math.sqrt(_dot(apart, apart))
                # centres that coincide have no direction, and OpenSim sees no contact
                if distance == 0.0:
                    continue
                n = (apart[0] / distance, apart[1] / distance, apart[2] / distance)
                depth = pairs.r_1[k] + pairs.r_2[k] - distance
            if depth <= 0.0:
                continue
            point = _plus(p_2, depth * (1.0 - pairs.share[k]) - pairs.r_2[k], n)
            v = _plus(_speed(motion[f, a], point), -1.0, _speed(motion[f, b], point))
            v_n = _dot(v, n)
            hertz = 4.0 / 3.0 * pairs.stiffness[k] * depth * math.sqrt(pairs.radius[k] * pairs.stiffness[k] * depth)
            energy[f, k] = 0.4 * hertz * depth
            normal = hertz * (1.0 + 1.5 * pairs.dissipation[k] * v_n)
            if normal <= 0.0:
                state[f, k] = PARTING
                continue
            state[f, k] = PRESSING
            _put(wrench[f, k], point, _push(normal, n, v, v_n, 0.0, pairs.friction, k))


@driver
def smooth_frames(pairs, R, motion, wrench, energy, start, stop):
    """The law of `musculo.forces.contact_smooth.SmoothContacts`.

    Writes the wrench (frames, pairs, 6) on the half-space and the energy (frames, pairs).
    """
    for f in range(start, stop):
        for k in range(pairs.node_1.size):
            a, b = pairs.node_1[k], pairs.node_2[k]
            p_1, p_2 = _place(R[f, a], motion[f, a], pairs.p_1[k]), _place(R[f, b], motion[f, b], pairs.p_2[k])
            n = _turn(R[f, a], pairs.axis[k])
            radius, stiffness, c, constant = (
                pairs.radius[k],
                pairs.stiffness[k],
                pairs.dissipation[k],
                pairs.constant[k],
            )
            x = _dot(_plus(p_2, -1.0, p_1), n) + radius
            point = _plus(p_2, radius - 0.5 * x, n)
            v = _plus(_speed(motion[f, b], point), -1.0, _speed(motion[f, a], point))
            v_n = _dot(v, n)
            hertz = 4.0 / 3.0 * stiffness * math.sqrt(radius * stiffness) * (x * x + constant) ** 0.75
            hertz *= 0.5 + 0.5 * math.tanh(pairs.hertz[k] * x)
            energy[f, k] = 0.4 * hertz * x
            normal = hertz * (1.0 + 1.5 * c * v_n) * (0.5 + 0.5 * math.tanh(pairs.hunt[k] * (v_n + pairs.lowest[k])))
            _put(wrench[f, k], point, _push(normal, n, v, v_n, constant, pairs.friction, k))


@driver
def bed_frames(bed, mesh, other, R, motion, wrench, energy, start, stop):
    """The law of `musculo.forces.contact_foundation.Foundations`, of one mesh and one other shape.

    `other` are the triangles of the other shape where it is a mesh. Adds to the wrench (frames, 6) on the mesh and to
    the energy (frames,).
    """
    low, high = np.full(3, -math.inf), np.full(3, math.inf)
    if bed.kind == MESH:
        low[:], high[:] = math.inf, -math.inf
        for j in range(other.corners.shape[0]):
            for k in range(other.corners.shape[1]):
                low[k % 3] = min(low[k % 3], other.corners[j, k])
                high[k % 3] = max(high[k % 3], other.corners[j, k])
    R_1, R_2 = np.empty((3, 3)), np.empty((3, 3))
    for f in range(start, stop):
        a, b = bed.node_1, bed.node_2
        _product(R[f, a], bed.R_1, R_1)
        _product(R[f, b], bed.R_2, R_2)
        p_1, p_2 = _place(R[f, a], motion[f, a], bed.p_1), _place(R[f, b], motion[f, b], bed.p_2)
        for k in range(mesh.area.size):
            x = _plus(_turn(R_1, mesh.middle[k]), 1.0, p_1)
            y = _turn_back(R_2, _plus(x, -1.0, p_2))
            if bed.kind == PLANE:
                inside = y[0] > 0.0
                surface = (0.0, y[1], y[2])
            elif bed.kind == BALL:
                length = math.sqrt(_dot(y, y))
                # from the centre there is no nearest way
                inside = 0.0 < length < bed.radius
                scale = bed.radius / length if inside else 0.0
                surface = (scale * y[0], scale * y[1], scale * y[2])
            else:
                inside = low[0] < y[0] < high[0] and low[1] < y[1] < high[1] and low[2] < y[2] < high[2]
                surface = (0.0, 0.0, 0.0)
                if inside:
                    surface, inside = nearest_of_mesh(y, other)
            if not inside:
                continue
            way = _turn(R_2, _plus(surface, -1.0, y))
            distance = math.sqrt(_dot(way, way))
            if distance == 0.0:
                continue
            e = (way[0] / distance, way[1] / distance, way[2] / distance)
            point = _plus(x, 1.0, way)
            v = _plus(_speed(motion[f, b], point), -1.0, _speed(motion[f, a], point))
            v_n = _dot(v, e)
            stiffness = bed.stiffness * mesh.area[k]
            energy[f] += 0.5 * stiffness * distance * distance
            normal = stiffness * distance * (1.0 + bed.dissipation * v_n)
            if normal <= 0.0:
                continue
            force = _push(normal, e, v, v_n, 0.0, bed.friction, 0)
            moment = _cross(point, force)
            for i in range(3):
                wrench[f, i] += moment[i]
                wrench[f, 3 + i] += force[i]
