"""What a kernel may do with a lane's scalar beyond arithmetic, for every scalar there is.

A kernel's scalar is a float64 (GPU, plain Python), a complex128 (derivative checks) or a `Pack` of eight float64
(CPU). The functions here mean the same for all of them; `kernels/cuda` takes the plain Python bodies.
"""

from __future__ import annotations

import cmath
import math

import numpy as np

from musculo.kernels.compiler.overloads import is_complex, is_pack, overload
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.scalar.packed import (
    WIDTH,
    lane_of,
    largest,
    pack_fabs,
    pack_floor,
    pack_rint,
    pack_sqrt,
    select_equal,
    splat,
    with_lane,
)

# --- sine and cosine --------------------------------------------------------------------------------------------------
# pi/2 in three parts whose products with a small integer are exact, and the minimax polynomials on [-pi/4, pi/4] that
# the C libraries have used since fdlibm (Sun Microsystems 1993, k_sin.c and k_cos.c). Beyond _REDUCTION_LIMIT the
# three-part reduction loses digits and the C library takes over.
_TWO_OVER_PI = 0.6366197723675814
_HALF_PI_1 = 1.57079632673412561417e00
_HALF_PI_2 = 6.07710050630396597660e-11
_HALF_PI_3 = 2.02226624871116645580e-21
_REDUCTION_LIMIT = 1.0e5


def sincos(x):
    """(sin x, cos x)."""
    return math.sin(x), math.cos(x)


@inline
def _pack_sincos_reduced(x):
    k = pack_rint(x * _TWO_OVER_PI)
    r = ((x - k * _HALF_PI_1) - k * _HALF_PI_2) - k * _HALF_PI_3
    z = r * r
    s = 1.58969099521155010221e-10
    s = -2.50507602534068634195e-08 + z * s
    s = 2.75573137070700676789e-06 + z * s
    s = -1.98412698298579493134e-04 + z * s
    s = 8.33333333332248946124e-03 + z * s
    s = -1.66666666666666324348e-01 + z * s
    s = r + r * z * s
    c = -1.13596475577881948265e-11
    c = 2.08757232129817482790e-09 + z * c
    c = -2.75573143513906633035e-07 + z * c
    c = 2.48015872894767294178e-05 + z * c
    c = -1.38888888888741095749e-03 + z * c
    c = 4.16666666666666019037e-02 + z * c
    c = 1.0 - 0.5 * z + z * z * c
    quadrant = k - 4.0 * pack_floor(k * 0.25)
    half = pack_floor(quadrant * 0.5)
    odd = quadrant - 2.0 * half
    sine = select_equal(odd, 1.0, c, s)
    cosine = select_equal(odd, 1.0, s, c)
    # sin changes sign in quadrants 2 and 3, cos in 1 and 2
    sine = sine * (1.0 - 2.0 * half)
    cosine = cosine * (1.0 - 2.0 * (odd + half - 2.0 * odd * half))
    return sine, cosine


@kernel
def _pack_sincos_far(x):
    s, c = x, x
    for k in range(WIDTH):
        s = with_lane(s, k, math.sin(lane_of(x, k)))
        c = with_lane(c, k, math.cos(lane_of(x, k)))
    return s, c


@inline
def _pack_sincos(x):
    if largest(pack_fabs(x)) < _REDUCTION_LIMIT:
        return _pack_sincos_reduced(x)
    return _pack_sincos_far(x)


@overload(sincos)
def _sincos(x):
    if is_pack(x):
        return lambda x: _pack_sincos(x)
    if is_complex(x):
        return lambda x: (cmath.sin(x), cmath.cos(x))
    return lambda x: (math.sin(x), math.cos(x))


# --- square root --------------------------------------------------------------------------------------------------
def square_root(x):
    """The principal square root."""
    return math.sqrt(x)


@overload(square_root)
def _square_root(x):
    if is_pack(x):
        return lambda x: pack_sqrt(x)
    if is_complex(x):
        return lambda x: cmath.sqrt(x)
    return lambda x: math.sqrt(x)


# --- constants in the scalar's own type ---------------------------------------------------------------------------
def like(x, value):
    """The number `value` as a scalar of the kind of `x`."""
    return value


@overload(like)
def _like(x, value):
    if is_pack(x):
        return lambda x, value: splat(value)
    if is_complex(x):
        return lambda x, value: complex(value, 0.0)
    return lambda x, value: np.float64(value)
