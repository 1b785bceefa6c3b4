"""`<InverseDynamicsTool>` and `<AnalyzeTool>`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from musculo.io.setup.model_tool_setup import ModelToolSetup
from musculo.io.setup.setup_properties import FILE, FOLDER, NUMBER, TEXT, VECTOR, WORDS


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


@dataclass(frozen=True)
class AnalyzeSetup(ModelToolSetup):
    """What `<AnalyzeTool>` asks for: analyses of a motion, from states or from coordinates and speeds."""

    states_file: Path | None = field(default=None, metadata=FILE)
    coordinates_file: Path | None = field(default=None, metadata=FILE)
    speeds_file: Path | None = field(default=None, metadata=FILE)
    lowpass_cutoff_frequency_for_coordinates: float = field(default=-1.0, metadata=NUMBER)
