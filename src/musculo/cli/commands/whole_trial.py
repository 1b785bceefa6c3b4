"""`musculo walk`: from one recording to joint loads, all steps in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from musculo.cli.commands.step_flags import EmgFlags, TrialFlags
from musculo.cli.exit_codes import EXIT_CODES
from musculo.cli.making_commands import step

if TYPE_CHECKING:
    from musculo.io.setup import Setup
else:
    Setup = object  # nothing slow is imported before a command runs


@step
def walk(flags: TrialFlags, emg: EmgFlags) -> list[Setup]:
    """A whole trial: angles, moments, muscle forces and joint loads from one recording, on one page."""
    from musculo.cli.trial_flags import whole_trial

    return whole_trial(flags, emg)


def add_trial_commands(app: typer.Typer) -> None:
    """Put the command into the shell's list, before those of its steps."""
    app.command("walk", epilog=EXIT_CODES)(walk)
