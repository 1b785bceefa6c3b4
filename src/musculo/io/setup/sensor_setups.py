"""`<IMUPlacer>` and `<IMUInverseKinematicsTool>`: sensors put on a model, and motion from their orientations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from musculo.io.setup.setup_properties import (
    FILE,
    FLAG,
    FOLDER,
    NUMBER,
    TEXT,
    VECTOR,
    Kinds,
    members_of,
    read_properties,
)

Angles = tuple[float, float, float]


@dataclass(frozen=True)
class OrientationWeight:
    """How much a sensor counts."""

    name: str
    weight: float = field(default=1.0, metadata=NUMBER)


_WEIGHTS: Kinds = {
    "OrientationWeight": lambda e, file: read_properties(OrientationWeight, e, file, name=e.get("name", "")),
}


@dataclass(frozen=True)
class IMUPlacerSetup:
    """What `<IMUPlacer>` asks for; paths count from the folder of the set-up file.

    `sensor_to_opensim_rotations` [rad] turn the ground of the sensors about its axes x, y and z, one after the other.
    """

    name: str
    model_file: Path | None = field(default=None, metadata=FILE)
    base_imu_label: str = field(default="", metadata=TEXT)
    base_heading_axis: str = field(default="", metadata=TEXT)
    sensor_to_opensim_rotations: Angles = field(default=(0.0, 0.0, 0.0), metadata=VECTOR)
    orientation_file_for_calibration: Path | None = field(default=None, metadata=FILE)
    output_model_file: Path | None = field(default=None, metadata=FILE)
    notes: tuple[str, ...] = ()
    source: str = ""
    included: tuple[Path, ...] = ()  # files that hold parts of it


@dataclass(frozen=True)
class IMUInverseKinematicsSetup:
    """What `<IMUInverseKinematicsTool>` asks for; paths count from the folder of the set-up file.

    OpenSim 4.6 reads `accuracy` and `constraint_weight` and uses neither. Sensors without a weight have weight 1. Of
    `output_motion_file` only the name counts: it goes into `results_directory`.
    """

    name: str
    results_directory: Path = field(default=Path(), metadata=FOLDER)
    model_file: Path | None = field(default=None, metadata=FILE)
    constraint_weight: float = field(default=math.inf, metadata=NUMBER)
    accuracy: float = field(default=1e-5, metadata=NUMBER)
    time_range: tuple[float, float] = field(default=(-math.inf, 2.0), metadata=VECTOR)
    states_time_range: bool = False
    output_motion_file: str = field(default="", metadata=TEXT)
    report_errors: bool = field(default=True, metadata=FLAG)
    sensor_to_opensim_rotations: Angles = field(default=(0.0, 0.0, 0.0), metadata=VECTOR)
    orientations_file: Path | None = field(default=None, metadata=FILE)
    weights: tuple[OrientationWeight, ...] = field(default=(), metadata=members_of(_WEIGHTS, "OrientationWeightSet"))
    notes: tuple[str, ...] = ()
    source: str = ""
    included: tuple[Path, ...] = ()  # files that hold parts of it

    @property
    def motion_name(self) -> str:
        """The name of the file of coordinates: that of the set-up, else made of the recording's."""
        if self.output_motion_file:
            return self.output_motion_file.replace("\\", "/").rsplit("/", 1)[-1]
        return f"ik_{self.orientations_file.stem if self.orientations_file is not None else ''}.mot"

    @property
    def errors_name(self) -> str:
        """The name of the file of angles between sensors and model."""
        # OpenSim leaves the ending of a name that was given
        stem = self.motion_name if self.output_motion_file else self.motion_name.removesuffix(".mot")
        return f"{stem}_orientationErrors.sto"
