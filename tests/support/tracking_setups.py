"""Set-up files of computed muscle control, for the arm that ships (`support.tool_setups.arm_folder`)."""

from __future__ import annotations

from support.tool_setups import document


def muscle_control(more: str = "", start: float = 0.2, end: float = 0.4) -> str:
    """A set-up of CMCTool."""
    return document(
        "CMCTool",
        "<model_file>arm.osim</model_file><force_set_files>reserves.xml</force_set_files>"
        "<replace_force_set>false</replace_force_set><results_directory>results</results_directory>"
        f"<initial_time>{start}</initial_time><final_time>{end}</final_time>"
        "<desired_kinematics_file>motion.mot</desired_kinematics_file><task_set_file>tasks.xml</task_set_file>"
        "<lowpass_cutoff_frequency>6</lowpass_cutoff_frequency><cmc_time_window>0.01</cmc_time_window>"
        f"<use_fast_optimization_target>true</use_fast_optimization_target>{more}",
    )
