"""The tasks of a set-up file as weights and targets of inverse kinematics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.compile.frames import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.io.setup.kinematics import CoordinateTask, MarkerTask, Task
from musculo.model.model import Model
from musculo.results.markers import Markers
from musculo.results.table import Table
from musculo.signals.natural import NaturalSpline


class SetupTasks(NamedTuple):
    """`weights` and `tasks` are what `inverse_kinematics` takes; `notes` say what of the set-up is without effect."""

    weights: dict[str, float]
    tasks: dict[str, tuple[float, float | FloatArray]]
    notes: tuple[str, ...]


def tasks_of_setup(
    tasks: Iterable[Task],
    model: Model,
    markers: Markers,
    coordinates: Table | None = None,
    time: ArrayLike | None = None,
) -> SetupTasks:
    """Weights of markers and targets of coordinates that the tasks of a set-up file ask for, as OpenSim takes them.

    Tasks that do not apply are left out, and so are those of markers that model or recording lack. All markers weigh 1
    where no task names one. The target of a coordinate is its default value, the value of the task (rad, m), or the
    quintic spline through a column of `coordinates`.

    Source:  OpenSim 4.6, `IKTaskSet::createMarkerWeightSet`, `InverseKinematicsTool::populateReferences`.
    Departs: OpenSim wants a file in degrees for targets; here it may be in radians, if it says so.

    Args:
        tasks: from `read_setup(path).tasks` or `read_tasks(path)`.
        model: the model.
        markers: the recording.
        coordinates: the `coordinate_file` of the set-up, from `read_storage`.
        time: (frames,) when targets are wanted [s]; at all frames of the recording by default.

    Raises:
        UnknownName: a task of a coordinate that the model does not have, or of which the file has no column.
        InvalidInput: a task wants the file, and there is none.
    """
    listed = tuple(tasks)
    shared = [name for name in markers.names if name in model.marker_names]
    times = markers.time if time is None else np.atleast_1d(np.asarray(time, dtype=float))
    notes: list[str] = []
    named = {task.name: task.weight for task in listed if isinstance(task, MarkerTask) and task.apply}
    lost = [name for name in named if name not in shared]
    if lost:
        notes.append(f"tasks of markers that model or recording lack are left out: {', '.join(lost)}")
    if any(isinstance(task, MarkerTask) for task in listed):
        weights = {name: named[name] for name in shared if name in named}
    else:
        weights = dict.fromkeys(shared, 1.0)
    targets: dict[str, tuple[float, float | FloatArray]] = {}
    for task in listed:
        if not isinstance(task, CoordinateTask) or not task.apply:
            continue
        coordinate = model.coordinate(task.name)
        if coordinate.locked:
            notes.append(f"the task of {task.name!r} changes nothing: the coordinate is locked")
        elif task.value_type == "from_file":
            targets[task.name] = (task.weight, _from_file(task.name, model, coordinates, times))
        else:
            value = coordinate.default_value if task.value_type == "default_value" else task.value
            targets[task.name] = (task.weight, value)
    return SetupTasks(weights, targets, tuple(notes))


def _from_file(name: str, model: Model, coordinates: Table | None, times: FloatArray) -> FloatArray:
    if coordinates is None:
        raise InvalidInput(f"the task of {name!r} is to follow a file; pass coordinates=read_storage(coordinate_file)")
    column = coordinates.find(name)
    if column is None:
        raise UnknownName("column for coordinate", name, coordinates.names, coordinates.source or "the coordinate file")
    angles = coordinates.in_radians(model)
    return NaturalSpline(angles.time, angles.values[:, column])(times)
