"""The report's page in a real browser: it paints at once, draws its curves, obeys its buttons, and fetches nothing."""

from __future__ import annotations

import numpy as np
import pytest

from musculo import demo, view
from musculo.report import Curve, Finding, Panel, Report, Section, Severity, write_report
from support.browser import Page, browser

TIME = np.linspace(0.0, 2.0, 201)
EVIL = "<script>document.title = 'broken'</script>"


@pytest.fixture(scope="module")
def chrome():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A made-up walk: two steps a side, a body of 80 kg, the arm in place of a walker."""
    both = tuple(Curve(f"hip_{side}", TIME, np.sin(np.pi * TIME + phase), side) for side, phase in (("r", 0), ("l", 1)))
    sections = (
        Section("Joint angles", (Panel("hip", "°", both),)),
        Section("Joint moments", (Panel(EVIL, "N m", (Curve(EVIL, TIME, 80.0 * TIME),)),), per_mass=True),
        Section("Many", tuple(Panel(f"muscle {k}", "N", (Curve(f"m{k}", TIME, k * TIME),)) for k in range(40))),
    )
    checks = (Finding(EVIL, Severity.WRONG, "Marker errors", "look"), Finding("fine", Severity.GOOD, "Reserves"))
    scene = view(demo.arm(), demo.arm_flexion()).html()
    report = Report(
        "A walk",
        checks,
        sections,
        (EVIL,),
        (("musculo", EVIL),),
        80.0,
        {"r": [0.0, 1.0, 2.0]},
        scene,
        (("model", EVIL),),
        {"l": "its force has one strike"},
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, report)
    return path


@pytest.fixture
def report(chrome, file):
    page = Page(chrome, file, 1200, 900)
    # The first two are read below; those in view are drawn one after the other.
    page.page.wait_for_function("[0, 1].every((k) => document.querySelectorAll('.panel')[k]?.dataset.drawn)")
    yield page
    page.close()


def drawn(report, panel, axis):
    """The numbers of the first trace of a panel, without gaps."""
    code = f"() => document.querySelectorAll('.panel .plot')[{panel}].data[0].{axis}.filter((v) => v !== null)"
    return np.array(report.page.evaluate(code), dtype=float)


def test_page_opens_without_a_complaint_or_a_request(report):
    assert report.page.title() == "A walk"
    assert report.page.locator(".checks li").count() == 2
    assert report.complaints == []


def test_names_are_text(report):
    assert EVIL in report.page.locator(".checks li p").first.inner_text()
    assert EVIL in report.page.locator(".panel h3").nth(1).inner_text()


def test_curves_are_the_numbers(report):
    np.testing.assert_allclose(drawn(report, 0, "y"), np.sin(np.pi * TIME), atol=1e-6)
    np.testing.assert_allclose(drawn(report, 0, "x"), TIME, atol=1e-6)


def test_only_what_is_seen_is_drawn(report):
    done = report.page.locator(".panel[data-drawn]").count()
    assert 0 < done < 42
    report.page.locator(".panel").last.scroll_into_view_if_needed()
    report.page.wait_for_selector(".panel:last-child[data-drawn] .main-svg")
    assert report.complaints == []


def test_per_cent_of_the_cycle(report):
    report.page.keyboard.press("c")
    x, y = drawn(report, 0, "x"), drawn(report, 0, "y")
    assert x.min() == 0.0
    assert x.max() == 100.0
    assert len(x) == 202  # two cycles that share a frame
    np.testing.assert_allclose(y[:101], np.sin(np.pi * TIME[:101]), atol=1e-6)
    left = report.page.evaluate("() => document.querySelectorAll('.panel .plot')[0].data[1].x.length")
    assert left == 0  # no cycle of the left side is known
    note = report.page.locator("#section-0 .cycle").inner_text()
    assert "right: 0 to 1 s, 1 to 2 s; left: not shown, since its force has one strike" in note
    axis = report.page.evaluate("() => document.querySelectorAll('.panel .plot')[0].layout.xaxis.range")
    assert axis == [0, 100]
    report.page.keyboard.press("c")
    assert not report.page.locator("#section-0 .cycle").is_visible()


def test_for_each_kilogram(report):
    report.page.click("#per-mass")
    np.testing.assert_allclose(drawn(report, 1, "y"), TIME, atol=1e-6)
    assert "N m/kg" in report.page.locator(".panel h3").nth(1).inner_text()
    np.testing.assert_allclose(drawn(report, 0, "y"), np.sin(np.pi * TIME), atol=1e-6)


def test_dark_and_light(report):
    def background():
        return report.page.evaluate("() => getComputedStyle(document.body).backgroundColor")

    before = background()
    report.page.keyboard.press("d")
    assert background() != before


def test_panels_are_filtered_by_name(report):
    report.page.fill(".filter", "muscle 39")
    assert report.page.locator("#section-2 .panel:visible").count() == 1


def test_the_scene_comes_when_it_is_seen(report):
    frame = report.page.locator("#scene iframe")
    assert not frame.get_attribute("srcdoc")
    frame.scroll_into_view_if_needed()
    inner = report.page.frame_locator("#scene iframe")
    inner.locator("canvas").wait_for()
    assert "arm" in inner.locator("body").inner_text()
    assert report.complaints == []


def test_keys_go_from_section_to_section(report):
    report.page.keyboard.press("n")
    assert report.page.evaluate("() => document.activeElement.id") == "section-0"
    report.page.keyboard.press("p")
    assert report.page.evaluate("() => document.activeElement.id") == "summary"


def test_paper_is_light_and_plots_fit_their_cards(chrome, file):
    """In a wide dark window, on a sheet 700 px wide."""
    page = Page(chrome, file, 1280, 900)
    tab = page.page
    tab.wait_for_function("document.querySelector('.panel')?.dataset.drawn")
    tab.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
    tab.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    tab.wait_for_function("[...document.querySelectorAll('.main-svg')].every((svg) => svg.hasAttribute('viewBox'))")
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 700, "height": 900})
    card = tab.evaluate("() => getComputedStyle(document.querySelector('section')).backgroundColor")
    assert card == "rgb(255, 255, 255)"
    over = """() => [...document.querySelectorAll('.panel')].filter((box) => {
        const card = box.getBoundingClientRect(), plot = box.querySelector('.main-svg').getBoundingClientRect();
        return plot.right > card.right + 1 || plot.bottom > card.bottom + 1;
    }).length"""
    assert tab.evaluate(over) == 0
    tab.emulate_media(media="screen")
    tab.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert tab.evaluate("() => document.documentElement.dataset.theme") == "dark"
    page.close()


def test_a_narrow_screen_holds_the_page(chrome, file):
    page = Page(chrome, file, 375, 700)
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 375
    page.close()


def test_the_scene_takes_the_theme(report):
    report.page.locator("#scene iframe").scroll_into_view_if_needed()
    inner = report.page.frame_locator("#scene iframe").locator(".mv")
    inner.wait_for()
    for _ in range(2):
        report.page.locator("#theme").click()
        theme = report.page.evaluate("() => document.documentElement.dataset.theme")
        assert inner.get_attribute("data-theme") == theme
