"""Flags that are wrong whatever the files hold end with 2, before anything is compiled or written."""

from __future__ import annotations

import pytest

import musculo.cli.run_setups
from musculo.cli.exit_codes import BAD_INPUT, WRONG_USAGE
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE

MOTION = (ARM_FILE, ARM_FLEXION_FILE)  # of `id`, `rra`, `so`, `cmc`, `jr` and `muscles`
ABSENT = (ARM_FILE, "absent")  # files that are read only after the flags are looked at
STEPS = {
    "scale": (ARM_FILE,),
    "ik": ABSENT,
    "id": MOTION,
    "rra": (*MOTION, "--tasks", "absent", "--actuators", "absent"),
    "so": MOTION,
    "cmc": MOTION,
    "jr": MOTION,
    "muscles": MOTION,
    "imu-place": ABSENT,
    "imu-ik": ABSENT,
}
WRONG = {
    "scale": [
        (),  # nothing to scale by
        ("--factors", "humerus"),
        ("--factors", "humerus=1,2"),
        ("--factors", "humerus=-1"),
        ("--mass", "0"),
        ("--mass", "1", "--time", "2:1"),
        ("--mass", "1", "--up", "q"),
        ("--mass", "1", "--fill-gaps", "-1"),
    ],
    "ik": [
        ("--weight", "acromion"),
        ("--weight", "acromion=much"),
        ("--weight", "acromion=-1"),
        ("--time", "now"),
        ("--up", "q"),
        ("--fill-gaps", "0"),
        ("--rename", "absent.csv"),
    ],
    "id": [
        ("--lowpass", "abc"),
        ("--lowpass", "0"),
        ("--filter-loads", "6"),  # there are none
        ("--loads", "absent.xml", "--filter-loads", "-6"),
        ("--resample", "0"),
        ("--fill-gaps", "nan"),
        ("--time", "0.5"),
        ("--jobs", "0"),
    ],
    "rra": [("--lowpass", "abc"), ("--time", "0.5")],
    "cmc": [("--lowpass", "abc"), ("--time", "0.5"), ("--window", "0"), ("--reserve", "-1")],
    "so": [
        ("--tendon", "foo"),
        ("--like-opensim", "--tendon", "elastic"),
        ("--like-opensim", "--weight", "biceps_long=2"),
        ("--power", "0.5"),
        ("--power", "nan"),
        ("--reserve", "-1"),
        ("--weight", "biceps_long=0"),
        ("--lowpass", "-2"),
    ],
    "jr": [("--on", "foo"), ("--lowpass", "abc"), ("--time", ":x")],
    "muscles": [("--lowpass", "abc"), ("--resample", "inf")],
    "imu-place": [
        ("--base", "pelvis_imu"),
        ("--axis", "x"),
        ("--base", "pelvis_imu", "--axis", "q"),
        ("--turn", "1,2"),
    ],
    "imu-ik": [("--heading", "400"), ("--turn", "up"), ("--weight", "pelvis_imu=-1"), ("--time", "1")],
}
CASES = [(step, flags) for step, several in WRONG.items() for flags in several]


@pytest.fixture
def not_run(monkeypatch):
    """No set-up is run, so that nothing is compiled for it."""
    monkeypatch.setattr(musculo.cli.run_setups, "run_setup", lambda *_, **__: pytest.fail("it was run"))


@pytest.mark.usefixtures("not_run")
@pytest.mark.parametrize(("step", "flags"), CASES, ids=[" ".join((step, *flags)) for step, flags in CASES])
def test_a_wrong_flag_ends_with_two(shell, tmp_path, step, flags):
    told = shell(step, *STEPS[step], *flags, "-o", tmp_path / "out" / "out.osim")
    assert told.status == WRONG_USAGE
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    for flag in flags[-2::2]:
        assert flag in told.err
    assert not (tmp_path / "out").exists()


def test_wrong_numbers_of_processes_and_names_of_studies(shell, tmp_path):
    for words in (("run", "absent.xml", "--jobs", 0), ("run", "absent.xml", "--threads", 0), ("reproduce", "arm62")):
        told = shell(*words)
        assert (told.status, told.out) == (WRONG_USAGE, "")
        assert told.err.startswith("error: ")


@pytest.mark.parametrize("up", ["-z", "+X", "z"])
def test_every_axis_may_be_up(shell, tmp_path, up):
    """The recording is missed, and no fault is found in the flag."""
    told = shell("ik", *ABSENT, "--up", up, "-o", tmp_path)
    assert told.status == BAD_INPUT
    assert "absent" in told.err


# --- what only the model can tell -------------------------------------------------------------------------------------
@pytest.mark.usefixtures("not_run")
@pytest.mark.parametrize(
    "flags", [("--joint", "nosuch"), ("--frame", "nosuch"), ("--joint", "elbow", "--frame", "hip")]
)
def test_names_of_joint_loads_are_looked_up_before_anything_is_compiled(shell, tmp_path, flags):
    told = shell("jr", *MOTION, *flags, "-o", tmp_path / "out")
    assert told.status == BAD_INPUT
    assert f"{flags[-1]!r} in {ARM_FILE}; " in told.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("flags", [("--joint", "all"), ("--frame", "forearm", "--on", "parent"), ("--frame", "parent")])
def test_names_that_the_model_has_are_taken(shell, tmp_path, monkeypatch, flags):
    asked = []
    monkeypatch.setattr(musculo.cli.run_setups, "_outcomes", lambda setups, *_: asked.extend(setups) or iter(()))
    assert shell("jr", *MOTION, *flags, "-o", tmp_path).status == 0
    (setup,) = asked
    found = {
        "--joint": setup.analyses[0].joint_names,
        "--frame": setup.analyses[0].express_in_frame,
        "--on": setup.analyses[0].apply_on_bodies,
    }
    assert all(found[flag] == (word,) for flag, word in zip(flags[::2], flags[1::2], strict=True))
