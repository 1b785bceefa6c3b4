"""A study: each trial by itself, the same answers whoever computes them, and nothing lost or done twice."""

from __future__ import annotations

import errno
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import musculo
from musculo.analyses.trial_quantities import Cycles
from musculo.cli.main import app
from musculo.demo import arm, arm_chain
from musculo.dynamics.energy import total_mass
from musculo.errors import InvalidFile, InvalidInput, UnknownName
from musculo.io import read_netcdf, read_zarr
from musculo.io.setup import MarkerTask
from musculo.opensim_tools.trial_tasks import TrialOptions
from musculo.results.trial import Trial
from musculo.study import (
    StudyTrial,
    TrialStatus,
    collect,
    read_study,
    run_study,
    schedule,
    study_page,
    trial_run,
    trial_summary,
)
from musculo.study.study_page import distances, mean_and_spread
from musculo.study.trial_run import DiskFull, run_trial

STEPS = ("ik", "id", "so", "jr")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory) -> Path:
    """Two subjects of two trials each, as folders."""
    home = tmp_path_factory.mktemp("study")
    chain = home / "chain"
    chain.mkdir()
    arm_chain().write(chain)
    markers = musculo.read_trc(chain / "arm_markers.trc").between(0.0, 0.5)
    rng = np.random.default_rng(1)
    for subject in ("S1", "S2"):
        (home / subject).mkdir()
        shutil.copy(chain / "arm.osim", home / subject / "subject.osim")
        for trial in ("reach1", "reach2"):
            moved = musculo.Markers(
                markers.time, markers.names, markers.position + 1e-3 * rng.normal(size=markers.position.shape)
            )
            musculo.write_trc(moved, home / subject / f"{trial}.trc")
    shutil.rmtree(chain)
    return home


@pytest.fixture
def study(recordings, tmp_path):
    return read_study(recordings, tmp_path / "results")


def contents(folder: Path) -> dict[str, str]:
    """Hashes of all results by their place; records and logs tell times, and are no results."""
    files = [one for one in sorted(folder.rglob("*")) if one.suffix in (".sto", ".mot", ".npz", ".csv", ".nc")]
    return {str(one.relative_to(folder)): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


# --- what a study is --------------------------------------------------------------------------------------------------
def test_a_folder_is_a_study(recordings):
    found = read_study(recordings)
    assert [trial.key for trial in found.trials] == ["S1/reach1", "S1/reach2", "S2/reach1", "S2/reach2"]
    assert found.trials[0].model == recordings / "S1" / "subject.osim"
    assert found.trials[0].loads is None
    assert found.folder == recordings / "results"


def test_a_folder_without_subfolders_is_one_subject(recordings, monkeypatch):
    monkeypatch.chdir(recordings / "S2")
    for given in (".", recordings / "S2"):
        found = read_study(given)
        assert [trial.key for trial in found.trials] == ["S2/reach1", "S2/reach2"]
    with pytest.raises(InvalidFile, match="is a file, and not a"):
        read_study("reach1.trc")


def test_a_file_says_more(recordings, tmp_path):
    tasks = '<IKTaskSet><objects><IKMarkerTask name="{}"><weight>{}</weight></IKMarkerTask></objects></IKTaskSet>'
    for name, weight in (("a", 2), ("b", 5)):
        (tmp_path / f"{name}.xml").write_text(tasks.format("hand", weight))
    (tmp_path / "study.toml").write_text(
        f"""
        name = "reaching"
        lowpass = 8
        rename = {{RAD = "wrist_radial"}}
        tasks = "a.xml"
        steps = ["ik", "id"]
        [[subject]]
        name = "A"
        model = "{recordings}/S1/subject.osim"
        group = "control"
        [[subject.trial]]
        file = "{recordings}/S1/reach1.trc"
        name = "first"
        condition = "fast"
        lowpass = 10
        [[subject.trial]]
        file = "{recordings}/S1/reach2.trc"
        time = [0.1, 0.4]
        tasks = "b.xml"
        """
    )
    first, second = read_study(tmp_path).trials
    assert (first.key, first.group, first.condition) == ("A/first", "control", "fast")
    assert (first.options.cutoff, second.options.cutoff) == (10.0, 8.0)
    renames = (("RAD", "wrist_radial"),)
    assert second.options == TrialOptions(
        ("ik", "id"), (0.1, 0.4), 8.0, fit=(MarkerTask("hand", weight=5.0),), renames=renames
    )
    assert [task.weight for task in first.options.fit] == [2.0]


def test_names_of_files_are_a_study(recordings, tmp_path):
    for group, trial in (("control", "reach1"), ("patient", "reach2")):
        (tmp_path / group).mkdir()
        shutil.copy(recordings / "S1" / f"{trial}.trc", tmp_path / group / f"P7_slow_{trial}.trc")
    shutil.copy(recordings / "S1" / "subject.osim", tmp_path / "P7.osim")
    (tmp_path / "study.toml").write_text(
        'pattern = "{group}/{subject}_{condition}_{trial}.trc"\nmodel = "{subject}.osim"\noutput = "out"\n'
    )
    found = read_study(tmp_path)
    assert [(one.subject, one.group, one.condition, one.name) for one in found.trials] == [
        ("P7", "control", "slow", "P7_slow_reach1"),
        ("P7", "patient", "slow", "P7_slow_reach2"),
    ]
    assert found.folder == tmp_path / "out"


def test_a_bids_folder_is_a_study(recordings, tmp_path):
    """sub-01_task-reach_run-1_tracksys-omc_motion.tsv has columns that the channels file names."""
    markers = musculo.read_trc(recordings / "S1" / "reach1.trc")
    home = tmp_path / "sub-01" / "motion"
    home.mkdir(parents=True)
    stem = "sub-01_task-reach_run-1_tracksys-omc"
    rows = ["name\tcomponent\ttype\ttracked_point\tunits"]
    columns = []
    for k, name in enumerate(markers.names):
        for axis in range(3):
            rows.append(f"{name}_{'xyz'[axis]}\t{'xyz'[axis]}\tPOS\t{name}\tmm")
            columns.append(1000.0 * markers.position[:, k, axis])
        rows.append(f"{name}_q\tquat_w\tORNT\t{name}\tn/a")
        columns.append(np.full(len(markers), np.nan))
    columns[4][3] = np.nan
    (home / f"{stem}_channels.tsv").write_text("\n".join(rows) + "\n")
    table = np.stack(columns, axis=1)
    lines = ["\t".join("n/a" if np.isnan(v) else repr(float(v)) for v in row) for row in table]
    (home / f"{stem}_motion.tsv").write_text("\n".join(lines) + "\n")
    (home / f"{stem}_motion.json").write_text(json.dumps({"SamplingFrequency": markers.rate}))
    (tmp_path / "models").mkdir()
    shutil.copy(recordings / "S1" / "subject.osim", tmp_path / "models" / "01.osim")
    (tmp_path / "study.toml").write_text('bids = "."\nmodel = "models/{subject}.osim"\nup = "y"\nsteps = ["ik"]\n')
    (trial,) = read_study(tmp_path).trials
    assert (trial.subject, trial.condition, trial.name) == ("01", "reach", "task-reach_run-1_tracksys-omc")
    found = musculo.read_markers(trial.recording, up="y")
    assert found.names == markers.names
    known = ~np.isnan(found.position)
    assert (~known).sum() == 3
    assert_allclose(found.position[known], markers.position[known], atol=1e-12)
    assert run_trial(trial, tmp_path / "out").status is TrialStatus.DONE


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("name = 3", InvalidFile, "name = 3 should be text"),
        ("nam = 'x'", UnknownName, "did you mean 'name'"),
        ("lowpass = -1\n", InvalidFile, "0 or above"),
        ("steps = ['ik', 'od']", UnknownName, "no step 'od'"),
        ("rename = ['RAD']", InvalidFile, "rename should name markers"),
        ("time = [0.6, 0.5]", InvalidFile, "the start before the end"),
        ("time = 3", InvalidFile, r"\[start, end\]"),
        ("[[subject]]\nname = 'A'", InvalidFile, "has no trials"),
        ("[[subject]]\nname = 'A'\ntrials = 'no/*.trc'", InvalidFile, "no file fits"),
        ("[[subject]]\nname = 'A'\n[[subject.trial]]\nfile = 'no.trc'", InvalidFile, "no file"),
        ("pattern = '{who}.trc'\nmodel = 'a.osim'", InvalidFile, r"may hold \{subject\}, which it needs"),
        ("bids = '.'\nmodel = 'a.osim'", InvalidFile, "no recording of motion"),
        ("a = [", InvalidFile, "cannot be read"),
        ("name = 'x'", InvalidInput, "has no trial"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, kind, words):
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(kind, match=words):
        read_study(tmp_path)


def test_two_trials_of_one_name_are_refused(recordings):
    trial = StudyTrial("A", "x", recordings / "S1" / "subject.osim", recordings / "S1" / "reach1.trc")
    with pytest.raises(InvalidInput, match="both trial 'x'"):
        musculo.study.Study("s", recordings, (trial, trial))


# --- what it does -----------------------------------------------------------------------------------------------------
def test_one_trial_that_fails_stops_no_other(recordings, tmp_path):
    broken = tmp_path / "data"
    shutil.copytree(recordings, broken)
    (broken / "S1" / "reach1.trc").write_text("no recording")
    trials = read_study(broken, tmp_path / "results")
    outcomes = run_study(trials, jobs=1)
    assert [one.status for one in outcomes] == [TrialStatus.FAILED, *[TrialStatus.DONE] * 3]
    assert "reach1.trc" in outcomes[0].reason
    assert "failed" in (tmp_path / "results" / "S1" / "reach1" / "log.txt").read_text()
    results = collect(trials, outcomes)
    assert [one.key for one in results.trials] == ["S1/reach2", "S2/reach1", "S2/reach2"]
    page = study_page(results)
    assert page.checks[0].text == "1 of 4 trials have no results"
    assert page.sections[0].tables[0].rows[0][0] == "S1/reach1"
    # curves of trials that have none any more do not stay
    assert "curves.nc" in [one.name for one in results.write(trials.folder)]
    none = replace(results, trials=(), peaks=())
    assert "curves.nc" not in [one.name for one in none.write(trials.folder)]
    assert not (trials.folder / "curves.nc").exists()


def test_what_is_done_is_not_done_again(study, recordings):
    first = run_study(study, jobs=1)
    assert not any(one.resumed for one in first)
    before = contents(study.folder)
    assert all(one.resumed for one in run_study(study, jobs=1))
    changed = study.trials[0].options.__class__(cutoff=12.0)
    other = musculo.study.Study(
        study.name,
        study.folder,
        (study.trials[0].__class__(**{**vars(study.trials[0]), "options": changed}), *study.trials[1:]),
    )
    again = run_study(other, jobs=1)
    assert [one.resumed for one in again] == [False, True, True, True]
    assert contents(study.folder) != before
    run_study(study, jobs=1)
    assert contents(study.folder) == before


def test_results_of_steps_that_are_no_longer_asked_for_do_not_count(study):
    """Their files stay in the trial's folder, and may be of other options."""
    trial = study.trials[0]

    def kinds():
        names = trial_summary.read_summary(study.folder / trial.key / trial_summary.SUMMARY).quantities
        return {name.partition("/")[0] for name in names}

    run_trial(trial, study.folder)
    assert kinds() == {"angle", "moment", "power", "activation", "metabolic", "load"}
    run_trial(replace(trial, options=replace(trial.options, steps=("ik",))), study.folder)
    assert kinds() == {"angle"}
    assert list((study.folder / trial.key).glob("*_id.sto"))


def test_processes_give_the_same_bits_though_some_are_killed(study, tmp_path):
    run_study(study, jobs=1)
    expected = contents(study.folder)
    killed: list[int] = []

    def kill(outcome, done, count):
        for child in multiprocessing.active_children() if not killed else ():
            os.kill(child.pid, signal.SIGKILL)
            killed.append(child.pid)

    other = replace(study, folder=tmp_path / "other")
    outcomes = run_study(other, jobs=2, progress=kill)
    assert killed
    assert [one.status for one in outcomes] == [TrialStatus.DONE] * 4
    assert contents(tmp_path / "other") == expected


def test_a_script_without_a_main_guard_runs_a_study(recordings, tmp_path):
    """Processes do not run the script again, which would start processes of its own."""
    script = tmp_path / "script.py"
    script.write_text(
        "import musculo\nprint('begin')\n"
        f"study = musculo.study.read_study({str(recordings)!r}, {str(tmp_path / 'out')!r})\n"
        "print([one.status.value for one in musculo.study.run_study(study, jobs=2)])\n"
    )
    told = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert told.stdout.splitlines() == ["begin", str(["done"] * 4)], told.stderr


def _hears_ctrl_c() -> None:
    sys.exit(signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ()))


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no masks of signals")
def test_ctrl_c_does_not_reach_a_process_that_begins():
    """It would end in the middle of its imports, with a traceback in front of the word that the study stopped."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    child = schedule._Spawn().Process(target=_hears_ctrl_c)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_a_page_names_trials_without_loads(study):
    results = collect(study, run_study(study, jobs=1))
    assert "Trials without loads" not in [one.title for one in study_page(results).checks]
    of_moments = [q for q, name in enumerate(results.quantities) if name.startswith("moment/")]
    results.curves[np.ix_([1], of_moments)] = np.nan
    (check,) = [one for one in study_page(results).checks if one.title == "Trials without loads"]
    assert "1 of 4 trials (S1/reach2): angles only" in check.text


def test_a_study_that_was_killed_goes_on(recordings, study, tmp_path):
    run_study(study, jobs=1)
    expected = contents(study.folder)
    words = [sys.executable, "-m", "musculo", "study", str(recordings), "-o", str(tmp_path / "cut"), "-j", "2", "-q"]
    running = subprocess.Popen(words, start_new_session=True)
    for _ in range(1200):
        if list((tmp_path / "cut").glob("S?/*/trial.json")) or running.poll() is not None:
            break
        time.sleep(0.05)
    running.kill()
    running.wait()
    assert list((tmp_path / "cut").glob("S?/*/trial.json"))
    # its processes do not go on without it
    for _ in range(200):
        if not _of_session(running.pid):
            break
        time.sleep(0.05)
    assert _of_session(running.pid) == []
    half = tmp_path / "cut" / "S2" / "reach2" / ".x.sto.0123.part"
    half.parent.mkdir(parents=True, exist_ok=True)
    half.touch()
    told = CliRunner().invoke(app, [*words[3:-1], "--json"], catch_exceptions=False)
    assert told.exit_code == 0, told.output
    known = json.loads(told.stdout)
    assert 1 <= known["resumed"] <= 4
    assert not list((tmp_path / "cut").rglob(".*"))
    found = contents(tmp_path / "cut")
    assert {name: mark for name, mark in found.items() if name.startswith("S")} == expected
    assert {"curves.nc", "peaks.csv"} <= found.keys()
    assert (tmp_path / "cut" / "study.html").is_file()


def _of_session(session: int) -> list[str]:
    """Processes of a session that have not ended."""
    told = subprocess.run(["ps", "-o", "stat=,pid=", "-s", str(session)], capture_output=True, text=True).stdout
    return [line for line in told.splitlines() if not line.lstrip().startswith("Z")]


def test_a_damaged_summary_is_named(study):
    outcomes = run_study(study, jobs=1)
    summary = study.folder / study.trials[1].key / trial_summary.SUMMARY
    whole = summary.read_bytes()
    for content in (whole[:200], b"", whole.replace(b"mass.npy", b"math.npy")):
        summary.write_bytes(content)
        with pytest.raises(InvalidFile, match=r"reach2.*is damaged.*delete it, and run the study again"):
            collect(study, outcomes)
    summary.unlink()
    assert [one.resumed for one in run_study(study, jobs=1)] == [True, False, True, True]


def test_two_runs_at_once_do_each_trial_once(study):
    """As when the client of a cluster was killed: a worker is still at it when the next client asks for the same."""
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: run_trial(study.trials[0], study.folder), range(2))
    assert sorted([first.resumed, second.resumed]) == [False, True]
    assert replace(first, resumed=True) == replace(second, resumed=True)


def test_a_full_disk_stops_the_study_and_it_goes_on(study, monkeypatch):
    write = trial_run.write_summary
    count = iter(range(9))

    def full(path, summary):
        if next(count) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, summary)

    monkeypatch.setattr(trial_run, "write_summary", full)
    with pytest.raises(DiskFull, match=r"disk is full.*S1/reach2.*goes on from there"):
        run_study(study, jobs=1)
    outcomes = run_study(study, jobs=1)
    assert [one.resumed for one in outcomes] == [True, False, False, False]
    assert all(one.status is TrialStatus.DONE for one in outcomes)


def test_a_fault_of_ours_is_one_trial_s(study, monkeypatch):
    monkeypatch.setattr(trial_run, "summarize", lambda trial: 1 / 0)
    outcome = run_trial(study.trials[0], study.folder)
    assert outcome.status is TrialStatus.FAILED
    assert "ZeroDivisionError" in outcome.reason


def test_dask_gives_the_same_bits(study, tmp_path):
    distributed = pytest.importorskip("distributed")
    run_study(study, jobs=1)
    other = replace(study, folder=tmp_path / "dask")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        outcomes = run_study(other, scheduler=cluster.scheduler_address)
    assert [one.status for one in outcomes] == [TrialStatus.DONE] * 4
    assert contents(tmp_path / "dask") == contents(study.folder)
    with pytest.raises(InvalidInput, match="no Dask scheduler answers"):
        run_study(replace(study, folder=tmp_path / "none"), scheduler="tcp://127.0.0.1:9")
    with pytest.raises(InvalidInput, match="'head' is no address"):
        run_study(replace(study, folder=tmp_path / "none"), scheduler="head")


# --- what it shows ----------------------------------------------------------------------------------------------------
def test_curves_and_peaks(study):
    results = collect(study, run_study(study, jobs=1))
    data = results.to_xarray()
    assert data["curve"].dims == ("trial", "quantity", "percent")
    elbow = data["curve"].sel(trial="S1/reach1", quantity="angle/elbow_flexion")
    table = musculo.read_storage(study.folder / "S1" / "reach1" / "reach1_ik.mot")
    whole = table.column("elbow_flexion")
    assert_allclose(elbow.values[[0, -1]], whole[[0, -1]])
    peaks = results.to_pandas().set_index(["trial", "subject", "quantity"])
    assert_allclose(peaks.loc[("reach1", "S1", "angle/elbow_flexion"), "maximum"], elbow.max())
    kinds = {name.partition("/")[0] for name in results.quantities}
    assert kinds == {"angle", "moment", "power", "activation", "metabolic", "load"}
    cost = data["curve"].sel(trial="S1/reach1", quantity="metabolic/body")
    power = musculo.read_storage(
        study.folder / "S1" / "reach1" / "reach1_ik_StaticOptimization_metabolic_power.sto"
    ).column("body")
    assert_allclose(cost.values[[0, -1]], power[[0, -1]] / total_mass(arm()), rtol=1e-6)
    assert str(cost.unit.values) == "W/kg"
    with pytest.raises(InvalidInput, match="other trials"):
        collect(study, run_study(study, jobs=1)[1:])


def test_curves_as_a_zarr_folder(recordings, study, monkeypatch):
    """The same dataset as the NetCDF file; what is missing is said before the first trial."""
    words = ["study", str(recordings), "-o", str(study.folder), "-j", "1", "--json"]
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "zarr", None)
        told = CliRunner().invoke(app, [*words, "--zarr"])
        assert 'pip install "musculo[zarr]"' in str(told.exception)
        assert not study.folder.exists()
    pytest.importorskip("zarr")
    told = CliRunner().invoke(app, [*words, "--zarr"], catch_exceptions=False)
    assert str(study.folder / "curves.zarr") in json.loads(told.stdout)["files"]
    assert read_zarr(study.folder / "curves.zarr").identical(read_netcdf(study.folder / "curves.nc"))
    # it is brought up to date by a run that does not ask for it, and goes with the trials
    shutil.rmtree(study.folder / "curves.zarr" / "curve")
    CliRunner().invoke(app, words, catch_exceptions=False)
    assert read_zarr(study.folder / "curves.zarr").identical(read_netcdf(study.folder / "curves.nc"))
    replace(collect(study, run_study(study, jobs=1)), trials=(), peaks=()).write(study.folder)
    assert not (study.folder / "curves.zarr").exists()


def test_each_side_has_the_cycles_of_its_own_foot(monkeypatch):
    """Lines of slope 1: a curve begins and ends at the strikes; the other foot's cycle is not taken."""
    time = np.linspace(0.0, 1.0, 101)
    names = ("knee_angle_r", "knee_angle_l", "lumbar_extension")
    trial = Trial(Path(), angles=musculo.Table(time, names, np.stack([time, 2.0 * time, 3.0 * time], axis=1)))

    def ends(strikes):
        monkeypatch.setattr(trial_summary, "gait_cycles", lambda _: Cycles(strikes, {}, {}))
        found = trial_summary.summarize(trial)
        assert found.quantities == tuple(f"angle/{name}" for name in names)
        return found.cycles, [[tuple(c[[0, -1]].round(9)) for c in q if np.isfinite(c).all()] for q in found.curves]

    one = [(0.1, 0.5), (0.5, 0.9)]
    assert ends({"r": [0.1, 0.5, 0.9], "l": [0.3]}) == (True, [one, [], [(0.3, 1.5), (1.5, 2.7)]])
    assert ends({"r": [], "l": [0.2, 0.6]}) == (True, [[], [(0.4, 1.2)], [(0.6, 1.8)]])
    # strikes after the motion, which plates recorded, make no cycle
    assert ends({"r": [0.4, 1.5], "l": [0.2, 0.6, 1.4]}) == (True, [[], [(0.4, 1.2)], [(0.6, 1.8)]])
    assert ends({"r": [0.4, 1.5]}) == ends({"r": [0.4], "l": [0.2]})
    assert ends({"r": [0.4], "l": [0.2]}) == (False, [[(0.0, 1.0)], [(0.0, 2.0)], [(0.0, 3.0)]])


def test_the_page_tells_what_is_missing_and_how_far_means_spread(study):
    results = collect(study, run_study(study, jobs=1))
    q = results.quantities.index("angle/elbow_flexion")
    names = list(results.quantities)
    names[q] = "angle/elbow_flexion_l"
    sided = replace(results, quantities=tuple(names), peaks=())
    assert [one.title for one in study_page(sided).checks[:2]] == [one.title for one in study_page(results).checks[:2]]
    sided.curves[1:3, q] = np.nan
    told = study_page(sided).checks[1]
    assert "left foot in 2 of 4 trials" in told.text
    assert mean_and_spread(np.array([-38.0, -38.3, -38.6])) == "-38.30 ± 0.30"
    assert mean_and_spread(np.array([1234.0, 1334.0])) == "1284 ± 71"
    assert mean_and_spread(np.array([0.25, 0.25])) == "0.25"
    peaks = next(one for one in study_page(results).sections if one.title == "Peaks: joint moments")
    assert not any("moment" in row[0] for row in peaks.tables[0].rows)


def test_gait_cycles_and_whole_trials_share_no_mean(study):
    """A trial without a cycle is over the percent of another thing: named, and in no mean, spread or outlier."""
    results = collect(study, run_study(study, jobs=1))
    cut = replace(results, cycles=(True, True, True, False))
    cut.curves[3] += 100.0
    page = study_page(cut)
    (check,) = [one for one in page.checks if one.title == "Trials without a gait cycle"]
    assert "1 of 4 trials (S2/reach2)" in check.text
    angles = next(one for one in page.sections if one.title == "Joint angles")
    elbow = next(panel for panel in angles.panels if panel.title == "elbow flexion")
    (curve,) = elbow.curves
    q = results.quantities.index("angle/elbow_flexion")
    assert_allclose(curve.values, results.curves[:3, q].mean(axis=0))
    assert (curve.name, elbow.across) == ("all trials (n = 3)", "% of gait cycle")
    peaks = next(one for one in page.sections if one.title == "Peaks: joint angles")
    assert {row[3] for row in peaks.tables[0].rows} == {"3"}


def test_moments_of_subjects_are_for_each_kilogram(study):
    """A subject of twice the mass and twice the moments walks alike; files keep what was computed."""
    results = collect(study, run_study(study, jobs=1))
    assert_allclose(results.mass, total_mass(arm()))
    assert_allclose(results.to_xarray()["mass"].values, results.mass)
    assert set(results.to_pandas()["mass"]) == {total_mass(arm())}
    q = results.quantities.index("moment/elbow_flexion_moment")
    heavy = replace(results, mass=results.mass * [1.0, 1.0, 2.0, 2.0], curves=results.curves.copy())
    heavy.curves[2:, q] *= 2.0
    drawn = []
    for one in (results, heavy):
        moments = next(section for section in study_page(one).sections if section.title == "Joint moments")
        panel = next(panel for panel in moments.panels if panel.title == "elbow flexion")
        assert panel.unit == "N m/kg"
        drawn.append(panel.curves[0])
    assert_allclose(drawn[0].values, results.curves[:, q].mean(axis=0) / total_mass(arm()))
    assert_allclose(drawn[1].values, drawn[0].values)
    assert_allclose(drawn[1].spread, drawn[0].spread, atol=1e-12)
    unknown = study_page(replace(results, mass=0.0 * results.mass))
    moments = next(section for section in unknown.sections if section.title == "Joint moments")
    assert {panel.unit for panel in moments.panels} <= {"N m", "N"}


def test_outliers_are_far_from_the_others():
    """The distance does not depend on scale or offset, and one curve that is moved away is found."""
    rng = np.random.default_rng(2)
    offsets = np.linspace(-0.1, 0.1, 8)[:, None]
    curves = np.sin(np.linspace(0, 6, 101)) + offsets + 0.02 * rng.normal(size=(8, 101))
    near = distances(curves)
    assert near.max() < 2.5
    assert_allclose(distances(3.0 * curves - 7.0), near, rtol=1e-10)
    curves[5] += 1.0
    far = distances(curves)
    assert far.argmax() == 5
    assert far[5] > 5.0
    curves[2, 4] = np.nan
    assert np.isnan(distances(curves)[2])
    assert np.isnan(distances(curves[:3])).all()


def test_the_list_of_trials(recordings):
    told = CliRunner().invoke(app, ["study", str(recordings), "--list"], catch_exceptions=False)
    assert told.stdout.endswith("4 trials\n")
    known = json.loads(CliRunner().invoke(app, ["study", str(recordings), "--list", "--json"]).stdout)
    assert [one["trial"] for one in known] == ["reach1", "reach2", "reach1", "reach2"]
