"""`musculo forward`: a simulation from flags, as the set-up file of a ForwardTool asks for it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Table, read_storage
from musculo.cli.exit_codes import BAD_INPUT, GOOD, WRONG_USAGE
from musculo.demo import ARM_FILE, arm
from musculo.io import write_storage
from musculo.opensim import run_setup
from support.tool_setups import document

PAGE = "report.html"


def test_flags_do_what_a_set_up_asks_for(shell, tmp_path):
    names = arm().muscle_names
    write_storage(Table(np.array([0.0, 0.1]), names, np.outer([0.1, 0.4], np.ones(len(names)))), tmp_path / "c.sto")
    ended = shell("forward", ARM_FILE, "-c", tmp_path / "c.sto", "--time", "0:0.1", "-o", tmp_path / "flags")
    assert ended.status == GOOD, ended.err
    assert (tmp_path / "flags" / PAGE).is_file()
    setup = tmp_path / "setup.xml"
    setup.write_text(
        document(
            "ForwardTool",
            f"<model_file>{ARM_FILE}</model_file><results_directory>file</results_directory><final_time>0.1</final_time>"
            "<solve_for_equilibrium_for_auxiliary_states>true</solve_for_equilibrium_for_auxiliary_states>"
            "<ControllerSet><objects><ControlSetController><controls_file>c.sto</controls_file></ControlSetController>"
            "</objects></ControllerSet>",
        )
    )
    run_setup(setup, exact=True)
    for what in ("states.sto", "states_degrees.mot", "controls.sto"):
        ours, theirs = (read_storage(tmp_path / folder / f"arm_{what}") for folder in ("flags", "file"))
        assert ours.names == theirs.names
        assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-7)


def test_a_simulation_goes_on_from_states(shell, tmp_path):
    """Fibers keep the lengths of the file, unless asked for otherwise."""
    assert shell("forward", ARM_FILE, "--time", "0:0.05", "-o", tmp_path / "first", "--no-report").status == GOOD
    states = tmp_path / "first" / "arm_states.sto"
    for more, moved in (((), False), (("--equilibrium",), True)):
        folder = tmp_path / f"then{len(more)}"
        flags = ("-s", states, "--time", "0.05:0.06", "-o", folder, "--no-report", *more)
        assert shell("forward", ARM_FILE, *flags).status == GOOD
        found, before = read_storage(folder / "arm_states.sto"), read_storage(states)
        name = "/forceset/brachialis/fiber_length"
        assert (abs(found.column(name)[0] - before.column(name)[-1]) > 1e-7) == moved


def test_activations_beyond_their_range_begin_at_its_end(shell, tmp_path):
    """OpenSim's activations may fall below zero, and its files are starts like others."""
    assert shell("forward", ARM_FILE, "--time", "0:0.02", "-o", tmp_path / "first", "--no-report").status == GOOD
    states = read_storage(tmp_path / "first" / "arm_states.sto")
    name = "/forceset/brachialis/activation"
    values = np.array(states.values)
    values[:, states.names.index(name)] = -0.04
    write_storage(Table(states.time, states.names, values), tmp_path / "below.sto")
    flags = ("-s", tmp_path / "below.sto", "--time", "0.01:0.02", "-o", tmp_path / "then", "--no-report")
    ended = shell("forward", ARM_FILE, *flags)
    assert ended.status == GOOD
    assert "brachialis is -0.04" in ended.out + ended.err
    assert read_storage(tmp_path / "then" / "arm_states.sto").column(name)[0] == 0.0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("--time 0", WRONG_USAGE, "START:END"),
        ("--time 0.5:", WRONG_USAGE, "needs both times"),
        ("--tolerance 2", WRONG_USAGE, "--tolerance 2"),
        ("-c nothing.sto", BAD_INPUT, "there is no file nothing.sto"),
    ],
)
def test_flags_that_are_wrong(shell, tmp_path, words, status, said):
    ended = shell("forward", ARM_FILE, "-o", tmp_path, *words.split())
    assert ended.status == status
    assert said in ended.err
