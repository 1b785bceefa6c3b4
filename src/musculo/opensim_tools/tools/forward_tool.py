"""`<ForwardTool>`: a simulation from a state under controls, OpenSim's files of states and controls, and analyses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from musculo.analyses.recorded_motion import Motion
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, Unsupported
from musculo.functions import Function
from musculo.functions.sums import Sum
from musculo.io.setup import ForwardSetup
from musculo.like import Like
from musculo.model.model import Model
from musculo.opensim_tools.analyze_tool.analysis_study import Study, model_of
from musculo.opensim_tools.analyze_tool.analyze import run_analyses
from musculo.opensim_tools.forces.control_tool import Drive, drives_of
from musculo.opensim_tools.forces.simbody_departures import simbody_loads
from musculo.opensim_tools.said_of_inputs import say_span
from musculo.opensim_tools.tools.forward_start import Start, start_of
from musculo.opensim_tools.work import Work, largest
from musculo.results.angle_columns import angle_columns, rotational_coordinates
from musculo.results.external_loads import ExternalLoads
from musculo.simulation.muscles.excitations import actuator_names
from musculo.simulation.simulate import simulate
from musculo.simulation.simulation import Simulation, SimulationStatus

# What part of the work is done before the simulation begins, and when it has ended.
_BEGUN, _ENDED = 0.1, 0.9
# The least step of OpenSim's integrators by default [s].
_LEAST_STEP = 1e-8
# The error of a step as a part of the tolerance of the set-up. OpenSim's Runge-Kutta-Merson goes on from a solution one
# or two orders above the one whose error it keeps within the tolerance: so the errors of its motions are about those
# of this integrator at a hundredth.
PART_OF_TOLERANCE = 0.01
# Nodes of controls that a step passes over at most: a longer one could miss a pulse between its stages.
_NODES = 3.0
# Below this, rounding decides.
_LEAST_ERROR = 1e-13


def run_forward(task: ForwardSetup, work: Work) -> None:
    """Simulate, and write states, controls, and what the analyses make of them."""
    work.precision = task.output_precision
    model = model_of(task, work)
    work.report("start", 0.05)
    start = start_of(task, model, work)
    if not task.final_time > start.time:
        raise InvalidInput(
            f"{work.source}: the simulation would last from {start.time:g} to {task.final_time:g} s; let <final_time> "
            "come after <initial_time>"
        )
    drives = drives_of(np.array([start.time, task.final_time]), model, work, task.controllers)
    loads = work.loads(task.external_loads_file, model)
    found = _simulated(task, model, start, drives, loads, work)
    if work.compare and not work.exact and model.muscles:
        with work.beside("the simulation with the exact method"):
            own = replace(start, fiber_length=None) if task.solve_for_equilibrium_for_auxiliary_states else start
            _compare(model, found, _motion(task, model, own, drives, loads, None), work)
    say_span(loads, found.time, np.array([start.time, task.final_time]), work)
    controls = _controls(model, found.time, drives)
    states = _states(model, found)
    work.write(f"{task.name}_controls.sto", "controls", found.time, *controls)
    work.write(f"{task.name}_states.sto", task.name, found.time, *states)
    _write_in_degrees(task.name, model, found.time, *states, work)
    run_analyses(task.analyses, _study(task, model, found, loads, work), _ENDED)


def _simulated(
    task: ForwardSetup,
    model: Model,
    start: Start,
    drives: Mapping[str, Sequence[Drive]],
    loads: ExternalLoads | None,
    work: Work,
) -> Simulation:
    """The motion, at the steps of the integrator."""
    if not work.exact and simbody_loads(model, start.q[None], start.u[None] + 1.0):
        work.note(
            "joints in which one coordinate drives several rotations move as they do; Simbody's velocity term of them "
            "differs (up to 1e-4 of the bias forces of Rajagopal's knee)"
        )
    if task.minimum_integrator_step_size != _LEAST_STEP:
        work.note("minimum_integrator_step_size is not used: steps are as short as their error asks for")
    span = task.final_time - start.time
    work.report("simulation", _BEGUN)

    def progress(time: float) -> None:
        work.report("simulation", _BEGUN + (_ENDED - _BEGUN) * (time - start.time) / span)

    found = _motion(task, model, start, drives, loads, work.like, progress)
    work.notes += found.notes
    if found.status != SimulationStatus.FINISHED:
        work.trouble(f"the simulation ended at {found.end:g} s instead of {task.final_time:g} s: {found.reason}")
    return found


def _motion(
    task: ForwardSetup,
    model: Model,
    start: Start,
    drives: Mapping[str, Sequence[Drive]],
    loads: ExternalLoads | None,
    like: Like | None,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """The motion by OpenSim's methods or the exact ones."""
    tolerance = max(PART_OF_TOLERANCE * task.integrator_error_tolerance, _LEAST_ERROR)
    return simulate(
        _with_activations(model, start.actuators),
        start.q,
        start.u,
        (start.time, task.final_time),
        excitations={name: _function(name, some) for name, some in drives.items()} if actuator_names(model) else None,
        activation=start.activation if model.muscles else None,
        fiber_length=start.fiber_length if model.muscles else None,
        loads=loads,
        like=like,
        rtol=tolerance,
        atol=tolerance,
        max_step=min(task.maximum_integrator_step_size or math.inf, _NODES * _between_nodes(drives)),
        dense=False,
        progress=progress,
    )


def _compare(model: Model, found: Simulation, exact: Simulation, work: Work) -> None:
    """How far the exact method comes from where this one does."""
    if exact.status != SimulationStatus.FINISHED or found.status != SimulationStatus.FINISHED:
        return
    apart, worst = largest(model.coordinate_names, found.q[-1:], exact.q[-1:])
    unit = "rad" if worst in rotational_coordinates(model) else "m"
    work.note(
        f"with exact paths of muscles and controls within their bounds the motion ends {apart:.3g} {unit} away at "
        f"{exact.end:g} s ({worst}; --exact)"
    )


def _with_activations(model: Model, given: Mapping[str, float]) -> Model:
    """The model whose actuators begin with activations of a file."""
    if not given:
        return model
    forces = []
    for force in model.forces:
        if force.name in given:
            kept = tuple(one for one in force.properties if one[0] != "default_activation")
            force = replace(force, properties=(*kept, ("default_activation", repr(given[force.name]))))
        forces.append(force)
    return model.replace(forces=tuple(forces))


def _between_nodes(drives: Mapping[str, Sequence[Drive]]) -> float:
    """The time between nodes of the control that has most of them [s]; infinite where all are smooth."""
    nodes = [one.nodes for some in drives.values() for one in some if len(one.nodes) > 1]
    return min((float(np.median(np.diff(one))) for one in nodes), default=math.inf)


def _function(name: str, drives: Sequence[Drive]) -> Function:
    """What all controllers of an actuator give to it over time."""
    functions = tuple(one.function for one in drives)
    if len(functions) == 1:
        return functions[0]
    found = Sum(functions)
    try:
        found.packed()
    except Unsupported as error:
        raise Unsupported(f"{len(functions)} controllers drive {name!r}, and {error}") from None
    return found


def _controls(
    model: Model, time: FloatArray, drives: Mapping[str, Sequence[Drive]]
) -> tuple[tuple[str, ...], FloatArray]:
    """What controllers give to every actuator, in the order of the model; zero without one."""
    names = actuator_names(model)
    values = np.zeros((len(time), len(names)))
    for k, name in enumerate(names):
        for one in drives.get(name, ()):
            values[:, k] += one.at(time)
    return names, values


def _states(model: Model, found: Simulation) -> tuple[tuple[str, ...], FloatArray]:
    """States in OpenSim's order: each coordinate with its speed, then those of muscles."""
    table = found.to_table()
    index = {name: k for k, name in enumerate(table.names)}
    order: list[str] = []
    for name in table.names:
        if name.endswith("/value"):
            order += [name, *(x for x in (f"{name.removesuffix('/value')}/speed",) if x in index)]
    order += [name for name in table.names if name not in set(order)]
    return tuple(order), table.values[:, [index[name] for name in order]]


def _write_in_degrees(
    name: str, model: Model, time: FloatArray, names: Sequence[str], values: FloatArray, work: Work
) -> None:
    """The states with angles in degrees, under the header of a motion file of SIMM."""
    factor = np.ones(len(names))
    factor[angle_columns(names, model)] = 180.0 / np.pi
    header = (
        f"\n# SIMM Motion File Header:\nname {name}\ndatacolumns {1 + len(names)}\ndatarows {len(time)}\notherdata 1\n"
        f"range {time[0]:f} {time[-1]:f}\n"
    )
    work.write(f"{name}_states_degrees.mot", name, time, names, values * factor, header, degrees=True)


def _study(task: ForwardSetup, model: Model, found: Simulation, loads: ExternalLoads | None, work: Work) -> Study:
    """The simulated motion, for analyses."""
    motion = Motion(found.time, found.q, found.u, found.udot, (), model.coordinate_names, model.speed_names)
    muscles = found.muscles
    return Study(
        task.name,
        model,
        motion,
        motion,
        False,
        loads,
        False,
        None if muscles is None else muscles.activation,
        None if muscles is None else muscles.fiber_length,
        work,
        controllers=task.controllers,
        controlled=model,
        actuator_states={name: muscles.slow_activation[:, k] for k, name in enumerate(muscles.slow_names)}
        if muscles is not None
        else {},
        simulated=True,
    )
