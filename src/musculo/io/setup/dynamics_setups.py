"""`<InverseDynamicsTool>` and `<AnalyzeTool>`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from musculo.io.control_files import CONTROL_SET_CONTROLLER, Controller, controller_of
from musculo.io.osim.xml import Element
from musculo.io.setup.analyses import Analysis, read_analyses
from musculo.io.setup.setup_properties import (
    FILE,
    FILES,
    FLAG,
    FOLDER,
    NUMBER,
    TEXT,
    VECTOR,
    WHOLE,
    WORDS,
    SetupFile,
    read_by,
)

A = TypeVar("A", bound=Analysis)


@dataclass(frozen=True)
class InverseDynamicsSetup:
    """What `<InverseDynamicsTool>` asks for; paths count from the folder of the set-up file.

    `forces_to_exclude` are names of forces or groups, or the words All, actuators, muscles. The output files are
    names inside `results_directory`.
    """

    name: str
    results_directory: Path = field(default=Path(), metadata=FOLDER)
    model_file: Path | None = field(default=None, metadata=FILE)
    time_range: tuple[float, float] = field(default=(-math.inf, math.inf), metadata=VECTOR)
    forces_to_exclude: tuple[str, ...] = field(default=(), metadata=WORDS)
    external_loads_file: Path | None = field(default=None, metadata=FILE)
    coordinates_file: Path | None = field(default=None, metadata=FILE)
    lowpass_cutoff_frequency_for_coordinates: float = field(default=-1.0, metadata=NUMBER)
    output_gen_force_file: str = field(default="inverse_dynamics.sto", metadata=TEXT)
    joints_to_report_body_forces: tuple[str, ...] = field(default=(), metadata=WORDS)
    output_body_forces_file: str = field(default="body_forces_at_joints.sto", metadata=TEXT)
    notes: tuple[str, ...] = ()
    source: str = ""
    included: tuple[Path, ...] = ()  # files that hold parts of it

    @property
    def forces_name(self) -> str:
        """The name of the file of generalized forces."""
        return _result_name(self.output_gen_force_file, "inverse_dynamics")

    @property
    def body_forces_name(self) -> str:
        """The name of the file of body forces at joints."""
        return _result_name(self.output_body_forces_file, "body_forces_at_joints")


def _result_name(stated: str, default: str) -> str:
    """A name without its folder, which OpenSim ignores, and with an ending, `.sto` where it has none."""
    name = stated.replace("\\", "/").rsplit("/", 1)[-1] or default
    return name if "." in name else f"{name}.sto"


def _controllers(parent: Element, tag: str, file: SetupFile, _: Any) -> tuple[Controller, ...]:
    members = list(file.inline(parent.find(tag)).iterfind("objects/*"))
    for member in members:
        if member.tag != CONTROL_SET_CONTROLLER:
            file.note(member, "is a controller that is kept but not used")
    return tuple(
        controller_of(member, lambda stated, at=member: file.file(stated, at.find("controls_file")))  # type: ignore[misc]
        for member in members
    )


@dataclass(frozen=True)
class AnalyzeSetup:
    """What `<AnalyzeTool>` asks for; paths count from the folder of the set-up file.

    `force_set_files` are added to the forces of the model, or take their place with `replace_force_set`.
    `final_time` is 1 s where the file states none, which `states_final_time` tells.
    `controllers` give controls to actuators, besides those of the model.
    """

    name: str
    model_file: Path | None = field(default=None, metadata=FILE)
    replace_force_set: bool = field(default=False, metadata=FLAG)
    force_set_files: tuple[Path, ...] = field(default=(), metadata=FILES)
    results_directory: Path = field(default=Path(), metadata=FOLDER)
    output_precision: int = field(default=8, metadata=WHOLE)
    initial_time: float = field(default=0.0, metadata=NUMBER)
    final_time: float = field(default=1.0, metadata=NUMBER)
    states_final_time: bool = False
    solve_for_equilibrium_for_auxiliary_states: bool = field(default=False, metadata=FLAG)
    maximum_number_of_integrator_steps: int = field(default=20000, metadata=WHOLE)
    maximum_integrator_step_size: float = field(default=1.0, metadata=NUMBER)
    minimum_integrator_step_size: float = field(default=1e-8, metadata=NUMBER)
    integrator_error_tolerance: float = field(default=1e-5, metadata=NUMBER)
    analyses: tuple[Analysis, ...] = field(default=(), metadata=read_by(read_analyses, "AnalysisSet"))
    controllers: tuple[Controller, ...] = field(default=(), metadata=read_by(_controllers, "ControllerSet"))
    external_loads_file: Path | None = field(default=None, metadata=FILE)
    states_file: Path | None = field(default=None, metadata=FILE)
    coordinates_file: Path | None = field(default=None, metadata=FILE)
    speeds_file: Path | None = field(default=None, metadata=FILE)
    lowpass_cutoff_frequency_for_coordinates: float = field(default=-1.0, metadata=NUMBER)
    notes: tuple[str, ...] = ()
    source: str = ""
    included: tuple[Path, ...] = ()  # files that hold parts of it

    def of_kind(self, kind: type[A]) -> tuple[A, ...]:
        """The analyses of one kind that are on, for instance `of_kind(StaticOptimizationAnalysis)`."""
        return tuple(a for a in self.analyses if isinstance(a, kind) and a.on)
