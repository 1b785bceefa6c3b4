"""External loads as OpenSim's files describe them: which columns of a table act on which body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.model.body import GROUND
from musculo.results.force_plates import CONTACT, ForcePlate, plates_to_table
from musculo.results.table import Table
from musculo.signals.filters import butterworth
from musculo.signals.gaps import runs
from musculo.signals.natural_smoothing import NaturalSpline


class LoadSeries(NamedTuple):
    """One load over time, in the order of `musculo.ExternalLoad`: `ExternalLoad(*load)` applies it."""

    body: str
    force: FloatArray  # (frames, 3) [N]
    point: FloatArray  # (frames, 3) [m]
    moment: FloatArray  # (frames, 3) [N m]
    force_in: str  # the frame of force and moment
    point_in: str  # the frame of the point
    source: str = ""  # the file and the load in it


@dataclass(frozen=True)
class ExternalForce:
    """One `<ExternalForce>`: columns of the data by the beginning of their names.

    An identifier is a prefix that three columns share; their names end in x, y, z or in 1, 2, 3. An empty one means
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

    The names of its three columns tell which is x, y and z: the parts that differ must be x, y, z or 1, 2, 3, in any
    order (`force_vx`, `force_X`, `force_1`). OpenSim looks at no more than their order; `by_position` does so.

    Args:
        name: of the set.
        forces: what acts, in file order.
        table: the data.
        data_file: its name as the XML states it.
        source: the XML file.
        notes: what a reader found odd and how it took it.
        by_position: take three columns for x, y, z as they stand, as OpenSim does, whatever their names say.

    Raises:
        InvalidInput: columns are missing, or their names do not tell x, y and z.
    """

    name: str
    forces: tuple[ExternalForce, ...]
    table: Table
    data_file: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    by_position: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "forces", tuple(self.forces))
        for force in self.forces:
            if not force.body:
                raise InvalidInput(f"{self._of(force)} acts on no body; state applied_to_body")
            if not force.force_identifier and not force.torque_identifier:
                raise InvalidInput(f"{self._of(force)} names neither force nor torque columns; give an identifier")
            if force.point_identifier and not force.force_identifier:
                raise InvalidInput(f"{self._of(force)} has a point but no force that acts there; give both or neither")
            for identifier in _identifiers(force):
                self._columns(force, identifier)

    def _of(self, force: ExternalForce) -> str:
        return f"{self.source or f'external loads {self.name!r}'}: external force {force.name!r}"

    def _columns(self, force: ExternalForce, identifier: str) -> list[int]:
        """The columns of x, y and z."""
        found = self._found(force, identifier)
        if self.by_position:
            return found
        names = [self.table.names[k] for k in found]
        order = axis_order(names)
        if order is None:
            raise InvalidInput(
                f"{self._of(force)}: the names of the columns {', '.join(names)} of "
                f"{self.table.source or self.data_file or 'its data'} do not tell which is x, y and z; let them end in "
                "x, y, z or in 1, 2, 3, or take them in the order of the file, as OpenSim does: `musculo run`, or "
                "by_position=True in Python"
            )
        return [found[k] for k in order]

    def _found(self, force: ExternalForce, identifier: str) -> list[int]:
        """The columns of an identifier, in the order of the file."""
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

    @property
    def misplaced(self) -> dict[str, tuple[str, float]]:
        """Columns that do not stand in the order x, y, z, by identifier.

        With the order that their names tell, and by how much they differ from what stands in their place; names that
        tell no order have an empty one.
        """
        found: dict[str, tuple[str, float]] = {}
        for force in self.forces:
            for identifier in _identifiers(force):
                columns = self._found(force, identifier)
                order = axis_order([self.table.names[k] for k in columns])
                if order is None:
                    found[identifier] = ("", 0.0)
                elif order != [0, 1, 2]:
                    data = self.table.values[:, columns]
                    apart = np.nan_to_num(np.abs(data[:, order] - data)).max(initial=0.0)
                    told = ", ".join("xyz"[order.index(k)] for k in range(3))
                    found[identifier] = (told, float(apart))
        return found

    @property
    def in_order(self) -> ExternalLoads:
        """The same loads from columns that stand in the order x, y, z, so that OpenSim takes them alike."""
        if self.by_position:
            return self
        places = np.arange(len(self.table.names))
        for force in self.forces:
            for identifier in _identifiers(force):
                places[self._found(force, identifier)] = self._columns(force, identifier)
        return replace(self, table=self.table.pick([self.table.names[k] for k in places]))

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

    def lowpass(self, cutoff: float, order: int = 4, *, point_cutoff: float | None = None) -> ExternalLoads:
        """Forces and moments filtered; see `musculo.signals.lowpass`. OpenSim filters no loads.

        Points jump where a foot lands, and a filtered jump would put forces where nobody stands. So they stay, and the
        moment about the origin is filtered in their place: T' = M' - p x F' with M = p x F + T. Where a load has no
        torque columns of its own, or its parts are given in different frames, its columns are filtered one by one.

        With `point_cutoff` the points are filtered, too, at a cutoff of their own, as many laboratories do
        (Antunes2025: 20 Hz for forces, 10 Hz for centers of pressure). Each contact is filtered by itself, so that no
        point is mixed with one where nobody stands. Contacts of two frames or fewer, and points between contacts, stay.
        Torques are then filtered as they are, so that the load moves with its point; by default it does not.

        Args:
            cutoff: of forces and moments [Hz].
            order: of both passes together.
            point_cutoff: of the points [Hz]; None leaves them and makes up for it in the moments.
        """
        filtered = self.table.lowpass(cutoff, order)
        if point_cutoff is not None:
            return self.with_table(replace(filtered, values=self._with_points(filtered.values, point_cutoff, order)))
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

    def _with_points(self, filtered: FloatArray, cutoff: float, order: int) -> FloatArray:
        """Filtered values with points that are filtered contact by contact."""
        before, values = self.table.values, np.array(filtered)
        for force in self.forces:
            if not force.point_identifier:
                continue
            p = self._columns(force, force.point_identifier)
            values[:, p] = before[:, p]
            size = np.linalg.norm(before[:, self._columns(force, force.force_identifier)], axis=1)
            for first, last in runs(size > CONTACT):
                if last - first > 2:
                    part = slice(first, last)
                    values[part, p] = butterworth(self.table.time[part], before[part][:, p], cutoff, order)
        return values

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
        return LoadSeries(force.body, values[0], values[1], values[2], force.force_in, point_in, self._of(force))

    def pieces(self) -> tuple[FloatArray, FloatArray]:
        """Times (n,) and cubic polynomials (n + 1, 9 loads, 4) of force, point and moment of the loads that apply.

        They are `at` as piecewise polynomials, laid out as `NaturalSpline.cubic_pieces` says.
        """
        columns = []
        for force in self.forces:
            if force.applies:
                for identifier in (force.force_identifier, force.point_identifier, force.torque_identifier):
                    none = np.zeros((len(self.table.time), 3))
                    columns.append(self._data(force, identifier) if identifier else none)
        data = np.concatenate(columns, axis=1) if columns else np.zeros((len(self.table.time), 0))
        time = np.asarray(self.table.time, dtype=float)
        if len(data) == 1 or not columns:
            constant = np.zeros((2, data.shape[1], 4))
            constant[:, :, 3] = data[0]
            return time[:1].copy(), constant
        spline = NaturalSpline(time, data, 3 if len(data) > 3 else 1)
        return np.ascontiguousarray(spline.time), spline.cubic_pieces()

    def _curve(self, force: ExternalForce, identifier: str, time: FloatArray) -> FloatArray:
        data = self._data(force, identifier)
        if len(data) == 1:
            return np.broadcast_to(data[0], (len(time), 3)).copy()
        if identifier not in self._splines:
            self._splines[identifier] = NaturalSpline(self.table.time, data, 3 if len(data) > 3 else 1)
        return self._splines[identifier](time)

    @cached_property
    def _splines(self) -> dict[str, NaturalSpline]:
        """By identifier: every step of a trial asks for the same ones, at times of its own."""
        return {}

    def _data(self, force: ExternalForce, identifier: str) -> FloatArray:
        """(n, 3) the columns of an identifier, without gaps."""
        data = self.table.values[:, self._columns(force, identifier)]
        if not np.isfinite(data).all():
            at = int(np.argmin(np.isfinite(data).all(axis=1)))
            raise InvalidInput(
                f"{self._of(force)}: columns {identifier!r} have gaps, the first at {self.table.time[at]:g} s; "
                "fill them (--fill-gaps SECONDS in the shell, loads.table.fill in Python) or set them to zero"
            )
        return data


def _identifiers(force: ExternalForce) -> list[str]:
    """Those that are stated."""
    return [word for word in (force.force_identifier, force.point_identifier, force.torque_identifier) if word]


def axis_order(names: Sequence[str]) -> list[int] | None:
    """Where x, y and z stand among three names, by what the names do not share; None where that tells no axes."""
    start = _shared(names)
    end = _shared([name[start:][::-1] for name in names])
    parts = [name[start : len(name) - end].strip("_. ").lower() for name in names]
    for axes in ("xyz", "123"):
        if sorted(parts) == list(axes):
            return [parts.index(axis) for axis in axes]
    return None


def _shared(names: Sequence[str]) -> int:
    """How many letters names have in common at their beginning."""
    first, last = min(names), max(names)  # in the order of letters all others lie between these
    return next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
