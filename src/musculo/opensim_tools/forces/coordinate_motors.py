"""Models with actuators at all free coordinates: besides their own forces as reserves, or in their place."""

from __future__ import annotations

from musculo.embedding.embedding import embedding_of
from musculo.model.force import Force
from musculo.model.model import Model


def driven_model(model: Model) -> Model:
    """The model with an actuator of unit force at every free coordinate in place of its own forces."""
    return model.replace(forces=_motors(model, "actuator", 1.0))


def with_reserves(model: Model, strength: float) -> Model:
    """The model with an actuator of that strength at every free coordinate besides its own forces."""
    return model.replace(forces=(*model.forces, *_motors(model, "reserve", strength)))


def _motors(model: Model, ending: str, strength: float) -> tuple[Force, ...]:
    return tuple(
        Force(
            f"{name}_{ending}",
            "CoordinateActuator",
            properties=(("coordinate", name), ("optimal_force", repr(float(strength)))),
        )
        for name in embedding_of(model).speed_names
    )
