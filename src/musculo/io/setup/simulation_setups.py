"""`<ForwardTool>`, `<RRATool>` and `<CMCTool>`: set-ups of simulations from controls, and of motions to follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from musculo.io.setup.model_tool_setup import ModelToolSetup
from musculo.io.setup.setup_properties import FILE, FLAG, NUMBER, TEXT, WHOLE, WORDS

# Where OpenSim writes a model whose mass center was adjusted, if the set-up names no file: beside the set-up.
ADJUSTED_MODEL = "adjusted_model.osim"


@dataclass(frozen=True)
class ForwardSetup(ModelToolSetup):
    """What `<ForwardTool>` asks for: a simulation from a state, under controls.

    Only the start is used of `states_file`: its last row that is not after `initial_time`, and the simulation begins at
    the time of that row. Without a file the start is the model's default state. With
    `solve_for_equilibrium_for_auxiliary_states` the fibers start in equilibrium, whatever the file says.
    """

    states_file: Path | None = field(default=None, metadata=FILE)


@dataclass(frozen=True)
class TrackingSetup(ModelToolSetup):
    """What `<RRATool>` and `<CMCTool>` share: a motion that a model is to follow.

    Args (those that are no path of an input):
        desired_points_file: trajectories of the points of `CMC_Point` tasks, three columns a task [m].
        desired_kinematics_file: coordinates over time, in degrees if the file says so.
        task_set_file: which of them to follow, how much each counts, and gains; `read_tracking_tasks` reads it.
        constraints_file: limits of controls over time, `read_control_limits` reads it.
        lowpass_cutoff_frequency: of the filter of the desired kinematics [Hz]; negative for none.
        optimizer_algorithm: `ipopt` or `cfsqp`; OpenSim 4.6 has the first alone.
        numerical_derivative_step_size: of controls, where OpenSim's optimizer differentiates numerically.
        optimization_convergence_tolerance: at which OpenSim's optimizer ends.
    """

    desired_points_file: Path | None = field(default=None, metadata=FILE)
    desired_kinematics_file: Path | None = field(default=None, metadata=FILE)
    task_set_file: Path | None = field(default=None, metadata=FILE)
    constraints_file: Path | None = field(default=None, metadata=FILE)
    lowpass_cutoff_frequency: float = field(default=-1.0, metadata=NUMBER)
    optimizer_algorithm: str = field(default="ipopt", metadata=TEXT)
    numerical_derivative_step_size: float = field(default=1e-4, metadata=NUMBER)
    use_verbose_printing: bool = field(default=False, metadata=FLAG)


@dataclass(frozen=True)
class RRASetup(TrackingSetup):
    """What `<RRATool>` asks for: a motion that its residual forces agree with, and a mass center that lessens them.

    Args (besides those of `TrackingSetup`):
        adjust_com_to_reduce_residuals: move the mass center of `adjusted_com_body` by the mean residual moments, and
            write the model to `adjusted_model`.
        initial_time_for_com_adjustment, final_time_for_com_adjustment: between which residuals are averaged [s]; both
            -1 for the times of the tool, which `com_adjustment_span` resolves.
        adjusted_com_body: a body of the model.
        output_model_file: the file of the adjusted model, if the set-up names one.
    """

    optimization_convergence_tolerance: float = field(default=1e-5, metadata=NUMBER)
    adjust_com_to_reduce_residuals: bool = field(default=False, metadata=FLAG)
    initial_time_for_com_adjustment: float = field(default=-1.0, metadata=NUMBER)
    final_time_for_com_adjustment: float = field(default=-1.0, metadata=NUMBER)
    adjusted_com_body: str = field(default="", metadata=TEXT)
    output_model_file: Path | None = field(default=None, metadata=FILE)

    @property
    def com_adjustment_span(self) -> tuple[float, float]:
        """Between which times residuals are averaged [s]."""
        stated = (self.initial_time_for_com_adjustment, self.final_time_for_com_adjustment)
        return (self.initial_time, self.final_time) if stated == (-1.0, -1.0) else stated

    @property
    def adjusted_model(self) -> Path | None:
        """Where the adjusted model goes; None where none is made."""
        if not self.adjust_com_to_reduce_residuals:
            return None
        return self.output_model_file or Path(self.source).parent / ADJUSTED_MODEL


@dataclass(frozen=True)
class CMCSetup(TrackingSetup):
    """What `<CMCTool>` asks for: excitations of muscles that make a model follow a motion.

    Args (besides those of `TrackingSetup`):
        solve_for_equilibrium_for_auxiliary_states: OpenSim's default is true here.
        actuators_to_exclude: names of actuators or groups that get no control.
        rra_controls_file: controls of an earlier residual reduction; OpenSim 4.6 refuses a set-up that names them.
        cmc_time_window: over which the desired forces are reached [s].
        use_fast_optimization_target: whether the desired accelerations are equations; else they are weighed against
            effort.
        optimizer_max_iterations, optimizer_print_level: of OpenSim's optimizer.
    """

    solve_for_equilibrium_for_auxiliary_states: bool = field(default=True, metadata=FLAG)
    actuators_to_exclude: tuple[str, ...] = field(default=(), metadata=WORDS)
    rra_controls_file: Path | None = field(default=None, metadata=FILE)
    cmc_time_window: float = field(default=0.01, metadata=NUMBER)
    use_fast_optimization_target: bool = field(default=True, metadata=FLAG)
    optimization_convergence_tolerance: float = field(default=1e-4, metadata=NUMBER)
    optimizer_max_iterations: int = field(default=1000, metadata=WHOLE)
    optimizer_print_level: int = field(default=0, metadata=WHOLE)
