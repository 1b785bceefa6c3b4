"""From markers to joint loads for one draw of what is uncertain: the usual steps in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from musculo.analyses.acting_loads import acting_loads
from musculo.analyses.inverse_kinematics.first_pose import unknowns_of
from musculo.analyses.inverse_kinematics.follow_recording import inverse_kinematics
from musculo.analyses.inverse_kinematics.pose_breaks import MOST_ITERATIONS
from musculo.analyses.inverse_kinematics.targets import (
    Followed,
    Tasks,
    followed_markers,
    recorded_for,
    targets_of,
)
from musculo.analyses.joint_loads import expressed
from musculo.analyses.recorded_motion import Motion, motion_of_rates
from musculo.analyses.static_optimization.least_effort import Status, least_effort
from musculo.analyses.static_optimization.reserves import (
    Reserves,
    actuator_columns,
    actuators_of,
    reserves_of,
)
from musculo.analyses.uncertainty.inputs import Changes, Step, Varied, unchanged
from musculo.analyses.uncertainty.subject_changes import NodeInertias, marker_axes
from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.diagnostics.finding import texts
from musculo.dynamics.inverse import transmitted_loads
from musculo.dynamics.loads.external import ExternalLoad, node_wrenches
from musculo.dynamics.loads.load_choice import Choice, load_choices, placement_of
from musculo.dynamics.poses import kinematics
from musculo.embedding.couplers.embedding_tables import embedding_tables
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, Unsupported
from musculo.forces.compiled_forces import compiled_forces
from musculo.forces.model_forces import passive_forces
from musculo.kernels.fit.known_starts import fit_from_starts
from musculo.kernels.fit.pose_fit import Misfit, Recorded
from musculo.kernels.fit.pose_search import CONVERGED, TrackedFrames
from musculo.kernels.hill.hill_frames import capacity_frames
from musculo.kernels.tree.transmitted_frames import pulled_frames
from musculo.kernels.tree.tree_frames import LoadFrames, MotionFrames, TorqueFrames, rnea_frames
from musculo.like import Wrapping
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.scaled_muscles import scaled_muscles
from musculo.muscle.path_loads.path_wrenches import PathWrenches, path_wrenches
from musculo.results.external_loads import ExternalLoads
from musculo.results.markers import Markers
from musculo.signals.filters import butterworth
from musculo.signals.natural_smoothing import NaturalSpline

_NO_WRENCH = np.zeros((0, 6))
# A quintic spline passes through no fewer frames.
_FEWEST = 6
# Length of the last step of Newton's method in the search for poses [rad, m]; errors are about its square, so that what
# accelerations make of them stays below 1e-12, and a frame that is done on another machine comes out alike.
TOLERANCE = 1e-7


# What each step gives: by name, and after which step it is known.
OUTPUTS: dict[str, Step] = {
    "angle": Step.KINEMATICS,
    "moment": Step.MOMENTS,
    "activation": Step.MUSCLES,
    "muscle_force": Step.MUSCLES,
    "joint_force": Step.LOADS,
    "joint_moment": Step.LOADS,
    "joint_force_size": Step.LOADS,
}


@dataclass(frozen=True)
class ChainOptions:
    """How the steps are made; `uncertainty` says what each is."""

    cutoff: float | None = 6.0
    weights: Mapping[str, float] | None = None
    reserves: Reserves | None = 1.0
    power: float = 2.0
    joints: str | Sequence[str] | None = None
    on: Choice = "child"
    frame: Choice = "ground"
    wrapping: Wrapping = "geodesic"


@dataclass(frozen=True, eq=False)
class Sampled:
    """What one draw gives; frames of a step that failed are NaN in all that follows it."""

    arrays: dict[str, FloatArray]  # by name of `OUTPUTS`, (frames, ...)
    failed: FloatArray  # (steps,) frames that failed first in this step


class SampleChain:
    """A trial that can be computed again and again with changes of subject, markers and loads.

    Args:
        model, markers, loads: the trial.
        options: how. last: the step after which to stop.
    """

    def __init__(
        self,
        model: Model,
        markers: Markers,
        loads: ExternalLoads | Sequence[ExternalLoad],
        options: ChainOptions,
        last: Step,
    ) -> None:
        self.model, self.options, self.last = model, options, last
        self.c, self.tables, self.embedding = compiled(model), embedding_tables(model), embedding_of(model)
        if len(markers) < _FEWEST:
            raise InvalidInput(f"the recording has {len(markers)} frames; accelerations need {_FEWEST} or more")
        self._begin_poses(markers)
        self._begin_loads(loads)
        self.varied = Varied(
            self.followed.names, model.body_names, model.muscle_names, tuple(x.body for x in self.loads)
        )
        self._begin_muscles()
        self.wanted = load_choices(model, options.joints, options.on, options.frame)
        self.merged, self.joints = NodeInertias(model, self.c), NodeInertias(model, compiled(model, merged=False))

    def _begin_poses(self, markers: Markers) -> None:
        """The poses of the trial as it was recorded: where samples start."""
        model = self.model
        markers, _ = recorded_for(model, markers)
        first = inverse_kinematics(model, markers, weights=self.options.weights)
        self.time, self.start, self.notes = first.time, first.q, list(texts(first.findings))
        frames = len(self.time)
        self.followed = followed_markers(model, markers, self.options.weights)
        nothing = Followed()
        held = Tasks((), np.zeros(0), np.full((frames, 1), np.nan))
        self.targets = targets_of(model, self.c, self.followed, nothing, held)
        self.axes = marker_axes(model, self.c, self.followed.names)
        self.unknowns = unknowns_of(model, self.c, self.tables, "clamped")
        position = markers.pick(self.followed.names).position
        self.recorded = Recorded(
            np.ascontiguousarray(position.reshape(frames, -1)), np.full((frames, 9), np.nan), held.goals
        )
        # filters and splines are linear: matrices that give values, slopes and accelerations of all frames
        unit = np.eye(frames)
        if self.options.cutoff is not None:
            unit = butterworth(self.time, unit, self.options.cutoff)
        spline = NaturalSpline(self.time, unit)
        self.smooth, self.slope, self.bend = (np.ascontiguousarray(spline(self.time, order)) for order in range(3))

    def _begin_loads(self, loads: ExternalLoads | Sequence[ExternalLoad]) -> None:
        self.loads, findings = acting_loads(self.model, self.start, loads, self.time)
        self.notes += texts(findings)

    def _begin_muscles(self) -> None:
        model = self.model
        self.muscles = compiled_muscles(model, rigid=True)
        self.motors = (*actuators_of(model), *reserves_of(model, self.options.reserves, self.embedding.speed_names))
        for motor in self.motors if self.last >= Step.MUSCLES else ():
            if motor.force is not None and not motor.coordinate:
                raise Unsupported(f"actuator {motor.name!r} acts on bodies or along a path; remove it from the model")
        others = [
            f.name for f in model.forces if f.path is not None and f.name not in model.muscle_names and f.applies_force
        ]
        if others and self.last >= Step.MUSCLES:
            raise Unsupported(f"{others[0]!r} acts along a path and is no muscle; remove it from the model")
        self.used = np.array([m.applies_force for m in model.muscles], dtype=bool)
        strong = [m for m in model.muscles if m.applies_force]
        self.low, self.top = (
            np.array([float(getattr(m, name)) for m in (*strong, *self.motors)])
            for name in ("min_control", "max_control")
        )
        self.acts = bool(compiled_forces(model, "exact").groups)

    def nominal(self, outputs: Sequence[str]) -> Sampled:
        """All steps without a change.

        Raises:
            InvalidInput: inverse kinematics does not converge as the trial was recorded.
        """
        found = self.run(unchanged(self.varied), outputs)
        if not found.arrays:
            raise InvalidInput(
                f"inverse kinematics does not converge in {int(found.failed[Step.KINEMATICS])} frames as recorded; "
                "look at inverse_kinematics(model, markers), and take another part of the trial (markers.between)"
            )
        return found

    def names(self, output: str) -> tuple[str, ...]:
        """The entries of an output."""
        if output in ("angle", "moment"):
            return self.model.coordinate_names if output == "angle" else self.model.speed_names
        if output in ("activation", "muscle_force"):
            return self.model.muscle_names
        short = (w.frame.rsplit("/", 1)[-1] for w in self.wanted)
        bodies = (placement_of(self.model, w.joint, w.side).body for w in self.wanted)
        return tuple(f"{w.joint}_on_{b}_in_{f}" for w, b, f in zip(self.wanted, bodies, short, strict=True))

    def run(self, changes: Changes, outputs: Sequence[str] = tuple(OUTPUTS)) -> Sampled:
        """All steps for one draw that the outputs need."""
        found = self._run(changes)
        return Sampled({name: values for name, values in found.arrays.items() if name in outputs}, found.failed)

    def _run(self, changes: Changes) -> Sampled:
        failed = np.zeros(len(Step))
        arrays: dict[str, FloatArray] = {}
        q, missed = self.poses(changes)
        failed[Step.KINEMATICS] = missed.sum()
        if missed.any():
            # filter and spline need every frame
            return Sampled({}, failed)
        motion = self.motion(q)
        arrays["angle"] = motion.q
        if self.last >= Step.MOMENTS:
            arrays["moment"] = self.moments(motion, changes)
            failed[Step.MOMENTS] = (~np.isfinite(arrays["moment"]).all(axis=1)).sum()
        if self.last >= Step.MUSCLES:
            paths = path_wrenches(self.model, motion.q, motion.u, wrapping=self.options.wrapping, threads=1)
            activation, force, status = self.activations(motion, arrays["moment"], paths, changes)
            unsolved = status != Status.SOLVED
            failed[Step.MUSCLES] = unsolved.sum()
            activation[unsolved] = force[unsolved] = np.nan
            arrays["activation"], arrays["muscle_force"] = activation, force
            if self.last >= Step.LOADS:
                found = self.joint_loads(motion, paths, np.where(unsolved[:, None], 0.0, force), changes)
                for name, values in zip(("joint_force", "joint_moment"), found, strict=True):
                    values[unsolved] = np.nan
                    arrays[name] = values
                arrays["joint_force_size"] = np.linalg.norm(arrays["joint_force"], axis=2)
        return Sampled(arrays, failed)

    # --- the steps ----------------------------------------------------------------------------------------------------
    def poses(self, changes: Changes) -> tuple[FloatArray, Any]:
        """Poses (frames, n) nearest to the recording, and which did not converge.

        Each is sought from the trial's own pose and, where that leads nowhere, from the sample's poses beside it.
        """
        shift = np.einsum("mij,mj->mi", self.axes, changes.marker_shift)
        targets = self.targets._replace(location=self.targets.location + shift)
        frames = len(self.time)
        found = TrackedFrames(
            self.start.copy(),
            Misfit(np.empty((frames, max(len(self.followed.names), 1))), np.empty((frames, 1))),
            np.empty(frames),
            np.empty(frames, dtype=np.int64),
            np.empty(frames, dtype=np.int64),
        )
        t = self.tables
        model = (self.c.tree, self.c.table, t.couplings, t.table, targets)
        given = (model, self.unknowns, self.recorded, TOLERANCE, MOST_ITERATIONS, found)
        fit_from_starts(*given, 0, frames)
        for f in np.flatnonzero(found.status != CONVERGED).tolist():
            for beside in (f - 1, f + 1):
                if 0 <= beside < frames and found.status[beside] == CONVERGED and found.status[f] != CONVERGED:
                    found.q[f] = found.q[beside]
                    fit_from_starts(*given, f, f + 1)
        return found.q, found.status != CONVERGED

    def motion(self, q: FloatArray) -> Motion:
        """Filtered coordinates with speeds and accelerations."""
        return motion_of_rates(self.model, self.time, self.smooth @ q, self.slope @ q, self.bend @ q)

    def _loads(self, changes: Changes) -> list[ExternalLoad]:
        return [
            replace(
                load,
                force=np.asarray(load.force) * factor,
                moment=np.asarray(load.moment) * factor,
                point=np.asarray(load.point) + shift,
            )
            for load, factor, shift in zip(self.loads, changes.load, changes.point_shift, strict=True)
        ]

    def moments(self, motion: Motion, changes: Changes) -> FloatArray:
        """Generalized forces (frames, n_u) of the tree."""
        tree = self.c.tree._replace(inertia=self.merged.rows(changes.mass, changes.center_shift))
        frames = len(self.time)
        wrenches = _NO_WRENCH
        if self.loads:
            poses = lambda: kinematics(self.model, motion.q, threads=1)  # noqa: E731
            wrenches = node_wrenches(self.c, self._loads(changes), frames, poses)
        tau = np.empty_like(motion.u)
        given = MotionFrames(*(np.ascontiguousarray(x) for x in (motion.q, motion.u, motion.udot)))
        loads, found = LoadFrames(wrenches, bool(self.loads)), TorqueFrames(tau, _NO_WRENCH)
        rnea_frames(tree, self.c.table, given, loads, found, 0, frames)
        return tau

    def activations(
        self, motion: Motion, tau: FloatArray, paths: PathWrenches, changes: Changes
    ) -> tuple[FloatArray, FloatArray, Any]:
        """Activations and forces (frames, muscles) of least effort, and the status of each frame."""
        model, n = self.model, len(self.used)
        J = self.embedding.jacobian(motion.q)
        muscles = scaled_muscles(self.muscles, *changes.muscle)
        assert paths.speed is not None
        length, speed = (np.ascontiguousarray(x[:, :n]) for x in (paths.length, paths.speed))
        capacity = np.empty_like(length)
        capacity_frames(*muscles.arrays, length, speed, False, capacity, 0, len(length))
        if self.acts:
            tau = tau - passive_forces(model, motion.q, motion.u, self.time, "exact", 1)[0]
        need = (tau[:, None] @ J)[:, 0]
        arms = paths.moment_arm[:, :n] @ J
        rows = np.swapaxes(arms * capacity[:, :, None], 1, 2)[:, :, self.used]
        columns = actuator_columns(model, motion.q, J, paths, self.motors, 1)
        A = np.concatenate([rows, columns], axis=2)
        found = least_effort(A, need, self.low, self.top, np.ones(A.shape[2]), self.options.power, 1)
        activation = np.zeros((len(A), n))
        activation[:, self.used] = found.x[:, : int(self.used.sum())]
        return activation, activation * capacity, found.status

    def joint_loads(
        self, motion: Motion, paths: PathWrenches, force: FloatArray, changes: Changes
    ) -> tuple[FloatArray, FloatArray]:
        """Forces and moments (frames, loads, 3) of joints."""
        model, c, frames = self.model, compiled(self.model, merged=False), len(self.time)
        poses = lambda: kinematics(model, motion.q, threads=1)  # noqa: E731
        total = node_wrenches(c, self._loads(changes), frames, poses)
        nodes = total.reshape(frames, -1, 6)
        body_nodes = np.array(list(c.body_node.values()), dtype=np.int64)
        if self.acts:
            passive = passive_forces(model, motion.q, motion.u, self.time, "exact", 1)[1]
            for k, name in enumerate((GROUND, *model.body_names)):
                nodes[:, c.body_node[name], :3] += passive[:, k, 3:]
                nodes[:, c.body_node[name], 3:] += passive[:, k, :3]
        node = body_nodes[paths.row_body]
        row_path = np.ascontiguousarray(paths.row_path, dtype=np.int64)
        pulled_frames(np.ascontiguousarray(force), paths.wrench, row_path, node, total, 0, frames)
        inertia = self.joints.rows(changes.mass, changes.center_shift)
        carried = transmitted_loads(model, motion.q, motion.u, motion.udot, total, 1, inertia)
        loads, moments, _ = expressed(model, self.wanted, carried)
        return loads, moments
