"""Markers of a model put where those of the subject were, in a pose of which that is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from musculo.analyses.scale_factors import TimeRange, time_window
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput, UnknownName
from musculo.model.body import Marker
from musculo.model.model import Model
from musculo.results.markers import Markers


@dataclass(frozen=True, eq=False)
class PlacedMarkers:
    """The model with its markers placed; `moved` is how far each went [m], `dropped` those that were not recorded."""

    model: Model
    moved: dict[str, float]
    dropped: tuple[str, ...]


def place_markers(
    model: Model,
    q: ArrayLike,
    markers: Markers,
    fixed: Iterable[str] = (),
    time_range: TimeRange | None = None,
    keep_unrecorded: bool = False,
) -> PlacedMarkers:
    """The model with its markers where the subject's were, in the pose q that the subject held.

        p_FoM_F = X_WF(q)^-1 mean(p_WoM_W)     over the frames in which the marker was seen

    Markers that the file calls fixed stay where they are, as do those named in `fixed`.

    Source: OpenSim 4.6, `MarkerPlacer::moveModelMarkersToPose`.

    Args:
        model: the scaled model.
        q: (n,) the pose of the static trial, from inverse kinematics [rad, m].
        markers: the static trial.
        fixed: markers that stay, besides those that the model calls so.
        time_range: as for `scale_factors` [s].
        keep_unrecorded: keep markers that the trial does not have; OpenSim drops them.

    Raises:
        UnknownName: a fixed marker that the model does not have.
        InvalidInput: a marker of the trial that is never seen in that time.
    """
    Q = np.asarray(q, dtype=float)
    if Q.ndim != 1:
        raise InvalidInput(f"q has shape {Q.shape}; markers are placed in one pose, ({len(model.coordinate_names)},)")
    held = {fixed} if isinstance(fixed, str) else set(fixed)
    for name in held:
        if name not in model.marker_names:
            raise UnknownName("marker", name, model.marker_names, model.source or f"model {model.name!r}")
    motion = kinematics(model, Q)
    frames = time_window(markers, time_range)
    placed: list[Marker] = []
    moved: dict[str, float] = {}
    dropped: list[str] = []
    for marker in model.markers:
        if marker.name not in markers.names:
            if keep_unrecorded:
                placed.append(marker)
            else:
                dropped.append(marker.name)
            continue
        if marker.fixed or marker.name in held:
            placed.append(marker)
            continue
        seen = markers.marker(marker.name)[frames]
        seen = seen[np.isfinite(seen).all(axis=1)]
        if not len(seen):
            raise InvalidInput(
                f"marker {marker.name!r} is never seen in the frames it should be placed by; choose another time, or "
                "name it in fixed="
            )
        X_WF = motion.pose(marker.frame)
        x, y, z = (X_WF.R.T @ (seen.mean(axis=0) - X_WF.p)).tolist()
        placed.append(replace(marker, location=(x, y, z)))
        moved[marker.name] = float(np.linalg.norm(np.subtract((x, y, z), marker.location)))
    return PlacedMarkers(model.replace(markers=tuple(placed)), moved, tuple(dropped))
