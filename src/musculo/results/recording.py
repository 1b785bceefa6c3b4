"""One recording of a laboratory: markers, analog channels, force plates and events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from musculo.results.force_plates import ForcePlate
from musculo.results.markers import Markers
from musculo.results.segment_poses import SegmentPoses
from musculo.results.table import Table


class Event(NamedTuple):
    """An event that the laboratory marked."""

    time: float  # [s]
    label: str  # for instance "Foot Strike"
    context: str  # for instance "Right"


@dataclass(frozen=True, eq=False)
class Recording:
    """What a C3D file holds, in ground with y up, SI units. The parts may have different rates."""

    markers: Markers
    analog: Table | None  # in the units of the file; None where there are no channels
    plates: tuple[ForcePlate, ...] = ()
    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""
    up: str = ""  # the laboratory's axis that became y: "z", "-z", ...
    outputs: Table | None = None  # angles, forces, moments and powers that the laboratory computed, in its units
    segments: SegmentPoses | None = None  # as markerless systems write them
