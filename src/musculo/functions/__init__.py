"""Scalar functions of one or several coordinates: frozen descriptions, compiled into one table."""

from __future__ import annotations

from musculo.functions.base import Function
from musculo.functions.elementary import (
    Constant,
    FourierSeries,
    Linear,
    PiecewiseConstant,
    PiecewiseLinear,
    Polynomial,
    Sine,
    Step,
)
from musculo.functions.multivariate import MultivariatePolynomial
from musculo.functions.sampled import SampledSpline
from musculo.functions.scaled import Scaled
from musculo.functions.splines import GCVSpline, NaturalCubicSpline, SimmSpline
from musculo.functions.table import FunctionTable, compile_functions
from musculo.functions.unsupported import UnsupportedFunction

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
    "UnsupportedFunction",
    "compile_functions",
]
