"""OpenSim's MuscleAnalysis on given states, in a process of its own.

STATES holds `q`, `u` (frames, n) under `coordinates`, and `activation` (frames, muscles) under `muscles`, and without
equilibrium `fiber_length` or `normalized_tendon_force` too. The tool's files end up in its folder `out`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from support.opensim_server import in_opensim

_SETUP = """<?xml version="1.0" encoding="UTF-8"?>
<OpenSimDocument Version="40000"><AnalyzeTool name="run">
<model_file>{model}</model_file><results_directory>{folder}</results_directory><output_precision>17</output_precision>
<initial_time>0</initial_time><final_time>{end}</final_time>
<solve_for_equilibrium_for_auxiliary_states>{solve}</solve_for_equilibrium_for_auxiliary_states>
<AnalysisSet><objects><MuscleAnalysis name="MuscleAnalysis"><on>true</on><start_time>-1</start_time>
<end_time>1e9</end_time><step_interval>1</step_interval><in_degrees>true</in_degrees><muscle_list>all</muscle_list>
<moment_arm_coordinate_list>all</moment_arm_coordinate_list><compute_moments>true</compute_moments>
</MuscleAnalysis></objects></AnalysisSet><states_file>{states}</states_file></AnalyzeTool></OpenSimDocument>
"""


def muscle_analysis_files(model: Path, folder: Path, equilibrium: bool, **states: np.ndarray) -> Path:
    """Let OpenSim write its files, in a process of its own; returns their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "states.npz", **states)
    files = model, folder / "states.npz", folder / "out"
    in_opensim(run, *map(str, files), "true" if equilibrium else "false", folder=folder)
    return folder / "out"


def run(model: str, states: str, folder: str, solve: str) -> None:
    """In the other process."""
    import opensim

    opensim.Logger.setLevelString("off")
    given = dict(np.load(states))
    loaded = opensim.Model(model)
    loaded.initSystem()
    labels = loaded.getStateVariableNames()
    labels = [labels.get(k) for k in range(labels.getSize())]
    frames = len(given["q"])
    columns = []
    for label in labels:
        owner, what = label.split("/")[-2:]
        key, names = {
            "value": ("q", "coordinates"),
            "speed": ("u", "coordinates"),
            "activation": ("activation", "muscles"),
            "fiber_length": ("fiber_length", "muscles"),
            "normalized_tendon_force": ("normalized_tendon_force", "muscles"),
        }.get(what, ("", ""))
        if key in given:
            columns.append(given[key][:, list(given[names]).index(owner)])
        else:  # a fibre that equilibrium will put in its place
            columns.append(np.full(frames, 0.1))
    rows = np.column_stack([np.arange(frames) / 100.0, *columns])
    file = Path(states).with_suffix(".sto")
    head = f"states\nversion=1\nnRows={frames}\nnColumns={rows.shape[1]}\ninDegrees=no\nendheader\n"
    text = "\n".join("\t".join(repr(float(x)) for x in row) for row in rows)
    file.write_text(f"{head}{chr(9).join(['time', *labels])}\n{text}\n")
    setup = Path(states).with_suffix(".xml")
    setup.write_text(_SETUP.format(model=model, folder=folder, end=rows[-1, 0], solve=solve, states=file))
    opensim.AnalyzeTool(str(setup)).run()
