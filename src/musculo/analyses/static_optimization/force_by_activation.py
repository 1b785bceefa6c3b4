"""What each muscle gives at an activation, at the lengths and speeds of a motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel
from musculo.like import Method
from musculo.model.model import Model
from musculo.muscle.fibers.capacity import active_force_capacity
from musculo.muscle.fibers.equilibrium import muscle_equilibrium
from musculo.muscle.paths.geometry import PathGeometry

# Half the step of the difference that gives the slope of force by activation: its error is the square of it.
_STEP = 1e-4


class ForceByActivation:
    """Force by activation, and what it does on every independent speed."""

    def __init__(
        self,
        model: Model,
        g: PathGeometry,
        J: FloatArray,
        force_length_velocity: bool,
        passive: bool,
        tendon: str,
        method: Method,
        threads: int | None,
    ) -> None:
        self.model, self.method, self.threads = model, method, threads
        self.names = model.muscle_names
        n = len(self.names)
        self.used = np.array([m.applies_force for m in model.muscles], dtype=bool)
        self.arms = g.moment_arm[:, :n] @ J
        assert g.speed is not None
        self.length, self.speed = np.ascontiguousarray(g.length[:, :n]), np.ascontiguousarray(g.speed[:, :n])
        self.passive = force_length_velocity and bool(passive)
        self.elastic = tendon == "elastic" and force_length_velocity and n > 0
        shape = self.length.shape
        if self.elastic:
            self.resting = self._tendon_force(np.zeros(shape)) if not self.passive else np.zeros(shape)
            return
        self.resting = np.zeros(shape)
        if not force_length_velocity:
            self.capacity = np.broadcast_to([m.max_isometric_force for m in model.muscles], shape) * self.used
            return
        self.capacity = active_force_capacity(model, self.length, self.speed, method=method, threads=threads)
        lost = np.argwhere(~np.isfinite(self.capacity))
        if len(lost):
            frame, k = lost[0]
            raise InvalidModel(
                f"muscle {self.names[k]!r}: its force at the length {self.length[frame, k]:g} m and the speed "
                f"{self.speed[frame, k]:g} m/s is not a number; check its lengths, its speed and the parameters of its "
                "curves: is one of them far too small or too large?"
            )
        self.capacity *= self.used
        if self.passive:
            still = muscle_equilibrium(
                model, self.length, self.speed, 0.0, tendon="rigid", method=method, threads=threads
            )
            self.resting = still.passive_fiber_force * np.cos(still.pennation) * self.used

    def _tendon_force(self, activation: FloatArray, frames: NDArray[np.int64] | slice = slice(None)) -> FloatArray:
        a = np.clip(activation, 0.0, 1.0)
        where = (self.length[frames], self.speed[frames])
        return muscle_equilibrium(self.model, *where, a, method=self.method, threads=self.threads).tendon_force

    def force(self, activation: FloatArray, frames: NDArray[np.int64] | slice = slice(None)) -> FloatArray:
        """Along the tendon [N]."""
        if not self.elastic:
            return activation * self.capacity[frames] + self.resting[frames]
        return (self._tendon_force(activation, frames) - self.resting[frames]) * self.used

    def line(self, activation: FloatArray, frames: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Slope and offset of the force about an activation."""
        low, high = np.maximum(activation - _STEP, 0.0), np.minimum(activation + _STEP, 1.0)
        slope = (self.force(high, frames) - self.force(low, frames)) / (high - low)
        return slope, self.force(activation, frames) - slope * activation
