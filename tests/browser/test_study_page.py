"""The page of a study in a real browser: trials lead to their pages, and tables and bars fit a phone."""

from __future__ import annotations

import numpy as np
import pytest

from musculo.report import Bars, Curve, Panel, Report, Section, TextTable, write_report
from musculo.study import Study, StudyTrial, TrialOutcome, TrialStatus, study_page
from musculo.study.collection import StudyResults
from support.browser import Page, browser

ODD = 'P 1 "é" #2?'


@pytest.fixture(scope="module")
def chrome():
    with browser() as started:
        yield started


@pytest.fixture
def file(tmp_path):
    """Two trials: one has a page, the other failed and has a log only."""
    trials = tuple(StudyTrial(ODD, name, tmp_path, tmp_path) for name in ("walk", "bad & <b>"))
    study = Study("two", tmp_path, trials)
    for trial, name, text in zip(trials, ("report.html", "log.txt"), ("<h1>the walk</h1>", "failed: no"), strict=True):
        (tmp_path / trial.key).mkdir(parents=True)
        (tmp_path / trial.key / name).write_text(text)
    outcomes = (
        TrialOutcome(trials[0].key, TrialStatus.DONE),
        TrialOutcome(trials[1].key, TrialStatus.FAILED, "no marker"),
    )
    curves = np.sin(np.linspace(0.0, 6.0, 101))[None, None]
    results = StudyResults(study, outcomes, trials[:1], ("angle/knee",), ("°",), curves, (), (True,), np.array([70.0]))
    write_report(tmp_path / "study.html", study_page(results))
    return tmp_path / "study.html"


def test_a_trial_leads_to_its_page_or_its_log(chrome, file):
    page = Page(chrome, file, 1200, 900)
    tab = page.page
    tab.locator("section", has_text="Failed and incomplete").get_by_role("link", name="bad & <b>").click()
    assert "failed: no" in tab.locator("body").inner_text()
    tab.go_back()
    everything = tab.locator("section", has=tab.locator("h2", has_text="All trials"))
    everything.locator("summary").click()
    everything.get_by_role("link", name="walk").click()
    assert tab.locator("h1").inner_text() == "the walk"
    assert page.complaints == []
    page.close()


def test_tables_and_bars_fit_a_phone(chrome, tmp_path):
    """Means of walking in four columns, and muscles side by side: nothing is cut off, nothing overlaps."""
    rows = (
        ("cadence [steps/min]", "105", "104", "105 ± 0 (2)"),
        ("step length [m]", "0.717", "0.712 ± 0.002 (2)", "0.713 ± 0.003 (3)"),
    )
    table = TextTable("", ("parameter", "right", "left", "both"), rows, ("right", "left", "both"))
    names = tuple(f"muscle {k}" for k in range(24))
    bars = Bars("mean power", "W", names, {"right": [float(k) for k in range(24)], "left": [1.0] * 24})
    time = np.linspace(0.0, 1.0, 11)
    panel = Panel("all muscles", "W", (Curve("muscles", time, time),), not_judged=((0.0, 0.3),))
    section = Section("Metabolic power", (panel,), "", True, (bars,), (table,), by_time=True)
    write_report(tmp_path / "page.html", Report("A walk", sections=(section,), mass=80.0))
    page = Page(chrome, tmp_path / "page.html", 390, 800)
    tab = page.page
    tab.evaluate("() => document.querySelectorAll('section.shut .unfold').forEach((one) => one.click())")
    tab.locator(".bars .panel").scroll_into_view_if_needed()
    tab.wait_for_function("document.querySelector('.bars .main-svg')")
    sheet = tab.evaluate("() => { const s = document.querySelector('.sheet'); return [s.scrollWidth, s.clientWidth]; }")
    assert sheet[0] <= sheet[1]
    # words stay whole: a name of two takes two lines
    heights = tab.evaluate("() => [...document.querySelectorAll('.sheet tbody th')].map((th) => th.clientHeight)")
    assert max(heights) < 60
    apart = """() => document.querySelector('.bars .panel').getBoundingClientRect().top
        - document.querySelector('.panels .panel').getBoundingClientRect().bottom"""
    assert tab.evaluate(apart) > 8
    assert tab.evaluate("() => document.documentElement.scrollWidth") <= 390
    tab.click("#per-mass")
    assert "W/kg" in tab.locator(".panels .panel h3").inner_text()
    page.close()
