"""No plot of a report is blank: single frames are points, bars and tables are there, what is not judged is shaded."""

from __future__ import annotations

import numpy as np
import pytest

from musculo.report import Bars, Curve, Panel, Report, Section, TextTable, write_report
from support.browser import Page, browser

TIME = np.linspace(0.0, 2.0, 201)
EVIL = "<script>document.title = 'broken'</script>" + 10 * " and many more letters"
# For each plot, whether a line, point or bar of some size lies inside of it.
SEEN = """() => [...document.querySelectorAll(".panel .plot")].map((plot) => {
  const box = plot.getBoundingClientRect();
  return [...plot.querySelectorAll(".scatterlayer path, .barlayer path")].some((mark) => {
    const m = mark.getBoundingClientRect();
    const across = m.right > box.left && m.left < box.right, up = m.bottom > box.top && m.top < box.bottom;
    return m.width + m.height > 2 && across && up;
  });
})"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    one, gaps = np.array([0.1]), np.where(np.arange(201) % 2, np.nan, 1.0)
    sections = (
        Section("One frame", (Panel("one", "", (Curve("one", one, np.array([0.4])),), range=(0.0, 1.0)),)),
        Section("Gaps", (Panel("gaps", "", (Curve("gaps", TIME, gaps),)),)),
        Section(
            "Residuals", (Panel("ty", "N", (Curve("ty", TIME, TIME),), limit=0.5, not_judged=((0.0, 0.5), (1.0, 1.0))),)
        ),
        Section("Left", (Panel("left", "N", (Curve("h_l", TIME, TIME, "l"),)),)),
        Section(
            "Scale factors",
            bars=(Bars("factor", "", (EVIL, "b"), {"x": [1.1, np.nan], "y": [0.9, 1.0]}, base=1.0),),
            tables=(TextTable("", ("body", "x"), ((EVIL, "1.1"), ("b", "")), ("x",)),),
        ),
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, Report("R", (), sections, mass=80.0, cycles={"r": [0.0, 1.0]}))
    with browser() as chrome:
        opened = Page(chrome, path, 1200, 3000)
        opened.page.wait_for_function("[...document.querySelectorAll('.panel')].every((box) => box.dataset.drawn)")
        yield opened


def test_every_plot_shows_something(page):
    assert page.page.evaluate(SEEN) == [True] * 5
    assert page.complaints == []


def test_frames_that_are_not_judged_are_shaded(page):
    shapes = page.page.evaluate("() => document.querySelectorAll('.panel .plot')[2].layout.shapes")
    assert [(s["type"], s["x0"], s["x1"]) for s in shapes if s["type"] == "rect"] == [("rect", 0, 0.5), ("rect", 1, 1)]
    assert [s["y0"] for s in shapes if s["type"] == "line"] == [0.5, -0.5]


def test_bars_begin_at_their_base(page):
    """A factor of 1.1 is drawn from 1 to 1.1; one that is not a number has no bar."""
    bars = page.page.evaluate(
        "() => document.querySelectorAll('.panel .plot')[4].data.map((d) => [d.base, d.y, d.customdata])"
    )
    assert bars[0][0] == 1
    assert bars[0][1] == pytest.approx([0.1, None])
    assert bars[1][1] == pytest.approx([-0.1, 0.0])
    assert bars[0][2] == [1.1, None]


def test_a_table_holds_text(page):
    assert page.page.locator(".sheet tbody th").first.inner_text() == EVIL
    assert page.page.locator(".sheet td.number").first.inner_text() == "1.1"
    assert page.page.title() == "R"


def test_a_plot_without_a_cycle_says_so(page):
    page.page.keyboard.press("c")
    page.page.wait_for_function("document.querySelectorAll('.panel .plot')[3].layout.annotations.length")
    assert "no cycle of this side" in page.page.locator(".panel").nth(3).inner_text()
    assert page.page.evaluate("() => document.querySelectorAll('.panel .plot')[2].layout.shapes.length") == 2
    page.page.keyboard.press("c")


def test_nothing_is_offered_for_each_kilogram(page):
    """Where no section is of moments or powers."""
    assert page.page.locator("#per-mass").count() == 0
