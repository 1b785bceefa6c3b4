"""Figures of the report: strides with their spread, bands of groups, what is saved, what is folded, and paper."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest

from musculo.report import Band, Curve, Panel, Report, Section, write_report
from support.browser import Page, browser

TIME = np.linspace(0.0, 4.0, 401)
# Curves travel as four bytes a number.
SINGLE = 1e-5


@pytest.fixture(scope="module")
def chrome():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Four strides whose height is 1, 2, 3 and 4; two groups with bands; a folded section; a section of many panels."""
    height = np.minimum(np.floor(TIME) + 1.0, 4.0)
    knee = Curve("knee_r", TIME, height * np.sin(2.0 * np.pi * TIME), "r")
    percent = np.linspace(0.0, 100.0, 101)
    groups = tuple(
        Curve(name, percent, np.full(101, level), spread=np.full(101, 0.5), color=k)
        for k, (name, level) in enumerate((("control", 1.0), ("patients", 3.0)))
    )
    band = Band(
        np.array([0.0, 50.0, 60.0, 70.0, 100.0]), np.array([1, 2, np.nan, 3, 4.0]), np.array([2, 3, np.nan, 4, 5.0])
    )
    sections = (
        Section(
            "Joint angles", (Panel("knee", "°", (knee,), positive="flexion", normal=band),), normal="40 adults (us)"
        ),
        Section("Groups", (Panel("hip", "°", groups, across="% of gait cycle"),)),
        Section("Moment arms", (Panel("arm", "mm", (knee,)),), folded=True),
        Section("Many", tuple(Panel(f"m{k}", "N", (Curve(f"m{k}", TIME, k * TIME),)) for k in range(40))),
    )
    report = Report("A walk", sections=sections, cycles={"r": [0.0, 1.0, 2.0, 3.0, 4.0]}, stance={"r": 62.0})
    path = tmp_path_factory.mktemp("figures") / "report.html"
    write_report(path, report)
    return path


@pytest.fixture
def page(chrome, file):
    shown = Page(chrome, file, 1200, 900)
    shown.page.wait_for_function("[0, 1].every((k) => document.querySelectorAll('.panel')[k]?.dataset.drawn)")
    yield shown
    assert shown.complaints == []
    shown.close()


def traces(page, panel):
    return page.page.evaluate(
        f"() => document.querySelectorAll('.panel .plot')[{panel}].data.map((t) => [t.name, t.y])"
    )


def test_strides_have_a_mean_and_a_spread(page):
    page.page.keyboard.press("c")
    page.page.keyboard.press("r")
    upper, lower, thin, mean = (np.array(y, dtype=float) for _, y in traces(page, 0))
    sine = np.sin(2.0 * np.pi * np.linspace(0.0, 1.0, 101))
    inside = slice(1, -1)  # the step from one height to the next is at the ends
    np.testing.assert_allclose(mean[inside], 2.5 * sine[inside], atol=SINGLE)
    spread = np.std([1.0, 2.0, 3.0, 4.0], ddof=1) * np.abs(sine)
    np.testing.assert_allclose(upper[inside], (mean + spread)[inside], atol=2 * SINGLE)
    np.testing.assert_allclose(lower[inside], (mean - spread)[inside], atol=2 * SINGLE)
    assert np.isnan(thin).sum() == 4
    assert traces(page, 0)[3][0] == "right, mean of 4"
    shapes = page.page.evaluate("() => document.querySelectorAll('.panel .plot')[0].layout.shapes")
    assert [one["x0"] for one in shapes] == [62.0]  # where the foot leaves the ground


def test_normal_ranges_lie_behind_the_cycles_and_go(page):
    button = page.page.locator("#normal")
    whose = page.page.locator("#section-0 .whose")
    assert not whose.is_visible()  # over time nothing is normal
    page.page.keyboard.press("c")
    assert "40 adults (us)" in whose.inner_text()
    ranges = [y for name, y in traces(page, 0) if name == "normal range"]
    assert ranges == [[1, 2, 3, 2], [3, 4, 5, 4]]  # two parts, there and back
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    page.page.wait_for_function(
        "() => document.querySelector('.panel .plot').data.every((t) => t.name !== 'normal range')"
    )
    assert not whose.is_visible()
    assert button.get_attribute("aria-pressed") == "false"


def test_a_walk_opens_over_its_cycles_and_what_belongs_to_time_stays(chrome, tmp_path):
    curve = Curve("hip_r", TIME, np.sin(TIME), "r")
    sections = (
        Section("Joint angles", (Panel("hip", "°", (curve,)),)),
        Section("Residuals", (Panel("pelvis", "N", (curve,), not_judged=((1.0, 2.0),)),), by_time=True),
    )
    path = tmp_path / "walk.html"
    write_report(path, Report("A walk", sections=sections, cycles={"r": [0.0, 1.0], "l": [0.5, 1.5]}))
    shown = Page(chrome, path, 1200, 900)
    shown.page.wait_for_function("document.querySelectorAll('.panel[data-drawn]').length === 2")
    axes = shown.page.evaluate("() => [...document.querySelectorAll('.plot')].map((p) => p.layout.xaxis.title.text)")
    assert axes == ["% of gait cycle", "time [s]"]
    assert shown.page.locator("#axis").get_attribute("aria-pressed") == "true"
    assert len(shown.page.evaluate("() => document.querySelectorAll('.plot')[1].layout.shapes")) == 1
    shown.close()


def test_an_electromyogram_is_one_area(chrome, tmp_path):
    """Over time as it is; over the cycle the mean of its strides."""
    signal = Curve("EMG TA", TIME, 0.1 * np.minimum(np.floor(TIME) + 1.0, 4.0), "r", measured=True)
    curve = Curve("tibant_r", TIME, np.abs(np.sin(TIME)), "r")
    path = tmp_path / "emg.html"
    section = Section("Muscle activations", (Panel("tibant", "", (signal, curve)),))
    write_report(path, Report("EMG", sections=(section,), cycles={"r": [0.0, 1.0, 2.0, 3.0, 4.0]}))
    shown = Page(chrome, path, 1200, 900)
    shown.page.wait_for_selector(".panel[data-drawn]")
    code = "() => document.querySelector('.plot').data.map((t) => [t.name, t.fill || '', t.y.length, t.y[50]])"
    area, line = shown.page.evaluate(code)
    assert (area[0], area[1], line[0], line[1]) == ("EMG TA", "tozeroy", "right", "")
    shown.page.keyboard.press("c")
    areas = [one for one in shown.page.evaluate(code) if one[0] == "EMG TA"]
    assert [(one[1], one[2]) for one in areas] == [("tozeroy", 101)]
    assert abs(areas[0][3] - 0.25) < SINGLE
    shown.close()


def test_the_positive_direction_is_named(page):
    assert page.page.locator(".panel h3").first.inner_text().replace("\n", " ") == "knee °, flexion +"


def test_groups_have_bands_and_a_key(page):
    shown = traces(page, 1)
    assert [name for name, _ in shown if name] == ["control", "patients"]
    np.testing.assert_allclose([y[0] for _, y in shown], [1.5, 0.5, 3.5, 2.5, 1.0, 3.0])
    assert page.page.locator("#section-1 .key").inner_text().split() == ["control", "patients"]
    axis = page.page.evaluate("() => document.querySelectorAll('.panel .plot')[1].layout.xaxis.title.text")
    assert axis == "% of gait cycle"


def test_numbers_are_saved(page):
    page.page.locator(".panel").first.hover()
    with page.page.expect_download() as saved:
        page.page.locator(".panel .save button", has_text="CSV").first.click()
    assert saved.value.suggested_filename == "knee.csv"
    rows = list(csv.reader(io.StringIO(saved.value.path().read_text())))
    assert rows[0] == ["curve", "time", "°"]
    np.testing.assert_allclose(np.array([row[1] for row in rows[1:]], dtype=float), TIME, atol=SINGLE)


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_figures_are_saved(page, kind):
    page.page.locator(".panel").first.hover()
    with page.page.expect_download() as saved:
        page.page.locator(".panel .save button", has_text=kind.upper()).first.click()
    assert saved.value.suggested_filename == f"knee.{kind}"
    assert saved.value.path().read_bytes()[:4] in (b"<svg", b"\x89PNG")


def test_a_folded_section_opens(page):
    panel = page.page.locator("#section-2 .panel")
    assert not panel.is_visible()
    page.page.locator("#section-2 summary").click()
    panel.wait_for()
    page.page.wait_for_selector("#section-2 .panel[data-drawn]")


def test_a_phone_shows_a_few_and_then_all(chrome, file):
    narrow = Page(chrome, file, 375, 700)
    assert narrow.page.locator("#section-3 .panel:visible").count() == 0  # closed, after two sections with plots
    assert narrow.page.evaluate("() => document.documentElement.scrollHeight") < 2500
    narrow.page.locator("#section-3 .unfold").click()
    assert narrow.page.locator("#section-3 .panel:visible").count() == 8
    narrow.page.locator("#section-3 .more").click()
    assert narrow.page.locator("#section-3 .panel:visible").count() == 40
    narrow.close()


def test_paper_takes_few_pages(chrome, file):
    """42 panels on two pages at most, none of them left out: six in a row where there are many."""
    shown = Page(chrome, file, 1200, 900)
    shown.page.wait_for_function("window.Plotly")  # which the page fetches when it is idle, and the event draws with
    shown.page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    shown.page.wait_for_function("[...document.querySelectorAll('.panel')].filter((p) => p.dataset.drawn).length >= 42")
    # pictures of one size, whose letters are as large in every card
    assert set(
        shown.page.evaluate(
            "() => [...document.querySelectorAll('.plot .main-svg')].map((s) => s.getAttribute('viewBox'))"
        )
    ) == {"0 0 320 200"}
    edge = dict.fromkeys(("top", "right", "bottom", "left"), "1cm")
    made = shown.page.pdf(format="A4", margin=edge)
    assert len(re.findall(rb"/Type\s*/Page[^s]", made)) <= 2
    shown.page.emulate_media(media="print")
    assert shown.page.locator("#section-3 .panel:visible").count() == 40
    shown.close()
