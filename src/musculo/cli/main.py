"""`musculo`: the commands and what they have in common. Nothing slow is imported before a command runs."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from musculo import __version__
from musculo.cli.commands.command_flags import FitFlags, ReportFlags, RunFlags, UncertaintyFlags, ViewFlags
from musculo.cli.commands.pipeline import add_commands
from musculo.cli.commands.sensor_commands import add_sensor_commands
from musculo.cli.commands.shared_flags import Json, Quiet, Strict
from musculo.cli.commands.whole_trial import add_trial_commands
from musculo.cli.exit_codes import BAD_INPUT, EXIT_CODES, READER_GONE, STOPPED, WRONG_USAGE, WrongUsage
from musculo.cli.making_commands import Commands, of_flags
from musculo.cli.starting import imports_begin, imports_end, started_by_shell
from musculo.errors import MusculoError, MusculoWarning

app = Commands(
    help="Musculoskeletal multibody dynamics: how bodies move, and which muscles move them.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help text: rich's markup would double the time that --help takes.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"musculo {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None: ...


@app.command()
def info(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="[MODEL.osim]", help="A model. Without one: what is installed, for bug reports."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON (SI units and radians) instead of tables.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Show what a model holds: bodies, joints, coordinates and what drives them, muscles, and what is ignored."""
    if model is None:
        from musculo.cli.commands.installed import print_installed

        print_installed(as_json, quiet)
    else:
        from musculo.cli.commands.info import print_info

        print_info(model, as_json, quiet)


@app.command(epilog=EXIT_CODES)
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the page and the results.")
    ] = Path("musculo-demo"),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Write the files and print nothing.")] = False,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """Flex an elbow: compute angles, moments, muscle forces and joint loads from markers, as a page and files."""
    from musculo.cli.commands.demo import run_demo

    raise typer.Exit(run_demo(output, quiet, as_json, strict))


@app.command()
def warmup(
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compile all kernels for this machine once, so that no step has to wait.

    Exit code 0: all is compiled; 1: bad input; 2: wrong usage; 3: something could not be compiled (stderr says what).
    """
    from musculo.cli.commands.warmup import compile_all

    raise typer.Exit(compile_all(quiet, as_json))


@app.command()
def reproduce(
    studies: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="Names of studies, or all. Without one: list the studies."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the studies and run none.")] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write all numbers and series to this file.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            envvar="MUSCULO_DATA",
            help="Recorded data: results of OpenSim, used for its slow runs, or for all runs where OpenSim is not "
            "installed; and MoBL-ARMS, which the studies of the shoulder need.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for plots, as pages.")
    ] = None,
    opensim: Annotated[
        bool,
        typer.Option(
            help="Also run OpenSim, if it is installed here or in the Python that $MUSCULO_OPENSIM_PYTHON names."
        ),
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Repeat the experiments of papers, and compare with the papers' and OpenSim's numbers.

    Exit code 0: all is well; 1: bad input; 2: wrong usage; 3: all is written, but a figure falls short of its goal.
    """
    from musculo.cli.commands.reproduce import run_studies

    names = [] if listed else studies or []
    raise typer.Exit(run_studies(names, json_file, data, opensim, quiet, output))


@app.command(epilog=EXIT_CODES)
@of_flags
def run(flags: RunFlags) -> None:
    """Run set-up files of OpenSim's tools: same files, same numbers.

    The tools: ScaleTool, InverseKinematicsTool, InverseDynamicsTool, AnalyzeTool, ForwardTool, RRATool, CMCTool,
    IMUPlacer, IMUInverseKinematicsTool.
    """
    from musculo.cli.run_setups import Options, run_setups

    options = Options(flags.exact, flags.output, not flags.no_compare, flags.force, flags.threads)
    code = run_setups(flags.setups, options, flags.jobs, flags.quiet, flags.as_json, flags.report, flags.strict)
    raise typer.Exit(code)


add_trial_commands(app)
add_commands(app)
add_sensor_commands(app)


@app.command(epilog=EXIT_CODES)
@of_flags
def uncertainty(flags: UncertaintyFlags) -> None:
    """Monte Carlo of a trial: percentiles of angles, moments, muscle forces and joint loads, and their sources."""
    from musculo.cli.commands.uncertainty_command import run_uncertainty

    raise typer.Exit(run_uncertainty(flags))


@app.command()
@of_flags
def view(flags: ViewFlags) -> None:
    """Show a model or its motion in the browser: one page that needs no network."""
    from musculo.cli.commands.view import open_viewer

    open_viewer(flags)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN.osim", help="The model to read, of any version.")],
    target: Annotated[Path, typer.Argument(metavar="OUT.osim", help="The file to write.")],
    opensim_rounding: Annotated[
        bool,
        typer.Option("--opensim-rounding", help="Round old joint frames and inertias to six digits, as OpenSim does."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace OUT.osim if it exists.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a model in the newest version of OpenSim's format, without losses."""
    from musculo.cli.commands.convert import convert_model

    convert_model(source, target, opensim_rounding, force, quiet, as_json)


@app.command(epilog=EXIT_CODES)
def study(
    source: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study.toml, or a folder with a folder for each subject.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for all results.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", metavar="N", help="Processes at once. Default: all cores.")
    ] = None,
    scheduler: Annotated[
        str, typer.Option("--scheduler", metavar="tcp://...", help="A Dask scheduler whose workers do the trials.")
    ] = "",
    pages: Annotated[bool, typer.Option("--pages", help="Write a page for every trial, too.")] = False,
    zarr: Annotated[bool, typer.Option("--zarr", help="Write the curves as a Zarr folder, too.")] = False,
    dry: Annotated[bool, typer.Option("--list", help="List the trials and run none.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run all trials of all subjects, and collect them: curves, peaks, one page. A second call continues the first."""
    from musculo.cli.commands.study_command import make_study

    raise typer.Exit(make_study(source, output, jobs, scheduler, pages, zarr, dry, quiet, as_json))


@app.command()
def c3d(
    source: Annotated[Path, typer.Argument(metavar="TRIAL.c3d", help="A recording.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the files.")
    ] = Path(),
    up: Annotated[
        str,
        typer.Option("--up", metavar="x|-x|y|-y|z|-z", help="The axis that points up. Default: as the file says."),
    ] = "",
    forward: Annotated[
        str, typer.Option("--forward", metavar="x|-x|y|-y|z|-z", help="The axis that becomes x. Default: x.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write what a C3D file holds as files that OpenSim reads: markers, forces of plates, channels, events."""
    from musculo.cli.commands.c3d_command import convert_recording

    convert_recording(source, output, up or None, forward or None, force, quiet, as_json)


@app.command("fit-paths")
@of_flags
def fit_paths(flags: FitFlags) -> None:
    """Replace paths of muscles by polynomials of coordinates, for fast simulation; print how far they are off."""
    from musculo.cli.commands.path_fitting import fit_model

    fit_model(flags)


@app.command(epilog=EXIT_CODES)
@of_flags
def report(flags: ReportFlags) -> None:
    """Make one page from a folder of results: a judgment of their quality, and plots."""
    from musculo.cli.commands.report import make_report

    raise typer.Exit(make_report(flags))


def main() -> None:
    """Run a command; it ends with one of the exit codes of `musculo.cli.exit_codes`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal without Greek letters or arrows shows a question mark rather than nothing.
            stream.reconfigure(errors="replace")
    started_by_shell()
    imports_begin()
    warnings.formatwarning = _one_line(warnings.formatwarning)
    try:
        _run_command()
    except BrokenPipeError:
        _leave_quietly()
    finally:
        imports_end()


def _run_command() -> None:
    every = app.registered_commands
    try:
        # the parser prepares all commands that it knows, which takes longer than many of them
        app.registered_commands = [command for command in every if command.name in sys.argv[1:2]] or every
        app()
    except SystemExit as ended:
        # The parser takes a reader that has gone for itself, and ends with 1.
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None
        if ended.code == STOPPED:
            print("stopped", file=sys.stderr)
        raise
    except WrongUsage as error:
        _fail(str(error), WRONG_USAGE)
    except MusculoError as error:
        _fail(str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    finally:
        app.registered_commands = every
        sys.stdout.flush()


def _one_line(usual: Callable[..., str]) -> Callable[..., str]:
    """Warnings about the input as one line: a line of our own code, which Python adds, says nothing to a user."""

    def format_warning(message: Warning | str, category: type[Warning], *where: object, **more: object) -> str:
        if issubclass(category, MusculoWarning):
            return f"warning: {message}\n"
        return usual(message, category, *where, **more)

    return format_warning


def _fail(message: str, code: int = BAD_INPUT) -> None:
    print(f"error: {message}", file=sys.stderr)
    raise SystemExit(code)


def _leave_quietly() -> None:
    """The reader has gone (`| head`); what Python still holds goes nowhere, without a complaint at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    raise SystemExit(READER_GONE)


if __name__ == "__main__":
    main()
