"""Motion from forces: integrators, events, constraints kept by multipliers."""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.simulation")


def __dir__() -> list[str]:
    return sorted(__all__)
