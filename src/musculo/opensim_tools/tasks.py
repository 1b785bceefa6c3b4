"""What a step is asked for: all that a set-up file of OpenSim can say, and what only flags and calls can.

Flags make a task; a set-up file is one that asks for nothing more (`task_of`). One function runs it either way.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from musculo.io.setup import (
    AnalyzeSetup,
    CMCSetup,
    ForwardSetup,
    IMUInverseKinematicsSetup,
    IMUPlacerSetup,
    InverseDynamicsSetup,
    InverseKinematicsSetup,
    JointReactionAnalysis,
    MuscleAnalysis,
    RRASetup,
    ScaleSetup,
    Setup,
    StaticOptimizationAnalysis,
)
from musculo.opensim_tools.preparation import NOTHING, Preparation


@dataclass(frozen=True)
class ScaleTask(ScaleSetup):
    """Scaling by a static trial that is prepared first."""

    preparation: Preparation = NOTHING


@dataclass(frozen=True)
class InverseKinematicsTask(InverseKinematicsSetup):
    """Inverse kinematics of a recording that is prepared first."""

    preparation: Preparation = NOTHING


@dataclass(frozen=True)
class InverseDynamicsTask(InverseDynamicsSetup):
    """Inverse dynamics of a motion and loads that are prepared first.

    With `check` the loads are computed a second time, in absolute coordinates, and both are compared.
    """

    preparation: Preparation = NOTHING
    check: bool = False


@dataclass(frozen=True)
class AnalyzeTask(AnalyzeSetup):
    """Analyses of a motion and loads that are prepared first."""

    preparation: Preparation = NOTHING


@dataclass(frozen=True)
class SensorTask(IMUInverseKinematicsSetup):
    """Orientations that are turned about the vertical first, as those of the calibration were; no set-up can ask."""

    heading: float = 0.0  # [rad]

    @property
    def errors_name(self) -> str:
        return f"{self.motion_name.removesuffix('.mot')}_orientationErrors.sto"


Task: TypeAlias = (
    ScaleTask
    | InverseKinematicsTask
    | InverseDynamicsTask
    | AnalyzeTask
    | ForwardSetup
    | RRASetup
    | CMCSetup
    | IMUPlacerSetup
    | IMUInverseKinematicsSetup  # a SensorTask from flags
)
_TASKS: dict[type[Setup], type[Any]] = {
    ScaleSetup: ScaleTask,
    InverseKinematicsSetup: InverseKinematicsTask,
    InverseDynamicsSetup: InverseDynamicsTask,
    AnalyzeSetup: AnalyzeTask,
}


def task_of(setup: Setup) -> Task:
    """What a set-up asks for, as a task: nothing is prepared, and nothing chosen that it cannot say."""
    kind = _TASKS.get(type(setup))
    if kind is None:  # it is one already
        return setup  # type: ignore[return-value]
    task: Task = kind(**{field.name: getattr(setup, field.name) for field in fields(setup)})
    return task


@dataclass(frozen=True)
class MuscleControlTask(CMCSetup):
    """Computed muscle control with reserves of a strength at every free coordinate [N m, N], besides those of files."""

    reserve: float | None = None


# --- analyses -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Electromyograms:
    """Measured signals that pages show behind activations, and that static optimization may stay near."""

    file: Path
    channels: tuple[tuple[str, str], ...] = ()  # a channel and its muscle, where names of channels do not tell
    side: str = ""  # r or l, of other channels whose names tell none
    largest: tuple[tuple[str, float], ...] = ()  # what a maximal contraction gives, by channel; "" for all others
    weight: float = 0.0  # of the distance from them, beside 1 of a muscle without a signal; zero only shows them


@dataclass(frozen=True)
class LeastEffort(StaticOptimizationAnalysis):
    """Static optimization with choices that no set-up file of OpenSim has; see `musculo.static_optimization`.

    They count where the exact method is used. `reserve` is the optimal force of a reserve at every free speed.
    """

    passive: bool = False
    tendon: str = "rigid"  # or elastic
    reserve: float | None = None
    weights: tuple[tuple[str, float], ...] = ()  # of muscles, actuators and reserves (`<speed>_reserve`) by name
    emg: Electromyograms | None = None


@dataclass(frozen=True)
class LoadsOfGivenForces(JointReactionAnalysis):
    """Joint reactions in which nothing pulls but what the file of forces gives, which no set-up of OpenSim can ask for.

    It counts where the exact method is used. Without a file the loads are those of a model that is driven by moments
    at its joints.
    """


@dataclass(frozen=True)
class MusclesAtActivations(MuscleAnalysis):
    """Muscle analysis at the activations of a file, by names of muscles, which no set-up file of OpenSim can name.

    Without a file it is at the model's default activations.
    """

    activation_file: Path | None = None
