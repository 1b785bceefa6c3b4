"""The page of a scaling shows and judges factors, measured distances and markers, and nothing that was not run."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import musculo
from musculo.cli.main import app
from musculo.demo import ARM_FILE, arm
from musculo.report import Light, report_of_folder
from musculo.report.report_page import page
from support.tool_setups import arm_folder, document

LONGER = {"humerus": 1.05, "forearm": 1.08}


def measurement(name, pairs, body):
    pairs = "".join(f"<MarkerPair><markers>{a} {b}</markers></MarkerPair>" for a, b in pairs)
    return (
        f"<Measurement name='{name}'><apply>true</apply><MarkerPairSet><objects>{pairs}</objects></MarkerPairSet>"
        f"<BodyScaleSet><objects><BodyScale name='{body}'><axes>X Y Z</axes></BodyScale></objects></BodyScaleSet>"
        "</Measurement>"
    )


def scaled(folder, factors=LONGER, off=0.0, more="", lost=None, mass=-1.0, unweighted=()):
    """Run a set-up that measures both bodies and places the markers; one of them is off by some metres."""
    model = arm()
    names = list(model.marker_names)
    subject = musculo.scale_model(model, factors)
    places = np.repeat(musculo.kinematics(subject, np.array([[0.0, 0.1]])).markers(names), 20, axis=0)
    places[:, names.index("acromion"), 1] += off
    if lost is not None:
        places[3:5, names.index(lost)] = np.nan
    measured = measurement("upper", [("upper_arm", "elbow_lateral")], "humerus")
    measured += measurement("lower", [("forearm", "wrist_radial"), ("forearm", "wrist_ulnar")], "forearm")
    tasks = "".join(
        f"<IKMarkerTask name='{n}'><apply>true</apply><weight>{int(n not in unweighted)}</weight></IKMarkerTask>"
        for n in names[:-1]
    )
    text = document(
        "ScaleTool",
        f"<mass>{mass}</mass>"
        "<GenericModelMaker><model_file>arm.osim</model_file></GenericModelMaker><ModelScaler><apply>true</apply>"
        f"<scaling_order>measurements {'manualScale' if more else ''}</scaling_order><MeasurementSet><objects>"
        f"{measured}</objects></MeasurementSet>{more}<marker_file>static.trc</marker_file>"
        "<time_range>0 0.19</time_range><output_model_file>scaled.osim</output_model_file></ModelScaler>"
        f"<MarkerPlacer><apply>true</apply><IKTaskSet><objects>{tasks}</objects></IKTaskSet>"
        "<marker_file>static.trc</marker_file><time_range>0 0.19</time_range>"
        "<output_motion_file>pose.sto</output_motion_file><output_model_file>placed.osim</output_model_file>"
        "</MarkerPlacer>",
    )
    where = arm_folder(folder, scale=text)
    musculo.write_trc(musculo.Markers(0.01 * np.arange(20), tuple(names), places), where / "static.trc")
    result = CliRunner().invoke(app, ["run", str(where / "scale.xml"), "-o", str(folder / "out")])
    return result, report_of_folder(folder / "out", scene=False)


def lights(report):
    return {check.title: check.light for check in report.checks}


def test_factors_distances_and_markers_are_shown(tmp_path):
    result, report = scaled(tmp_path)
    assert result.exit_code == 0, result.output
    sections = {section.title: section for section in report.sections}
    assert list(sections) == ["Scale factors", "Measured distances", "Markers of the static pose", "Pose"]
    rows = sections["Scale factors"].tables[0].rows
    assert rows == (("humerus", "1.0500", "1.0500", "1.0500", "measured"), ("forearm", *3 * ("1.0800",), "measured"))
    np.testing.assert_allclose(sections["Scale factors"].bars[0].series["y"], [1.05, 1.08], atol=1e-6)
    pair = sections["Measured distances"].tables[0].rows[1]
    at = musculo.kinematics(arm(), np.zeros(2))
    apart = 1e3 * np.linalg.norm(np.subtract(*at.markers(["forearm", "wrist_radial"])))
    assert pair == ("lower", "forearm to wrist_radial", f"{1.08 * apart:.1f}", f"{apart:.1f}", "1.0800", "forearm")
    markers = {row[0]: row[3] for row in sections["Markers of the static pose"].tables[0].rows}
    assert markers["wrist_ulnar"] == "not followed"  # it has no task
    assert markers["forearm"] == "followed"
    assert [row[0] for row in sections["Pose"].tables[0].rows] == ["shoulder_flexion", "elbow_flexion"]


def test_only_what_was_run_is_judged(tmp_path):
    """The file of the static pose holds activations that a simulation would begin with: they are no result."""
    _, report = scaled(tmp_path)
    assert "/forceset/brachialis/activation" in musculo.read_storage(tmp_path / "out" / "pose.sto").names
    assert lights(report) == {
        "Runs": Light.GOOD,
        "Scale factors": Light.GOOD,
        "Static pose, markers, root mean square": Light.GOOD,
        "Static pose, markers, largest": Light.GOOD,
    }
    assert "ctivation" not in json.dumps([check.found for check in report.checks])
    assert not any(section.panels for section in report.sections)  # of one frame there is no curve to see
    assert "Scale factors" in page(report)


def test_markers_with_a_task_of_no_weight_count_in_log_and_page(tmp_path):
    """As in OpenSim, whose RMS is over the markers that have a task."""
    result, report = scaled(tmp_path, off=0.1, unweighted=("acromion",))
    said = float(re.search(r"RMS error of markers ([\d.]+) mm", result.output)[1])
    assert said > 20.0  # the one that is off, and not followed
    found = {check.title: check.found for check in report.checks}["Static pose, markers, root mean square"]
    shown, count = re.match(r"([\d.]+) mm, of (\d+) markers", found).groups()
    assert float(shown) == pytest.approx(said, abs=0.06)  # both are rounded
    assert int(count) == len(arm().marker_names) - 1


def test_a_marker_in_the_wrong_place_is_bad(tmp_path):
    _, report = scaled(tmp_path, off=0.3)
    assert lights(report)["Static pose, markers, largest"] is Light.BAD
    (found,) = [check.found for check in report.checks if check.title == "Static pose, markers, largest"]
    assert "acromion, of 6 markers" in found


@pytest.mark.parametrize(("factor", "light"), [(1.2, Light.GOOD), (1.4, Light.LOOK), (6.0, Light.BAD)])
def test_factors_are_judged_by_how_people_differ(factor, light, tmp_path):
    _, report = scaled(tmp_path, {"humerus": 1.0, "forearm": factor})
    assert lights(report)["Scale factors"] is light


def test_factors_by_hand_are_facts(tmp_path):
    """Measured ones are still judged; what a person set after them is not."""
    by_hand = (
        "<ScaleSet><objects><Scale><segment>forearm</segment><scales>3 3 3</scales><apply>true</apply></Scale>"
        "</objects></ScaleSet>"
    )
    _, report = scaled(tmp_path, more=by_hand)
    (check,) = [check for check in report.checks if check.title == "Scale factors"]
    assert check.light is Light.GOOD
    assert "of 1 measured bodies" in check.found
    (section,) = [section for section in report.sections if section.title == "Scale factors"]
    assert section.tables[0].rows[1] == ("forearm", "3.0000", "3.0000", "3.0000", "by hand")


def test_a_measurement_that_is_not_used_leaves_nothing_green(tmp_path):
    """It is named with its reason, and no other line of that step has a tick."""
    result, report = scaled(tmp_path, lost="wrist_radial")
    assert result.exit_code == 3
    assert lights(report)["Not everything was solved"] is Light.BAD
    assert Light.GOOD not in lights(report).values()
    (section,) = [section for section in report.sections if section.title == "Measured distances"]
    assert [row[0] for row in section.tables[0].rows] == ["upper", "lower"]
    assert section.tables[0].rows[1][4] == "not used"


def test_two_scalings_of_a_folder_are_not_mixed(tmp_path):
    """The page is of the one that was run, or of the newest, and names the other."""
    model = arm()
    still = np.repeat(musculo.kinematics(model, np.array([[0.0, 0.1]])).markers(model.marker_names), 20, axis=0)
    for name, off in (("bad", 0.1), ("good", 0.0)):
        places = still.copy()
        places[:, 2, 0] += off
        musculo.write_trc(musculo.Markers(0.01 * np.arange(20), model.marker_names, places), tmp_path / f"{name}.trc")
        words = ["scale", ARM_FILE, "-o", tmp_path / "out" / f"{name}.osim", "--static", tmp_path / f"{name}.trc"]
        words += ["--factors", "humerus=1", "--strict"]
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == (4 if off else 0), result.output
    report = report_of_folder(tmp_path / "out", scene=False)
    assert lights(report)["Static pose, markers, largest"] is Light.GOOD
    assert [check.title for check in report.checks].count("Static pose, markers, largest") == 1
    assert [check.found for check in report.checks if check.title == "Several trials"] == [
        "1 more of the same kind is not shown: bad.osim"
    ]


def test_a_scaling_of_a_scaled_model_is_named(tmp_path):
    for source, name in ((ARM_FILE, "first"), (tmp_path / "out" / "first.osim", "second")):
        words = ["scale", source, "-o", tmp_path / "out" / f"{name}.osim", "--factors", "humerus=1.1"]
        assert CliRunner().invoke(app, [str(word) for word in words]).exit_code == 0
    report = report_of_folder(tmp_path / "out", scene=False)
    told = [check.found for check in report.checks if check.title == "Scale factors"]
    assert [text.partition(":")[0] for text in told] == ["second.osim", "first.osim"]
    assert [s.title for s in report.sections][:2] == ["Scale factors (second.osim)", "Scale factors (first.osim)"]


@pytest.mark.parametrize(
    ("part", "light"), [(4.9, None), (5.1, Light.LOOK), (51.0, Light.BAD), (0.19, Light.LOOK), (0.019, Light.BAD)]
)
def test_a_mass_of_nobody_is_told(tmp_path, part, light):
    mass = part * sum(body.mass for body in arm().bodies)
    words = ["scale", ARM_FILE, "-o", tmp_path / "a.osim", "--factors", "humerus=1", "--mass", mass, "--strict"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == (4 if light is Light.BAD else 0), result.output
    assert lights(report_of_folder(tmp_path, scene=False)).get("Mass of the subject") is light
    assert ("is it in grams?" in result.stdout) == (light is not None and part > 1.0)


def test_a_mass_of_a_setup_is_looked_at(tmp_path):
    result, report = scaled(tmp_path, mass=70000.0)
    assert lights(report)["Mass of the subject"] is Light.BAD
    assert "note: the subject has a mass of 70000 kg" in result.stdout
