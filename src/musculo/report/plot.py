"""One plot as one HTML file: curves or a surface that can be turned, nothing to fetch."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import plotly.io

from musculo.replications.study import Plot


def plot_page(plot: Plot) -> str:
    """The HTML of a plot; the library that draws it is inside."""
    figure = go.Figure()
    if plot.z is not None:
        scale = {"title": {"text": plot.z_label}}
        figure.add_trace(go.Surface(x=plot.x, y=plot.y, z=plot.z, colorscale="Viridis", colorbar=scale))
        axes = {"xaxis": plot.x_label, "yaxis": plot.y_label, "zaxis": plot.z_label}
        scene: dict[str, Any] = {axis: {"title": {"text": text}} for axis, text in axes.items()}
        # from a little further off than usual, so that no corner is cut
        figure.update_layout(scene=scene | {"camera": {"eye": {"x": 1.7, "y": 1.7, "z": 1.1}}})
    for name, values in plot.curves.items():
        figure.add_trace(go.Scatter(x=plot.x, y=values, name=name, mode="lines"))
    if plot.curves:
        figure.update_xaxes(title_text=plot.x_label)
        figure.update_yaxes(title_text=plot.y_label)
    figure.update_layout(title={"text": plot.title}, template="plotly_white")
    page: str = plotly.io.to_html(figure, include_plotlyjs=True, full_html=True)
    return page
