"""Set-up files on the arm and the leg that ship with the package, for tests of `run_setup` and `musculo run`."""

from __future__ import annotations

import shutil
from pathlib import Path

from musculo.demo import ARM_FILE, ARM_FLEXION_FILE

RESERVES = """<OpenSimDocument Version="40600"><ForceSet name="reserves"><objects>
<CoordinateActuator name="shoulder_motor"><coordinate>shoulder_flexion</coordinate><optimal_force>10</optimal_force>
</CoordinateActuator>
<CoordinateActuator name="elbow_motor"><coordinate>elbow_flexion</coordinate><optimal_force>10</optimal_force>
</CoordinateActuator></objects></ForceSet></OpenSimDocument>
"""


def document(tool: str, content: str, name: str = "arm") -> str:
    return f'<OpenSimDocument Version="40600">\n<{tool} name="{name}">\n{content}\n</{tool}></OpenSimDocument>\n'


def inverse_dynamics(more: str = "") -> str:
    return document(
        "InverseDynamicsTool",
        "<results_directory>results</results_directory><model_file>arm.osim</model_file>"
        "<forces_to_exclude>Muscles</forces_to_exclude><coordinates_file>motion.mot</coordinates_file>"
        f"<output_gen_force_file>id.sto</output_gen_force_file>{more}",
    )


def analyze(analyses: str, more: str = "") -> str:
    return document(
        "AnalyzeTool",
        "<model_file>arm.osim</model_file><force_set_files>reserves.xml</force_set_files>"
        "<results_directory>results</results_directory><coordinates_file>motion.mot</coordinates_file>"
        "<solve_for_equilibrium_for_auxiliary_states>true</solve_for_equilibrium_for_auxiliary_states>"
        f"<AnalysisSet><objects>{analyses}</objects></AnalysisSet>{more}",
    )


def arm_folder(folder: Path, **setups: str) -> Path:
    """The arm, its motion and reserves in a folder, with set-ups under the given names."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ARM_FILE, folder / "arm.osim")
    shutil.copy(ARM_FLEXION_FILE, folder / "motion.mot")
    (folder / "reserves.xml").write_text(RESERVES)
    (folder / "tasks.xml").write_text(ARM_TASKS)
    for name, text in setups.items():
        (folder / f"{name}.xml").write_text(text)
    return folder


def tracking_tasks(**weights: float) -> str:
    """Tasks that follow coordinates with critical damping."""
    made = "".join(
        f'<CMC_Joint name="{name}"><on>true</on><weight>{weight}</weight><active>true false false</active>'
        f"<kp>100</kp><kv>20</kv><coordinate>{name}</coordinate></CMC_Joint>"
        for name, weight in weights.items()
    )
    return f'<OpenSimDocument Version="40600"><CMC_TaskSet><objects>{made}</objects></CMC_TaskSet></OpenSimDocument>\n'


ARM_TASKS = tracking_tasks(shoulder_flexion=10.0, elbow_flexion=50.0)


def residual_reduction(more: str = "", **changes: str) -> str:
    """Of the arm, by its reserves; `changes` are elements in the place of these."""
    stated = {
        "model_file": "arm.osim",
        "replace_force_set": "true",
        "force_set_files": "reserves.xml",
        "results_directory": "results",
        "initial_time": "0.2",
        "final_time": "0.3",
        "desired_kinematics_file": "motion.mot",
        "task_set_file": "tasks.xml",
        "lowpass_cutoff_frequency": "6",
    } | changes
    return document("RRATool", "".join(f"<{key}>{value}</{key}>" for key, value in stated.items()) + more)
