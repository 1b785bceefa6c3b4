"""What all tests share: where the recorded data is, and the model that ships with the package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

from musculo import Model, read_osim, write_osim
from musculo.demo import MODEL_FILE
from support.listed_signatures import watch
from support.recorded_data import DATA, NO_DATA

watch()

# Examples have no time limit: machines differ, and the first call of a kernel compiles it.
hypothesis.settings.register_profile("musculo", deadline=None)
hypothesis.settings.load_profile("musculo")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """OpenSim models and tables that are not part of the repository."""
    if not DATA.is_dir():
        pytest.skip(NO_DATA)
    return DATA


@pytest.fixture(scope="session")
def leg() -> Model:
    """The planar leg that ships with the package."""
    return read_osim(MODEL_FILE)


@pytest.fixture
def rewrite(tmp_path) -> Callable[[Model], tuple]:
    """A model after write and read, with the notes of the writer."""

    def again(model: Model):
        notes = write_osim(model, tmp_path / "again.osim")
        return read_osim(tmp_path / "again.osim"), notes

    return again
