"""`musculo uncertainty`: the tables it writes, what it prints, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

import musculo
from musculo.demo import ARM_FILE
from musculo.demo.chain import ArmChain
from musculo.io.storage import read_storage
from musculo.io.trc import write_trc

INPUTS = ("--markers", "3", "--masses", "10", "--muscle", "max_isometric_force=20")


@pytest.fixture(scope="module")
def markers(tmp_path_factory):
    file = tmp_path_factory.mktemp("trial") / "arm.trc"
    chain = ArmChain(0.5e-3, 6.0, 0)
    write_trc(chain.markers.between(*chain.markers.time[[20, 50]]), file)
    return file


def test_tables_and_what_is_printed(shell, tmp_path, markers):
    done = shell("uncertainty", ARM_FILE, markers, *INPUTS, "-n", "12", "-o", tmp_path / "results")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0] == "12 samples of 31 frames; 5 to 95 %, and where the variance comes from"
    assert lines[-1] == f"wrote {tmp_path / 'results' / 'arm_uncertainty_sources.csv'}"
    assert "Shares have a standard error of up to 58 %" in done.out  # 12 samples are three families of four
    model = musculo.read_osim(ARM_FILE)
    assert {name for name in model.muscle_names if name in done.out} == set(model.muscle_names)
    table = read_storage(tmp_path / "results" / "arm_uncertainty_muscle_force.sto")
    own = musculo.uncertainty(
        model,
        musculo.read_markers(markers),
        (),
        [musculo.MarkerPlacement(0.003), musculo.SegmentMass(0.1), musculo.MuscleParameter("max_isometric_force", 0.2)],
        samples=12,
    )
    name = model.muscle_names[0]
    np.testing.assert_allclose(
        table.column(f"{name}/p95"), own.percentiles["muscle_force"][-1, :, 0], rtol=1e-12, atol=1e-9
    )
    rows = (tmp_path / "results" / "arm_uncertainty_sources.csv").read_text().splitlines()
    assert rows[0] == "output,name,marker placement,segment mass,max isometric force"
    assert f"angle,{model.coordinate_names[0]},1.0000,0.0000,0.0000" in rows


def test_what_plates_measured_is_no_external_load(shell, tmp_path, markers):
    """It says which command finds the feet, and what that writes."""
    done = shell("uncertainty", ARM_FILE, markers, *INPUTS, "--loads", tmp_path / "grf.mot", "-o", tmp_path / "none")
    assert done.status == 1
    told = " ".join(done.err.split())
    assert "musculo walk" in told
    assert "arm_grf.xml: give these" in told


def test_json_and_frames_that_cannot_be_served(shell, tmp_path, markers):
    weak = tmp_path / "weak.osim"
    musculo.write_osim(musculo.read_osim(ARM_FILE).with_scaled_muscles(1e-3), weak)
    given = ("--masses", "5", "-n", "2", "--reserve", "0", "-o", tmp_path, "--json")
    done = shell("uncertainty", weak, markers, *given)
    said = json.loads(done.out)
    assert done.status == 3
    assert (said["samples"], said["incomplete"], said["failed_frames"]["muscles"]) == (2, 2, 62)
    assert "no activations serve the moments" in done.err
    assert said["sources"]["muscle_force"]["biceps_long"]["segment mass"] is None


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "say what is uncertain"),
        (("--markers", "-1"), "--markers -1"),
        (("--muscle", "max_isometric_force"), "PARAMETER=PERCENT"),
        (("--masses", "5", "-n", "0"), "--samples"),
        (("--masses", "5", "--lowpass", "nan"), "--lowpass"),
    ],
)
def test_wrong_flags_end_with_two(shell, tmp_path, markers, flags, told):
    done = shell("uncertainty", ARM_FILE, markers, "-o", tmp_path / "none", *flags)
    assert done.status == 2
    assert told in done.err
    assert not (tmp_path / "none").exists()
