"""Our functions as OpenSim's elements; exact where OpenSim has the function, resampled with a note where it has not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from lxml import etree

from musculo.errors import InvalidModel
from musculo.functions import (
    Constant,
    FourierSeries,
    Function,
    GCVSpline,
    Linear,
    MultivariatePolynomial,
    NaturalCubicSpline,
    PiecewiseConstant,
    PiecewiseLinear,
    Polynomial,
    SampledSpline,
    Scaled,
    SimmSpline,
    Sine,
    Step,
    UnsupportedFunction,
)
from musculo.io.osim.xml import Element, exact, exact_all, from_text, put

# Resampled curves are refined until they are this close to the original, relative to its largest value.
RESAMPLING_TOLERANCE = 1e-9
MOST_KNOTS = 801

Span = tuple[float, float]


def function_element(function: Function, span: Span, report: Callable[[str], None]) -> Element:
    """The element of a function.

    Args:
        function: what to write.
        span: the arguments that matter, for functions that OpenSim lacks and that have no knots of their own.
        report: called with a sentence where the written function is not exactly the given one.
    """
    if isinstance(function, UnsupportedFunction):
        return from_text(function.xml)
    if isinstance(function, Scaled):
        element = etree.Element("MultiplierFunction")
        holder = etree.SubElement(element, "function")
        holder.append(function_element(function.function, span, report))
        put(element, "scale", exact(function.scale))
        return element
    for kind, tag, fields in _EXACT:
        if type(function) is kind:
            return _leaf_element(tag, {name: _value(getattr(function, own)) for name, own in fields.items()})
    if isinstance(function, MultivariatePolynomial):
        return _multivariate(function)
    return function_element(_replacement(function, span, report), span, report)


_KNOTS = {"x": "x", "y": "y"}
_EXACT: tuple[tuple[type[Function], str, dict[str, str]], ...] = (
    (Constant, "Constant", {"value": "value"}),
    (Polynomial, "PolynomialFunction", {"coefficients": "coefficients"}),
    (Sine, "Sine", {n: n for n in ("amplitude", "omega", "phase", "offset")}),
    (
        Step,
        "StepFunction",
        {
            "transition_start_time": "start",
            "transition_end_time": "end",
            "start_value": "start_value",
            "end_value": "end_value",
        },
    ),
    (PiecewiseLinear, "PiecewiseLinearFunction", _KNOTS),
    (PiecewiseConstant, "PiecewiseConstantFunction", _KNOTS),
    (SimmSpline, "SimmSpline", _KNOTS),
    (GCVSpline, "GCVSpline", {"half_order": "half_order", "error_variance": "error_variance", **_KNOTS}),
)


def _value(value: float | tuple[float, ...]) -> str:
    return exact_all(value) if isinstance(value, tuple) else exact(float(value))


def _leaf_element(tag: str, values: dict[str, str]) -> Element:
    element = etree.Element(tag)
    for name, content in values.items():
        put(element, name, content)
    return element


def _multivariate(function: MultivariatePolynomial) -> Element:
    # OpenSim's polynomials of several variables have wrong second derivatives; its linear functions have right ones.
    if function.order == 1:
        return _leaf_element("LinearFunction", {"coefficients": exact_all(function.coefficients[::-1])})
    return _leaf_element(
        "MultivariatePolynomialFunction",
        {
            "dimension": str(function.dimension),
            "order": str(function.order),
            "coefficients": exact_all(function.coefficients),
        },
    )


def _replacement(function: Function, span: Span, report: Callable[[str], None]) -> Function:
    """A function that OpenSim has: the same one where that is possible, otherwise a resampled one."""
    if isinstance(function, Linear):
        return MultivariatePolynomial(1, 1, (function.intercept, function.slope))
    if isinstance(function, NaturalCubicSpline):
        return _natural(function)
    if isinstance(function, FourierSeries) and not function.cosine:
        return Constant(function.offset)
    if isinstance(function, FourierSeries) and len(function.cosine) == 1:
        (a,), (b,) = function.cosine, function.sine
        return Sine(math.hypot(a, b), function.omega, math.atan2(a, b), function.offset)
    if isinstance(function, SampledSpline) and len(function.x) <= 3:
        # A line or a parabola, and it goes on as such.
        x = np.array(function.x)
        coefficients = np.polynomial.polynomial.Polynomial.fit(x, function.y, len(x) - 1).convert().coef
        return Polynomial(tuple(coefficients[::-1].tolist()))
    if function.n_arguments != 1:
        raise InvalidModel(
            f"{type(function).__name__} of {function.n_arguments} arguments has no counterpart in OpenSim and cannot "
            "be resampled; replace it by a MultivariatePolynomial"
        )
    return _resampled(function, span, report)


def _natural(function: NaturalCubicSpline) -> Function:
    """A natural cubic is OpenSim's GCVSpline of half order 2, which wants four knots: points of the curve are added."""
    x, y = list(function.x), list(function.y)
    while len(x) < 4:
        middle = 0.5 * (x[0] + x[1])
        x.insert(1, middle)
        y.insert(1, float(function(middle)))
    return GCVSpline(tuple(x), tuple(y), half_order=2)


def _resampled(function: Function, span: Span, report: Callable[[str], None]) -> Function:
    low, high = span
    own = getattr(function, "x", None)
    if own is not None:
        low, high = own[0], own[-1]
    count, error, best = 33, math.inf, None
    probe = np.linspace(low, high, 4001)
    truth = function(probe)
    scale = max(float(np.max(np.abs(truth))), 1e-300)
    while count <= MOST_KNOTS and error > RESAMPLING_TOLERANCE * scale:
        x = np.union1d(np.linspace(low, high, count), () if own is None else own)
        x = x[np.concatenate([[True], np.diff(x) > 1e-9 * (high - low)])]
        best = GCVSpline(tuple(x.tolist()), tuple(function(x).tolist()), half_order=3)
        error = float(np.max(np.abs(best(probe) - truth)))
        count = 2 * count - 1
    assert best is not None
    report(
        f"OpenSim has no {type(function).__name__}; written as a GCVSpline through {len(best.x)} of its points from "
        f"{low:g} to {high:g}, where the two differ by at most {error:.2g}"
    )
    return best
