"""The models and motions that ship with the package, and a first run without any data of one's own.

import musculo.demo
model, flexion = musculo.demo.arm(), musculo.demo.arm_flexion()     # an arm, and its elbow flexing by 90 degrees
chain = musculo.demo.arm_chain()                                # markers in; angles, moments, muscles, loads out
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from musculo.demo.chain import ArmChain, arm_chain
    from musculo.model.model import Model
    from musculo.results.table import Table

__all__ = ["ARM_FILE", "ARM_FLEXION_FILE", "MODEL_FILE", "ArmChain", "arm", "arm_chain", "arm_flexion"]

_FOLDER = Path(__file__).parent
ARM_FILE = _FOLDER / "arm.osim"
"""Two joints, six muscles, four wrap surfaces: the arm of Ruggiero2020."""
ARM_FLEXION_FILE = _FOLDER / "arm_flexion.mot"
"""Its elbow flexes from 0 to 90 degrees in a second, 45 (1 - cos pi t), while the shoulder is still."""
MODEL_FILE = _FOLDER / "leg.osim"
"""A planar leg whose patella follows the knee, for first steps with coupled coordinates."""


def arm() -> Model:
    """The arm of `ARM_FILE`."""
    from musculo.io import read_osim

    return read_osim(ARM_FILE)


def arm_flexion() -> Table:
    """The motion of `ARM_FLEXION_FILE`, in degrees as the file has it."""
    from musculo.io.storage import read_storage

    return read_storage(ARM_FLEXION_FILE)


def __getattr__(name: str) -> Any:
    # The files' names are wanted without the numbers; the numbers import numpy, scipy and the kernels.
    if name in ("ArmChain", "arm_chain"):
        return getattr(import_module("musculo.demo.chain"), name)
    raise AttributeError(f"module 'musculo.demo' has no attribute {name!r}")
