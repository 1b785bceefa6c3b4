"""What tools that make a model follow a motion leave: states, controls, errors, kinematics and actuation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import listed_names
from musculo.diagnostics.tracking_errors import largest_errors
from musculo.errors import InvalidInput, Unsupported
from musculo.io.controls.control_limits import ControlLimits, read_control_limits
from musculo.io.setup import Analysis, CMCSetup, RRASetup
from musculo.io.setup.analyses import ActuationAnalysis, KinematicsAnalysis, OtherAnalysis
from musculo.io.tool_results import write_controls
from musculo.model.coordinate import coordinate_path
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.equilibrium import muscle_force
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.opensim_tools.analyze_tool.analysis_study import Study
from musculo.opensim_tools.analyze_tool.analyze import RUNNERS
from musculo.opensim_tools.forces.control_tool import is_direct
from musculo.opensim_tools.forces.force_state import MuscleState
from musculo.opensim_tools.work import Work

# What these tools write even if the set-up asks for no analysis; OpenSim's names.
_ALWAYS: tuple[tuple[type[Analysis], str], ...] = ((KinematicsAnalysis, "Kinematics"), (ActuationAnalysis, "Actuation"))
# How long after a node the next control is written, so that lines between rows are steps [s]; OpenSim's first row there
# comes some 1e-5 s after it.
_AFTER_NODE = 5e-6


@dataclass(frozen=True, eq=False)
class FollowedStudy(Study):
    """A motion that a tool computed with forces of its own, for analyses: forces and accelerations are those."""

    driving: Mapping[str, FloatArray] = field(default_factory=dict)  # (frames,) by the names of all actuators

    def _rows(self, rows: NDArray[np.int64]) -> Study:
        some = super()._rows(rows)
        assert isinstance(some, FollowedStudy)
        return replace(some, driving={name: values[rows] for name, values in self.driving.items()})

    @cached_property
    def muscles(self) -> MuscleState:
        """Muscles in the states that were integrated."""
        model, motion, work = self.model, self.motion, self.work
        g = muscle_geometry(model, motion.q, motion.u, wrapping=work.wrapping, threads=work.threads)
        if not model.muscles or self.activation is None or self.fiber_length is None:
            return MuscleState((), g, np.zeros_like(g.length), np.zeros_like(g.length), None)
        assert g.speed is not None
        forces = muscle_force(
            model, g.length, g.speed, self.activation, self.fiber_length, method=work.method, threads=work.threads
        )
        on = np.array([m.applies_force for m in model.muscles], dtype=float)
        tension = np.stack([self.driving[name] for name in model.muscle_names], axis=1)
        return MuscleState(model.muscle_names, g, tension * on, self.activation, forces)

    @cached_property
    def actuators(self) -> dict[str, FloatArray]:
        """(frames,) by name: forces of actuators that are no muscles."""
        return {name: force for name, force in self.driving.items() if name not in self.model.muscle_names}

    @cached_property
    def accelerations(self) -> FloatArray:
        return self.motion.udot


def clipped_span(task: CMCSetup | RRASetup, recording: FloatArray, source: str, work: Work) -> tuple[float, float]:
    """From when to when the motion is followed: as asked for, as far as there is a recording, as in OpenSim."""
    start, end = work.asked_span(task, recording, source)
    if start >= end:
        raise InvalidInput(
            f"{task.source}: the motion is to be followed from {start:g} to {end:g} s, which begins at or after its "
            "end; look at initial_time and final_time"
        )
    work.check_span((start, end), recording, source, opensim_refuses=True)
    return max(start, float(recording[0])), min(end, float(recording[-1]))


def limits_of(file: Path | None, known: Collection[str], work: Work) -> tuple[ControlLimits, ...]:
    """Limits of controls of the actuators that the model has; a note names others."""
    if file is None:
        return ()
    work.needed(file, "constraints_file")
    found = read_control_limits(file)
    strangers = [one.name for one in found if one.name not in known]
    if strangers:
        work.note(f"{file}: limits of what the model does not have are ignored: {listed_names(strangers)}")
    return tuple(one for one in found if one.name in known)


def run_analyses(study: Study, analyses: Sequence[Analysis]) -> None:
    """Those of the set-up, and kinematics and actuation where it asks for none; each in its own interval of rows."""
    wanted = [one for one in analyses if one.on]
    for kind, name in _ALWAYS:
        if not any(isinstance(one, kind) for one in wanted):
            wanted.append(kind(name))
    for one in wanted:
        run = next((RUNNERS[kind] for kind in type(one).__mro__ if kind in RUNNERS), None)
        if run is None:
            kind_name = one.element if isinstance(one, OtherAnalysis) else type(one).__name__
            study.work.trouble(f"analysis {one.name!r}: <{kind_name}> is not known and was ignored")
            continue
        # these tools write degrees, whatever the set-up says
        known = replace(one, in_degrees=True) if isinstance(one, KinematicsAnalysis) else one
        try:
            run(study.recorded(known), known)
        except Unsupported as error:
            study.work.trouble(f"analysis {one.name!r} was ignored: {error}")


def write_states(
    work: Work,
    name: str,
    model: Model,
    time: FloatArray,
    q: FloatArray,
    u: FloatArray,
    activation: FloatArray | None = None,
    fiber_length: FloatArray | None = None,
) -> None:
    """`<name>_states.sto`: coordinates and speeds, then activations and fiber lengths [rad, m, s]."""
    labels, columns = [], []
    for joint in model.joints:
        for coordinate in joint.coordinates:
            path = coordinate_path(joint.name, coordinate.name)
            labels.append(f"{path}/value")
            columns.append(q[:, model.coordinate_index(coordinate.name)])
            if coordinate.name in model.speed_names:
                labels.append(f"{path}/speed")
                columns.append(u[:, model.speed_index(coordinate.name)])
    rigid = compiled_muscles(model).muscles.rigid if model.muscles and activation is not None else ()
    for k, muscle in enumerate(model.muscles):
        if activation is None or fiber_length is None:
            break
        if not is_direct(muscle):
            labels.append(f"/forceset/{muscle.name}/activation")
            columns.append(activation[:, k])
        if rigid[k] != 1:
            labels.append(f"/forceset/{muscle.name}/fiber_length")
            columns.append(fiber_length[:, k])
    work.write(f"{name}_states.sto", f"{name}_states", time, labels, np.stack(columns, axis=1))


class ControlNodes(NamedTuple):
    """Controls of actuators over time, as a `<ControlSet>` has them."""

    names: tuple[str, ...]
    time: FloatArray  # (nodes,) [s]
    values: FloatArray  # (nodes, actuators)
    limits: Sequence[tuple[float, float]]
    stepped: Sequence[bool]  # whether values hold from the node before


def write_control_files(
    work: Work, name: str, title: str, time: FloatArray, at_instants: FloatArray, nodes: ControlNodes
) -> None:
    """`<name>_controls.sto` at all instants, and `<name>_controls.xml` with the nodes that make them."""
    gap = max(_AFTER_NODE, 10.0**-work.precision)
    work.write(f"{name}_controls.sto", "controls", *_with_steps(time, at_instants, nodes, gap))
    target = work.target(f"{name}_controls.xml")
    excitations = [f"{one}.excitation" for one in nodes.names]
    write_controls(
        target, nodes.time, excitations, nodes.values, title=title, limits=nodes.limits, stepped=nodes.stepped
    )
    work.wrote(target)


def _with_steps(
    time: FloatArray, values: FloatArray, nodes: ControlNodes, gap: float
) -> tuple[FloatArray, Sequence[str], FloatArray]:
    """Times, names and values of a table that lines between its rows make steps of, where controls are steps.

    A row more stands a little after each node, where stepped controls have the value of the next node already: without
    it, who reads the table sees ramps from node to node.
    """
    stepped = np.asarray(nodes.stepped, dtype=bool)
    after = nodes.time + gap
    room = np.append(np.diff(time), 0.0)  # behind each row
    row = np.searchsorted(time, after, side="right") - 1
    inside = (row >= 0) & (row < len(time) - 1)
    # a row that is so near already needs no other
    inside &= (room[row] > 2.0 * gap) & (after - time[row] <= 1.5 * gap)
    after = after[inside] if stepped.any() else after[:0]
    more = np.stack([np.interp(after, time, column) for column in values.T], axis=1)
    following = np.minimum(np.searchsorted(nodes.time, after), len(nodes.time) - 1)
    more[:, stepped] = nodes.values[following][:, stepped]
    order = np.argsort(np.concatenate([time, after]), kind="stable")
    return np.concatenate([time, after])[order], nodes.names, np.concatenate([values, more])[order]


def write_errors(work: Work, name: str, time: FloatArray, tasks: Sequence[str], errors: FloatArray) -> None:
    """`<name>_pErr.sto`: what is to be followed less what was reached [rad, m]."""
    work.write(f"{name}_pErr.sto", "PositionErrors", time, tasks, errors)


def say_errors(work: Work, time: FloatArray, tasks: Sequence[str], errors: FloatArray, model: Model) -> None:
    """How closely the motion is followed: the largest error of angles, and that of translations."""
    shown = (("rad", 180.0 / np.pi, "deg"), ("m", 1.0, "m"))
    found = largest_errors(tasks, time, errors, model)
    told = [
        f"{scale * found[kind].value:.3g} {unit} ({found[kind].name}, at {found[kind].time:g} s)"
        for kind, scale, unit in shown
        if kind in found
    ]
    if told:
        work.note(f"the motion is followed to within {' and '.join(told)}")
