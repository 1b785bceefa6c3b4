"""The curves of a muscle, for looking at and for checking: the same kernels that give its forces evaluate them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.kernels.hill.hill_frames import curve_lanes
from musculo.kernels.hill.muscle_table import ACTIVE_CURVE, PASSIVE_CURVE, TENDON_CURVE, VELOCITY_CURVE
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import CompiledMuscles, compiled_muscles


@dataclass(frozen=True, eq=False)
class MuscleCurves:
    """The four curves of one muscle, each with its slope (`order=1`).

    Lengths are over the optimal fiber length or the tendon's slack length, velocities over the largest shortening
    speed (shortening negative), forces over the maximum isometric force.

    Source:     Millard: `musculo.muscle.hill_curves.millard_curves`. Thelen: [Thelen2003] eq. 3-7. De Groote-Fregly:
                [DeGroote2016], supplement. Schutte, Delp, RigidTendonMuscle: splines of the file, or OpenSim's own
                (`musculo.muscle.hill_curves.hill_defaults`).
    Departs:    the exponentials below go on as straight lines beyond e^40, at some 1e17 maximum isometric forces, so
                that no length of path, fiber or tendon has an infinite force. OpenSim's overflow there.
    """

    name: str
    compiled: CompiledMuscles
    row: int

    def active_force_length(self, length: ArrayLike, order: int = 0) -> FloatArray:
        """Active force at full activation and no velocity.

            Thelen:           exp(-(l - 1)^2 / gamma)
            De Groote-Fregly: sum_j b1 exp(-((x - b2) / (b3 + b4 x))^2 / 2),  x = 1 + (l - 1) / W

        Departs:    De Groote and Fregly's coefficients are those of OpenSim, which make f(1) = 1.
        Guarantees: f(1) = 1 for Millard, Thelen and De Groote-Fregly (to 1e-9); not negative.
        """
        return self._curve(ACTIVE_CURVE, length, order)

    def passive_force_length(self, length: ArrayLike, order: int = 0) -> FloatArray:
        """Elastic force of the fiber without activation.

            Thelen:           (exp(k (l - 1) / e) - 1) / (exp(k) - 1), 0 for l <= 1
            De Groote-Fregly: (exp(4 (l - 1) / e) - o) / (exp(4) - o),  o = exp(4 (0.2 - 1) / e)

        Guarantees: f(1 + strain at unit force) = 1 for Millard, Thelen and De Groote-Fregly.
        """
        return self._curve(PASSIVE_CURVE, length, order)

    def tendon_force_length(self, length: ArrayLike, order: int = 0) -> FloatArray:
        """Force of the tendon.

            Thelen:           0.33 (exp(3 e / e_toe) - 1) / (exp(3) - 1) up to e_toe, then a straight line; e = l - 1
            De Groote-Fregly: (exp(k e) - 1) / 5,  k = ln(6) / strain at unit force

        Departs:    Thelen's e_toe = 0.609 e0 and k_lin = 1.712 / e0 are roundings; the exact values make the curve
                    pass 1 at e0 with a continuous slope. De Groote and Fregly's offsets are those of OpenSim: f(1) = 0.
                    OpenSim's deprecated Thelen muscle keeps the roundings, has 0.333333 for 0.33, and adds 0.001 l.
        Guarantees: f(1) = 0, f(1 + strain at unit force) = 1, increasing from there on; the deprecated Thelen apart.
        """
        return self._curve(TENDON_CURVE, length, order)

    def force_velocity(self, velocity: ArrayLike, order: int = 0, activation: float = 1.0) -> FloatArray:
        """Active force at a fiber velocity, over that at none.

            Thelen:           v = w / (1/4 + 3/4 a):  (1 + v) / (1 - v / Af), lengthening (1 + c Flen v) / (1 + c v)
                              with c = (2 + 2 / Af) / (Flen - 1); straight beyond v = -1 and f = 0.95 Flen
            De Groote-Fregly: d1 asinh(d2 w + d3) + d4
            Schutte:          k (1 + w) / (k - w), lengthening (1.4 w + s) / (w + s)
            Thelen, deprecated: Hill's equation with damping inside, at a pull of 1 (`kernels/hill/curve_values.py`)

        Guarantees: f(0) = 1 (De Groote-Fregly to 2e-4), f(-1) = 0 (Thelen at full activation), increasing.

        Args:
            velocity: over the largest shortening speed.
            order: 0 for the value, 1 for the slope.
            activation: Thelen's curve depends on it; the others do not.
        """
        return self._curve(VELOCITY_CURVE, velocity, order, activation)

    def _curve(self, curve: int, x: ArrayLike, order: int, activation: float = 1.0) -> FloatArray:
        if order not in (0, 1):
            raise InvalidInput(f"order is 0 (the value) or 1 (the slope), not {order!r}")
        at = np.asarray(x)
        if at.dtype.kind not in "biufc":
            raise InvalidInput(f"curves of muscles take numbers, not {at.dtype}")
        at = np.ascontiguousarray(at, dtype=complex if at.dtype.kind == "c" else float).reshape(at.shape)
        out = np.empty((2, at.size), dtype=at.dtype)
        curve_lanes(*self.compiled.arrays, self.row, curve, float(activation), at.ravel(), out)
        return out[order].reshape(at.shape)


def muscle_curves(model: Model, muscle: str) -> MuscleCurves:
    """The curves of the muscle of that name."""
    model.muscle(muscle)
    c = compiled_muscles(model)
    return MuscleCurves(muscle, c, c.names.index(muscle))
