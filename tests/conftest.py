"""What all tests share: where the recorded data is, and the model that ships with the package."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

from musculo import Model, read_osim
from musculo.demo import MODEL_FILE

# Examples have no time limit: machines differ, and the first call of a kernel compiles it.
hypothesis.settings.register_profile("musculo", deadline=None)
hypothesis.settings.load_profile("musculo")

DATA = Path(os.environ.get("MUSCULO_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """OpenSim models and tables that are not part of the repository."""
    if not DATA.is_dir():
        pytest.skip(f"no recorded data in {DATA}; set MUSCULO_DATA to the folder that holds it")
    return DATA


@pytest.fixture(scope="session")
def leg() -> Model:
    """The planar leg that ships with the package."""
    return read_osim(MODEL_FILE)
