"""Forces at coordinates: limits, springs and expressions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel
from musculo.forces import stated_forces as stated
from musculo.forces.expressions import programs_of
from musculo.forces.placed import Acting, Columns, Found, Moving, on_speeds
from musculo.kernels.forces.coordinate_laws import CoordinateFormulas, Limits, Springs
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.results.angle_columns import rotational_coordinates


class _AtCoordinates:
    """What all of them share: a coordinate, its speed, and one number each, which acts on the speed.

    As in OpenSim it does so even if the speed is not the rate of the coordinate (angles of ball, free and ellipsoid
    joints). It is then not the derivative of an energy.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        at = [stated.coordinate(force, model) for force in forces]
        self.coordinates = at
        self.q = np.array([model.coordinate_index(name) for name in at], dtype=np.int64)
        self.speed = np.array([model.speed_index(name) for name in at], dtype=np.int64)

    def acting(self, s: Moving, found: Found) -> Acting:
        return on_speeds(self.speed, found)

    ending = ""

    def columns(self, s: Moving, acting: Acting) -> Columns:
        return [(k, name + self.ending, acting.on_speed[:, k]) for k, name in enumerate(self.names)]


def _of(forces: Sequence[Force], key: str, default: float) -> FloatArray:
    return np.array([stated.finite(force, key, default) for force in forces], dtype=float)


class CoordinateLimits(_AtCoordinates):
    """`<CoordinateLimitForce>`: a damped spring beyond each end of a range, which sets in over a transition.

    The law is `musculo.kernels.forces.coordinate_laws.limit_force`. Limits, transition, stiffness and damping are
    stated per degree where the coordinate is rotational.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        angles = rotational_coordinates(model)
        w = np.array([np.pi / 180.0 if name in angles else 1.0 for name in self.coordinates], dtype=float)
        self.data = Limits(
            self.q,
            self.speed,
            w * _of(forces, "upper_limit", 0.0),
            w * _of(forces, "lower_limit", 0.0),
            _of(forces, "upper_stiffness", 1.0) / w,
            _of(forces, "lower_stiffness", 1.0) / w,
            _of(forces, "damping", 0.001) / w,
            w * _of(forces, "transition", 0.1),
        )
        for force, width in zip(forces, self.data.width, strict=True):
            if not width > 0.0:
                raise InvalidModel(
                    f"{stated.described(force)}: its transition is {force.text('transition')}; give one above zero, "
                    "over which the limit sets in"
                )

    def columns(self, s: Moving, acting: Acting) -> Columns:
        found: Columns = []
        for k, name in enumerate(self.names):
            # OpenSim's second label has no name in front
            found += [(k, name, acting.on_speed[:, k]), (k, "PotentialEnergy", acting.energy[:, k])]
        return found


class CoordinateSprings(_AtCoordinates):
    """`<SpringGeneralizedForce>`: a linear spring and damper, `kernels.forces.coordinate_laws.spring_force`.

    Departs: OpenSim counts no energy for it.
    """

    ending = "_Force"

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        numbers = (_of(forces, key, 0.0) for key in ("stiffness", "rest_length", "viscosity"))
        self.data = Springs(self.q, self.speed, *numbers)


class CoordinateExpressions(_AtCoordinates):
    """`<ExpressionBasedCoordinateForce>`: f an expression of `q` and `qdot`, which is the speed u.

    Source: OpenSim 4.6, observed behavior. No energy is known.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        programs = programs_of([(f, f.text("expression") or "0") for f in forces], ("q", "qdot"))
        self.data = CoordinateFormulas(self.q, self.speed, programs)
