"""Rotation prescribed by relative Euler parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from musculo.absolute.drivers.driver import FrameDriver
from musculo.absolute.given_motion import Given
from musculo.absolute.terms import Row, euler_parameter, number
from musculo.arrays import FloatArray

FourVector = tuple[float, float, float, float]
E0: FourVector = (1.0, 0.0, 0.0, 0.0)
E1: FourVector = (0.0, 1.0, 0.0, 0.0)
E2: FourVector = (0.0, 0.0, 1.0, 0.0)
E3: FourVector = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class EulerDriver(FrameDriver):
    """v . p_AB - v . p*_AB(t): one equation a vector v, with p_AB of the second frame relative to the first.

    The components of p_AB depend on which frames these are; figure 5 and table 2 of the paper need the bodies' frames.
    The gradient along a rotation about z is v . dp/dphi, cos(phi/2) / 2 for `E3`: 0.0044 at 179 degrees and nothing at
    180. So with constant v a driver is regular through 0 and short of half a turn only; `TangentDriver` is regular
    everywhere.

    Source: Antunes2025 eq. 16-25; table 1 for the choice (`choose_parameters`).
    """

    guides: ClassVar[bool] = True

    vectors: tuple[FourVector, ...] = (E1, E2, E3)

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(f"{self.name}:{k}" for k in range(len(self.vectors)))

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        told = zip(self.vectors, self.numbers, strict=True)
        return tuple((euler_parameter(first, v, second), -number(name)) for v, name in told)

    def signals(self, given: Given) -> dict[str, FloatArray]:
        p = self._orientation(given)
        parts = np.stack([p.parameters, *p.rates], axis=2)  # (frames, 4, 3)
        told = zip(self.vectors, self.numbers, strict=True)
        found = {name: np.einsum("fik,i->fk", parts, np.asarray(v, dtype=float)) for v, name in told}
        return found | self._pose(p)
