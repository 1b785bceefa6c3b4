"""Contacts: what two shapes that touch do to each other at one state.

`motion` (MOTION_ROWS nodes, lanes) is what `kinematics` writes. A wrench is a moment about ground's origin and a force,
in ground, on the second shape; the first feels the opposite. States are real numbers here, as contacts begin and end;
only the smooth law, which has slopes (`smooth_contact_slopes`), takes all that a lane may hold.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import apart, inline, kernel
from musculo.kernels.contact.nearest_triangle import nearest_of_mesh
from musculo.kernels.forces.fixed_frames import FixedFrames, frame_point, frame_rotation, node_rotation, velocity_at
from musculo.kernels.hill.exponentials import exponential
from musculo.kernels.scalar.choices import less, where
from musculo.kernels.scalar.scalars import like, square_root
from musculo.kernels.scalar.vectors import add, add_scaled, cross, dot, rotate, rotate_back, scale, subtract

# The natural logarithm of a number so large that its reciprocal counts as zero.
_STEEPEST = 700.0
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

    first: FixedFrames  # origin of the half-space, or center
    second: FixedFrames
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

    first: FixedFrames
    second: FixedFrames
    axis: FloatArray
    radius: FloatArray
    stiffness: FloatArray  # E^(2/3) / 2
    dissipation: FloatArray
    lowest: FloatArray  # 2 / (3 dissipation), infinite without
    constant: FloatArray
    hertz: FloatArray
    hunt: FloatArray
    friction: Friction


class Beds(NamedTuple):
    """The springs of a mesh each, and the shape that they are pressed by."""

    first: FixedFrames  # the mesh
    second: FixedFrames
    mesh: IntArray  # (beds,) which of `Meshes`
    other: IntArray  # (beds,) likewise, of another mesh; -1: it is none
    kind: IntArray  # (beds,) of the other shape
    radius: FloatArray  # (beds,) of a sphere
    stiffness: FloatArray  # (beds,) by area
    dissipation: FloatArray
    friction: Friction


@inline
def _friction(friction, k, slip):
    """Friction by normal force and by the speed of slip, mu(v) / v, and its slope by v, over v.

        mu = min(v / v_t, 1) (mu_d + 2 (mu_s - mu_d) / (1 + (v / v_t)^2)) + mu_v v

    It is zero at rest and largest, mu_s, at the transition velocity v_t, so that nothing sticks: what stands on a slope
    creeps.

    Source:     [Sherman2011], and OpenSim 4.6, observed behavior.
    Guarantees: finite at rest, where v_t is not zero.
    """
    v_t = friction.transition[k]
    r = slip / v_t
    turn = 1.0 + r * r
    excess = 2.0 * (friction.static[k] - friction.dynamic[k]) / turn
    dry = friction.dynamic[k] + excess
    rising = less(r, 1.0)
    share = where(rising, 1.0 / v_t, 1.0 / slip)
    slope = share * excess * -2.0 / (turn * v_t * v_t)
    slope = where(rising, slope, slope - dry / (slip * slip * slip))
    return share * dry + friction.viscous[k], slope


@inline
def push(normal, n, v, v_n, softened, friction, k):
    """The force of a contact: normal n, and friction along the slip, whose speed is softened by a constant.

    After it the slip v_t, and g and h of friction normal g v_t with dg = h v_t . dv_t.
    """
    slide = add_scaled(v, -v_n, n)
    slip = square_root(dot(slide, slide) + softened)
    rub, slope = _friction(friction, k, slip)
    rub = where(less(0.0, slip), rub, 0.0)
    return add_scaled(scale(normal, n), normal * rub, slide), slide, rub, slope


@inline
def _axis(pairs, k, motion, lane):
    """x of the half-space of a pair, in ground."""
    x = (pairs.axis[k, 0], pairs.axis[k, 1], pairs.axis[k, 2])
    return rotate(node_rotation(pairs.first.node[k], motion, lane), x)


@kernel
def hertz_wrench(pairs, k, motion, lane):
    """Moment and force on the second shape of pair k, its energy, and its state.

        x    = depth;   1 / k = 1 / k_1 + 1 / k_2,   k_i = E_i^(2/3);   c = (k_2 c_1 + k_1 c_2) / (k_1 + k_2)
        f_H  = 4/3 k x sqrt(R k x),   1 / R = 1 / R_1 + 1 / R_2
        f    = f_H (1 + 3/2 c v_n),   none where that is negative;   V = 2/5 f_H x
        friction  f mu(|v_t|) against the slip v_t (`_friction`), mu = 2 mu_1 mu_2 / (mu_1 + mu_2)

    It acts at the point that divides the depth as the stiffnesses do. There, v_n is the speed of approach.

    Source:     [HuntCrossley1975], [Sherman2011]; OpenSim 4.6, observed behavior.
    Guarantees: f_H = -dV/dq at rest.
    """
    apart()
    a, b = pairs.first.node[k], pairs.second.node[k]
    none = (0.0, 0.0, 0.0)
    p_1, p_2 = frame_point(pairs.first, k, motion, lane), frame_point(pairs.second, k, motion, lane)
    between = subtract(p_2, p_1)
    if pairs.on_plane[k] == 1:
        n = scale(-1.0, _axis(pairs, k, motion, lane))
        depth = pairs.r_2[k] - dot(between, n)
    else:
        distance = math.sqrt(dot(between, between))
        # centers that coincide have no direction, and OpenSim sees no contact
        if distance == 0.0:
            return none, none, 0.0, APART
        n = (between[0] / distance, between[1] / distance, between[2] / distance)
        depth = pairs.r_1[k] + pairs.r_2[k] - distance
    if depth <= 0.0:
        return none, none, 0.0, APART
    point = add_scaled(p_2, depth * (1.0 - pairs.share[k]) - pairs.r_2[k], n)
    v = subtract(velocity_at(a, point, motion, lane), velocity_at(b, point, motion, lane))
    v_n = dot(v, n)
    hertz = 4.0 / 3.0 * pairs.stiffness[k] * depth * math.sqrt(pairs.radius[k] * pairs.stiffness[k] * depth)
    energy = 0.4 * hertz * depth
    normal = hertz * (1.0 + 1.5 * pairs.dissipation[k] * v_n)
    if normal <= 0.0:
        return none, none, energy, PARTING
    force, _, _, _ = push(normal, n, v, v_n, 0.0, pairs.friction, k)
    return cross(point, force), force, energy, PRESSING


@inline
def touch(pairs, k, motion, lane):
    """A half-space and a sphere: normal, depth x, the point half way between the surfaces, and how the sphere moves
    there against the half-space."""
    a, b = pairs.first.node[k], pairs.second.node[k]
    p_1, p_2 = frame_point(pairs.first, k, motion, lane), frame_point(pairs.second, k, motion, lane)
    n = _axis(pairs, k, motion, lane)
    radius = pairs.radius[k]
    x = dot(subtract(p_2, p_1), n) + radius
    point = add_scaled(p_2, radius - 0.5 * x, n)
    return n, x, point, subtract(velocity_at(b, point, motion, lane), velocity_at(a, point, motion, lane))


@inline
def _step_up(b, x):
    """(1 + tanh(b x)) / 2 and its slope."""
    fall = -2.0 * b * x
    # where e^x overflows, a complex quotient is no number
    s = 1.0 / (1.0 + exponential(where(less(_STEEPEST, fall), _STEEPEST, fall)))
    return s, 2.0 * b * s * (1.0 - s)


@inline
def smooth_pressure(pairs, k, x, v_n):
    """f_H and f of `smooth_wrench` at depth x and speed of approach v_n, and the slopes of f by x and by v_n."""
    stiffness, c = pairs.stiffness[k], pairs.dissipation[k]
    size = 4.0 / 3.0 * stiffness * math.sqrt(pairs.radius[k] * stiffness)
    y = x * x + pairs.constant[k]
    root = square_root(y)
    rise = size * root * square_root(root)
    rise_x = where(less(0.0, y), 1.5 * x * rise / y, 0.0)
    near, near_x = _step_up(pairs.hertz[k], x)
    hertz, hertz_x = rise * near, rise_x * near + rise * near_x
    ramp, ramp_v = like(x, 1.0), like(x, 0.0)
    if pairs.lowest[k] < math.inf:
        ramp, ramp_v = _step_up(pairs.hunt[k], v_n + pairs.lowest[k])
    damping = 1.0 + 1.5 * c * v_n
    return hertz, hertz * damping * ramp, hertz_x * damping * ramp, hertz * (1.5 * c * ramp + damping * ramp_v)


@kernel
def smooth_wrench(pairs, k, motion, lane):
    """Moment and force on the sphere of pair k, and its energy.

        x    = R + n . (p_S - p_H)               n into the half-space, its x axis; x is negative where they are apart
        f_H  = 4/3 k sqrt(R k) (x^2 + c_f)^(3/4) (1 + tanh(b_d x)) / 2,    k = E^(2/3) / 2
        f    = f_H (1 + 3/2 c v_n) (1 + tanh(b_v (v_n + 2 / (3 c)))) / 2,  v_n the speed of approach
        v_s  = sqrt(|v_t|^2 + c_f),   friction f mu(v_s) v_t / v_s          (`_friction`)
        V    = 2/5 f_H x

    The sphere feels -(f n + friction) at the point half way between the surfaces, the half-space the opposite.

    Source:  [Serrancoli2019]; OpenSim 4.6, observed behavior.
    Departs: nothing by intention. V is OpenSim's, and no integral of f_H: it is only close to one, and negative where
             the surfaces are apart. min(v_s / v_t, 1) of friction is a corner that is left. Without dissipation the
             last factor of f is 1, as its limit is.
    """
    apart()
    n, x, point, v = touch(pairs, k, motion, lane)
    v_n = dot(v, n)
    hertz, normal, _, _ = smooth_pressure(pairs, k, x, v_n)
    force, _, _, _ = push(normal, n, v, v_n, pairs.constant[k], pairs.friction, k)
    force = scale(-1.0, force)
    return cross(point, force), force, 0.4 * hertz * x


@inline
def _away(beds, meshes, k, y):
    """Whether a mesh whose middle is at y in the other's frame is nowhere inside the other."""
    m = beds.mesh[k]
    reach = meshes.radius[m]
    if beds.kind[k] == PLANE:
        return y[0] + reach <= 0.0
    if beds.kind[k] == BALL:
        reach = reach + beds.radius[k]
    else:
        o = beds.other[k]
        c = meshes.center[o]
        y = (y[0] - c[0], y[1] - c[1], y[2] - c[2])
        reach = reach + meshes.radius[o]
    return dot(y, y) >= reach * reach


@kernel
def _surface(beds, meshes, k, y, guess):
    """The point of the other shape's surface that is nearest to y, in its frame, whether y is inside, and a triangle.

    That is the one on which the point is, for the next guess; guess: the last, or -1.
    """
    if beds.kind[k] == PLANE:
        return (0.0, y[1], y[2]), y[0] > 0.0, guess
    if beds.kind[k] == BALL:
        length = math.sqrt(dot(y, y))
        # from the center there is no nearest way
        inside = 0.0 < length < beds.radius[k]
        return scale(beds.radius[k] / length if inside else 0.0, y), inside, guess
    o = beds.other[k]
    b = meshes.box[meshes.first_box[o]]
    if b[0] < y[0] < b[3] and b[1] < y[1] < b[4] and b[2] < y[2] < b[5]:
        return nearest_of_mesh(y, meshes, o, guess)
    return (0.0, 0.0, 0.0), False, guess


@kernel
def bed_wrench(beds, k, meshes, motion, lane):
    """Moment and force on the shape that the springs of a mesh press on, and their energy.

        x = the way from the middle of a triangle to the nearest point of the other's surface, d = |x|, e = x / d
        f = k A d (1 + c v_n),   none where that is negative;   V = k A d^2 / 2 over all springs
        friction  f mu(|v_t|) along the slip v_t of the other (`_friction`)

    It acts at the nearest point, with A the area of the triangle, v_n the speed of approach along e; the mesh is pushed
    along e, the other shape against it.

    Source:     [Sherman2011]; OpenSim 4.6, observed behavior.
    Departs:    two meshes of which one is wholly inside the other do not touch in OpenSim, whose search begins with
                triangles that cross; here they push each other out by the nearest way.
    """
    apart()
    m, a, b = beds.mesh[k], beds.first.node[k], beds.second.node[k]
    R_1, R_2 = frame_rotation(beds.first, k, motion, lane), frame_rotation(beds.second, k, motion, lane)
    p_1, p_2 = frame_point(beds.first, k, motion, lane), frame_point(beds.second, k, motion, lane)
    moment, force, energy = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    c = meshes.center[m]
    middle = add(p_1, rotate(R_1, (c[0], c[1], c[2])))
    if _away(beds, meshes, k, rotate_back(R_2, subtract(middle, p_2))):
        return moment, force, energy
    near = -1
    for j in range(meshes.first[m], meshes.first[m + 1]):
        x = add(p_1, rotate(R_1, (meshes.middle[j, 0], meshes.middle[j, 1], meshes.middle[j, 2])))
        y = rotate_back(R_2, subtract(x, p_2))
        surface, inside, near = _surface(beds, meshes, k, y, near)
        if not inside:
            continue
        way = rotate(R_2, subtract(surface, y))
        distance = math.sqrt(dot(way, way))
        if distance == 0.0:
            continue
        e = (way[0] / distance, way[1] / distance, way[2] / distance)
        point = add(x, way)
        v = subtract(velocity_at(b, point, motion, lane), velocity_at(a, point, motion, lane))
        v_n = dot(v, e)
        stiffness = beds.stiffness[k] * meshes.area[j]
        energy += 0.5 * stiffness * distance * distance
        normal = stiffness * distance * (1.0 + beds.dissipation[k] * v_n)
        if normal <= 0.0:
            continue
        given, _, _, _ = push(normal, e, v, v_n, 0.0, beds.friction, k)
        force = subtract(force, given)
        moment = subtract(moment, cross(point, given))
    return moment, force, energy
