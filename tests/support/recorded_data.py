"""Where the recorded data is: models, motions and OpenSim's tables that are no part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

# An empty variable counts as none: as a path it would mean the working directory.
DATA = Path(os.environ.get("MUSCULO_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
NO_DATA = f"no recorded data in {DATA}; set MUSCULO_DATA to the folder that holds it"


def recorded(*patterns: str) -> list[Path]:
    """The files of the data folder that fit one of the patterns, in order; none where there is no such folder."""
    return sorted({file for pattern in patterns for file in DATA.glob(pattern)}) if DATA.is_dir() else []


def within(files: list[Path]) -> list[str]:
    """Their names within the data folder, for the names of tests."""
    return [file.relative_to(DATA).as_posix() for file in files]
