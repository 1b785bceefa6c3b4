"""`musculo reproduce`: what it prints and writes, and that the study of the arm agrees with OpenSim's."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from musculo.cli.main import main
from musculo.demo import arm, arm_flexion
from musculo.replications.arm26 import arm26_study
from musculo.replications.peer import opensim_version, run_opensim
from musculo.replications.study import Part, Study, beside

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


def part_of(study: Study, title: str) -> Part:
    return next(part for part in study.parts if part.title.startswith(title))


def test_without_a_name_it_lists_what_there_is(monkeypatch, capsys):
    status, out, _ = shell(monkeypatch, capsys)
    assert status == 0
    assert "arm26" in out


def test_unknown_studies_and_folders_are_refused(monkeypatch, capsys, tmp_path):
    status, _, err = shell(monkeypatch, capsys, "arm62")
    assert status == 1
    assert "arm26" in err
    status, _, err = shell(monkeypatch, capsys, "arm26", "--data", tmp_path / "nowhere")
    assert status == 1
    assert "nowhere" in err


def test_without_opensim_it_says_so_and_writes_all_numbers(monkeypatch, capsys, tmp_path):
    status, out, err = shell(monkeypatch, capsys, "arm26", "--no-opensim", "--json", tmp_path / "arm26.json")
    assert status == 0
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
    study = arm26_study(arm(), arm_flexion(), opensim=False, recorded=data_folder / "arm26" / "ref" / "CMC")
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
