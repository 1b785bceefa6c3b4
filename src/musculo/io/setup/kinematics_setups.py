"""`<InverseKinematicsTool>`, and the tasks that it shares with marker placement."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from musculo.io.osim.xml import Element, invalid, number, text
from musculo.io.setup.setup_properties import (
    FILE,
    FLAG,
    FOLDER,
    NUMBER,
    VECTOR,
    Kinds,
    SetupFile,
    members_of,
    read_by,
    read_properties,
)

VALUE_TYPES = ("default_value", "manual_value", "from_file")


@dataclass(frozen=True)
class MarkerTask:
    """A marker to follow."""

    name: str
    apply: bool = field(default=True, metadata=FLAG)
    weight: float = field(default=0.0, metadata=NUMBER)


def _value_type(element: Element, tag: str, file: SetupFile, default: str) -> str:
    word = text(element, tag, default) or default
    file.refuse_other_words(element.find(tag), word, VALUE_TYPES)
    return word


@dataclass(frozen=True)
class CoordinateTask:
    """A coordinate to follow: the model's default, `value` (rad or m), or the column of `coordinate_file`."""

    name: str
    apply: bool = field(default=True, metadata=FLAG)
    weight: float = field(default=0.0, metadata=NUMBER)
    value_type: str = field(default="default_value", metadata=read_by(_value_type))
    value: float = field(default=0.0, metadata=NUMBER)


Task = MarkerTask | CoordinateTask


TASK_KINDS: Kinds = {
    "IKMarkerTask": lambda e, file: read_properties(MarkerTask, e, file, name=e.get("name", "")),
    "IKCoordinateTask": lambda e, file: read_properties(CoordinateTask, e, file, name=e.get("name", "")),
}


# The tasks of a tool, in file order.
TASKS = members_of(TASK_KINDS, "IKTaskSet")


def _accuracy(element: Element, tag: str, file: SetupFile, default: float) -> float:
    value = number(element, tag, default)
    if not value > 0.0:
        raise invalid(element, f"its {tag} is {value:g}; give a number above zero")
    return value


# How closely OpenSim solves; we solve to rounding, whatever it says.
ACCURACY = read_by(_accuracy)


@dataclass(frozen=True)
class InverseKinematicsSetup:
    """What `<InverseKinematicsTool>` asks for; paths count from the folder of the set-up file.

    OpenSim 4.6 reads `constraint_weight` and then enforces constraints strictly, whatever it says. Its `time_range`
    ends at 2 s where the file states none, which `states_time_range` tells.
    """

    name: str
    results_directory: Path = field(default=Path(), metadata=FOLDER)
    model_file: Path | None = field(default=None, metadata=FILE)
    constraint_weight: float = field(default=math.inf, metadata=NUMBER)
    accuracy: float = field(default=1e-5, metadata=ACCURACY)
    time_range: tuple[float, float] = field(default=(-math.inf, 2.0), metadata=VECTOR)
    states_time_range: bool = False
    output_motion_file: Path | None = field(default=None, metadata=FILE)
    report_errors: bool = field(default=True, metadata=FLAG)
    tasks: tuple[Task, ...] = field(default=(), metadata=TASKS)
    marker_file: Path | None = field(default=None, metadata=FILE)
    coordinate_file: Path | None = field(default=None, metadata=FILE)
    report_marker_locations: bool = field(default=False, metadata=FLAG)
    notes: tuple[str, ...] = ()
    source: str = ""
    included: tuple[Path, ...] = ()  # files that hold parts of it

    @property
    def marker_weights(self) -> dict[str, float]:
        """Weight by marker, of the tasks that apply; the first of several."""
        applied = [task for task in self.tasks if isinstance(task, MarkerTask) and task.apply]
        return {task.name: task.weight for task in reversed(applied)}
