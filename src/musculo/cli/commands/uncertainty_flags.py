"""`musculo uncertainty`: its flags. Nothing slow is imported before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from musculo.cli.commands.step_flags import RESULTS, Folder, Json, Loads, ModelFile, Names, Quiet, Time
from musculo.cli.exit_codes import EXIT_CODES


def uncertainty(
    model: ModelFile,
    trial: Annotated[Path, typer.Argument(metavar="TRIAL", help="Markers over time: a .trc, .c3d or .sto.")],
    loads: Loads = None,
    markers: Annotated[
        float, typer.Option("--markers", metavar="MM", help="Standard deviation of where markers sit, along each axis.")
    ] = 0.0,
    masses: Annotated[
        float, typer.Option("--masses", metavar="PERCENT", help="Of the mass and inertia of every body.")
    ] = 0.0,
    centers: Annotated[float, typer.Option("--centers", metavar="MM", help="Of mass centers, along each axis.")] = 0.0,
    muscle: Annotated[
        Names | None,
        typer.Option(
            "--muscle",
            metavar="PARAMETER=PERCENT",
            help="Of max_isometric_force, optimal_fiber_length or tendon_slack_length; repeatable.",
        ),
    ] = None,
    pressure: Annotated[
        float, typer.Option("--pressure", metavar="MM", help="Of where external forces act, along each axis.")
    ] = 0.0,
    plates: Annotated[
        float, typer.Option("--plates", metavar="PERCENT", help="Of the magnitude of external forces and moments.")
    ] = 0.0,
    samples: Annotated[int, typer.Option("--samples", "-n", metavar="N", help="How many in all.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Another one gives other draws.")] = 0,
    lowpass: Annotated[
        float, typer.Option("--lowpass", metavar="HZ", help="Filter coordinates at this frequency; 0 for no filter.")
    ] = 6.0,
    reserve: Annotated[
        float,
        typer.Option("--reserve", metavar="N", help="Reserves of this strength help the muscles [N m, N]; 0 for none."),
    ] = 1.0,
    time: Time = "",
    output: Folder = RESULTS,
    gpu: Annotated[bool, typer.Option("--gpu", help="Compute on a CUDA device.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", help="Threads. Default: all cores.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Monte Carlo of a trial: percentiles of angles, moments, muscle forces and joint loads, and their sources."""
    from musculo.cli.commands.uncertainty_command import Spreads, run_uncertainty

    spreads = Spreads(markers, masses, centers, tuple(muscle or ()), pressure, plates)
    raise typer.Exit(
        run_uncertainty(
            model, trial, loads, spreads, samples, seed, lowpass, reserve, time, output, gpu, jobs, quiet, as_json
        )
    )


def add_uncertainty_command(app: typer.Typer) -> None:
    """Put the command into the shell's list."""
    app.command("uncertainty", epilog=EXIT_CODES)(uncertainty)
