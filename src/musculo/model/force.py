"""What pulls and pushes: muscles, ligaments, actuators, springs, contacts."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.functions.function import Function
from musculo.model.model_path import Path
from musculo.model.muscle_parameters import Scalar, min_control


@dataclass(frozen=True)
class Force:
    """A force of `kind` (the file's element), as the file states it.

    `properties` are its plain values as text in file order, sockets included, so that mechanics can be built without
    reading the file again. `functions` are its curves by property name. `carried` holds the XML of what remains
    (parameter sets, frames, expressions); `path` is there for kinds that run along one.
    """

    name: str
    kind: str
    applies_force: bool = True
    path: Path | None = None
    properties: tuple[tuple[str, str], ...] = ()
    functions: tuple[tuple[str, Function], ...] = ()
    carried: tuple[str, ...] = ()

    def text(self, key: str, default: str = "") -> str:
        """The text of a property, or the default where the file does not state it."""
        return dict(self.properties).get(key, default)


@dataclass(frozen=True)
class MuscleCurve:
    """A curve that a muscle describes by parameters: `element` is its kind, for instance TendonForceLengthCurve."""

    element: str
    name: str = ""
    parameters: tuple[tuple[str, float], ...] = ()

    def parameter(self, key: str, default: float) -> float:
        """A number of this curve, or the default where it states none."""
        return dict(self.parameters).get(key, default)


@dataclass(frozen=True)
class Muscle(Force):
    """A muscle with its tendon, along a path.

    `max_contraction_velocity` is in optimal fiber lengths per second. `parameters` are the scalars that only this
    kind of muscle has, with OpenSim's values for those that the file does not state; `curves` those it describes by
    parameters, and `functions` those it gives as functions. `min_control` and `max_control` bound the excitation; where
    the first is missing, it is OpenSim's for the kind: 0.01 for Millard2012EquilibriumMuscle and Thelen2003Muscle,
    which refuse less than their least activation, and zero for the others.
    """

    max_isometric_force: float = 1000.0
    optimal_fiber_length: float = 0.1
    tendon_slack_length: float = 0.2
    pennation_angle_at_optimal: float = 0.0
    max_contraction_velocity: float = 10.0
    ignore_tendon_compliance: bool = False
    ignore_activation_dynamics: bool = False
    min_control: float = None  # type: ignore[assignment]  # a number as soon as the muscle is made
    max_control: float = 1.0
    parameters: tuple[tuple[str, Scalar], ...] = ()
    curves: tuple[MuscleCurve, ...] = ()

    def __post_init__(self) -> None:
        if self.min_control is None:
            object.__setattr__(self, "min_control", min_control(self.kind))

    def parameter(self, key: str, default: Scalar) -> Scalar:
        """A scalar of this kind of muscle, or the default where it has none."""
        return dict(self.parameters).get(key, default)

    def curve(self, element: str) -> MuscleCurve:
        """The curve of that kind; one without parameters (all at their defaults) where the muscle states none."""
        return next((c for c in self.curves if c.element == element), MuscleCurve(element))
