"""A movement analyzed with one kind of drivers: positions, joint angles, loads, agreement with the recursion, times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from musculo.absolute.absolute_analysis import AbsoluteAnalysis, kinematic_analysis
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import Given
from musculo.arrays import FloatArray
from musculo.dynamics.loads.external import ExternalLoad
from musculo.replications.drivers.driven_human import DrivenHuman, Driver, assembled, driven_human
from musculo.replications.drivers.gait_movement import Walk
from musculo.replications.drivers.human import LOWER_BODY, RIGHT_ARM, Human
from musculo.replications.drivers.recursive_loads import (
    difference,
    loop_difference,
    loop_forces,
    recursive_loads,
)
from musculo.replications.drivers.relative_motion import body_fixed_angles, mapped, relative_motion
from musculo.replications.timing import seconds_per_call

# The paper's main angles: joint, its bodies, the ISB's order, and which of the angles.
ARM_ANGLES = {
    "GH elevation": ("scapula_r", "humerus_r", "yxy", 1),
    "HU flexion": ("humerus_r", "ulna_r", "zxy", 0),
    "RU pronation": ("ulna_r", "radius_r", "yxz", 0),
}
GIRDLE_ANGLES = {
    **{f"SC {k}": ("thorax", "clavicle_r", "yxz", k) for k in range(3)},
    **{f"AC {k}": ("clavicle_r", "scapula_r", "yxz", k) for k in range(3)},
    **{f"ST {k}": ("thorax", "scapula_r", "yxz", k) for k in range(3)},
}
LEG_ANGLES = {
    "hip flexion": ("pelvis", "femur_r", "zxy", 0),
    "knee flexion": ("femur_r", "tibia_r", "zxy", 0),
    "ankle dorsiflexion": ("tibia_r", "talus_r", "zxy", 0),
}
# Positions to rounding, since loads inherit their error [rad, m].
_EXACT = 1e-13
# So many frames are in one call that times the dynamics.
_REPEATED_FRAMES = 1500
# With six angles at the acromioclavicular joint, what this joint does cannot be told from what the rib cage does.
_GIRDLE = ("SC_r", "AC_r")


@dataclass(frozen=True, eq=False)
class Movement:
    """Bodies that move, as recorded or generated."""

    name: str
    motion: AbsoluteAnalysis
    walk: Walk | None = None

    @property
    def part(self) -> tuple[str, ...]:
        """The bodies that are analyzed."""
        return RIGHT_ARM if self.walk is None else LOWER_BODY


@dataclass(frozen=True, eq=False)
class AnalyzedMovement:
    """A movement as one kind of drivers gives it."""

    movement: Movement
    driven: DrivenHuman
    told: Mapping[str, Given]
    start: FloatArray  # a position near the first frame
    forces: FloatArray | None  # of the ground
    found: AbsoluteAnalysis

    def angle(self, which: tuple[str, str, str, int]) -> tuple[FloatArray, FloatArray]:
        """(frames,) an angle as prescribed and as found [degrees]."""
        return prescribed_angle(self.movement.motion, which), prescribed_angle(self.found, which)

    def largest(self, angles: Mapping[str, tuple[str, str, str, int]]) -> dict[str, tuple[float, float]]:
        """Mean and largest difference [degrees] of angles from what was prescribed."""
        apart = {name: np.abs(np.subtract(*self.angle(which))) for name, which in angles.items()}
        return {name: (float(d.mean()), float(d.max())) for name, d in apart.items()}

    def kinematics(self) -> AbsoluteAnalysis:
        """The kinematic analysis again, to be timed."""
        return kinematic_analysis(self.driven.mechanism, self.told, start=self.start)

    def signals(self) -> FloatArray:
        """What the drivers are told, as numbers in the equations."""
        return self.driven.mechanism.signals(self.told, len(self.found.x))


def prescribed_angle(motion: AbsoluteAnalysis, which: tuple[str, str, str, int]) -> FloatArray:
    """(frames,) an angle between two bodies [degrees]."""
    first, second, order, k = which
    parameters = relative_motion(motion, Frame(first), Frame(second)).parameters
    return np.asarray(np.degrees(body_fixed_angles(order, parameters)[:, k]))


def analyzed(human: Human, movement: Movement, driver: Driver) -> AnalyzedMovement:
    """Positions, velocities, accelerations and multipliers of all frames, each from the one before."""
    driven = driven_human(human, movement.part, driver)
    told = driven.told(movement.motion)
    start = assembled(human, movement.part, movement.motion)
    forces = None
    if movement.walk is not None:
        forces = movement.walk.forces(kinematic_analysis(driven.mechanism, told, start=start))
    found = kinematic_analysis(driven.mechanism, told, start=start, forces=forces, loads=True)
    return AnalyzedMovement(movement, driven, told, start, forces, found)


def agreement_with_recursion(case: AnalyzedMovement) -> tuple[float, str]:
    """The largest difference from the recursion of all loads that are unique, as a part of the largest; and of which.

    Drivers by angles contradict each other where an elbow is no hinge, and positions are those of least squares. So
    what was found is prescribed once more: then nothing contradicts, and both formulations have the same motion.
    """
    walk = case.movement.walk
    again = case.driven.told(case.found)
    forces = case.forces if walk is None else walk.forces(case.found)
    motion = kinematic_analysis(
        case.driven.mechanism, again, start=case.start, forces=forces, loads=True, tolerance=_EXACT
    )
    outside: list[ExternalLoad] = [] if walk is None else walk.on_feet(case.found)
    if walk is None and case.driven.driver == "angle":
        none = {loop.name: np.zeros(len(motion.x)) for loop in loop_forces(case.driven, motion)}
        theirs = recursive_loads(case.driven, motion, outside, none)
        return difference(motion, theirs, _GIRDLE), "all joints but SC, AC and ST, whose loads are not unique"
    theirs = recursive_loads(case.driven, motion, outside)
    loops = loop_difference(case.driven, motion, theirs)
    return max(difference(motion, theirs), loops), "all joints, and the forces that close loops"


class Seconds(NamedTuple):
    """Processor time a frame of one thread [s]."""

    kinematic: float
    told: float  # of which: from prescribed orientations to the numbers in the equations
    dynamic: float


def seconds_a_frame(cases: Mapping[str, AnalyzedMovement], rounds: int = 25) -> dict[str, Seconds]:
    """Processor time of kinematic and dynamic analysis of each case, the least of all rounds.

    Dynamics come in one pass with the kinematics. They are the difference of two calls on the movement many times over,
    in which every frame starts at its own position, so that little else is in the calls.
    """
    calls: dict[str, Callable[[], object]] = {}
    longer = {name: _Repeated(case) for name, case in cases.items()}
    for name, case in cases.items():
        calls[f"{name} kinematic"] = case.kinematics
        calls[f"{name} told"] = case.signals
        calls[f"{name} without"] = longer[name].without
        calls[f"{name} with"] = longer[name].dynamics
    least = seconds_per_call(calls, rounds=rounds)
    found = {}
    for name, case in cases.items():
        frames = len(case.found.x)
        apart = least[f"{name} with"] - least[f"{name} without"]
        found[name] = Seconds(
            least[f"{name} kinematic"] / frames, least[f"{name} told"] / frames, apart / longer[name].frames
        )
    return found


class _Repeated:
    """A movement many times over, every frame of which starts at its own position."""

    def __init__(self, case: AnalyzedMovement) -> None:
        times = -(-_REPEATED_FRAMES // len(case.found.x))
        self.told = {name: mapped(one, lambda x: np.concatenate([x] * times)) for name, one in case.told.items()}
        self.start = np.concatenate([case.found.x] * times)
        self.forces = None if case.forces is None else np.concatenate([case.forces] * times)
        self.frames = len(self.start)
        # multipliers are all that the paper asks of dynamics; a mechanism reports one load at least
        self.mechanism = replace(case.driven.mechanism, loads=case.driven.mechanism.loads[:1])

    def without(self) -> AbsoluteAnalysis:
        return kinematic_analysis(self.mechanism, self.told, start=self.start, threads=1)

    def dynamics(self) -> AbsoluteAnalysis:
        return kinematic_analysis(
            self.mechanism, self.told, start=self.start, forces=self.forces, loads=True, threads=1
        )
