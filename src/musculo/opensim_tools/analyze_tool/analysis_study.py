"""What all analyses of an `<AnalyzeTool>` share: the model, its motion and its forces, each made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from musculo.analyses.recorded_motion import Motion, filtered_motion, motion_of, motion_of_states, opensim_rows
from musculo.analyses.static_optimization.reserves import actuators_of
from musculo.arrays import FloatArray
from musculo.diagnostics.doubtful_paths import largest_penalties, path_findings
from musculo.diagnostics.loads import foot_findings, plate_findings
from musculo.diagnostics.recording_doubts import motion_findings, padding_findings
from musculo.dynamics.loads.external import ExternalLoad
from musculo.forces.compiled_forces import told
from musculo.io.controls.controllers import Controller
from musculo.io.force_set import with_force_sets
from musculo.io.setup import (
    Analysis,
    JointReactionAnalysis,
    ModelToolSetup,
    MuscleAnalysis,
    StaticOptimizationAnalysis,
)
from musculo.model.model import Model
from musculo.muscle.fibers.activation import activation_at_start
from musculo.muscle.path_loads.path_forces import path_generalized_forces
from musculo.muscle.paths.geometry import PathGeometry
from musculo.opensim_tools.forces.control_tool import (
    actuator_forces,
    check_controls,
    controls_at,
    direct_activation,
    is_direct,
)
from musculo.opensim_tools.forces.force_state import (
    MuscleState,
    accelerations,
    actuators_in_motion,
    default_activation,
    default_fiber_length,
    muscle_forces,
    own_forces,
    say_powerless,
    springs_in_motion,
)
from musculo.opensim_tools.forces.simbody_departures import simbody_loads
from musculo.opensim_tools.said_of_inputs import say_span, say_unseen_columns, suggest_cutoff
from musculo.opensim_tools.tasks import AnalyzeTask
from musculo.opensim_tools.work import Work, by_name, loads_at
from musculo.results.external_loads import ExternalLoads
from musculo.results.table import Table


@dataclass(frozen=True, eq=False)
class Study:
    """A motion of a model, ready to be analyzed; `exact_motion` is the same frames without OpenSim's faults.

    A `simulated` motion has its own muscle states and accelerations, and there is nothing to bring into equilibrium.
    """

    name: str
    model: Model
    motion: Motion
    exact_motion: Motion
    compared: bool  # whether the exact methods are computed beside OpenSim's
    external: ExternalLoads | None
    equilibrium: bool
    activation: FloatArray | None  # of states that a file gives
    fiber_length: FloatArray | None
    work: Work
    first: int = 0  # which frame of the whole recording the first one is
    cutoff: float = -1.0  # of the filter of coordinates [Hz]; negative for none
    loads_cutoff: float = -1.0  # of the filter of external loads
    controllers: tuple[Controller, ...] = ()  # of the set-up
    controlled: Model | None = None  # the model that they, and its own, control
    actuator_states: Mapping[str, FloatArray] = field(default_factory=dict)  # activations (frames,) that a file gives
    simulated: bool = False

    def recorded(self, analysis: Analysis) -> Study:
        """The frames that an analysis keeps: every so many of the whole recording, the first and the last always.

        OpenSim counts from the first frame of the filtered recording, which the set-up need not begin with.
        """
        interval = max(analysis.step_interval, 1)
        if interval == 1:
            return self
        n = len(self.motion)
        every = np.arange(-self.first % interval, n, interval)
        return self._rows(np.unique(np.concatenate([[0], every, [n - 1]])))

    def _rows(self, rows: NDArray[np.int64]) -> Study:
        def some(values: FloatArray | None) -> FloatArray | None:
            return None if values is None else values[rows]

        return replace(
            self,
            motion=self.motion.rows(rows),
            exact_motion=self.exact_motion.rows(rows),
            activation=some(self.activation),
            fiber_length=some(self.fiber_length),
            actuator_states={name: state[rows] for name, state in self.actuator_states.items()},
        )

    @property
    def time(self) -> FloatArray:
        return self.motion.time

    @cached_property
    def loads(self) -> list[ExternalLoad]:
        """External loads at the frames."""
        return loads_at(self.external, self.time)

    @cached_property
    def exact_loads(self) -> list[ExternalLoad]:
        """External loads at the frames, from columns by their names."""
        named = by_name(self.external)
        return self.loads if named is self.external else loads_at(named, self.time)

    @cached_property
    def simbody(self) -> list[ExternalLoad]:
        """Loads that stand for what Simbody adds; none where exact."""
        return [] if self.work.exact else simbody_loads(self.model, self.motion.q, self.motion.u)

    @cached_property
    def muscles(self) -> MuscleState:
        """Muscles as the states have them, or as models start."""
        states = self.activation, self.fiber_length
        return muscle_forces(self.model, self.motion, self.work, self.equilibrium, *states, kept=self.simulated)

    @cached_property
    def actuators(self) -> dict[str, FloatArray]:
        """(frames,) by name: forces of actuators that are no muscles; those that no controller drives are idle."""
        if not actuators_of(self.model):
            return {}
        controls = controls_at(self.time, self.controlled or self.model, self.work, self.controllers)
        return actuator_forces(self.model, len(self.motion), controls, self.actuator_states)

    @cached_property
    def _driving(self) -> tuple[FloatArray, list[ExternalLoad]]:
        """What actuators do on speeds and on bodies."""
        wrapping, threads = self.muscles.geometry.wrapping, self.work.threads
        return actuators_in_motion(self.model, self.motion, self.actuators, wrapping, threads)

    @cached_property
    def generalized_forces(self) -> FloatArray:
        """(frames, n_u): what muscles, actuators and all passive forces do, without actuators on bodies."""
        state = self.muscles
        tau = np.zeros((len(self.motion), len(self.model.speed_names)))
        if state.names:
            tau += path_generalized_forces(state.geometry, state.tension, state.names)
        tau += self._driving[0]
        tau += own_forces(self.model, self.motion, self.work)
        return tau + springs_in_motion(self.model, self.motion, state.geometry.wrapping, self.work.threads)

    @cached_property
    def accelerations(self) -> FloatArray:
        """(frames, n_u): how the model accelerates under its own forces, which is what OpenSim's analyses report.

        Where exact, the accelerations of the motion.
        """
        if self.work.exact or self.simulated:
            return self.motion.udot
        lost = told(self.model)
        if lost:
            self.work.trouble(f"accelerations lack forces that are not computed: {lost}")
        loads = [*self.loads, *self.simbody, *self._driving[1]]
        return accelerations(self.model, self.motion, self.generalized_forces, loads, self.work.threads)

    def tell_paths(self, g: PathGeometry, muscles: Sequence[str], name: str) -> None:
        """What is doubtful in paths of the frames; the page shows the largest penalties. `name` is the analysis's."""
        columns = [k for k, path in enumerate(g.names) if path in muscles]
        self.work.tell(path_findings(g, muscles, self.time, name))
        self.work.penalties |= largest_penalties([g.names[k] for k in columns], g.penalty[:, columns])

    def file(self, analysis: Analysis, what: str) -> str:
        """The name of a result: `<tool>_<analysis>_<what>.sto`."""
        return f"{self.name}_{analysis.name}_{what}.sto"


def model_of(task: ModelToolSetup, work: Work) -> Model:
    """The model that a set-up names, with the forces of its files."""
    model = work.model(task.model_file)
    for file in task.force_set_files:
        work.needed(file, "force_set_files")
    if task.force_set_files or task.replace_force_set:
        known = len(model.notes)
        model = with_force_sets(model, task.force_set_files, replace=task.replace_force_set)
        work.notes += [str(note) for note in model.notes[known:]]
    say_powerless(model, work)
    return model


def study_of(task: AnalyzeTask, work: Work) -> Study:
    """Read what the set-up names and make the motion ready."""
    model = model_of(task, work)
    work.report("filter and splines", 0.1)
    activation = fiber_length = None
    if task.states_file is not None:
        table = work.table(task.states_file, "states_file")
        span = work.asked_span(task, table.time, table.source)
        motion = motion_of_states(model, table, span)
        twin: Motion | None = motion
        activation, fiber_length = (_states(model, table, what) for what in ("activation", "fiber_length"))
    else:
        table = work.table(task.coordinates_file, "coordinates_file", task.preparation)
        suggest_cutoff(table, model, task.lowpass_cutoff_frequency_for_coordinates, work)
        cutoff = task.lowpass_cutoff_frequency_for_coordinates
        work.tell(motion_findings(table, model, cutoff, opensim=not work.exact))
        span = work.asked_span(task, table.time, table.source)
        motion, twin = _motions(task, model, table, span, work)
    work.notes += motion.notes
    work.check_span(span, table.time, table.source)
    rows = opensim_rows(motion.time, *span)
    loads = work.loads(task.external_loads_file, model, task.preparation, table)
    say_span(loads, motion.time[rows], table.time, work)
    work.tell(plate_findings(loads))
    work.tell(padding_findings(table.time, motion.time[rows]))
    if any(isinstance(one, StaticOptimizationAnalysis | JointReactionAnalysis) for one in task.analyses):
        work.tell(foot_findings(model, motion.q[rows], loads_at(loads, motion.time[rows]), loads))
    activation, fiber_length = (None if x is None else x[rows] for x in (activation, fiber_length))
    if work.of_file:
        check_controls(model, work, task.controllers)
    if any(is_direct(m) for m in model.muscles):
        controls = controls_at(motion.time[rows], model, work, task.controllers)
        start = np.broadcast_to(default_activation(model), (len(motion.time[rows]), len(model.muscles)))
        activation = direct_activation(model, start if activation is None else activation, controls, work)
    return Study(
        task.name,
        model,
        motion.rows(rows),
        (twin or motion).rows(rows),
        not work.exact and work.compare and twin is not None,
        loads,
        task.solve_for_equilibrium_for_auxiliary_states,
        activation,
        fiber_length,
        work,
        rows.start,
        task.lowpass_cutoff_frequency_for_coordinates if task.states_file is None else -1.0,
        task.preparation.loads_cutoff or -1.0,
        task.controllers,
        model,
        _actuator_states(model, table, rows) if task.states_file is not None else {},
    )


def _motions(
    task: AnalyzeTask, model: Model, table: Table, span: tuple[float, float], work: Work
) -> tuple[Motion, Motion | None]:
    """The motion as it is analyzed, and without OpenSim's faults at the same frames, where that can be made."""
    cutoff = task.lowpass_cutoff_frequency_for_coordinates
    if work.exact:
        poses = all(isinstance(one, MuscleAnalysis) for one in task.analyses)  # lengths and arms need no rates
        motion = motion_of(model, table, cutoff, few_at_rest=poses)
        if task.speeds_file is not None:
            work.note("speeds_file is not used: exact speeds are the rates of the coordinates")
        return motion, motion
    say_unseen_columns(table, model, work)
    speeds = work.table(task.speeds_file, "speeds_file") if task.speeds_file is not None else None
    filtered = table if cutoff < 0.0 else filtered_motion(table, cutoff, "opensim")
    if len(table):  # the filter adds frames beyond the recording
        span = max(span[0], table.time[0]), min(span[1], table.time[-1])
    motion = motion_of(model, filtered, like="opensim", tool="analyze", speeds=speeds, span=span)
    twin = None
    if work.compare:
        with work.beside("OpenSim's analyses with the exact methods"):
            twin = motion_of(model, filtered)
    return motion, twin


def _actuator_states(model: Model, table: Table, rows: slice) -> dict[str, FloatArray]:
    """(frames,) activations by the names of actuators that have them and that the file gives."""
    found = {one.name: table.find(f"/forceset/{one.name}/activation") for one in actuators_of(model)}
    return {name: table.values[rows, k] for name, k in found.items() if k is not None}


def _states(model: Model, table: Table, what: str) -> FloatArray | None:
    """(frames, muscles) of states by muscle; None where the file has none of them."""
    columns = [table.find(f"/forceset/{name}/{what}") for name in model.muscle_names]
    if all(k is None for k in columns):
        return None
    values = np.empty((len(table), len(columns)))
    for m, (muscle, k) in enumerate(zip(model.muscles, columns, strict=True)):
        if k is not None:
            values[:, m] = table.values[:, k]
        elif what == "activation":
            values[:, m] = activation_at_start(muscle)
        else:
            values[:, m] = default_fiber_length(model)[m]
    return values
