"""ForwardTool without OpenSim: what it writes, refuses and says."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Table, read_osim, read_storage, simulate, write_osim
from musculo.demo import ARM_FILE, arm
from musculo.errors import InvalidInput, Unsupported
from musculo.io import write_storage
from musculo.opensim import run_setup
from musculo.opensim_tools.records.result import Status
from support.tool_setups import document

SPAN = "<initial_time>0</initial_time><final_time>0.1</final_time>"
BALANCED = "<solve_for_equilibrium_for_auxiliary_states>true</solve_for_equilibrium_for_auxiliary_states>"
CONTROLS = (
    '<ControllerSet><objects><ControlSetController name="c"><controls_file>c.sto</controls_file>'
    "</ControlSetController></objects></ControllerSet>"
)
# A hundredth of the tool's tolerance, and ours of the comparison: errors of a short motion are about ten times these.
NEAR = 5e-5


def folder(path: Path, content: str, results: str = "results", **files: Table) -> Path:
    path.mkdir(exist_ok=True)
    shutil.copy(ARM_FILE, path / "arm.osim")
    head = f"<model_file>arm.osim</model_file><results_directory>{results}</results_directory>{SPAN}"
    (path / "setup.xml").write_text(document("ForwardTool", head + content))
    for name, table in files.items():
        write_storage(table, path / f"{name}.sto")
    return path / "setup.xml"


def controls() -> Table:
    names = arm().muscle_names
    return Table(np.array([0.0, 0.05, 0.1]), names, np.outer([0.1, 0.3, 0.2], np.ones(len(names))))


def test_it_is_the_simulation_of_the_package(tmp_path):
    setup = folder(tmp_path, BALANCED + CONTROLS, c=controls())
    model = read_osim(ARM_FILE)
    for exact in (False, True):
        result = run_setup(setup, exact=exact, output=tmp_path / str(exact), compare=False)
        assert result.status is Status.DONE
        found = read_storage(tmp_path / str(exact) / "arm_states.sto")
        like = None if exact else "opensim"
        table = controls()
        own = simulate(model, None, None, found.time, excitations=table, like=like, rtol=1e-9, atol=1e-9).to_table()
        assert set(found.names) == set(own.names)
        for name in found.names:
            assert_allclose(found.column(name), own.column(name), rtol=0, atol=NEAR, err_msg=name)


def test_it_says_how_far_the_exact_method_comes(tmp_path):
    setup = folder(tmp_path, BALANCED + CONTROLS, c=controls())
    result = run_setup(setup)
    (note,) = [one for one in result.notes if "--exact" in one]
    ends = [read_storage(run_setup(setup, exact=e, output=tmp_path / str(e)).files[1]) for e in (False, True)]
    name = note.split("(")[1].split(";")[0]
    k = [column.split("/")[-2:] for column in ends[0].names].index([name, "value"])
    assert float(note.split("ends ")[1].split()[0]) == pytest.approx(
        abs(ends[0].values[-1, k] - ends[1].values[-1, k]), rel=0.01
    )


def test_nothing_runs_twice_and_inputs_stay(tmp_path):
    setup = folder(tmp_path, BALANCED + CONTROLS, c=controls())
    assert run_setup(setup, force=False).status is Status.DONE
    assert run_setup(setup, force=False).status is Status.UNCHANGED
    states = "<states_file>results/arm_states.sto</states_file>"
    again = folder(tmp_path, states + CONTROLS)
    with pytest.raises(InvalidInput, match=r"arm_states\.sto is an input, too"):
        run_setup(again)


def test_a_simulation_goes_on_where_another_ended(tmp_path):
    """Half a motion, and the rest from its states, is the whole motion."""
    whole = folder(tmp_path / "whole", BALANCED + CONTROLS, c=controls())
    half = folder(tmp_path / "half", BALANCED + CONTROLS, c=controls())
    half.write_text(half.read_text().replace("<final_time>0.1<", "<final_time>0.06<").replace(SPAN, SPAN))
    run_setup(whole, compare=False)
    run_setup(half, compare=False)
    states = f"<states_file>{tmp_path}/half/results/arm_states.sto</states_file>"
    rest = folder(tmp_path / "rest", states + CONTROLS, c=controls())
    rest.write_text(rest.read_text().replace("<initial_time>0<", "<initial_time>0.06<"))
    result = run_setup(rest, compare=False)
    assert not result.notes
    first, last = (read_storage(path.parent / "results" / "arm_states.sto") for path in (whole, rest))
    assert last.time[0] == pytest.approx(0.06, abs=1e-8)
    assert_allclose(last.values[-1], first.values[-1], rtol=0, atol=NEAR)


def test_a_pulse_between_steps_is_not_missed(tmp_path):
    """A muscle that rests, but for 2 ms between nodes 0.5 ms apart, where steps may have large errors."""
    times = np.linspace(0.0, 0.1, 201)
    pulse = Table(times, ("biceps_long",), np.where(np.abs(times - 0.061) < 0.001, 1.0, 0.05)[:, None])
    loose = "<integrator_error_tolerance>1</integrator_error_tolerance>"
    setup = folder(tmp_path, BALANCED + CONTROLS + loose, c=pulse)
    run_setup(setup, compare=False)
    states = read_storage(tmp_path / "results" / "arm_states.sto")
    found = states.column("/forceset/biceps_long/activation")
    assert found[states.time > 0.062].max() > 2.0 * found[states.time < 0.06].max()


def test_a_start_off_a_lock_is_moved_onto_it(tmp_path):
    setup = folder(
        tmp_path,
        "<states_file>s.sto</states_file>",
        s=Table(np.zeros(1), ("/jointset/elbow/elbow_flexion/value",), np.array([[0.3]])),
    )
    write_osim(arm().with_coordinate("elbow_flexion", locked=True, default_value=0.5), tmp_path / "arm.osim")
    result = run_setup(setup, compare=False)
    assert any("moved onto couplers, locks and loops" in one and "elbow_flexion by 0.2" in one for one in result.notes)
    found = read_storage(tmp_path / "results" / "arm_states.sto")
    assert_allclose(found.column("/jointset/elbow/elbow_flexion/value"), 0.5, rtol=0, atol=1e-8)


def test_sums_that_are_not_computed_name_the_actuator(tmp_path):
    waves = "<objects><Sine><amplitude>0.1</amplitude></Sine></objects>"
    second = (
        '<PrescribedController name="p"><actuator_list>brachialis</actuator_list>'
        f'<FunctionSet name="ControlFunctions">{waves}</FunctionSet></PrescribedController>'
    )
    two = CONTROLS.replace("</objects>", f"{second}</objects>")
    with pytest.raises(Unsupported, match="2 controllers drive 'brachialis', and a sum with Sine"):
        run_setup(folder(tmp_path, two, c=controls()))


def test_states_that_are_no_numbers_are_refused(tmp_path):
    bad = Table(np.zeros(1), ("/forceset/brachialis/activation",), np.array([[np.nan]]))
    with pytest.raises(InvalidInput, match="values that are no numbers"):
        run_setup(folder(tmp_path, "<states_file>s.sto</states_file>", s=bad))
    other = Table(np.zeros(1), ("/forceset/gluteus/activation",), np.array([[0.1]]))
    with pytest.raises(InvalidInput, match="no column of a state of the model"):
        run_setup(folder(tmp_path, "<states_file>s.sto</states_file>", s=other))
