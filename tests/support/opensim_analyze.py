"""OpenSim's AnalyzeTool on a set-up made here, in a process of its own."""

from __future__ import annotations

from pathlib import Path

from support.opensim_server import in_opensim

_SETUP = """<?xml version="1.0" encoding="UTF-8" ?>
<OpenSimDocument Version="40600"><AnalyzeTool name="live">
<model_file>{model}</model_file><replace_force_set>false</replace_force_set><force_set_files>{force_sets}</force_set_files>
<results_directory>{folder}</results_directory><output_precision>16</output_precision>
<initial_time>{start}</initial_time><final_time>{end}</final_time>
<solve_for_equilibrium_for_auxiliary_states>{equilibrium}</solve_for_equilibrium_for_auxiliary_states>
<AnalysisSet><objects>{analyses}</objects></AnalysisSet>
<external_loads_file>{loads}</external_loads_file>
<states_file>{states}</states_file><coordinates_file>{coordinates}</coordinates_file>
<lowpass_cutoff_frequency_for_coordinates>{cutoff}</lowpass_cutoff_frequency_for_coordinates>
</AnalyzeTool></OpenSimDocument>
"""


def analyze(folder: Path, model: Path, analyses: str, start: float, end: float, **files: object) -> Path:
    """Run the tool in a process of its own; the folder holds `live_<analysis>_....sto` afterwards."""
    known = {"force_sets": "", "loads": "", "states": "", "coordinates": "", "cutoff": -1, "equilibrium": "false"}
    assert not set(files) - set(known), files
    values = {**known, **files, "model": model, "folder": folder, "analyses": analyses, "start": start, "end": end}
    setup = folder / "setup.xml"
    setup.write_text(_SETUP.format(**values))
    in_opensim(run, str(setup), folder=folder)
    return folder


def run(setup: str) -> None:
    """In the other process."""
    import opensim

    opensim.Logger.setLevelString("error")
    if not opensim.AnalyzeTool(setup).run():
        raise RuntimeError(f"{setup}: OpenSim's tool failed")
