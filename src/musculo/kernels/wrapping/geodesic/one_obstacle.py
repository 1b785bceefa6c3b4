"""One obstacle between two points: closed forms, or the best start and Newton's method."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import add, dot, load3, rotate, store3, subtract
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.geodesic_curve import COARSE, FINE
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    AZIMUTHS,
    CONSTRAINED,
    CONTACT,
    DIRECTION,
    FIRST,
    GUESSED,
    LAST,
    LENGTH,
    OBSTACLE_ROWS,
    PINNED,
    POSE,
    SIDE,
    SIDE_TURN,
    START,
    lay,
    load_shape,
    seen_from,
)
from musculo.kernels.wrapping.geodesic.path_error_newton import TIGHT, straighten
from musculo.kernels.wrapping.geodesic.round_obstacle import principal, taut_cylinder, taut_sphere
from musculo.kernels.wrapping.geodesic.start_guess import (
    PLANES,
    chord_frame,
    chord_length,
    dip_start,
    refine_section,
    ring_approach,
    section_bound,
    section_guess,
    section_path,
    tube_azimuth,
    tube_start,
)
from musculo.kernels.wrapping.geodesic.surface_shape import CYLINDER, SPHERE, TORUS, along_surface, onto, slope, unit

# Two sides whose plane sections differ by less than this part of the arc are both solved; the shorter path wins.
_NEAR_TIE = 0.15
_ITERATIONS = 60
_WARM_ITERATIONS = 12
_JOINING = 8
# An offset (over the size) at which a geodesic between two points is good enough to start from.
_JOINED = 1e-3
# Where the section's length rises by less than this part of the detour so far [rad] from its minimum, there may be two
# minima close together: starts on both sides, a flank away [rad], are solved as well.
_FLAT = 1e-2
_ASIDE = math.pi / 8.0
_FLANK = 1.0
# The shortest path is no longer than one in a plane; a geodesic that is, by more than this part of the size, is none.
_BEYOND = 1e-4
# A straight line no deeper in a tube than this part of its radius passes it by; and how far rounding leads off, over
# the ring's radius: an end that is on the tube, as one inside shrinks it, seems to be inside or outside by that.
_GRAZE, _EPS = 1e-9, 1e-15


@kernel
def _place(W, w, n, k, geodesic, error_a_step, lane):
    """Put a geodesic (start point, unit tangent, length) on obstacle k and lay it."""
    o, (x, t, length) = w + OBSTACLE_ROWS * k, geodesic
    store3(W, o + START, lane, x)
    store3(W, o + DIRECTION, lane, t)
    W[o + LENGTH, lane] = length
    W[o + CONTACT, lane] = 1.0
    lay(W, w, n, k, error_a_step, lane)


@kernel
def total(W, w, k, P, Q, lane):
    """Length of the path from P over obstacle k to Q, in the common frame."""
    o = w + OBSTACLE_ROWS * k
    a, b = subtract(load3(W, o + FIRST, lane), P), subtract(Q, load3(W, o + LAST, lane))
    return math.sqrt(dot(a, a)) + W[o + LENGTH, lane] + math.sqrt(dot(b, b))


@kernel
def _choose_plane(W, lengths, frame, shape, lane):
    """The plane sections to start from: (first, second, whether there is a second), angles about the chord.

    Of the minima of the length the shortest first; the second where it is nearly as short.
    """
    for i in range(PLANES):
        W[lengths + i, lane] = section_path(shape, frame, 2.0 * math.pi * i / PLANES)[0]
    first, second, best, next_best = 0, -1, 1e300, 1e300
    for i in range(PLANES):
        left, here = W[lengths + (i + PLANES - 1) % PLANES, lane], W[lengths + i, lane]
        right = W[lengths + (i + 1) % PLANES, lane]
        if here < left and here <= right:
            if here < best:
                second, next_best = first if best < 1e300 else -1, best
                first, best = i, here
            elif here < next_best:
                second, next_best = i, here
    psi = refine_section(shape, frame, 2.0 * math.pi * first / PLANES)
    if second < 0:
        return psi, 0.0, False
    other = refine_section(shape, frame, 2.0 * math.pi * second / PLANES)
    a, b = section_path(shape, frame, psi), section_path(shape, frame, other)
    return psi, other, b[0] - a[0] < _NEAR_TIE * (a[1] + b[1])


@kernel
def _is_flat(shape, frame, psi):
    """Whether the section's length hardly rises to one side of its minimum at `psi`, as it does where there is a second
    one close by: over the pole of a long ellipsoid two paths may differ by micrometers, with a hill between them that
    planes do not see."""
    here = section_path(shape, frame, psi)[0]
    rise = min(section_path(shape, frame, psi - _ASIDE)[0], section_path(shape, frame, psi + _ASIDE)[0]) - here
    return rise < _FLAT * (here - chord_length(shape, frame))


@kernel
def _pin(W, o, first, last, lane):
    """Set whether the geodesic's ends are fixed."""
    W[o + PINNED, lane], W[o + PINNED + 1, lane] = first, last


@kernel
def _iterate(W, w, n, k, guessed, P, Q, lane):
    """The taut path over an ellipsoid or through a torus by Newton's method, from a guess that obstacle k holds
    (`guessed`) or from a cold start. Returns whether it converges (or passes by).

    Ellipsoid: plane sections through the chord; the best, one that is nearly as short, and both flanks of a flat one
    (the shortest path wins).
    Torus: the tube where the path must press on it, and where it dips into it.

    A cold start is joined first: turned and lengthened until it ends where it should, its start fixed. A section's end
    points are good guesses, its direction is not: what starts along it may end elsewhere.
    """
    # one loop with one call of Newton's method: every call is compiled where it stands
    o = w + OBSTACLE_ROWS * k
    shape = load_shape(W, o, lane)
    torus = shape[0] == TORUS
    # the steps of a geodesic are not in use while planes are compared
    lengths = w + OBSTACLE_ROWS * n
    pin_1, pin_2 = W[o + PINNED, lane], W[o + PINNED + 1, lane]
    R, p = load_rotation(W, o + POSE, lane), load3(W, o + POSE + 9, lane)
    P_own, Q_own = seen_from(W, o, P, lane), seen_from(W, o, Q, lane)
    frame = chord_frame(shape, P_own, Q_own)
    nearest, out, outside = P_own, 0.0, False
    between = (P_own[2] > 0.0) != (Q_own[2] > 0.0)
    first, second, two, flat = 0.0, 0.0, False, False
    done, good, whole = 0, False, 0.0
    x, t, length = P_own, P_own, 0.0
    before, bound = W[o + LENGTH, lane], 1e300
    for i in range(-1, 2 if torus else 4):
        if i == 0 and done:
            break
        start = (P_own, P_own, 0.0, P_own)
        if i < 0:
            if not guessed:
                continue
            x = onto(shape, load3(W, o + START, lane))
            t = along_surface(unit(slope(shape, x)), load3(W, o + DIRECTION, lane))
            if not dot(t, t) > 0.5:
                continue
            start = (x, t, before, P_own)
        elif i == 0:
            if torus:
                nearest, out, outside = ring_approach(shape, P_own, Q_own, False)
            if (out >= 1.0 - _GRAZE - _EPS * shape[5] / shape[4] and not outside) if torus else not frame[6]:
                W[o + CONTACT, lane] = 0.0
                return 1
            if not torus:
                first, second, two = _choose_plane(W, lengths, frame, shape, lane)
                flat = _is_flat(shape, frame, first)
                bound = section_bound(shape, frame, first) + _BEYOND * shape[4]
        if torus and i >= 0:
            if i == 1 and (done or outside):
                continue
            if i == 1:
                start = dip_start(shape, P_own, Q_own, nearest)
            else:
                theta = math.atan2(nearest[1], nearest[0])
                if between:
                    # through the hole; else over the tube
                    theta = tube_azimuth(shape, P_own, Q_own, nearest)
                start = tube_start(shape, P_own, Q_own, theta)
        elif i >= 0:
            if (i == 1 and not two) or (i > 1 and not flat):
                continue
            psi = first
            if i > 0:
                good = done == 1 and W[o + CONTACT, lane] != 0.0
                x, t, length = load3(W, o + START, lane), load3(W, o + DIRECTION, lane), W[o + LENGTH, lane]
                whole = total(W, w, k, P, Q, lane)
                psi = second if i == 1 else first + (2 * i - 5) * _FLANK
            start = section_guess(shape, frame, psi)
        _place(W, w, n, k, (start[0], start[1], start[2]), COARSE, lane)
        found = 0
        for joined in range(0 if i >= 0 else 1, 2):
            A, B, most, tight = P, Q, _ITERATIONS if i >= 0 else _WARM_ITERATIONS, TIGHT
            if joined == 0:
                A, B, most, tight = load3(W, o + FIRST, lane), add(p, rotate(R, start[3])), _JOINING, _JOINED
                _pin(W, o, 1.0, 1.0, lane)
            found = straighten(W, w, n, (k, k + 1), A, B, (most, tight), lane)
            _pin(W, o, pin_1, pin_2, lane)
        if i < 0:
            # a guess may not run off to another turn of the surface
            if not (W[o + LENGTH, lane] > 0.0 and W[o + LENGTH, lane] < 2.0 * before + shape[4]):
                found = 0
        elif found == 0 or W[o + LENGTH, lane] <= 0.0 or total(W, w, k, P, Q, lane) > bound:
            W[o + CONTACT, lane] = 0.0
            found = found if W[o + LENGTH, lane] <= 0.0 else 0
        none = not found or W[o + CONTACT, lane] == 0.0
        if i > 0 and good and (none or total(W, w, k, P, Q, lane) >= whole):
            _place(W, w, n, k, (x, t, length), FINE, lane)
        done = max(done, found)
    return done


@kernel
def alone(W, w, n, k, P, Q, lane):
    """The taut path from P to Q (common frame) over obstacle k alone; sets its geodesic and whether it is in contact.

    On an ellipsoid or a torus it starts from the geodesic of an earlier sweep. Returns 1 where it converges; else 0,
    and it is out of contact.
    """
    o = w + OBSTACLE_ROWS * k
    shape = load_shape(W, o, lane)
    P_own, Q_own = seen_from(W, o, P, lane), seen_from(W, o, Q, lane)
    if shape[0] == CYLINDER or shape[0] == SPHERE:
        if shape[0] == CYLINDER:
            constrained = W[o + SIDE, lane] == CONSTRAINED
            turn = W[o + SIDE_TURN, lane]
            if constrained:
                # the neighbors' contacts take the place of the segment's ends, which they are seen from
                turn = turn + principal(math.atan2(Q_own[1], Q_own[0]) - W[o + AZIMUTHS + 1, lane])
                turn = turn - principal(math.atan2(P_own[1], P_own[0]) - W[o + AZIMUTHS, lane])
            wrap, x, t, length = taut_cylinder(shape[4], P_own, Q_own, constrained, turn)
        else:
            wrap, x, t, length = taut_sphere(shape[4], P_own, Q_own)
        W[o + CONTACT, lane] = 0.0
        if wrap > 0.0:
            _place(W, w, n, k, (x, t, length), COARSE, lane)
        return 1
    done = _iterate(W, w, n, k, W[o + GUESSED, lane] > 0.0, P, Q, lane)
    W[o + GUESSED, lane] = W[o + CONTACT, lane]
    return done
