"""Optimization of whole motions: state what a motion must do, get the motion.

`node_function` (what is computed at one node; `functions` has those of models) -> `problem` (variables, goals and
constraints) -> `transcription` (over a mesh) -> `solvers` (nonlinear programs) -> `predicted_motion`.
`muscles` has node functions of muscles and the problems with them.
"""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.trajectory")


def __dir__() -> list[str]:
    return sorted(__all__)
