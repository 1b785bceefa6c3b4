"""`musculo fit-paths`: the model it writes, the table it prints, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from musculo import demo, muscle_geometry, read_osim
from musculo.demo import ARM_FILE, ARM_FLEXION_FILE
from musculo.model import FunctionPath

FEW = ("--samples", "200")


def test_the_model_and_the_table(shell, tmp_path):
    file = tmp_path / "fast.osim"
    done = shell("fit-paths", ARM_FILE, "--motion", ARM_FLEXION_FILE, "-o", file, *FEW)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "Errors in mm over 100 poses that took no part in the fit"
    assert lines[-2:] == ["6 of 6 paths are polynomials now", f"wrote {file}"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[3:9]}
    model = read_osim(file)
    assert tuple(rows) == model.muscle_names
    for muscle in model.muscles:
        assert isinstance(muscle.path, FunctionPath)
        degree, *errors, _ = rows[muscle.name]
        assert muscle.path.length_function.packed().degree == int(degree)
        assert all(0.0 < float(x) < 5.0 for x in errors)
    q = np.radians([[0.0, 30.0], [0.0, 60.0]])
    exact, fast = muscle_geometry(demo.arm(), q), muscle_geometry(model, q)
    assert 0.0 < np.abs(exact.length - fast.length).max() < 5e-4


def test_what_stays_exact_is_named_with_its_reason(shell, tmp_path):
    file = tmp_path / "fast.osim"
    done = shell("fit-paths", ARM_FILE, "-o", file, "--tolerance", "0.2", *FEW)
    kept = [m.name for m in read_osim(file).muscles if not isinstance(m.path, FunctionPath)]
    assert "biceps_long" in kept
    for name in kept:
        assert f"\n{name} keeps its exact path: the " in done.out
    assert " mm, and may be 0.2 mm; degrees up to 6 were tried" in done.out


def test_options_reach_the_fit(shell, tmp_path):
    """JSON has the errors in SI units; ranges are in degrees."""
    span = ("--range", "elbow_flexion=20:40", "--range", "shoulder_flexion=-10:10")
    wide, narrow = (
        json.loads(shell("fit-paths", ARM_FILE, "-o", tmp_path / f"{len(more)}.osim", "--json", *more, *FEW).out)
        for more in (("--muscle", "brachialis", "--degree", "3"), (*span, "--degree", "3", "--tolerance", "5"))
    )
    assert {name for name, path in wide["paths"].items() if path["reason"] != "it was not asked for"} == {"brachialis"}
    one = narrow["paths"]["brachialis"]
    assert (one["fitted"], one["degree"], one["coordinates"]) == (True, 3, ["elbow_flexion"])
    assert 0.0 < one["length_rms"] <= one["length_worst"] < 1e-4
    assert one["length_rms"] < wide["paths"]["brachialis"]["length_rms"]
    assert wide["paths"]["triceps_long"]["length_rms"] is None


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        (("--degree", "many"), 2, "--degree many"),
        (("--degree", "6:2"), 1, "degree is (6, 2)"),
        (("--range", "elbow_flexion=5"), 2, "--range elbow_flexion=5"),
        (("--range", "elbow=5:6"), 1, "known: shoulder_flexion, elbow_flexion"),
        (("--tolerance", "0"), 1, "tolerance is 0"),
        (("--muscle", "brachiales"), 1, "'brachialis'"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(shell, tmp_path, more, status, words):
    told = shell("fit-paths", ARM_FILE, "-o", tmp_path / "fast.osim", *more, *FEW)
    assert told.status == status
    assert words in told.err
    assert not (tmp_path / "fast.osim").exists()


def test_a_file_is_replaced_only_when_told(shell, tmp_path):
    file = tmp_path / "precious.osim"
    file.write_text("mine")
    refused = shell("fit-paths", ARM_FILE, "-o", file, *FEW)
    assert refused.status == 1
    assert "--force" in refused.err
    assert file.read_text() == "mine"
    assert shell("fit-paths", ARM_FILE, "-o", file, "--force", "--quiet", *FEW).out == ""
    assert read_osim(file).muscle_names == demo.arm().muscle_names


def test_nothing_fitted_is_no_success(shell, tmp_path):
    """The model is written as it was, and the command does not end as if all were well."""
    done = shell("fit-paths", ARM_FILE, "-o", tmp_path / "same.osim", "--tolerance", "1e-9", "--degree", "1", *FEW)
    assert done.status == 3
    assert done.err.startswith("no path was replaced: ")
    assert not any(isinstance(m.path, FunctionPath) for m in read_osim(tmp_path / "same.osim").muscles)
