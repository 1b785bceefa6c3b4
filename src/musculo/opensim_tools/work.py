"""What a tool works with while it runs: its options, the files it reads and writes, and what it has to say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from musculo.analyses.foot_loads import foot_loads
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity
from musculo.diagnostics.load_units import LOADS
from musculo.dynamics.loads.external import ExternalLoad
from musculo.errors import InvalidFile, InvalidInput, MusculoError, UnknownName
from musculo.io.electromyogram_files import read_electromyograms
from musculo.io.external_load_files import read_external_loads, write_external_loads
from musculo.io.marker_columns import read_markers
from musculo.io.orientation_files import read_orientations
from musculo.io.osim import read_osim
from musculo.io.plate_forces import read_plate_forces
from musculo.io.setup import IMUInverseKinematicsSetup, InverseKinematicsSetup, ModelToolSetup
from musculo.io.storage import read_storage
from musculo.io.tool_results import PRECISION, write_result
from musculo.like import Like, Method, Wrapping, method_of, wrapping_of
from musculo.model.body import GROUND
from musculo.model.coordinate import bare_name
from musculo.model.model import Model
from musculo.opensim_tools.preparation import NOTHING, Preparation
from musculo.opensim_tools.read_once import Stamp, read_once, stamp_of
from musculo.opensim_tools.records.named_files import ADVICE, refuse_overwriting, same_file
from musculo.results.external_loads import ExternalLoads
from musculo.results.markers import Markers
from musculo.results.orientations import Orientations
from musculo.results.table import Table

# What is being done, and which part of the whole work is done by then.
Progress = Callable[[str, float], None]
T = TypeVar("T")
# Seconds by which times that are rounded in files may be apart.
SAME_TIME = 1e-6


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
    findings: list[Finding] = field(default_factory=list)  # doubts about the input, which reports judge
    moments: dict[str, float] = field(default_factory=dict)  # the largest that the motion needs, by coordinate [N m, N]
    overwrite: bool = False  # whether results may take the place of inputs
    results: list[Path] = field(default_factory=list)  # of an earlier run, which this one reads before it replaces them
    hashes: dict[str, str] = field(default_factory=dict)  # of the content that was read, by absolute path
    stamps: dict[Path, Stamp] = field(default_factory=dict)  # of inputs when they were first asked for
    penalties: dict[str, float] = field(default_factory=dict)  # the largest of lengths, by muscle [m]
    scaling: dict[str, Any] = field(default_factory=dict)  # factors, measured distances and markers, for the page

    @property
    def of_file(self) -> bool:
        """Whether a file asks for it, whose meaning is OpenSim's, rather than flags or a call."""
        return Path(self.source).is_file()

    @property
    def like(self) -> Like | None:
        """Whose methods, as functions take it."""
        return None if self.exact else "opensim"

    @property
    def wrapping(self) -> Wrapping:
        """How muscles run over surfaces: exactly, or as in OpenSim."""
        return wrapping_of(self.like, None)

    @property
    def method(self) -> Method:
        """By which definitions: the exact ones, or OpenSim's own."""
        return method_of(self.like, None)

    # --- reading ----------------------------------------------------------------------------------------------------
    def model(self, path: Path | None) -> Model:
        # OpenSim rounds joint frames and inertias of old files when it brings them up to date.
        model = self._input(path, "model_file", partial(read_osim, opensim_rounding=not self.exact))
        if model.contact_geometries:
            from musculo.forces.contact_foundation import mesh_files

            for mesh in mesh_files(model):
                self.used(mesh)
        shared = told_apart(model)
        if shared:
            self.note(
                f"coordinates of one name in several joints have the joint in front of it in results: "
                f"{', '.join(shared)}; OpenSim writes the name alone, in several columns"
            )
        return model

    def table(self, path: Path | None, what: str, prepare: Preparation = NOTHING) -> Table:
        table = prepare.motion(self._input(path, what, read_storage))
        self.notes += [f"{path}: {note}" for note in table.notes]
        return table

    def markers(
        self, path: Path | None, what: str = "marker_file", prepare: Preparation = NOTHING, model: Model | None = None
    ) -> Markers:
        """Markers as they are used; by the names of the model, where it is given."""
        markers = prepare.markers(self._input(path, what, partial(read_markers, up=prepare.up)))
        if model is not None:
            markers = markers.named_like(model.marker_names)
        self.notes += [f"{path}: {note}" for note in markers.notes]
        return markers

    def signals(self, path: Path) -> Table:
        """Electromyograms of a file."""
        return self._input(path, "emg", read_electromyograms)

    def orientations(self, path: Path | None, what: str, rotations: tuple[float, float, float]) -> Orientations:
        found = self._input(path, what, partial(read_orientations, sensor_to_opensim_rotations=rotations))
        self.notes += [f"{path}: {note}" for note in found.notes]
        return found

    def loads(
        self, path: Path | None, model: Model, prepare: Preparation = NOTHING, motion: Table | None = None
    ) -> ExternalLoads | None:
        """External loads of a file; plates of a recording, as loads on the feet that a motion puts on them."""
        if path is None:
            return None
        if motion is not None and not self.of_file and path.suffix.lower() != ".xml":
            return self._loads_of_plates(path, model, prepare, motion)
        # OpenSim takes columns for x, y, z by their order, and switches of older layouts for nothing.
        reader = partial(read_external_loads, by_position=not self.exact, obsolete_flags=self.exact)
        loads = prepare.acting(self._input(path, "external_loads_file", reader))
        data = Path(loads.table.source)
        self.used(data)
        self.notes += [f"{data if note in loads.table.notes else path}: {note}" for note in loads.notes]
        self._say_order(loads)
        return self._in_known_frames(loads, model)

    def _loads_of_plates(self, path: Path, model: Model, prepare: Preparation, motion: Table) -> ExternalLoads:
        """Which foot stood on which plate; the loads are also written, for steps that want them as a file."""
        forces = self._input(path, "external_loads_file", partial(read_plate_forces, up=prepare.up))
        q = motion.in_radians(model).coordinates(model)
        feet = prepare.feet or None
        found = foot_loads(model, motion.time, q, forces, feet=feet, plates=dict(prepare.plates))
        self.notes += [f"{path}: {note}" for note in (*forces.notes, *found.in_words)]
        self.tell(found.findings)
        target = self.target(f"{Path(motion.source or path).stem.removesuffix('_ik')}_grf.xml")
        write_external_loads(found.loads, target)
        for one in (target, target.with_suffix(".mot")):
            self.wrote(one)
        # as it is read from the file, so that whoever reads that gets the same numbers
        return prepare.acting(read_external_loads(target))

    def _in_known_frames(self, loads: ExternalLoads, model: Model) -> ExternalLoads:
        """Loads that are expressed in frames that the model lacks: in ground, as in OpenSim; exact refuses them."""
        if self.exact or not self.of_file:
            return loads
        forces = []
        for force in loads.forces:
            lost = [frame for frame in (force.force_in, force.point_in) if not _has_frame(model, frame)]
            for frame in dict.fromkeys(lost):
                self.trouble(
                    f"{loads.source}: external force {force.name!r} is expressed in {frame!r}, which the model lacks: "
                    "it is read as expressed in ground, as OpenSim does"
                )
            force_in, point_in = (GROUND if frame in lost else frame for frame in (force.force_in, force.point_in))
            forces.append(replace(force, force_in=force_in, point_in=point_in))
        return replace(loads, forces=tuple(forces))

    def _say_order(self, loads: ExternalLoads) -> None:
        """Columns of loads that do not stand in the order x, y, z, and how they are used."""
        misplaced = loads.misplaced
        for order in dict.fromkeys(told for told, _ in misplaced.values()):
            found = {name: apart for name, (told, apart) in misplaced.items() if told == order}
            columns = f"{loads.table.source}: the columns {', '.join(map(repr, found))}"
            if not order:
                self.note(f"{columns} have names that do not tell x, y, z, and are used in their order")
            elif self.exact:
                self.note(f"{columns} are {order} in this order, and are used by their names")
            else:
                text = (
                    f"{columns} are {order} by their names, and are used as x, y, z, as OpenSim does: wrong by up to "
                    f"{max(found.values()):.4g} (--exact goes by the names)"
                )
                self.tell([Finding(text, Severity.WRONG, LOADS)])

    def used(self, path: Path) -> None:
        """Remember a file that the results depend on."""
        if path not in self.read:
            self.read.append(path)
            self.stamps[path] = stamp_of(path)

    def needed(self, path: Path, what: str) -> None:
        """Remember an input; one that is missing is named with the set-up file and the property that name it."""
        if self.of_file and not path.exists():
            raise InvalidFile(
                f"{self.source}: there is no file {path}, which <{what}> names; paths count from the folder of the "
                "set-up file"
            )
        self.used(path)

    def _input(self, path: Path | None, what: str, reader: Callable[[Path], T]) -> T:
        if path is None:
            raise InvalidInput(f"{self.source}: the set-up names no <{what}>; add it")
        # OpenSim opens some of them from the working directory.
        here = Path(os.path.relpath(path, Path(self.source).parent)) if not path.exists() else path
        found = here if here.exists() else path
        self.needed(found, what)
        return read_once(reader, found)

    def check_span(
        self, span: tuple[float, float], time: FloatArray, recording: str, opensim_refuses: bool = False
    ) -> None:
        """Refuse a range of time that a recording has nothing of; OpenSim mostly takes the frame at the nearer end.

        A range that reaches beyond the recording by more than a frame is reported.
        """
        start, end = span
        if len(time) == 0:
            return
        if not (start > time[-1] + SAME_TIME or end < time[0] - SAME_TIME):
            step = float(np.median(np.diff(time))) if len(time) > 1 else 0.0
            if -np.inf < start < time[0] - step - SAME_TIME or np.inf > end > time[-1] + step + SAME_TIME:
                self.note(
                    f"the time range {start:g} to {end:g} s reaches beyond {recording}, {time[0]:g} to {time[-1]:g} s; "
                    "nothing is known there"
                )
            return
        said = f"the time range {start:g} to {end:g} s lies outside {recording}, {time[0]:g} to {time[-1]:g} s"
        if opensim_refuses or not self.of_file:
            raise InvalidInput(f"{said}; give a range inside it")
        # OpenSim's filter reflects half a recording at both ends, which its inverse dynamics then takes for frames
        self.trouble(f"{said}: results are of the nearest frames, as OpenSim's are, and have no meaning there")

    def asked_span(
        self,
        setup: InverseKinematicsSetup | IMUInverseKinematicsSetup | ModelToolSetup,
        time: FloatArray,
        recording: str,
    ) -> tuple[float, float]:
        """The range of time that is asked for; where a file states no end OpenSim has its own, and exact has none."""
        if isinstance(setup, ModelToolSetup):
            what, stated, (start, end) = "final_time", setup.states_final_time, (setup.initial_time, setup.final_time)
        else:
            what, stated, (start, end) = "time_range", setup.states_time_range, setup.time_range
        if self.of_file and not stated and len(time) and time[-1] > end + SAME_TIME:
            if self.exact:
                return start, np.inf
            self.trouble(
                f"the set-up states no {what}, and OpenSim then stops at {end:g} s; so does this, though "
                f"{recording} lasts until {time[-1]:g} s: state it, or take all of the recording (--exact)"
            )
        return start, end

    def nothing_shared(self, said: str) -> None:
        """Refuse inputs that have no time in common; OpenSim continues with what lies nearest."""
        if self.exact or not self.of_file:
            raise InvalidInput(f"{said}; are both of the same trial, and do their times begin at the same instant?")
        self.trouble(f"{said}: what is computed with them, as OpenSim does, means nothing")

    def advised_span(self, first: float, last: float) -> str:
        """How to ask for a span of time, in the words of a set-up file or of flags."""
        if self.of_file:
            return f"choose a span within it: set the time range of the set-up to {first:g} to {last:g} s"
        return f"choose a span within it (--time {first:g}:{last:g})"

    # --- writing ----------------------------------------------------------------------------------------------------
    def target(self, path: Path | str) -> Path:
        """Where a result goes, its folder made: a name goes into the folder of results, a path where it points."""
        wanted = self.folder / Path(path).name if self.moved or isinstance(path, str) else path
        make_folder(wanted.parent)
        if not self.overwrite and not any(same_file(wanted, one) for one in (*self.files, *self.results)):
            refuse_overwriting([wanted], [Path(self.source), *self.read], ADVICE)
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
        if path not in self.files:  # a later step may write over what an earlier one wrote
            self.files.append(path)

    # --- saying -----------------------------------------------------------------------------------------------------
    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def tell(self, findings: Iterable[Finding]) -> None:
        """What checks found: notes, and troubles where part of the results means nothing."""
        for one in findings:
            if Severity.NOTE < one.severity < Severity.TROUBLE and one not in self.findings:
                self.findings.append(one)
            (self.trouble if one.severity is Severity.TROUBLE else self.note)(one.text)

    def looked_at(self, one: Finding) -> None:
        """A finding that the summary shows even where all is well, since the user asked."""
        self.findings.append(one)
        self.note(one.text)

    def trouble(self, text: str) -> None:
        if text not in self.troubles:
            self.troubles.append(text)

    @contextmanager
    def beside(self, what: str) -> Iterator[None]:
        """A computation that only serves to compare `what`: where it fails a note says why, and the run goes on."""
        try:
            yield
        except Exception as error:  # results do not depend on it, whatever it is
            why = str(error) if isinstance(error, MusculoError) else f"{type(error).__name__}: {error}"
            self.note(f"could not compare {what}: {why}")


def _has_frame(model: Model, frame: str) -> bool:
    try:
        model.placement(frame)
    except UnknownName:
        return False
    return True


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be made before any work; it is made when the first file is written."""
    nearest = next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        why = "no permission to write there" if nearest.is_dir() else f"{nearest} is a file"
        raise InvalidInput(f"the folder {folder} cannot be written into ({why}); choose another one")


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"the folder {folder} cannot be made ({error.strerror}); choose another one") from None


def loads_at(loads: ExternalLoads | None, time: FloatArray) -> list[ExternalLoad]:
    """External loads at the frames of a motion."""
    if loads is None:
        return []
    return [ExternalLoad(*series) for series in loads.at(time)]


def by_name(loads: ExternalLoads | None) -> ExternalLoads | None:
    """Loads whose columns are used by their names, where they were not and the names tell another order."""
    if loads is None or not loads.by_position:
        return loads
    orders = [told for told, _ in loads.misplaced.values()]
    return replace(loads, by_position=False) if orders and all(orders) else loads


def told_apart(model: Model) -> list[str]:
    """Coordinates of one name in several joints, which are called `joint/name`."""
    own = ((joint.name, one.name) for joint in model.joints for one in joint.coordinates)
    return [name for joint, name in own if bare_name(joint, name) != name]


def largest(names: Sequence[str], ours: FloatArray, theirs: FloatArray) -> tuple[float, str]:
    """The largest difference of two tables (frames, columns), and its column."""
    apart = np.abs(ours - theirs).max(axis=0, initial=0.0)
    k = int(apart.argmax())
    return float(apart[k]), names[k]
