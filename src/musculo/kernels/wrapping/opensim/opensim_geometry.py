"""Geometry that OpenSim's wrapping recipes share; vectors are tuples of float64 in a surface's frame.

Operations come in OpenSim's order and are not fused: where ends lie on a surface, at its height or in a plane of
symmetry, its recipes branch on the rounding of zero.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import unfused

# Below this squared sine two lines count as parallel (SimTK's 1e-13 scale).
PARALLEL = 2e-13
# A vector shorter than this has no direction (the rounding unit).
EPS = 2.220446049250313e-16


@unfused
def add(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@unfused
def subtract(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@unfused
def scale(s, a):
    """s a."""
    return s * a[0], s * a[1], s * a[2]


@unfused
def add_scaled(a, s, b):
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@unfused
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@unfused
def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@unfused
def norm(a):
    """|a|."""
    return math.sqrt(dot(a, a))


@unfused
def unit(a):
    """a / |a|; NaN where a is zero."""
    return scale(1.0 / math.sqrt(dot(a, a)), a)


@unfused
def unit_or_zero(a):
    """a / |a|, or zero where a has no direction."""
    size = norm(a)
    direction = (0.0, 0.0, 0.0)
    if size >= EPS:
        direction = scale(1.0 / size, a)
    return direction


@unfused
def side(x):
    """+1 for zero and above, else -1."""
    return 1.0 if x >= 0.0 else -1.0


@unfused
def cosine(a, b):
    """Cosine of the angle between two vectors."""
    return dot(a, b) / math.sqrt(dot(a, a) * dot(b, b))


@unfused
def angle(a, b):
    """Angle between two vectors, in 0 .. pi."""
    return math.acos(min(1.0, max(-1.0, cosine(a, b))))


@unfused
def largest_cosine(c_aa, c_ab, c_ba, c_bb):
    """Which of four pairs has the largest cosine; of equals, the last: 0 aa, 1 ab, 2 ba, 3 bb."""
    if c_aa > c_ab and c_aa > c_ba and c_aa > c_bb:
        pair = 0
    elif c_ab > c_ba and c_ab > c_bb:
        pair = 1
    elif c_ba > c_bb:
        pair = 2
    else:
        pair = 3
    return pair


@unfused
def closest_on_lines(p1, p2, s1, s2):
    """(found, t, s): parameters of the closest points p1 + t (p2 - p1) and s1 + s (s2 - s1) of two lines."""
    a, b, w = subtract(p2, p1), subtract(s2, s1), subtract(s1, p1)
    n = cross(a, b)
    nn = dot(n, n)
    found = nn > PARALLEL * dot(a, a) * dot(b, b)
    return found, dot(cross(w, b), n) / nn, dot(cross(w, a), n) / nn
