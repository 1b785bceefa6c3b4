"""The leg swing as one HTML file that needs no network: plotly.js inside, a few traces, and a stylesheet."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from plotly.offline import get_plotlyjs

from musculo import __version__
from musculo.demo.swing import LegSwing
from musculo.io.text import write_text

# Okabe and Ito's palette: told apart by colour-blind readers, too.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_GRID = "#e3e7ec"
_INK = "#1f2933"


def write_plot(path: Path, swing: LegSwing) -> None:
    """Angles above, moments below, over time."""
    config = {"responsive": True, "displaylogo": False}
    figure = f"Plotly.newPlot('plot', {_json(_traces(swing))}, {_json(_layout())}, {_json(config)});"
    rows = "".join(
        f"<tr><td>{html.escape(p.coordinate)}</td><td>{p.peak:.2f}</td><td>{p.time:.2f}</td><td>{p.mean:.2f}</td></tr>"
        for p in swing.peaks()
    )
    write_text(
        path,
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>musculo demo: a leg swing</title>",
            f"<style>{_STYLE}</style>",
            f"<script>{get_plotlyjs()}</script>",
            "</head><body><main>",
            "<h1>A leg swings: which moments does it take?</h1>",
            f"<p>A motion of {len(swing.time)} frames goes in; inverse dynamics gives the moments about hip, "
            "knee and ankle. Positive flexes hip and knee and lifts the toes.</p>",
            '<div id="plot"></div>',
            "<table><thead><tr><th>coordinate</th><th>peak [N m]</th><th>at [s]</th><th>mean [N m]</th></tr></thead>",
            f"<tbody>{rows}</tbody></table>",
            f"<footer>musculo {__version__}, model {html.escape(swing.model.name)} {swing.model.hash}. "
            f"Newton-Euler recursion and M(q) udot + b(q, u) differ by {swing.residual:.0e} N m at most.</footer>",
            f"</main><script>{figure}</script>",
            "</body></html>",
        ],
    )


def _json(value: Any) -> str:
    # A script element ends at the first "</", also inside a string.
    return json.dumps(value).replace("</", "<\\/")


def _numbers(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _traces(swing: LegSwing) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    for k, name in enumerate(swing.coordinate_names):
        label, line = name.replace("_", " "), {"color": COLOURS[k % len(COLOURS)], "width": 2.5}
        common: dict[str, Any] = {
            "x": _numbers(swing.time),
            "name": label,
            "legendgroup": name,
            "mode": "lines",
            "line": line,
        }
        angle: dict[str, Any] = {
            "y": _numbers(np.degrees(swing.angles[:, k])),
            "yaxis": "y",
            "hovertemplate": "%{y:.1f}°",
        }
        moment: dict[str, Any] = {"y": _numbers(swing.moments[:, k]), "yaxis": "y2", "hovertemplate": "%{y:.2f} N m"}
        traces += [{**common, **angle}, {**common, **moment, "showlegend": False}]
    return traces


def _layout() -> dict[str, Any]:
    def axis(title: str, domain: tuple[float, float]) -> dict[str, Any]:
        return {
            "title": {"text": title, "standoff": 10},
            "domain": domain,
            "gridcolor": _GRID,
            "zerolinecolor": "#9aa5b1",
            "zerolinewidth": 1.5,
            "automargin": True,
        }

    return {
        "height": 620,
        "margin": {"l": 64, "r": 16, "t": 40, "b": 52},
        "font": {"family": "system-ui, sans-serif", "size": 14, "color": _INK},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "hovermode": "x unified",
        "hoversubplots": "axis",
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "xaxis": {"title": {"text": "time [s]"}, "gridcolor": _GRID, "zeroline": False, "anchor": "y2"},
        "yaxis": axis("joint angle [°]", (0.54, 1.0)),
        "yaxis2": axis("joint moment [N m]", (0.0, 0.46)),
    }


_STYLE = (
    f"body{{margin:0;background:#f4f6f8;color:{_INK};font:16px/1.5 system-ui,sans-serif}}"
    "main{max-width:60rem;margin:2rem auto;padding:1.5rem 2rem;background:white;border-radius:12px;"
    "box-shadow:0 1px 4px #0002}"
    "h1{font-size:1.5rem;margin:0 0 .5rem}p{margin:0 0 1rem;color:#52606d}"
    "table{border-collapse:collapse;margin:1rem 0}th,td{padding:.3rem 1rem;text-align:right}"
    f"th{{font-weight:600;border-bottom:2px solid {_GRID}}}td{{border-bottom:1px solid {_GRID}}}"
    "th:first-child,td:first-child{text-align:left;padding-left:0}"
    "footer{font-size:.85rem;color:#7b8794}"
)
