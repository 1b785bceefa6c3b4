"""What the README says works: its Python runs, its shell lines name what exists."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from musculo.cli.main import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8") if (ROOT / "README.md").exists() else ""
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, flags=re.M | re.S)
PYTHON = [text for language, text in BLOCKS if language == "python"]
SHELL = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines() if line.strip()]


def test_python_blocks_run_in_order():
    """As a reader would type them, one after the other."""
    names: dict = {}
    assert len(PYTHON) >= 3
    for block in PYTHON:
        exec(compile(block, "README.md", "exec"), names)
    assert names["tau_z"].shape == (200, 3)
    assert np.isfinite(names["tau"]).all()
    assert names["model"].joint("knee").coordinate_names == ("knee_flexion",)


def test_the_joint_from_measured_points_moves():
    """The last block's model is whole: the new knee takes part in the dynamics."""
    import musculo

    names: dict = {}
    for block in PYTHON:
        exec(compile(block, "README.md", "exec"), names)
    model = names["model"]
    q = np.array([0.3, 0.5, 0.1, 0.0])
    M = musculo.mass_matrix(model, q)
    assert np.linalg.eigvalsh(M).min() > 0


def test_install_lines_use_their_own_environment_and_known_extras():
    installs = [line for line in SHELL if "pip install" in line]
    assert len(installs) == 2
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for line in installs:
        make, install, run = line.split(" && ")
        assert make == "python3 -m venv .venv"
        assert run.startswith(".venv/bin/")
        for extra in re.findall(r"\[(.*?)\]", install):
            assert set(extra.split(",")) <= set(extras)


def test_commands_exist():
    known = {command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands}
    used = {m for line in SHELL for m in re.findall(r"\.venv/bin/musculo ([\w-]+)", line)}
    assert used == known


def test_sensors_are_turned_by_the_heading_that_was_found():
    """What `imu-place --base` tells to do with trials is done on the next line."""
    lines = {m[1]: line for line in SHELL if (m := re.search(r"musculo (imu-\w+)", line))}
    assert "--base" in lines["imu-place"]
    assert "--heading" in lines["imu-ik"]


def test_how_much_faster_set_ups_run_is_what_the_table_says():
    (row,) = re.findall(r"^\| whole tools, files included.*\| ([\d.; ]+) \|$", README, flags=re.M)
    ratios = [float(word) for word in row.split(";")]
    assert f"the files that OpenSim would, {min(ratios):.0f} to {max(ratios):.0f} times faster" in README


def test_the_main_line_runs_the_demo(monkeypatch, tmp_path, capsys):
    from musculo.cli.main import main

    command = next(line for line in SHELL if line.endswith("musculo demo")).split(" && ")[-1]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "elbow" in capsys.readouterr().out
    stated = re.findall(r"`(musculo-demo/\S+?)`", README)
    assert stated
    assert all((tmp_path / name).exists() for name in stated)


def test_ci_runs_the_readmes_tests():
    """`.ci/run` takes the command from the README, so the two cannot differ."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    pattern = re.search(r"grep -oE '(.*?)' README\.md", script)
    assert pattern is not None
    found = re.findall(pattern.group(1), README, flags=re.M)
    assert found == [".venv/bin/python -m pytest -n 2"]
