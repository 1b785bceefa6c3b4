"""Exponentials and their kin for the scalars of a muscle kernel: float64, packs of it, complex128 in derivative checks.

Packs use polynomials, eight lanes at once; they agree with the C library's functions to a few units in the last place.
"""

from __future__ import annotations

import cmath
import math

import numpy as np

from musculo.kernels.compiler.overloads import is_complex, is_pack, overload
from musculo.kernels.compiler.parts import inline
from musculo.kernels.scalar.choices import less, mantissa_and_exponent, two_to, where
from musculo.kernels.scalar.packed import pack_fabs, pack_floor, pack_rint, pack_sqrt

# ln 2 in two parts: products of the first with whole numbers up to 2^20 are exact.
_PER_LN2 = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Beyond these a float64 has no e^x left; packs stop there, at 1e-307 and 1e307.
_LARGEST_EXPONENT = 707.0


# --- exponential ------------------------------------------------------------------------------------------------------
def exponential(x):
    """e^x."""
    return math.exp(x)


@inline
def _pack_exponential(x):
    """2^k e^r with |r| <= ln(2) / 2; Taylor's series of e^r ends at r^13, where it has 4e-18 left."""
    x = where(less(x, -_LARGEST_EXPONENT), -_LARGEST_EXPONENT, x)
    x = where(less(_LARGEST_EXPONENT, x), _LARGEST_EXPONENT, x)
    k = pack_rint(x * _PER_LN2)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    z = r * r
    even = 1.0 / 479001600.0
    even = 1.0 / 3628800.0 + z * even
    even = 1.0 / 40320.0 + z * even
    even = 1.0 / 720.0 + z * even
    even = 1.0 / 24.0 + z * even
    even = 0.5 + z * even
    odd = 1.0 / 6227020800.0
    odd = 1.0 / 39916800.0 + z * odd
    odd = 1.0 / 362880.0 + z * odd
    odd = 1.0 / 5040.0 + z * odd
    odd = 1.0 / 120.0 + z * odd
    odd = 1.0 / 6.0 + z * odd
    return (1.0 + (r + z * (even + r * odd))) * two_to(k)


@overload(exponential)
def _exponential(x):
    if is_pack(x):
        return lambda x: _pack_exponential(x)
    if is_complex(x):
        return lambda x: cmath.exp(x)
    return lambda x: math.exp(x)


# --- logarithm --------------------------------------------------------------------------------------------------------
def logarithm(x):
    """The natural logarithm."""
    return math.log(x)


@inline
def _pack_logarithm(x):
    """k ln(2) + log(1 + f), 1 + f near 1, by the series in f / (2 + f) of fdlibm (Sun Microsystems 1993, e_log.c)."""
    m, k = mantissa_and_exponent(x)
    high = less(math.sqrt(2.0), m)
    m, k = where(high, 0.5 * m, m), where(high, k + 1.0, k)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    R = 1.479819860511658591e-01
    R = 1.531383769920937332e-01 + z * R
    R = 1.818357216161805012e-01 + z * R
    R = 2.222219843214978396e-01 + z * R
    R = 2.857142874366239149e-01 + z * R
    R = 3.999999999940941908e-01 + z * R
    R = 6.666666666666735130e-01 + z * R
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + z * R) + k * _LN2_LOW)) - f)


@overload(logarithm)
def _logarithm(x):
    if is_pack(x):
        return lambda x: _pack_logarithm(x)
    if is_complex(x):
        return lambda x: cmath.log(x)
    return lambda x: math.log(x)


# --- roots and angles -------------------------------------------------------------------------------------------------
def root(x):
    """The principal square root."""
    return math.sqrt(x)


@overload(root)
def _root(x):
    if is_pack(x):
        return lambda x: pack_sqrt(x)
    if is_complex(x):
        return lambda x: cmath.sqrt(x)
    return lambda x: math.sqrt(x)


def magnitude(x):
    """|x| of a real scalar."""
    return abs(x)


@overload(magnitude)
def _magnitude(x):
    if is_pack(x):
        return lambda x: pack_fabs(x)
    return lambda x: abs(x)


def rounded_down(x):
    """The largest whole number not above a real scalar, as one."""
    return float(math.floor(x))


@overload(rounded_down)
def _rounded_down(x):
    if is_pack(x):
        return lambda x: pack_floor(x)
    return lambda x: np.floor(x)


def hyperbolic_tangent(x):
    """tanh x."""
    return math.tanh(x)


@overload(hyperbolic_tangent)
def _hyperbolic_tangent(x):
    if is_complex(x):
        return lambda x: cmath.tanh(x)
    return lambda x: math.tanh(x)


def angle_of(opposite, adjacent):
    """The angle in [0, pi/2] of a right triangle with these two legs, none negative; 0 where the opposite leg is 0."""
    return math.atan2(opposite, adjacent)


@inline
def _pack_angle(opposite, adjacent):
    """atan y = offset + atan t with |t| <= 0.66, by the rational function of Cephes (Moshier 1989, atan.c)."""
    far = less(2.414213562373095 * adjacent, opposite)
    near = less(opposite, 0.66 * adjacent)
    above = where(near, opposite, where(far, -adjacent, opposite - adjacent))
    below = where(near, adjacent, where(far, opposite, opposite + adjacent))
    offset = where(near, 0.0, where(far, 0.5 * math.pi, 0.25 * math.pi))
    t = above / below
    z = t * t
    p = -8.750608600031904122785e-1
    p = -1.615753718733365076637e1 + z * p
    p = -7.500855792314704667340e1 + z * p
    p = -1.228866684490136173410e2 + z * p
    p = -6.485021904942025371773e1 + z * p
    q = 2.485846490142306297962e1 + z
    q = 1.650270098316988542046e2 + z * q
    q = 4.328810604912902668951e2 + z * q
    q = 4.853903996359136964868e2 + z * q
    q = 1.945506571482613964425e2 + z * q
    return where(less(0.0, opposite), offset + (t + t * z * p / q), 0.0)


@overload(angle_of)
def _angle_of(opposite, adjacent):
    if is_pack(adjacent):
        return lambda opposite, adjacent: _pack_angle(opposite, adjacent)
    if is_complex(adjacent) or is_complex(opposite):
        # the continuation of atan, whose argument stays right of the imaginary axis
        return lambda opposite, adjacent: cmath.atan(opposite / adjacent)
    return lambda opposite, adjacent: math.atan2(opposite, adjacent)
