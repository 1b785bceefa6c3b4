"""All that is known of one trial: the model, the recording, what steps made of it, and the records of their runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads
from musculo.results.markers import Markers
from musculo.results.table import Table

# A table of metabolic power is called after this; columns beside muscles are the body at rest, and all of it.
METABOLIC, BASAL, BODY = "metabolic_power", "basal", "body"


@dataclass
class Trial:
    """The tables of a folder by what they hold, and the files that went in; None where there is none."""

    folder: Path
    angles: Table | None = None
    marker_errors: Table | None = None
    sensor_errors: Table | None = None  # [rad], by sensor
    tracking_errors: Table | None = None  # [rad, m], by task
    moments: Table | None = None
    activations: Table | None = None
    forces: Table | None = None
    metabolic: Table | None = None  # [W], by muscle, and of the body
    reactions: list[Table] = field(default_factory=list)
    muscles: dict[str, Table] = field(default_factory=dict)  # of a muscle analysis by quantity, as OpenSim calls it
    model: Model | None = None
    loads: ExternalLoads | None = None
    markers: Markers | None = None
    emg: Table | None = None  # channels of electromyograms, raw or envelopes, beside others that name no muscle
    records: list[dict[str, Any]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # files that are broken, with the reason
    more: list[str] = field(default_factory=list)  # tables of other trials, of kinds that another one holds already
    older: list[str] = field(default_factory=list)  # tables of this trial, of kinds that a newer one holds
    read: list[Path] = field(default_factory=list)  # files that the page is made from

    @property
    def tables(self) -> list[Table]:
        """All series, those of angles first."""
        errors = (self.marker_errors, self.sensor_errors, self.tracking_errors)
        single = (self.angles, self.moments, self.activations, self.forces, self.metabolic, *errors)
        return [table for table in (*single, *self.reactions, *self.muscles.values()) if table is not None]

    @property
    def shown(self) -> bool:
        """Whether there is any series to show."""
        return bool(self.tables)

    def tool_of(self, table: Table) -> str:
        """The tool whose record names the table among its results; empty where none does."""
        source = Path(table.source).resolve()
        made = (one for one in self.records if any(Path(name).resolve() == source for name in one.get("results", {})))
        return next((str(record.get("tool", "")) for record in made), "")
