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
TOUR = ROOT / "docs" / "python_tour.md"
COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") if README else ""
SHELL = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines() if line.strip()]


def _run(blocks: list[str], file: str) -> dict:
    """Names that the blocks leave, run one after the other, as a reader would type them."""
    names: dict = {}
    for block in blocks:
        exec(compile(block, file, "exec"), names)
    return names


def test_python_blocks_run():
    assert len(PYTHON) == 1
    names = _run(PYTHON, "README.md")
    frames = len(names["motion"].time)
    assert names["tau"].shape == (frames, 2)
    assert np.isfinite(names["tau"]).all()
    assert names["paths"].moment_arm.shape == (frames, 6, 2)
    assert names["effort"].solved
    assert np.isfinite(names["loads"].force).all()


def test_the_tour_builds_what_it_says():
    """The joint from measured points is part of a whole model, whose dynamics can be computed."""
    import musculo

    blocks = re.findall(r"^```python\n(.*?)^```", TOUR.read_text(encoding="utf-8"), flags=re.M | re.S)
    names = _run(blocks, TOUR.name)
    assert names["tau_z"].shape == (200, 3)
    assert np.isfinite(names["tau"]).all()
    model = names["model"]
    assert model.joint("knee").coordinate_names == ("knee_flexion",)
    M = musculo.mass_matrix(model, np.array([0.3, 0.5, 0.1, 0.0]))
    assert np.linalg.eigvalsh(M).min() > 0
    assert names["falling"].status == "finished"


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 100


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


def _commands(text: str) -> set[str]:
    return set(re.findall(r"(?:^|`|\.venv/bin/)musculo ([a-z][\w-]*)", text, flags=re.M))


def test_commands_exist_and_their_page_has_all():
    known = {command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands}
    assert _commands("\n".join(SHELL)) <= known
    assert _commands(COMMANDS) == known


def test_sensors_are_turned_by_the_heading_that_was_found():
    """What `imu-place --base` tells to do with trials is done on the next line."""
    lines = {m[1]: line for line in COMMANDS.splitlines() if (m := re.search(r"musculo (imu-\w+)", line))}
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
