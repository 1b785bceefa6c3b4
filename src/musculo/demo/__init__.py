"""A first run without any data of one's own: a leg swings, and out come the moments that swing it.

from musculo.demo import MODEL_FILE, MOTION_FILE, leg_swing
leg_swing().moments        # (frames, independent coordinates) [N m]
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from musculo.demo.swing import LegSwing, leg_swing

__all__ = ["MODEL_FILE", "MOTION_FILE", "LegSwing", "leg_swing"]

_FOLDER = Path(__file__).parent
MODEL_FILE = _FOLDER / "leg.osim"
MOTION_FILE = _FOLDER / "leg_swing.mot"


def __getattr__(name: str) -> Any:
    # The files' names are wanted without the numbers; the numbers import numpy, scipy and the kernels.
    if name in ("LegSwing", "leg_swing"):
        return getattr(import_module("musculo.demo.swing"), name)
    raise AttributeError(f"module 'musculo.demo' has no attribute {name!r}")
