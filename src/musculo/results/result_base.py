"""What results of functions have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.errors import InvalidInput
from musculo.results.provenance import Provenance

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import xarray

    from musculo.results.table import Table


class Outcome(IntEnum):
    """How a computation ended that searches for nothing."""

    DONE = 0
    """All of it is computed."""


class Series(NamedTuple):
    """One array of a result."""

    name: str
    values: Any  # frames first, where there are frames
    labels: Mapping[str, Any]  # of the other axes, by their names
    unit: str = ""


class _Unless:
    """The value of an attribute that a result does not state itself; a dataclass sees no default in it."""

    def __init__(self, value: Callable[[Any], Any]) -> None:
        self.value = value

    def __get__(self, result: Any, owner: type) -> Any:
        if result is None:
            raise AttributeError  # so that a field of the same name has no default
        return self.value(result)


class Result:
    """What a function returns: arrays with labels, how it went, what is doubtful, and what made it.

    Labels of axes are `coordinate_names`, `muscle_names`, `body_names` and so on, as a model calls them. Arrays have
    the frames first, or no frame axis where a single pose was asked for.

    `status` says how the search ended: a member of one of the enumerations of `musculo.results`, one for each frame
    (and muscle or path) where each is searched for by itself; zero is good. `notes` are sentences about what is
    doubtful or assumed. `provenance` says which function, model and options made it.
    """

    made_by: ClassVar[str] = ""  # the function
    statuses: ClassVar[type[Enum]] = Outcome  # what `status` is of

    status: Any = _Unless(lambda result: Outcome.DONE)
    notes: Any = _Unless(lambda result: ())
    provenance: Any = _Unless(lambda result: result._provenance())

    def _provenance(self) -> Provenance:
        made_by = self.made_by or type(self).__name__
        return Provenance.of(made_by, getattr(self, "model", None), **getattr(self, "options", {}))

    def _series(self) -> Iterable[Series]:
        """The arrays that the labeled forms hold."""
        return ()

    def _frames(self) -> int | None:
        """How many frames there are; None of a single pose."""
        time = getattr(self, "time", None)
        if time is not None:
            return len(time)
        for one in self._series():
            return len(one.values) if np.ndim(one.values) > len(one.labels) else None
        return None

    def to_xarray(self, time: ArrayLike | None = None) -> xarray.Dataset:
        """A labeled dataset with units and provenance, by `time` (or `frame`) and the axes of each array.

        Args:
            time: (frames,) [s]; by default the result's own, or frames are counted.
        """
        import xarray

        from musculo.results.labeled_arrays import labeled

        rows = self._rows(time)
        parts = {x.name: labeled(x.name, x.values, {**rows, **x.labels}, x.unit) for x in self._series()}
        return xarray.Dataset(parts, attrs=self.provenance.attributes())

    def _rows(self, time: ArrayLike | None) -> dict[str, Any]:
        frames, own = self._frames(), getattr(self, "time", None)
        if frames is None:
            if time is not None:
                raise InvalidInput("the result is of a single pose; it has no frames for time to belong to")
            return {}
        if time is None:
            return {"frame": range(frames)} if own is None else {"time": own}
        if np.shape(time) != (frames,):
            raise InvalidInput(f"time has shape {np.shape(time)}; the result has {frames} frames")
        return {"time": time}

    def to_pandas(self, time: ArrayLike | None = None) -> pandas.DataFrame:
        """A data frame with a row for each frame and a column for each entry: `force/biceps_long`.

        Args:
            time: (frames,) [s]; by default the result's own, or frames are counted.
        """
        try:
            import pandas
        except ImportError:
            raise InvalidInput(
                "to_pandas needs pandas, which is not installed: pip install pandas; to_table does not"
            ) from None
        names, units, values, index, dim = self._columns(time)
        frame = pandas.DataFrame(values, index=pandas.Index(index, name=dim), columns=list(names))
        frame.attrs |= {"units": dict(zip(names, units, strict=True)), **self.provenance.attributes()}
        return frame

    def to_table(self, time: ArrayLike | None = None) -> Table:
        """A table with a row for each frame and a column for each entry: `force/biceps_long`.

        Args:
            time: (frames,) [s]; by default the result's own, or frames are counted.
        """
        from musculo.results.table import Table

        names, units, values, index, _ = self._columns(time)
        made = self.provenance
        return Table(np.asarray(index, dtype=float), names, values, units=units, name=made.made_by, provenance=made)

    def plot(self, names: Iterable[str] | None = None, *, time: ArrayLike | None = None, **options: Any) -> Any:
        """The entries over time, as `Table.plot` shows them; needs matplotlib."""
        return self.to_table(time).plot(names, **options)

    def _columns(self, time: ArrayLike | None) -> tuple[tuple[str, ...], tuple[str, ...], Any, Any, str]:
        """Names, units, values (frames, columns), times or numbers of the frames, and which of both these are."""
        dataset = self.to_xarray() if time is None else self.to_xarray(time)
        dim = "time" if "time" in dataset.dims else "frame"
        index = dataset[dim].values if dim in dataset.dims else np.zeros(1)
        names: list[str] = []
        units: list[str] = []
        columns = []
        for name, array in dataset.data_vars.items():
            others = [one for one in array.dims if one != dim]
            rows = array.transpose(dim, *others).values if dim in array.dims else array.values[None]
            entries = [str(name)]
            for one in others:
                entries = [f"{a}/{b}" for a in entries for b in np.asarray(array[one].values).tolist()]
            names += entries
            units += [str(array.attrs.get("units", ""))] * len(entries)
            columns.append(np.asarray(rows, dtype=float).reshape(len(rows), -1))
        values = np.concatenate(columns, axis=1) if columns else np.zeros((len(index), 0))
        return tuple(names), tuple(units), values, index, dim

    def __repr__(self) -> str:
        frames = self._frames()
        parts = ["one frame" if frames is None else f"{frames} frame{'' if frames == 1 else 's'}"]
        own: Iterable[Field[Any]] = fields(self) if is_dataclass(self) else ()
        for one in own:
            if one.name.endswith("_names"):
                parts.append(_counted(one.name.removesuffix("_names"), len(getattr(self, one.name))))
        if not self._always_done():
            parts += self._statuses_in_words()
        if self.notes:
            parts.append(_counted("note", len(self.notes)))
        return f"{type(self).__name__}({', '.join(parts)})"

    def _always_done(self) -> bool:
        return self.statuses is Outcome

    def _statuses_in_words(self) -> list[str]:
        if isinstance(self.status, Enum):
            return [_word(self.status)]
        codes = np.ravel(self.status)
        found = [(one, int((codes == one.value).sum())) for one in self.statuses]
        return [f"{count} {_word(one)}" for one, count in found if count]


def times_or_numbers(time: ArrayLike | None, frames: int) -> Any:
    """Times (frames,) as given, else the numbers of the frames."""
    return np.arange(float(frames)) if time is None else np.atleast_1d(np.asarray(time, dtype=float))


def _word(status: Enum) -> str:
    return status.name.lower().replace("_", " ")


def _counted(word: str, count: int) -> str:
    plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{count} {(word if count == 1 else plural).replace('_', ' ')}"


def also(name: str) -> Any:
    """Another word for an attribute, which users have typed."""
    return property(lambda self: getattr(self, name), doc=f"The same as `{name}`.")
