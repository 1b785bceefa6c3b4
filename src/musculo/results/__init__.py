"""What functions return: labeled time series and solver outcomes, their statuses, and what made them."""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.results")


def __dir__() -> list[str]:
    return sorted(__all__)
