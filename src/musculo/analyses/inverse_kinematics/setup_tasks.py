"""The tasks of a set-up file as weights and targets of inverse kinematics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.io.setup.kinematics_setups import CoordinateTask, MarkerTask, Task
from musculo.model.model import Model
from musculo.results.markers import Markers
from musculo.results.table import Table
from musculo.signals.natural_smoothing import NaturalSpline

Target = tuple[float, float | FloatArray]


class SetupTasks(NamedTuple):
    """`weights` and `tasks` are what `inverse_kinematics` takes; `notes` say what of the set-up is without effect.

    `followed` are the markers that have a task, or all where none has; others have weight zero.
    """

    weights: dict[str, float]
    tasks: dict[str, tuple[float, float | FloatArray]]
    notes: tuple[str, ...]
    followed: tuple[str, ...] = ()


def tasks_of_setup(
    tasks: Iterable[Task],
    model: Model,
    markers: Markers,
    coordinates: Table | None = None,
    time: ArrayLike | None = None,
) -> SetupTasks:
    """Weights of markers and targets of coordinates that the tasks of a set-up file ask for, as OpenSim takes them.

    Tasks that do not apply are ignored, and so are those of markers that model or recording lack. Markers without a
    task weigh nothing; all weigh 1 where no task of a marker applies. The target of a coordinate is its default value,
    the value of the task (rad, m), or the quintic spline through a column of `coordinates`.

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
    applied = [task for task in listed if isinstance(task, MarkerTask) and task.apply]
    named = _marker_weights(applied, markers.names) | {t.name: t.weight for t in applied if t.name not in markers.names}
    notes += _of_several(listed, named)
    lost = [name for name in named if name not in shared]
    if lost:
        notes.append(f"tasks of markers that model or recording lack are ignored: {', '.join(lost)}")
    tasked = bool(applied)
    followed = tuple(name for name in shared if name in named or not tasked)
    weights = {name: named.get(name, 0.0) if tasked else 1.0 for name in shared}
    targets: dict[str, tuple[float, float | FloatArray]] = {}
    for task in listed:
        if not isinstance(task, CoordinateTask) or not task.apply:
            continue
        coordinate = model.coordinate(task.name)
        value: float | FloatArray = coordinate.default_value if task.value_type == "default_value" else task.value
        if coordinate.locked:
            notes.append(f"the task of {task.name!r} changes nothing: the coordinate is locked")
            continue
        if task.value_type == "from_file":
            value = _from_file(task.name, model, coordinates, times, notes)
        own = (task.weight, value)
        targets[task.name] = _both(targets[task.name], own) if task.name in targets else own
    return SetupTasks(weights, targets, tuple(notes), followed)


def _marker_weights(tasks: Sequence[MarkerTask], recorded: Sequence[str]) -> dict[str, float]:
    """Weights of recorded markers that have a task, in the order of the recording.

    Of several tasks of one marker that one counts which comes first after the task of the marker before it.

    Source: OpenSim 4.6, `MarkersReference::updateInternalWeights`, which searches on from the last place and then from
    the beginning.
    """
    found: dict[str, float] = {}
    names, last = [task.name for task in tasks], 0
    for name in recorded:
        if name in names:
            last = names.index(name, last) if name in names[last:] else names.index(name)
            found[name] = tasks[last].weight
    return found


def _of_several(tasks: Iterable[Task], weights: Mapping[str, float]) -> list[str]:
    """Markers and coordinates that several tasks name, in words."""
    count = Counter((type(task), task.name) for task in tasks if task.apply)
    markers, coordinates = (
        [name for (of, name), n in count.items() if of is kind and n > 1] for kind in (MarkerTask, CoordinateTask)
    )
    notes = []
    if markers:
        used = ", ".join(f"{name} ({weights[name]:g})" for name in markers)
        notes.append(f"markers with several tasks, of which one counts, as in OpenSim (its weight): {used}")
    if coordinates:
        notes.append(f"coordinates with several tasks, which all count, as in OpenSim: {', '.join(coordinates)}")
    return notes


def _both(one: Target, other: Target) -> Target:
    """One target that pulls as two do: w = w1 + w2, x = (w1 x1 + w2 x2) / w."""
    (w1, x1), (w2, x2) = one, other
    w = w1 + w2
    return (w, (w1 * np.asarray(x1) + w2 * np.asarray(x2)) / w) if w > 0.0 else one


def _from_file(name: str, model: Model, coordinates: Table | None, times: FloatArray, notes: list[str]) -> FloatArray:
    if coordinates is None:
        raise InvalidInput(f"the task of {name!r} is to follow a file; pass coordinates=read_storage(coordinate_file)")
    column = coordinates.find(name)
    if column is None:
        raise UnknownName("column for coordinate", name, coordinates.names, coordinates.source or "the coordinate file")
    if coordinates.source and not coordinates.degrees:
        notes.append(f"{coordinates.source} is in radians, and is used so; OpenSim reads its numbers as degrees")
    angles = coordinates.in_radians(model)
    return NaturalSpline(angles.time, angles.values[:, column])(times)
