"""`musculo reproduce`: what it prints and writes, and that the study of the arm agrees with OpenSim's."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from musculo.cli.commands import reproduce
from musculo.cli.exit_codes import STOPPED
from musculo.cli.main import main
from musculo.demo import arm, arm_flexion
from musculo.replications.closed_loops import andrews, five_bar, four_bar, squeezer_work
from musculo.replications.elbow.arm26 import arm26_study
from musculo.replications.joints import ellipsoid_study as ellipsoid
from musculo.replications.joints import knee
from musculo.replications.peer import PYTHON, ask_opensim, opensim_version, run_opensim
from musculo.replications.shoulder import shoulder_moment_arms, shoulder_tracking
from musculo.replications.study import Part, Plot, Quantity, Row, Study, beside, judged, relative_difference


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


def test_ctrl_c_in_a_search_ends_the_command(tmp_path):
    """No half result, no further study, no file."""
    script = (
        "import signal\nfrom musculo.cli.main import main\nfrom musculo.trajectory.solvers import told_progress\n"
        "told_progress.Told.__call__ = lambda *_: signal.raise_signal(signal.SIGINT) or True\nmain()"
    )
    words = ("reproduce", "prismatic", "two-link", "--json", str(tmp_path / "found.json"))
    ended = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout) == (STOPPED, "")
    assert ended.stderr.splitlines()[-1] == "stopped"
    assert "two-link" not in ended.stderr
    assert not (tmp_path / "found.json").exists()


def test_several_studies_come_in_one_call_each_once(monkeypatch, capsys, tmp_path):
    done = []

    def run(name):
        def study(settings):
            done.append(name)
            settings.say(f"{name} thinks")
            return named(Row(f"figure of {name}", 2.0, 1.0, "m", "a note", cite="table 9"))

        return study

    monkeypatch.setattr(reproduce, "STUDIES", {name: ("what", run(name)) for name in ("one", "two", "three")})
    status, out, err = shell(monkeypatch, capsys, "two", "one", "two", "--json", tmp_path / "all.json")
    assert (status, done) == (0, ["two", "one"])
    assert "figure of two [m]" in out
    assert "at most 2" in out
    assert "paper, table 9" in " ".join(out.split())
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
        (Row("x", 1.0, 2.0, cite="table 9"), 3, "at most 1 2 SHORT"),
        (Row("x", 1.0, 0.5, goal="at least", cite="table 9"), 3, "at least 1 0.5 SHORT"),
        (Row("x", None, 2.0, limit=3.0), 0, "at most 3 2 met us"),
        (Row("x", 1.0, 1.0, cite="table 9"), 0, "at most 1 1 met paper, table 9"),
        (Row("x", 1.0, float("nan"), cite="table 9"), 3, "SHORT"),
        (Row("x", 4.0, 2.0, goal="at least", timed=True, cite="table 9"), 0, "at least 4 2 SHORT"),
        (Row("x", 4.0, None, note="OpenSim is not installed", goal="at least", cite="table 9"), 0, "not installed"),
    ],
)
def test_what_falls_short_is_told_by_table_and_exit_code(monkeypatch, capsys, row, status, printed):
    monkeypatch.setattr(reproduce, "STUDIES", {"bogus": ("what", lambda _: named(row))})
    ended, out, err = shell(monkeypatch, capsys, "bogus")
    assert ended == status
    assert printed in " ".join(out.split())
    assert ("SHORT" in out) == (row.met is False)
    # whatever ends with another code than 0 says why
    assert ("bogus: falls short of its goal: x is" in err) == (status != 0)
    ended, out, err = shell(monkeypatch, capsys, "bogus", "--quiet")
    assert (ended, out) == (status, "")
    assert bool(err) == (status != 0)


@pytest.mark.parametrize("goal", ["at most", "at least"])
@pytest.mark.parametrize("stated", [{"paper": 2.0, "cite": "table 9"}, {"paper": None, "limit": 2.0}])
@pytest.mark.parametrize("timed", [True, False])
def test_a_row_falls_short_when_the_measurement_is_worse(goal, stated, timed):
    """Goals of the paper and our own, of times and of errors: better and equal are met, worse is not."""
    better, worse = (1.0, 3.0) if goal == "at most" else (3.0, 1.0)
    rows = [Row("x", ours=ours, goal=goal, timed=timed, **stated) for ours in (better, 2.0, worse, np.nan, None)]
    assert [row.met for row in rows] == [True, True, False, False, None]
    assert named(*rows).short == tuple(rows[2:4])
    assert [row.to_json()["limit"] for row in rows] == [2.0] * 5


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"paper": 1.0}, "the place where it stands"),  # a figure of the paper that nobody can look up
        ({"paper": None, "limit": 1.0, "cite": "table 9"}, "the place where it stands"),
        ({"paper": None}, "goal"),  # a row that cannot fail
        ({"paper": 1.0, "limit": 2.0, "cite": "table 9"}, "goal"),  # an easier goal than the paper's
    ],
)
def test_rows_that_cannot_fail_or_be_looked_up_are_not_made(given, told):
    with pytest.raises(ValueError, match=told):
        Row("x", ours=0.5, **given)


@pytest.mark.parametrize(
    ("paper", "said"),
    [
        ("001_*.txt", ("Ellipsoid\t0.98\t1.01\t$\\sim 10^{-14}$", "Constraints\t11.84\t10.37", "\t12.1\t10.3")),
        ("001_*.txt", ("Custom mobilizer\t1.28\t1.98\t$\\sim 10^{-11}$", "Constraints\t7.26\t7.17", "\t5.7\t3.6")),
        (
            "000_*.txt",
            ("to 7 significant figures", "identical to each other up to 6 significant", "up to 7 significant"),
        ),
        ("000_*.txt", ("0.0001 rad for the generalized coordinate and 0.003 rad/s", "was 4 times faster than the")),
        ("000_*.txt", ("the results are identical to 8 significant figures",)),
        (
            "000_*.txt",
            (
                "trajectories up to 16 significant figures",
                "is less than  $2 \\times 10^{-4}$  rad",
                "tracking error in the elevation angle was 0.02 rad/s",
                "performed more than 3 times faster as compared to DAE",
                "\\text{diagonal}.(100,100,1000)",
            ),
        ),
    ],
    ids=["table 1", "table 2", "section 4-3", "section 4-4 B", "section 4-4 A", "section 4-4 C"],
)
def test_figures_of_papers_are_in_the_papers(data_folder, paper, said):
    """What the code calls a paper's figure, looked up where the texts are at hand."""
    texts = sorted((data_folder.parent / "papers").glob(paper))
    if not texts:
        pytest.skip("the papers are not beside the recorded data")
    text = texts[0].read_text().replace("\n\n", " ")  # sentences go over pages
    assert [one for one in said if one not in text] == []
    printed = (*ellipsoid.TABLE_1, *knee.TABLE_2)
    assert [tuple(one) for one in printed] == [
        (0.98, 11.84, 12.1),
        (1.01, 10.37, 10.3),
        (1.28, 7.26, 5.7),
        (1.98, 7.17, 3.6),
    ]
    assert (ellipsoid.MANIFOLD_ERROR, knee.VIOLATION) == (1e-14, 1e-11)
    assert (four_bar.FIGURES, five_bar.CLASSICAL_FIGURES, five_bar.MOLECULE_FIGURES) == (7, 6, 7)
    assert (andrews.PAPER_RMS, squeezer_work.PAPER_SPEEDUP) == ((1e-4, 3e-3), 4.0)
    assert shoulder_moment_arms.FIGURES == 8
    tracked = shoulder_tracking
    assert (tracked.PAPER_ERRORS, tracked.PAPER_FIGURES, tracked.PAPER_SPEEDUP) == ((2e-4, 0.02), 16, 3.0)
    assert list(tracked.GAINS.values()) == [100.0, 100.0, 1000.0]


def test_what_has_no_goal_is_printed_apart(monkeypatch, capsys):
    rows, parts = judged([Quantity("size", "m", 2.5, note="ours"), Row("error", None, 0.1, limit=1.0)])
    study = Study("bogus", "A study", "a paper", "a method", rows=rows, parts=parts)
    monkeypatch.setattr(reproduce, "STUDIES", {"bogus": ("what", lambda _: study)})
    status, out, _ = shell(monkeypatch, capsys, "bogus")
    assert status == 0
    assert [row.quantity for row in rows] == ["error"]
    assert "without a goal quantity unit ours note size m 2.5 ours" in " ".join(out.split())
    assert judged(rows) == (rows, ())


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
    assert "static optimization" in err
    assert "not available" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    (study,) = json.loads((tmp_path / "arm26.json").read_text())
    assert len(study["time"]) == 121
    rows = {row["quantity"]: row for row in study["rows"]}
    assert rows["driving moments, difference from OpenSim's"]["met"] is None
    assert rows["residual actuators over driving moments, largest over least"]["met"] is True
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
    assert len(study.rows) == 11
    assert not study.short
    assert [row.quantity for row in study.rows if row.met] == [
        "moment arms against slopes of lengths, geodesics",
        "residual actuators over driving moments, largest over least",
    ]
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
    # all but those about OpenSim's control, which does not run here
    assert [row.met for row in study.rows] == [True] * 9 + [None] * 2
    assert [row.wanted for row in study.rows[:6]] == [1e-6, 1e-6, 2e-3, 2e-3, 2e-3, 1e-9]
    # a row says what its table does
    forces = part_of(study, "Forces with force-length").quantities
    assert study.rows[4].ours == max(q.alike for q in forces) / max(abs(q.theirs) for q in forces)
    for one in part_of(study, "Driving moments").quantities:
        assert one.difference < 1e-6 * abs(one.theirs)
    # the paper: the long head of the biceps is the one whose length another wrapping changes
    lengths = {q.name: q.difference for q in part_of(study, "Fiber lengths").quantities}
    assert max(lengths, key=lengths.get) == "biceps_long"


def test_recorded_control_stands_beside(data_folder):
    """OpenSim's control of its own arm26, recorded: the paper's finding is lower activations, but similar forces."""
    study = arm26_study(arm(), arm_flexion(), opensim=False, recorded=data_folder / "arm26" / "ref")
    assert part_of(study, "Activations with force-length").whose == "recorded"
    for one in part_of(study, "Forces with force-length").quantities:
        assert np.isfinite(one.theirs)
        assert one.difference < 70.0  # [N]; of noisy markers, and OpenSim's wrapping
    assert "carry noise" in study.missing
    by_quantity = {row.quantity: row for row in study.rows}
    assert (
        by_quantity["activations with force-length-velocity, OpenSim's wrapping"].note == "recorded of another motion"
    )
    assert by_quantity["mean activation over that of OpenSim's control"].met
    assert by_quantity["mean force off that of OpenSim's control, over mean activation off"].met
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
