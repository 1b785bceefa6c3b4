"""`<ForwardTool>`: a simulation from a state under controls, OpenSim's files of states and controls, and analyses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from musculo.analyses.recorded_motion import Motion
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, Unsupported
from musculo.functions import Function
from musculo.functions.sums import Sum
from musculo.io.setup import ForwardSetup
from musculo.model.model import Model
from musculo.opensim_tools.analysis_study import Study, model_of
from musculo.opensim_tools.analyze import run_analyses
from musculo.opensim_tools.control_tool import Drive, drives_of
from musculo.opensim_tools.forward_start import Start, start_of
from musculo.opensim_tools.simbody_departures import simbody_loads
from musculo.opensim_tools.work import Work
from musculo.results.angle_columns import angle_columns
from musculo.results.external_loads import ExternalLoads
from musculo.simulation.excitations import actuator_names
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

    muscular = bool(actuator_names(model))
    found = simulate(
        model,
        start.q,
        start.u,
        (start.time, task.final_time),
        excitations={name: _function(name, some) for name, some in drives.items()} if muscular else None,
        activation=start.activation if model.muscles else None,
        fiber_length=start.fiber_length if model.muscles else None,
        loads=loads,
        like=work.like,
        rtol=max(PART_OF_TOLERANCE * task.integrator_error_tolerance, _LEAST_ERROR),
        atol=max(PART_OF_TOLERANCE * task.integrator_error_tolerance, _LEAST_ERROR),
        max_step=min(task.maximum_integrator_step_size or math.inf, _NODES * _between_nodes(drives)),
        dense=False,
        progress=progress,
    )
    work.notes += found.notes
    if found.status != SimulationStatus.FINISHED:
        work.trouble(f"the simulation ended at {found.end:g} s instead of {task.final_time:g} s: {found.reason}")
    return found


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
    return Study(
        task.name,
        model,
        motion,
        motion,
        False,
        loads,
        False,
        None if found.muscles is None else found.muscles.activation,
        None if found.muscles is None else found.muscles.fiber_length,
        work,
        controllers=task.controllers,
        controlled=model,
        simulated=True,
    )
