"""Exponentials and their kin for both scalars of a muscle kernel: float64, and complex128 in derivative checks."""

from __future__ import annotations

import cmath
import math

from numba import types
from numba.extending import overload


def exponential(x):
    """e^x."""
    return math.exp(x)


@overload(exponential)
def _exponential(x):
    if isinstance(x, types.Complex):
        return lambda x: cmath.exp(x)
    return lambda x: math.exp(x)


def logarithm(x):
    """The natural logarithm."""
    return math.log(x)


@overload(logarithm)
def _logarithm(x):
    if isinstance(x, types.Complex):
        return lambda x: cmath.log(x)
    return lambda x: math.log(x)


def root(x):
    """The principal square root."""
    return math.sqrt(x)


@overload(root)
def _root(x):
    if isinstance(x, types.Complex):
        return lambda x: cmath.sqrt(x)
    return lambda x: math.sqrt(x)


def hyperbolic_tangent(x):
    """tanh x."""
    return math.tanh(x)


@overload(hyperbolic_tangent)
def _hyperbolic_tangent(x):
    if isinstance(x, types.Complex):
        return lambda x: cmath.tanh(x)
    return lambda x: math.tanh(x)


def angle_of(opposite, adjacent):
    """The angle in (0, pi/2) of a right triangle with these two legs, both positive; 0 where the opposite leg is 0."""
    return math.atan2(opposite, adjacent)


@overload(angle_of)
def _angle_of(opposite, adjacent):
    if isinstance(adjacent, types.Complex) or isinstance(opposite, types.Complex):
        # the continuation of atan, whose argument stays right of the imaginary axis
        return lambda opposite, adjacent: cmath.atan(opposite / adjacent)
    return lambda opposite, adjacent: math.atan2(opposite, adjacent)
