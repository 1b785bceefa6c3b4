"""`musculo walk`: its flags as options of a trial."""

from __future__ import annotations

import math

from musculo.cli.commands.step_flags import EmgFlags, TrialFlags
from musculo.cli.exit_codes import WrongUsage
from musculo.cli.flag_tasks import electromyograms, inverse_kinematics_task, preparation
from musculo.cli.flag_values import span_of
from musculo.errors import warn
from musculo.io.setup import Setup
from musculo.io.text import no_file
from musculo.opensim_tools.trial_tasks import STEPS, TrialOptions, loads_of, steps_for, trial_tasks


def whole_trial(flags: TrialFlags, emg: EmgFlags) -> list[Setup]:
    """Angles, moments, muscle forces and joint loads of one recording, as far as `steps` names them.

    Loads are those of the recording's own plates, if no other file gives them.
    """
    trial, forces = flags.trial, flags.forces or ()
    named = (flags.model, trial, flags.loads, flags.tasks, emg.emg, *forces)
    for path in named:  # before the first step, not after minutes of it
        if path is not None and not path.exists():
            raise no_file(str(path))
    loads = loads_of(trial, flags.loads, flags.up or None)
    wanted = steps_of(flags.steps) if flags.steps is not None else steps_for(flags.model, loads)
    if flags.steps is None and wanted != STEPS:
        warn(
            f"{trial} holds no forces of plates, and the model stands on nothing: angles only; give forces with "
            "--loads, or --steps ik,id,so,jr for a body that hangs in the air"
        )
    if flags.filter_loads is not None and loads is None:
        raise WrongUsage(f"--filter-loads: {trial} holds no plates; give the loads with --loads, or omit it")
    if not (math.isfinite(flags.lowpass) and flags.lowpass >= 0.0):
        raise WrongUsage(f"--lowpass {flags.lowpass:g}: give a frequency [Hz], or 0 for no filter")
    if not (math.isfinite(flags.reserve) and flags.reserve >= 0.0):
        raise WrongUsage(f"--reserve {flags.reserve:g}: give a strength [N m, N], or 0 for no reserves")
    signals = electromyograms(emg, trial if trial.suffix.lower() == ".c3d" else None)
    if emg.follow_emg is not None and "so" not in wanted:
        raise WrongUsage(f"--follow-emg {emg.follow_emg:g}: no muscle force is asked for; add so to --steps")
    recording = preparation(flags.fill_gaps, up=flags.up, zeros_as_gaps=flags.zeros_as_gaps, renames=flags.rename or ())
    feet, plates = flags.foot or (), flags.plate or ()
    given = preparation(None, flags.filter_loads, loads, up=flags.up, feet=feet, plates=plates)
    sought = inverse_kinematics_task(flags.model, trial, flags.tasks, flags.weight or (), flags.time, False, recording)
    options = TrialOptions(
        wanted,
        span_of(flags.time),
        flags.lowpass,
        flags.filter_loads,
        flags.fill_gaps,
        flags.reserve or None,
        sought.tasks,
        tuple(forces),
        flags.up or None,
        flags.zeros_as_gaps,
        given.feet,
        given.plates,
        recording.renames,
        signals,
    )
    return trial_tasks(flags.model, trial, loads, flags.output, options)


def steps_of(text: str) -> tuple[str, ...]:
    """`ik,id,so` as steps; angles come first in any case."""
    wanted = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    unknown = [one for one in wanted if one not in STEPS]
    if unknown or not wanted:
        raise WrongUsage(f"--steps {text}: give some of {', '.join(STEPS)}, with commas between")
    return wanted
