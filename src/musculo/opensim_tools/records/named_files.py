"""Which files a set-up reads and writes, as far as it names them: known before anything runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from glob import escape, glob
from os.path import realpath, relpath
from pathlib import Path
from typing import Any

from musculo.errors import InvalidInput
from musculo.io.external_load_files import data_files
from musculo.io.setup import (
    AnalyzeSetup,
    CMCSetup,
    ForwardSetup,
    IMUInverseKinematicsSetup,
    InverseDynamicsSetup,
    InverseKinematicsSetup,
    ModelToolSetup,
    RRASetup,
    ScaleSetup,
    Setup,
)
from musculo.io.setup.analyses import (
    KINDS,
    JointReactionAnalysis,
    OtherAnalysis,
    PointKinematicsAnalysis,
    StaticOptimizationAnalysis,
)
from musculo.io.text import PathLike


def results_folder(setup: Setup, output: PathLike | None) -> Path:
    """Where results go: `output`, else what the set-up says, else beside its file."""
    if output is not None:
        if not str(output):
            raise InvalidInput("the output folder has no name; give the path of one")
        return Path(output)
    # The scale tool and the placer have no folder of results: their files are named each.
    folder = getattr(setup, "results_directory", None)
    return Path(folder) if folder is not None else Path(setup.source).parent


def read_files(setup: Setup) -> list[Path]:
    """Files that a set-up reads: itself, those that it names, and the table that its external loads name."""
    base = Path(setup.source).parent
    named = list(setup.included)

    def seen(path: Path) -> Path:
        named.append(path)
        return path

    with_inputs(setup, seen)
    inputs = [place for path in named for place in places_of(path, setup)]
    loads = getattr(setup, "external_loads_file", None)
    if loads is not None:
        inputs += [table for path in (loads, Path(relpath(loads, base))) for table in data_files(path)]
    return [*([Path(setup.source)] if setup.source else []), *inputs]


def places_of(path: Path, setup: Setup) -> list[Path]:
    """Where an input may lie: OpenSim opens some from the working directory where they are not where they should be."""
    return [path] if path.exists() else [path, Path(relpath(path, Path(setup.source).parent))]


def with_inputs(value: Any, change: Callable[[Path], Path]) -> Any:
    """A set-up, or a part of one, whose paths are changed, but for those of results and of what was read with it."""
    if isinstance(value, Path):
        return change(value)
    if isinstance(value, tuple):
        return tuple(with_inputs(one, change) for one in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    names = [one.name for one in fields(value) if not one.name.startswith(("output_", "results_directory", "included"))]
    own = {name: getattr(value, name) for name in names}
    changed = {name: new for name, one in own.items() if (new := with_inputs(one, change)) != one}
    return replace(value, **changed) if changed else value


def written_files(setup: Setup, output: PathLike | None = None) -> list[str]:
    """Patterns of the files that a set-up writes, each with at most one star, at its end."""
    folder = results_folder(setup, output)
    named = [folder / path.name if output is not None else path for path in _named_paths(setup)]
    return [f"{escape(str(folder))}/{name}" for name in _names(setup)] + [escape(str(path)) for path in named]


def own_forces_file(setup: Setup, output: PathLike | None = None) -> list[Path]:
    """Files of forces that joint reactions read and a static optimization of the same set-up writes."""
    if not isinstance(setup, AnalyzeSetup):
        return []
    on = [one for one in setup.analyses if one.on]
    made = [
        folder / f"{setup.name}_{one.name}_{what}.sto"
        for folder in dict.fromkeys((results_folder(setup, None), results_folder(setup, output)))
        for one in on
        if isinstance(one, StaticOptimizationAnalysis)
        for what in ("force", "activation")
    ]
    read = [one.forces_file for one in on if isinstance(one, JointReactionAnalysis) and one.forces_file is not None]
    return [path for path in read if any(same_file(path, other) for other in made)]


def with_own_forces(setup: Setup, output: PathLike | None, exact: bool) -> Setup:
    """The set-up whose joint reactions read forces from `output`, where its own static optimization writes them.

    Those of an earlier run, which OpenSim reads, stay where they are; the exact method has no use for them.
    """
    if output is None:
        return setup
    own = [path for path in own_forces_file(setup, output) if exact or not path.exists()]
    changed: Setup = with_inputs(setup, lambda path: Path(output) / path.name if path in own else path)
    return changed


def same_file(first: Path, second: Path) -> bool:
    """Whether two paths lead to one file, by links or not, be it there or not."""
    if first.exists() and second.exists():
        return first.samefile(second)
    return first.resolve() == second.resolve()


def refuse_overwriting(outputs: Iterable[Path], inputs: Iterable[Path], advice: str) -> None:
    """Raise if a file would be written over one that is read, under whatever name."""
    files = [path for path in outputs if path.is_file()]
    for path in inputs:
        for output in files:
            if path.is_file() and output.samefile(path):
                raise InvalidInput(f"the output {output} is an input, too; {advice}")


def files_there(setup: Setup, output: PathLike | None = None) -> list[Path]:
    """Files in the place of those that a set-up writes, its record included."""
    found = [Path(path) for pattern in written_files(setup, output) for path in glob(pattern)]
    return [*found, record_of(setup, output)]


def record_of(setup: Setup, output: PathLike | None = None) -> Path:
    """Where the record of a set-up goes."""
    return record_path(results_folder(setup, output), setup.source or UNNAMED)


def record_path(folder: Path, source: str) -> Path:
    """The record of a set-up file, in its folder of results."""
    path = Path(source)
    # what is called after a command and a recording may have dots that begin no ending
    return folder / f"{path.stem if path.suffix.lower() == '.xml' else path.name}.musculo.json"


UNNAMED = "set-up"  # one that was made in Python and is of no file


def refuse_overwriting_of(setup: Setup, output: PathLike | None = None) -> None:
    """Raise if a set-up would write over a file that it reads.

    The forces of an earlier static optimization that the same set-up makes anew are no such file: they are results.
    """
    there = files_there(setup, output)
    own = own_forces_file(setup, output)
    reads = [path for path in read_files(setup) if not any(same_file(path, one) for one in own)]
    refuse_overwriting(there, reads, ADVICE)


ADVICE = "give another one, or --force to overwrite it (overwrite=True in Python)"


def refuse_one_name(setup: Setup, output: PathLike | None = None) -> None:
    """Raise if two results of a set-up have one name: one of them would be lost, as it is in OpenSim.

    The model that the steps of the scale tool share is none of these: the last step writes it with all that both did.
    """
    known = setup
    if (
        isinstance(setup, ScaleSetup)
        and setup.placer.apply
        and setup.scaler.output_model_file == setup.placer.output_model_file
    ):
        known = replace(setup, scaler=replace(setup.scaler, output_model_file=None))
    files = [plain(pattern) for pattern in written_files(known, output) if not pattern.endswith("*")]
    if isinstance(setup, ModelToolSetup):  # names of files are not known before, but by what they follow from
        for one in setup.analyses:
            if one.on and not isinstance(one, OtherAnalysis):
                point = f"{one.point_name}_" if isinstance(one, PointKinematicsAnalysis) else ""
                tag = next(tag for tag, kind in KINDS.items() if isinstance(one, kind))
                name = f"{setup.name}_{one.name}_{point}* of <{tag}>"
                files.append(str(results_folder(setup, output) / name))
    found = Counter(realpath(path) for path in (*files, str(record_of(setup, output))))
    twice = [path for path, count in found.items() if count > 1]
    if twice:
        raise InvalidInput(
            f"two results of the set-up go to one file, {twice[0]}, and one would be lost, as in OpenSim; "
            "give them other names"
        )


def plain(pattern: str) -> str:
    """A path that was escaped."""
    return re.sub(r"\[([*?[])\]", r"\1", pattern)


# What simulations leave beside their analyses, behind the name of the tool.
_TRACKED = (
    *("states.sto", "controls.xml", "controls.sto", "pErr.sto"),
    *(f"Kinematics_{what}.sto" for what in ("q", "u", "dudt")),
    *(f"Actuation_{what}.sto" for what in ("force", "speed", "power")),
)
_SIMULATED: dict[type[ModelToolSetup], tuple[str, ...]] = {
    ForwardSetup: ("states.sto", "states_degrees.mot", "controls.sto"),
    RRASetup: (*_TRACKED, "avgResiduals.txt"),
    CMCSetup: _TRACKED,
}


def _names(setup: Setup) -> Iterator[str]:
    """Patterns of the files that go into the folder of results."""
    if isinstance(setup, InverseDynamicsSetup):
        yield escape(setup.forces_name)
        if setup.joints_to_report_body_forces:
            yield escape(setup.body_forces_name)
    elif isinstance(setup, IMUInverseKinematicsSetup):
        yield escape(setup.motion_name)
        yield escape(setup.errors_name)
    elif isinstance(setup, InverseKinematicsSetup):
        # distances of markers are written by the exact method alone, and always beside the errors; those of segments
        # take the place of both where a recording has no markers
        whats = ["marker_errors", "marker_distances", "segment_errors"] if setup.report_errors else []
        whats += ["model_marker_locations"] if setup.report_marker_locations else []
        yield from (escape(f"{setup.name}_ik_{what}.sto") for what in whats)
    elif isinstance(setup, ModelToolSetup):
        made = (names for kind, names in _SIMULATED.items() if isinstance(setup, kind))
        yield from (escape(f"{setup.name}_{what}") for names in made for what in names)
        yield from (escape(f"{setup.name}_{analysis.name}_") + "*" for analysis in setup.analyses if analysis.on)


def _named_paths(setup: Setup) -> Iterator[Path]:
    """Files that the set-up names with their place."""
    steps = (setup.scaler, setup.placer) if isinstance(setup, ScaleSetup) else ()
    if isinstance(setup, RRASetup):
        if setup.adjusted_model is not None:
            yield setup.adjusted_model
        return
    for part in [step for step in steps if step.apply] if steps else [setup]:
        for field in fields(part):
            path = getattr(part, field.name)
            if field.name.startswith("output_") and isinstance(path, Path):
                yield path
