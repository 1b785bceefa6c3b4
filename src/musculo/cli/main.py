"""`musculo`: the commands and what they have in common. Nothing slow is imported before a command runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from musculo import __version__
from musculo.errors import MusculoError

app = typer.Typer(
    help="Musculoskeletal multibody dynamics: how bodies move, and which muscles move them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help text: rich's markup would double the time that --help takes.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL.osim", help="An OpenSim model of any version since 1.9.1.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"musculo {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None: ...


@app.command()
def info(
    model: ModelFile,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON (SI units and radians) instead of tables.")
    ] = False,
) -> None:
    """Say what a model holds: bodies, joints, coordinates and who drives them, muscles, and what is ignored."""
    from musculo.cli.info import print_info

    print_info(model, as_json)


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the plot and the numbers go.")
    ] = Path("musculo-demo"),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Write the files and print nothing.")] = False,
) -> None:
    """Swing a leg: a motion in, joint moments out, as a table, a plot (.html) and numbers (.sto)."""
    from musculo.cli.demo import run_demo

    run_demo(output, quiet)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN.osim", help="The model to read, of any version.")],
    target: Annotated[Path, typer.Argument(metavar="OUT.osim", help="The file to write.")],
    opensim_rounding: Annotated[
        bool,
        typer.Option("--opensim-rounding", help="Round old joint frames and inertias to six digits, as OpenSim does."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace OUT.osim if it exists.")] = False,
) -> None:
    """Write a model in the newest version of OpenSim's format, losing nothing."""
    from musculo.cli.convert import convert_model

    convert_model(source, target, opensim_rounding, force)


def main() -> None:
    """Run a command; bad input ends in one sentence on stderr and status 1, wrong usage in status 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal without Greek letters or arrows shows a question mark rather than nothing.
            stream.reconfigure(errors="replace")
    try:
        app()
    except MusculoError as error:
        _fail(str(error))
    except BrokenPipeError:
        _close_quietly()
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _close_quietly()


def _fail(message: str) -> None:
    print(f"error: {message}", file=sys.stderr)
    raise SystemExit(1)


def _close_quietly() -> None:
    """The reader has gone (`| head`); what Python still holds goes nowhere, without a complaint at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(1)


if __name__ == "__main__":
    main()
