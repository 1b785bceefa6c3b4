"""External loads as OpenSim's files describe them: which columns of a table act on which body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.errors import InvalidInput
from musculo.model.body import GROUND
from musculo.results.force_plates import CONTACT, ForcePlate, plates_to_table
from musculo.results.table import Table
from musculo.signals.arrays import FloatArray
from musculo.signals.lowpass import butterworth
from musculo.signals.natural import NaturalSpline


class LoadSeries(NamedTuple):
    """One load over time, in the order of `musculo.ExternalLoad`: `ExternalLoad(*load)` applies it."""

    body: str
    force: FloatArray  # (frames, 3) [N]
    point: FloatArray  # (frames, 3) [m]
    moment: FloatArray  # (frames, 3) [N m]
    force_in: str  # the frame of force and moment
    point_in: str  # the frame of the point


@dataclass(frozen=True)
class ExternalForce:
    """One `<ExternalForce>`: columns of the data by the beginning of their names.

    An identifier is a prefix that three columns share; they are x, y, z in the order of the file. An empty one means
    that there is none: no force, no moment, or a force at the origin of the body.
    """

    name: str
    body: str
    force_identifier: str = ""
    point_identifier: str = ""
    torque_identifier: str = ""
    force_in: str = GROUND
    point_in: str = GROUND
    applies: bool = True


@dataclass(frozen=True, eq=False)
class ExternalLoads:
    """Forces on bodies over time.

    Args:
        name: of the set.
        forces: what acts, in file order.
        table: the data.
        data_file: its name as the XML states it.
        source: the XML file.
        notes: what a reader found odd and how it took it.
    """

    name: str
    forces: tuple[ExternalForce, ...]
    table: Table
    data_file: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "forces", tuple(self.forces))
        for force in self.forces:
            if not force.body:
                raise InvalidInput(f"{self._of(force)} acts on no body; state applied_to_body")
            if not force.force_identifier and not force.torque_identifier:
                raise InvalidInput(f"{self._of(force)} names neither force nor torque columns; give an identifier")
            if force.point_identifier and not force.force_identifier:
                raise InvalidInput(f"{self._of(force)} has a point but no force that acts there; give both or neither")
            for identifier in (force.force_identifier, force.point_identifier, force.torque_identifier):
                if identifier:
                    self._columns(force, identifier)

    def _of(self, force: ExternalForce) -> str:
        return f"{self.source or f'external loads {self.name!r}'}: external force {force.name!r}"

    def _columns(self, force: ExternalForce, identifier: str) -> list[int]:
        found = [k for k, name in enumerate(self.table.names) if name.startswith(identifier)]
        if len(found) != 3:
            which = ", ".join(self.table.names[k] for k in found[:8]) or "none"
            known = ", ".join(self.table.names[:12]) + (", ..." if len(self.table.names) > 12 else "")
            raise InvalidInput(
                f"{self._of(force)}: {identifier!r} must begin the names of three columns (x, y, z) of "
                f"{self.table.source or self.data_file or 'its data'}, and begins {len(found)} ({which}); "
                f"columns: {known}"
            )
        return found

    @classmethod
    def from_plates(
        cls, plates: Sequence[ForcePlate], bodies: Sequence[str], threshold: float = CONTACT
    ) -> ExternalLoads:
        """Each plate acts on one body: `ExternalLoads.from_plates(recording.plates, ["calcn_r", "calcn_l"])`.

        A plate that carries no more than `threshold` [N] is empty.
        """
        if len(plates) != len(bodies):
            raise InvalidInput(f"{len(plates)} plates and {len(bodies)} bodies; name the body on each plate")
        forces = tuple(
            ExternalForce(
                f"plate_{plate.name}",
                body,
                f"ground_force_{plate.name}_v",
                f"ground_force_{plate.name}_p",
                f"ground_torque_{plate.name}_",
            )
            for plate, body in zip(plates, bodies, strict=True)
        )
        return cls("ground_reactions", forces, plates_to_table(plates, threshold))

    def with_table(self, table: Table) -> ExternalLoads:
        """The same loads of other data, and what its making had to say."""
        new = tuple(note for note in table.notes if note not in self.table.notes)
        return replace(self, table=table, notes=(*self.notes, *new))

    def lowpass(self, cutoff: float, order: int = 4) -> ExternalLoads:
        """Forces and moments filtered; see `musculo.lowpass`. OpenSim filters no loads.

        Points jump where a foot lands, and a filtered jump would put forces where nobody stands. So they stay, and the
        moment about the origin is filtered in their place: T' = M' - p x F' with M = p x F + T. Where a load has no
        torque columns of its own, or its parts are given in different frames, its columns are filtered one by one.
        """
        filtered = self.table.lowpass(cutoff, order)
        before, values = self.table.values, np.array(filtered.values)
        whole = {
            (force.force_identifier, force.point_identifier, force.torque_identifier): force
            for force in self.forces
            if force.point_identifier and force.torque_identifier and force.force_in == force.point_in
        }
        owners = Counter(torque for _, _, torque in whole)
        for identifiers, force in whole.items():
            if owners[force.torque_identifier] > 1:
                continue  # a torque can make up for one point only
            f, p, t = (self._columns(force, identifier) for identifier in identifiers)
            moment = butterworth(self.table.time, np.cross(before[:, p], before[:, f]) + before[:, t], cutoff, order)
            values[:, p] = before[:, p]
            values[:, t] = moment - np.cross(before[:, p], values[:, f])
        return self.with_table(replace(filtered, values=values))

    def at(self, time: ArrayLike) -> tuple[LoadSeries, ...]:
        """The loads that apply, at any times: natural cubic splines through the data, as in OpenSim.

        Two or three frames are joined by lines, one is constant; beyond the data the splines go on as lines.
        """
        t = np.atleast_1d(np.asarray(time, dtype=float))
        return tuple(self._series(force, t) for force in self.forces if force.applies)

    def _series(self, force: ExternalForce, time: FloatArray) -> LoadSeries:
        values = []
        for identifier in (force.force_identifier, force.point_identifier, force.torque_identifier):
            values.append(self._curve(force, identifier, time) if identifier else np.zeros((len(time), 3)))
        # Without a point the force acts at the body's origin.
        point_in = force.point_in if force.point_identifier else force.body
        return LoadSeries(force.body, values[0], values[1], values[2], force.force_in, point_in)

    def _curve(self, force: ExternalForce, identifier: str, time: FloatArray) -> FloatArray:
        columns = self._columns(force, identifier)
        data = self.table.values[:, columns]
        if not np.isfinite(data).all():
            at = int(np.argmin(np.isfinite(data).all(axis=1)))
            raise InvalidInput(
                f"{self._of(force)}: columns {identifier!r} have gaps, the first at {self.table.time[at]:g} s; "
                "fill them (--fill-gaps SECONDS in the shell, loads.table.fill in Python) or set them to zero"
            )
        if len(data) == 1:
            return np.broadcast_to(data[0], (len(time), 3)).copy()
        return NaturalSpline(self.table.time, data, 3 if len(data) > 3 else 1)(time)
