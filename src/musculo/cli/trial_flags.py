"""`musculo walk`: its flags as options of a trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from musculo.cli.exit_codes import WrongUsage
from musculo.cli.flag_tasks import electromyograms, inverse_kinematics_task, preparation
from musculo.cli.flag_values import span_of
from musculo.errors import warn
from musculo.io.setup import Setup
from musculo.io.text import no_file
from musculo.opensim_tools.trial_tasks import STEPS, TrialOptions, loads_of, steps_for, trial_tasks


def whole_trial(
    model: Path,
    trial: Path,
    output: Path,
    *,
    loads: Path | None,
    steps: str | None,
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
    renames: Sequence[str],
    feet: Sequence[str],
    plates: Sequence[str],
    emg: Path | None,
    emg_channels: Sequence[str],
    emg_side: str,
    emg_most: Sequence[str],
    follow_emg: float | None,
) -> list[Setup]:
    """Angles, moments, muscle forces and joint loads of one recording, as far as `steps` names them.

    Loads are those of the recording's own plates, if no other file gives them.
    """
    for path in (model, trial, loads, tasks, emg, *force_sets):  # before the first step, not after minutes of it
        if path is not None and not path.exists():
            raise no_file(str(path))
    loads = loads_of(trial, loads, up or None)
    wanted = steps_of(steps) if steps is not None else steps_for(model, loads)
    if steps is None and wanted != STEPS:
        warn(
            f"{trial} holds no forces of plates, and the model stands on nothing: angles only; give forces with "
            "--loads, or --steps ik,id,so,jr for a body that hangs in the air"
        )
    if filter_loads is not None and loads is None:
        raise WrongUsage(f"--filter-loads: {trial} holds no plates; give the loads with --loads, or omit it")
    if not (math.isfinite(lowpass) and lowpass >= 0.0):
        raise WrongUsage(f"--lowpass {lowpass:g}: give a frequency [Hz], or 0 for no filter")
    if not (math.isfinite(reserve) and reserve >= 0.0):
        raise WrongUsage(f"--reserve {reserve:g}: give a strength [N m, N], or 0 for no reserves")
    own = trial if trial.suffix.lower() == ".c3d" else None
    signals = electromyograms(emg, emg_channels, emg_side, emg_most, follow_emg, own)
    if follow_emg is not None and "so" not in wanted:
        raise WrongUsage(f"--follow-emg {follow_emg:g}: no muscle force is asked for; add so to --steps")
    recording = preparation(fill_gaps, up=up, zeros_as_gaps=zeros_as_gaps, renames=renames)
    given = preparation(None, filter_loads, loads, up=up, feet=feet, plates=plates)
    options = TrialOptions(
        wanted,
        span_of(time),
        lowpass,
        filter_loads,
        fill_gaps,
        reserve or None,
        inverse_kinematics_task(model, trial, tasks, weights, time, False, recording).tasks,
        tuple(force_sets),
        up or None,
        zeros_as_gaps,
        given.feet,
        given.plates,
        recording.renames,
        signals,
    )
    return trial_tasks(model, trial, loads, output, options)


def steps_of(text: str) -> tuple[str, ...]:
    """`ik,id,so` as steps; angles come first in any case."""
    wanted = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    unknown = [one for one in wanted if one not in STEPS]
    if unknown or not wanted:
        raise WrongUsage(f"--steps {text}: give some of {', '.join(STEPS)}, with commas between")
    return wanted
