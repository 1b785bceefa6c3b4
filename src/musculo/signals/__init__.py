"""Signals as arrays over time: splines, filters, gaps, sampling, events. Knows no model and no file."""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.signals")


def __dir__() -> list[str]:
    return sorted(__all__)
