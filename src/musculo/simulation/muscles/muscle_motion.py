"""What muscles did over a simulation, and the states that they start from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.forces.stated_forces import number
from musculo.like import Method
from musculo.model.model import Model
from musculo.muscle.fibers.activation import activation_at_start
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.equilibrium import muscle_equilibrium
from musculo.muscle.fibers.muscle_arrays import muscle_columns
from musculo.results.result_base import Result, Series
from musculo.results.table import Table
from musculo.simulation.muscles.muscles_as_force import MuscleForce

# OpenSim's default activation of an ActivationCoordinateActuator.
_SLOW_START = 0.5
FiberStart = ArrayLike | Literal["equilibrium", "default"]


class PathsAtStart(NamedTuple):
    """Paths of muscles and controls in the poses that simulations start from."""

    length: FloatArray  # (frames, muscles) [m]
    speed: FloatArray  # (frames, muscles) [m/s]
    control: FloatArray  # (frames, actuators)


def start_of_muscles(
    force: MuscleForce,
    t: float,
    q: FloatArray,
    u: FloatArray,
    activation: ArrayLike | None,
    fiber_length: FiberStart | None,
    method: Method = "exact",
) -> FloatArray:
    """(states,): activations and fiber lengths to start from.

    Args:
        activation: (muscles,) or a number; by default what the model states.
        fiber_length: (muscles,) [m]; "equilibrium", which is the default: fibers and tendons carry the same; or
            "default": what the model states.
    """

    def paths(states: FloatArray) -> PathsAtStart:
        now, m = force.now(t, q, u, states), len(force.model.muscles)
        return PathsAtStart(now.length[None, :m], now.speed[None, :m], now.control[None])

    states = starts_of_muscles(force, paths, activation, fiber_length, method)
    if len(states) != 1:
        raise InvalidInput(f"activation or fiber_length has {len(states)} frames; a simulation starts from one state")
    return states[0]


def starts_of_muscles(
    force: MuscleForce,
    paths: Callable[[FloatArray], PathsAtStart],
    activation: ArrayLike | None,
    fiber_length: FiberStart | None,
    method: Method = "exact",
) -> FloatArray:
    """(frames, states): as `start_of_muscles`, of many starts; one frame where all that is given is one.

    Args:
        paths: gives paths and controls, of muscles with states (states,) that some law can be evaluated at.
        activation, fiber_length: also (frames, muscles).
    """
    model, size = force.model, force.size
    slow = [number(one, "default_activation", _SLOW_START) for one in force.slow]
    if not model.muscles:
        states = np.zeros((1, size))
        states[:, force.slow_state] = slow
        return states
    stated = np.array([activation_at_start(muscle) for muscle in model.muscles])
    c = compiled_muscles(model, rigid=True)
    (a,), _ = muscle_columns(c, activation=stated if activation is None else activation)
    has_a, has_l = force.activation_state >= 0, force.fiber_state >= 0
    fiber = np.zeros((1, len(model.muscles)))
    if not has_l.any():
        pass  # no fiber has a length of its own
    elif fiber_length is None or isinstance(fiber_length, str):
        if fiber_length not in (None, "equilibrium", "default"):
            raise InvalidInput(
                f"fiber_length is {fiber_length!r}; give 'equilibrium', 'default', or one length for each muscle [m]"
            )
        if fiber_length == "default":
            fiber = np.array([[_stated_length(muscle) for muscle in model.muscles]])
        else:
            trial = np.zeros(size)
            trial[force.slow_state], trial[force.activation_state[has_a]] = slow, a[0][has_a]
            trial[force.fiber_state[has_l]] = c.muscles.optimal_length[has_l]
            now = paths(trial)
            # a muscle whose activation is its control starts with that
            full = np.where(has_a, a, np.clip(now.control[:, force.drive.muscle_control], 0.0, 1.0))
            balanced = muscle_equilibrium(model, now.length, now.speed, full, method=method)
            fiber = np.atleast_2d(balanced.fiber_length)
    else:
        (fiber,), _ = muscle_columns(c, fiber_length=fiber_length)
    states = np.zeros((np.broadcast_shapes(a.shape, fiber.shape)[0], size))
    states[:, force.slow_state] = slow
    states[:, force.activation_state[has_a]] = a[:, has_a]
    states[:, force.fiber_state[has_l]] = fiber[:, has_l]
    return states


def _stated_length(muscle: object) -> float:
    optimal = float(muscle.optimal_fiber_length)  # type: ignore[attr-defined]
    return float(muscle.parameter("default_fiber_length", optimal))  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False, repr=False)
class MuscleMotion(Result):
    """Muscles and other actuators over a simulation, at its times; all arrays have the frames first."""

    made_by: ClassVar[str] = "simulate"

    model: Model = field(repr=False)
    time: FloatArray = field(repr=False)  # (frames,) [s]
    muscle_names: tuple[str, ...]
    actuator_names: tuple[str, ...]  # all that take a control, muscles among them
    control: FloatArray = field(repr=False)  # (frames, actuators)
    activation: FloatArray = field(repr=False)  # (frames, muscles)
    fiber_length: FloatArray = field(repr=False)  # (frames, muscles) [m]; of rigid tendons what follows from the path
    length: FloatArray = field(repr=False)  # (frames, muscles) of the paths [m]
    speed: FloatArray = field(repr=False)  # (frames, muscles) lengthening [m/s]
    tension: FloatArray = field(repr=False)  # (frames, muscles) of the tendons [N]
    path_tension: FloatArray = field(repr=False)  # (frames, others) of springs, ligaments and path actuators [N]
    path_names: tuple[str, ...]
    tau: FloatArray = field(repr=False)  # (frames, n_u) what all of it does on the speeds [N m, N]
    slow_names: tuple[str, ...]  # of actuators whose activation follows their control
    slow_activation: FloatArray = field(repr=False)  # (frames, slow actuators)

    @property
    def excitation(self) -> FloatArray:
        """(frames, muscles)."""
        return self.control[:, [self.actuator_names.index(name) for name in self.muscle_names]]

    @property
    def power(self) -> FloatArray:
        """(frames, muscles) what each muscle gives to the body [W]: its tension times its shortening speed."""
        return -self.tension * self.speed

    def __repr__(self) -> str:
        counts = f"{len(self.muscle_names)} muscles, {len(self.actuator_names)} controls"
        return f"MuscleMotion({len(self.time)} frames of {counts})"

    def _frames(self) -> int:
        return len(self.time)

    def _series(self) -> Iterable[Series]:
        return self.series()

    def series(self) -> Iterable[Series]:
        """The arrays with their labels and units."""
        muscles = {"muscle": self.muscle_names}
        yield Series("control", self.control, {"actuator": self.actuator_names})
        yield Series("activation", self.activation, muscles)
        yield Series("fiber_length", self.fiber_length, muscles, "m")
        yield Series("length", self.length, muscles, "m")
        yield Series("speed", self.speed, muscles, "m/s")
        yield Series("tension", self.tension, muscles, "N")
        yield Series("power", self.power, muscles, "W")

    def controls(self) -> Table:
        """Controls over time, one column for each actuator, as OpenSim's `_controls.sto`."""
        return Table(self.time, self.actuator_names, self.control, name="controls")

    def states(self) -> Table:
        """Activations and fiber lengths as OpenSim names states: `/forceset/NAME/activation`, `/fiber_length`.

        They are in the order of the model's forces.
        """
        names, columns = [], []
        m = compiled_muscles(self.model, rigid=True).muscles
        from musculo.kernels.hill.activation_rate import DIRECT

        for force in self.model.forces:
            name = force.name
            if name in self.slow_names:
                names.append(f"/forceset/{name}/activation")
                columns.append(self.slow_activation[:, self.slow_names.index(name)])
            if name not in self.muscle_names:
                continue
            k = self.muscle_names.index(name)
            if m.activation_model[k] != DIRECT:
                names.append(f"/forceset/{name}/activation")
                columns.append(self.activation[:, k])
            if m.rigid[k] != 1:
                names.append(f"/forceset/{name}/fiber_length")
                columns.append(self.fiber_length[:, k])
        values = np.stack(columns, axis=1) if columns else np.zeros((len(self.time), 0))
        return Table(self.time, tuple(names), values, name="states")


def muscle_motion(
    force: MuscleForce, time: FloatArray, q: FloatArray, u: FloatArray, states: FloatArray
) -> MuscleMotion:
    """What muscles do at these states, (frames, ...) each."""
    model, m = force.model, len(force.model.muscles)
    frames = [force.now(float(t), *state) for t, *state in zip(time, q, u, states, strict=True)]
    control, length, speed, tension, tau = (
        np.array([getattr(one, what) for one in frames]).reshape(len(frames), -1)
        for what in ("control", "length", "speed", "tension", "tau")
    )
    has_a, has_l = force.activation_state >= 0, force.fiber_state >= 0
    activation = np.clip(control[:, force.drive.muscle_control], 0.0, 1.0)
    activation[:, has_a] = states[:, force.activation_state[has_a]]
    table = force.drive.muscles
    along = np.maximum(length[:, :m] - table.slack_length, table.least_along)
    fiber = np.hypot(along, table.width)
    fiber[:, has_l] = states[:, force.fiber_state[has_l]]
    return MuscleMotion(
        *(model, time, model.muscle_names, force.actuator_names, control, activation, fiber),
        *(length[:, :m], speed[:, :m], tension[:, :m], tension[:, m:], force.path_names[m:], tau),
        *(tuple(one.name for one in force.slow), states[:, force.slow_state]),
    )
