"""What a tool works with while it runs: its options, the files it reads and writes, and what it has to say."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from musculo.compile.frames import FloatArray
from musculo.dynamics.external import ExternalLoad
from musculo.errors import InvalidInput
from musculo.io.external_loads import read_external_loads
from musculo.io.markers import read_markers
from musculo.io.osim import read_osim
from musculo.io.storage import read_storage
from musculo.io.tool_results import PRECISION, write_result
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads
from musculo.results.markers import Markers
from musculo.results.table import Table

# What is being done, and which part of the whole work is done by then.
Progress = Callable[[str, float], None]
T = TypeVar("T")


@dataclass
class Work:
    """One run of one tool."""

    source: str  # the set-up file
    folder: Path  # where results go unless the set-up names a path of its own
    exact: bool = False
    moved: bool = False  # results go to `folder` whatever the set-up says
    compare: bool = True
    threads: int | None = None
    precision: int = PRECISION
    report: Progress = lambda what, part: None
    read: list[Path] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    # --- reading ----------------------------------------------------------------------------------------------------
    def model(self, path: Path | None) -> Model:
        # OpenSim rounds joint frames and inertias of old files when it brings them up to date.
        return self._input(path, "model_file", partial(read_osim, opensim_rounding=not self.exact))

    def table(self, path: Path | None, what: str) -> Table:
        table = self._input(path, what, read_storage)
        self.notes += [f"{path}: {note}" for note in table.notes]
        return table

    def markers(self, path: Path | None, what: str = "marker_file") -> Markers:
        return self._input(path, what, read_markers)

    def loads(self, path: Path | None) -> ExternalLoads | None:
        if path is None:
            return None
        loads = self._input(path, "external_loads_file", read_external_loads)
        self.used(Path(loads.table.source))
        self.notes += [f"{path}: {note}" for note in loads.notes]
        return loads

    def used(self, path: Path) -> None:
        """Remember a file that the results depend on."""
        if path not in self.read:
            self.read.append(path)

    def _input(self, path: Path | None, what: str, reader: Callable[[Path], T]) -> T:
        if path is None:
            raise InvalidInput(f"{self.source}: the set-up names no <{what}>; add it")
        # OpenSim opens some of them from the working directory.
        here = Path(os.path.relpath(path, Path(self.source).parent)) if not path.exists() else path
        found = here if here.exists() else path
        self.used(found)
        return reader(found)

    # --- writing ----------------------------------------------------------------------------------------------------
    def target(self, path: Path | str) -> Path:
        """Where a result goes, its folder made: a name goes into the folder of results, a path where it points."""
        wanted = self.folder / Path(path).name if self.moved or isinstance(path, str) else path
        make_folder(wanted.parent)
        return wanted

    def write(
        self,
        path: Path | str,
        title: str,
        time: FloatArray,
        names: Sequence[str],
        values: FloatArray,
        description: str = "",
        degrees: bool = False,
    ) -> None:
        """A table in OpenSim's layout."""
        target = self.target(path)
        flat = np.asarray(values, dtype=float).reshape(len(time), -1)
        write_result(
            target, title, time, names, flat, description=description, degrees=degrees, precision=self.precision
        )
        self.wrote(target)

    def wrote(self, path: Path) -> None:
        self.files.append(path)

    # --- saying -----------------------------------------------------------------------------------------------------
    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def trouble(self, text: str) -> None:
        if text not in self.troubles:
            self.troubles.append(text)


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"the folder {folder} cannot be made ({error.strerror}); choose another one") from None


def loads_at(loads: ExternalLoads | None, model: Model, time: FloatArray) -> list[ExternalLoad]:
    """External loads at the frames of a motion."""
    if loads is None:
        return []
    return [ExternalLoad(*series) for series in loads.at(time)]


def listed_frames(frames: Sequence[int], time: FloatArray, most: int = 5) -> str:
    """Frames by their times, for a sentence."""
    shown = ", ".join(f"{time[k]:g}" for k in frames[:most])
    return f"{shown} s" + (f" and {len(frames) - most} more" if len(frames) > most else "")


def largest(names: Sequence[str], ours: FloatArray, theirs: FloatArray) -> tuple[float, str]:
    """The largest difference of two tables (frames, columns), and its column."""
    apart = np.abs(ours - theirs).max(axis=0, initial=0.0)
    k = int(apart.argmax())
    return float(apart[k]), names[k]
