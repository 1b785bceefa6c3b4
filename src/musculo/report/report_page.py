"""A report as one HTML file: styles, scripts, numbers and the 3D scene inside, nothing to fetch."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from contextlib import suppress
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from musculo import __version__
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Light
from musculo.errors import MusculoError
from musculo.io.text import PathLike, write_text
from musculo.kernels.compiler.store import folder_of
from musculo.report.page_parts import Band, Curve, Report, Section, TextTable

# A curve of more frames is drawn by the least and the largest value of so many equal parts: what a screen can show.
_PARTS = 800
# In the order in which they need each other.
_SCRIPTS = ("curves.js", "figures.js", "controls.js")
_GAP = 65535
# What a light says in words and as a sign, for readers who do not see its colour.
_SAID = {
    Light.GOOD: ("good", "✓"),
    Light.LOOK: ("take a look", "!"),
    Light.BAD: ("not good", "✕"),
    Light.UNJUDGED: ("not judged", "–"),
    Light.INFO: ("fact", "i"),
}


_NOTHING = "Nothing to judge: no marker or tracking errors, residuals, reserves or scale factors found."


def write_report(path: PathLike, report: Report) -> None:
    """Write the page. It opens from a mail attachment: no network, no other file."""
    write_text(path, [page(report)])


def page(report: Report) -> str:
    """The HTML of a report."""
    web = files("musculo.report") / "web"
    style = (web / "report.css").read_text(encoding="utf-8")
    script = "".join((web / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    sections = [(f"section-{k}", section) for k, section in enumerate(report.sections)]
    links = [("summary", "Summary"), *((name, section.title) for name, section in sections)]
    links += [("scene", "3D view")] if report.scene else []
    links += [("provenance", "Provenance")]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(report.title)}</title>",
            f"<style>{style}</style>",
            "</head><body>",
            '<a class="skip" href="#summary">Skip to the summary</a>',
            _header(report, links),
            "<main>",
            _summary(report),
            *(_section(name, section) for name, section in sections),
            _scene(report),
            _provenance(report),
            "</main>",
            f"<footer>Made by musculo {_text(__version__)}. One file, nothing to fetch.</footer>",
            f'<script type="application/json" id="data">{_json(_data(report))}</script>',
            f'<script type="text/plain" id="scene-data">{_zipped(report.scene)}</script>',
            # the page is painted before the plots' library is read
            f'<script type="text/plain" id="plotly">{_plots_library()}</script>',
            f'<script>"use strict";\n(() => {{\n{script}}})();</script>',
            "</body></html>",
        ]
    )


def _text(value: object) -> str:
    return html.escape(str(value))


def _json(value: Any) -> str:
    """JSON for a script element, which ends at the first "</" and hides what follows "<!--", even in a string."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def _zipped(text: str) -> str:
    """Compressed text in base64: a third of its size, and no script element can end in it."""
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode() if text else ""


def _plots_library() -> str:
    """Plotly's script, compressed once for every version of it: that takes longer than all else of a small page."""
    file = folder_of("report") / f"plotly-{version('plotly')}.txt"
    kept = _kept(file)
    if kept is not None:
        return kept
    from plotly.offline import get_plotlyjs

    script = _zipped(get_plotlyjs())
    with suppress(MusculoError, OSError):  # the next page compresses it again
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, [_digest(script), script])
    return script


def _kept(file: Path) -> str | None:
    """The text of a file that starts with its digest; None where there is none, or it is damaged."""
    try:
        digest, _, text = file.read_text(encoding="ascii").partition("\n")
    except (OSError, ValueError):
        return None
    text = text.rstrip("\n")
    return text if digest == _digest(text) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _header(report: Report, links: list[tuple[str, str]]) -> str:
    items = "".join(f'<a href="#{name}">{_text(title)}</a>' for name, title in links)
    buttons = [
        '<button id="axis" hidden aria-pressed="false" title="Key: c">% of gait cycle</button>'
        if report.cycles
        else "",
        '<button id="normal" hidden aria-pressed="true" title="Key: r">normal range</button>'
        if report.cycles and any(section.normal for section in report.sections)
        else "",
        '<button id="per-mass" hidden aria-pressed="false" title="Key: k">per kg</button>'
        if report.mass and any(section.per_mass for section in report.sections)
        else "",
        '<button id="theme" title="Key: d">dark / light</button>',
        '<button id="print" title="Print, or save as PDF">print</button>',
    ]
    return (
        f'<header><div class="name"><span class="light {report.light.value}">{_SAID[report.light][1]}</span>'
        f"<h1>{_text(report.title)}</h1></div><nav aria-label='Contents'>{items}</nav>"
        f'<div class="tools">{"".join(buttons)}</div></header>'
    )


def _summary(report: Report) -> str:
    rows = "".join(_finding(one) for one in report.checks)
    notes = "".join(f"<li>{_text(note)}</li>" for note in report.notes)
    more = f"<details><summary>Notes ({len(report.notes)})</summary><ul>{notes}</ul></details>" if report.notes else ""
    told = "".join(f"<div><dt>{_text(k)}</dt><dd>{_text(v)}</dd></div>" for k, v in report.facts)
    facts = f'<dl class="facts">{told}</dl>' if told else ""
    judged = any(check.light in (Light.GOOD, Light.LOOK, Light.BAD) for check in report.checks)
    none = "" if judged else f"<p>{_NOTHING}</p>"
    checks = f'<ul class="checks">{rows}</ul>' if rows else ""
    return f'<section id="summary" tabindex="-1"><h2>Summary</h2>{facts}{none}{checks}{more}</section>'


def _finding(finding: Finding) -> str:
    said, sign = _SAID[finding.light]
    light = finding.light.value
    advice = f'<p class="advice">{_text(finding.advice)}</p>' if finding.advice else ""
    return (
        f'<li class="{light}"><span class="light {light}" role="img" aria-label="{said}">{sign}'
        f"</span><div><h3>{_text(finding.title)}</h3><p>{_text(finding.text)}</p>{advice}</div></li>"
    )


def _section(name: str, section: Section) -> str:
    text = f"<p>{_text(section.text)}</p>" if section.text else ""
    filter_box = (
        f'<input type="search" class="filter" placeholder="filter" aria-label="Filter {_text(section.title)}">'
        if len(section.panels) > 12
        else ""
    )
    number = name.rpartition("-")[2]
    panels = f'<div class="panels" data-section="{number}"></div>' if section.panels else ""
    bars = f'<div class="bars" data-section="{number}"></div>' if section.bars else ""
    inside = f"{text}{''.join(_table(table) for table in section.tables)}{panels}{bars}"
    if section.folded:
        inside = f'<details class="fold"><summary>show</summary>{inside}</details>'
    return (
        f'<section id="{name}" tabindex="-1"><div class="heading"><h2>{_text(section.title)}</h2>{filter_box}</div>'
        f"{inside}</section>"
    )


def _table(table: TextTable) -> str:
    """A table; numbers stand to the right."""
    kinds = ['class="number"' if column in table.numbers else "" for column in table.columns]
    head = "".join(f'<th scope="col" {k}>{_text(c)}</th>' for c, k in zip(table.columns, kinds, strict=True))
    rows = "".join(
        "<tr>"
        + f'<th scope="row">{_linked(row[0], table)}</th>'
        + "".join(f"<td {kind}>{_text(cell)}</td>" for cell, kind in zip(row[1:], kinds[1:], strict=True))
        + "</tr>"
        for row in table.rows
    )
    title = f"<caption>{_text(table.title)}</caption>" if table.title else ""
    body = f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="sheet" tabindex="0">{body}</div>'


def _linked(name: str, table: TextTable) -> str:
    link = table.links.get(name)
    return f'<a href="{_text(quote(link))}">{_text(name)}</a>' if link else _text(name)


def _scene(report: Report) -> str:
    if not report.scene:
        return ""
    return (
        '<section id="scene" tabindex="-1"><h2>3D view</h2><div class="scene">'
        '<iframe title="The motion in three dimensions" loading="lazy"></iframe></div></section>'
    )


def _provenance(report: Report) -> str:
    rows = "".join(f"<tr><th scope='row'>{_text(k)}</th><td>{_text(v)}</td></tr>" for k, v in report.provenance)
    return f'<section id="provenance" tabindex="-1"><h2>Provenance</h2><table>{rows}</table></section>'


# --- numbers ----------------------------------------------------------------------------------------------------------
def _data(report: Report) -> dict[str, Any]:
    times: dict[int, int] = {}
    axes: list[str] = []

    def curve(c: Curve) -> dict[str, Any]:
        if len(c.time) > 2 * _PARTS:
            time, values = thinned(c.time, c.values)
            return {"name": c.name, "side": c.side, "x": _stepped(time), "y": _stepped(values)}
        # curves of one table share their times
        if id(c.time) not in times:
            times[id(c.time)] = len(axes)
            axes.append(_packed(c.time))
        band = {"spread": _packed(c.spread)} if c.spread is not None else {}
        color = {"color": c.color} if c.color is not None else {}
        color |= {"measured": True} if c.measured else {}
        return {"name": c.name, "side": c.side, "t": times[id(c.time)], "y": _packed(c.values)} | band | color

    sections = [
        {
            "title": section.title,
            "per_mass": section.per_mass,
            "normal": section.normal,
            "byTime": section.by_time,
            "panels": [
                {
                    "title": p.title,
                    "unit": p.unit,
                    "range": p.range,
                    "limit": p.limit,
                    "notJudged": p.not_judged,
                    "across": p.across,
                    "positive": p.positive,
                    "normal": _band(p.normal),
                    "curves": [curve(c) for c in p.curves],
                }
                for p in section.panels
            ],
            "bars": [
                {
                    "title": b.title,
                    "unit": b.unit,
                    "names": b.names,
                    "line": b.line,
                    "base": b.base,
                    "series": {label: [_finite(v) for v in values] for label, values in b.series.items()},
                }
                for b in section.bars
            ],
        }
        for section in report.sections
    ]
    cycles = {side: [float(t) for t in marks] for side, marks in report.cycles.items()}
    missing = dict(report.missing_cycles)
    return {"sections": sections, "times": axes, "mass": report.mass, "cycles": cycles, "missing": missing} | {
        "stance": {side: float(share) for side, share in report.stance.items()}
    }


def _band(band: Band | None) -> dict[str, str] | None:
    if band is None:
        return None
    return {"x": _packed(band.percent), "low": _packed(band.low), "high": _packed(band.high)}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _packed(values: FloatArray) -> str:
    """Four bytes a number, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def _stepped(values: FloatArray) -> list[Any]:
    """Least and largest value, and two bytes a number between them in base64; 65535 is a gap.

    Half a step is 8e-6 of the curve's range, far below what a screen shows: thinned curves are for the eye.
    """
    finite = np.isfinite(values)
    low, high = (float(values[finite].min()), float(values[finite].max())) if finite.any() else (0.0, 0.0)
    span = high - low
    steps = np.full(len(values), _GAP, dtype="<u2")
    part = (values[finite] - low) / span if span > 0.0 else np.zeros(int(finite.sum()))
    steps[finite] = np.rint(part * (_GAP - 1))
    return [low, high, base64.b64encode(steps.tobytes()).decode()]


def thinned(time: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A curve by the least and the largest value of each of `_PARTS` equal parts, in order; ends and peaks stay."""
    size = -(-len(time) // _PARTS)
    finite = np.where(np.isfinite(values), values, np.nan)
    parts = np.pad(finite, (0, size * _PARTS - len(time)), constant_values=np.nan).reshape(_PARTS, size)
    first = size * np.arange(_PARTS)
    low = first + np.where(np.isnan(parts), np.inf, parts).argmin(axis=1)
    high = first + np.where(np.isnan(parts), -np.inf, parts).argmax(axis=1)
    rows = np.unique(np.concatenate([[0, len(time) - 1], low, high]))
    rows = rows[rows < len(time)]
    return time[rows], finite[rows]
