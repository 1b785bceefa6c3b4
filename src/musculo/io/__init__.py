"""Files to models and results and back; the only place with foreign units and formats."""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.io")


def __dir__() -> list[str]:
    return sorted(__all__)
