"""What inverse kinematics finds: poses over time, and how well they fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from musculo.analyses.inverse_kinematics.undetermined import Sought, blind_speeds
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, texts
from musculo.kernels.fit import pose_search as kernels
from musculo.model.model import Model
from musculo.results.angle_columns import angle_columns
from musculo.results.labeled_arrays import labeled
from musculo.results.notebook_figures import series_html
from musculo.results.provenance import Provenance
from musculo.results.result_base import Result
from musculo.results.table import Table

if TYPE_CHECKING:
    import xarray


class PoseStatus(IntEnum):
    """How the search for the pose of a frame ended."""

    CONVERGED = kernels.CONVERGED
    """At a minimum, to the accuracy asked for; `InverseKinematics.undetermined` names what no target depends on."""
    UNDETERMINED = kernels.UNDETERMINED
    """The slope is zero, but what was recorded does not determine every coordinate: others fit as well."""
    SLOW = kernels.SLOW
    """The search was given up; the pose is the best it came by."""
    UNSEEN = kernels.UNSEEN
    """No weighted marker or sensor is visible and there is no task: the pose is that of the frame before."""


Status = PoseStatus


@dataclass(frozen=True, eq=False, repr=False)
class InverseKinematics(Result):
    """Poses over time, and how well they fit. Ask `status` before use, or `converged` for all frames at once."""

    made_by: ClassVar[str] = "inverse_kinematics"
    statuses: ClassVar[type[Enum]] = PoseStatus

    model: Model = field(repr=False)
    time: FloatArray = field(repr=False)  # (frames,) [s]
    q: FloatArray = field(repr=False)  # (frames, n) all coordinates, in the order of the model [rad, m]
    z: FloatArray = field(repr=False)  # (frames, n_z) the independent ones
    marker_names: tuple[str, ...] = field(repr=False)  # in the model and in the recording
    marker_errors: FloatArray = field(repr=False)  # (frames, markers) distances [m]; NaN where not seen
    sensor_names: tuple[str, ...] = field(repr=False)  # with a frame in the model, and measured
    orientation_errors: FloatArray = field(repr=False)  # (frames, sensors) angles [rad]; NaN where not measured
    objective: FloatArray = field(repr=False)  # (frames,) as OpenSim's; see `inverse_kinematics`
    status: NDArray[np.int64] = field(repr=False)  # (frames,) see `Status`
    iterations: NDArray[np.int64] = field(repr=False)  # (frames,)
    closure_error: FloatArray = field(repr=False)  # (frames,) the most that is left of a loop's equation [rad, m]
    provenance: Provenance = field(repr=False)
    sought: Sought | None = field(default=None, repr=False)  # what was followed, and where it was seen
    findings: tuple[Finding, ...] = field(default=(), repr=False)  # what checks of recording and poses found

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        parts = [f"{len(self)} frames"]
        if self.marker_names:
            parts += [f"{len(self.marker_names)} markers", f"RMS error {1e3 * _rms(self.marker_errors):.1f} mm"]
        if self.sensor_names:
            angle = np.degrees(_rms(self.orientation_errors))
            parts += [f"{len(self.sensor_names)} sensors", f"RMS error {angle:.2f} deg"]
        bad = len(self) - int((self.status == Status.CONVERGED).sum())
        if bad:
            parts.append(f"{bad} frames not converged")
        if self.undetermined:
            parts.append(f"undetermined: {', '.join(self.undetermined)}")
        return f"InverseKinematics({', '.join(parts)})"

    def _repr_html_(self) -> str:
        degrees = self.to_table().in_degrees(self.model)
        return series_html(repr(self), self.time, degrees.names, degrees.values, degrees.units)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The columns of `q`."""
        return self.model.coordinate_names

    @property
    def notes(self) -> tuple[str, ...]:
        """What is doubtful, or worth knowing, of the recording and of the poses, one sentence each."""
        return texts(self.findings)

    @property
    def converged(self) -> bool:
        """Whether every frame is at a minimum."""
        return bool((self.status == Status.CONVERGED).all())

    @cached_property
    def undetermined(self) -> dict[str, NDArray[np.bool_]]:
        """Independent coordinates that moved nothing followed, by name: (frames,) in which frames.

        They keep the value of the frame before, in the first frame the one at the start (`start`, or the default).
        """
        if self.sought is None:
            return {}
        frames = np.unique(np.linspace(0, len(self) - 1, min(len(self), 3)).astype(int))
        return blind_speeds(self.model, self.q[frames], self.sought)

    @property
    def rms(self) -> FloatArray:
        """(frames,) root mean square distance of the visible markers, unweighted [m]; NaN where none is."""
        return _rms_of_frames(self.marker_errors)

    @property
    def rms_angle(self) -> FloatArray:
        """(frames,) root mean square angle of the sensors, unweighted [rad]; NaN where none measured."""
        return _rms_of_frames(self.orientation_errors)

    def to_table(self) -> Table:  # type: ignore[override]
        """All coordinates [rad, m]; `.in_degrees(model)` is what OpenSim's .mot files hold."""
        return Table(
            self.time, self.coordinate_names, self.q, units=self._units, name="Coordinates", provenance=self.provenance
        )

    def error_table(self) -> Table:
        """The distance of every marker [m]."""
        return self._errors(self.marker_names, self.marker_errors, "m", "marker errors")

    def error_summary_table(self) -> Table:
        """Sum of squares [m^2], root mean square and largest of the distances of visible markers [m], as in OpenSim."""
        squares = np.where(np.isnan(self.marker_errors), 0.0, self.marker_errors) ** 2
        values = np.column_stack([squares.sum(axis=1), self.rms, np.sqrt(squares.max(axis=1, initial=0.0))])
        names = ("total_squared_error", "marker_error_RMS", "marker_error_max")
        units = ("m^2", "m", "m")
        return Table(self.time, names, values, units=units, name="marker errors", provenance=self.provenance)

    def orientation_error_table(self) -> Table:
        """The angle of every sensor [rad]."""
        return self._errors(self.sensor_names, self.orientation_errors, "rad", "orientation errors")

    def _errors(self, names: tuple[str, ...], values: FloatArray, unit: str, title: str) -> Table:
        units = (unit,) * len(names)
        return Table(self.time, names, values, units=units, name=title, provenance=self.provenance)

    @property
    def _units(self) -> tuple[str, ...]:
        angles = set(angle_columns(self.coordinate_names, self.model))
        return tuple("rad" if k in angles else "" for k in range(len(self.coordinate_names)))

    def to_xarray(self) -> xarray.Dataset:  # type: ignore[override]
        """`q` (time, coordinate), `marker_error` (time, marker), `orientation_error` (time, sensor), and `objective`,
        `status`, `iterations` and `closure_error` (time)."""
        import xarray

        time = {"time": self.time}
        parts = {
            "q": labeled("q", self.q, {**time, "coordinate": self.coordinate_names}),
            "marker_error": labeled("marker_error", self.marker_errors, {**time, "marker": self.marker_names}, "m"),
            "orientation_error": labeled(
                "orientation_error", self.orientation_errors, {**time, "sensor": self.sensor_names}, "rad"
            ),
            "objective": labeled("objective", self.objective, time),
            "status": labeled("status", self.status, time),
            "iterations": labeled("iterations", self.iterations, time),
            "closure_error": labeled("closure_error", self.closure_error, time),
        }
        parts["status"].attrs["flag_values"] = [int(s) for s in Status]
        parts["status"].attrs["flag_meanings"] = " ".join(s.name.lower() for s in Status)
        return xarray.Dataset(parts, attrs=self.provenance.attributes())


def _rms_of_frames(errors: FloatArray) -> FloatArray:
    seen = ~np.isnan(errors)  # a distance beyond all numbers counts, and shows
    squares = np.where(seen, errors, 0.0) ** 2
    with np.errstate(invalid="ignore"):
        return np.sqrt(squares.sum(axis=1) / seen.sum(axis=1))


def _rms(errors: FloatArray) -> float:
    return float(np.sqrt(np.nanmean(errors**2))) if not np.isnan(errors).all() else 0.0
