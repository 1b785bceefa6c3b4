"""Where a model's rule about the side of a surface ends, and how a path's length gets over that edge without a jump.

A quadrant, the hole of a ring and the end of a cylinder are rules with an edge: on the two sides of it the taut paths
differ by a finite length. A path may therefore break a rule at a price, and takes the shorter of the two:

    length = min(path by the rule, path without it + price),   price = PRICE x distance from the rule's edge [m]

At the edge the price is zero and both sides have the same length. Further from the edge than its reach, towards which
the price rises (`rising`; of cylinders: `cylinder_penalty`), a rule cannot be broken at any price: a muscle that runs
over the middle of a cylinder stays on it and on its side, however long the way round.

The side of an ellipsoid, and of a sphere among other surfaces, is not held; there

    length = shortest path + min(toll, detour),   the toll zero at the rule's edges (`least_penalty`)
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import add, add_scaled, dot, scale, subtract

# Metres of length for every metre from the edge of a rule. The steeper, the nearer to their edge rules hold, and the
# longer moment arms are there: with 8, an arm of 15 mm (MoBL-ARMS, ECRL at the elbow) was one of 260 mm over half a
# degree, and the longest of 600 random poses 494 mm; with 2 they are 60 and less than 300 mm.
PRICE = 2.0
# The price of what cannot be broken.
NEVER = 1e300
_NONE = (0.0, 0.0, 0.0)


@kernel
def rising(rate, x, reach):
    """What a rule costs at the distance x > 0 from its edge, where it cannot be broken beyond `reach`.

        price = rate x / (1 - x / reach)

    Returns price, and its first and second derivative by x; NEVER beyond the reach.
    """
    left = 1.0 - x / reach
    if left <= 0.0:
        return NEVER, 0.0, 0.0
    slope = rate / (left * left)
    return rate * x / left, slope, 2.0 * slope / (left * reach)


@kernel
def rim_of(a, P, Q):
    """To what part of its size an end inside shrinks an ellipsoid with semi-axes a, and d(rim)/dP, d(rim)/dQ.

    rim = min(1, |P / a|, |Q / a|)
    """
    p, q = (P[0] / a[0], P[1] / a[1], P[2] / a[2]), (Q[0] / a[0], Q[1] / a[1], Q[2] / a[2])
    out_P, out_Q = math.sqrt(dot(p, p)), math.sqrt(dot(q, q))
    if min(out_P, out_Q) >= 1.0:
        return 1.0, _NONE, _NONE
    if out_P <= out_Q:
        return out_P, (p[0] / (out_P * a[0]), p[1] / (out_P * a[1]), p[2] / (out_P * a[2])), _NONE
    return out_Q, _NONE, (q[0] / (out_Q * a[0]), q[1] / (out_Q * a[1]), q[2] / (out_Q * a[2]))


@kernel
def toll_of_side(a, axis, sign, P, Q):
    """What an ellipsoid (or sphere) with semi-axes a adds to the length of a path on the wrong side of its quadrant,
    by the straight line.

        toll = PRICE a_axis min(-sign m_axis, rim - |m|)

    where m is the chord's point nearest to the centre, over a. Zero where the chord passes the centre on the quadrant's
    side, and where it leaves the surface, which is shrunk to `rim` by an end inside.
    Returns toll, d(toll)/dP, d(toll)/dQ.
    """
    p = (P[0] / a[0], P[1] / a[1], P[2] / a[2])
    q = (Q[0] / a[0], Q[1] / a[1], Q[2] / a[2])
    d = subtract(q, p)
    along = dot(d, d)
    t = -dot(p, d) / along if along > 0.0 else 0.0
    if t <= 0.0 or t >= 1.0:
        # an end is the nearest point: the chord leads away from the surface, or from what is left of it
        return 0.0, _NONE, _NONE
    m = add_scaled(p, t, d)
    wrong = -sign * m[axis]
    far = math.sqrt(dot(m, m))
    rim, to_P, to_Q = rim_of(a, P, Q)
    left = rim - far
    if wrong <= 0.0 or left <= 0.0:
        return 0.0, _NONE, _NONE
    if wrong <= left:
        g = (-sign if axis == 0 else 0.0, -sign if axis == 1 else 0.0, -sign if axis == 2 else 0.0)
        to_P, to_Q = _NONE, _NONE
    else:
        g = scale(-1.0 / far, m)
    # dm = (1 - t) dp + t dq + d dt, with dt = -((1 - t) dp + t dq) . d / |d|^2 - (dq - dp) . m / |d|^2
    gd = dot(g, d) / along
    across = add_scaled(g, -gd, d)
    by_P = add_scaled(scale(1.0 - t, across), gd, m)
    by_Q = add_scaled(scale(t, across), -gd, m)
    to_P = add(to_P, (by_P[0] / a[0], by_P[1] / a[1], by_P[2] / a[2]))
    to_Q = add(to_Q, (by_Q[0] / a[0], by_Q[1] / a[1], by_Q[2] / a[2]))
    s = PRICE * a[axis]
    return s * min(wrong, left), scale(s, to_P), scale(s, to_Q)


@kernel
def price_of_hole(reach, P, Q):
    """A ring whose plane lies between P and Q passed on whichever side is shorter, instead of through its hole.

        price = rising(min(|z_P|, |z_Q|)),   for rings `reach` is how far they reach from their centre

    Returns price (NEVER where both ends are on one side of the plane), d(price)/dP, d(price)/dQ.
    """
    if (P[2] > 0.0) == (Q[2] > 0.0):
        return NEVER, _NONE, _NONE
    first = math.fabs(P[2]) <= math.fabs(Q[2])
    z = P[2] if first else Q[2]
    price, slope, _ = rising(PRICE, math.fabs(z), reach)
    to = (0.0, 0.0, slope if z > 0.0 else -slope)
    return price, to if first else _NONE, _NONE if first else to
