"""What the exact methods would give is told beside OpenSim's results; where it cannot be computed, the run goes on."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from support import mechanisms
from support.tool_setups import document

NOTE = "note: could not compare OpenSim's {} with the exact {}: the loop 'closure' cannot be closed"
# The bars reach 0.5 m, and the base is up to 0.9 m from the end of the crank.
MODEL = mechanisms.four_bar(crank=0.45, coupler=0.3, rocker=0.2, base=0.45)


def _folder(folder, tool, content):
    """Coordinates are those of the file, whatever the loop says, in OpenSim's inverse dynamics."""
    musculo.write_osim(MODEL, folder / "bars.osim")
    time = np.linspace(0.0, 1.0, 21)
    q = np.column_stack([2.5 + 0.3 * np.sin(3.0 * time), 0.2 * time, -0.3 * time])
    musculo.write_storage(musculo.Table(time, MODEL.coordinate_names, q), folder / "motion.mot")
    shared = "<model_file>bars.osim</model_file><coordinates_file>motion.mot</coordinates_file>"
    (folder / "setup.xml").write_text(document(tool, shared + content))
    return folder / "setup.xml"


def test_inverse_dynamics_of_an_open_loop(shell, tmp_path):
    setup = _folder(tmp_path, "InverseDynamicsTool", "<output_gen_force_file>id.sto</output_gen_force_file>")
    told = shell("run", setup, "-o", tmp_path / "out", "--no-report")
    assert (told.status, told.err) == (0, "")
    assert NOTE.format("inverse dynamics", "one") in told.out
    made = (tmp_path / "out" / "id.sto").read_bytes()
    assert shell("run", setup, "-o", tmp_path / "out", "--no-report", "--no-compare").status == 0
    assert (tmp_path / "out" / "id.sto").read_bytes() == made
    assert shell("run", setup, "-o", tmp_path / "out", "--no-report", "--exact").status == 1


def test_analyses_of_an_open_loop(shell, tmp_path):
    analyses = '<AnalysisSet><objects><Kinematics name="K"/><JointReaction name="JR"/></objects></AnalysisSet>'
    setup = _folder(tmp_path, "AnalyzeTool", analyses)
    told = shell("run", setup, "-o", tmp_path / "out", "--no-report")
    assert (told.status, told.err) == (0, "")
    assert NOTE.format("analyses", "methods") in told.out
    assert "differ" not in told.out.replace("Simbody", "")
    assert {path.suffix for path in (tmp_path / "out").glob("arm_*")} == {".sto"}
    assert "nothing changed" in shell("run", setup, "-o", tmp_path / "out", "--no-report").out


@pytest.mark.parametrize("error", [musculo.errors.InvalidInput("no such pose"), ZeroDivisionError("by nought")])
def test_a_comparison_of_one_analysis(shell, tmp_path, monkeypatch, error):
    """Whatever goes wrong in it."""
    from musculo.opensim_tools.analyze_tool import static_optimization_tool as static_optimization
    from support import tool_setups

    def fails(*_):
        raise error

    monkeypatch.setattr(static_optimization, "_compare", fails)
    folder = tool_setups.arm_folder(tmp_path, so=tool_setups.analyze('<StaticOptimization name="SO"/>'))
    told = shell("run", folder / "so.xml", "--no-report")
    assert (told.status, told.err) == (0, "")
    assert "note: could not compare SO with the exact method:" in told.out
    assert str(error) in told.out
