"""`musculo fit-paths`: a model whose paths are polynomials of coordinates, and how far they are from the exact ones."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence

import typer

from musculo.cli.commands.command_flags import FitFlags
from musculo.cli.console import printing, table
from musculo.cli.exit_codes import INCOMPLETE, WrongUsage
from musculo.errors import InvalidInput, UnknownName
from musculo.io import read_osim, write_osim
from musculo.io.storage import read_storage
from musculo.model.model import Model
from musculo.muscle.fitted_paths.fitted_path_model import FittedPathModel
from musculo.muscle.fitted_paths.polynomial_paths import fit_paths
from musculo.results.angle_columns import rotational_coordinates

_MILLIMETERS = 1e3


def fit_model(flags: FitFlags) -> None:
    """Fit, write the model, and print the table of errors. Tolerances are millimeters, margins degrees."""
    degrees = degrees_of(flags.degree)
    output, margin = flags.output, flags.margin
    if output.exists() and not flags.force:
        raise InvalidInput(f"{output} exists; choose another name, or pass --force to replace it")
    model = read_osim(flags.model)
    poses = None
    if flags.motion is not None:
        from musculo.analyses.recorded_motion import motion_of

        poses = motion_of(model, read_storage(flags.motion)).q
    found = fit_paths(
        model,
        ranges=ranges_of(model, flags.span) if flags.span else None,
        motion=poses,
        margin=None if margin is None else math.radians(margin),
        tolerance=flags.tolerance / _MILLIMETERS,
        degree=degrees,
        names=flags.muscle or None,
        samples=flags.samples,
    )
    notes = write_osim(found.model, output)
    if flags.as_json:
        print(
            json.dumps({"model": str(output), **in_numbers(found), "notes": list(notes)}, indent=2, ensure_ascii=False)
        )
    elif not flags.quiet:
        print_errors(found)
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        print(f"wrote {output}")
    if not found.fitted:
        print(f"no path was replaced: {_why_none(found)}", file=sys.stderr)
        raise typer.Exit(INCOMPLETE)


def _why_none(found: FittedPathModel) -> str:
    for name, why in zip(found.names, found.reason, strict=True):
        if why:
            return f"{name}: {why}"
    return "no force has a path of points"


def degrees_of(text: str) -> tuple[int, int]:
    """`4` or `2:6`."""
    low, colon, high = text.partition(":")
    try:
        return int(low), int(high if colon else low)
    except ValueError:
        raise WrongUsage(f"--degree {text}: give a whole number, or the lowest and the highest as 2:6") from None


def ranges_of(model: Model, given: Sequence[str]) -> dict[str, tuple[float, float]]:
    """`knee_angle_r=-10:120` in degrees, meters for sliding coordinates."""
    turning, found = rotational_coordinates(model), {}
    for text in given:
        name, _, span = text.partition("=")
        low, _, high = span.partition(":")
        if name not in model.coordinate_names:
            raise UnknownName("coordinate", name, model.coordinate_names, f"--range {text}")
        try:
            unit = math.radians(1.0) if name in turning else 1.0
            found[name] = (unit * float(low), unit * float(high))
        except ValueError:
            raise WrongUsage(f"--range {text}: give NAME=LOWEST:HIGHEST, in degrees or meters") from None
    return found


def in_numbers(found: FittedPathModel) -> Mapping[str, object]:
    """The errors of all paths by name, in SI units; null where nothing was fitted."""

    def number(x: float) -> float | None:
        return float(x) if math.isfinite(x) else None

    paths = {}
    for k, name in enumerate(found.names):
        numbers = {
            key: number(getattr(found, key)[k]) for key in ("length_rms", "length_worst", "arm_rms", "arm_worst")
        }
        paths[name] = {
            "fitted": bool(found.degree[k] >= 0),
            "degree": int(found.degree[k]),
            "coordinates": list(found.coordinates[k]),
            **numbers,
            "arm_coordinate": found.arm_coordinate[k],
            "reason": found.reason[k],
        }
    return {"samples": found.samples, "paths": paths}


def print_errors(found: FittedPathModel) -> None:
    """A row for each path, errors in millimeters; below it why some are kept."""

    def mm(x: float) -> str:
        return f"{_MILLIMETERS * x:.3f}" if math.isfinite(x) else ""

    columns = ("path", "degree", "length rms", "worst", "arm rms", "worst ", "over")
    rows = [
        (
            name,
            str(found.degree[k]) if found.degree[k] >= 0 else "exact",
            mm(found.length_rms[k]),
            mm(found.length_worst[k]),
            mm(found.arm_rms[k]),
            mm(found.arm_worst[k]),
            found.arm_coordinate[k],
        )
        for k, name in enumerate(found.names)
    ]
    with printing() as out:
        out.print(f"Errors in mm over {found.samples} poses that took no part in the fit\n")
        out.print(table(columns, rows, numbers=columns[1:-1]))
        if found.notes:
            out.print("")
        for name, why in zip(found.names, found.reason, strict=True):
            if why:
                out.print(f"{name} keeps its exact path: {why}", soft_wrap=True)
        out.print(f"\n{len(found.fitted)} of {len(found.names)} paths are polynomials now")
