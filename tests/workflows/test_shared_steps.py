"""Set-ups of one call that work on one motion read and filter it once, and give what each gives alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from musculo.analyses import recorded_motion
from musculo.cli.main import app
from musculo.opensim_tools import work
from musculo.opensim_tools.read_once import read_once
from musculo.results.made_once import made_once, shared_by_steps
from musculo.results.table import Table
from support.tool_setups import analyze, arm_folder, inverse_dynamics

CUTOFF = "<lowpass_cutoff_frequency_for_coordinates>6</lowpass_cutoff_frequency_for_coordinates>"
EFFORT = '<StaticOptimization name="StaticOptimization"/>'


@pytest.fixture
def folder(tmp_path):
    return arm_folder(tmp_path, id=inverse_dynamics(CUTOFF), so=analyze(EFFORT, CUTOFF))


def run(folder: Path, *words: str) -> None:
    done = CliRunner().invoke(app, ["run", *words, "--no-report", "-q"])
    assert done.exit_code == 0, done.output


def results(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / "results").glob("*.sto"))}


@pytest.mark.parametrize("flags", [("--exact",), ()])
def test_static_optimization_takes_the_motion_of_inverse_dynamics(folder, monkeypatch, flags):
    counts = {"read": 0, "model": 0, "filtered": 0, "motions": 0}

    def counted(what, function):
        def call(*given, **named):
            counts[what] += 1
            return function(*given, **named)

        return call

    for holder, name, what in (
        (work, "read_storage", "read"),
        (work, "read_osim", "model"),
        (Table, "lowpass", "filtered"),
        (recorded_motion, "_motion", "motions"),
    ):
        monkeypatch.setattr(holder, name, counted(what, getattr(holder, name)))
    setups = [str(folder / "id.xml"), str(folder / "so.xml")]
    run(folder, *setups, *flags)
    together = results(folder)
    # OpenSim's tools differentiate in ways of their own; what the exact method would give is made once for both
    assert counts == {"read": 1, "model": 1, "filtered": 1, "motions": 1 if flags else 3}
    for setup in setups:
        run(folder, setup, "--force", *flags)
    assert together == results(folder)


def test_records_have_the_hashes_of_files_that_were_not_read_again(folder):
    run(folder, str(folder / "id.xml"), str(folder / "so.xml"))
    records = [json.loads(path.read_text()) for path in sorted((folder / "results").glob("*.musculo.json"))]
    assert len(records) == 2
    for name in ("arm.osim", "motion.mot"):
        (first,), (second,) = ({m for p, m in one["inputs"].items() if p.endswith(name)} for one in records)
        assert first == second != ""


def test_a_file_that_changes_between_steps_is_read_again(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one")
    with shared_by_steps():
        assert read_once(_text, file) == "one"
        assert read_once(_text, file) == "one"
        file.write_text("another")
        os.utime(file, ns=(1, 1))
        assert read_once(_text, file) == "another"


def _text(path: Path) -> str:
    from musculo.io.text import read_lines

    return "\n".join(read_lines(path, "a text"))


def test_nothing_is_shared_outside():
    made = [made_once("list", (), list) for _ in range(2)]
    assert made[0] is not made[1]
    part = object()
    with shared_by_steps():
        assert made_once("list", (part,), list) is made_once("list", (part,), list)
        assert made_once("list", (part,), list) is not made_once("list", (object(),), list)


def test_the_next_run_takes_what_it_is_given():
    with shared_by_steps() as made:
        first = made_once("list", (), list)
    with shared_by_steps(made) as more:
        assert made_once("list", (), list) is first
        made_once("other", (), list)
    assert (len(made), len(more)) == (1, 2)
