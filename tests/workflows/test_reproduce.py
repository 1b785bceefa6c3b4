"""`musculo reproduce`: what it prints and writes, and that the study of the arm agrees with OpenSim's."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from musculo.cli import reproduce
from musculo.cli.main import main
from musculo.demo import arm, arm_flexion
from musculo.replications.arm26 import arm26_study
from musculo.replications.peer import PYTHON, ask_opensim, opensim_version, run_opensim
from musculo.replications.study import Part, Plot, Row, Study, beside, relative_difference

# Of the largest value: with OpenSim's own definitions only its search for equilibrium is left.
FIBERS = 1e-6
# OpenSim differentiates the motion with the same splines; its files have eight digits.
MOMENTS = 1e-6
# What the project asks of static optimisation, beside a tightly converged OpenSim.
ACTIVATIONS = 2e-3
# The forces are OpenSim's own here, so two recursions in float64 are compared; files have 16 digits.
LOADS = 1e-9


def shell(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["musculo", "reproduce", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("MUSCULO_DATA", raising=False)
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    return ended.value.code or 0, told.out, told.err


def named(*rows: Row) -> Study:
    return Study("bogus", "A study", "a paper", "a method", rows=rows, remarks=("a remark",))


def part_of(study: Study, title: str) -> Part:
    return next(part for part in study.parts if part.title.startswith(title))


def test_without_a_name_it_lists_what_there_is(monkeypatch, capsys):
    status, out, _ = shell(monkeypatch, capsys)
    assert status == 0
    assert "arm26" in out


def test_the_list_can_be_asked_for(monkeypatch, capsys):
    status, out, _ = shell(monkeypatch, capsys, "--list", "arm26")
    assert status == 0
    assert "four-bar" in out
    assert "every one of them" in out


def test_several_studies_come_in_one_call_each_once(monkeypatch, capsys, tmp_path):
    done = []

    def run(name):
        def study(settings):
            done.append(name)
            settings.say(f"{name} thinks")
            return named(Row(f"figure of {name}", 2.0, 1.0, "m", "a note", "at most"))

        return study

    monkeypatch.setattr(reproduce, "STUDIES", {name: ("what", run(name)) for name in ("one", "two", "three")})
    status, out, err = shell(monkeypatch, capsys, "two", "one", "two", "--json", tmp_path / "all.json")
    assert (status, done) == (0, ["two", "one"])
    assert "figure of two [m]" in out
    assert "a remark" in out
    assert "two thinks" in err
    assert "1 of 2" in err
    found = json.loads((tmp_path / "all.json").read_text())
    assert [study["rows"][0]["ratio"] for study in found] == [0.5, 0.5]
    assert found[0]["rows"][0]["met"] is True
    done.clear()
    status, out, _ = shell(monkeypatch, capsys, "all", "--quiet")
    assert (status, done, out) == (0, ["one", "two", "three"], "")


@pytest.mark.parametrize(
    ("row", "status", "printed"),
    [
        (Row("x", 1.0, 2.0, goal="at most"), 3, "SHORT of at most 1"),
        (Row("x", 1.0, 0.5, goal="at least"), 3, "SHORT of at least 1"),
        (Row("x", 1.0, 2.0, goal="at most", limit=3.0), 0, ""),
        (Row("x", 1.0, float("nan"), goal="at most"), 3, "SHORT"),
        (Row("x", 4.0, 2.0, goal="at least", timed=True), 0, "SHORT of at least 4"),
        (Row("x", 4.0, None, note="OpenSim is not installed", goal="at least"), 0, "not installed"),
        (Row("x", None, 1.0), 0, ""),
    ],
)
def test_what_falls_short_is_told_by_table_and_exit_code(monkeypatch, capsys, row, status, printed):
    monkeypatch.setattr(reproduce, "STUDIES", {"bogus": ("what", lambda _: named(row))})
    ended, out, _ = shell(monkeypatch, capsys, "bogus")
    assert ended == status
    assert printed in out
    assert ("SHORT" in out) == (row.met is False)


def test_plots_are_pages_of_their_own(monkeypatch, capsys, tmp_path):
    x = np.linspace(0.0, 1.0, 5)
    plots = (
        Plot("curve", "A <curve>", "time", "angle", x, {"angle": x}),
        Plot("surface", "A surface", "a", "b", x, y=x[:4], z=np.full((4, 5), 0.625), z_label="c"),
    )
    study = Study("bogus", "A study", "a paper", "a method", plots=plots)
    monkeypatch.setattr(reproduce, "STUDIES", {"bogus": ("what", lambda _: study)})
    status, _, err = shell(monkeypatch, capsys, "bogus", "-o", tmp_path / "new" / "plots")
    assert status == 0
    pages = sorted((tmp_path / "new" / "plots").iterdir())
    assert [page.name for page in pages] == ["bogus_curve.html", "bogus_surface.html"]
    assert all(str(page) in err.replace("\n", "") for page in pages)
    curve, surface = (page.read_text() for page in pages)
    assert "A <curve>" not in curve.split("<script")[0]
    drawn = surface.rsplit("Plotly.newPlot(", 1)[1].split('"template"')[0]
    assert '"type":"surface"' in drawn


def test_a_study_without_plots_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(reproduce, "STUDIES", {"bogus": ("what", lambda _: named())})
    status, _, err = shell(monkeypatch, capsys, "bogus", "-o", tmp_path / "plots")
    assert status == 0
    assert "bogus has no plots" in err


def test_opensim_may_live_in_another_python(monkeypatch, capsys, tmp_path):
    """A stand-in for an interpreter: it keeps what it was asked, and claims a version of OpenSim."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\necho 4.9-of-another\n')
    python.chmod(0o755)
    monkeypatch.setenv(PYTHON, str(python))
    assert opensim_version() == "4.9-of-another"
    run_opensim([("InverseDynamicsTool", tmp_path / "setup.xml")], tmp_path)
    assert "InverseDynamicsTool" in (tmp_path / "asked").read_text()
    for wrong, told in ((tmp_path / "none", "does not run"), ("/bin/false", "has no OpenSim")):
        monkeypatch.setenv(PYTHON, str(wrong))
        status, _, err = shell(monkeypatch, capsys, "arm26")
        assert status == 1
        assert told in " ".join(err.split())


def test_differences_are_of_the_largest_value():
    assert relative_difference([[1.0, -4.0], [2.0, 0.0]], [[1.0, -4.0], [2.5, 0.0]]) == 0.125


def test_a_script_that_fails_in_opensim_is_told():
    if not opensim_version():
        pytest.skip("OpenSim is not installed; pip install 'musculo[oracles]'")
    from musculo.errors import MusculoError

    assert ask_opensim("answer['twice'] = 2 * given['x']", {"x": [1.0, 2.0]})["twice"].tolist() == [2.0, 4.0]
    with pytest.raises(MusculoError, match="no bridge"):
        ask_opensim("raise ValueError('no bridge')", {})


def test_unknown_studies_and_folders_are_refused(monkeypatch, capsys, tmp_path):
    for wrong in ("arm62", "something else"):
        status, _, err = shell(monkeypatch, capsys, "four-bar", wrong)
        assert status == 2
        assert all(name in err for name in (wrong, "arm26", "andrews"))
    status, _, err = shell(monkeypatch, capsys, "arm26", "--data", tmp_path / "nowhere")
    assert status == 1
    assert "nowhere" in err


def test_without_opensim_it_says_so_and_writes_all_numbers(monkeypatch, capsys, tmp_path):
    plots = tmp_path / "plots"
    status, out, err = shell(
        monkeypatch, capsys, "arm26", "--no-opensim", "--json", tmp_path / "arm26.json", "-o", plots
    )
    assert status == 0
    pages = sorted(page.name for page in plots.iterdir())
    assert len(pages) == 10
    assert "arm26_driving_moments.html" in pages
    assert "elbow_flexion, ours" in (plots / "arm26_driving_moments.html").read_text()
    assert "static optimisation" in err
    assert "not available" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    (study,) = json.loads((tmp_path / "arm26.json").read_text())
    assert len(study["time"]) == 121
    moments = next(part for part in study["parts"] if part["title"].startswith("Driving moments"))
    assert [one["name"] for one in moments["quantities"]] == ["shoulder_flexion", "elbow_flexion"]
    assert moments["quantities"][0]["theirs"] is None
    elbow = moments["series"]["elbow_flexion ours"]
    assert moments["quantities"][1]["ours"] == max(elbow, key=abs)


def test_what_the_paper_says_holds():
    """Statements of section 3 about its own results, which need no other program."""
    study = arm26_study(arm(), arm_flexion(), opensim=False)
    driving = part_of(study, "Driving moments").quantities
    residual = part_of(study, "Residual actuators").quantities
    # "their role is marginal if compared to" the driving moments
    assert max(abs(one.ours) for one in residual) < 0.1 * min(abs(one.ours) for one in driving)
    # muscles are slower and shorter than at their best, so activations must be higher for the same moments
    plain, full = (part_of(study, f"Activations {w} force-length-velocity") for w in ("without", "with"))
    biceps = [next(q.ours for q in part.quantities if q.name == "biceps_long") for part in (plain, full)]
    assert biceps[0] < biceps[1]
    # geodesics agree with their own lengths; OpenSim's wrapping does not where surfaces are met
    arms = {one.name: one for one in part_of(study, "Moment arms").quantities}
    assert all(one.ours < 1e-6 for one in arms.values())
    assert arms["biceps_long"].theirs > 0.1


def test_opensim_agrees_where_its_definitions_are_used():
    if not opensim_version():
        pytest.skip("OpenSim is not installed; pip install 'musculo[oracles]'")
    study = arm26_study(arm(), arm_flexion(), control=False)
    assert not study.missing

    def alike(title: str) -> float:
        quantities = part_of(study, title).quantities
        return max(q.alike for q in quantities) / max(abs(q.theirs) for q in quantities)

    assert alike("Fibre lengths") < FIBERS
    assert alike("Joint loads on the child") < LOADS
    assert alike("Forces with force-length") < ACTIVATIONS
    for title in ("Activations without", "Activations with force-length"):
        assert max(q.alike for q in part_of(study, title).quantities) < ACTIVATIONS
    for one in part_of(study, "Driving moments").quantities:
        assert one.difference < MOMENTS * abs(one.theirs)
    # the paper: the long head of the biceps is the one whose length another wrapping changes
    lengths = {q.name: q.difference for q in part_of(study, "Fibre lengths").quantities}
    assert max(lengths, key=lengths.get) == "biceps_long"


def test_recorded_control_stands_beside(data_folder):
    """OpenSim's control of its own arm26, recorded: the paper's finding is lower activations, but similar forces."""
    study = arm26_study(arm(), arm_flexion(), opensim=False, recorded=data_folder / "arm26" / "ref")
    assert part_of(study, "Activations with force-length").whose == "recorded"
    for one in part_of(study, "Forces with force-length").quantities:
        assert np.isfinite(one.theirs)
        assert one.difference < 70.0  # [N]; of noisy markers, and OpenSim's wrapping
    assert "carry noise" in study.missing
    part = part_of(study, "Activations with passive")
    assert part.whose == "recorded CMC"
    biceps = next(q for q in part.quantities if q.name == "biceps_long")
    assert biceps.ours < biceps.theirs
    force = next(q for q in part_of(study, "Forces with passive").quantities if q.name == "biceps_long")
    assert abs(force.ours / force.theirs - 1.0) < abs(biceps.ours / biceps.theirs - 1.0)


def test_series_are_told_by_their_largest_values():
    ours, theirs = np.array([1.0, -3.0, np.nan, 2.0]), np.array([1.5, -2.0, 5.0, 2.0])
    one = beside("x", "N", ours, theirs, theirs + 0.25)
    assert (one.ours, one.theirs, one.difference, one.alike) == (-3.0, 5.0, 1.0, 0.25)


def test_a_tool_that_fails_is_told(tmp_path):
    if not opensim_version():
        pytest.skip("OpenSim is not installed; pip install 'musculo[oracles]'")
    from musculo.errors import MusculoError

    with pytest.raises(MusculoError, match="InverseDynamicsTool"):
        run_opensim([("InverseDynamicsTool", tmp_path / "none.xml")], tmp_path)
