"""Controls that controllers give to actuators, and to muscles without activation dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from musculo.analyses.static_optimization.reserves import actuators_of
from musculo.arrays import FloatArray
from musculo.errors import UnknownName
from musculo.forces.stated_forces import number
from musculo.io.controls.control_files import Control, driving, read_controls
from musculo.io.controls.controllers import (
    COMPUTED,
    CONTROL_SET_CONTROLLER,
    PRESCRIBED_CONTROLLER,
    Controller,
    PrescribedControl,
    controllers_of_model,
    prescribed_controls,
)
from musculo.model.force import Muscle
from musculo.model.model import Model
from musculo.model.path_force import ClutchedPathSpring
from musculo.opensim_tools.work import Work
from musculo.simulation.muscles.excitations import actuator_names

# Has a state of its own between its control and its force.
ACTIVATED = "ActivationCoordinateActuator"
# Seconds by which times that are rounded in files may be apart.
_SAME_TIME = 1e-6
# What one controller gives to one actuator over time.
Drive = Control | PrescribedControl


def controls_at(
    time: FloatArray, model: Model, work: Work, controllers: Sequence[Controller] = ()
) -> dict[str, FloatArray]:
    """(frames,) by the names of actuators: the sum of what controllers of the model and others give; 0 of the rest."""
    found: dict[str, FloatArray] = {}
    for name, drives in drives_of(time, model, work, controllers).items():
        found[name] = np.sum([drive.at(time) for drive in drives], axis=0)
    return found


def drives_of(
    time: FloatArray, model: Model, work: Work, controllers: Sequence[Controller] = ()
) -> dict[str, list[Drive]]:
    """By the names of actuators, all that controllers of the model and others give, at times that notes go by.

    OpenSim's tools enable every controller, open the files of all from the folder of the set-up, and go on without
    those that they cannot find. The exact method leaves disabled controllers out.
    """
    found: dict[str, list[Drive]] = {}
    for controller in (*controllers_of_model(model, Path(work.source).parent), *controllers):
        whose = f"controller {controller.name!r}"
        if not controller.enabled:
            if work.exact:
                work.note(f"{whose} is disabled, and gives nothing")
                continue
            work.note(f"{whose} is disabled, and used all the same, as OpenSim's tools do (--exact ignores it)")
        if controller.kind not in COMPUTED:
            work.trouble(f"{whose} (<{controller.kind}>) is not computed, and what it controls gets nothing from it")
            continue
        if controller.kind == PRESCRIBED_CONTROLLER:
            for one in _prescribed(controller, model, work):
                found.setdefault(one.name, []).append(one)
            continue
        given = _controls_of(controller, model, work)
        for control in given:
            found.setdefault(control.name, []).append(control)
        _say_span(controller, given, time, work)
    return found


def _prescribed(controller: Controller, model: Model, work: Work) -> tuple[PrescribedControl, ...]:
    """What a controller of functions gives; nothing where its file is not there."""
    file = controller.controls_file
    if file is not None and not controller.functions:
        if not file.exists():
            work.trouble(f"controller {controller.name!r}: there is no file {file}, which it names; this continues "
                         "without it")  # fmt: skip
            return ()
        work.used(file)
    return prescribed_controls(controller, actuator_names(model))


def check_controls(model: Model, work: Work, controllers: Sequence[Controller]) -> None:
    """Report files of controls that are missing or do not fit the model, also where no result depends on them."""
    for controller in (*controllers_of_model(model, Path(work.source).parent), *controllers):
        if not controller.enabled and work.exact:
            continue
        if controller.kind == CONTROL_SET_CONTROLLER:
            _controls_of(controller, model, work)
        elif controller.kind == PRESCRIBED_CONTROLLER:
            _prescribed(controller, model, work)


def _controls_of(controller: Controller, model: Model, work: Work) -> list[Control]:
    """The controls of actuators of the model that a file gives; none where it is not there."""
    whose, file = f"controller {controller.name!r}", controller.controls_file
    if file is None or not file.exists():
        named = f"file {file}, which it names" if file else "file of controls"
        work.trouble(f"{whose}: there is no {named}; as OpenSim, this continues without it")
        return []
    known = [*model.muscle_names, *(one.name for one in actuators_of(model))]
    known += [force.name for force in model.forces if not force.applies_force and force.name not in known]
    clutches = {force.name for force in model.forces if isinstance(force, ClutchedPathSpring)}
    work.used(file)
    chosen = driving(read_controls(file), work.exact)
    for note in chosen.notes:
        work.note(f"{file}: {note}")
    found = []
    for control in chosen.controls:
        if control.name in clutches:
            work.trouble(f"{whose}: the clutch {control.name!r} is not computed, and gives nothing")
        elif control.name not in known:
            raise UnknownName("actuator", control.name, known, str(file))
        else:
            found.append(control)
    return found


def _say_span(controller: Controller, controls: Sequence[Control], time: FloatArray, work: Work) -> None:
    """Frames that controls do not reach, by more than the one that OpenSim adds at the ends of a span."""
    spans = [(one.time[0], one.time[-1]) for one in controls if len(one.time) > 1]
    if not spans or not len(time):
        return
    first, last = max(one[0] for one in spans), min(one[1] for one in spans)
    outside = int(((time < first - _SAME_TIME) | (time > last + _SAME_TIME)).sum())
    slack = _SAME_TIME + (float(np.median(np.diff(time))) if len(time) > 1 else 0.0)
    if time[0] < first - slack or time[-1] > last + slack:
        lines = any(one.extrapolate and not one.steps for one in controls)
        work.note(
            f"{controller.controls_file}: controls last from {first:g} to {last:g} s, and {outside} of {len(time)} "
            f"frames, {time[0]:g} to {time[-1]:g} s, lie outside; there they "
            f"{'go on as straight lines' if lines else 'keep the values of their ends'}, as OpenSim does, and mean "
            "nothing"
        )


def is_direct(muscle: Muscle) -> bool:
    """Whether the activation of a muscle is its control, and no state."""
    return muscle.kind == "RigidTendonMuscle" or (
        muscle.ignore_activation_dynamics and not muscle.kind.endswith("_Deprecated")
    )


def direct_activation(
    model: Model, activation: FloatArray, controls: Mapping[str, FloatArray], work: Work
) -> FloatArray:
    """(frames, muscles) activations, with controls in the place of those that are no states."""
    found = np.array(activation)
    cut = []
    for k, muscle in enumerate(model.muscles):
        if is_direct(muscle):
            control = np.broadcast_to(controls.get(muscle.name, 0.0), found.shape[:1])
            found[:, k] = np.clip(control, 0.0, 1.0)
            if not np.array_equal(found[:, k], control):
                cut.append(muscle.name)
    if cut:
        work.trouble(f"controls of {', '.join(cut)} leave 0 to 1, which activations cannot: they are cut to that")
    idle = [m.name for m in model.muscles if is_direct(m) and m.name not in controls]
    if idle:
        shown = ", ".join(idle[:3]) + (f" and {len(idle) - 3} more" if len(idle) > 3 else "")
        work.note(f"muscles without activation dynamics and controller are at their least activation: {shown}")
    return found


def actuator_forces(
    model: Model, frames: int, controls: Mapping[str, FloatArray], activations: Mapping[str, FloatArray] | None = None
) -> dict[str, FloatArray]:
    """(frames,) by the names of actuators that apply: optimal force times control.

    Of those with activation dynamics it is the given activation that counts, or that of the start.
    """
    found = {}
    for one in actuators_of(model):
        drive: FloatArray | float = controls.get(one.name, 0.0)
        if one.force is not None and one.force.kind == ACTIVATED:
            drive = (activations or {}).get(one.name, number(one.force, "default_activation", 0.0))
        found[one.name] = np.broadcast_to(one.optimal_force * np.asarray(drive), (frames,))
    return found
