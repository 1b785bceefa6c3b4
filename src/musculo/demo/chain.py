"""The whole chain on the arm that ships: markers in; angles, moments, activations and joint loads out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from musculo.analyses.inverse_kinematics.follow_recording import InverseKinematics, inverse_kinematics
from musculo.analyses.joint_loads import JointLoads, joint_loads
from musculo.analyses.muscle_analysis import MuscleAnalysis, muscle_analysis
from musculo.analyses.recorded_motion import Motion, motion_of
from musculo.analyses.static_optimization.share_load import static_optimization
from musculo.analyses.static_optimization.static_optimum import StaticOptimum
from musculo.arrays import FloatArray
from musculo.demo.shipped_models import ARM_FILE, ARM_FLEXION_FILE, arm, arm_flexion
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.poses import kinematics
from musculo.io.storage import write_storage
from musculo.io.text import write_text
from musculo.io.trc import write_trc
from musculo.model.model import Model
from musculo.results.markers import Markers
from musculo.results.provenance import Provenance
from musculo.results.table import Table

# Standard deviation of each coordinate of each marker [m]: what a good optical system has left in the volume of a lab.
NOISE = 0.5e-3
# Of the low-pass filter, both passes together [Hz]: usual for slow movements of an arm.
CUTOFF = 6.0
# Optimal moment of the reserves [N m]: one costs as much as full activation of a muscle.
RESERVE = 1.0
# A recording is longer than what is analyzed, because filters and splines know least at its ends [s].
LEAD = 0.25
SEED = 2026
_EFFORT = "static_optimization"  # the step, in the files that it gives


@dataclass(frozen=True, eq=False)
class ArmChain:
    """All that the chain gives, step by step; a step is computed when it is first asked for.

    Markers and inverse kinematics cover the whole recording; what follows covers the flexion from its start to its end.
    """

    noise: float  # [m]
    cutoff: float  # [Hz]
    seed: int
    model: Model = field(default_factory=arm)

    @cached_property
    def _recorded(self) -> Motion:
        return motion_of(self.model, _with_lead(arm_flexion()))

    @cached_property
    def truth(self) -> Motion:
        """The motion that the markers were made from."""
        return _flexion(self._recorded, arm_flexion())

    @cached_property
    def markers(self) -> Markers:
        """The recording: the motion, with noise."""
        time, random = self._recorded.time, np.random.default_rng(self.seed)
        seen = kinematics(self.model, self._recorded.q).markers()
        made = Provenance.of("arm_chain", self.model, (ARM_FLEXION_FILE.name,), noise=self.noise, seed=self.seed)
        return Markers(
            time,
            self.model.marker_names,
            seen + self.noise * random.standard_normal(seen.shape),
            rate=round(1.0 / float(np.diff(time).mean()), 6),
            provenance=made,
        )

    @cached_property
    def kinematics(self) -> InverseKinematics:
        """Angles from markers."""
        return inverse_kinematics(self.model, self.markers)

    @cached_property
    def motion(self) -> Motion:
        """Filtered, with speeds and accelerations."""
        return _flexion(motion_of(self.model, self.kinematics.to_table(), self.cutoff), arm_flexion())

    @cached_property
    def moments(self) -> FloatArray:
        """(frames, coordinates) [N m]."""
        return inverse_dynamics(self.model, self.motion.q, self.motion.u, self.motion.udot)

    @cached_property
    def effort(self) -> StaticOptimum:
        """Activations and forces of muscles, with small reserves."""
        m = self.motion
        return static_optimization(self.model, m.q, m.u, tau=self.moments, reserves=RESERVE)

    @cached_property
    def loads(self) -> JointLoads:
        """Of the joints, with the muscles pulling."""
        m = self.motion
        return joint_loads(self.model, m.q, m.u, m.udot, muscle_forces=self.effort.force)

    @cached_property
    def muscles(self) -> MuscleAnalysis:
        """States of the muscles at these activations."""
        return muscle_analysis(self.model, self.motion.q, self.motion.u, self.effort.activation)

    @property
    def true_moments(self) -> FloatArray:
        """(frames, coordinates) [N m]: of the motion without noise."""
        return inverse_dynamics(self.model, self.truth.q, self.truth.u, self.truth.udot)

    def tables(self) -> dict[str, Table]:
        """The results by the names of their files."""
        time, names = self.motion.time, self.model.coordinate_names

        def table(title: str, step: str, columns: tuple[str, ...], values: FloatArray, unit: str) -> Table:
            made = Provenance.of(step, self.model, noise=self.noise, cutoff=self.cutoff)
            return Table(time, columns, values, units=(unit,) * len(columns), name=title, provenance=made)

        effort = self.effort
        both = (*effort.muscles, *effort.actuators)
        # A reserve's optimal force is the moment at full control.
        acting = np.column_stack([effort.force, RESERVE * effort.control])
        found = {
            "arm_ik.mot": self.kinematics.to_table().in_degrees(self.model),
            "arm_ik_marker_errors.sto": self.kinematics.error_summary_table(),
            "arm_id.sto": table(
                "Inverse Dynamics Generalized Forces",
                "inverse_dynamics",
                tuple(f"{name}_moment" for name in names),
                self.moments,
                "N m",
            ),
            "arm_StaticOptimization_activation.sto": table(
                "Static Optimization", _EFFORT, both, np.column_stack([effort.activation, effort.control]), "1"
            ),
            "arm_StaticOptimization_force.sto": table("Static Optimization", _EFFORT, both, acting, ""),
            "arm_JointReaction_ReactionLoads.sto": self.loads.to_table(time),
        }
        for title, one in self.muscles.tables(time).items():
            found[f"muscles/arm_MuscleAnalysis_{title}.sto"] = one
        return found

    def write(self, folder: Path) -> tuple[str, ...]:
        """Write model, markers and all results into a folder that is there; returns the names of the files."""
        (folder / "muscles").mkdir(exist_ok=True)
        write_text(folder / ARM_FILE.name, ARM_FILE.read_text(encoding="utf-8").splitlines())
        write_trc(self.markers, folder / "arm_markers.trc", "mm")
        tables = self.tables()
        for name, table in tables.items():
            write_storage(table, folder / name)
        return (ARM_FILE.name, "arm_markers.trc", *tables)


def arm_chain(noise: float = NOISE, cutoff: float = CUTOFF, seed: int = SEED) -> ArmChain:
    """Markers made from the elbow flexion that ships, and everything that follows from them.

    Inverse kinematics, a low-pass filter, inverse dynamics, static optimization (with small reserves), the loads of the
    joints with the muscles pulling, and the states of the muscles at those activations. Each is computed when it is
    first asked for.

    Args:
        noise: standard deviation of each coordinate of each marker, normally distributed [m].
        cutoff: of the filter of the angles [Hz].
        seed: of the noise.
    """
    return ArmChain(noise, cutoff, seed)


def _with_lead(flexion: Table) -> Table:
    """The motion as it goes on before and after: the forearm swings, so it comes from where it goes to."""
    ahead = round(LEAD * flexion.rate)
    before, after = slice(ahead, 0, -1), slice(-2, -ahead - 2, -1)
    time, values = flexion.time, flexion.values
    return replace(
        flexion,
        time=np.concatenate([2.0 * time[0] - time[before], time, 2.0 * time[-1] - time[after]]),
        values=np.concatenate([values[before], values, values[after]]),
    )


def _flexion(motion: Motion, flexion: Table) -> Motion:
    """The frames of the flexion itself."""
    start = int(np.argmin(np.abs(motion.time - flexion.time[0])))
    return motion.rows(slice(start, start + len(flexion)))
