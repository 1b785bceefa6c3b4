"""Commands begin to compile what they will call: the table of `musculo.cli.drivers` names it, in the order of need."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from musculo.cli import drivers, main
from musculo.cli.commands import reproduce
from musculo.cli.commands.reproduce import FALLS_SHORT
from musculo.demo import arm, arm_chain
from musculo.io import write_orientations, write_storage
from musculo.kernels.compiler import parts
from musculo.replications import timing
from musculo.replications.closed_loops import squeezer_work
from musculo.replications.joints import rival_times
from musculo.replications.prediction import lifting
from musculo.report import folder_report as report_folder
from musculo.results import Orientations, Table
from musculo.trajectory import Radau
from support import listed_signatures
from support.tool_setups import ARM_TASKS, RESERVES

STEPS = {
    "scale": "scale arm.osim -o subject.osim --static arm_markers.trc --factors ulna_radius_hand=1.1 --mass 70",
    "walk": "walk arm.osim arm_markers.trc --time 0:1 -o {}",
    "ik": "ik arm.osim arm_markers.trc -o {}",
    "id": "id arm.osim arm_ik.mot --lowpass 6 -o {}",
    "rra": "rra arm.osim arm_ik.mot --tasks tasks.xml --actuators reserves.xml --lowpass 6 --time 0:0.1 -o {}",
    "cmc": "cmc arm.osim arm_ik.mot --actuators reserves.xml --lowpass 6 --time 0.2:0.3 -o {}",
    "so": "so arm.osim arm_ik.mot --lowpass 6 --reserve 1 -o {}",
    "jr": "jr arm.osim arm_ik.mot --time 0:1 -m arm_StaticOptimization_force.sto -o {}",
    "muscles": "muscles arm.osim arm_ik.mot --time 0:1 -a arm_StaticOptimization_activation.sto -o {}",
    "forward": "forward arm.osim -c controls.sto --time 0:0.05 -o {}",
    "imu-place": "imu-place arm.osim still.sto -o placed.osim",
    "imu-ik": "imu-ik placed.osim still.sto -o {}",
}
COMMANDS = {
    "demo": "demo -o {}",
    **STEPS,
    **{f"{name} {drivers.LIKE_OPENSIM}": f"{line} {drivers.LIKE_OPENSIM}" for name, line in STEPS.items()},
    f"id {drivers.CHECK}": f"{STEPS['id']} {drivers.CHECK}",
    "view": "view arm.osim arm_ik.mot --no-open -o page.html",
    "report": "report . -o page.html",
    "info": "info arm.osim",
    "convert": "convert arm.osim new.osim",
    "uncertainty": "uncertainty arm.osim arm_markers.trc --masses 5 -n 2 -j 1 -o {}",
    "fit-paths": "fit-paths arm.osim --motion arm_ik.mot --samples 100 -o fitted.osim",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm")
    arm_chain().write(path)
    (path / "tasks.xml").write_text(ARM_TASKS)
    (path / "reserves.xml").write_text(RESERVES)
    still = Orientations.from_rotations([0.0], (f"{arm().body_names[-1]}_imu",), np.eye(3)[None, None])
    write_orientations(still, path / "still.sto")
    names = arm().muscle_names
    rows = np.full((2, len(names)), 0.1)
    write_storage(Table(np.array([0.0, 1.0]), names, rows), path / "controls.sto")
    return path


def called(monkeypatch, words: list[str], may_end_with: tuple[int | None, ...] = (None, 0)) -> list[str]:
    """The drivers that a command calls, in the order of their first calls."""
    found: list[str] = []
    # all that this process has called before is forgotten for as long as the command runs
    loaded = {one: one._codes for one in kernels()}
    find = listed_signatures._find

    def recorded(driver, arguments):
        if driver.where not in found:
            found.append(driver.where)
        known = next((code for code in loaded.get(driver, ()) if code.take(arguments) is not None), None)
        if known is None:
            known = find(driver, arguments)
            loaded[driver] = (*loaded.get(driver, ()), known)
        return known

    for one in loaded:
        one._codes = ()
    monkeypatch.setattr(listed_signatures, "_find", recorded)
    # pages draw muscles by what is there: nothing is compiled for them
    monkeypatch.setattr(report_folder, "drawn_wrapping", lambda: "straight")
    monkeypatch.setattr(sys, "argv", ["musculo", *words])
    try:
        with pytest.raises(SystemExit) as ended:
            main.main()
    finally:
        gc.unfreeze()  # this process goes on
        for one, codes in loaded.items():
            one._codes = codes
    assert ended.value.code in may_end_with
    return found


def kernels() -> set[parts.Kernel]:
    """All that are imported."""
    modules = [module for name, module in sys.modules.items() if name.startswith("musculo.")]
    return {one for module in modules for one in vars(module).values() if isinstance(one, parts.Kernel)}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_knows_what_it_calls(monkeypatch, folder, tmp_path, command):
    monkeypatch.chdir(folder)
    found = called(monkeypatch, COMMANDS[command].format(tmp_path).split())
    assert found == [f"musculo.kernels.{name}" for name in drivers.DRIVERS[command]]


# Studies of a model that is part of the recorded data.
WITH_DATA = ("shoulder-moment-arms", "shoulder-tracking")


@pytest.mark.parametrize("study", drivers.STUDIES)
def test_a_study_knows_what_it_calls(monkeypatch, request, study):
    def once(call, repeats):
        call()
        return 1.0

    # what is called is asked here, not how long it takes
    monkeypatch.setattr(timing, "_seconds", once)
    monkeypatch.setattr(squeezer_work, "_AT_LEAST", 0.0)
    monkeypatch.setattr(rival_times, "CROWD", 8)
    monkeypatch.setattr(lifting, "MESH", Radau(4, 3))
    monkeypatch.delenv("MUSCULO_DATA", raising=False)
    data = ["--data", str(request.getfixturevalue("data_folder"))] if study in WITH_DATA else []
    found = called(monkeypatch, ["reproduce", study, "--no-opensim", "--quiet", *data], (None, 0, FALLS_SHORT))
    assert found == [f"musculo.kernels.{name}" for name in drivers.STUDIES[study]]


def test_every_study_has_its_line():
    assert drivers.STUDIES.keys() == reproduce.STUDIES.keys()


def test_studies_that_are_asked_for_begin_to_compile(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr("musculo.kernels.compiler.workers.ahead", asked.extend)
    drivers.begin("reproduce", {"studies": ["screw", "no such study"], "listed": False})
    assert asked == [f"musculo.kernels.{name}" for name in drivers.STUDIES["screw"]]
    asked.clear()
    drivers.begin("reproduce", {"studies": ["all"], "listed": False})
    assert set(asked) == {f"musculo.kernels.{name}" for line in drivers.STUDIES.values() for name in line}
    asked.clear()
    drivers.begin("reproduce", {"studies": None, "listed": True})
    assert not asked


def test_the_table_has_a_command_for_each_of_its_lines():
    assert drivers.DRIVERS.keys() == COMMANDS.keys()


def test_run_needs_what_the_steps_of_its_files_need(monkeypatch, tmp_path):
    asked: list[str] = []
    monkeypatch.setattr("musculo.kernels.compiler.workers.ahead", asked.extend)
    for name in ("InverseKinematicsTool", "JointReaction"):
        (tmp_path / f"{name}.xml").write_text(f'<OpenSimDocument><{name} name="a"/></OpenSimDocument>')
    given = {"setups": [*tmp_path.glob("*.xml"), tmp_path / "absent.xml"], "exact": False, "no_compare": True}
    drivers.begin("run", given)
    wanted = {*drivers.DRIVERS["ik --like-opensim"], *drivers.DRIVERS["jr --like-opensim"]}
    assert set(asked) == {f"musculo.kernels.{name}" for name in wanted}
    asked.clear()
    drivers.begin("run", {**given, "exact": True})
    assert set(asked) == {f"musculo.kernels.{name}" for name in drivers.DRIVERS["ik"] + drivers.DRIVERS["jr"]}
