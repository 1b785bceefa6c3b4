"""What tests of the shell share."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from musculo.cli.main import main


class Ended(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def shell(monkeypatch, capfd) -> Callable[..., Ended]:
    """Run a command as the entry point does, in a window of 80 columns."""

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["musculo", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "80")
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        gc.unfreeze()  # this process goes on
        return Ended(ended.value.code or 0, *capfd.readouterr())

    return run
