"""What pulls along a path and is not a muscle: springs, ligaments, actuators, and tension by an expression."""

from __future__ import annotations

import math
from dataclasses import dataclass

from musculo.functions.function import Function
from musculo.functions.splines import SimmSpline
from musculo.model.force import Force

# What OpenSim gives a ligament whose file states no curve: force / pcsa_force of length / resting length.
LIGAMENT_CURVE = SimmSpline(
    (-5.0, 0.998, 0.999, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.601, 1.602, 5.0),
    (0.0, 0.0, 0.0, 0.0, 0.035, 0.12, 0.26, 0.55, 1.17, 2.0, 2.0, 2.0, 2.0),
)


@dataclass(frozen=True)
class PathSpring(Force):
    """A spring without mass: T = stiffness (L - resting_length) (1 + dissipation Ldot), slack when shorter."""

    kind: str = "PathSpring"
    resting_length: float = 0.0  # [m]
    stiffness: float = 0.0  # [N/m]
    dissipation: float = 0.0  # [s/m]


@dataclass(frozen=True)
class Ligament(Force):
    """T = pcsa_force curve(L / resting_length), slack when shorter."""

    kind: str = "Ligament"
    resting_length: float = 0.0  # [m]
    pcsa_force: float = 0.0  # [N]
    force_length_curve: Function = LIGAMENT_CURVE


@dataclass(frozen=True)
class Blankevoort1991Ligament(Force):
    """Quadratic up to the transition strain, then linear; damped while it lengthens."""

    kind: str = "Blankevoort1991Ligament"
    slack_length: float = 0.0  # [m]
    linear_stiffness: float = 1.0  # [N] per unit of strain
    transition_strain: float = 0.06
    damping_coefficient: float = 0.003  # [N s] per unit of strain


@dataclass(frozen=True)
class PathActuator(Force):
    """T = control optimal_force; `min_control` and `max_control` are for who chooses the control."""

    kind: str = "PathActuator"
    optimal_force: float = 1.0  # [N]
    min_control: float = -math.inf
    max_control: float = math.inf


@dataclass(frozen=True)
class ClutchedPathSpring(Force):
    """A spring that a control in 0 .. 1 engages; its stretch is a state, which follows the path while engaged.

    T = control stiffness stretch (1 + dissipation Ldot)
    """

    kind: str = "ClutchedPathSpring"
    stiffness: float = 0.0  # [N/m]
    dissipation: float = 0.0  # [s/m]
    relaxation_time_constant: float = 0.001  # [s]
    initial_stretch: float = 0.0  # [m]
    optimal_force: float = 1.0  # unused, as in OpenSim
    min_control: float = 0.0
    max_control: float = 1.0


@dataclass(frozen=True)
class ExpressionBasedPathForce(Force):
    """T = expression of `s`, the stretch L - resting_length [m] (zero when shorter if clamped), and `ldot` [m/s]."""

    kind: str = "ExpressionBasedPathForce"
    resting_length: float = 0.0  # [m]
    expression: str = "0.0"
    clamp_stretch: bool = True


PATH_FORCES: tuple[type[Force], ...] = (
    PathSpring,
    Ligament,
    Blankevoort1991Ligament,
    PathActuator,
    ClutchedPathSpring,
    ExpressionBasedPathForce,
)
