"""Set-up files that make the arm that ships follow its motion."""

from __future__ import annotations

from pathlib import Path

from support.tool_setups import arm_folder, document

TASK = (
    '<CMC_Joint name="{0}"><on>true</on><weight>1 1 1</weight><active>true false false</active>'
    "<kp>100 1 1</kp><kv>20 1 1</kv><ka>1 1 1</ka><coordinate>{0}</coordinate></CMC_Joint>"
)
JOINTS = ("shoulder_flexion", "elbow_flexion")


def task_set(tasks: str = "".join(TASK.format(name) for name in JOINTS)) -> str:
    return (
        f'<OpenSimDocument Version="40600"><CMC_TaskSet name="arm"><objects>{tasks}</objects></CMC_TaskSet>'
        "</OpenSimDocument>"
    )


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


def control_folder(folder: Path, **setups: str) -> Path:
    """The arm, its motion, reserves and tasks in a folder, with set-ups under the given names."""
    arm_folder(folder, **setups)
    (folder / "tasks.xml").write_text(task_set())
    return folder
