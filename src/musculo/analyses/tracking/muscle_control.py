"""What computed muscle control found: a motion, the forces and controls that make it, and where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.model.model import Model
from musculo.results.result_base import Result, Series, also

# Times that differ by less are one [s].
SAME_TIME = 1e-9


@dataclass(frozen=True)
class FailedWindow:
    """A window in which the accelerations that are wanted cannot be reached.

    Args:
        time: where it starts [s].
        missing: by task, by how much the acceleration falls short [rad/s^2, m/s^2].
        at_bound: actuators whose force is at a bound of what they can reach.
        why: in words.
    """

    time: float
    missing: Mapping[str, float]
    at_bound: tuple[str, ...]
    why: str


@dataclass(frozen=True, eq=False, repr=False)
class MuscleControl(Result):
    """A motion that a model follows by its muscles; made by `computed_muscle_control`.

    Instants are the nodes of all windows; the end of one is the start of the next, and is there once.
    """

    made_by: ClassVar[str] = "computed_muscle_control"

    model: Model = field(repr=False)
    actuator_names: tuple[str, ...]  # muscles first
    task_names: tuple[str, ...]
    time: FloatArray = field(repr=False)  # (instants,) [s]
    q: FloatArray = field(repr=False)  # (instants, n)
    u: FloatArray = field(repr=False)  # (instants, n_u)
    udot: FloatArray = field(repr=False)  # (instants, n_u)
    activation: FloatArray = field(repr=False)  # (instants, muscles)
    fiber_length: FloatArray = field(repr=False)  # (instants, muscles) [m]
    force: FloatArray = field(repr=False)  # (instants, actuators) [N, N m]
    control_time: FloatArray = field(repr=False)  # (nodes,) ends of windows, the start first
    control: FloatArray = field(repr=False)  # (nodes, actuators) up to the node, or in a line to it: see `steps`
    steps: NDArray[np.bool_] = field(repr=False)  # (actuators,) whose control holds from the node before
    limits: FloatArray = field(repr=False)  # (2, actuators) least and largest control at the start
    error_time: FloatArray = field(repr=False)  # (windows + 1,)
    error: FloatArray = field(repr=False)  # (windows + 1, tasks) motion to follow less the one reached [rad, m]
    failures: tuple[FailedWindow, ...] = ()
    stopped: str = ""  # why it ended early
    # (muscles,) node by node: forces of muscles that are integrated under these excitations along the motion less those
    # found, over the largest (root mean square); None of windows, where muscles are integrated anyway
    integration_error: FloatArray | None = field(default=None, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    actuators = also("actuator_names")
    tasks = also("task_names")
    muscles = also("muscle_names")

    def __len__(self) -> int:
        return len(self.time)

    @property
    def muscle_names(self) -> tuple[str, ...]:
        """Columns of `activation` and `fiber_length`, and the first of `force` and `control`."""
        return self.model.muscle_names

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the motion could not be followed."""
        told = [self.stopped] if self.stopped else []
        for one in self.failures:
            missing = ", ".join(f"{name} by {value:.3g}" for name, value in one.missing.items())
            told.append(f"from {one.time:g} s {one.why}: accelerations miss {missing or 'little'}")
        return tuple(told)

    @property
    def excitation_change(self) -> float:
        """By how much excitations change from node to node, in all."""
        return float(np.abs(np.diff(self.control[:, : len(self.muscle_names)], axis=0)).sum())

    def control_at(self, time: FloatArray) -> FloatArray:
        """(times, actuators): controls as a controller reads them from the nodes."""
        after = np.searchsorted(self.control_time, np.asarray(time) - SAME_TIME)
        found = self.control[np.minimum(after, len(self.control_time) - 1)]
        for k in np.flatnonzero(~self.steps):
            found[:, k] = np.interp(time, self.control_time, self.control[:, k])
        return found

    @property
    def excitation(self) -> FloatArray:
        """(instants, muscles)."""
        return self.control_at(self.time)[:, : len(self.muscle_names)]

    def _series(self) -> Iterable[Series]:
        speeds, muscles = {"speed": self.model.speed_names}, {"muscle": self.muscle_names}
        yield Series("q", self.q, {"coordinate": self.model.coordinate_names}, "rad or m")
        yield Series("u", self.u, speeds, "rad/s or m/s")
        yield Series("udot", self.udot, speeds, "rad/s^2 or m/s^2")
        yield Series("activation", self.activation, muscles)
        yield Series("fiber_length", self.fiber_length, muscles, "m")
        yield Series("force", self.force, {"actuator": self.actuator_names}, "N or N m")
