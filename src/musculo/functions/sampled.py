"""A smooth curve through a user's samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from musculo.errors import InvalidInput
from musculo.functions.bsplines import not_a_knot_spline
from musculo.functions.elementary_functions import packed_pieces
from musculo.functions.function import Function, set_knots
from musculo.functions.function_table import PackedFunction
from musculo.functions.natural_spline import with_continuations

SMOOTH_DEGREES = (3, 5, 7)


@dataclass(frozen=True)
class SampledSpline(Function):
    """The not-a-knot spline of odd degree through samples (x, y); use `through` for samples in any order.

    With too few samples the degree falls to the highest odd one they allow; three give a parabola, two a line.
    Beyond the samples it goes on as the Taylor polynomial of second degree, so accelerations do not jump there.

    Departs:    OpenSim's GCVSpline of half order 3 is natural at its ends (third and fourth derivatives vanish), which
                costs accuracy there (sin on 0..2 from 21 samples: f'' to 7e-2, here to 5e-5); use `GCVSpline` where a
                curve must mean the same in OpenSim.
    Guarantees: f, f' and f'' are continuous everywhere; a polynomial of the spline's degree is reproduced between the
                samples, one of second degree everywhere.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    degree: int = 5

    def __post_init__(self) -> None:
        if self.degree not in SMOOTH_DEGREES:
            raise InvalidInput(
                f"SampledSpline: degree is one of {SMOOTH_DEGREES} (accelerations need two continuous derivatives), "
                f"got {self.degree!r}"
            )
        set_knots(self, at_least=2)

    @classmethod
    def through(cls, x: ArrayLike, y: ArrayLike, degree: int = 5) -> SampledSpline:
        """The spline through samples in any order.

        Args:
            x: (n,) arguments, all different.
            y: (n,) values.
            degree: 3, 5 or 7.
        """
        arguments, values = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        if arguments.ndim != 1 or values.shape != arguments.shape:
            raise InvalidInput(
                f"SampledSpline: x and y are lists of equal length, got shapes {arguments.shape} and {values.shape}"
            )
        order = np.argsort(arguments, kind="stable")
        ordered = arguments[order]
        repeated = ordered[1:][np.diff(ordered) == 0.0]
        if repeated.size:
            raise InvalidInput(
                f"SampledSpline: x = {repeated[0]:g} is sampled more than once; average such samples first"
            )
        return cls(tuple(ordered), tuple(values[order]), degree)

    @property
    def degree_used(self) -> int:
        """The degree that the number of samples allows."""
        n = len(self.x)
        if n <= 3:
            return n - 1
        return min(self.degree, n - 1 if n % 2 == 0 else n - 2)

    def packed(self) -> PackedFunction:
        x = np.array(self.x)
        spline = not_a_knot_spline(x, np.array(self.y)[:, None], self.degree_used)
        return packed_pieces(x, with_continuations(spline, x, continuation_degree=2))
