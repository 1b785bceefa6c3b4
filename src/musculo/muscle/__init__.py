"""Muscle paths, their wrapping and moment arms; curves, activation and equilibrium of muscles."""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.muscle")


def __dir__() -> list[str]:
    return sorted(__all__)
