"""OpenSim's computed muscle control: window by window, errors at its start and forces at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from musculo.analyses.static_optimization.least_effort import Status as EffortStatus
from musculo.analyses.tracking.acceleration_targets import AccelerationTargets
from musculo.analyses.tracking.actuator_forces import AccelerationMap, fast_target, slow_target
from musculo.analyses.tracking.desired_motion import DesiredMotion
from musculo.analyses.tracking.driven_model import DrivenModel, Response
from musculo.analyses.tracking.driven_window import NODES, Driven, DrivenState, NotSettled, drive, node_times
from musculo.analyses.tracking.muscle_control import SAME_TIME, FailedWindow, MuscleControl
from musculo.analyses.tracking.muscle_windows import MuscleStates, MuscleWindows, Paths, held_paths, paths_through
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.io.controls.control_limits import ControlLimits
from musculo.muscle.fibers.activation import activation_at_start
from musculo.muscle.fibers.capacity import active_force_capacity
from musculo.muscle.fibers.equilibrium import muscle_equilibrium

# As OpenSim: excitations of muscles are at least this and may reach one; controls without a bound have this one.
LEAST_EXCITATION, MOST_EXCITATION, FAR = 0.02, 1.0, 1e4
# A muscle whose force can change by less in a window keeps its least excitation [N].
_NO_RANGE = 1.0
# The start: excitations while the pose is held, for how long, and the window of the first controls [s].
_START_EXCITATION, _HOLD, START_WINDOW = 0.01, 0.2, 0.03
# Strengths below this part of the maximum isometric force count as that: effort divides by them.
_LEAST_STRENGTH = 1e-4
# Of an acceleration that is wanted, what may be missing before a window has failed; and how near a bound is one.
_MET, _AT_BOUND = 1e-6, 1e-6

Progress = Callable[[float], None]


class Controller:
    """What computed muscle control asks for and how it gets there; `run` goes through the windows.

    Source:  [ThelenAndersonDelp2003], [ThelenAnderson2006]; OpenSim 4.6, `CMC.cpp`, `ActuatorForceTarget(Fast).cpp`.
    Departs: muscles are solved to the tolerance of `MuscleWindows`, forces are the optimum to rounding and excitations
             give them to 1e-7 of the maximum force; OpenSim stops its search for excitations at 4e-3 and its optimizer
             at 1e-4. A window whose accelerations cannot be reached is noted, and the nearest ones are taken; OpenSim
             ends there. Before the start muscles come to rest from equilibrium, and not from default fiber lengths.

    Args:
        driven: the model.
        desired: the motion to follow.
        targets: which coordinates follow it, with gains.
        limits: of controls over time, by actuators; others have those of the model.
        window: over which forces are reached [s].
        fast: whether accelerations of the tasks are equations; else they are weighed against effort.
        excluded: actuators that get no control.
        tolerance: of speeds in the integration of the model.
    """

    def __init__(
        self,
        driven: DrivenModel,
        desired: DesiredMotion,
        targets: AccelerationTargets,
        *,
        limits: Sequence[ControlLimits] = (),
        window: float = 0.01,
        fast: bool = True,
        excluded: Sequence[str] = (),
        tolerance: float = 1e-6,
    ) -> None:
        model = driven.model
        self.driven, self.desired, self.followed = driven, desired, targets
        self.window, self.fast, self.tolerance = window, fast, tolerance
        self.muscles = MuscleWindows(model, driven.method)
        self._n = len(model.muscles)
        self._on = np.array([m.applies_force for m in model.muscles], dtype=bool)
        self.strength = np.array([m.max_isometric_force for m in model.muscles])
        self._optimal = np.array([one.optimal_force for one in driven.actuators])
        self._limits = {one.name: one for one in limits}
        self._excluded = set(excluded)
        # muscles under a constant excitation; others follow their nodes, in steps if a file of limits says so
        held = [name in self._limits and self._limits[name].steps for name in driven.names[self._n :]]
        self.steps = np.array([True] * self._n + held, dtype=bool)

    # --- bounds -----------------------------------------------------------------------------------------------------
    def bounds(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Least and largest control of every actuator at a time."""
        muscles = self.driven.model.muscles
        low = [max(m.min_control, LEAST_EXCITATION) for m in muscles]
        top = [max(m.max_control, MOST_EXCITATION) for m in muscles]
        for one in self.driven.actuators:
            low.append(max(one.min_control, -FAR))
            top.append(min(one.max_control, FAR))
        lower, upper = np.array(low), np.array(top)
        for k, name in enumerate(self.driven.names):
            if name in self._limits:
                a, b = self._limits[name].at(np.array([time]))
                lower[k], upper[k] = a[0], b[0]
            if name in self._excluded:
                lower[k] = upper[k] = 0.0
        return lower, upper

    # --- one window -------------------------------------------------------------------------------------------------
    def targets(self, time: float, end: float, q: FloatArray, u: FloatArray) -> FloatArray:
        """a* (tasks,) = ka udot_d(end) + kv (u_d - u) + kp (q_d - q), errors at the start of the window."""
        return self.followed.accelerations(self.desired, time, q, u, end - time)

    def predicted(self, times: FloatArray, q: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """z and zu at times of a window: the motion to follow, off by as much as at its start."""
        e = self.driven.embedding
        Q, U = self.desired.q(times), self.desired.u(times)
        Q, U = Q + (q - Q[0]), U + (u - U[0])
        return e.independent(Q), e.independent_speeds(Q, U)

    def controls(
        self, time: float, end: float, q: FloatArray, u: FloatArray, start: MuscleStates, guess: FloatArray
    ) -> tuple[FloatArray, Paths, tuple[FloatArray, FloatArray], FailedWindow | None]:
        """Controls of a window, the paths that were expected, z and zu likewise, and whether it failed."""
        n = self._n
        times = node_times(time, end)
        z, zu = self.predicted(times, q, u)
        response = self.driven.respond(times, z, zu)
        paths = paths_through(end - time, NODES, response.paths.length[:, :n])
        low, high = self.bounds(end)
        reach = self.muscles.states(start, paths.only_end, np.stack([low[:n], high[:n]])).force[:, -1]
        few = reach[1] - reach[0] < _NO_RANGE
        top = high[:n].copy()
        top[few] = low[:n][few]
        reach[1, few] = reach[0, few]
        lower = np.concatenate([reach[0], low[n:] * self._optimal])
        upper = np.concatenate([np.maximum(reach[0], reach[1]), high[n:] * self._optimal])
        wanted = self.targets(time, end, q, u)
        late = (self.desired.q([time])[0] - q)[self.followed.coordinate]
        force, failed = self._forces(response, wanted, late, lower, upper, time)
        x = self.muscles.excitations(
            start, paths, (low[:n], top), (reach[0], reach[1]), np.ascontiguousarray(force[:n]), guess[:n]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            others = np.where(self._optimal != 0.0, force[n:] / self._optimal, 0.0)
        return np.concatenate([x, others]), paths, (z, zu), failed

    def _forces(
        self,
        response: Response,
        wanted: FloatArray,
        late: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        time: float,
    ) -> tuple[FloatArray, FailedWindow | None]:
        """Forces at the end of a window by the fast or the slow target, and whether they miss the accelerations."""
        n = self._n
        J = response.J[-1, self.followed.speed]
        A, b = J @ response.A[-1], J @ response.b[-1] + response.rest[-1, self.followed.speed]
        opposed = lower > upper  # actuators that push where a positive control pulls
        lower, upper = np.where(opposed, upper, lower), np.where(opposed, lower, upper)
        if self.fast:
            speed = response.paths.speed
            assert speed is not None
            capacity = (
                active_force_capacity(
                    self.driven.model,
                    response.paths.length[-1, :n],
                    speed[-1, :n],
                    method=self.driven.method,
                    threads=1,
                )
                if n
                else np.zeros(0)
            )
            strength = np.maximum(capacity, _LEAST_STRENGTH * self.strength)
        else:
            strength = self.strength
        strength = np.concatenate([strength, np.abs(self._optimal)])
        strength = np.where(strength > 0.0, strength, 1.0)
        rows = AccelerationMap(A, b)
        status = EffortStatus.SOLVED
        if self.fast:
            force, status = fast_target(rows, wanted, strength, lower, upper)
        else:
            stress = self.followed.stress_weight(late)
            force = slow_target(rows, wanted, self.followed.weight, strength, lower, upper, stress)
        if status == EffortStatus.SOLVED:
            return force, None
        return force, self.failure(A, wanted - b, force, lower, upper, status, time)

    def failure(
        self,
        A: FloatArray,
        wanted: FloatArray,
        force: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        status: EffortStatus,
        time: float,
    ) -> FailedWindow:
        """Which accelerations A F = wanted are missed, and which bounds of forces are in the way."""
        missing = wanted - A @ force
        size = np.abs(wanted) + np.abs(A) @ np.abs(force)
        short = {
            name: float(x) for name, x, s in zip(self.followed.names, missing, size, strict=True) if abs(x) > _MET * s
        }
        width = np.maximum(upper - lower, _AT_BOUND)
        stuck = (force - lower <= _AT_BOUND * width) | (upper - force <= _AT_BOUND * width)
        # only those whose bound keeps the accelerations from being met
        pull = np.abs(A.T @ missing) > _MET * np.abs(A.T) @ np.abs(missing)
        at_bound = tuple(name for name, s, p in zip(self.driven.names, stuck, pull, strict=True) if s and p)
        why = "the accelerations cannot be reached" if status == EffortStatus.INFEASIBLE else "no optimum was found"
        return FailedWindow(time, short, at_bound, why)

    # --- the start --------------------------------------------------------------------------------------------------
    def start_states(self, time: float) -> tuple[MuscleStates, FloatArray]:
        """States of muscles a little after `time`, at time + START_WINDOW, as OpenSim finds them, and controls.

        The pose is held until muscles rest; then windows of 30 ms are solved twice, the second time with muscles that
        rest under the excitations of the first.
        """
        model, n = self.driven.model, self._n
        now = np.array([time])
        q, u = self.desired.q(now)[0], self.desired.u(now)[0]
        z, zu = self.predicted(now, q, u)
        length = self.driven.geometry(*self._placed(now, z, zu)).length[0, :n]
        a = np.array([activation_at_start(m) for m in model.muscles])
        resting = muscle_equilibrium(model, length, 0.0, a, method=self.driven.method, threads=1)
        states = MuscleStates(a, resting.fiber_length, resting.tendon_force)
        x = np.full(len(self.driven.names), _START_EXCITATION)
        for _ in range(2):
            states = self._held(states, length, x)
        for turn in range(2):
            x, paths, _, _ = self.controls(time, time + START_WINDOW, q, u, states, x)
            if turn == 0:
                states = self._held(states, length, x)
        found = self.muscles.states(states, paths, x[None, :n])
        return MuscleStates(*(part[0, -1] for part in found)), x

    def _placed(self, time: FloatArray, z: FloatArray, zu: FloatArray) -> tuple[FloatArray, FloatArray]:
        m = self.driven.moved(time, z, zu)
        return m.q, m.u

    def _held(self, states: MuscleStates, length: FloatArray, x: FloatArray) -> MuscleStates:
        found = self.muscles.states(states, held_paths(_HOLD, length), x[None, : self._n])
        return MuscleStates(*(part[0, -1] for part in found))

    # --- all windows ------------------------------------------------------------------------------------------------
    def run(self, start: float, end: float, progress: Progress | None = None) -> MuscleControl:
        """From `start`, of which the first 30 ms are spent on the states of muscles, to a window before `end`."""
        driven, e, n = self.driven, self.driven.embedding, self._n
        first = start + START_WINDOW if n else start
        last = end - self.window
        if last <= first + SAME_TIME:
            raise InvalidInput(
                f"from {start:g} to {end:g} s there is no time for computed muscle control: it starts at {first:g} s, "
                f"ends a window of {self.window:g} s before the end, and needs a window between; choose a longer span"
            )
        count = int(np.ceil((last - first) / self.window - 1e-6))
        begins = first + self.window * np.arange(count)
        all_times = [node_times(t, t + self.window) for t in begins]
        driven.plan(np.concatenate([node_times(start, first), *all_times, np.array([start])]))
        if n:
            muscles, control = self.start_states(start)
        else:
            muscles, control = MuscleStates(*(np.zeros(0) for _ in range(3))), np.zeros(len(driven.names))
        now = np.array([first])
        z, zu = e.independent(self.desired.q(now)), e.independent_speeds(self.desired.q(now), self.desired.u(now))
        state = DrivenState(first, z[0], zu[0], muscles)
        windows: list[Driven] = []
        controls, times, failures, stopped = [control], [first], [], ""
        errors, error_times = [np.zeros(len(self.followed.names))], [first]
        for k, t in enumerate(begins.tolist()):
            q, u = (x[0] for x in self._placed(np.array([t]), state.z[None], state.zu[None]))
            to = t + self.window
            x, _, guess, failed = self.controls(t, to, q, u, state.muscles, control)
            if failed is not None:
                failures.append(failed)
            stop = min(to, last) if k == count - 1 else to
            part = (stop - t) / self.window
            before = np.where(self.steps, x, control)[n:]
            others = before * self._optimal, (before + part * (x[n:] - before)) * self._optimal
            try:
                found = drive(
                    driven, self.muscles, state._replace(time=t), stop, x[:n], others, self.tolerance,
                    guess if part > 1.0 - 1e-9 else None,
                )  # fmt: skip
            except NotSettled as error:
                stopped = (
                    f"the integration of the model comes to no end at {error.time:g} s: skeleton and muscles change "
                    "each other faster than windows can be halved"
                )
                break
            windows += found
            control, state = x, found[-1].end
            controls.append(x)
            times.append(to)
            goal = self.desired.q(np.array([stop]))[0, self.followed.coordinate]
            errors.append(goal - found[-1].response.q[-1, self.followed.coordinate])
            error_times.append(stop)
            if progress is not None:
                progress((k + 1) / count)
        return self._result(windows, times, controls, error_times, errors, failures, stopped)

    def _result(
        self,
        windows: list[Driven],
        times: list[float],
        controls: list[FloatArray],
        error_times: list[float],
        errors: list[FloatArray],
        failures: list[FailedWindow],
        stopped: str,
    ) -> MuscleControl:
        if not windows:
            raise InvalidInput(stopped or "no window was integrated")
        cut = [slice(0, None) if k == 0 else slice(1, None) for k in range(len(windows))]

        def joined(parts: list[FloatArray]) -> FloatArray:
            return np.concatenate([part[rows] for part, rows in zip(parts, cut, strict=True)])

        return MuscleControl(
            self.driven.model,
            self.driven.names,
            self.followed.names,
            joined([w.time for w in windows]),
            joined([w.response.q for w in windows]),
            joined([w.response.u for w in windows]),
            joined([w.response.accelerations(w.force) for w in windows]),
            joined([w.muscles.activation for w in windows]),
            joined([w.muscles.fiber for w in windows]),
            joined([w.force for w in windows]),
            np.array(times),
            np.array(controls),
            self.steps,
            np.stack(self.bounds(times[0])),
            np.array(error_times),
            np.array(errors),
            tuple(failures),
            stopped,
        )
