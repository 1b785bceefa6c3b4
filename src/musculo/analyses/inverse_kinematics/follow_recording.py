"""Inverse kinematics: the poses nearest to recorded markers and to measured orientations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from musculo.analyses.inverse_kinematics.first_pose import Ranges
from musculo.analyses.inverse_kinematics.fit_recording import Progress, Wanted, fit_poses
from musculo.analyses.inverse_kinematics.near_default import Pull, near_poses
from musculo.analyses.inverse_kinematics.targets import (
    recorded_for,
    unit_findings,
)
from musculo.analyses.inverse_kinematics.tracked_poses import InverseKinematics, Status
from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import warn_of_odd_units
from musculo.diagnostics.finding import Finding, warn_of
from musculo.diagnostics.implausible_angles import angle_findings
from musculo.diagnostics.recording_doubts import axis_findings, marker_hole_findings, partner_findings
from musculo.errors import unwarned
from musculo.model.model import Model
from musculo.results.markers import Markers
from musculo.results.orientations import Orientations

__all__ = ["InverseKinematics", "Progress", "Ranges", "Status", "inverse_kinematics"]

# Fewer markers do not tell which axis is up.
_FEWEST = 3


def inverse_kinematics(
    model: Model,
    markers: Markers | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    orientations: Orientations | None = None,
    orientation_weights: Mapping[str, float] | None = None,
    sensor_frames: Mapping[str, str] | None = None,
    tasks: Mapping[str, tuple[float, ArrayLike]] | None = None,
    start: ArrayLike | None = None,
    respect_ranges: Ranges = "clamped",
    accuracy: float = 1e-9,
    threads: int | None = None,
    progress: Progress | None = None,
) -> InverseKinematics:
    """The pose of every frame that minimizes

        J = 1/2 sum_m w_m |x_m(q) - recorded_m|^2 / sum_m w_m  +  1/2 sum_s w_s theta_s(q)^2 / sum_s w_s
            + 1/2 sum_c w_c (q_c - target_c)^2

    over the independent coordinates, with the sums over the markers and sensors that are visible in that frame;
    theta_s is the angle of the rotation from the measured orientation of a sensor to that of its frame in the model.

    Source:     OpenSim's inverse kinematics tools, for markers and for IMUs; the same objective to the factor.
    Departs:    couplers, locks and prescribed motions are embedded, so they hold exactly and cost nothing; closed
                loops hold to rounding (`closure_error`), by Newton's method on the poses that close them
                (`musculo.analyses.inverse_kinematics.closed_poses`); and each
                frame is at a minimum to `accuracy`, where OpenSim stops within about 0.1 degrees. Coordinates that
                nothing recorded depends on (translations, if there are only sensors) keep their values at the start,
                without being locked as OpenSim's tool for IMUs locks them; `undetermined` of the result names them.
                Angles of joints that end half a turn from their default, or far outside their range, though hardly
                anything recorded tells them, are kept near the default by a weak task, where the error grows by less
                than 0.1 mm (`musculo.analyses.inverse_kinematics.near_default`); a note names them.
    Guarantees: the same answer to the last bit for any number of threads; a frame's pose depends on the frames before
                only by which minimum is found, not by where in it.

    Angles that jump from one frame to the next or are far outside their ranges, and a recording in which another axis
    than y seems to point up, or that is mirrored or turned around, give a `MusculoWarning`; `notes` of the result have
    these and lesser findings.

    Args:
        model: the model; markers are matched by name. The name of a subject before them (`Subj1:RASI`) is dropped,
            with a warning, where the model has no such names.
        markers: the recording, or a data frame or xarray of it; NaN where a marker was not visible, and then it has no
            weight in that frame.
        weights: of markers by name; those not named have weight 1, as in the shell. Zero leaves a marker out.
        orientations: of sensors, alone or for the same frames as the markers; NaN where there was no measurement.
        orientation_weights: of sensors by name, likewise.
        sensor_frames: the frame of the model that each sensor measures, by the sensor's name: a body, or the path of an
            offset frame. By default the frame of the same name; `place_sensors` makes such frames.
        tasks: coordinates to be kept near targets: name -> (weight, target), the target a number or one for each frame
            (NaN: none in that frame) [rad, m]. A task of a locked or prescribed coordinate changes nothing.
            `tasks_of_setup` makes them from the tasks of a set-up file.
        start: (n,) coordinates from which the first frame is sought, by default the default pose. Either way the
            frame is also tried from other poses, and the lowest minimum is used.
        respect_ranges: "clamped" holds clamped coordinates in their range, as OpenSim does; "all" all; "none" none.
        accuracy: error of coordinates that the search may leave [rad, m].
        threads: the number of threads; all cores by default.
        progress: called now and then with the number of frames done and of all frames.

    Raises:
        Unsupported: a constraint that musculo cannot compute.
        UnknownName: a weight, task or frame names what neither model nor recording have.
        InvalidInput: nothing of the model was recorded, all weights are zero, markers are not in meters, markers and
            orientations are of different frames, or an argument does not fit.
    """
    markers, renamed = recorded_for(model, markers)
    wanted = Wanted(markers, weights, orientations, orientation_weights, sensor_frames, tasks)

    def turned(other: Markers) -> InverseKinematics:
        return fit_poses(model, Wanted(other, weights), respect_ranges=respect_ranges, threads=threads)

    def fitted(frame: int | None, more: Pull, progress: Progress | None = None) -> InverseKinematics:
        """One frame or all, with more tasks."""
        some = (wanted if frame is None else wanted.at(frame)).with_tasks(more)
        return fit_poses(
            model,
            some,
            start=start,
            respect_ranges=respect_ranges,
            accuracy=accuracy,
            threads=threads,
            progress=progress,
        )

    with unwarned():  # of angles on the way
        found, far = near_poses(fitted(None, {}, progress), tasks or {}, fitted)
        findings = _findings(found, markers, weights, turned, alone=orientations is None, threads=threads)
    findings = [*renamed, *far, *findings]
    _warn_of_odd_targets(model, tasks or {})
    warn_of(findings)
    return replace(found, findings=tuple(findings))


def _warn_of_odd_targets(model: Model, tasks: Mapping[str, tuple[float, ArrayLike]]) -> None:
    """Say that targets are far beyond what their joints can do, by the rule of coordinates."""
    targets = {name: np.asarray(target, dtype=float) for name, (_, target) in tasks.items()}
    known = {name: target[np.isfinite(target)] for name, target in targets.items() if np.isfinite(target).any()}
    if known:
        ends = np.array([(target.min(), target.max()) for target in known.values()])
        warn_of_odd_units("tasks", ends.T, model, tuple(known))


def _findings(
    found: InverseKinematics,
    markers: Markers | None,
    weights: Mapping[str, float] | None,
    refit: Callable[[Markers], InverseKinematics],
    alone: bool,
    threads: int | None,
) -> list[Finding]:
    """What speaks against the recording, and against the poses: holes, partners, leaps, ranges, and axes."""
    angles = angle_findings(found.model, found.time, found.q)
    if markers is None or not len(markers):
        return angles
    followed = [name for name in found.marker_names if (weights or {}).get(name, 1.0) > 0.0]
    columns = [found.marker_names.index(name) for name in followed]
    everyone = weights is None
    recording = [
        *marker_hole_findings(markers),
        *unit_findings(found.model, markers),
        *partner_findings(found.model, markers, followed, lost=everyone, strangers=everyone),
    ]
    if not alone or len(columns) < _FEWEST:
        return [*recording, *angles]
    distance = found.marker_errors[:, columns]

    def fit(other: Markers) -> tuple[FloatArray, FloatArray]:
        again = refit(other)
        return again.q, again.marker_errors[:, columns]

    axes = axis_findings(found.model, markers, found.q, distance, fit, threads)
    return [*recording, *angles, *axes]
