"""The analyses that an `<AnalyzeTool>` runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from musculo.io.osim.xml import Element, to_text
from musculo.io.setup.setup_properties import (
    FILE,
    FLAG,
    NUMBER,
    TEXT,
    VECTOR,
    WHOLE,
    WORDS,
    SetupFile,
    read_properties,
)


@dataclass(frozen=True)
class Analysis:
    """What all analyses know. OpenSim reads `start_time` and `end_time` and ignores them."""

    name: str = ""
    on: bool = field(default=True, metadata=FLAG)
    start_time: float = field(default=-math.inf, metadata=NUMBER)
    end_time: float = field(default=math.inf, metadata=NUMBER)
    step_interval: int = field(default=1, metadata=WHOLE)
    in_degrees: bool = field(default=True, metadata=FLAG)


@dataclass(frozen=True)
class StaticOptimizationAnalysis(Analysis):
    """`<StaticOptimization>`."""

    use_model_force_set: bool = field(default=True, metadata=FLAG)
    activation_exponent: float = field(default=2.0, metadata=NUMBER)
    use_muscle_physiology: bool = field(default=True, metadata=FLAG)
    optimizer_convergence_criterion: float = field(default=1e-4, metadata=NUMBER)
    optimizer_max_iterations: int = field(default=100, metadata=WHOLE)


@dataclass(frozen=True)
class MuscleAnalysis(Analysis):
    """`<MuscleAnalysis>`; the word `all` stands for all."""

    muscle_list: tuple[str, ...] = field(default=("all",), metadata=WORDS)
    moment_arm_coordinate_list: tuple[str, ...] = field(default=("all",), metadata=WORDS)
    compute_moments: bool = field(default=True, metadata=FLAG)


@dataclass(frozen=True)
class JointReactionAnalysis(Analysis):
    """`<JointReaction>`; lists of one entry hold for all joints."""

    forces_file: Path | None = field(default=None, metadata=FILE)
    joint_names: tuple[str, ...] = field(default=("ALL",), metadata=WORDS)
    apply_on_bodies: tuple[str, ...] = field(default=("child",), metadata=WORDS)
    express_in_frame: tuple[str, ...] = field(default=("ground",), metadata=WORDS)


@dataclass(frozen=True)
class BodyKinematicsAnalysis(Analysis):
    """`<BodyKinematics>`; besides bodies, `all` and `center_of_mass`."""

    bodies: tuple[str, ...] = field(default=("all",), metadata=WORDS)
    express_results_in_body_local_frame: bool = field(default=False, metadata=FLAG)


@dataclass(frozen=True)
class PointKinematicsAnalysis(Analysis):
    """`<PointKinematics>`; the point in the frame of its body [m]."""

    body_name: str = field(default="ground", metadata=TEXT)
    relative_to_body_name: str = field(default="none", metadata=TEXT)
    point_name: str = field(default="NONAME", metadata=TEXT)
    point: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0), metadata=VECTOR)


@dataclass(frozen=True)
class KinematicsAnalysis(Analysis):
    """`<Kinematics>`; the word `all` stands for all."""

    coordinates: tuple[str, ...] = field(default=("all",), metadata=WORDS)


@dataclass(frozen=True)
class ActuationAnalysis(Analysis):
    """`<Actuation>`."""


@dataclass(frozen=True)
class ForceReporterAnalysis(Analysis):
    """`<ForceReporter>`."""

    include_constraint_forces: bool = field(default=False, metadata=FLAG)


@dataclass(frozen=True)
class OtherAnalysis(Analysis):
    """An analysis of a kind that musculo does not do; `element` is its kind and `xml` what the file says."""

    element: str = ""
    xml: str = ""


KINDS: dict[str, type[Analysis]] = {
    "StaticOptimization": StaticOptimizationAnalysis,
    "MuscleAnalysis": MuscleAnalysis,
    "JointReaction": JointReactionAnalysis,
    "BodyKinematics": BodyKinematicsAnalysis,
    "PointKinematics": PointKinematicsAnalysis,
    "Kinematics": KinematicsAnalysis,
    "Actuation": ActuationAnalysis,
    "ForceReporter": ForceReporterAnalysis,
}


def read_analyses(parent: Element, tag: str, file: SetupFile, _: Any) -> tuple[Analysis, ...]:
    """The members of `<AnalysisSet>`, in file order."""
    return tuple(_read_analysis(e, file) for e in file.inline(parent.find(tag)).iterfind("objects/*"))


def _read_analysis(element: Element, file: SetupFile) -> Analysis:
    element = file.inline(element)
    kind: Callable[..., Analysis] | None = KINDS.get(element.tag)
    name = element.get("name", "")
    if kind is None:
        file.note(element, f"is an analysis that is kept but not run; known: {', '.join(KINDS)}")
        return OtherAnalysis(name, element=element.tag, xml=to_text(element))
    return read_properties(KINDS[element.tag], element, file, name=name)
