"""Figures of tables by matplotlib, which is not installed with musculo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.model.named_sides import side_of, without_side

_COLORS = {"r": "#0072b2", "l": "#d55e00", "": "#00734f"}
_STYLES = {"r": "-", "l": "--", "": "-"}


def pyplot() -> Any:
    """The module of that name."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise InvalidInput(
            "plot needs matplotlib, which is not installed: pip install matplotlib; in a notebook a table shows "
            "itself, and musculo.report makes pages"
        ) from None
    return pyplot


def plot_columns(
    time: FloatArray, names: Sequence[str], values: FloatArray, units: Sequence[str], columns: int = 3, **options: Any
) -> Any:
    """A figure with a plot for each quantity, left and right together; what does not move is not shown."""
    plt = pyplot()
    groups: dict[tuple[str, str], list[int]] = {}
    for k, name in enumerate(names):
        unit = units[k] if units else ""
        if len(time) and not np.ptp(values[:, k]) <= 1e-9:
            groups.setdefault((without_side(name), unit), []).append(k)
    if not groups:
        raise InvalidInput(f"none of {', '.join(names[:6]) or 'no columns'} moves, so there is nothing to plot")
    across = max(1, min(columns, len(groups)))
    down = -(-len(groups) // across)
    shape: dict[str, Any] = {"figsize": (3.6 * across, 2.4 * down), "layout": "constrained"} | options
    figure, axes = plt.subplots(down, across, squeeze=False, **shape)
    for ax, ((title, unit), members) in zip(axes.flat, groups.items(), strict=False):
        for k in members:
            side = side_of(names[k])
            ax.plot(time, values[:, k], _STYLES[side], color=_COLORS[side], label=names[k])
        ax.set_title(f"{title} [{unit}]" if unit else title, fontsize="medium")
        if len(members) > 1:
            ax.legend(fontsize="x-small", frameon=False)
    for ax in axes.flat[len(groups) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]")
    return figure
