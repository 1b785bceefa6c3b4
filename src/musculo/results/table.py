"""A table over time: named columns, as OpenSim's .mot and .sto files hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.like import Like
from musculo.results.frozen import check_names, frozen, frozen_time, mapped_names, window
from musculo.results.provenance import Provenance
from musculo.signals.filters import lowpass, parts_in_words
from musculo.signals.gaps import Gap, fill_gaps, find_gaps
from musculo.signals.labels import derived_unit
from musculo.signals.named_arrays import sampling_rate
from musculo.signals.natural_smoothing import even_times, resample, time_derivative

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import xarray

    from musculo.model.model import Model

LARGEST = 1e100
"""No quantity is so large in any unit; what is computed from it would overflow."""
RADIANS = np.pi / 180.0


# Last words of OpenSim's names of states: `knee_angle_r/value` is no coordinate of a joint `knee_angle_r`.
_STATES = frozenset(
    ("value", "speed", "activation", "fiber_length", "fiber_velocity", "normalized_tendon_force", "excitation")
)
_STAY = "and stay"  # how notes of gaps end that filling leaves


@dataclass(frozen=True, eq=False)
class Table:
    """Columns over time.

    Args:
        time: (frames,) increasing [s].
        names: of the columns; each once.
        values: (frames, columns); NaN is a gap.
        degrees: whether angles are in degrees: which columns are angles, only a model knows (`in_radians(model)`).
        units: of the columns, or empty where unknown.
        name: the title of a file.
        header: what else the header of a file said.
        notes: what a reader found odd and how it took it.
        provenance: what made the table, if musculo did.
        source: the file.
    """

    time: FloatArray
    names: tuple[str, ...]
    values: FloatArray
    degrees: bool = False
    units: tuple[str, ...] = ()
    name: str = ""
    header: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    provenance: Provenance | None = None
    source: str = ""

    def __post_init__(self) -> None:
        where = self.source or self.name or "a table"
        time, names = frozen_time(self.time, where), check_names("column", self.names, where)
        values = frozen("values", self.values, (len(time), len(names)), where)
        for key, value in (("time", time), ("names", names), ("values", values), ("units", tuple(self.units))):
            object.__setattr__(self, key, value)
        if self.units and len(self.units) != len(names):
            raise InvalidInput(f"{where}: {len(self.units)} units for {len(names)} columns; give one each, or none")

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        angles = ", angles in degrees" if self.degrees else ""
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "empty"
        return f"Table({self.name!r}: {len(self)} frames, {len(self.names)} columns, {span}{angles})"

    def _repr_html_(self) -> str:
        from musculo.results.notebook_figures import series_html

        facts = [("angles", "in degrees")] if self.degrees else []
        return series_html(self.name or "Table", self.time, self.names, self.values, self.units, facts)

    # --- look-up ----------------------------------------------------------------------------------------------------
    def __getitem__(self, name: str) -> FloatArray:
        """One column (frames,), by the names that `find` knows: `table["knee_angle_r"]`."""
        if not isinstance(name, str):
            raise InvalidInput(f"a table is asked for columns by name, not {name!r}; rows are table.values[k]")
        return self.column(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @property
    def _where(self) -> str:
        return self.source or f"table {self.name!r}"

    @property
    def rate(self) -> float:
        """Frames a second; an error where the frames are uneven."""
        return sampling_rate(self.time)

    def find(self, name: str) -> int | None:
        """The column of a quantity, by its name or by OpenSim's rules for the names of states, or None.

        `/jointset/knee_r/knee_angle_r/value` is looked for under its whole path, without leading parts, as
        `knee_angle_r` (`.../speed` as `knee_angle_r_u`, `/forceset/m/activation` as `m.activation`); and a coordinate
        or muscle `knee_angle_r` also under the path that ends in `/knee_angle_r/value` or `/knee_angle_r`, or under
        `knee_angle_r/value`, as predicted motions call it. A coordinate `joint/name`, of whose name there are several
        in the model, is found by its own name and path alone.

        Raises:
            InvalidInput: there is a column for the mere name of such a coordinate.
        """
        index = {column: k for k, column in enumerate(self.names)}
        parts = name.strip("/").split("/")
        if len(parts) == 2 and not name.startswith("/") and parts[1] not in _STATES:
            return self._find_of_several(name, index)
        asked = [name, *("/".join(parts[k:]) for k in range(len(parts)))]
        if len(parts) > 1:
            owner, what = parts[-2:]
            asked.append({"value": owner, "speed": f"{owner}_u"}.get(what, f"{owner}.{what}"))
        for one in asked:
            if one in index:
                return index[one]
        if len(parts) == 1:
            for ending in (f"/{name}/value", f"/{name}"):
                found = [k for k, column in enumerate(self.names) if f"/{column}".endswith(ending)]
                if len(found) == 1:
                    return found[0]
        return None

    def _find_of_several(self, name: str, index: dict[str, int]) -> int | None:
        """The column of a coordinate `joint/name`."""
        for ending in (f"/{name}/value", f"/{name}"):
            found = [k for column, k in index.items() if f"/{column}".endswith(ending)]
            if found:
                return found[0]
        joint, bare = name.split("/")
        if bare in index:
            raise InvalidInput(
                f"{self._where}: column {bare!r} may be of several coordinates of that name, {name!r} one of them; "
                f"call the columns by their paths (/jointset/{joint}/{bare}/value), or as here ({name})"
            )
        return None

    def column(self, name: str) -> FloatArray:
        """One column (frames,); see `find` for the names it goes by."""
        k = self.find(name)
        if k is None:
            raise UnknownName("column", name, self.names, self._where)
        return self.values[:, k]

    # --- parts and names --------------------------------------------------------------------------------------------
    def pick(self, names: Iterable[str]) -> Table:
        """Some columns, in the given order."""
        columns = []
        for name in (names,) if isinstance(names, str) else tuple(names):
            if name not in self.names:
                raise UnknownName("column", name, self.names, self._where)
            columns.append(self.names.index(name))
        return self._columns(columns)

    def drop(self, names: Iterable[str]) -> Table:
        """All columns but some."""
        gone = {names} if isinstance(names, str) else set(names)
        for name in gone:
            if name not in self.names:
                raise UnknownName("column", name, self.names, self._where)
        return self._columns([k for k, name in enumerate(self.names) if name not in gone])

    def _columns(self, columns: list[int]) -> Table:
        units = tuple(self.units[k] for k in columns) if self.units else ()
        return replace(self, names=tuple(self.names[k] for k in columns), values=self.values[:, columns], units=units)

    def rename(self, names: Mapping[str, str] | Callable[[str], str]) -> Table:
        """Columns under other names: a mapping from old to new, or a function of the old name."""
        return replace(self, names=mapped_names("column", self.names, names, self._where))

    def between(self, start: float | None = None, end: float | None = None) -> Table:
        """The frames from start to end [s], both included."""
        rows = window(self.time, start, end, self._where)
        return replace(self, time=self.time[rows], values=self.values[rows])

    # --- angles -----------------------------------------------------------------------------------------------------
    def in_radians(self, model: Model) -> Table:
        """Angles in radians: the columns of the model's rotational coordinates are converted if the file says degrees.

        Coordinates of the "coupled" kind (`knee_angle_r_beta`) stay as they are: OpenSim writes them in radians.
        """
        return self._converted(model, RADIANS, False) if self.degrees else self

    def in_degrees(self, model: Model) -> Table:
        """Angles in degrees, as OpenSim's .mot files hold them; the inverse of `in_radians`."""
        return self if self.degrees else self._converted(model, 1.0 / RADIANS, True)

    def _converted(self, model: Model, factor: float, degrees: bool) -> Table:
        from musculo.results.angle_columns import angle_columns

        columns = angle_columns(self.names, model)
        values = np.array(self.values)
        values[:, columns] *= factor
        units = list(self.units)
        for k in columns if units else ():
            units[k] = units[k].replace("deg", "rad") if factor < 1.0 else units[k].replace("rad", "deg")
        return replace(self, values=values, degrees=degrees, units=tuple(units))

    def coordinates(self, model: Model, missing: Literal["error", "default", "zero"] = "error") -> FloatArray:
        """All coordinates of a model (frames, nq) in its order [rad, m].

        Args:
            missing: what a coordinate without a column is: "error", "default" (the model's default value, as OpenSim's
                inverse dynamics does) or "zero" (as its analyses do).
        """
        if missing not in ("error", "default", "zero"):
            raise InvalidInput(f"missing={missing!r}; known: error, default, zero")
        table = self.in_radians(model)
        q = np.zeros((len(self), len(model.coordinates)))
        for k, coordinate in enumerate(model.coordinates):
            found = table.find(coordinate.name)
            if found is not None:
                q[:, k] = table.values[:, found]
            elif missing == "error":
                raise UnknownName("column for coordinate", coordinate.name, self.names, self._where)
            elif missing == "default":
                q[:, k] = coordinate.default_value
        return q

    # --- signals ----------------------------------------------------------------------------------------------------
    def gaps(self) -> tuple[Gap, ...]:
        """Where values are missing or not finite, column by column."""
        return find_gaps(self.time, ~np.isfinite(self.values), self.names)

    def check_finite(self, columns: Iterable[int]) -> None:
        """Refuse the first of some columns that has missing values, by its name."""
        for k in columns:
            bad = ~(np.abs(self.values[:, k]) <= LARGEST)  # nor a number
            if bad.any():
                raise InvalidInput(
                    f"{self._where}: column {self.names[k]!r} has {int(bad.sum())} rows without a finite number, the "
                    f"first at {self.time[bad.argmax()]:g} s; fill the gaps "
                    f"(--fill-gaps SECONDS in the shell, table.fill in Python), or drop those rows{self._unfilled}"
                )

    @property
    def _unfilled(self) -> str:
        """What filling said of the gaps that it left."""
        return "".join(f"; {note}" for note in self.notes if note.endswith(_STAY))

    def fill(self, longest: int) -> Table:
        """Gaps of at most `longest` frames filled by cubic splines; longer ones and those at the ends stay."""
        values = fill_gaps(self.time, self.values, longest)
        count = int((np.isfinite(values) & ~np.isfinite(self.values)).sum())
        note = f"{count} missing values were filled by splines, in gaps of at most {longest} frames"
        left = find_gaps(self.time, ~np.isfinite(values), self.names)
        notes = [note] if count else []
        if left:
            worst = max(left, key=lambda gap: gap.frames)
            notes.append(f"{len(left)} gaps, the longest {worst}, exceed {longest} frames or are at an end, {_STAY}")
        return replace(self, values=values, notes=(*self.notes, *notes))

    def lowpass(self, cutoff: float | ArrayLike, order: int = 4, *, like: Like | None = None) -> Table:
        """Filtered columns; see `musculo.signals.lowpass`. With `like="opensim"` other frames come back."""
        self.check_finite(range(len(self.names)))
        try:
            filtered = lowpass(self.time, self.values, cutoff, order, like=like)
        except InvalidInput as error:
            raise InvalidInput(f"{self._where}: {error}") from None
        how = "as OpenSim does" if like else f"butterworth, order {order}"
        parts = "" if like else parts_in_words(self.time)
        at = f"{float(np.asarray(cutoff)):g} Hz" if np.ndim(cutoff) == 0 else "a cutoff for each column"
        notes = (*self.notes, f"low-pass filtered at {at} ({how}){parts}")
        return replace(self, time=filtered.time, values=filtered.values, notes=notes)

    def derivative(self, order: int = 1) -> Table:
        """Time derivatives of the columns, by quintic splines."""
        units = tuple(derived_unit(unit, order) for unit in self.units)
        return replace(self, values=time_derivative(self.time, self.values, order), units=units)

    def resample(self, rate: float | None = None, time: ArrayLike | None = None) -> Table:
        """Values at another rate [1/s], or at given times, by quintic splines."""
        if (rate is None) == (time is None):
            raise InvalidInput("resample to a rate or to times: give one of them")
        new = even_times(self.time, rate) if rate is not None else np.asarray(time, dtype=float)
        return replace(self, time=new, values=resample(self.time, self.values, new))

    # --- labels -----------------------------------------------------------------------------------------------------
    def to_xarray(self, dim: str = "column") -> xarray.DataArray:
        """Labeled values (time, `dim`); say dim="coordinate" or "muscle" where the columns are such."""
        from musculo.results.labeled_arrays import labeled

        extra: dict[str, Any] = {"degrees": int(self.degrees)} if self.degrees else {}
        one = self.units[0] if self.units and len(set(self.units)) == 1 else ""
        array = labeled(self.name or "table", self.values, {"time": self.time, dim: self.names}, one, self.provenance)
        if self.units and not one:
            array = array.assign_coords(unit=(dim, list(self.units)))
        array.attrs.update(extra)
        return array

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame by time; its `attrs` say where angles are in degrees, which functions of coordinates look at."""
        import pandas

        frame = pandas.DataFrame(np.array(self.values), index=pandas.Index(self.time, name="time"), columns=self.names)
        if self.degrees:
            frame.attrs["degrees"] = 1
        if self.units:
            frame.attrs["units"] = dict(zip(self.names, self.units, strict=True))
        return frame

    def plot(self, names: Iterable[str] | None = None, **options: Any) -> Any:
        """Columns over time, left and right of one quantity in one plot; see `musculo.report` for whole pages.

        Needs matplotlib, which is not installed with musculo.

        Args:
            names: of the columns to show; all that move by default.
            options: `columns` of plots in a row (3), and what matplotlib's `subplots` takes.

        Returns:
            matplotlib's figure.
        """
        from musculo.results.plots import plot_columns

        shown = self if names is None else self.pick(names)
        return plot_columns(shown.time, shown.names, shown.values, shown.units, **options)

    @classmethod
    def from_pandas(cls, frame: pandas.DataFrame, *, degrees: bool | None = None, name: str = "") -> Table:
        """The table of a data frame whose index, or whose column `time`, is time [s].

        Args:
            frame: the columns; those that hold no numbers are an error.
            degrees: whether angles are in degrees; by default what `frame.attrs` says, as `to_pandas` left it.
            name: the title.
        """
        if "time" in frame.columns:
            frame = frame.set_index("time")
        try:
            time = np.asarray(frame.index, dtype=float)
            values = frame.to_numpy(dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"the data frame has entries that are no numbers ({error}); drop them") from None
        units = frame.attrs.get("units", {})
        names = tuple(str(column) for column in frame.columns)
        given = tuple(str(units[one]) for one in names) if all(one in units for one in names) and names else ()
        angles = bool(frame.attrs.get("degrees", 0)) if degrees is None else degrees
        return cls(time, names, values, degrees=angles, units=given, name=name)

    @classmethod
    def from_xarray(cls, array: xarray.DataArray) -> Table:
        """The table of a labeled array: one column for each combination of the labels beside time, joined by `/`.

        Labels of the dimension `axis` are joined by `_`, as OpenSim does (`RASI_x`).
        """
        if "time" not in array.dims:
            raise InvalidInput(f"the array {array.name!r} has the dimensions {array.dims}; a table needs time")
        others = [dim for dim in array.dims if dim != "time"]
        ordered = array.transpose("time", *others)
        names = [""]
        for dim in others:
            mark = "_" if dim == "axis" else "/"
            names = [f"{a}{mark}{b}" if a else str(b) for a in names for b in np.asarray(ordered[dim].values).tolist()]
        if not others:
            names = [str(array.name or "value")]
        unit = str(array.attrs.get("units", ""))
        units: tuple[str, ...] = (unit,) * len(names) if unit else ()
        if not unit and len(others) == 1 and "unit" in array.coords:
            units = tuple(str(one) for one in array.coords["unit"].values)
        time = np.asarray(array.coords["time"].values, dtype=float)
        return cls(
            time,
            tuple(names),
            np.asarray(ordered.values, dtype=float).reshape(len(time), len(names)),
            degrees=bool(array.attrs.get("degrees", 0)),
            units=units,
            name=str(array.name or ""),
            provenance=Provenance.from_attributes(array.attrs),
        )
