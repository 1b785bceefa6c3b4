"""Forces at coordinates: limits, springs and expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel
from musculo.forces import stated_forces as stated
from musculo.forces.expressions import Expressions
from musculo.forces.placed import Acting, Columns, Moving
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.results.angle_columns import rotational_coordinates


class _AtCoordinates(ABC):
    """What all of them share: a coordinate, its speed, and one number each, which acts on the speed.

    As in OpenSim it does so even if the speed is not the rate of the coordinate (angles of ball, free and ellipsoid
    joints). It is then not the derivative of an energy.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        at = [stated.coordinate(force, model) for force in forces]
        self.coordinates = at
        self._q = [model.coordinate_index(name) for name in at]
        self._u = [model.speed_index(name) for name in at]

    @abstractmethod
    def values(self, q: FloatArray, u: FloatArray, energy: FloatArray) -> FloatArray:
        """(frames, forces) of coordinates and speeds likewise; writes the energy."""

    def act(self, s: Moving) -> Acting:
        frames, n = len(s.q), len(self.names)
        energy = np.zeros((frames, n))
        value = self.values(s.q[:, self._q], s.u[:, self._u], energy)
        none, every = np.zeros(0, dtype=np.int64), np.arange(n)
        return Acting(none, none, np.zeros((frames, 0, 6)), every, np.array(self._u, dtype=np.int64), value, energy)

    ending = ""

    def columns(self, s: Moving, acting: Acting) -> Columns:
        return [(k, name + self.ending, acting.on_speed[:, k]) for k, name in enumerate(self.names)]


class CoordinateLimits(_AtCoordinates):
    """`<CoordinateLimitForce>`: a damped spring beyond each end of a range, which sets in over a transition.

        f = -K_u (q - q_u) + K_l (q_l - q) - c (K_u / k_u + K_l / k_l) u
        K_u = k_u S((q - q_u) / d),   K_l = k_l S((q_l - q) / d),   S(x) = 10 x^3 - 15 x^4 + 6 x^5 on 0 .. 1
        V = k (q - q_u)^2 x^3 (2 - 5 x / 2 + 6 x^2 / 7), x = (q - q_u) / d <= 1;  k ((q - q_u)^2 / 2 - d^2 / 7) beyond

    Limits, transition, stiffness and damping are stated per degree where the coordinate is rotational.

    Source:     OpenSim 4.6, observed behavior.
    Departs:    where a stiffness is zero OpenSim divides by it and gives NaN; here K / k is S.
    Guarantees: f = -dV/dq at rest, one end at a time.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        angles = rotational_coordinates(model)
        w = np.array([np.pi / 180.0 if name in angles else 1.0 for name in self.coordinates])

        def of(key: str, default: float) -> FloatArray:
            return np.array([stated.finite(force, key, default) for force in forces])

        self._upper, self._lower = w * of("upper_limit", 0.0), w * of("lower_limit", 0.0)
        self._stiff_upper, self._stiff_lower = of("upper_stiffness", 1.0) / w, of("lower_stiffness", 1.0) / w
        self._damping, self._width = of("damping", 0.001) / w, w * of("transition", 0.1)
        for force, width in zip(forces, self._width, strict=True):
            if not width > 0.0:
                raise InvalidModel(
                    f"{stated.described(force)}: its transition is {force.text('transition')}; give one above zero, "
                    "over which the limit sets in"
                )

    def values(self, q: FloatArray, u: FloatArray, energy: FloatArray) -> FloatArray:
        over, under = q - self._upper, self._lower - q
        rise_upper, rise_lower = _step(over / self._width), _step(under / self._width)
        spring = self._stiff_lower * rise_lower * under - self._stiff_upper * rise_upper * over
        energy += np.where(
            over > 0.0,
            self._stiff_upper * self._stored(over),
            self._stiff_lower * self._stored(under),
        )
        return spring - self._damping * (rise_upper + rise_lower) * u

    def _stored(self, beyond: FloatArray) -> FloatArray:
        """V / k."""
        d = np.maximum(beyond, 0.0)
        x = np.minimum(d / self._width, 1.0)
        toe = d * d * x**3 * (2.0 - 2.5 * x + 6.0 / 7.0 * x * x)
        return np.where(d < self._width, toe, 0.5 * d * d - self._width**2 / 7.0)

    def columns(self, s: Moving, acting: Acting) -> Columns:
        found: Columns = []
        for k, name in enumerate(self.names):
            # OpenSim's second label has no name in front
            found += [(k, name, acting.on_speed[:, k]), (k, "PotentialEnergy", acting.energy[:, k])]
        return found


def _step(x: FloatArray) -> FloatArray:
    """S: 0 up to 0, 1 from 1 on, with two continuous derivatives."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 + x * (6.0 * x - 15.0))


class CoordinateSprings(_AtCoordinates):
    """`<SpringGeneralizedForce>`: f = -k (q - q_0) - c u, V = k (q - q_0)^2 / 2.

    Source:  OpenSim 4.6, observed behavior.
    Departs: OpenSim counts no energy for it.
    """

    ending = "_Force"

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        self._stiffness, self._rest, self._viscosity = (
            np.array([stated.finite(force, key, 0.0) for force in forces])
            for key in ("stiffness", "rest_length", "viscosity")
        )

    def values(self, q: FloatArray, u: FloatArray, energy: FloatArray) -> FloatArray:
        stretch = q - self._rest
        energy += 0.5 * self._stiffness * stretch * stretch
        return -self._stiffness * stretch - self._viscosity * u


class CoordinateExpressions(_AtCoordinates):
    """`<ExpressionBasedCoordinateForce>`: f an expression of `q` and `qdot`, which is the speed u.

    Source: OpenSim 4.6, observed behavior. No energy is known.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        self._formulas = Expressions([(f, f.text("expression") or "0") for f in forces], ("q", "qdot"))

    def values(self, q: FloatArray, u: FloatArray, energy: FloatArray) -> FloatArray:
        return self._formulas(np.stack([q, u], axis=2))
