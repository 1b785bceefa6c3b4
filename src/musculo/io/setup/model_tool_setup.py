"""What OpenSim's tools that load a model, forces and loads, and run analyses, have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from musculo.io.controls.controllers import COMPUTED, Controller, controller_of
from musculo.io.osim.xml import Element
from musculo.io.setup.analyses import Analysis, read_analyses
from musculo.io.setup.setup_properties import (
    FILE,
    FILES,
    FLAG,
    FOLDER,
    NUMBER,
    WHOLE,
    SetupFile,
    read_by,
)

A = TypeVar("A", bound=Analysis)


def _controllers(parent: Element, tag: str, file: SetupFile, _: Any) -> tuple[Controller, ...]:
    members = list(file.inline(parent.find(tag)).iterfind("objects/*"))
    for member in members:
        if member.tag not in COMPUTED:
            file.note(member, f"is a controller that is kept but not used; known: {', '.join(COMPUTED)}")
    return tuple(
        controller_of(member, lambda stated, at=member: file.file(stated, at.find("controls_file")))  # type: ignore[misc]
        for member in members
    )


@dataclass(frozen=True)
class ModelToolSetup:
    """What `<AnalyzeTool>`, `<ForwardTool>`, `<RRATool>` and `<CMCTool>` share; paths count from the set-up's folder.

    `force_set_files` are added to the forces of the model, or take their place with `replace_force_set`.
    `output_precision` is the number of digits after the point in results. `final_time` is 1 s where the file states
    none, which `states_final_time` tells. `controllers` give controls to actuators, besides those of the model.
    `integrator_error_tolerance` is the accuracy that a simulation asks of its integrator, and
    `maximum_number_of_integrator_steps` counts those between two output times.
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
    notes: tuple[str, ...] = ()
    source: str = ""
    included: tuple[Path, ...] = ()  # files that hold parts of it

    def of_kind(self, kind: type[A]) -> tuple[A, ...]:
        """The analyses of one kind that are on, for instance `of_kind(StaticOptimizationAnalysis)`."""
        return tuple(a for a in self.analyses if isinstance(a, kind) and a.on)
