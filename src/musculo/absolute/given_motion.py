"""What drivers are told: numbers, points and orientations over time, with two derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.absolute.euler_parameters import continuous, product
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput


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
    def of(cls, value: ArrayLike, rate: ArrayLike | None = None, acceleration: ArrayLike | None = None) -> GivenNumbers:
        """From arrays (frames,) or (frames, k); derivatives that are not given are zero."""
        values = np.asarray(value, dtype=float)
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
        cls, parameters: ArrayLike, omega: ArrayLike | None = None, alpha: ArrayLike | None = None
    ) -> GivenOrientation:
        """From Euler parameters (frames, 4) of any length and sign; derivatives that are not given are zero."""
        p = np.atleast_2d(np.asarray(parameters, dtype=float))
        if p.ndim != 2 or p.shape[1] != 4 or not len(p):
            raise InvalidInput(f"Euler parameters have shape {p.shape}; give (frames, 4)")
        size = np.linalg.norm(p, axis=1)
        known = (size > 0.0) & np.isfinite(size)
        if not known.all():
            frame = int(np.argmin(known))
            raise InvalidInput(
                f"Euler parameters of frame {frame} are {p[frame]}, which is no orientation; fill such frames first"
            )
        rest = [np.zeros((len(p), 3)) if x is None else np.asarray(x, dtype=float) for x in (omega, alpha)]
        for name, x in zip(("omega", "alpha"), rest, strict=True):
            if x.shape != (len(p), 3):
                raise InvalidInput(f"{name} has shape {x.shape}; it needs {(len(p), 3)}, as the Euler parameters")
        return cls(continuous(p / np.linalg.norm(p, axis=1, keepdims=True)), *rest)

    @classmethod
    def about(
        cls, axis: ArrayLike, angle: ArrayLike, rate: ArrayLike | None = None, acceleration: ArrayLike | None = None
    ) -> GivenOrientation:
        """A rotation about an axis by angles (frames,) of any number of turns [rad]."""
        a = np.asarray(axis, dtype=float)
        if a.shape != (3,) or not np.linalg.norm(a) > 0.0:
            raise InvalidInput(f"axis is {axis!r}; give three numbers, not all zero, such as (0, 0, 1)")
        a = a / np.linalg.norm(a)
        x = GivenNumbers.of(angle, rate, acceleration)
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


Given = GivenNumbers | GivenOrientation | GivenPose
