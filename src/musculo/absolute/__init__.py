"""The second road: absolute coordinates, joints as constraint equations, motion prescribed by drivers.

Every body has a position and Euler parameters, every joint is a few equations, and inverse dynamics finds Lagrange
multipliers (Antunes2025, Ruggiero2020). It shares no mechanics with the recursions, so that the two check each other.
"""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.absolute")


def __dir__() -> list[str]:
    return sorted(__all__)
