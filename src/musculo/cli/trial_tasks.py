"""Tasks of a whole trial, made from flags: each step reads what the ones before it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from musculo.cli.exit_codes import WrongUsage
from musculo.cli.flag_tasks import (
    MotionFlags,
    analyze_task,
    inverse_dynamics_task,
    inverse_kinematics_task,
    joint_reaction,
    least_effort,
    preparation,
)
from musculo.io.plate_forces import has_plates
from musculo.io.setup import Setup

STEPS = ("ik", "id", "so", "jr")
_C3D = ".c3d"


def whole_trial(
    model: Path,
    trial: Path,
    output: Path,
    *,
    loads: Path | None,
    steps: str,
    tasks: Path | None,
    weights: Sequence[str],
    time: str,
    lowpass: float,
    filter_loads: float | None,
    fill_gaps: float | None,
    reserve: float,
    force_sets: Sequence[Path],
    up: str,
    zeros_as_gaps: bool,
    feet: Sequence[str],
    plates: Sequence[str],
    opensim: bool,
) -> list[Setup]:
    """Angles, moments, muscle forces and joint loads of one recording, as far as `steps` names them.

    Loads are those of the recording's own plates, if no other file gives them.
    """
    wanted = steps_of(steps)
    if loads is None and trial.suffix.lower() == _C3D and has_plates(trial, up or None):
        loads = trial
    if filter_loads is not None and loads is None:
        raise WrongUsage(f"--filter-loads: {trial} holds no plates; give the loads with --loads, or omit it")
    recording = preparation(fill_gaps, up=up, zeros_as_gaps=zeros_as_gaps)
    made: list[Setup] = [inverse_kinematics_task(model, trial, tasks, weights, time, False, recording)]
    motion = output / f"{trial.stem}_ik.mot"
    # the filter takes all of the motion; gaps were filled in the markers
    prepare = preparation(None, filter_loads, loads, up=up, feet=feet, plates=plates)
    given = MotionFlags(model, motion, loads, f"{lowpass:g}" if lowpass else "", time, prepare)
    if "id" in wanted:
        made.append(inverse_dynamics_task(given))
    if "so" in wanted:
        effort = least_effort(2.0, True, False, "rigid", reserve or None, [], opensim)
        made.append(analyze_task("so", effort, given, force_sets))
    if "jr" in wanted:
        forces = output / f"{motion.stem}_StaticOptimization_force.sto" if "so" in wanted else None
        made.append(analyze_task("jr", joint_reaction(model, forces, [], "child", "ground"), given, force_sets))
    return made


def steps_of(text: str) -> tuple[str, ...]:
    """`ik,id,so` as steps; angles come first in any case."""
    wanted = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    unknown = [one for one in wanted if one not in STEPS]
    if unknown or not wanted:
        raise WrongUsage(f"--steps {text}: give some of {', '.join(STEPS)}, with commas between")
    return wanted
