"""What a simulation gives: a motion with labels, its energy and its drift, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.dynamics.constrained_dynamics import constraint_equations
from musculo.dynamics.energy import kinetic_energy, potential_energy
from musculo.errors import InvalidInput
from musculo.model.coordinate import coordinate_path
from musculo.model.model import Model
from musculo.results.labeled_arrays import labeled
from musculo.results.provenance import Provenance
from musculo.results.result_base import Result
from musculo.results.table import Table
from musculo.simulation.equations.constraint_projection import Drift, constraint_drift
from musculo.simulation.integrators.simulation_events import EventTime

if TYPE_CHECKING:
    import xarray

    from musculo.simulation.muscles.muscle_motion import MuscleMotion


class SimulationStatus(StrEnum):
    """How a simulation ended."""

    FINISHED = "finished"
    """The end was reached."""
    EVENT = "event"
    """An event ended it."""
    FAILED = "failed"
    """No step led on, or what steps led to cannot be trusted: `reason` says why."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Result):
    """The motion that `simulate` found, at the times asked for or at the integrator's steps.

    `status` is "finished" where the end was reached, "event" where an event ended it, and "failed" where no step led
    on, or where what steps led to cannot be trusted: then `reason` says why and where, and the motion goes up to there.
    `notes` say what else has to be known: values of the file that a loop moved at the start, and joints that went
    beyond the samples they were made of.
    """

    made_by: ClassVar[str] = "simulate"
    statuses: ClassVar[type[Enum]] = SimulationStatus

    model: Model = field(repr=False)
    time: FloatArray = field(repr=False)  # (frames,) [s]
    q: FloatArray = field(repr=False)  # (frames, n) [rad, m]
    u: FloatArray = field(repr=False)  # (frames, n_u) [rad/s, m/s]
    status: SimulationStatus
    reason: str
    events: tuple[EventTime, ...]  # in order of time
    n_steps: int
    n_evaluations: int
    method: str
    formulation: str
    provenance: Provenance = field(repr=False)
    _states: Callable[[FloatArray], tuple[FloatArray, FloatArray]] | None = field(repr=False)
    _accelerations: Callable[[FloatArray, FloatArray, FloatArray], FloatArray] = field(repr=False)
    _sprung: bool = field(default=False, repr=False)  # whether forces of the model act
    notes: tuple[str, ...] = ()
    _muscles: Callable[[], MuscleMotion] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def end(self) -> float:
        """The time it came to [s]."""
        return float(self.time[-1])

    @cached_property
    def muscles(self) -> MuscleMotion | None:
        """What muscles and other actuators did, at these times; None where they did not act."""
        return None if self._muscles is None else self._muscles()

    @property
    def activation(self) -> FloatArray | None:
        """(frames, muscles) activations, or the controls of muscles that have none; None where muscles did not act."""
        return None if self.muscles is None else self.muscles.activation

    @cached_property
    def udot(self) -> FloatArray:
        """(frames, n_u) accelerations [rad/s^2, m/s^2]."""
        return self._accelerations(self.time, self.q, self.u)

    @cached_property
    def kinetic(self) -> FloatArray:
        """(frames,) kinetic energy [J]."""
        return np.asarray(kinetic_energy(self.model, self.q, self.u))

    @cached_property
    def potential(self) -> FloatArray:
        """(frames,) potential energy of gravity [J]."""
        return np.asarray(potential_energy(self.model, self.q))

    @cached_property
    def stored(self) -> FloatArray:
        """(frames,) energy that springs, bushings and contacts of the model hold, where they act [J]."""
        if not self._sprung:
            return np.zeros(len(self.time))
        from musculo.forces.model_forces import model_forces

        return np.asarray(model_forces(self.model, self.q, time=self.time).energy.sum(axis=1))

    @property
    def energy(self) -> FloatArray:
        """(frames,) kinetic, potential and stored energy [J]; constant where nothing but gravity and springs works."""
        return self.kinetic + self.potential + self.stored

    @cached_property
    def drift(self) -> Drift:
        """How far each frame is from all that is enforced; zeros where nothing is."""
        return constraint_drift(self.model, self.q, self.u, self.time)

    @property
    def _constrained(self) -> bool:
        return constraint_equations(self.model).count > 0

    def at(self, time: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """q and u at any time of the simulation, a number or (times,), from the integrator's interpolant."""
        if self._states is None:
            raise InvalidInput("the simulation was made with dense=False and knows only its own times; use dense=True")
        try:
            times = np.asarray(time, dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"time is not a number or an array of numbers: {error}") from None
        if times.ndim > 1 or not np.all((times >= self.time[0]) & (times <= self.time[-1])):
            raise InvalidInput(
                f"time is {time!r:.60}; give a number or a list of numbers from {self.time[0]:g} to {self.time[-1]:g} s"
            )
        q, u = self._states(np.atleast_1d(times))
        return (q[0], u[0]) if times.ndim == 0 else (q, u)

    def to_table(self) -> Table:  # type: ignore[override]
        """Coordinates and speeds as OpenSim names states: `/jointset/<joint>/<coordinate>/value` and `/speed`.

        Speeds of quaternion joints, which have no coordinate of their own, are named `/jointset/<joint>/<speed>/speed`;
        states of muscles that acted `/forceset/<muscle>/activation` and `/fiber_length`.
        """
        joints = {name: joint.name for joint in self.model.joints for name in joint.speed_names}
        joints.update({c.name: joint.name for joint in self.model.joints for c in joint.coordinates})
        values = [f"{coordinate_path(joints[name], name)}/value" for name in self.model.coordinate_names]
        speeds = [f"{coordinate_path(joints[name], name)}/speed" for name in self.model.speed_names]
        title, names, parts = f"{self.model.name} simulated", (*values, *speeds), [self.q, self.u]
        if self.muscles is not None:
            own = self.muscles.states()
            names, parts = (*names, *own.names), [*parts, own.values]
        return Table(self.time, names, np.hstack(parts), name=title, provenance=self.provenance)

    def monitors(self) -> Table:
        """Energies [J] over time and, where something is enforced, how far each frame is from it."""
        columns = {"kinetic_energy": self.kinetic, "potential_energy": self.potential, "energy": self.energy}
        units = ["J"] * 3
        if self._constrained:
            columns |= {"position_drift": self.drift.position, "velocity_drift": self.drift.velocity}
            units += ["rad or m", "rad/s or m/s"]
        values, title = np.stack(list(columns.values()), axis=1), f"{self.model.name}: energy and drift"
        return Table(self.time, tuple(columns), values, False, tuple(units), title, provenance=self.provenance)

    def to_xarray(self) -> xarray.Dataset:  # type: ignore[override]
        """q, u, udot and energies with labeled axes; the drift where something is enforced, and what muscles did."""
        import xarray

        at = {"time": self.time}
        coordinates, speeds = self.model.coordinate_names, self.model.speed_names
        made = self.provenance
        parts = [
            labeled("q", self.q, {**at, "coordinate": coordinates}, "rad or m", made),
            labeled("u", self.u, {**at, "speed": speeds}, "rad/s or m/s", made),
            labeled("udot", self.udot, {**at, "speed": speeds}, "rad/s^2 or m/s^2", made),
            labeled("kinetic_energy", self.kinetic, at, "J", made),
            labeled("potential_energy", self.potential, at, "J", made),
        ]
        if self._constrained:
            parts.append(labeled("position_drift", self.drift.position, at, "rad or m", made))
            parts.append(labeled("velocity_drift", self.drift.velocity, at, "rad/s or m/s", made))
        if self.muscles is not None:
            parts += [
                labeled(one.name, one.values, {**at, **one.labels}, one.unit, made) for one in self.muscles.series()
            ]
        facts = {
            "status": str(self.status),
            "reason": self.reason,
            "method": self.method,
            "formulation": self.formulation,
        }
        facts |= made.attributes()
        return xarray.Dataset({str(part.name): part for part in parts}, attrs=facts)
