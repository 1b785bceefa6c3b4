"""Normal ranges behind the curves of a section."""

from __future__ import annotations

from dataclasses import replace

from musculo.report.page_parts import Band, Panel, Section
from musculo.results.normal_ranges import NormalRanges


def with_normal(section: Section, normal: NormalRanges | None, figure: str, mass: float) -> Section:
    """A section whose panels have the ranges that are known for them, and that says whose they are.

    Args:
        section: of the page.
        normal: the ranges; None for none.
        figure: which of them.
        mass: of the body [kg], by which ranges for each kilogram are multiplied; zero if it is not known.
    """
    if normal is None:
        return section
    panels = tuple(replace(one, normal=_band(one, normal, figure, mass)) for one in section.panels)
    if all(one.normal is None for one in panels):
        return section
    return replace(section, panels=panels, normal=normal.sources.get(figure, "their source is not stated"))


def _band(panel: Panel, normal: NormalRanges, figure: str, mass: float) -> Band | None:
    found = normal.of(figure, panel.title, panel.positive)
    if found is None:
        return None
    scale = mass if found.unit.endswith("/kg") else 1.0
    if not scale > 0.0:
        return None
    return Band(found.percent, scale * (found.mean - found.spread), scale * (found.mean + found.spread))
