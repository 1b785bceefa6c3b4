"""Where a model's rule about the side of a surface ends, and how a path's length gets over that edge without a jump.

A cylinder's quadrant and end and a ring's hole are rules with an edge: on the two sides of it the taut paths differ by
a finite length. A path may therefore break a rule at a price, and takes the shorter of the two:

    length = min(path by the rule, path without it + price),   price = PRICE x distance from the rule's edge [m]

At the edge the price is zero and both sides have the same length. Further from the edge than its reach, towards which
the price rises (`rising`; of cylinders: `cylinder_penalty`), a rule cannot be broken at any price: a muscle that runs
over the middle of a cylinder stays on it and on its side, however long the way round.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel

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

    Returns price, and its derivative by x; NEVER beyond the reach.
    """
    left = 1.0 - x / reach
    if left <= 0.0:
        return NEVER, 0.0
    return rate * x / left, rate / (left * left)


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
    price, slope = rising(PRICE, math.fabs(z), reach)
    to = (0.0, 0.0, slope if z > 0.0 else -slope)
    return price, to if first else _NONE, _NONE if first else to
