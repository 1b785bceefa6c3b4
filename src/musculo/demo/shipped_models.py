"""The files that ship with the package, and what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from musculo.model.model import Model
    from musculo.results.table import Table

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
