"""How large a subject's bodies are: distances between its markers against those of the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from musculo.analyses.inverse_kinematics.targets import recorded_for
from musculo.analyses.scaling.subject_scaling import Factors, checked_factors, default_pose
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import warn_of
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput, UnknownName
from musculo.io.setup.scale_setup import ScaleSetup
from musculo.model.body import GROUND, Vec3
from musculo.model.measurement import AXES, Measurement
from musculo.model.model import Model
from musculo.results.markers import Markers

TimeRange = tuple[float, float]


@dataclass(frozen=True)
class MeasuredPair:
    """A distance on the subject (mean over the frames) and on the model at its default pose [m]."""

    markers: tuple[str, str]
    measured: float
    model: float

    @property
    def factor(self) -> float:
        return self.measured / self.model


@dataclass(frozen=True)
class ScaleFactors:
    """Factors along x, y and z of every body, and what they were found from.

    `factors` is what `scale_model` takes. `skipped` says why a measurement was not used, by its name. `notes` name
    bodies that the model lacks.
    """

    factors: dict[str, Vec3]
    measured: dict[str, tuple[MeasuredPair, ...]]
    skipped: dict[str, str]
    notes: tuple[str, ...] = ()


def scale_factors(
    model: Model,
    markers: Markers,
    measurements: Iterable[Measurement],
    time_range: TimeRange | None = None,
    *,
    skip_missing: bool = False,
    start: Factors | None = None,
) -> ScaleFactors:
    """Factors of bodies from distances between markers.

        s = mean over pairs of ( mean over frames |p1 - p2| / |m1 - m2| ),   m1, m2 on the model at its default pose

    Bodies and axes that no measurement names keep what `start` gives them, 1 by default. Where two name the same one,
    the later counts.

    Source: OpenSim 4.6, `ModelScaler::computeMeasurementScaleFactor`.

    Args:
        model: the generic model with its markers.
        markers: a recording of the subject standing still.
        measurements: which pairs scale which bodies; those with `apply=False` are ignored.
        time_range: from the last frame at or before its start to the first at or after its end [s]; all by default.
        skip_missing: ignore a measurement whose markers are missing or have gaps in that time, and bodies that the
            model lacks, as OpenSim does, and say so in `skipped` and `notes`, rather than refuse them.
        start: factors to begin with, for instance those set by hand.

    Raises:
        UnknownName: a marker or body that is not there.
        InvalidInput: a marker that is not always visible, or two markers of the model in one place.
    """
    markers, renamed = recorded_for(model, markers)
    warn_of(renamed)
    frames = time_window(markers, time_range)
    known = {name: k for k, name in enumerate(model.marker_names)}
    at = kinematics(model, default_pose(model)).markers() if known else np.zeros((0, 3))
    factors: dict[str, list[float]] = {name: [1.0, 1.0, 1.0] for name in model.body_names}
    factors |= {name: list(given) for name, given in checked_factors(model, start or {}).items()}
    measured: dict[str, tuple[MeasuredPair, ...]] = {}
    skipped: dict[str, str] = {}
    notes: list[str] = []
    for measurement in measurements:
        if not measurement.apply:
            continue
        try:
            pairs = _measure(measurement, model, at, markers, frames)
        except (UnknownName, InvalidInput) as error:
            if not skip_missing:
                raise
            skipped[measurement.name] = str(error)
            continue
        measured[measurement.name] = pairs
        factor = float(np.mean([pair.factor for pair in pairs]))
        for body, axes in measurement.bodies:
            if body not in factors:
                where = f"measurement {measurement.name!r}"
                if not skip_missing:
                    raise UnknownName("body", body, model.body_names, where)
                notes.append(_passed_over(body, model, where))
                continue
            for axis in axes:
                factors[body][AXES.index(axis)] = factor
    found = {name: (x, y, z) for name, (x, y, z) in factors.items()}
    return ScaleFactors(found, measured, skipped, tuple(notes))


def factors_of_setup(setup: ScaleSetup, model: Model, markers: Markers | None = None) -> ScaleFactors:
    """The factors that a set-up file of the scale tool asks for, in its order: measurements, and those set by hand.

    Bodies that the model lacks are ignored, as OpenSim does, with a note.

    Args:
        setup: from `read_setup`.
        model: the generic model.
        markers: the static trial; needed where a measurement of the set-up applies.

    Raises:
        InvalidInput: the set-up measures, and there are no markers.
    """
    scaler = setup.scaler
    result = ScaleFactors(dict.fromkeys(model.body_names, (1.0, 1.0, 1.0)), {}, {})
    for step in scaler.scaling_order:
        if step == "measurements":
            if not any(measurement.apply for measurement in scaler.measurements):
                continue
            if markers is None:
                raise InvalidInput(
                    f"{setup.source or 'the set-up'} scales by measurements; give the markers to measure"
                )
            before = result.notes
            result = scale_factors(
                model, markers, scaler.measurements, scaler.time_range, skip_missing=True, start=result.factors
            )
            result = replace(result, notes=(*before, *result.notes))
        else:
            by_hand = {scale.segment: scale.scales for scale in scaler.manual_scales if scale.apply}
            known = {body: factors for body, factors in by_hand.items() if body in (GROUND, *model.body_names)}
            lost = [_passed_over(body, model, "the ScaleSet") for body in by_hand if body not in known]
            factors = result.factors | checked_factors(model, known)
            result = replace(result, factors=factors, notes=(*result.notes, *lost))
    return result


def _passed_over(body: str, model: Model, where: str) -> str:
    return f"{UnknownName('body', body, model.body_names, where)}; it is ignored, as OpenSim does"


def time_window(markers: Markers, time_range: TimeRange | None) -> slice:
    """OpenSim's frames of a time range: widened to whole frames at both ends."""
    if not len(markers):
        raise InvalidInput(f"{markers.source or 'the recording'} has no frame")
    if time_range is None:
        return slice(0, len(markers))
    start, end = time_range
    if not start <= end:
        raise InvalidInput(f"the time range is {start} to {end} s; its end must not come before its start")
    first = max(0, int(np.searchsorted(markers.time, start, side="right")) - 1)
    last = first + int(np.searchsorted(markers.time[first:], end, side="left"))
    return slice(first, min(last, len(markers) - 1) + 1)


def _measure(
    measurement: Measurement, model: Model, at: FloatArray, markers: Markers, frames: slice
) -> tuple[MeasuredPair, ...]:
    if not measurement.pairs:
        raise InvalidInput(f"measurement {measurement.name!r} has no pair of markers; add one")
    found = []
    for pair in measurement.pairs:
        ends = []
        for name in pair:
            if name not in model.marker_names:
                raise UnknownName("marker", name, model.marker_names, model.source or f"model {model.name!r}")
            ends.append(at[model.marker_names.index(name)])
        distance = float(np.linalg.norm(ends[0] - ends[1]))
        if distance == 0.0:
            raise InvalidInput(
                f"measurement {measurement.name!r}: markers {pair[0]!r} and {pair[1]!r} of the model are in one place"
            )
        trajectories = [markers.marker(name)[frames] for name in pair]
        for name, trajectory in zip(pair, trajectories, strict=True):
            unseen = int(np.isnan(trajectory[:, 0]).sum())
            if unseen:
                raise InvalidInput(
                    f"measurement {measurement.name!r}: marker {name!r} is not visible in {unseen} of "
                    f"{len(trajectory)} frames; fill the gaps (`musculo scale --fill-gaps SECONDS`, markers.fill in "
                    "Python) or choose another time"
                )
        measured = float(np.linalg.norm(trajectories[0] - trajectories[1], axis=1).mean())
        found.append(MeasuredPair(pair, measured, distance))
    return tuple(found)
