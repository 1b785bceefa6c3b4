"""No tick stands over numbers that are not finite, a table without a frame, or frames that were not solved."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from musculo import (
    Body,
    Coordinate,
    Markers,
    Model,
    Muscle,
    PinJoint,
    Table,
    inverse_kinematics,
    kinematics,
    read_osim,
    write_osim,
    write_storage,
)
from musculo.demo import arm
from musculo.diagnostics.judge import judge
from musculo.model import Path, PathPoint
from musculo.report import Curve, Light, Panel, Section, report_of_folder
from musculo.report.page_parts import drawable
from musculo.results.trial import Trial

TIME = np.linspace(0.0, 1.0, 21)
LOAD = [f"hip_r_on_leg_in_ground_{c}" for c in ("fx", "fy", "fz", "mx", "my", "mz", "px", "py", "pz")]
# A file of each kind with numbers that are good, and the titles of what judges it.
KINDS = {
    "walk_ik_marker_errors.sto": (("marker_error_RMS", "marker_error_max"), 0.001, "Marker errors, largest"),
    "walk_StaticOptimization_activation.sto": (("m_r",), 0.2, "Muscles at their limit"),
    "walk_StaticOptimization_force.sto": (("m_r", "reserve_hip_flexion_r"), 0.1, "Reserves"),
    "walk_MuscleAnalysis_NormalizedFiberLength.sto": (("m_r",), 1.0, "Fiber lengths"),
}


@pytest.fixture
def folder(tmp_path):
    path = Path((PathPoint("a", "ground", (0.0, 0.1, 0.0)), PathPoint("b", "leg", (0.02, -0.2, 0.0))))
    hip = PinJoint("hip_r", "ground", "leg", (Coordinate("hip_flexion_r", range=(-1.0, 1.0)),))
    body = Body("leg", 5.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0))
    write_osim(
        Model("leg", (body,), (hip,), forces=(Muscle("m_r", "Thelen2003Muscle", path=path),)), tmp_path / "leg.osim"
    )
    write_storage(Table(TIME, ("hip_flexion_r",), np.sin(TIME)[:, None], degrees=True), tmp_path / "ik.mot")
    write_storage(Table(TIME, ("hip_flexion_r_moment",), np.full((21, 1), 100.0)), tmp_path / "id.sto")
    write_storage(Table(TIME, LOAD, np.full((21, 9), 3.0)), tmp_path / "walk_JointReaction_ReactionLoads.sto")
    for name, (columns, value, _) in KINDS.items():
        write_storage(Table(TIME, columns, np.full((21, len(columns)), value)), tmp_path / name)
    return tmp_path


def checks(folder):
    return {check.title: check for check in report_of_folder(folder, scene=False).checks}


def test_good_numbers_have_ticks(folder):
    assert {checks(folder)[title].light for _, _, title in KINDS.values()} == {Light.GOOD}


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("name", KINDS)
def test_no_tick_over_a_number_that_is_not_finite(folder, name, number):
    """One of them in one frame is enough; it is named, and the page is bad."""
    columns, value, title = KINDS[name]
    values = np.full((21, len(columns)), value)
    values[7, -1] = float(number)
    write_storage(Table(TIME, columns, values), folder / name)
    found = checks(folder)
    assert found[title].light is not Light.GOOD
    assert found["Numbers that mean nothing"].light is Light.BAD
    assert found["Numbers that mean nothing"].found.startswith(
        f"{name}: 1 numbers are not finite, in 1 of 21 frames, the first at 0.35 s: {columns[-1]}"
    )


def test_a_result_that_cannot_be_read_is_bad(folder):
    """As of a file without a row: one that a run wrote is bad, any other is worth a look."""
    (folder / "id.sto").write_text("id\nversion=1\nnRows=0\nnColumns=2\nendheader\ntime\thip_flexion_r_moment\n")
    assert checks(folder)["Files"].light is Light.LOOK
    record = {"tool": "InverseDynamicsTool", "inputs": {}, "results": {str(folder / "id.sto"): ""}, "troubles": []}
    (folder / "id.musculo.json").write_text(json.dumps(record))
    assert checks(folder)["Files"].light is Light.BAD
    assert "id.sto" in checks(folder)["Files"].found


def test_tables_without_a_frame_are_bad(folder):
    def empty(*names):
        return Table(np.zeros(0), names, np.zeros((0, len(names))), source="x.sto")

    found = Trial(
        folder,
        angles=empty("hip_flexion_r"),
        marker_errors=empty("marker_error_RMS", "marker_error_max"),
        moments=empty("hip_flexion_r_moment"),
        activations=empty("m_r"),
        forces=empty("m_r", "reserve_hip_flexion_r"),
        reactions=[empty(*LOAD)],
        muscles={"NormalizedFiberLength": empty("m_r")},
        model=read_osim(folder / "leg.osim"),
    )
    assert {(check.title, check.found, check.light) for check in judge(found).findings} == {
        ("Numbers that mean nothing", "x.sto holds no frame", Light.BAD)
    }


def test_no_tick_over_frames_that_were_not_solved(folder):
    """What the run wrote is judged, but never as good; what other runs wrote is not its business."""
    made = {str(folder / name): "" for name in list(KINDS)[1:3]}
    record = {"tool": "AnalyzeTool", "analyses": ["StaticOptimization"], "results": made, "inputs": {}}
    record["inputs"] = {str(folder / "leg.osim"): ""}
    path = folder / "so.musculo.json"
    path.write_text(json.dumps(record | {"troubles": []}))
    assert {checks(folder)[title].light for _, _, title in KINDS.values()} == {Light.GOOD}
    path.write_text(json.dumps(record | {"troubles": ["frames 3 to 5 have no solution"]}))
    found = checks(folder)
    assert found["Not everything was solved"].light is Light.BAD
    for title in ("Muscles at their limit", "Reserves"):
        assert found[title].light is Light.UNJUDGED
        assert found[title].found.endswith("not judged as good, since its step left frames or parts unsolved")
    assert found["Fiber lengths"].light is Light.GOOD


def test_a_run_that_solves_nothing_has_no_tick(folder):
    record = {"tool": "InverseDynamicsTool", "inputs": {}, "results": {str(folder / "id.sto"): ""}, "troubles": []}
    (folder / "id.musculo.json").write_text(json.dumps(record))
    assert checks(folder)["Runs"].light is Light.INFO
    assert checks(folder)["Runs"].found == "done (InverseDynamicsTool)"


def test_what_would_be_an_empty_plot_is_named(folder):
    """Also numbers beyond what four bytes hold, which a page could not draw."""
    good, bad, large = np.zeros(21), np.full(21, np.nan), np.full(21, 1e300)
    curves = [Curve(name, TIME, values) for name, values in (("a", good), ("b", bad), ("c", large))]
    shown = drawable(Section("S", tuple(Panel(curve.name, "", (curve,)) for curve in curves), "Text."))
    assert [panel.title for panel in shown.panels] == ["a"]
    assert shown.text == "Text. Not shown, since none of its numbers is finite: b, c."
    assert drawable(Section("S", (), "Text.")).empty


def test_curves_beyond_the_common_scale_have_their_own(folder):
    """An activation above 1, or a fibre at three times its optimum, would be off its plot."""
    for name, value in (
        ("walk_StaticOptimization_activation.sto", 1.5),
        ("walk_MuscleAnalysis_NormalizedFiberLength.sto", 3.0),
    ):
        write_storage(Table(TIME, ("m_r",), np.full((21, 1), value)), folder / name)
    ranges = {s.title: s.panels[0].range for s in report_of_folder(folder, scene=False).sections}
    assert ranges["Muscle activations"] is None
    assert ranges["Fiber lengths"] is None


def test_an_infinite_error_of_a_marker_shows():
    """It was left out of the mean like one that was not seen: 0.6 mm, the largest inf."""
    model = arm()
    at = kinematics(model, np.array([[0.1, 0.2]])).markers(model.marker_names)
    found = inverse_kinematics(model, Markers([0.0], model.marker_names, at))
    errors = found.marker_errors.copy()
    errors[0, :2] = np.inf, np.nan
    broken = replace(found, marker_errors=errors)
    assert broken.rms[0] == np.inf
    assert broken.error_summary_table().values[0].tolist() == [np.inf, np.inf, np.inf]
    assert "RMS error inf mm" in repr(broken)
