"""Set-up files with which OpenSim does the arm26 study on a given model and motion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

# OpenSim stops at 1e-4 by itself; so far it finds its optimum to more digits than are compared.
_CONVERGENCE = 1e-7
# Cutoff of the coordinates in OpenSim's example of this study [Hz]; the motion here has no noise to filter.
_UNFILTERED = -1

_DOCUMENT = '<?xml version="1.0" encoding="UTF-8"?>\n<OpenSimDocument Version="40600">{}</OpenSimDocument>\n'
_ALWAYS = "<on>true</on><start_time>-1</start_time><end_time>1e9</end_time><step_interval>1</step_interval>"


def inverse_dynamics_setup(folder: Path, model: Path, motion: Path, end: float) -> tuple[str, Path]:
    """Driving moments into `id/moments.sto`."""
    return "InverseDynamicsTool", _write(
        folder / "inverse_dynamics.xml",
        f'<InverseDynamicsTool name="moments"><results_directory>{folder / "id"}</results_directory>'
        f"<model_file>{model}</model_file><time_range>0 {end!r}</time_range>"
        f"<forces_to_exclude>Muscles</forces_to_exclude><coordinates_file>{motion}</coordinates_file>"
        f"<lowpass_cutoff_frequency_for_coordinates>{_UNFILTERED}</lowpass_cutoff_frequency_for_coordinates>"
        "<output_gen_force_file>moments.sto</output_gen_force_file></InverseDynamicsTool>",
    )


def muscle_analysis_setup(folder: Path, model: Path, motion: Path, end: float) -> tuple[str, Path]:
    """Muscles in equilibrium at the model's own activation into `muscles/`."""
    analysis = (
        f'<MuscleAnalysis name="MuscleAnalysis">{_ALWAYS}<muscle_list>all</muscle_list>'
        "<moment_arm_coordinate_list>none</moment_arm_coordinate_list><compute_moments>false</compute_moments>"
        "</MuscleAnalysis>"
    )
    return "AnalyzeTool", _analyze(folder, "muscles", model, motion, end, analysis)


def static_optimization_setup(
    folder: Path, name: str, model: Path, motion: Path, end: float, physiology: bool
) -> tuple[str, Path]:
    """Activations and forces of least effort into a folder `name`."""
    analysis = (
        f'<StaticOptimization name="StaticOptimization">{_ALWAYS}<use_model_force_set>true</use_model_force_set>'
        "<activation_exponent>2</activation_exponent>"
        f"<use_muscle_physiology>{str(physiology).lower()}</use_muscle_physiology>"
        f"<optimizer_convergence_criterion>{_CONVERGENCE!r}</optimizer_convergence_criterion>"
        "<optimizer_max_iterations>1000</optimizer_max_iterations></StaticOptimization>"
    )
    return "AnalyzeTool", _analyze(folder, name, model, motion, end, analysis)


def joint_reaction_setup(
    folder: Path, name: str, model: Path, motion: Path, end: float, forces: Path
) -> tuple[str, Path]:
    """Loads of all joints on the child, in ground, given muscle forces, into a folder `name`."""
    analysis = (
        f'<JointReaction name="JointReaction">{_ALWAYS}<forces_file>{forces}</forces_file>'
        "<joint_names>ALL</joint_names><apply_on_bodies>child</apply_on_bodies><express_in_frame>ground</express_in_frame></JointReaction>"
    )
    return "AnalyzeTool", _analyze(folder, name, model, motion, end, analysis)


def computed_muscle_control_setup(
    folder: Path, model: Path, motion: Path, end: float, coordinates: Sequence[str]
) -> tuple[str, Path]:
    """Muscle control that follows the motion, passive forces and tendons included, into `cmc/`.

    Gains, window and optimizer are those of OpenSim's own example of this arm.
    """
    tasks = "".join(
        f'<CMC_Joint name="{name}"><on>true</on><weight>1 1 1</weight><active>true false false</active>'
        f"<kp>100 1 1</kp><kv>20 1 1</kv><ka>1 1 1</ka><coordinate>{name}</coordinate></CMC_Joint>"
        for name in coordinates
    )
    task_file = _write(folder / "tasks.xml", f"<CMC_TaskSet><objects>{tasks}</objects></CMC_TaskSet>")
    reserves = "".join(
        f'<CoordinateActuator name="{name}_reserve"><min_control>-inf</min_control><max_control>inf</max_control>'
        f"<coordinate>{name}</coordinate><optimal_force>1</optimal_force></CoordinateActuator>"
        for name in coordinates
    )
    reserve_file = _write(folder / "reserves.xml", f"<ForceSet><objects>{reserves}</objects></ForceSet>")
    actuation = f'<Actuation name="Actuation">{_ALWAYS}</Actuation>'
    return "CMCTool", _write(
        folder / "cmc.xml",
        f'<CMCTool name="arm"><model_file>{model}</model_file><replace_force_set>false</replace_force_set>'
        f"<force_set_files>{reserve_file}</force_set_files><results_directory>{folder / 'cmc'}</results_directory>"
        f"<output_precision>12</output_precision><initial_time>0</initial_time><final_time>{end!r}</final_time>"
        "<solve_for_equilibrium_for_auxiliary_states>true</solve_for_equilibrium_for_auxiliary_states>"
        "<maximum_number_of_integrator_steps>20000</maximum_number_of_integrator_steps>"
        "<maximum_integrator_step_size>1</maximum_integrator_step_size>"
        "<minimum_integrator_step_size>1e-7</minimum_integrator_step_size>"
        "<integrator_error_tolerance>1e-5</integrator_error_tolerance>"
        f"<AnalysisSet><objects>{actuation}</objects></AnalysisSet>"
        f"<desired_kinematics_file>{motion}</desired_kinematics_file><task_set_file>{task_file}</task_set_file>"
        f"<lowpass_cutoff_frequency>{_UNFILTERED}</lowpass_cutoff_frequency><cmc_time_window>0.01</cmc_time_window>"
        "<use_fast_optimization_target>true</use_fast_optimization_target>"
        "<optimizer_algorithm>ipopt</optimizer_algorithm><optimizer_derivative_dx>1e-4</optimizer_derivative_dx>"
        "<optimizer_convergence_criterion>1e-6</optimizer_convergence_criterion>"
        "<optimizer_max_iterations>100</optimizer_max_iterations><optimizer_print_level>0</optimizer_print_level>"
        "<use_verbose_printing>false</use_verbose_printing></CMCTool>",
    )


def _analyze(folder: Path, name: str, model: Path, motion: Path, end: float, analysis: str) -> Path:
    return _write(
        folder / f"{name}.xml",
        f'<AnalyzeTool name="arm"><model_file>{model}</model_file>'
        f"<results_directory>{folder / name}</results_directory><output_precision>16</output_precision>"
        f"<initial_time>0</initial_time><final_time>{end!r}</final_time>"
        "<solve_for_equilibrium_for_auxiliary_states>true</solve_for_equilibrium_for_auxiliary_states>"
        f"<AnalysisSet><objects>{analysis}</objects></AnalysisSet><coordinates_file>{motion}</coordinates_file>"
        f"<lowpass_cutoff_frequency_for_coordinates>{_UNFILTERED}</lowpass_cutoff_frequency_for_coordinates>"
        "</AnalyzeTool>",
    )


def _write(file: Path, content: str) -> Path:
    file.write_text(_DOCUMENT.format(content), encoding="utf-8")
    return file
