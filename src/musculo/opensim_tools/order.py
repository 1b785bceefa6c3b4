"""Which set-ups of one call must wait for others: those that share files, where at least one of the two writes.

Where the call names a folder for all results, what earlier set-ups write is read from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from glob import escape
from os.path import realpath
from pathlib import Path
from typing import NamedTuple

from musculo.errors import InvalidInput, MusculoError
from musculo.io.setup import Setup, read_setup
from musculo.io.text import PathLike
from musculo.opensim_tools.records.named_files import (
    files_there,
    places_of,
    plain,
    read_files,
    results_folder,
    same_file,
    with_inputs,
    written_files,
)
from musculo.opensim_tools.records.record import made_by


class Waits(NamedTuple):
    """Of one set-up, the places of earlier ones in the call."""

    after: frozenset[int]  # those that must have ended
    needs: frozenset[int]  # those of them that write what it reads


class _Files(NamedTuple):
    """Absolute paths of inputs, and patterns of those of outputs."""

    reads: frozenset[str]
    writes: tuple[str, ...]
    named: tuple[str, ...]  # outputs where the set-up wants them, which others may read

    def feed(self, other: _Files) -> bool:
        """Whether the other one reads what this one writes, or would write were it not for another folder."""
        return _match(other.reads, (*self.writes, *self.named))

    def clash(self, other: _Files) -> str:
        """A file, or the beginning of the names of some, that both write; empty where they share none."""
        for a in self.writes:
            for b in other.writes:
                # analyses whose names begin alike have files of their own
                same = a == b or (fnmatchcase(plain(a), b) and not a.endswith("*"))
                if same or (fnmatchcase(plain(b), a) and not b.endswith("*")):
                    return plain(a if not a.endswith("*") else b)
        return ""


def _match(paths: Iterable[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path, pattern) for path in paths for pattern in patterns)


def _without_links(pattern: str) -> str:
    """A pattern of the file that is written in the end."""
    star = "*" if pattern.endswith("*") else ""
    return escape(realpath(plain(pattern.removesuffix(star)))) + star


def refuse_clashes(setups: Sequence[PathLike | Setup], output: PathLike | None = None) -> None:
    """Raise where two set-ups write the same file: of the results of one nothing would be left."""
    files = [_files(setup, output) for setup in setups]
    for k, own in enumerate(files):
        for i in range(k):
            shared = own.clash(files[i])
            if shared:
                first, second = (one.source if isinstance(one, Setup) else str(one) for one in (setups[i], setups[k]))
                twice = f"{first} is given twice and writes" if first == second else f"{first} and {second} both write"
                raise InvalidInput(
                    f"{twice} {shared}; give results other names or folders, or run the set-ups one by one"
                )


def refuse_replacing(setups: Sequence[PathLike | Setup], output: PathLike | None, page: str) -> None:
    """Raise where a set-up would replace what was there before and another one reads, or a page what any of them needs.

    What the same set-up left there in an earlier run is a result, and may be replaced.

    Args:
        setups: of one call.
        output: a folder for all results, whatever the set-ups say.
        page: the name of the page that comes into each folder of results; empty for none.
    """
    known = [one for one in (_read(setup) for setup in setups) if one is not None]
    reads = [[path for path in read_files(one) if path.is_file()] for one in known]
    advice = "give another name, or --force to overwrite it"
    for k, one in enumerate(known):
        own = made_by(one, output)
        there = [path for path in files_there(one, output) if path.is_file() and realpath(path) not in own]
        for i, other in enumerate(known):
            for path in there if i != k else ():
                if any(same_file(path, read) for read in reads[i]):
                    raise InvalidInput(
                        f"{_name(one)} would write over {path}, which was there before and which {_name(other)} reads; "
                        f"{advice}"
                    )
        place = results_folder(one, output) / page
        for i, other in enumerate(known) if page else ():
            if any(same_file(place, read) for read in reads[i]):
                raise InvalidInput(
                    f"the page {place} would replace what {_name(other)} reads; {advice}, or --no-report"
                )
            if _match([realpath(place)], _outputs(other, output)):
                raise InvalidInput(
                    f"the page {place} would replace a result of {_name(other)}; {advice}, or --no-report"
                )


def _read(setup: PathLike | Setup) -> Setup | None:
    try:
        return setup if isinstance(setup, Setup) else read_setup(setup)
    except (MusculoError, OSError):
        return None  # told of when it is to run


def _name(setup: Setup) -> str:
    return setup.source or setup.name


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
        others = (i for i in range(k) if _match(files[i].reads, own.writes) or own.clash(files[i]))
        found.append(Waits(needs.union(others), needs))
    return found


def _files(setup: PathLike | Setup, output: PathLike | None) -> _Files:
    try:
        known = setup if isinstance(setup, Setup) else read_setup(setup)
        reads, writes = read_files(known), _outputs(known, output)
        named = writes if output is None else _outputs(known)
    except (MusculoError, OSError):
        return _Files(frozenset(), (), ())
    return _Files(frozenset(realpath(path) for path in reads), writes, named)


def _outputs(setup: Setup, output: PathLike | None = None) -> tuple[str, ...]:
    return tuple(_without_links(pattern) for pattern in written_files(setup, output))


class Written(NamedTuple):
    """A set-up that has run, and the files that it left."""

    setup: PathLike | Setup
    files: tuple[Path, ...]


def redirected(setup: Setup, earlier: Iterable[Written], output: PathLike | None) -> Setup:
    """The set-up that reads from `output` what earlier ones would have written elsewhere without it; notes say so.

    What an earlier one did not write in the end is read from where the set-up says.

    Args:
        setup: the one that is about to run.
        earlier: those of the same call that have run before it, in order.
        output: the folder for all their results.
    """
    if output is None:
        return setup
    found: dict[Path, Path] = {}
    notes: dict[Path, str] = {}
    for one in earlier:
        known = one.setup if isinstance(one.setup, Setup) else read_setup(one.setup)
        named, left = _outputs(known), {realpath(file) for file in one.files}

        def follow(path: Path, known: Setup = known, named: Sequence[str] = named, left: set[str] = left) -> Path:
            target = Path(output) / path.name
            if realpath(target) in left and _match([realpath(place) for place in places_of(path, setup)], named):
                found[path] = target
                notes[path] = f"{path} is read from {target}, where {known.source or known.name} wrote it"
            return path

        with_inputs(setup, follow)
    if not found:
        return setup
    changed: Setup = with_inputs(setup, lambda path: found.get(path, path))
    return replace(changed, notes=(*setup.notes, *notes.values()))
