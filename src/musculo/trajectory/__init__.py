"""Optimization of whole motions: state what a motion must do, get the motion.

`node_function` (what is computed at one node) -> transcription over a mesh -> `solvers` (nonlinear programs). `muscles`
has node functions of muscles and the problems with them.
"""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.trajectory")


def __dir__() -> list[str]:
    return sorted(__all__)
