"""OpenSim's tools: set-up files read and run, with OpenSim's methods or with better ones."""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.opensim")


def __dir__() -> list[str]:
    return sorted(__all__)
