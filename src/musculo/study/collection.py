"""The results of all trials together: one labeled dataset of curves, and a table of peaks for statistics."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.io.netcdf import write_netcdf
from musculo.io.text import write_beside, write_text
from musculo.io.zarr_folders import write_zarr
from musculo.study.plan import Study, StudyTrial
from musculo.study.trial_run import TrialOutcome, TrialStatus
from musculo.study.trial_summary import POINTS, SUMMARY, TrialSummary, read_summary

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import xarray

CURVES, CURVES_ZARR, PEAKS, PEAKS_PARQUET = "curves.nc", "curves.zarr", "peaks.csv", "peaks.parquet"


class Peaks(NamedTuple):
    """Extremes of one quantity in one trial, means over its cycles."""

    subject: str
    trial: str
    group: str
    condition: str
    quantity: str
    unit: str
    cycles: int
    minimum: float
    maximum: float
    mean: float
    range: float
    mass: float  # of the body [kg], for comparisons of subjects


@dataclass(frozen=True, eq=False)
class StudyResults:
    """What a study found.

    Args:
        study: what was asked for.
        outcomes: of all trials, in the order of the study.
        trials: those with results, in that order.
        quantities, units: of the curves.
        curves: (trials, quantities, 101), means over the cycles of each trial; NaN where a trial lacks a quantity.
        peaks: of every quantity of every trial.
        cycles: whether the curves of each trial are gait cycles, or the whole trial.
        mass: (trials,) of the body [kg]; zero where it is not known.
    """

    study: Study
    outcomes: tuple[TrialOutcome, ...]
    trials: tuple[StudyTrial, ...]
    quantities: tuple[str, ...]
    units: tuple[str, ...]
    curves: FloatArray
    peaks: tuple[Peaks, ...]
    cycles: tuple[bool, ...]
    mass: FloatArray

    def __repr__(self) -> str:
        failed = sum(one.status is TrialStatus.FAILED for one in self.outcomes)
        bad = f", {failed} failed" if failed else ""
        return f"StudyResults({len(self.trials)} trials{bad}, {len(self.quantities)} quantities)"

    def to_xarray(self) -> xarray.Dataset:
        """Curves by trial, quantity and percent of the cycle, with subject, group and condition of each trial."""
        import xarray

        def told(words: Iterable[str]) -> tuple[str, list[str]]:
            return ("trial", list(words))

        return xarray.Dataset(
            {"curve": (("trial", "quantity", "percent"), self.curves)},
            coords={
                "trial": [one.key for one in self.trials],
                "quantity": list(self.quantities),
                "percent": np.linspace(0.0, 100.0, POINTS),
                "unit": ("quantity", list(self.units)),
                "subject": told(one.subject for one in self.trials),
                "group": told(one.group for one in self.trials),
                "condition": told(one.condition for one in self.trials),
                "mass": ("trial", self.mass),
                "gait_cycle": ("trial", np.array(self.cycles, dtype=np.int8)),
            },
            attrs={"study": self.study.name},
        )

    def to_pandas(self) -> pandas.DataFrame:
        """The table of peaks."""
        import pandas

        return pandas.DataFrame(self.peaks, columns=Peaks._fields)

    def write(self, folder: Path, zarr: bool = False) -> tuple[Path, ...]:
        """`curves.nc`, `peaks.csv`, and `peaks.parquet` where pyarrow is installed.

        Args:
            folder: for these files, which is there.
            zarr: whether to write `curves.zarr`, too; one that an earlier run wrote is brought up to date in any case.
        """
        written = [folder / PEAKS]
        if self.trials:
            data, grid = self.to_xarray(), folder / CURVES_ZARR
            write_netcdf(data, folder / CURVES)
            written.insert(0, folder / CURVES)
            if zarr or grid.is_dir():
                write_zarr(data, grid)
                written.insert(1, grid)
        else:  # those of an earlier run are of trials that are not these
            (folder / CURVES).unlink(missing_ok=True)
            shutil.rmtree(folder / CURVES_ZARR, ignore_errors=True)
        stream = io.StringIO()
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(Peaks._fields)
        table.writerows([*one[:7], *(f"{value:.9g}" for value in one[7:])] for one in self.peaks)
        write_text(folder / PEAKS, [stream.getvalue().rstrip("\n")])
        if find_spec("pyarrow") is not None:
            frame = self.to_pandas()
            write_beside(folder / PEAKS_PARQUET, lambda part: frame.to_parquet(part, index=False))
            written.append(folder / PEAKS_PARQUET)
        return tuple(written)

    def groups(self) -> dict[tuple[str, str], list[int]]:
        """Trials by group and condition: their places in `trials`."""
        found: dict[tuple[str, str], list[int]] = {}
        for k, trial in enumerate(self.trials):
            found.setdefault((trial.group, trial.condition), []).append(k)
        return found


def collect(study: Study, outcomes: Sequence[TrialOutcome]) -> StudyResults:
    """Read what the trials left, and put it together.

    Raises:
        InvalidInput: outcomes of another study.
    """
    if [one.key for one in outcomes] != [one.key for one in study.trials]:
        raise InvalidInput("these outcomes are of other trials; give those that run_study returned for this study")
    trials: list[StudyTrial] = []
    summaries: list[TrialSummary] = []
    for trial, outcome in zip(study.trials, outcomes, strict=True):
        path = study.folder / trial.key / SUMMARY
        if outcome.status is not TrialStatus.FAILED and path.is_file():
            trials.append(trial)
            summaries.append(read_summary(path))
    units: dict[str, str] = {}
    for summary in summaries:
        units.update(zip(summary.quantities, summary.units, strict=True))
    places = {name: k for k, name in enumerate(units)}
    curves = np.full((len(trials), len(units), POINTS), np.nan)
    peaks: list[Peaks] = []
    for i, (trial, summary) in enumerate(zip(trials, summaries, strict=True)):
        for name, cycles in zip(summary.quantities, summary.curves, strict=True):
            known = cycles[np.isfinite(cycles).all(axis=1)]
            if not len(known):
                continue
            curves[i, places[name]] = known.mean(axis=0)
            peaks.append(_peaks(trial, name, units[name], known, summary.mass))
    whether = tuple(summary.cycles for summary in summaries)
    mass = np.array([summary.mass for summary in summaries])
    return StudyResults(
        study, tuple(outcomes), tuple(trials), tuple(units), tuple(units.values()), curves, tuple(peaks), whether, mass
    )


def _peaks(trial: StudyTrial, name: str, unit: str, cycles: FloatArray, mass: float) -> Peaks:
    low, high = cycles.min(axis=1), cycles.max(axis=1)
    numbers: list[Any] = [float(x.mean()) for x in (low, high, cycles.mean(axis=1), high - low)] + [mass]
    return Peaks(trial.subject, trial.name, trial.group, trial.condition, name, unit, len(cycles), *numbers)
