"""Flags of the larger commands that are no steps, a class for each; the order of the fields is that of the help.

Nothing slow may be imported here: all commands begin with this file.
"""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from musculo.cli.commands.shared_flags import RESULTS, Folder, Json, Loads, ModelFile, Names, Quiet, Strict, Time


class RunFlags(NamedTuple):
    """Of `musculo run`."""

    setups: Annotated[list[Path], typer.Argument(metavar="SETUP.xml...", help="Set-up files of OpenSim's tools.")]
    exact: Annotated[
        bool, typer.Option("--exact/--like-opensim", help="Exact methods, or OpenSim's own, known faults included.")
    ] = False
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for all results.")
    ] = None
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", help="Run N set-ups at a time, each in a process.")
    ] = 1
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", help="Threads of each set-up. Default: all cores.")
    ] = None
    no_compare: Annotated[
        bool, typer.Option("--no-compare", help="Do not compare OpenSim's method with the exact one.")
    ] = False
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Run even if nothing changed, and allow to overwrite inputs.")
    ] = False
    quiet: Quiet = False
    as_json: Json = False
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write one page, report.html, in each folder of results.")
    ] = True
    strict: Strict = False


class UncertaintyFlags(NamedTuple):
    """Of `musculo uncertainty`."""

    model: ModelFile
    trial: Annotated[Path, typer.Argument(metavar="TRIAL", help="Markers over time: a .trc, .c3d or .sto.")]
    loads: Loads = None
    markers: Annotated[
        float, typer.Option("--markers", metavar="MM", help="Standard deviation of where markers sit, along each axis.")
    ] = 0.0
    masses: Annotated[
        float, typer.Option("--masses", metavar="PERCENT", help="Of the mass and inertia of every body.")
    ] = 0.0
    centers: Annotated[float, typer.Option("--centers", metavar="MM", help="Of mass centers, along each axis.")] = 0.0
    muscle: Annotated[
        Names | None,
        typer.Option(
            "--muscle",
            metavar="PARAMETER=PERCENT",
            help="Of max_isometric_force, optimal_fiber_length or tendon_slack_length; repeatable.",
        ),
    ] = None
    pressure: Annotated[
        float, typer.Option("--pressure", metavar="MM", help="Of where external forces act, along each axis.")
    ] = 0.0
    plates: Annotated[
        float, typer.Option("--plates", metavar="PERCENT", help="Of the magnitude of external forces and moments.")
    ] = 0.0
    samples: Annotated[int, typer.Option("--samples", "-n", metavar="N", help="How many in all.")] = 1000
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Another one gives other draws.")] = 0
    lowpass: Annotated[
        float, typer.Option("--lowpass", metavar="HZ", help="Filter coordinates at this frequency; 0 for no filter.")
    ] = 6.0
    reserve: Annotated[
        float,
        typer.Option("--reserve", metavar="N", help="Reserves of this strength help the muscles [N m, N]; 0 for none."),
    ] = 1.0
    time: Time = ""
    output: Folder = RESULTS
    gpu: Annotated[bool, typer.Option("--gpu", help="Compute on a CUDA device.")] = False
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", help="Threads. Default: all cores.")] = None
    quiet: Quiet = False
    as_json: Json = False


class ViewFlags(NamedTuple):
    """Of `musculo view`."""

    model: ModelFile
    motion: Annotated[
        Path | None, typer.Argument(metavar="[MOTION.mot]", help="Coordinates over time. Default: the default pose.")
    ] = None
    activation: Annotated[
        Path | None, typer.Option("--activation", metavar="FILE.sto", help="Activations, which color the muscles.")
    ] = None
    forces: Annotated[
        Path | None, typer.Option("--forces", metavar="FILE.sto", help="Forces of muscles, shown as curves.")
    ] = None
    markers: Annotated[
        Path | None, typer.Option("--markers", metavar="FILE.trc", help="Measured markers (.trc, .c3d, .sto).")
    ] = None
    loads: Annotated[
        Path | None, typer.Option("--loads", metavar="FILE.xml", help="External loads: ground reaction arrows.")
    ] = None
    reactions: Annotated[
        Path | None, typer.Option("--reactions", metavar="FILE.sto", help="Joint reactions: arrows at the joints.")
    ] = None
    geometry: Annotated[
        Path | None,
        typer.Option("--geometry", metavar="FOLDER", help="Bone meshes (.vtp, .obj, .stl); also $MUSCULO_GEOMETRY."),
    ] = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="Default: a temporary file.")
    ] = None
    no_open: Annotated[bool, typer.Option("--no-open", help="Write the page and do not open it.")] = False
    quiet: Quiet = False
    as_json: Json = False


class FitFlags(NamedTuple):
    """Of `musculo fit-paths`."""

    model: ModelFile
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT.osim", help="The model with fitted paths.")]
    motion: Annotated[
        Path | None,
        typer.Option("--motion", metavar="FILE.mot", help="Fit around the poses of this motion, not over all ranges."),
    ] = None
    span: Annotated[
        list[str] | None,
        typer.Option("--range", metavar="NAME=LOW:HIGH", help="Range of a coordinate [deg, m]. Default: its own."),
    ] = None
    margin: Annotated[
        float | None,
        typer.Option("--margin", metavar="DEG", help="How far around the poses of --motion. Default: 10, and 1 cm."),
    ] = None
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance",
            metavar="MM",
            help="Largest root mean square of the errors of length and moment arms; the worst may be ten times that.",
        ),
    ] = 0.5
    degree: Annotated[str, typer.Option("--degree", metavar="D|LOW:HIGH", help="The degree of the polynomials.")] = (
        "2:6"
    )
    muscle: Annotated[
        list[str] | None, typer.Option("--muscle", metavar="NAME", help="Fit this path. Default: all.")
    ] = None
    samples: Annotated[int, typer.Option("--samples", metavar="N", help="The number of poses to fit to.")] = 4000
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace OUT.osim if it exists.")] = False
    quiet: Quiet = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the errors as JSON (SI units).")] = False


class ReportFlags(NamedTuple):
    """Of `musculo report`."""

    folder: Annotated[Path, typer.Argument(metavar="RESULTS", help="A folder of results, ours or OpenSim's.")]
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", metavar="MODEL.osim", help="The model, if the results do not name it."),
    ] = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="Default: RESULTS/report.html.")
    ] = None
    title: Annotated[str, typer.Option("--title", help="The title of the page.")] = ""
    normal: Annotated[
        Path | None,
        typer.Option("--normal", metavar="RANGES.csv", help="Your laboratory's normal ranges of walking."),
    ] = None
    emg: Annotated[
        Path | None,
        typer.Option("--emg", metavar="EMG", help="Electromyograms, raw or envelopes (.c3d, .sto, .mot, .csv)."),
    ] = None
    opened: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Write the page and print nothing.")] = False
    as_json: Json = False
    strict: Strict = False
