"""A report says what is in a folder, how good it is, and shows names as text."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from musculo import (
    Body,
    Coordinate,
    Marker,
    Markers,
    Model,
    Muscle,
    PinJoint,
    Table,
    demo,
    kinematics,
    write_osim,
    write_storage,
)
from musculo.analyses.trial_quantities import gait_cycles
from musculo.diagnostics.actuators import crossed_coordinates
from musculo.errors import InvalidInput
from musculo.io import write_trc
from musculo.model import CustomJoint, FreeJoint, Path, PathPoint
from musculo.model.named_sides import side_of, without_side
from musculo.report import Curve, Finding, Light, Panel, Report, Section, Severity, report_of_folder, write_report
from musculo.report.page_parts import panels_by_name
from musculo.report.read_folder import read_folder
from musculo.report.report_page import page, thinned
from musculo.results import ExternalForce, ExternalLoads
from musculo.results.trial import Trial

TIME = np.linspace(0.0, 1.0, 51)


def model(muscle="m_r"):
    path = Path((PathPoint("a", "pelvis", (0.0, 0.1, 0.0)), PathPoint("b", "leg", (0.02, -0.2, 0.0))))
    return Model(
        "walker",
        (Body("pelvis", 10.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0)), Body("leg", 5.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0))),
        (
            FreeJoint("base", "ground", "pelvis", tuple(Coordinate(n) for n in ("rx", "ry", "rz", "tx", "ty", "tz"))),
            PinJoint("hip_r", "pelvis", "leg", (Coordinate("hip_flexion_r", range=(-1.0, 1.0)),)),
        ),
        forces=(Muscle(muscle, "Thelen2003Muscle", path=path),),
    )


@pytest.fixture
def folder(tmp_path):
    """Results of a made-up run: marker errors of 25 mm, a reserve that gives 8 of 100 N m, a muscle at its limit."""
    write_osim(model(), tmp_path / "walker.osim")
    swing = np.zeros((51, 7))
    swing[:, 6] = 30.0 * np.sin(2.0 * np.pi * TIME)
    names = ("rx", "ry", "rz", "tx", "ty", "tz", "hip_flexion_r")
    write_storage(Table(TIME, names, swing, degrees=True, name="Coordinates"), tmp_path / "ik.mot")
    errors = np.column_stack((np.full(51, 0.1), np.full(51, 0.025), np.full(51, 0.03)))
    columns = ("total_squared_error", "marker_error_RMS", "marker_error_max")
    write_storage(Table(TIME, columns, errors), tmp_path / "walk_ik_marker_errors.sto")
    write_storage(Table(TIME, ("hip_flexion_r_moment",), np.full((51, 1), 100.0)), tmp_path / "id.sto")
    activation = np.column_stack((np.ones(51), np.zeros(51)))
    acting = ("m_r", "reserve_hip_flexion_r")
    write_storage(Table(TIME, acting, activation), tmp_path / "walk_StaticOptimization_activation.sto")
    forces = np.column_stack((np.full(51, 500.0), np.full(51, 8.0)))
    write_storage(Table(TIME, acting, forces), tmp_path / "walk_StaticOptimization_force.sto")
    load = [f"hip_r_on_leg_in_ground_{c}" for c in ("fx", "fy", "fz", "mx", "my", "mz", "px", "py", "pz")]
    write_storage(Table(TIME, load, np.full((51, 9), 3.0)), tmp_path / "walk_JointReaction_ReactionLoads.sto")
    record = {
        "tool": "InverseKinematicsTool",
        "inputs": {str(tmp_path / "walker.osim"): "abc"},
        "results": {str(tmp_path / "ik.mot"): "def"},
        "notes": ["a note <b>"],
        "troubles": [],
    }
    (tmp_path / "ik.musculo.json").write_text(json.dumps(record))
    return tmp_path


def lights(report):
    return {check.title: check.light for check in report.checks}


def test_a_folder_is_judged(folder):
    report = report_of_folder(folder)
    found = lights(report)
    assert found["Runs"] is Light.GOOD
    assert found["Marker errors, root mean square"] is Light.LOOK
    assert found["Marker errors, largest"] is Light.GOOD
    assert found["Muscles at their limit"] is Light.BAD
    assert found["Reserves"] is Light.LOOK
    assert report.light is Light.BAD
    assert report.mass == pytest.approx(15.0)


def test_sections_hold_the_numbers(folder):
    report = report_of_folder(folder)
    sections = {section.title: section for section in report.sections}
    (angle,) = sections["Joint angles"].panels
    assert (angle.title, angle.unit, angle.curves[0].side) == ("hip flexion", "°", "r")
    assert angle.curves[0].values.max() == pytest.approx(30.0, abs=0.1)
    (power,) = sections["Joint powers"].panels
    rate = np.radians(30.0) * 2.0 * np.pi * np.cos(2.0 * np.pi * TIME)
    # a spline knows less of the ends
    np.testing.assert_allclose(power.curves[0].values[5:-5], 100.0 * rate[5:-5], atol=0.05)
    assert [p.title for p in sections["Muscle forces"].panels] == ["m"]
    assert len(sections["Joint reactions"].panels) == 6
    assert "a note <b>" in report.notes


def test_a_coordinate_that_turns_through_a_curve_has_a_moment(tmp_path):
    """As `knee_angle_r_beta` of Rajagopal's model: its file holds radians and names its moment a force."""
    bend = np.linspace(0.0, 2.0, 9)
    knee = CustomJoint.from_samples("knee_r", "ground", "leg", {"beta_r": bend, "rz": bend + 0.1 * bend**2})
    body = Body("leg", 5.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0))
    write_osim(Model("knee", (body,), (knee,)), tmp_path / "knee.osim")
    swing = np.sin(2.0 * np.pi * TIME)[:, None]
    write_storage(Table(TIME, ("beta_r",), swing, degrees=True, name="Coordinates"), tmp_path / "ik.mot")
    write_storage(Table(TIME, ("beta_r_force",), 7.0 * swing), tmp_path / "id.sto")
    sections = {section.title: section for section in report_of_folder(tmp_path).sections}
    (angle,), (moment,) = sections["Joint angles"].panels, sections["Joint moments"].panels
    assert (angle.unit, moment.unit) == ("rad", "N m")
    np.testing.assert_allclose(angle.curves[0].values, swing[:, 0], atol=1e-8)  # not converted
    np.testing.assert_allclose(moment.curves[0].values, 7.0 * swing[:, 0], atol=1e-8)
    assert "radians" in sections["Joint angles"].text
    assert "beta_r_force" in sections["Joint moments"].text


def test_a_muscle_analysis_is_shown_and_judged(folder):
    """Fibres beyond the ends of the curve of active force; moment arms that are zero stay away."""
    for what, value in (("NormalizedFiberLength", 1.2), ("MomentArm_hip_flexion_r", 0.03), ("MomentArm_tx", 0.0)):
        write_storage(Table(TIME, ("m_r",), np.full((51, 1), value)), folder / f"walk_MuscleAnalysis_{what}.sto")
    report = report_of_folder(folder)
    sections = {section.title: section for section in report.sections}
    assert [panel.title for panel in sections["Moment arms"].panels] == ["hip_flexion_r: m"]
    np.testing.assert_allclose(sections["Moment arms"].panels[0].curves[0].values, 30.0)
    assert sections["Fiber lengths"].panels[0].curves[0].values.max() == pytest.approx(1.2)
    assert lights(report)["Fiber lengths"] is Light.GOOD
    long = Table(TIME, ("m_r",), np.linspace(1.0, 1.9, 51)[:, None])
    write_storage(long, folder / "walk_MuscleAnalysis_NormalizedFiberLength.sto")
    assert lights(report_of_folder(folder))["Fiber lengths"] is Light.LOOK
    for value, light in ((3.6, Light.LOOK), (3.7, Light.BAD), (0.23, Light.LOOK), (0.21, Light.BAD)):
        none = Table(TIME, ("m_r",), np.full((51, 1), value))
        write_storage(none, folder / "walk_MuscleAnalysis_NormalizedFiberLength.sto")
        assert lights(report_of_folder(folder))["Fiber lengths"] is light


def test_troubles_are_red(folder):
    record = json.loads((folder / "ik.musculo.json").read_text()) | {"troubles": ["3 frames did not converge"]}
    (folder / "ik.musculo.json").write_text(json.dumps(record))
    assert lights(report_of_folder(folder))["Not everything was solved"] is Light.BAD


def test_a_second_trial_is_named(folder):
    (folder / "other_ik.mot").write_text((folder / "ik.mot").read_text())
    found = [check.found for check in report_of_folder(folder).checks if check.title == "Several trials"]
    assert "other_ik.mot" in found[0]


def test_the_largest_reserve_is_named_without_moments(folder):
    (folder / "id.sto").unlink()
    acting = ("m_r", "reserve_hip_flexion_r", "reserve2_hip_flexion_r")
    forces = np.tile([500.0, 8.0, 90.0], (51, 1))
    write_storage(Table(TIME, acting, forces), folder / "walk_StaticOptimization_force.sto")
    (found,) = [check.found for check in report_of_folder(folder).checks if check.title == "Reserves"]
    assert found.startswith("reserve2_hip_flexion_r gives 90 N m")


def found_of(report):
    return {check.title: check for check in report.checks}


def acting(folder, **forces):
    """Forces of actuators, constant but for a peak of twice as much at 0.5 s."""
    values = np.tile(list(forces.values()), (51, 1))
    values[25] *= 2.0
    write_storage(Table(TIME, tuple(forces), values), folder / "walk_StaticOptimization_force.sto")


def test_residual_actuators_are_judged_by_name(folder):
    """FX..MZ and actuators of the free joint are residuals; 15 kg weigh 147 N."""
    acting(folder, m_r=500.0, FX=5.0, MY=0.5)
    found = found_of(report_of_folder(folder))
    assert found["Residual actuators: forces"].light is Light.LOOK
    assert "10 N at most, FX at 0.5 s: 6.8 % of the body's weight" in found["Residual actuators: forces"].found
    assert found["Residual actuators: moments"].light is Light.GOOD
    assert "Reserves" not in found
    acting(folder, m_r=500.0, residual_ty=50.0)
    assert found_of(report_of_folder(folder))["Residual actuators: forces"].light is Light.BAD


def test_where_no_muscle_acts_an_actuator_is_a_fact(folder):
    acting(folder, m_r=500.0, hip_flexion_r_actuator=50.0)
    assert found_of(report_of_folder(folder))["Reserves"].light is Light.BAD
    bare = replace(model(), forces=())
    write_osim(bare, folder / "walker.osim")
    found = found_of(report_of_folder(folder))
    assert "Reserves" not in found
    assert found["Actuators where no muscle acts"].light is Light.INFO
    assert "hip_flexion_r_actuator 100 N m" in found["Actuators where no muscle acts"].found


def test_a_coordinate_is_crossed_where_a_muscle_has_points_on_both_sides():
    assert crossed_coordinates(model()) == {"hip_flexion_r"}


def test_a_limit_stands_beside_a_share(folder):
    """Without moments there is no share, and then no limit either."""
    assert "16.0 % of the largest moment there (limit 5 %)" in _reserve(folder, 8.0)
    (folder / "id.sto").unlink()
    assert "%" not in _reserve(folder, 8.0)


def test_a_small_reserve_is_not_bad(folder):
    """It gives half of what toes need, which is little beside the knee; a larger one of less share comes first."""
    both = model()
    toes = PinJoint("mtp", "leg", "toes", (Coordinate("mtp_r"),))
    path = Path((PathPoint("a", "leg", (0.0, 0.1, 0.0)), PathPoint("b", "toes", (0.02, -0.2, 0.0))))
    both = replace(
        both,
        bodies=(*both.bodies, Body("toes", 1.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0))),
        joints=(*both.joints, toes),
        forces=(*both.forces, Muscle("toe_r", "Thelen2003Muscle", path=path)),
    )
    write_osim(both, folder / "walker.osim")
    moments = np.tile([100.0, 2.0], (51, 1))
    write_storage(Table(TIME, ("hip_flexion_r_moment", "mtp_r_moment"), moments), folder / "id.sto")
    acting(folder, m_r=500.0, toe_r=5.0, reserve_hip_flexion_r=0.5, reserve_mtp_r=0.5)
    found = found_of(report_of_folder(folder))["Reserves"]
    assert found.light is Light.LOOK
    assert "50.0 % of the largest moment there (limit 5 %), which is little beside the 100 N m" in found.found
    acting(folder, m_r=500.0, toe_r=5.0, reserve_hip_flexion_r=6.0, reserve_mtp_r=0.5)
    found = found_of(report_of_folder(folder))["Reserves"]
    assert found.light is Light.BAD
    assert found.found.startswith("reserve_hip_flexion_r gives 12 N m")


def _reserve(folder, value):
    acting(folder, m_r=500.0, reserve_hip_flexion_r=value)
    return found_of(report_of_folder(folder))["Reserves"].found


def test_the_worst_marker_is_named(folder):
    """Where model, motion and recording are known: the marker whose distance is the largest error."""
    marked = replace(
        model(), markers=(Marker("ASIS", "pelvis", (0.1, 0.0, 0.0)), Marker("KNEE", "leg", (0.0, -0.4, 0.0)))
    )
    write_osim(marked, folder / "walker.osim")
    q = np.zeros((51, 7))
    q[:, 6] = np.radians(30.0) * np.sin(2.0 * np.pi * TIME)
    at = kinematics(marked, q).markers(("ASIS", "KNEE")).copy()
    at[:, 0, 1] += 0.01
    at[13, 1, 2] += 0.03
    write_trc(Markers(TIME, ("ASIS", "KNEE"), at), folder / "walk.trc")
    errors = np.full((51, 3), 0.01)
    errors[13, 2] = 0.03
    columns = ("total_squared_error", "marker_error_RMS", "marker_error_max")
    write_storage(Table(TIME, columns, errors), folder / "walk_ik_marker_errors.sto")
    found = found_of(report_of_folder(folder, scene=False))["Marker errors, largest"].found
    assert found == "30.0 mm at most, KNEE, at 0.26 s (limit 40 mm)"


def test_the_summary_says_what_was_run_on_what(folder):
    facts = dict(report_of_folder(folder).facts)
    assert facts == {
        "model": "walker",
        "mass": "15 kg",
        "frames": "51",
        "time": "0 to 1 s",
        "steps": "InverseKinematicsTool",
    }


def test_a_folder_of_another_program_is_told_by_its_files(tmp_path):
    write_osim(model(), tmp_path / "walker.osim")
    write_storage(Table(TIME, ("hip_flexion_r_moment",), np.full((51, 1), 100.0)), tmp_path / "id.sto")
    report = report_of_folder(tmp_path)
    assert dict(report.facts)["steps"] == "not recorded; the files are walker.osim, id.sto"
    mark = hashlib.sha256((tmp_path / "id.sto").read_bytes()).hexdigest()[:16]
    assert any("id.sto" in text and mark in text for _, text in report.provenance)
    html = page(report)
    assert "Nothing to judge: no marker or tracking errors, residuals, reserves or scale factors found." in html
    assert '<ul class="checks"></ul>' not in html
    assert "Nothing to judge" not in page(Report("a", (Finding("c", Severity.GOOD, "b"),)))


def test_a_page_has_a_name_that_says_something(folder, tmp_path_factory):
    assert report_of_folder(folder, scene=False).title == f"{folder.name}: results"
    results = tmp_path_factory.mktemp("walk_trial") / "Results"
    shutil.copytree(folder, results)
    assert report_of_folder(results, scene=False).title == f"{results.parent.name}: results"
    record = json.loads((results / "ik.musculo.json").read_text()) | {"name": "walk1"}
    (results / "ik.musculo.json").write_text(json.dumps(record))
    assert report_of_folder(results, scene=False).title == "walk1: results"


def test_a_foot_with_one_strike_says_why_it_has_no_cycle(folder):
    """The right foot strikes twice, the left once; the page gets the reason."""
    right = np.where((TIME % 0.5 > 0.1) & (TIME % 0.5 < 0.4), 700.0, 0.0)
    left = np.where((TIME > 0.4) & (TIME < 0.7), 700.0, 0.0)
    zero = np.zeros(51)
    names = tuple(f"{side}_{what}{axis}" for side in "rl" for what in "vp" for axis in "xyz")
    columns = (zero, right, zero, zero, zero, zero, zero, left, zero, zero, zero, zero)
    forces = tuple(
        ExternalForce(side, f"foot_{side}", force_identifier=f"{side}_v", point_identifier=f"{side}_p") for side in "rl"
    )
    loads = ExternalLoads("loads", forces, Table(TIME, names, np.column_stack(columns)))
    cycles = gait_cycles(Trial(folder, loads=loads))
    assert list(cycles.strikes) == ["r"]
    assert len(cycles.strikes["r"]) == 2
    assert cycles.missing == {"l": "a cycle needs two strikes of that foot, and its force has 1"}


def test_what_cannot_be_read_is_named(folder):
    (folder / "broken.sto").write_text("nonsense")
    (folder / "broken.musculo.json").write_text("[1")
    found = [check.found for check in report_of_folder(folder).checks if check.title == "Files"]
    assert "broken.sto" in found[0]
    assert "broken.musculo.json" in found[0]


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(InvalidInput, match="holds no motion"):
        report_of_folder(tmp_path)
    with pytest.raises(InvalidInput, match="is not a folder"):
        report_of_folder(tmp_path / "missing")


def test_names_are_text_on_the_page():
    evil = "</script><script>alert(1)</script><!--<script>"
    curve = Curve(evil, TIME, TIME)
    report = Report(
        evil,
        (Finding(evil, Severity.WRONG, evil, evil),),
        (Section(evil, (Panel(evil, evil, (curve,)),), evil),),
        (evil,),
        ((evil, evil),),
        scene=f"<html>{evil}</html>",
    )
    html = page(report)
    assert "alert(1)</script>" not in html
    assert html.count("<script") == html.count("</script>")
    data = re.search(r'id="data">(.*?)</script>', html, re.DOTALL).group(1)
    assert json.loads(data)["sections"][0]["panels"][0]["curves"][0]["name"] == evil


def test_long_curves_keep_ends_and_peaks():
    time = np.linspace(0.0, 10.0, 100_000)
    values = np.sin(time)
    values[51_234], values[70_001] = 9.0, np.nan
    t, y = thinned(time, values)
    assert len(t) < 2000
    assert (t[0], t[-1]) == (0.0, 10.0)
    assert np.nanmax(y) == 9.0
    assert (np.diff(t) > 0.0).all()


def test_big_trials_make_small_files(tmp_path):
    time = np.linspace(0.0, 100.0, 10_000)
    values = np.random.default_rng(1).normal(size=(10_000, 100))
    names = [f"muscle{k}_{side}" for k in range(50) for side in "rl"]
    panels = panels_by_name(time, names, values, "N")
    assert len(panels) == 50
    sections = tuple(Section(title, panels) for title in ("activations", "forces", "angles"))
    write_report(tmp_path / "big.html", Report("big", sections=sections))
    assert (tmp_path / "big.html").stat().st_size < 15e6


@pytest.mark.parametrize(
    ("name", "side", "shown"),
    [
        ("hip_flexion_r", "r", "hip flexion"),
        ("hip_l_on_femur_l_in_femur_l_fx", "l", "hip on femur in femur fx"),
        ("pelvis_list", "", "pelvis list"),
        ("R_knee", "r", "knee"),
        ("r_to_l", "", "r to l"),
        ("lumbar_extension", "", "lumbar extension"),
    ],
)
def test_sides_of_names(name, side, shown):
    assert side_of(name) == side
    assert without_side(name) == shown


def test_states_hold_a_motion_and_activations(tmp_path):
    """As forward tools and Moco write them: values, speeds and activations in one table."""
    time = np.linspace(0.0, 1.0, 5)
    names = (
        "/jointset/elbow/elbow_flexion/value",
        "/jointset/elbow/elbow_flexion/speed",
        "/forceset/brachialis/activation",
    )
    values = np.stack([time, np.ones(5), 0.5 * time], axis=1)
    write_storage(Table(time, names, values), tmp_path / "arm_states.sto")
    found = read_folder(tmp_path, demo.arm())
    assert found.angles.names == names[:1]
    assert found.activations.names == ("brachialis",)
    np.testing.assert_allclose(found.activations.values[:, 0], 0.5 * time)
