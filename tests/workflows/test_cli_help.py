"""What `--help` and the pages say of commands is whole: every tool, every step, every flag as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from musculo.cli.main import app
from musculo.io.file_axes import AXES
from musculo.opensim_tools.setup_runner import TOOLS

QUESTIONS = Path(__file__).parents[2] / "docs" / "questions"
STEPS = ["scale", "ik", "id", "rra", "so", "cmc", "jr", "muscles", "forward", "imu-place", "imu-ik"]


def _options(shell, command):
    """The help of each flag by its name, in one line."""
    text = shell(command, "--help").out.split("Options:")[1]
    lines = re.split(r"\n  (?=-)", text.split("\n\n")[0])
    words = [" ".join(line.split()) for line in lines if line.strip()]
    return {next(word for word in line.replace(",", "").split() if word.startswith("--")): line for line in words}


def test_run_names_all_its_tools(shell):
    said = " ".join(shell("run", "--help").out.split())
    assert [tool for tool in TOOLS if tool not in said] == []


def test_pages_name_all_tools_and_steps():
    setups, look = ((QUESTIONS / name).read_text(encoding="utf-8") for name in ("opensim_setups.md", "look.md"))
    covered = setups.split("## What is covered")[1]
    assert [tool for tool in TOOLS if tool not in covered] == []
    assert "IMU" in setups.split("\n\n")[1]
    leaves = look.split("## The report")[1].split("leaves it at its end")[0]
    assert [step for step in ("run", *STEPS) if f"`musculo {step}`" not in leaves] == []
    known = {command.name for command in app.registered_commands}
    assert set(STEPS) <= known


@pytest.mark.parametrize("command", ["run", *STEPS])
def test_flags_say_what_they_do_in_their_command(shell, command):
    said = _options(shell, command)
    assert ("process" in said["--jobs"]) == (command == "run")
    assert ("Threads" in said["--jobs"]) == (command != "run")
    assert "input" in said["--force"]
    for option, text in said.items():
        for name in re.findall(r"\bFOLDER\b", text.removeprefix("-o, --output FOLDER")):
            pytest.fail(f"{command} {option} names {name}, which is not a flag of its own: {text}")
    for option in {"--up", "--axis"} & said.keys():
        assert all(axis in said[option] for axis in AXES if not axis.startswith("+"))
