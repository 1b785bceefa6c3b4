"""Many simulations in one call: other starts, excitations or models, over all cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.dynamics.inverse import on_gpu
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, MusculoError, Unsupported
from musculo.like import Like, Method, Wrapping, method_of, wrapping_of
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads
from musculo.results.provenance import Provenance
from musculo.results.result_base import Result, Series
from musculo.simulation.forces.acting import Acting
from musculo.simulation.forces.model_force import ModelForce
from musculo.simulation.integrators.called_steps import StepFailed
from musculo.simulation.integrators.control import Control
from musculo.simulation.integrators.stepped_run import Course
from musculo.simulation.integrators.steppers import OneStep
from musculo.simulation.many_cases import Case, Options, Outcome, cases_of
from musculo.simulation.muscles.driven_system import DrivenSystem
from musculo.simulation.muscles.excitations import Excitations, control_functions, longest_step
from musculo.simulation.muscles.muscle_motion import start_of_muscles
from musculo.simulation.muscles.muscles_as_force import MuscleForce
from musculo.simulation.simulate import start_of
from musculo.simulation.simulation import SimulationStatus

Compiled = Literal["imex", "rkf45", "tr-bdf2"]


@dataclass(frozen=True, eq=False, repr=False)
class Simulations(Result):
    """Motions of many simulations at the same times; what comes after the end of one that failed is NaN."""

    made_by: ClassVar[str] = "simulate_many"
    statuses: ClassVar[type[Enum]] = SimulationStatus

    model: Model = field(repr=False)  # the first
    time: FloatArray = field(repr=False)  # (frames,) [s]
    q: FloatArray = field(repr=False)  # (simulations, frames, n) [rad, m]
    u: FloatArray = field(repr=False)  # (simulations, frames, n_u) [rad/s, m/s]
    activation: FloatArray = field(repr=False)  # (simulations, frames, muscles); NaN where it is no state
    fiber_length: FloatArray = field(repr=False)  # (simulations, frames, muscles) [m]; NaN of rigid tendons
    status: tuple[SimulationStatus, ...]
    reasons: tuple[str, ...]  # why one failed, else nothing
    n_steps: np.ndarray = field(repr=False)  # (simulations,)
    provenance: Provenance = field(repr=False)

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        failed = sum(one == SimulationStatus.FAILED for one in self.status)
        end = f"{self.time[0]:g} to {self.time[-1]:g} s"
        return f"Simulations({len(self)} of {self.model.name!r}, {end}, {failed} failed)"

    def _series(self) -> Iterable[Series]:
        one = {"simulation": tuple(range(len(self)))}
        muscles = {"muscle": self.model.muscle_names}
        yield Series("q", np.moveaxis(self.q, 1, 0), {**one, "coordinate": self.model.coordinate_names}, "rad or m")
        yield Series("u", np.moveaxis(self.u, 1, 0), {**one, "speed": self.model.speed_names}, "rad/s or m/s")
        yield Series("activation", np.moveaxis(self.activation, 1, 0), {**one, **muscles})
        yield Series("fiber_length", np.moveaxis(self.fiber_length, 1, 0), {**one, **muscles}, "m")


def simulate_many(
    model: Model | Sequence[Model],
    q0: ArrayLike | None,
    u0: ArrayLike | None,
    times: ArrayLike,
    *,
    excitations: Excitations | Sequence[Excitations] | None = None,
    activation: ArrayLike | None = None,
    fiber_length: ArrayLike | None = None,
    model_forces: bool = True,
    loads: ExternalLoads | None = None,
    like: Like | None = None,
    wrapping: Wrapping | None = None,
    method: Compiled | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    max_step: float = np.inf,
    max_steps: int = 100_000,
    threads: int | None = None,
    device: Literal["cpu", "gpu"] = "cpu",
    progress: Callable[[int], None] | None = None,
) -> Simulations:
    """Motions of a model that its muscles move, from many starts, under many excitations, or of many models.

    Each is what `simulate` gives of it, to the last bit, whatever the number of threads; one that fails does not end
    the others. What is given once is the same for all.

    Args:
        model: one, or one for each simulation; all with the same coordinates and muscles.
        q0: (n,), or (simulations, n); None for the default pose. u0: (n_u,) or (simulations, n_u); None for rest.
        times: the times of all results, two or more [s].
        excitations: as in `simulate`, or a list of such; none for rest.
        activation, fiber_length: (muscles,), or (simulations, muscles), as in `simulate`.
        loads: from outside, of a recording.
        method: "imex", which is the default, "rkf45" or "tr-bdf2", which compiled code steps without Python.
        max_steps: so many steps end one simulation as failed.
        threads: how many at once; all cores by default.
        device: "cpu", or "gpu", one simulation a thread of it; the same but for rounding. Models, if there are several,
            are then of one structure; and simulations that need what the device lacks (paths over surfaces that
            overlap) are done on the CPU. The first call compiles, once for a machine.
        progress: called with the number of simulations that have ended.
        Others: as in `simulate`.

    Raises:
        InvalidInput: lists of different lengths; what `simulate` refuses of a first state or of excitations.
        Unsupported: a model with closed loops.
        NoDevice: device="gpu" where there is none.
    """
    gpu = on_gpu(device)
    cases = cases_of(model, q0, u0, excitations, activation, fiber_length)
    t = np.asarray(times, dtype=float)
    if t.ndim != 1 or t.size < 2 or not np.isfinite(t).all() or not (np.diff(t) > 0.0).all():
        raise InvalidInput(f"times is {times!r:.60}; give two times or more, finite and increasing [s]")
    method = "imex" if method is None else method
    if method not in get_args(Compiled):
        raise InvalidInput(f"method={method!r}; many simulations are stepped by 'imex', 'rkf45' or 'tr-bdf2'")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise InvalidInput(f"threads is {threads!r}; give a whole number of 1 or more, or None for all cores")
    control = Control(float(rtol), float(atol), float(max_step))
    opensim = method_of(like, None) == "opensim"
    options = Options(t, control, method, wrapping_of(like, wrapping), opensim, model_forces, loads, max_steps)
    first = cases[0].model
    for one in cases:
        if (one.model.coordinate_names, one.model.muscle_names) != (first.coordinate_names, first.muscle_names):
            raise InvalidInput(f"the models {first.name!r} and {one.model.name!r} have other coordinates or muscles")
    own, done, lock = threading.local(), [0], threading.Lock()

    def run(k: int) -> Outcome:
        case = cases[k]
        runners = own.__dict__.setdefault("runners", {})
        if case.model not in runners:
            runners.clear()  # a list of models goes from one to the next
            runners[case.model] = _Runner(case.model, options)
        try:
            found: Outcome = runners[case.model](case)
        except MusculoError as error:
            if len(cases) == 1:
                raise
            raise InvalidInput(f"simulation {k}: {error}") from error
        if progress is not None:
            with lock:
                done[0] += 1
                progress(done[0])
        return found

    made = Provenance.of("simulate_many", first, simulations=len(cases), method=method, rtol=rtol, atol=atol)
    if gpu:
        from musculo.simulation.many_on_gpu import simulate_on_gpu

        return Simulations(first, t, *simulate_on_gpu(cases, options, run, progress), made)
    # the first one alone: what it compiles and derives from the model is there for the others
    outcomes = [run(0)]
    workers = threads if threads is not None else (os.cpu_count() or 1)
    if workers == 1 or len(cases) < 3:
        outcomes += [run(k) for k in range(1, len(cases))]
    else:
        with ThreadPoolExecutor(workers) as pool:
            outcomes += list(pool.map(run, range(1, len(cases))))
    return Simulations(
        first,
        t,
        np.stack([one.q for one in outcomes]),
        np.stack([one.u for one in outcomes]),
        np.stack([one.activation for one in outcomes]),
        np.stack([one.fiber_length for one in outcomes]),
        tuple(one.status for one in outcomes),
        tuple(one.reason for one in outcomes),
        np.array([one.steps for one in outcomes]),
        made,
    )


class _Runner:
    """Simulations of one model, one after the other, in rooms of one thread."""

    def __init__(self, model: Model, options: Options) -> None:
        if embedding_of(model).unsolved or embedding_of(model).loops:
            raise Unsupported(f"{model.name!r} has closed loops; simulate its motions one by one")
        self.model, self.options = model, options
        functions = control_functions(model, {})
        self.muscles = MuscleForce(
            model, functions, options.wrapping, options.like_opensim, springs=options.model_forces
        )

    def __call__(self, case: Case) -> Outcome:
        o, force = self.options, self.muscles
        functions = control_functions(self.model, case.excitations)
        force.follow(functions)
        control = replace(o.control, max_step=min(o.control.max_step, longest_step(functions)))
        own = ModelForce(self.model, o.model_forces, o.loads, force, "opensim" if o.like_opensim else "exact")
        system = DrivenSystem(Acting(self.model, None, None, [force, own] if own.any else [force]), force)
        start, end = float(o.times[0]), float(o.times[-1])
        q, u = start_of(self.model, case.q, case.u, start)
        laws: Method = "opensim" if o.like_opensim else "exact"
        states = start_of_muscles(force, start, q, u, case.activation, case.fiber_length, laws)
        y = system.with_muscles(system.state(start, q, u), states)
        t, course, reason = [start], [(y, system.rates(start, y))], ""
        ahead = system.ahead(o.method, control, False)
        stepper = OneStep(o.method, system.rates, start, y, control, None, ahead)
        try:
            while t[-1] < end and len(t) <= o.max_steps:
                landed: list[Any] = stepper.many(end)
                if not landed:
                    stepper.advance(end)  # a step that the kernel leaves
                    landed = [stepper]
                t += [one.t for one in landed]
                course += [(one.y, one.f) for one in landed]
        except (MusculoError, StepFailed) as error:
            reason = str(error)
        if not reason and t[-1] < end:
            reason = f"{o.max_steps} steps led to {t[-1]:.6g} s; allow more, or larger errors"
        return self._outcome(system, np.array(t), course, reason)

    def _outcome(
        self, system: DrivenSystem, t: FloatArray, course: list[tuple[FloatArray, FloatArray]], reason: str
    ) -> Outcome:
        wanted, force = self.options.times, self.muscles
        there = wanted[wanted <= t[-1]]
        y = np.full((len(wanted), len(course[0][0])), np.nan)
        steps = Course(t, np.array([one[0] for one in course]), np.array([one[1] for one in course]), None)
        y[: len(there)] = steps(there)
        q = np.full((len(wanted), len(self.model.coordinate_names)), np.nan)
        u = np.full((len(wanted), len(self.model.speed_names)), np.nan)
        q[: len(there)], u[: len(there)] = system.whole(there, y[: len(there)], np.zeros((len(there), q.shape[1])))
        states = y[:, system.n_tree :]
        parts = []
        for rows in (force.activation_state, force.fiber_state):
            part = np.full((len(wanted), rows.size), np.nan)
            part[:, rows >= 0] = states[:, rows[rows >= 0]]
            parts.append(part)
        status = SimulationStatus.FAILED if reason else SimulationStatus.FINISHED
        text = f"at t = {t[-1]:.9g} s: {reason}" if reason else ""
        return Outcome(q, u, parts[0], parts[1], status, text, len(t) - 1)
