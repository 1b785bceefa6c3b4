"""`musculo uncertainty`: a recording and what is uncertain about it become tables of percentiles and of sources."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np

from musculo.analyses.uncertainty.inputs import (
    MUSCLE_PARAMETERS,
    CenterOfPressure,
    LoadMagnitude,
    MarkerPlacement,
    MuscleParameter,
    SegmentMass,
    SegmentMassCenter,
    UncertainInput,
)
from musculo.analyses.uncertainty.uncertain import uncertainty
from musculo.analyses.uncertainty.uncertain_outputs import SampleStatus, Uncertainty
from musculo.cli.commands.command_flags import UncertaintyFlags
from musculo.cli.console import printing, table
from musculo.cli.exit_codes import GOOD, INCOMPLETE, WrongUsage
from musculo.cli.flag_values import span_of
from musculo.diagnostics.loads import free_base
from musculo.errors import InvalidInput, warn
from musculo.io import read_osim
from musculo.io.external_load_files import read_external_loads
from musculo.io.marker_columns import read_markers
from musculo.io.storage import write_storage
from musculo.io.text import write_text
from musculo.results.table import Table

_MM, _PERCENT = 1e-3, 1e-2
_PLATES = (".c3d", ".mot", ".sto")
# What is shown: the entries with the largest peaks.
_SHOWN = 8


def run_uncertainty(flags: UncertaintyFlags) -> int:
    """Compute, write the tables and print what is largest."""
    model, trial, loads, output = flags.model, flags.trial, flags.loads, flags.output
    inputs, jobs = inputs_of(flags), flags.jobs
    for flag, value in (
        ("--samples", flags.samples),
        ("--seed", flags.seed + 1),
        ("--jobs", 1 if jobs is None else jobs),
    ):
        if value < 1:
            raise WrongUsage(f"{flag}: give a whole number of {int(flag != '--seed')} or more")
    for flag, number in (("--lowpass", flags.lowpass), ("--reserve", flags.reserve)):
        if not (math.isfinite(number) and number >= 0.0):
            raise WrongUsage(f"{flag} {number:g}: give a number, 0 or above")
    if loads is not None and loads.suffix.lower() in _PLATES:
        raise InvalidInput(
            f"{loads} says what plates measured, not which body that acts on; `musculo walk {model} {trial} --loads "
            f"{loads}` finds the feet and writes external loads, {trial.stem}_grf.xml: give these"
        )
    subject, span = read_osim(model), span_of(flags.time)
    if loads is None and free_base(subject):
        warn("no loads are given, and the model stands on nothing: moments and forces are those of a body in the air")
    markers = read_markers(trial)
    if flags.time:
        markers = markers.between(*span)
    # a line that is written anew, on a terminal alone
    told = None if flags.quiet or not sys.stderr.isatty() else _tell
    found = uncertainty(
        subject,
        markers,
        () if loads is None else read_external_loads(loads),
        inputs,
        samples=flags.samples,
        seed=flags.seed,
        cutoff=flags.lowpass or None,
        reserves=flags.reserve or None,
        threads=jobs,
        device="gpu" if flags.gpu else "cpu",
        progress=told,
    )
    output.mkdir(parents=True, exist_ok=True)
    files = write_results(found, output, trial.stem)
    missing = int((found.status != SampleStatus.DONE).sum())
    if flags.as_json:
        said = {
            "samples": len(found),
            "incomplete": missing,
            "failed_frames": dict(found.failed_frames),
            "files": [str(file) for file in files],
            "notes": list(found.notes),
            "sources": {name: found.sources(name) for name in found.outputs},
        }
        print(json.dumps(_finite(said), indent=2, ensure_ascii=False))
    elif not flags.quiet:
        _print(found)
        for file in files:
            print(f"wrote {file}")
    if missing:
        print(f"{missing} of {len(found)} samples are incomplete: {found.notes[-1]}", file=sys.stderr)
    return INCOMPLETE if missing else GOOD


def inputs_of(flags: UncertaintyFlags) -> list[UncertainInput]:
    """The inputs that flags name."""
    numbers = (
        ("--markers", flags.markers),
        ("--masses", flags.masses),
        ("--centers", flags.centers),
        ("--pressure", flags.pressure),
        ("--plates", flags.plates),
    )
    for flag, value in numbers:
        if not (math.isfinite(value) and value >= 0.0):
            raise WrongUsage(f"{flag} {value:g}: give a number, 0 or above")
    found: list[UncertainInput] = []
    if flags.markers:
        found.append(MarkerPlacement(_MM * flags.markers))
    if flags.masses:
        found.append(SegmentMass(_PERCENT * flags.masses))
    if flags.centers:
        found.append(SegmentMassCenter(_MM * flags.centers))
    for text in flags.muscle or ():
        name, _, percent = text.partition("=")
        try:
            found.append(MuscleParameter(name, _PERCENT * float(percent)))
        except ValueError:
            raise WrongUsage(
                f"--muscle {text}: give PARAMETER=PERCENT; parameters: {', '.join(MUSCLE_PARAMETERS)}"
            ) from None
    if flags.pressure:
        found.append(CenterOfPressure(_MM * flags.pressure))
    if flags.plates:
        found.append(LoadMagnitude(_PERCENT * flags.plates))
    if not found:
        raise WrongUsage("say what is uncertain, for instance --markers 10 --masses 5 --muscle max_isometric_force=10")
    return found


def write_results(found: Uncertainty, folder: Path, stem: str) -> list[Path]:
    """A table of percentiles for each output, and one of sources."""
    files = []
    whole = found.to_table()
    for output in found.outputs:
        columns = [k for k, name in enumerate(whole.names) if name.startswith(f"{output}/")]
        names = tuple(whole.names[k].removeprefix(f"{output}/") for k in columns)
        units = tuple(whole.units[k] for k in columns)
        part = Table(
            whole.time,
            names,
            whole.values[:, columns],
            units=units,
            name=f"Percentiles of {output}",
            provenance=whole.provenance,
        )
        files.append(folder / f"{stem}_uncertainty_{output}.sto")
        write_storage(part, files[-1])
    lines = [",".join(("output", "name", *found.input_names))]
    for output in found.outputs:
        for name, shares in found.sources(output).items():
            lines.append(",".join((output, name, *(f"{x:.4f}" if math.isfinite(x) else "" for x in shares.values()))))
    files.append(folder / f"{stem}_uncertainty_sources.csv")
    write_text(files[-1], lines)
    return files


def _finite(value: object) -> object:
    """For JSON, which knows no NaN."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _tell(done: int, total: int) -> None:
    print(f"\r{done} of {total} samples", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _print(found: Uncertainty) -> None:
    """Peaks of joint loads and muscle forces, what 5 and 95 % are there, and where that comes from."""
    columns = ("peak of", "N", "from", "to", *found.input_names)
    with printing() as out:
        ends = f"{found.percents[0]:g} to {found.percents[-1]:g} %"
        out.print(f"{len(found)} samples of {len(found.time)} frames; {ends}, and where the variance comes from\n")
        for output in ("joint_force_size", "muscle_force"):
            sources, nominal = found.sources(output), found.nominal[output]
            rows = []
            for k in np.argsort(-nominal.max(axis=0), kind="stable")[:_SHOWN]:
                name, at = found.names(output)[k], int(nominal[:, k].argmax())
                low, high = (found.percentiles[output][end][at, k] for end in (0, -1))
                parts = [f"{100 * x:.0f} %" if math.isfinite(x) else "" for x in sources[name].values()]
                rows.append((name.split("_on_")[0], f"{nominal[at, k]:.0f}", f"{low:.0f}", f"{high:.0f}", *parts))
            out.print(table(columns, rows, numbers=columns[1:]))
            out.print("")
        inputs = len(found.input_names)
        if inputs > 1:
            error = 100.0 / math.sqrt(max(len(found) // (inputs + 1), 1))
            out.print(
                f"Shares have a standard error of up to {error:.0f} %, so that small ones may be below zero; four "
                "times the samples halve it.\n"
            )
