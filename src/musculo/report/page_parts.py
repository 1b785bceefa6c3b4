"""The parts of a report, before it becomes a page: sections of plots and tables, and the lines of the summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Light
from musculo.model.model_notebook import facts_html
from musculo.model.named_sides import side_of, without_side
from musculo.results.normal_ranges import NormalRanges

_LARGEST = float(np.finfo(np.float32).max)  # what a page can draw: curves travel as four bytes a number


@dataclass(frozen=True, eq=False)
class Curve:
    """A quantity over time. `side` is "r", "l" or empty."""

    name: str
    time: FloatArray = field(repr=False)  # (frames,) [s], or what the panel's axis says
    values: FloatArray = field(repr=False)  # (frames,)
    side: str = ""
    spread: FloatArray | None = field(default=None, repr=False)  # (frames,) a band this far above and below
    color: int | None = None  # of a palette, where curves are of several groups; by the side otherwise
    measured: bool = False  # drawn as an area, behind what was computed


@dataclass(frozen=True, eq=False)
class Band:
    """What is normal, over the gait cycle: drawn behind the curves where the axis is in % of the cycle."""

    percent: FloatArray = field(repr=False)  # (n,) [% of the gait cycle]
    low: FloatArray = field(repr=False)  # (n,) in the unit of the panel
    high: FloatArray = field(repr=False)


@dataclass(frozen=True)
class Panel:
    """Curves in one plot."""

    title: str
    unit: str
    curves: tuple[Curve, ...]
    range: tuple[float, float] | None = None  # of the y axis, where all panels should share one
    limit: float | None = None  # lines at this value and its negative
    not_judged: tuple[tuple[float, float], ...] = ()  # shaded spans of time [s]
    across: str = ""  # what the x axis shows, where it is not time
    positive: str = ""  # what the positive direction is called, such as flexion
    normal: Band | None = None


@dataclass(frozen=True, eq=False)
class Bars:
    """One plot of groups of bars: `series` has a value for each of the `names` under the label of its color."""

    title: str
    unit: str
    names: tuple[str, ...]
    series: Mapping[str, Sequence[float]]
    line: float | None = None  # a value to compare with, drawn across
    base: float = 0.0  # where bars begin


@dataclass(frozen=True)
class TextTable:
    """A table of text: the first column names the rows, and `numbers` are the columns set to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)  # of names of rows, to files beside the page


@dataclass(frozen=True)
class Section:
    """Plots and tables under one heading."""

    title: str
    panels: tuple[Panel, ...] = ()
    text: str = ""
    per_mass: bool = False  # shown for each kilogram of the body where its mass is known
    bars: tuple[Bars, ...] = ()
    tables: tuple[TextTable, ...] = ()
    folded: bool = False  # whether it is closed until it is asked for
    normal: str = ""  # whose normal ranges are drawn
    by_time: bool = False  # whether it stays over time where others are over the gait cycle

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.panels or self.bars or self.tables or self.text)


@dataclass(frozen=True)
class Report:
    """Summary, plots, a scene in three dimensions, and where it all comes from."""

    title: str
    checks: tuple[Finding, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()  # what, and what it was
    mass: float | None = None  # of the model [kg]
    # times [s] at which the cycles of a side begin and end, by "r" and "l"
    cycles: Mapping[str, Sequence[float]] = field(default_factory=dict)
    scene: str = field(default="", repr=False)  # a whole page of its own
    facts: tuple[tuple[str, str], ...] = ()  # what was run on what: a word and what it says
    missing_cycles: Mapping[str, str] = field(default_factory=dict)  # why a side has no cycle, by "r" and "l"
    stance: Mapping[str, float] = field(default_factory=dict)  # where in the cycle a foot leaves the ground [%]

    @property
    def light(self) -> Light:
        """The worst light of all."""
        order = (Light.BAD, Light.LOOK, Light.GOOD)
        return next((light for light in order if any(c.light is light for c in self.checks)), Light.INFO)

    def _repr_html_(self) -> str:
        """Title and checks; `write_report` makes the page."""
        marks = {
            Light.GOOD: "good: ",
            Light.LOOK: "look: ",
            Light.BAD: "BAD: ",
            Light.UNJUDGED: "not judged: ",
            Light.INFO: "",
        }
        facts = [(c.title, f"{marks[c.light]}{c.text} {c.advice}".rstrip()) for c in self.checks]
        plots = ", ".join(section.title for section in self.sections)
        return facts_html(self.title or "Report", [*facts, *([("plots", plots)] if plots else [])])


def drawable(section: Section) -> Section:
    """A section without the curves that would be an empty plot; its text names them."""
    panels, blank = [], []
    for panel in section.panels:
        curves = tuple(curve for curve in panel.curves if (np.abs(curve.values) <= _LARGEST).any())
        blank += [curve.name for curve in panel.curves if curve not in curves]
        if curves:
            panels.append(replace(panel, curves=curves))
    if not blank:
        return section if panels or section.bars or section.tables else replace(section, text="")
    names = ", ".join(blank[:8]) + (f" and {len(blank) - 8} more" if len(blank) > 8 else "")
    text = f"{section.text} Not shown, since none of its numbers is finite: {names}.".lstrip()
    return replace(section, panels=tuple(panels), text=text)


def panels_by_name(
    time: FloatArray, names: Sequence[str], values: FloatArray, unit: str | Sequence[str]
) -> tuple[Panel, ...]:
    """A panel a quantity, left and right together, in the order of the columns."""
    units = [unit] * len(names) if isinstance(unit, str) else list(unit)
    together: dict[tuple[str, str], list[Curve]] = {}
    for k, name in enumerate(names):
        curve = Curve(name, time, values[:, k], side_of(name))
        together.setdefault((without_side(name), units[k]), []).append(curve)
    return tuple(
        panel for (title, unit), curves in together.items() for panel in _panels(title, unit, _right_first(curves))
    )


def _right_first(curves: Iterable[Curve]) -> list[Curve]:
    return sorted(curves, key=lambda curve: curve.side, reverse=True)


def _panels(title: str, unit: str, curves: list[Curve]) -> list[Panel]:
    """One panel, unless two columns of one side share a title."""
    if len({curve.side for curve in curves}) == len(curves):
        return [Panel(title, unit, tuple(curves))]
    return [Panel(curve.name.replace("_", " "), unit, (curve,)) for curve in curves]


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
