"""Scalar functions of one or several coordinates: frozen descriptions, compiled into one table."""

from __future__ import annotations

from musculo.functions.elementary_functions import (
    Constant,
    FourierSeries,
    Linear,
    PiecewiseConstant,
    PiecewiseLinear,
    Polynomial,
    Scaled,
    Sine,
    Step,
)
from musculo.functions.function import Function
from musculo.functions.function_table import FunctionTable, compile_functions
from musculo.functions.multivariate import MultivariatePolynomial
from musculo.functions.sampled import SampledSpline
from musculo.functions.splines import GCVSpline, NaturalCubicSpline, SimmSpline
from musculo.functions.sums import Sum
from musculo.functions.unsupported_function import UnsupportedFunction

__all__ = [
    "Constant",
    "FourierSeries",
    "Function",
    "FunctionTable",
    "GCVSpline",
    "Linear",
    "MultivariatePolynomial",
    "NaturalCubicSpline",
    "PiecewiseConstant",
    "PiecewiseLinear",
    "Polynomial",
    "SampledSpline",
    "Scaled",
    "SimmSpline",
    "Sine",
    "Step",
    "Sum",
    "UnsupportedFunction",
    "compile_functions",
]
