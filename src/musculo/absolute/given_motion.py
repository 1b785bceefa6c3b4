"""What drivers are told: numbers, points and orientations over time, with two derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.absolute.euler_parameters import continuous, matrix_G, product
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.signals.named_arrays import series
from musculo.signals.natural_smoothing import NaturalSpline
from musculo.spatial.rotation import to_quaternion


class GivenNumbers(NamedTuple):
    """Numbers over frames: (frames, k) values, first and second derivatives by time."""

    value: FloatArray
    rate: FloatArray
    acceleration: FloatArray

    def __repr__(self) -> str:
        return f"GivenNumbers({self.frames} frames of {self.value.shape[1]})"

    @property
    def frames(self) -> int:
        """How many frames it is told for."""
        return len(self.value)

    @classmethod
    def of(
        cls,
        value: ArrayLike,
        rate: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        *,
        time: ArrayLike | None = None,
    ) -> GivenNumbers:
        """From arrays (frames,) or (frames, k).

        Args:
            value: the numbers.
            rate, acceleration: their derivatives; zero where not given, as if every frame stood still.
            time: (frames,) [s] for derivatives of the natural quintic spline through the values; filter these first.
        """
        values = np.asarray(value, dtype=float)
        if time is not None:
            rate, acceleration = _derivatives(time, values, (rate, acceleration))
        parts = [values, *(np.zeros_like(values) if x is None else np.asarray(x, float) for x in (rate, acceleration))]
        if any(part.shape != values.shape for part in parts) or values.ndim not in (1, 2):
            raise InvalidInput(
                f"values have shape {values.shape} and derivatives {parts[1].shape} and {parts[2].shape}; give all "
                "three as (frames,) or (frames, k)"
            )
        return cls(*(part.reshape(len(part), -1) for part in parts))


class GivenOrientation(NamedTuple):
    """The orientation of a second frame relative to a first one, over frames.

    Euler parameters without jumps of sign; angular velocity and acceleration of the second frame in the first one.
    """

    parameters: FloatArray  # (frames, 4)
    omega: FloatArray  # (frames, 3)
    alpha: FloatArray  # (frames, 3)

    def __repr__(self) -> str:
        most = 2.0 * np.degrees(np.arccos(np.clip(np.abs(self.parameters[:, 0]).min(initial=1.0), 0.0, 1.0)))
        return f"GivenOrientation({self.frames} frames, at most {most:.1f} degrees from straight)"

    @property
    def frames(self) -> int:
        """How many frames it is told for."""
        return len(self.parameters)

    @classmethod
    def of(
        cls,
        parameters: ArrayLike,
        omega: ArrayLike | None = None,
        alpha: ArrayLike | None = None,
        *,
        time: ArrayLike | None = None,
    ) -> GivenOrientation:
        """From Euler parameters (frames, 4) of any length and sign, or rotation matrices (frames, 3, 3).

        Args:
            parameters: the orientations.
            omega, alpha: (frames, 3) angular velocity and acceleration in the first frame; zero where not given, as if
                every frame stood still.
            time: (frames,) [s] for derivatives of the natural quintic spline through the Euler parameters:
                omega = 2 G pdot, alpha = 2 G (pddot - 2 (p . pdot) pdot). Filter what was recorded first.
        """
        p = np.asarray(parameters, dtype=float)
        p = np.atleast_2d(to_quaternion(p) if p.shape[-2:] == (3, 3) else p)
        if p.ndim != 2 or p.shape[1] != 4 or not len(p):
            raise InvalidInput(f"Euler parameters have shape {p.shape}; give (frames, 4), or matrices (frames, 3, 3)")
        size = np.linalg.norm(p, axis=1)
        known = (size > 0.0) & np.isfinite(size)
        if not known.all():
            frame = int(np.argmin(known))
            raise InvalidInput(
                f"Euler parameters of frame {frame} are {p[frame]}, which is no orientation; fill such frames first"
            )
        p = continuous(p / size[:, None])
        if time is not None:
            first, second = _derivatives(time, p, (omega, alpha))
            G, along = matrix_G(p), np.sum(p * first, axis=1, keepdims=True)
            omega, alpha = (2.0 * np.einsum("fij,fj->fi", G, x) for x in (first, second - 2.0 * along * first))
        rest = [np.zeros((len(p), 3)) if x is None else np.asarray(x, dtype=float) for x in (omega, alpha)]
        for name, x in zip(("omega", "alpha"), rest, strict=True):
            if x.shape != (len(p), 3):
                raise InvalidInput(f"{name} has shape {x.shape}; it needs {(len(p), 3)}, as the Euler parameters")
        return cls(p, *rest)

    @classmethod
    def about(
        cls,
        axis: ArrayLike,
        angle: ArrayLike,
        rate: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        *,
        time: ArrayLike | None = None,
    ) -> GivenOrientation:
        """A rotation about an axis by angles (frames,) [rad] of any number of turns; the rest as `GivenNumbers.of`."""
        a = np.asarray(axis, dtype=float)
        if a.shape != (3,) or not np.linalg.norm(a) > 0.0:
            raise InvalidInput(f"axis is {axis!r}; give three numbers, not all zero, such as (0, 0, 1)")
        a = a / np.linalg.norm(a)
        x = GivenNumbers.of(angle, rate, acceleration, time=time)
        half = 0.5 * x.value
        p = np.concatenate([np.cos(half), np.sin(half) * a], axis=1)
        return cls(p, x.rate * a, x.acceleration * a)

    @property
    def rates(self) -> tuple[FloatArray, FloatArray]:
        """First and second derivatives (frames, 4) of the Euler parameters.

        pdot = (0, omega) p / 2,   pddot = (0, alpha) p / 2 - |omega|^2 p / 4       (Antunes2025 eq. 31, 32)
        """
        zero = np.zeros((len(self.parameters), 1))
        first = 0.5 * product(np.concatenate([zero, self.omega], axis=1), self.parameters)
        second = 0.5 * product(np.concatenate([zero, self.alpha], axis=1), self.parameters)
        return first, second - 0.25 * np.sum(self.omega**2, axis=1, keepdims=True) * self.parameters


class GivenPose(NamedTuple):
    """The pose of a second frame in a first one, over frames."""

    orientation: GivenOrientation
    place: GivenNumbers  # (frames, 3) of the second origin, in the first frame [m]

    @property
    def frames(self) -> int:
        """How many frames it is told for."""
        return len(self.place.value)


def _derivatives(
    time: ArrayLike, values: FloatArray, given: tuple[ArrayLike | None, ArrayLike | None]
) -> tuple[FloatArray, FloatArray]:
    """First and second derivatives (frames, ...) of the natural quintic spline through values."""
    if any(x is not None for x in given):
        raise InvalidInput("both times and derivatives are given; one of them says how fast things move")
    t, y = series(time, values, least=6)
    spline = NaturalSpline(t, y, 5)
    return np.asarray(spline(t, 1)), np.asarray(spline(t, 2))


Given = GivenNumbers | GivenOrientation | GivenPose
