"""Set-up files of OpenSim's tools: what is read, what is noted, and what is refused with a place and a way out."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from musculo.errors import InvalidFile, InvalidInput
from musculo.io.setup import (
    CoordinateTask,
    ManualScale,
    MarkerTask,
    OtherAnalysis,
    StaticOptimizationAnalysis,
)
from musculo.model.measurement import Measurement
from musculo.opensim import (
    AnalyzeSetup,
    InverseDynamicsSetup,
    InverseKinematicsSetup,
    ScaleSetup,
    read_setup,
    read_tasks,
)
from support.setup_files import OLD_SETUPS, SCALE_SETUP, SCALE_TASKS


@pytest.fixture
def read(tmp_path):
    def check(tool: str = "", content: str = "", document: str = "", version: int = 40000):
        text = (
            document
            or f'<OpenSimDocument Version="{version}">\n<{tool} name="t">\n{content}</{tool}></OpenSimDocument>'
        )
        (tmp_path / "setup.xml").write_text(text)
        return read_setup(tmp_path / "setup.xml")

    return check


def test_a_tool_that_states_nothing_has_the_defaults_of_opensim(read, tmp_path):
    ik = read("InverseKinematicsTool")
    assert isinstance(ik, InverseKinematicsSetup)
    assert (ik.name, ik.time_range, ik.accuracy, ik.tasks) == ("t", (-math.inf, 2.0), 1e-5, ())
    assert (ik.model_file, ik.results_directory) == (None, tmp_path)
    assert ik.report_errors
    assert not read("InverseKinematicsTool", "<report_errors> false </report_errors>").report_errors
    inverse = read("InverseDynamicsTool")
    assert isinstance(inverse, InverseDynamicsSetup)
    assert (inverse.time_range, inverse.forces_to_exclude) == ((-math.inf, math.inf), ())
    analyze = read("AnalyzeTool")
    assert isinstance(analyze, AnalyzeSetup)
    assert (analyze.output_precision, analyze.force_set_files, analyze.replace_force_set) == (8, (), False)
    assert read("ScaleTool").scaler.time_range == (-1.0, -1.0)


def test_paths_count_from_the_folder_of_the_file(read, tmp_path):
    setup = read(
        "AnalyzeTool",
        "<model_file> ..\\models\\m.osim </model_file><force_set_files> a.xml sub/b.xml </force_set_files>"
        "<results_directory>Results</results_directory><coordinates_file>/data/q.mot</coordinates_file>"
        "<states_file>Unassigned</states_file>",
    )
    assert setup.model_file == tmp_path / "../models/m.osim"
    assert setup.force_set_files == (tmp_path / "a.xml", tmp_path / "sub/b.xml")
    assert setup.results_directory == tmp_path / "Results"
    assert setup.coordinates_file == Path("/data/q.mot")
    assert setup.states_file is None


def test_tasks_may_stand_in_another_file(tmp_path):
    (tmp_path / "scale.xml").write_text(SCALE_SETUP)
    (tmp_path / "tasks.xml").write_text(SCALE_TASKS)
    setup = read_setup(tmp_path / "scale.xml")
    assert isinstance(setup, ScaleSetup)
    tasks = (
        MarkerTask("m", True, 2.5),
        CoordinateTask("c", False, 3.0, "manual_value", 0.25),
        CoordinateTask("d", True, 1.0, "from_file"),
    )
    assert setup.placer.tasks == tasks == read_tasks(tmp_path / "tasks.xml")
    assert setup.scaler.measurements[0] == Measurement(
        "torso", (("Top.Head", "R.ASIS"), ("Top.Head", "L.ASIS")), (("torso", "XZ"), ("pelvis", "Y"))
    )
    assert setup.scaler.manual_scales == (ManualScale("femur_r", (1.1, 0.9, 1.05)),)
    assert (setup.mass, setup.subject_notes, setup.notes) == (72.6, "a subject who is nobody", ())
    (tmp_path / "tasks.xml").unlink()
    with pytest.raises(InvalidFile, match=r"scale.xml:\d+: <IKTaskSet> is in another file: no file .*tasks.xml"):
        read_setup(tmp_path / "scale.xml")


def test_defaults_of_the_document_reach_its_objects(read):
    setup = read(
        "AnalyzeTool",
        "<defaults><StaticOptimization name='default'><activation_exponent>3</activation_exponent></StaticOptimization>"
        "</defaults><AnalysisSet><objects><StaticOptimization name='so'/></objects></AnalysisSet>",
    )
    assert setup.analyses == (StaticOptimizationAnalysis("so", activation_exponent=3.0),)
    assert setup.of_kind(StaticOptimizationAnalysis) == setup.analyses
    assert setup.notes == ()


def test_what_is_not_used_is_noted(read):
    setup = read(
        "AnalyzeTool",
        "<AnalysisSet><objects>\n<StatesReporter name='s'/></objects></AnalysisSet>\n<model_fil>x</model_fil>"
        "<ControllerSet><objects><ToyReflexController name='c'/></objects></ControllerSet>",
    )
    (other,) = setup.analyses
    assert isinstance(other, OtherAnalysis)
    assert (other.element, other.name) == ("StatesReporter", "s")
    assert len(setup.controllers) == 1
    assert any("setup.xml:4: <StatesReporter>" in note for note in setup.notes)
    assert any("setup.xml:5: <model_fil> is not a property of <AnalyzeTool>" in note for note in setup.notes)
    assert any("<ToyReflexController>" in note for note in setup.notes)
    assert len(setup.notes) == 3


def test_of_several_old_trials_the_first_is_taken(read):
    setup = read(document=OLD_SETUPS["trials"][1])
    assert isinstance(setup, InverseKinematicsSetup)
    assert (setup.time_range, setup.constraint_weight, setup.accuracy) == ((0.5, 1.5), 20.0, 1e-4)
    assert setup.marker_weights == {"m": 2.5}
    assert any("<IKTrial> is not the first trial" in note for note in setup.notes)


def test_loads_of_the_oldest_files_are_noted(read):
    content = "<external_loads_file>grf.mot</external_loads_file><external_loads_body1>calcn_r</external_loads_body1>"
    setup = read("AnalyzeTool", content, version=10905)
    assert any("'calcn_r'" in note and "external loads file" in note for note in setup.notes)


BAD = {
    "a word for a number": (
        "InverseKinematicsTool",
        "<accuracy>fine</accuracy>",
        r"setup.xml:3: .*'fine' is not a num",
    ),
    "a word for a flag": ("AnalyzeTool", "<replace_force_set>maybe</replace_force_set>", "neither true nor false"),
    "too few times": ("InverseDynamicsTool", "<time_range>1</time_range>", "must be 2 numbers, found 1"),
    "half a digit": ("AnalyzeTool", "<output_precision>8.5</output_precision>", "give a whole number"),
    "a task value of no kind": (
        "InverseKinematicsTool",
        "<IKTaskSet><objects><IKCoordinateTask name='c'><value_type>guess</value_type></IKCoordinateTask></objects>"
        "</IKTaskSet>",
        "'guess' is not known; it is one of default_value, manual_value, from_file",
    ),
    "one marker for a pair": (
        "ScaleTool",
        "<ModelScaler><MeasurementSet><objects><Measurement name='m'><MarkerPairSet><objects><MarkerPair>"
        "<markers>a</markers></MarkerPair></objects></MarkerPairSet></Measurement></objects></MeasurementSet>"
        "</ModelScaler>",
        "names 1 markers; give the names of two",
    ),
    "an axis that is none": (
        "ScaleTool",
        "<ModelScaler><MeasurementSet><objects><Measurement name='m'><BodyScaleSet><objects><BodyScale name='b'>"
        "<axes>W</axes></BodyScale></objects></BodyScaleSet></Measurement></objects></MeasurementSet></ModelScaler>",
        "give some of X Y Z",
    ),
    "an order of nothing": (
        "ScaleTool",
        "<ModelScaler><scaling_order>guess</scaling_order></ModelScaler>",
        "'guess' is not known; it is one of measurements, manualScale",
    ),
    "no trial": ("IKTool", "", "holds no <IKTrial>"),
    "another tool": ("MomentTool", "", "holds <MomentTool>; known tools: ScaleTool, InverseKinematicsTool"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_say_where_and_what_to_do(case, read):
    tool, content, message = BAD[case]
    with pytest.raises(InvalidFile, match=message):
        read(tool, content)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("<Model/>", "the root element is <Model>"),
        ("<OpenSimDocument><AnalyzeTool/></OpenSimDocument>", 'Version="", not a number'),
        ("<OpenSimDocument Version='1'>", "not well-formed XML"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><AnalyzeTool/>", "XML entities"),
    ],
)
def test_documents_that_are_no_setup(document, message, read):
    with pytest.raises(InvalidFile, match=message):
        read(document=document)


def test_files_of_tasks_hold_tasks(tmp_path):
    (tmp_path / "t.xml").write_text("<IKTaskSet><objects><IKMarkerTask name='m'/></objects></IKTaskSet>")
    assert read_tasks(tmp_path / "t.xml") == (MarkerTask("m"),)
    (tmp_path / "t.xml").write_text("<OpenSimDocument Version='1'><AnalyzeTool/></OpenSimDocument>")
    with pytest.raises(InvalidFile, match="no <IKTaskSet>; give the tasks, or a set-up"):
        read_tasks(tmp_path / "t.xml")


def test_tasks_are_found_in_set_ups_and_in_files_that_these_name(tmp_path):
    tasks = "<objects><IKMarkerTask name='m'><weight>3</weight></IKMarkerTask></objects>"
    wanted = (MarkerTask("m", weight=3.0),)
    for tool in (
        f"<InverseKinematicsTool><IKTaskSet>{tasks}</IKTaskSet></InverseKinematicsTool>",
        f"<ScaleTool><MarkerPlacer><IKTaskSet>{tasks}</IKTaskSet></MarkerPlacer></ScaleTool>",
        "<ScaleTool><MarkerPlacer><IKTaskSet file='own/tasks.xml'/></MarkerPlacer></ScaleTool>",
    ):
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own" / "tasks.xml").write_text(f"<IKTaskSet>{tasks}</IKTaskSet>")
        (tmp_path / "t.xml").write_text(f"<OpenSimDocument Version='40600'>{tool}</OpenSimDocument>")
        assert read_tasks(tmp_path / "t.xml") == wanted


def test_paths_of_windows_are_looked_for_beside_the_set_up(tmp_path):
    (tmp_path / "arm.osim").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "walk.mot").write_text("")
    (tmp_path / "s.xml").write_text(
        "<OpenSimDocument Version='40600'><InverseDynamicsTool name='t'>"
        r"<model_file>C:\Users\anna\arm.osim</model_file><coordinates_file>data\walk.mot</coordinates_file>"
        r"<external_loads_file>D:\lab\gone.xml</external_loads_file><results_directory>C:\out</results_directory>"
        "</InverseDynamicsTool></OpenSimDocument>"
    )
    setup = read_setup(tmp_path / "s.xml")
    assert (setup.model_file, setup.coordinates_file) == (tmp_path / "arm.osim", tmp_path / "data" / "walk.mot")
    assert setup.external_loads_file == tmp_path / "D:/lab/gone.xml"  # which is named when it is not found
    assert setup.results_directory == tmp_path / "out"
    assert [note.split("> ")[1].split(":")[0] for note in setup.notes] == ["is 'C", "is 'C"]
    assert "<model_file>" in setup.notes[1]
    assert str(tmp_path / "arm.osim") in setup.notes[1]


def test_measurements_are_pairs_and_axes():
    with pytest.raises(InvalidInput, match="give the names of two markers"):
        Measurement("m", (("a",),), ())
    with pytest.raises(InvalidInput, match="along which axes"):
        Measurement("m", (), (("femur_r", "xyz"),))
