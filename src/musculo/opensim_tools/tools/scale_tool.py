"""`<ScaleTool>`: a scaled model, with markers placed by a static trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from musculo.analyses.inverse_kinematics.follow_recording import Status
from musculo.analyses.inverse_kinematics.undetermined import undetermined_coordinates
from musculo.analyses.scaling.marker_placement import PlacedMarkers, place_markers
from musculo.analyses.scaling.scale_factors import ScaleFactors, factors_of_setup
from musculo.analyses.scaling.subject_scaling import scale_model
from musculo.arrays import FloatArray
from musculo.diagnostics.subject import LIKELY, mass_findings
from musculo.errors import InvalidInput
from musculo.io.marker_set import read_marker_set, with_marker_set, write_marker_set, write_scale_set
from musculo.io.osim import write_osim
from musculo.io.setup import CoordinateTask, MarkerTask
from musculo.io.setup.scale_setup import MarkerPlacer, ModelScaler
from musculo.model.body import GROUND, Vec3
from musculo.model.coordinate import coordinate_path
from musculo.model.force import Muscle
from musculo.model.model import Model
from musculo.muscle.fibers.activation import activation_at_start
from musculo.opensim_tools.tasks import ScaleTask
from musculo.opensim_tools.tools.inverse_kinematics_tool import say_undetermined
from musculo.opensim_tools.work import Work
from musculo.results.markers import Markers

# Digits of scale factors in OpenSim's files.
_PRINTED = 6
_UNSCALED: Vec3 = (1.0, 1.0, 1.0)
Write = Callable[[], None]


def run_scale(task: ScaleTask, work: Work) -> None:
    """Scale the generic model, then place its markers; either part may be off.

    Files are written when all is known: what cannot be placed leaves no scaled model behind, as it does in OpenSim.
    """
    generic = task.generic_model
    model = work.model(generic.model_file)
    if generic.marker_set_file is not None:
        work.needed(generic.marker_set_file, "marker_set_file")
        model = with_marker_set(model, read_marker_set(generic.marker_set_file, model))
    model = model.replace(name=task.name)
    writes: list[Write] = []
    # a step that the file does not have is not done, as in OpenSim
    scaling = task.scaler.apply and not (work.of_file and task.scaler == ModelScaler())
    placing = task.placer.apply and not (work.of_file and task.placer == MarkerPlacer())
    if scaling:
        model = _scaled(task, model, work, writes)
    if placing:
        _placed(task, model, work, writes)
    for write in writes:
        write()
    if not scaling:
        work.note("the model is not scaled: ModelScaler has apply=false, or the set-up has none")
    if not placing:
        why = "MarkerPlacer has apply=false, or the set-up has none" if work.of_file else "no static trial was given"
        work.note(f"markers are not placed: {why}")


def _scaled(task: ScaleTask, model: Model, work: Work, writes: list[Write]) -> Model:
    work.report("scaling", 0.2)
    scaler = task.scaler
    measures = any(one.apply for one in scaler.measurements)
    trial = None
    if "measurements" in scaler.scaling_order and (measures or scaler.marker_file is not None):
        trial = work.markers(scaler.marker_file, prepare=task.preparation, model=model)
        if measures:
            _check_span(scaler, trial, work)
    found = factors_of_setup(task, model, trial)
    work.notes += found.notes
    bodies = {one.name: [body for body, _ in one.bodies] for one in scaler.measurements}
    for name, why in found.skipped.items():
        told = why.removeprefix(f"measurement {name!r}: ")
        work.trouble(f"measurement {name!r} is not used, and does not scale {', '.join(bodies[name])}: {told}")
    low, high = LIKELY
    odd = [name for name, factors in found.factors.items() if not low <= min(factors) <= max(factors) <= high]
    if odd:
        shown = ", ".join(f"{name} ({', '.join(f'{f:g}' for f in found.factors[name])})" for name in odd[:6])
        work.note(f"scale factors beyond {low:g} to {high:g}, as of a wrong unit or marker: {shown}")
    _record_factors(scaler, found, work)
    work.tell(mass_findings(model, task.mass))
    scaled = scale_model(
        model,
        found.factors,
        task.mass if task.mass > 0.0 else None,
        preserve_mass_distribution=scaler.preserve_mass_distribution,
        like=work.like,
    )
    # OpenSim lists the frames of joints, too, which follow their bodies.
    frames = [place.name for joint in model.joints for place in (joint.parent, joint.child) if place.name]
    listed = [(GROUND, _UNSCALED), *found.factors.items(), *((name, _UNSCALED) for name in frames)]
    digits = 17 if work.exact else _PRINTED
    writes.append(_writing(work, scaler.output_model_file, lambda target: write_osim(scaled, target)))
    writes.append(_writing(work, scaler.output_scale_file, lambda target: write_scale_set(listed, target, digits)))
    return scaled


def _record_factors(scaler: ModelScaler, found: ScaleFactors, work: Work) -> None:
    """What the page shows of the factors: all of them, and the distances that they come from."""
    by_hand = {one.segment for one in scaler.manual_scales if one.apply}
    order = scaler.scaling_order
    hand_last = "manualScale" in order and order[-1] == "manualScale"
    scales = {one.name: [body for body, _ in one.bodies if body in found.factors] for one in scaler.measurements}
    measured = [body for name in found.measured for body in scales[name] if not (hand_last and body in by_hand)]
    work.scaling |= {
        "factors": {name: list(factors) for name, factors in found.factors.items()},
        "measured_bodies": list(dict.fromkeys(measured)),
        "measurements": [
            {
                "name": name,
                "bodies": scales[name],
                "pairs": [{"markers": list(p.markers), "measured": p.measured, "model": p.model} for p in pairs],
            }
            for name, pairs in found.measured.items()
        ],
        "skipped": dict(found.skipped),
    }


def _record_markers(found: PlacedMarkers, tasks: Sequence[CoordinateTask | MarkerTask], work: Work) -> None:
    """What the page shows of the static pose: how far each marker was off, and how far it was moved."""
    followed = set(_followed(found, tasks))
    names = dict.fromkeys([*found.errors, *found.moved])
    errors = {name: error for name, error in found.errors.items() if not np.isnan(error)}
    work.scaling["markers"] = {
        name: {
            "error": errors.get(name),
            "moved": found.moved.get(name),
            "followed": name in followed,
            "counted": name in found.counted,
        }
        for name in names
    }


def _writing(work: Work, path: Path | None, write: Callable[[Path], object]) -> Write:
    """Write a file where it belongs, later; nothing where the set-up names none."""

    def now() -> None:
        if path is not None:
            target = work.target(path)
            write(target)
            work.wrote(target)

    return now


def _check_span(part: ModelScaler | MarkerPlacer, trial: Markers, work: Work) -> None:
    """A range that the trial has nothing of: OpenSim measures the frame at its nearer end, and places no markers.

    It does the same where no range is stated, which then lies before the trial.
    """
    placing = isinstance(part, MarkerPlacer)
    if not work.of_file or part.time_range != type(part)().time_range:
        work.check_span(part.time_range, trial.time, trial.source, opensim_refuses=placing)
    elif placing:
        raise InvalidInput("MarkerPlacer states no <time_range>; give one within the static trial")
    else:
        work.note("ModelScaler states no time_range: bodies are measured in the first frame alone, as in OpenSim")


def _placed(task: ScaleTask, model: Model, work: Work, writes: list[Write]) -> None:
    placer = task.placer
    work.report("marker placement", 0.6)
    trial = work.markers(placer.marker_file, prepare=task.preparation, model=model)
    file = work.table(placer.coordinate_file, "coordinate_file") if placer.coordinate_file is not None else None
    _check_span(placer, trial, work)
    start, end = placer.time_range
    span = (max(start, float(trial.time[0])), min(end, float(trial.time[-1])))
    found = place_markers(model, trial, placer.tasks, coordinates=file, time_range=span)
    work.notes += found.notes
    if found.dropped:
        work.note(f"markers that the trial does not have are dropped: {', '.join(found.dropped)}")
    _say(found, task, work)
    _record_markers(found, placer.tasks, work)
    pose = placer.output_motion_file
    if pose is not None:
        writes.append(lambda: _write_pose(work, pose, found, span[0]))
    writes.append(_writing(work, placer.output_model_file, lambda target: write_osim(found.model, target)))
    writes.append(_writing(work, placer.output_marker_file, lambda target: write_marker_set(found.model, target)))


def _followed(found: PlacedMarkers, tasks: Sequence[CoordinateTask | MarkerTask]) -> list[str]:
    """Markers that decide the static pose."""
    weights = {task.name: task.weight if task.apply else 0.0 for task in tasks if isinstance(task, MarkerTask)}
    seen = [name for name in found.errors if not np.isnan(found.errors[name])]
    return [name for name in seen if weights.get(name, 0.0) > 0.0] if weights else seen


def _undetermined(found: PlacedMarkers, tasks: Sequence[CoordinateTask | MarkerTask]) -> str:
    """The coordinates that markers and tasks leave open, in words."""
    followed = _followed(found, tasks)
    held = [task.name for task in tasks if isinstance(task, CoordinateTask) and task.apply and task.weight > 0.0]
    names = undetermined_coordinates(found.pose.model, found.q, followed, held)
    return f" in {', '.join(names)}: no marker in use depends on them" if names else ""


def _say(found: PlacedMarkers, task: ScaleTask, work: Work) -> None:
    status, most = Status(int(found.pose.status[0])), task.placer.max_marker_movement
    if status != Status.CONVERGED:
        where = _undetermined(found, task.placer.tasks) if status == Status.UNDETERMINED else ""
        said = f"the static pose is {status.name.lower()}{where}"
        work.trouble(f"marker placement: {said}; look at the tasks and markers")
    else:
        say_undetermined(found.pose, work, "marker")
    errors = {name: error for name in found.counted if np.isfinite(error := found.errors[name])}
    if errors:
        worst = max(errors, key=lambda name: errors[name])
        work.note(
            f"static pose: RMS error of markers {1e3 * np.sqrt(np.mean(np.square(list(errors.values())))):.3g} mm, the "
            f"largest {1e3 * errors[worst]:.3g} mm ({worst}), before they were moved"
        )
    far = {name: moved for name, moved in found.moved.items() if most > 0.0 and moved > most}
    if far:
        shown = ", ".join(f"{name} {1e3 * moved:.0f} mm" for name, moved in far.items())
        work.note(f"markers moved by more than max_marker_movement: {shown}")


def _write_pose(work: Work, path: Path, found: PlacedMarkers, time: float) -> None:
    """One row of states: coordinates in the static pose, speeds of zero, muscles as they start."""
    names, values = states(found.model, found.q)
    work.write(path, "static pose", np.array([time]), names, values[None])


def states(model: Model, q: FloatArray) -> tuple[list[str], FloatArray]:
    """OpenSim's states at rest: value and speed of every coordinate, activation and fiber length of every muscle."""
    names: list[str] = []
    values: list[float] = []
    for joint in model.joints:
        for coordinate in joint.coordinates:
            path = coordinate_path(joint.name, coordinate.name)
            names += [f"{path}/value", f"{path}/speed"]
            values += [float(q[model.coordinate_index(coordinate.name)]), 0.0]
    for muscle in model.muscles:
        for what, value in _muscle_states(muscle):
            names.append(f"/forceset/{muscle.name}/{what}")
            values.append(value)
    return names, np.array(values)


def _muscle_states(muscle: Muscle) -> list[tuple[str, float]]:
    found = []
    if not muscle.ignore_activation_dynamics:
        found.append(("activation", activation_at_start(muscle)))
    if not muscle.ignore_tendon_compliance:
        if muscle.kind == "DeGrooteFregly2016Muscle":
            tension = float(muscle.parameter("default_normalized_tendon_force", 0.5))
            found.append(("normalized_tendon_force", tension))
        else:
            length = float(muscle.parameter("default_fiber_length", muscle.optimal_fiber_length))
            found.append(("fiber_length", length))
    return found
