"""Marker trajectories: meters, ground with y up, NaN where a marker was not visible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.results.frozen import check_names, frozen, frozen_time, mapped_names, window
from musculo.results.labeled_arrays import AXES, labeled
from musculo.results.provenance import Provenance
from musculo.results.table import Table
from musculo.signals.filters import butterworth, parts_in_words
from musculo.signals.gaps import Gap, fill_gaps, find_gaps
from musculo.signals.natural_smoothing import even_times, resample

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import xarray

FARTHEST = 1e6
"""No point is so far from the origin of a laboratory [m]; a number beyond it is a mistake of a file."""
# What stands between the name of a subject and that of a marker: of a colon there is no doubt.
_COLON, _SEPARATORS = ":", ":_-. |"
# So many names at least speak for a prefix with another separator.
_SURE = 3
# Meters in units of columns.
_METERS = {"m": 1.0, "": 1.0, "cm": 1e-2, "mm": 1e-3}
# How a note on points at the origin ends.
_ZEROS = "--zeros-as-gaps in the shell, or zeros_as_gaps() in Python, treats them as gaps"


@dataclass(frozen=True, eq=False)
class Markers:
    """Positions of markers over time.

    Args:
        time: (frames,) increasing [s].
        names: of the markers; each once.
        position: (frames, markers, 3) [m]; a marker that was not visible is NaN in all three.
        rate: frames a second as the file states it; 0 where unknown.
        notes: what a reader found odd and how it took it.
        provenance: what made the markers, if musculo did.
        source: the file.
    """

    time: FloatArray
    names: tuple[str, ...]
    position: FloatArray
    rate: float = 0.0
    notes: tuple[str, ...] = ()
    provenance: Provenance | None = None
    source: str = ""

    def __post_init__(self) -> None:
        where = self.source or "markers"
        time, names = frozen_time(self.time, where), check_names("marker", self.names, where)
        position = frozen("positions", self.position, (len(time), len(names), 3), where)
        position.setflags(write=True)  # a copy, and of large recordings one is enough
        finite = np.isfinite(position)
        with np.errstate(invalid="ignore"):
            far = np.asarray((finite & ((position > FARTHEST) | (position < -FARTHEST))).any(axis=2))
        # A point with two coordinates is no point.
        position[~finite.all(axis=2) | far] = np.nan
        position.setflags(write=False)
        notes = tuple(self.notes)
        if far.any():
            which = ", ".join(name for name, some in zip(names, far.T, strict=True) if some.any())
            notes += (
                f"{int(far.sum())} points beyond {FARTHEST:g} m ({which:.80}) are not positions: treated as gaps",
            )
        for key, value in (("time", time), ("names", names), ("position", position), ("notes", notes)):
            object.__setattr__(self, key, value)

    def __len__(self) -> int:
        return len(self.time)

    def _repr_html_(self) -> str:
        from musculo.results.notebook_figures import series_html

        seen = np.isfinite(self.position).all(axis=2).mean(axis=0)
        gaps = [f"{name} {100 * part:.0f} %" for name, part in zip(self.names, seen, strict=True) if part < 1.0]
        facts = [("always visible", "every marker")] if not gaps else [("visible only", ", ".join(gaps[:8]))]
        heights = self.position[:, :, 1]
        return series_html("Markers: heights", self.time, self.names, heights, ("m",) * len(self.names), facts)

    def __repr__(self) -> str:
        share = f", {100.0 * self.missing.mean():.2g} % missing" if self.missing.any() else ""
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "empty"
        return f"Markers({len(self.names)} markers, {len(self)} frames, {span}{share})"

    @property
    def _where(self) -> str:
        return self.source or "these markers"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """(frames, markers) where a marker was not visible."""
        return np.asarray(np.isnan(self.position[:, :, 0]))

    def marker(self, name: str) -> FloatArray:
        """The trajectory (frames, 3) of one marker [m]."""
        if name not in self.names:
            raise UnknownName("marker", name, self.names, self._where)
        return self.position[:, self.names.index(name)]

    def __getitem__(self, name: str) -> FloatArray:
        """The trajectory (frames, 3) of one marker [m], as `marker` has it."""
        return self.marker(name)

    # --- parts and names --------------------------------------------------------------------------------------------
    def pick(self, names: Iterable[str]) -> Markers:
        """Some markers, in the given order."""
        wanted = (names,) if isinstance(names, str) else tuple(names)
        columns = []
        for name in wanted:
            if name not in self.names:
                raise UnknownName("marker", name, self.names, self._where)
            columns.append(self.names.index(name))
        return replace(self, names=wanted, position=self.position[:, columns])

    def rename(self, names: Mapping[str, str] | Callable[[str], str]) -> Markers:
        """Markers under other names: a mapping from old to new, or a function of the old name."""
        return replace(self, names=mapped_names("marker", self.names, names, self._where))

    def named_like(self, known: Iterable[str]) -> Markers:
        """Markers without the name of a subject (`Subj1:RASI`), where that gives them names that are known.

        A note says so. Names stay where they fit as they are, or where nothing is gained.

        Raises:
            InvalidInput: the markers of two subjects.
        """
        wanted = dict.fromkeys(known)
        strangers = [name for name in self.names if name not in wanted]
        exact = len(self.names) - len(strangers)
        found: Counter[str] = Counter()
        for name in strangers:
            endings = (name[: -len(one)] for one in wanted if name.endswith(one) and len(one) < len(name))
            found.update(prefix for prefix in endings if prefix[-1] in _SEPARATORS)
        sure = {p: n for p, n in found.items() if n > exact and (p.endswith(_COLON) or (not exact and n >= _SURE))}
        if not sure:
            return self
        prefix, most = max(sure.items(), key=lambda one: (one[1], -len(one[0])))
        apart = [p for p in sure if not p.startswith(prefix) and not prefix.startswith(p)]
        others = [p for p in apart if 2 * sure[p] > most]
        if others:
            raise InvalidInput(
                f"{self._where} holds markers of more than one subject ({', '.join(map(repr, (prefix, *others)))} "
                "before the same names); keep those of one: markers.pick in Python, or export one subject"
            )
        new = {name: name[len(prefix) :] for name in strangers if name.startswith(prefix) and len(name) > len(prefix)}
        new = {name: short for name, short in new.items() if short not in self.names}
        note = f"{len(new)} markers were renamed: {prefix!r} before their names was dropped"
        return replace(self.rename(new), notes=(*self.notes, note))

    def between(self, start: float | None = None, end: float | None = None) -> Markers:
        """The frames from start to end [s], both included."""
        rows = window(self.time, start, end, self._where)
        return replace(self, time=self.time[rows], position=self.position[rows])

    def rotated(self, R: ArrayLike) -> Markers:
        """Positions in another ground: p_new = R p (3, 3)."""
        rotation = np.asarray(R, dtype=float)
        if rotation.shape != (3, 3) or not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9):
            raise InvalidInput("R is not a rotation; give a (3, 3) matrix with orthonormal rows")
        return replace(self, position=self.position @ rotation.T)

    # --- gaps -------------------------------------------------------------------------------------------------------
    def gaps(self) -> tuple[Gap, ...]:
        """Where markers were not visible, marker by marker."""
        return find_gaps(self.time, self.missing, self.names)

    def report(self) -> tuple[str, ...]:
        """What to know before use: gaps, and points exactly at the origin, which may be gaps of another spelling."""
        found = []
        gaps = self.gaps()
        if gaps:
            longest = max(gaps, key=lambda gap: gap.frames)
            count = len({gap.channel for gap in gaps})
            found.append(f"{len(gaps)} gaps in {count} markers, the longest {longest}; markers.gaps() lists them")
        zeros = (self.position == 0.0).all(axis=2)
        if zeros.any():
            which = ", ".join(name for name, some in zip(self.names, zeros.any(axis=0), strict=True) if some)
            found.append(f"{int(zeros.sum())} points are exactly at the origin ({which:.80}); {_ZEROS}")
        return tuple(found)

    def zeros_as_gaps(self) -> Markers:
        """Points exactly at the origin as gaps: some systems write them for markers that they did not see."""
        at_origin = (self.position == 0.0).all(axis=2)
        position = np.array(self.position)
        position[at_origin] = np.nan
        note = f"{int(at_origin.sum())} points at the origin were treated as gaps"
        kept = tuple(one for one in self.notes if not one.endswith(_ZEROS))  # which it answers
        return replace(self, position=position, notes=(*kept, note) if at_origin.any() else kept)

    def fill(self, longest: int) -> Markers:
        """Gaps of at most `longest` frames filled by cubic splines; longer ones and those at the ends stay."""
        position = fill_gaps(self.time, self.position, longest)
        count = int((np.isfinite(position[:, :, 0]) & self.missing).sum())
        notes = [f"{count} missing points were filled by splines, in gaps of at most {longest} frames"] if count else []
        left = find_gaps(self.time, np.isnan(position[:, :, 0]), self.names)
        if left:
            worst = max(left, key=lambda gap: gap.frames)
            notes.append(f"{len(left)} gaps, the longest {worst}, exceed {longest} frames or are at an end, and stay")
        return replace(self, position=position, notes=(*self.notes, *notes))

    # --- signals ----------------------------------------------------------------------------------------------------
    def lowpass(self, cutoff: float, order: int = 4) -> Markers:
        """Filtered trajectories, piece by piece between gaps; see `musculo.signals.lowpass`."""
        position = butterworth(self.time, self.position, cutoff, order)
        note = f"low-pass filtered at {cutoff:g} Hz (butterworth, order {order}){parts_in_words(self.time)}"
        return replace(self, position=position, notes=(*self.notes, note))

    def resample(self, rate: float) -> Markers:
        """Trajectories at another rate [1/s], by quintic splines; fill the gaps first."""
        new = even_times(self.time, rate)
        return replace(self, time=new, position=resample(self.time, self.position, new), rate=float(rate))

    # --- labels -----------------------------------------------------------------------------------------------------
    def to_table(self) -> Table:
        """Three columns a marker: `RASI_x`, `RASI_y`, `RASI_z` [m]."""
        names = tuple(f"{name}_{axis}" for name in self.names for axis in AXES)
        values = self.position.reshape(len(self), -1)
        units = ("m",) * len(names)
        return Table(self.time, names, values, False, units, "markers", {}, self.notes, self.provenance, self.source)

    @classmethod
    def from_table(cls, table: Table) -> Markers:
        """Markers of a table with three columns each, `RASI_x`, `RASI_y`, `RASI_z`, as `to_table` makes them.

        Columns are in meters, or in mm or cm where the table's `units` say so; those of no marker are left out.
        """
        known = dict(zip(table.names, table.values.T, strict=True))
        units = dict(zip(table.names, table.units, strict=True)) if table.units else {}
        stems = (name.removesuffix("_x") for name in table.names if name.endswith("_x"))
        names = [stem for stem in stems if {f"{stem}_{axis}" for axis in AXES} <= known.keys()]
        if not names:
            raise InvalidInput(
                f"{table.source or 'the table'} has no markers: three columns each, such as RASI_x, RASI_y and RASI_z; "
                f"it has {', '.join(table.names[:6])}"
            )
        own = [units.get(f"{name}_{axis}", "m") for name in names for axis in AXES]
        odd = {unit for unit in own if unit not in _METERS}
        if odd:
            raise InvalidInput(f"columns of markers are in {', '.join(sorted(odd))}; give them in m, cm or mm")
        columns = [[_METERS[units.get(f"{n}_{a}", "m")] * known[f"{n}_{a}"] for a in AXES] for n in names]
        position = np.moveaxis(np.array(columns), 2, 0)
        rate = 0.0 if len(table) < 2 else float(1.0 / np.median(np.diff(table.time)))
        return cls(table.time, tuple(names), position, rate, table.notes, table.provenance, table.source)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame by time with three columns a marker: `RASI_x`, `RASI_y`, `RASI_z` [m]."""
        return self.to_table().to_pandas()

    @classmethod
    def from_pandas(cls, frame: pandas.DataFrame) -> Markers:
        """Markers of a data frame by time, with columns as `to_pandas` has them, or pairs of marker and axis [m]."""
        if frame.columns.nlevels == 2:
            frame = frame.set_axis([f"{marker}_{str(axis).lower()}" for marker, axis in frame.columns], axis=1)
        return cls.from_table(Table.from_pandas(frame))

    @classmethod
    def from_xarray(cls, array: xarray.DataArray) -> Markers:
        """Markers of labeled positions (time, marker, axis) [m], in any order of these."""
        if set(array.dims) != {"time", "marker", "axis"}:
            raise InvalidInput(f"the array has the dimensions {array.dims}; markers are labeled by time, marker, axis")
        return cls.from_table(Table.from_xarray(array.transpose("time", "marker", "axis")))

    def to_xarray(self) -> xarray.DataArray:
        """Labeled positions (time, marker, axis) [m]."""
        labels = {"time": self.time, "marker": self.names, "axis": AXES}
        return labeled("marker_position", self.position, labels, "m", self.provenance)


def markers_of(value: Any) -> Any:
    """The markers of a table, a data frame or a labeled array of positions; anything else is returned as it is."""
    if isinstance(value, Table):
        return Markers.from_table(value)
    if getattr(value, "columns", None) is not None and hasattr(value, "index"):
        return Markers.from_pandas(value)
    if {"time", "marker"} <= set(getattr(value, "dims", ())):
        return Markers.from_xarray(value)
    return value
