"""What the subject is: frozen bodies, joints, couplings, muscles, markers; what scales it and places markers on it."""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.model")


def __dir__() -> list[str]:
    return sorted(__all__)
