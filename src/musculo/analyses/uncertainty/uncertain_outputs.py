"""What Monte Carlo of a trial gives: bands of every output, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from musculo.analyses.uncertainty.inputs import UncertainInput, Varied
from musculo.analyses.uncertainty.sampling import draw
from musculo.analyses.uncertainty.subject_changes import changed_model
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.model.model import Model
from musculo.results.labeled_arrays import AXES
from musculo.results.plots import pyplot
from musculo.results.result_base import Result, Series
from musculo.results.table import Table

_UNITS = {
    "angle": "rad or m",
    "moment": "N m or N",
    "activation": "1",
    "muscle_force": "N",
    "joint_force": "N",
    "joint_moment": "N m",
    "joint_force_size": "N",
}


class SampleStatus(IntEnum):
    """What came of a sample."""

    DONE = 0
    """All frames of all steps."""
    INCOMPLETE = 1
    """Some frames failed in some step; they do not count in what follows that step."""
    FAILED = 2
    """Nothing could be computed."""


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(Result):
    """Percentiles of every output over time, and the share of its variance that each input causes.

    Outputs are "angle", "moment", "activation", "muscle_force", "joint_force", "joint_moment" and "joint_force_size",
    as far as they were asked for. Arrays of an output have the axes that its own tool has: frames first, then names.
    """

    made_by: ClassVar[str] = "uncertainty"
    statuses: ClassVar[type[Enum]] = SampleStatus

    model: Model = field(repr=False)
    time: FloatArray = field(repr=False)  # (frames,) [s]
    input_names: tuple[str, ...]  # of the groups
    percents: tuple[float, ...]
    outputs: tuple[str, ...]
    labels: Mapping[str, tuple[str, ...]] = field(repr=False)  # of each output, the names of its entries
    nominal: Mapping[str, FloatArray] = field(repr=False)  # the trial as it was recorded: (frames, ...)
    percentiles: Mapping[str, FloatArray] = field(repr=False)  # (percents, frames, ...)
    mean: Mapping[str, FloatArray] = field(repr=False)  # (frames, ...)
    sd: Mapping[str, FloatArray] = field(repr=False)  # (frames, ...)
    share: Mapping[str, FloatArray] = field(repr=False)  # (inputs, frames, ...) of the variance, or NaN
    share_error: Mapping[str, FloatArray] = field(repr=False)  # (inputs, frames, ...) its standard error
    status: NDArray[np.int64] = field(repr=False)  # (samples,) `SampleStatus`
    failed_frames: Mapping[str, int]  # frames that failed first in a step, of all samples
    seed: int
    options: Mapping[str, Any] = field(repr=False)
    notes: tuple[str, ...] = ()
    _varied: Varied = field(default=Varied((), (), (), ()), repr=False)
    _inputs: tuple[UncertainInput, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        missing = int((self.status != SampleStatus.DONE).sum())
        parts = [f"{len(self)} samples of {len(self.time)} frames", f"inputs: {', '.join(self.input_names)}"]
        parts += [f"{missing} samples incomplete or failed"] if missing else []
        return f"Uncertainty({'; '.join(parts)})"

    def _frames(self) -> int | None:
        return len(self.time)

    def _axes(self, name: str) -> dict[str, tuple[str, ...]]:
        known = {"angle": "coordinate", "moment": "speed", "activation": "muscle", "muscle_force": "muscle"}
        axes = {known.get(name, "load"): self.labels[name]}
        return {**axes, "axis": AXES} if name in ("joint_force", "joint_moment") else axes

    def _series(self) -> Iterable[Series]:
        for name in self.outputs:
            axes, unit = self._axes(name), _UNITS[name]
            yield Series(name, self.nominal[name], axes, unit)
            percents = {"percentile": self.percents, **axes}
            yield Series(f"{name}_percentile", np.moveaxis(self.percentiles[name], 0, 1), percents, unit)
            yield Series(f"{name}_mean", self.mean[name], axes, unit)
            yield Series(f"{name}_sd", self.sd[name], axes, unit)
            causes = {"input": self.input_names, **axes}
            for what, values in (("share", self.share), ("share_error", self.share_error)):
                yield Series(f"{name}_{what}", np.moveaxis(values[name], 0, 1), causes, "1")

    def _entry(self, name: str, output: str | None) -> tuple[str, tuple[int, ...]]:
        """The output and entry that a name means: `soleus_r` of `muscle_force`, `knee_r_on_tibia_r_in_ground/y`."""
        for one in self.outputs if output is None else (output,):
            if one not in self.outputs:
                raise UnknownName("output", one, self.outputs)
            entries = self.names(one)
            if name in entries:
                return one, tuple(int(k) for k in np.unravel_index(entries.index(name), self.nominal[one].shape[1:]))
        known = [entry for one in self.outputs for entry in self.names(one)]
        raise UnknownName("entry", name, dict.fromkeys(known), "the results")

    def names(self, output: str) -> list[str]:
        """The entries of an output, as `band` and `sources` know them."""
        if output not in self.outputs:
            raise UnknownName("output", output, self.outputs)
        names = list(self.labels[output])
        if self.nominal[output].ndim == 3:
            names = [f"{name}/{axis}" for name in names for axis in AXES]
        return names

    def band(self, name: str, output: str | None = None) -> Table:
        """One entry over time: as recorded, its percentiles, mean and standard deviation.

        Args:
            name: of a coordinate, muscle or load; of a vector with its axis, `hip_r_on_femur_r_in_ground/y`.
            output: which output, where several have such an entry; by default the first.
        """
        one, at = self._entry(name, output)
        here: tuple[Any, ...] = (slice(None), *at)
        columns = [self.nominal[one][here], *(rows[here] for rows in self.percentiles[one])]
        columns += [self.mean[one][here], self.sd[one][here]]
        names = ("nominal", *(f"p{percent:g}" for percent in self.percents), "mean", "sd")
        unit = _UNITS[one]
        return Table(self.time, names, np.stack(columns, axis=1), units=(unit,) * len(names), name=f"{one} {name}")

    def sources(self, output: str) -> dict[str, dict[str, float]]:
        """The share of the variance that each input causes over the whole trial, by entry of an output.

        Shares of frames are weighted by their variance. What is missing to one is what inputs do only together
        (interactions), and error of sampling: see `share_error`.
        """
        names = self.names(output)
        count = len(self.input_names)
        variance = self.sd[output].reshape(len(self.time), -1) ** 2
        share = self.share[output].reshape(count, len(self.time), -1)
        known = np.isfinite(share)
        weight = np.where(known, variance, 0.0)
        total = weight.sum(axis=1)
        whole = np.where(known, share, 0.0) * weight
        parts = np.where(total > 0.0, whole.sum(axis=1) / np.where(total > 0.0, total, 1.0), np.nan)
        return {
            name: {one: float(parts[g, k]) for g, one in enumerate(self.input_names)} for k, name in enumerate(names)
        }

    def model_of(self, sample: int) -> Model:
        """The model of a sample, for everything that takes a model; loads that vary are no part of it."""
        if not 0 <= sample < len(self):
            raise InvalidInput(f"sample {sample} of {len(self)}; they are numbered from 0")
        return changed_model(self.model, self._varied, draw(self._inputs, self._varied, self.seed, sample))

    def to_table(self, time: Any = None) -> Table:
        """Percentiles of every entry: `muscle_force/soleus_r/p95`."""
        names: list[str] = []
        units: list[str] = []
        columns = []
        for output in self.outputs:
            rows = self.percentiles[output].reshape(len(self.percents), len(self.time), -1)
            for k, name in enumerate(self.names(output)):
                for p, percent in enumerate(self.percents):
                    names.append(f"{output}/{name}/p{percent:g}")
                    units.append(_UNITS[output])
                    columns.append(rows[p, :, k])
        when = self.time if time is None else np.asarray(time, dtype=float)
        values = np.stack(columns, axis=1)
        return Table(when, tuple(names), values, units=tuple(units), name="Uncertainty", provenance=self.provenance)

    def plot(self, names: Iterable[str] | None = None, *, output: str | None = None, **options: Any) -> Any:
        """Bands of entries over time, the trial as recorded and the median in them; needs matplotlib.

        Args:
            names: of entries; by default the first six of the output.
            output: which; by default the first. options: of `matplotlib.pyplot.subplots`.
        """
        plt = pyplot()
        chosen = list(names) if names is not None else self.names(output or self.outputs[0])[:6]
        figure, axes = plt.subplots(len(chosen), 1, sharex=True, squeeze=False, **options)
        for axis, name in zip(axes[:, 0], chosen, strict=True):
            one, at = self._entry(name, output)
            here: tuple[Any, ...] = (slice(None), *at)
            rows = [row[here] for row in self.percentiles[one]]
            for k in range(len(rows) // 2):
                label = f"{self.percents[k]:g} to {self.percents[-1 - k]:g} %"
                axis.fill_between(self.time, rows[k], rows[-1 - k], color="C0", alpha=0.25, linewidth=0.0, label=label)
            axis.plot(self.time, self.nominal[one][here], color="k", linewidth=1.0, label="as recorded")
            axis.set_ylabel(f"{name} [{_UNITS[one]}]")
        axes[0, 0].legend(loc="best", fontsize="small")
        axes[-1, 0].set_xlabel("time [s]")
        return figure
