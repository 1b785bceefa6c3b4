"""Many simulations on a GPU: what they start from, all at once, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.dynamics.forward import forward_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.errors import Unsupported
from musculo.forces.acting_data import acting_data
from musculo.functions.function import Function
from musculo.functions.function_table import compile_functions
from musculo.kernels.cuda.cuda_device import cuda_module
from musculo.kernels.cuda.cuda_simulation import (
    GEODESIC,
    NO_PATHS,
    OPENSIM,
    Kinds,
    LanesOfSimulations,
    LaneSystem,
    Wanted,
)
from musculo.kernels.integrate.whole_course import (
    FINISHED,
    GIVEN,
    STATUS,
    STEPS,
    TOO_MANY,
)
from musculo.like import Method
from musculo.model.model import Model
from musculo.muscle.path_loads.path_forces import compile_path_forces
from musculo.muscle.paths.compile_paths import compiled_paths
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.simulation.equations.embedded_state import is_open, open_tree
from musculo.simulation.forces.acting import Acting
from musculo.simulation.integrators.ahead import bounds_of
from musculo.simulation.many_cases import Case, Options, Outcome
from musculo.simulation.muscles.driven_system import DrivenSystem
from musculo.simulation.muscles.excitations import control_functions, control_rows, longest_step
from musculo.simulation.muscles.muscle_motion import PathsAtStart, starts_of_muscles
from musculo.simulation.muscles.muscles_as_force import MuscleForce
from musculo.simulation.simulation import SimulationStatus

# q, u, activation and fiber length (simulations, times, ...), status, reasons, numbers of steps
Found = tuple[FloatArray, FloatArray, FloatArray, FloatArray, tuple[SimulationStatus, ...], tuple[str, ...], np.ndarray]


def simulate_on_gpu(
    cases: Sequence[Case],
    options: Options,
    on_cpu: Callable[[int], Outcome],
    progress: Callable[[int], None] | None = None,
) -> Found:
    """What `Simulations` holds of all cases.

    Args:
        on_cpu: gives the outcome of one case, for those that the device leaves.
    """
    cuda_module()  # before anything else is done: whether there is a device
    batch = Batch(cases, options)
    found = batch.empty()
    left: list[int] = []

    def give(first: int, states: FloatArray, counts: np.ndarray) -> None:
        # paths that wait for the second pass; and where no step leads on, what the CPU says of it counts
        left.extend(first + np.flatnonzero(~np.isin(counts[STATUS], (FINISHED, TOO_MANY))))
        batch.take(found, first, states, counts)
        if progress is not None:
            progress(first + states.shape[2])

    batch.lanes().run(give)
    q, u, activation, fiber_length, status, reasons, steps = found
    for k in map(int, left):
        one = on_cpu(k)
        q[k], u[k], activation[k], fiber_length[k] = one.q, one.u, one.activation, one.fiber_length
        status[k], reasons[k], steps[k] = one.status, one.reason, one.steps
    return q, u, activation, fiber_length, tuple(status), tuple(reasons), steps


class Batch:
    """Cases as the device takes them, and their results as it gives them.

    Raises:
        Unsupported: what the device does not do; says what does.
        InvalidInput: a start or excitations that cannot be used.
    """

    def __init__(self, cases: Sequence[Case], options: Options) -> None:
        self.options, self._count = options, len(cases)
        self.model = cases[0].model
        models = [case.model for case in cases]
        one_model = all(model is self.model for model in models)
        tables = _Controls(cases)
        first = _Drive(self.model, options, tables.functions[0])
        self._force, self._system = first.force, first.system
        if one_model:
            systems = [first.lane_system()]
            states = first.starts(cases, tables)
        else:
            known = {id(self.model): first}
            for model, functions in zip(models, tables.functions, strict=True):
                if id(model) not in known:
                    known[id(model)] = _Drive(model, options, functions)
            systems = [known[id(model)].lane_system() for model in models]
            states = np.concatenate(
                [known[id(case.model)].starts([case], tables.only(k)) for k, case in enumerate(cases)]
            )
        longest = np.minimum(options.control.max_step, tables.longest)
        wanted = Wanted(
            options.times,
            options.max_steps,
            states,
            tables.tables,
            bounds_of(options.control, options.method)._replace(retries=1),
            longest.tolist(),
            *first.path_forces(),
        )
        self.given = systems, first.kinds(), wanted

    def lanes(self) -> LanesOfSimulations:
        """Placed for the device."""
        return LanesOfSimulations(*self.given)

    def empty(self) -> Any:
        """Arrays and lists for the results of all."""
        times, m, count = len(self.options.times), len(self.model.muscle_names), self._count
        sizes = (len(self.model.coordinate_names), len(self.model.speed_names), m, m)
        arrays = [np.full((count, times, size), np.nan) for size in sizes]
        return *arrays, [SimulationStatus.FINISHED] * count, [""] * count, np.zeros(count, dtype=np.int64)

    def take(self, found: Any, first: int, states: FloatArray, counts: np.ndarray) -> None:
        """Put results of a batch into those of all.

        Args: states: (times, states, lanes). counts: (4, lanes).
        """
        q, u, activation, fiber_length, status, reasons, steps = found
        times, lanes = self.options.times, states.shape[2]
        rows = slice(first, first + lanes)
        y = np.ascontiguousarray(np.moveaxis(states, 2, 0))
        there = np.arange(len(times)) < counts[GIVEN][:, None]
        t = np.broadcast_to(times, there.shape)
        q_now, u_now = q[rows], u[rows]
        q_now[there], u_now[there] = self._system.whole(t[there], y[there], np.zeros((int(there.sum()), q.shape[2])))
        own = y[..., self._system.n_tree :]
        for target, places in (
            (activation, self._force.activation_state),
            (fiber_length, self._force.fiber_state),
        ):
            has = places >= 0
            target[rows][..., has] = own[..., places[has]]
        steps[rows] = counts[STEPS]
        for lane in np.flatnonzero(counts[STATUS] == TOO_MANY):
            reached = times[max(int(counts[GIVEN, lane]) - 1, 0)]
            status[first + lane] = SimulationStatus.FAILED
            reasons[first + lane] = (
                f"after t = {reached:.9g} s: {self.options.max_steps} steps did not lead to the end; allow more, or "
                "larger errors"
            )


class _Controls:
    """Functions of time of every case, as tables; what several have is made once."""

    def __init__(self, cases: Sequence[Case]) -> None:
        known: dict[int, tuple[Any, tuple[Function, ...], Any, float]] = {}
        for case in cases:
            if id(case.excitations) not in known:
                functions = control_functions(case.model, case.excitations)
                made = (case.excitations, functions, compile_functions(functions), longest_step(functions))
                known[id(case.excitations)] = made
        found = [known[id(case.excitations)] for case in cases]
        self.functions = [one[1] for one in found]
        self.tables = [one[2] for one in found]
        self.longest = np.array([one[3] for one in found])

    def only(self, k: int) -> _Controls:
        """Those of one case."""
        one = object.__new__(_Controls)
        one.functions, one.tables, one.longest = [self.functions[k]], [self.tables[k]], self.longest[k : k + 1]
        return one

    def at(self, t: float) -> FloatArray:
        """(cases, actuators) at a time."""
        values: dict[int, list[float]] = {}
        for functions in self.functions:
            if id(functions) not in values:
                values[id(functions)] = [float(one(t)) for one in functions]
        return np.array([values[id(functions)] for functions in self.functions])


class _Drive:
    """A model, what drives it, and where simulations of it start."""

    def __init__(self, model: Model, options: Options, functions: tuple[Function, ...]) -> None:
        e = embedding_of(model)
        if e.unsolved or e.loops or not is_open(model):
            raise Unsupported(
                f"{model.name!r} has closed loops, or couplers of freely turning joints; use device='cpu'"
            )
        self.model, self._options = model, options
        self.force = MuscleForce(model, functions, options.wrapping, options.like_opensim, springs=options.model_forces)
        later = self.force.begins_later()
        if later:
            raise Unsupported(
                f"surfaces of the path of {later[0]!r} overlap in most poses, which a GPU does not take; use "
                "like='opensim', musculo.fit_paths, or device='cpu'"
            )
        self.system = DrivenSystem(Acting(model, None, None, [self.force]), self.force)
        self._laws: Method = "opensim" if options.like_opensim else "exact"
        self._forces = acting_data(
            model, passive=options.model_forces, loads=options.loads, rows=control_rows(model), method=self._laws
        )

    def kinds(self) -> Kinds:
        """What has to be compiled."""
        p, f = compiled_paths(self.model, muscles_only=False), self._forces
        exact = OPENSIM if self._options.wrapping == "opensim" else GEODESIC
        acting = bool(f.passive.speed.size or f.passive.second.size or f.loads.node.size or control_rows(self.model))
        paths = NO_PATHS if not p.names or p.all_functions else exact
        return Kinds(paths, bool(p.functions.members), acting)

    def lane_system(self) -> LaneSystem:
        """The model as kernels take it."""
        p = compiled_paths(self.model, muscles_only=False)
        fitted = p.functions.arrays(self._options.wrapping == "opensim")
        tree = self.model.derived("open tree", lambda: open_tree(self.model))
        implicit = np.zeros(self.system.n_tree + self.force.size, dtype=np.int64)
        fibers = self.force.fiber_state
        implicit[self.system.n_tree + fibers[fibers >= 0]] = 1
        return LaneSystem(tree, self.force.drive, implicit, p.paths, p.table, *fitted, self._forces)

    def path_forces(self) -> tuple[FloatArray, int, int]:
        """First stretches of springs along paths, the number of controls, and entries of a stack for formulas."""
        lines = compile_path_forces(self.model)
        return lines.initial_stretch, len(self.force.actuator_names), max(int(lines.programs.depth) + 2, 1)

    def starts(self, cases: Sequence[Case], tables: _Controls) -> FloatArray:
        """First states (cases, states)."""
        model, o, count = self.model, self._options, len(cases)
        t, e = float(o.times[0]), embedding_of(model)
        q = _listed([case.q for case in cases])
        Q = e.default_pose(t)[None] if q is None else coordinates_of(model, q, "q0")[0]
        compiled(model).check_coordinates(Q)
        u = _listed([case.u for case in cases])
        if u is None:
            U = e.motion(e.independent(Q), np.zeros((len(Q), len(e.speed_names))), time=t, guess=Q).u
        else:
            U = speeds_of(model, u, "u0")[0]
        frames = max(len(Q), len(U))
        Q, U = (np.ascontiguousarray(np.broadcast_to(x, (frames, x.shape[1]))) for x in (Q, U))
        # the checks of consistency, and their words, are those of forward dynamics
        forward_dynamics(model, Q, U, np.zeros_like(U), time=np.full(frames, t))

        def paths(states: FloatArray) -> PathsAtStart:
            if frames == 1:
                now, m = self.force.now(t, Q[0], U[0], states), len(model.muscles)
                return PathsAtStart(now.length[None, :m], now.speed[None, :m], tables.at(t))
            geometry = muscle_geometry(model, Q, U, wrapping=o.wrapping)
            assert geometry.speed is not None
            return PathsAtStart(geometry.length, geometry.speed, tables.at(t))

        activation, fiber = _listed([case.activation for case in cases]), _listed([case.fiber_length for case in cases])
        own = starts_of_muscles(self.force, paths, activation, fiber, self._laws)
        y = np.concatenate([e.independent(Q), e.independent_speeds(Q, U)], axis=1)
        return np.concatenate([np.broadcast_to(x, (count, x.shape[1])) for x in (y, own)], axis=1)


def _listed(values: list[Any]) -> Any:
    """What is given once, or all of a list."""
    first = values[0]
    if first is None or isinstance(first, str) or all(one is first for one in values):
        return first
    return np.array(values)
