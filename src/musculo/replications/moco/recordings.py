"""What the studies have in common: where the recordings are, how numbers are compared, and OpenSim's side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.replications.peer import ask_opensim, opensim_version
from musculo.replications.study import NOT_INSTALLED, NOT_RUN, Settings, Study

SOURCE = "Dembia et al. (2020), OpenSim Moco: musculoskeletal optimal control; De Groote et al. (2016)"
# Moco's own tests ask for this root mean square.
AS_MOCO = 1e-2
# Times as long as Moco takes, the goal.
TIMES = 30.0

# How long Moco takes: the processor time of its call alone.
_TIMED = """
import resource
def seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
def timed(call):
    before = seconds()
    found = call()
    answer["seconds"] = seconds() - before
    return found
def names(values):
    found = opensim.StdVectorString()
    for value in values:
        found.append(value)
    return found
"""


def folder_of(settings: Settings, name: str) -> Path | None:
    """The folder of recorded data, where it is there: in the folder of the settings, or that itself."""
    if settings.data is None:
        return None
    for found in (settings.data / name, settings.data):
        if found.is_dir() and any(found.glob("*.osim")) and found.name == Path(name).name:
            return found.resolve()
    return None


def missing(name: str, title: str, folder: str) -> Study:
    """A study without its data."""
    return Study(name, title, SOURCE, "", missing=f"no {folder} in the recorded data (--data FOLDER)")


def rms(differences: Sequence[FloatArray]) -> float:
    """The root mean square of all of them."""
    return float(np.sqrt(np.mean(np.square(np.asarray(differences)))))


def least_seconds(call: Callable[[], Any], times: int = 3) -> tuple[Any, float]:
    """What a call gives, and its least processor time [s]: the first call may compile."""
    found, least = None, float("inf")
    for _ in range(times):
        start = time.process_time()
        found = call()
        least = min(least, time.process_time() - start)
    return found, least


def ask_moco(settings: Settings, script: str, folder: Path) -> tuple[dict[str, FloatArray], str]:
    """What Moco finds, and why it was not asked."""
    if not settings.opensim:
        return {}, NOT_RUN
    if not opensim_version():
        return {}, NOT_INSTALLED
    return ask_opensim(_TIMED + script, {"folder": str(folder)}), ""
