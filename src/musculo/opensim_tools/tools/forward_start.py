"""Where a `<ForwardTool>` begins: time and state of its file, or the model's own, fibers in equilibrium or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput
from musculo.io.setup import ForwardSetup
from musculo.model.coordinate import coordinate_path
from musculo.model.model import Model
from musculo.muscle.fibers.equilibrium import muscle_equilibrium
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.opensim_tools.forces.control_tool import ACTIVATED
from musculo.opensim_tools.forces.force_state import default_activation, default_fiber_length
from musculo.opensim_tools.work import Work
from musculo.results.table import Table

# Coordinates that printed digits move off a coupler or lock by less are where they should be [rad, m].
_MOVED = 1e-5


@dataclass(frozen=True, eq=False)
class Start:
    """The state that a simulation begins with."""

    time: float
    q: FloatArray  # (n,)
    u: FloatArray  # (n_u,)
    activation: FloatArray  # (muscles,)
    fiber_length: FloatArray | None  # (muscles,) [m]; None for an equilibrium that is yet to be found
    actuators: Mapping[str, float] = field(default_factory=dict)  # activations that a file gives, by name


def start_of(task: ForwardSetup, model: Model, work: Work) -> Start:
    """The last row of the states file that is not after the initial time, or the defaults of the model.

    As OpenSim: the simulation begins at the time of that row, whatever the initial time; where all rows come later, the
    first is used. States without a column keep their defaults, and other columns count for nothing.

    Raises:
        InvalidInput: a states file in degrees, without rows, or of another model.
    """
    if task.states_file is None:
        found = _default(model, task.initial_time)
    else:
        table = work.table(task.states_file, "states_file")
        found = _of_row(model, table, task, work)
    found = _consistent(model, found, work)
    return _balanced(model, found, work) if task.solve_for_equilibrium_for_auxiliary_states else found


def _default(model: Model, time: float) -> Start:
    """The default pose and speeds, activations and fiber lengths of a model."""
    u = np.zeros(len(model.speed_names))
    for k, name in enumerate(model.speed_names):
        if name in model.coordinate_names:
            u[k] = model.coordinates[model.coordinate_index(name)].default_speed
    q = embedding_of(model).default_pose(time)
    return Start(time, q, u, default_activation(model), default_fiber_length(model))


def _of_row(model: Model, table: Table, task: ForwardSetup, work: Work) -> Start:
    """The states of one row of a file, and defaults where it has no column."""
    if table.degrees:
        raise InvalidInput(
            f"{table.source}: states must be in radians, and the file says inDegrees=yes; simulations write states as "
            "..._states.sto, in radians, beside ..._states_degrees.mot"
        )
    if not len(table):
        raise InvalidInput(f"{table.source} has no rows; a simulation begins with one")
    initial_time, balanced = task.initial_time, task.solve_for_equilibrium_for_auxiliary_states
    row = max(int(np.searchsorted(table.time, initial_time, side="right")) - 1, 0)
    time = float(table.time[row])
    if time != initial_time:
        where = "the last row that is not after it" if time < initial_time else "the first row, and none is before it"
        work.note(
            f"the simulation begins at {time:g} s, not at {initial_time:g} s: that is {where} of {table.source}, as in "
            "OpenSim"
        )
    start, used, missing = _default(model, time), 0, []
    q, u, a, fiber = (np.array(one) for one in (start.q, start.u, start.activation, start.fiber_length))
    speeds = {name: k for k, name in enumerate(model.speed_names)}
    places: list[tuple[str, FloatArray, int]] = []
    for joint in model.joints:
        for c in joint.coordinates:
            path = coordinate_path(joint.name, c.name)
            places.append((f"{path}/value", q, model.coordinate_index(c.name)))
            if c.name in speeds:
                places.append((f"{path}/speed", u, speeds[c.name]))
    for m, name in enumerate(model.muscle_names):
        places += [(f"/forceset/{name}/activation", a, m), (f"/forceset/{name}/fiber_length", fiber, m)]
    for name, values, k in places:
        column = table.find(name)
        if column is None:
            missing.append(name)
        else:
            values[k] = table.values[row, column]
            used += 1
    slow = [f"/forceset/{force.name}/activation" for force in model.forces if force.kind == ACTIVATED]
    found = {name: table.find(name) for name in slow}
    given = {name.split("/")[2]: float(table.values[row, k]) for name, k in found.items() if k is not None}
    missing += [name for name, k in found.items() if k is None]
    used += len(given)
    if not used:
        raise InvalidInput(
            f"{table.source} has no column of a state of the model; its columns: {', '.join(table.names[:12])}; those "
            f"of the model: {', '.join(missing[:12])}; is it of another model?"
        )
    missing = [name for name in missing if not (balanced and name.endswith("/fiber_length"))]
    if missing:
        more = f" and {len(missing) - 6} more" if missing[6:] else ""
        work.note(f"{table.source} has no column for {', '.join(missing[:6])}{more}: they begin at their defaults")
    if not all(np.isfinite(one).all() for one in (q, u, a, fiber)):
        raise InvalidInput(f"{table.source}: the row at {time:g} s has values that are no numbers")
    outside = (a < 0.0) | (a > 1.0)
    if outside.any():
        # OpenSim's activations follow controls beyond their range, and count as the nearest end of it
        k = int(outside.argmax())
        work.note(
            f"{table.source}: at {time:g} s activations leave 0 to 1 ({model.muscle_names[k]} is {a[k]:.4g}): they "
            "begin at the nearest of these"
        )
        a = np.clip(a, 0.0, 1.0)
    return Start(time, q, u, a, fiber, given)


def _consistent(model: Model, start: Start, work: Work) -> Start:
    """The same with couplers, locks, prescribed motions and loops followed, from the independent coordinates."""
    e = embedding_of(model)
    z, zu = e.independent(start.q), e.independent_speeds(start.q, start.u)
    found = e.motion(z, zu, time=start.time, guess=start.q)
    apart = np.abs(found.q - start.q)
    moved = [f"{name} by {apart[k]:.3g}" for k, name in enumerate(model.coordinate_names) if apart[k] > _MOVED]
    if moved:
        more = f" and {len(moved) - 4} more" if moved[4:] else ""
        work.note(
            f"the start is moved onto couplers, locks and loops, which follow the independent coordinates: "
            f"{', '.join(moved[:4])}{more}; OpenSim moves all coordinates a little instead"
        )
    return replace(start, q=found.q, u=found.u)


def _balanced(model: Model, start: Start, work: Work) -> Start:
    """The same with fibers in equilibrium with their tendons; of muscles that are off they stay, as in OpenSim."""
    if not model.muscles:
        return start
    g = muscle_geometry(model, start.q[None], start.u[None], wrapping=work.wrapping, threads=work.threads)
    assert g.speed is not None
    found = muscle_equilibrium(model, g.length, g.speed, start.activation[None], method=work.method)
    on = np.array([m.applies_force for m in model.muscles])
    kept = default_fiber_length(model) if start.fiber_length is None else start.fiber_length
    return replace(start, fiber_length=np.where(on, found.fiber_length[0], kept))
