"""Tasks of a whole trial: each step reads what the ones before it wrote."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from musculo.diagnostics.loads import free_base
from musculo.io.osim import read_osim
from musculo.io.plate_forces import has_plates
from musculo.io.setup import Setup
from musculo.io.setup.analyses import Analysis
from musculo.io.setup.kinematics_setups import Task as FitTask
from musculo.opensim_tools.preparation import NOTHING, Preparation
from musculo.opensim_tools.tasks import (
    AnalyzeTask,
    Electromyograms,
    InverseDynamicsTask,
    InverseKinematicsTask,
    LeastEffort,
    LoadsOfGivenForces,
)

STEPS = ("ik", "id", "so", "jr")
WHOLE = (-math.inf, math.inf)


class MotionInputs(NamedTuple):
    """What every step that analyzes a motion is given."""

    model: Path
    motion: Path
    loads: Path | None
    cutoff: float = -1.0  # of the coordinates [Hz]; negative for no filter, as OpenSim has it
    span: tuple[float, float] = WHOLE  # [s]
    prepare: Preparation = NOTHING
    notes: tuple[str, ...] = ()


def kinematics_of(
    model: Path,
    recording: Path,
    fit: Sequence[FitTask] = (),
    span: tuple[float, float] = WHOLE,
    places: bool = False,
    prepare: Preparation = NOTHING,
) -> InverseKinematicsTask:
    """The motion that fits a recording best; results are called after it."""
    name = recording.stem
    return InverseKinematicsTask(
        name,
        model_file=model,
        marker_file=recording,
        time_range=span,
        tasks=tuple(fit),
        output_motion_file=Path(f"{name}_ik.mot"),
        report_marker_locations=places,
        source=f"ik_{name}",
        preparation=prepare,
    )


def moments_of(given: MotionInputs, check: bool = False) -> InverseDynamicsTask:
    """Generalized forces of a motion; muscles do nothing. `check`: by a second formulation, too."""
    name = given.motion.stem
    return InverseDynamicsTask(
        name,
        model_file=given.model,
        coordinates_file=given.motion,
        external_loads_file=given.loads,
        lowpass_cutoff_frequency_for_coordinates=given.cutoff,
        time_range=given.span,
        forces_to_exclude=("Muscles",),
        output_gen_force_file=f"{name}_id.sto",
        notes=given.notes,
        source=f"id_{name}",
        preparation=given.prepare,
        check=check,
    )


def analysis_of(
    command: str,
    analysis: Analysis,
    given: MotionInputs,
    force_sets: Sequence[Path] = (),
    replace_forces: bool = False,
) -> AnalyzeTask:
    """One analysis of a motion."""
    name = given.motion.stem
    return AnalyzeTask(
        name,
        model_file=given.model,
        coordinates_file=given.motion,
        external_loads_file=given.loads,
        lowpass_cutoff_frequency_for_coordinates=given.cutoff,
        initial_time=given.span[0],
        final_time=given.span[1],
        force_set_files=tuple(force_sets),
        replace_force_set=replace_forces,
        solve_for_equilibrium_for_auxiliary_states=True,
        analyses=(analysis,),
        notes=given.notes,
        preparation=given.prepare,
        source=f"{command}_{name}",
    )


@dataclass(frozen=True)
class TrialOptions:
    """How a trial is computed.

    Args:
        steps: some of `STEPS`; angles come first in any case. None for `steps_for`.
        span: of the recording [s].
        cutoff: of the coordinates [Hz]; 0 for no filter.
        loads_cutoff: of the forces of plates [Hz].
        fill_gaps: gaps of markers up to this length are filled [s].
        reserve: strength of reserves at every speed [N m, N]; None for none.
        fit: tasks of inverse kinematics, in the place of weights of 1.
        force_sets: files of forces to add.
        up: the upward axis of the recording, where it is not what the file says.
        zeros_as_gaps: whether points exactly at the origin were not seen.
        feet, plates: bodies that stand, and the body on a plate by the plate's name.
        renames: recorded markers and what the model calls them.
        emg: electromyograms that the page shows and static optimization may stay near.
    """

    steps: tuple[str, ...] | None = None
    span: tuple[float, float] = WHOLE
    cutoff: float = 6.0
    loads_cutoff: float | None = None
    fill_gaps: float | None = None
    reserve: float | None = 1.0
    fit: tuple[FitTask, ...] = ()
    force_sets: tuple[Path, ...] = ()
    up: str | None = None
    zeros_as_gaps: bool = False
    feet: tuple[str, ...] = ()
    plates: tuple[tuple[str, str], ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    emg: Electromyograms | None = None


def loads_of(recording: Path, loads: Path | None, up: str | None) -> Path | None:
    """The loads that are given, else those of a C3D file's own plates; None where there are none."""
    if loads not in (None, recording) or recording.suffix.lower() != ".c3d":
        return loads
    return recording if has_plates(recording, up) else None


def steps_for(model: Path, loads: Path | None) -> tuple[str, ...]:
    """All steps, or angles only where nothing measured the forces under a body that stands on nothing else.

    Moments of such a trial would be those of a body that hangs in the air.
    """
    return STEPS[:1] if loads is None and free_base(read_osim(model)) else STEPS


def trial_tasks(
    model: Path, recording: Path, loads: Path | None, folder: Path, options: TrialOptions = TrialOptions()
) -> list[Setup]:
    """Angles, moments, muscle forces and joint loads of one recording, as far as the options name them.

    Args:
        model: the subject.
        recording: markers or poses of segments.
        loads: external loads (.xml), or what plates measured (.c3d, .mot, .sto).
        folder: for all results.
        options: how it is done.
    """
    loads = loads_of(recording, loads, options.up)
    steps = steps_for(model, loads) if options.steps is None else options.steps
    first = Preparation(options.fill_gaps, up=options.up, zeros_as_gaps=options.zeros_as_gaps, renames=options.renames)
    made: list[Setup] = [kinematics_of(model, recording, options.fit, options.span, prepare=first)]
    motion = folder / f"{recording.stem}_ik.mot"
    prepare = Preparation(None, options.loads_cutoff, up=options.up, feet=options.feet, plates=options.plates)
    given = MotionInputs(model, motion, loads, options.cutoff or -1.0, options.span, prepare)
    if "id" in steps:
        made.append(moments_of(given))
    if "so" in steps:
        effort = LeastEffort(name="StaticOptimization", reserve=options.reserve, emg=options.emg)
        made.append(analysis_of("so", effort, given, options.force_sets))
    if "jr" in steps:
        forces = folder / f"{motion.stem}_StaticOptimization_force.sto" if "so" in steps else None
        sums = LoadsOfGivenForces(
            name="JointReaction",
            forces_file=forces,
            joint_names=("ALL",),
            apply_on_bodies=("child",),
            express_in_frame=("ground",),
        )
        made.append(analysis_of("jr", sums, given, options.force_sets))
    return made
