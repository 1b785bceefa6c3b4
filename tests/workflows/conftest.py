"""What tests of the shell share."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from musculo.cli.main import main


@pytest.fixture
def shell(monkeypatch, capfd):
    """Run a command as the entry point does; returns its status, stdout and stderr."""

    def run(*arguments: object) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["musculo", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return SimpleNamespace(status=ended.value.code or 0, out=out, err=err)

    return run
