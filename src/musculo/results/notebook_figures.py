"""How results show themselves in a notebook: facts and small curves, as HTML that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.model.model_notebook import facts_html

# A notebook shows so many curves; the rest is counted.
MOST_CURVES = 12
_POINTS, _WIDTH, _HEIGHT = 120, 180, 28
_BLUE = "#0072b2"
# A curve spans at least so much of its size, or this: what varies less is shown flat, since it is rounding.
_LEAST_PART, _LEAST_SPAN = 1e-6, 1e-9


def series_html(
    title: str,
    time: FloatArray | None,
    names: Sequence[str],
    values: FloatArray,
    units: Sequence[str] = (),
    facts: Iterable[tuple[str, object]] = (),
) -> str:
    """Columns over time: a small curve each, with the least and the largest value.

    Args:
        title: the heading.
        time: (frames,) [s]; None where the frames have no times.
        names: of the columns.
        values: (frames, columns).
        units: of the columns, or empty.
        facts: further rows above the curves.
    """
    across = np.arange(float(len(values))) if time is None else time
    rows = []
    for k, name in enumerate(names[:MOST_CURVES]):
        column = values[:, k]
        seen = column[np.isfinite(column)]
        span = f"{seen.min():.4g} … {seen.max():.4g}" if seen.size else "no values"
        unit = units[k] if len(units) == len(names) else ""
        rows.append(
            f"<tr><td style='text-align:left'>{html.escape(name)}</td><td>{_curve(across, column)}</td>"
            f"<td style='text-align:left'>{span} {html.escape(unit)}</td></tr>"
        )
    more = f"<p>and {len(names) - MOST_CURVES} more columns</p>" if len(names) > MOST_CURVES else ""
    when = f"{len(values)} frame{'' if len(values) == 1 else 's'}"
    if time is not None and len(time):
        when += f", {time[0]:g} to {time[-1]:g} s"
    return facts_html(title, [("frames", when), *facts], f"<table>{''.join(rows)}</table>{more}")


def _curve(time: FloatArray, values: FloatArray) -> str:
    """A line without axes; gaps break it."""
    some = np.unique(np.linspace(0, max(len(time) - 1, 0), min(_POINTS, len(time))).astype(int))
    t, y = time[some], values[some]
    good = np.isfinite(y)
    if not good.any():
        return ""
    low, high = y[good].min(), y[good].max()
    across = (t - t[0]) / (t[-1] - t[0]) if len(t) > 1 and t[-1] > t[0] else np.full(len(t), 0.5)
    least = max(_LEAST_PART * float(np.abs(y[good]).max()), _LEAST_SPAN)
    up = 0.5 + (y - 0.5 * (low + high)) / max(high - low, least)
    x, z = 2.0 + (_WIDTH - 4.0) * across, 2.0 + (_HEIGHT - 4.0) * (1.0 - up)
    path, pen = [], "M"
    for k in range(len(t)):
        if good[k]:
            path.append(f"{pen}{x[k]:.1f} {z[k]:.1f}")
        pen = "L" if good[k] else "M"
    return (
        f"<svg width='{_WIDTH}' height='{_HEIGHT}' role='img'>"
        f"<path d='{''.join(path)}' fill='none' stroke='{_BLUE}' stroke-width='1.5'/></svg>"
    )
