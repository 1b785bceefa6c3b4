"""Which set-ups of one call must wait for others: those that share files, where at least one of the two writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from fnmatch import fnmatchcase
from glob import escape
from os.path import abspath, relpath
from pathlib import Path
from typing import Any, NamedTuple

from musculo.errors import MusculoError
from musculo.io.external_loads import data_files
from musculo.io.setup import (
    AnalyzeSetup,
    IMUInverseKinematicsSetup,
    InverseDynamicsSetup,
    InverseKinematicsSetup,
    ScaleSetup,
    Setup,
    read_setup,
)
from musculo.io.text import PathLike
from musculo.tools.run import results_folder


class Waits(NamedTuple):
    """Of one set-up, the places of earlier ones in the call."""

    after: frozenset[int]  # those that must have ended
    needs: frozenset[int]  # those of them that write what it reads


class _Files(NamedTuple):
    """Absolute paths of inputs, and patterns of those of outputs."""

    reads: frozenset[str]
    writes: tuple[str, ...]

    def feed(self, other: _Files) -> bool:
        """Whether the other one reads what this one writes."""
        return any(fnmatchcase(path, pattern) for path in other.reads for pattern in self.writes)

    def clash(self, other: _Files) -> bool:
        """Whether both write the same files."""
        # each pattern ends in at most one star, so that one matches the other where they share a file
        return any(fnmatchcase(a, b) or fnmatchcase(b, a) for a in self.writes for b in other.writes)


def waits_of(setups: Sequence[PathLike | Setup], output: PathLike | None = None) -> list[Waits]:
    """For every set-up, which of the earlier ones it waits for, so that any number at once gives what a row gives.

    Args:
        setups: in the order of the call; one that cannot be read waits for none.
        output: a folder for all results, whatever the set-ups say.
    """
    files = [_files(setup, output) for setup in setups]
    found = []
    for k, own in enumerate(files):
        needs = frozenset(i for i in range(k) if files[i].feed(own))
        others = (i for i in range(k) if own.feed(files[i]) or own.clash(files[i]))
        found.append(Waits(needs.union(others), needs))
    return found


def named_files(setup: Setup, output: PathLike | None = None) -> tuple[list[Path], list[Path]]:
    """Files that a set-up reads, and those that it writes where it names them with their place."""
    base = Path(setup.source).parent
    inputs = list(_inputs(setup))
    # OpenSim opens some of them from the working directory.
    inputs += [Path(relpath(path, base)) for path in inputs if not path.exists()]
    folder = results_folder(setup, output)
    return inputs, [folder / path.name if output is not None else path for path in _named_paths(setup)]


def _files(setup: PathLike | Setup, output: PathLike | None) -> _Files:
    try:
        known = setup if isinstance(setup, Setup) else read_setup(setup)
        folder = results_folder(known, output)
        inputs, outputs = named_files(known, output)
    except (MusculoError, OSError):
        return _Files(frozenset(), ())
    base = Path(known.source).parent
    reads = {abspath(path) for path in inputs}
    loads = getattr(known, "external_loads_file", None)
    if loads is not None:
        # the table that the loads name is read, too, and may be written by another one
        reads |= {abspath(table) for path in (loads, Path(relpath(loads, base))) for table in data_files(path)}
    own = [escape(str(folder)) + f"/{name}" for name in _names(known)]
    own += [escape(str(path)) for path in outputs]
    return _Files(frozenset(reads), tuple(abspath(pattern) for pattern in own))


def _inputs(value: Any) -> Iterator[Path]:
    """All paths of a set-up and its parts but those of results."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _inputs(one)
    elif is_dataclass(value):
        for field in fields(value):
            if not field.name.startswith(("output_", "results_directory")):
                yield from _inputs(getattr(value, field.name))


def _names(setup: Setup) -> Iterator[str]:
    """Patterns of the files that go into the folder of results."""
    if isinstance(setup, InverseDynamicsSetup):
        yield escape(setup.forces_name)
        yield escape(setup.body_forces_name)
    elif isinstance(setup, IMUInverseKinematicsSetup):
        yield escape(setup.motion_name)
        yield escape(setup.errors_name)
    elif isinstance(setup, InverseKinematicsSetup):
        yield escape(f"{setup.name}_ik_") + "*"
    elif isinstance(setup, AnalyzeSetup):
        yield from (escape(f"{setup.name}_{analysis.name}_") + "*" for analysis in setup.analyses if analysis.on)


def _named_paths(setup: Setup) -> Iterator[Path]:
    """Files that the set-up names with their place."""
    parts = (setup.scaler, setup.placer) if isinstance(setup, ScaleSetup) else (setup,)
    for part in parts:
        for field in fields(part):
            path = getattr(part, field.name)
            if field.name.startswith("output_") and isinstance(path, Path):
                yield path
