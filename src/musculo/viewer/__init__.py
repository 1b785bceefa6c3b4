"""A model and its motion in the browser: a scene made in Python, drawn by one page without a network."""

from __future__ import annotations

from musculo.viewer.scene import Scene, view

__all__ = ["Scene", "view"]
