"""Set-ups of OpenSim's tools for IMUs: what is read, what files are called, and commands that do the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from typer.testing import CliRunner

from musculo import embedding_of, kinematics, read_osim, read_storage, write_osim
from musculo.cli.main import app
from musculo.errors import InvalidFile
from musculo.io import write_orientations
from musculo.opensim import IMUInverseKinematicsSetup, IMUPlacerSetup, read_setup, run_setup
from musculo.opensim_tools.order import waits_of
from musculo.results import Orientations
from musculo.spatial.rotation import axis_rotation
from support.ik_models import limb

BODIES = ("a", "b", "c")
SENSORS = tuple(f"{name}_imu" for name in BODIES)
FACING = 30.0  # [deg]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder with a model, a calibration and a trial, and the motion of the trial."""
    folder = tmp_path_factory.mktemp("sensors")
    model = limb()
    e, rng = embedding_of(model), np.random.default_rng(5)
    still = e.default_pose()
    q = still + 0.2 * np.sin(np.arange(4)[:, None] + np.arange(len(still)))
    q = e.coordinates(e.independent(q))
    turned = {name: axis_rotation(rng.normal(size=3), rng.uniform(0.0, 3.0)) for name in BODIES}
    z_up = axis_rotation((1.0, 0.0, 0.0), math.pi / 2)

    def made(poses: np.ndarray, facing: float = 0.0) -> Orientations:
        ground = z_up @ axis_rotation((0.0, 1.0, 0.0), math.radians(facing))
        moved = kinematics(model, poses)
        R = np.stack([ground @ moved.batch_pose(name)[0] @ turned[name] for name in BODIES], axis=1)
        return Orientations.from_rotations(0.1 * np.arange(len(poses)), SENSORS, R)

    write_osim(model, folder / "limb.osim")
    write_orientations(made(still[None]), folder / "still.sto")
    write_orientations(made(q), folder / "trial.sto")
    write_orientations(made(q, FACING), folder / "aside.sto")
    return folder, read_osim(folder / "limb.osim"), q


def test_the_set_up_of_a_placer(tmp_path):
    (tmp_path / "a.xml").write_text(
        '<OpenSimDocument Version="40600"><IMUPlacer name="p"><model_file>m.osim</model_file><base_imu_label>x_imu'
        "</base_imu_label><base_heading_axis>-z</base_heading_axis><sensor_to_opensim_rotations>1 2 3"
        "</sensor_to_opensim_rotations><orientation_file_for_calibration>s.sto</orientation_file_for_calibration>"
        "<output_model_file>o.osim</output_model_file><odd>1</odd></IMUPlacer></OpenSimDocument>"
    )
    setup = read_setup(tmp_path / "a.xml")
    assert isinstance(setup, IMUPlacerSetup)
    assert (setup.name, setup.base_imu_label, setup.base_heading_axis) == ("p", "x_imu", "-z")
    assert setup.sensor_to_opensim_rotations == (1.0, 2.0, 3.0)
    assert setup.model_file == tmp_path / "m.osim"
    assert setup.orientation_file_for_calibration == tmp_path / "s.sto"
    assert setup.output_model_file == tmp_path / "o.osim"
    assert any("odd" in note for note in setup.notes)


def test_the_set_up_of_the_tool_and_its_defaults(tmp_path):
    (tmp_path / "a.xml").write_text(
        '<OpenSimDocument Version="40600"><IMUInverseKinematicsTool name="t"><orientations_file>walk.sto'
        '</orientations_file><OrientationWeightSet><objects><OrientationWeight name="s"><weight>2.5</weight>'
        "</OrientationWeight></objects></OrientationWeightSet></IMUInverseKinematicsTool></OpenSimDocument>"
    )
    setup = read_setup(tmp_path / "a.xml")
    assert isinstance(setup, IMUInverseKinematicsSetup)
    assert setup.time_range == (-math.inf, 2.0)
    assert setup.results_directory == tmp_path
    assert [(w.name, w.weight) for w in setup.weights] == [("s", 2.5)]
    assert (setup.motion_name, setup.errors_name) == ("ik_walk.mot", "ik_walk_orientationErrors.sto")
    bad = (tmp_path / "a.xml").read_text().replace("2.5", "much")
    (tmp_path / "b.xml").write_text(bad)
    with pytest.raises(InvalidFile, match="much"):
        read_setup(tmp_path / "b.xml")


def test_a_tool_waits_for_the_placer_whose_model_it_reads(tmp_path):
    placer = IMUPlacerSetup("p", output_model_file=tmp_path / "o.osim", source=str(tmp_path / "p.xml"))
    tool = IMUInverseKinematicsSetup(
        "t", model_file=tmp_path / "o.osim", results_directory=tmp_path, source=str(tmp_path / "t.xml")
    )
    waits = waits_of([placer, tool])
    assert waits[1].needs == {0}
    other = IMUInverseKinematicsSetup("u", results_directory=tmp_path, source=str(tmp_path / "u.xml"))
    assert waits_of([tool, other])[1].after == {0}


def test_sensors_give_the_motion_back_from_set_ups_and_from_the_shell(recorded, tmp_path):
    folder, model, q = recorded
    run_setup(
        IMUPlacerSetup(
            "p",
            model_file=folder / "limb.osim",
            sensor_to_opensim_rotations=(-math.pi / 2, 0.0, 0.0),
            orientation_file_for_calibration=folder / "still.sto",
            output_model_file=tmp_path / "placed.osim",
            source=str(tmp_path / "p"),
        )
    )
    run_setup(
        IMUInverseKinematicsSetup(
            "t",
            model_file=tmp_path / "placed.osim",
            results_directory=tmp_path,
            sensor_to_opensim_rotations=(-math.pi / 2, 0.0, 0.0),
            orientations_file=folder / "trial.sto",
            source=str(tmp_path / "t"),
        )
    )
    found = read_storage(tmp_path / "ik_trial.mot").coordinates(model)
    seen = [k for k, name in enumerate(model.coordinate_names) if name in ("base_rx", "base_ry", "base_rz", "bx", "rz")]
    np.testing.assert_allclose(found[:, seen], q[:, seen], atol=1e-6)
    turn = ("--turn", "-90,0,0")
    say = CliRunner().invoke
    placed = tmp_path / "shell.osim"
    printed = say(app, ["imu-place", str(folder / "limb.osim"), str(folder / "still.sto"), "-o", str(placed), *turn])
    assert printed.exit_code == 0, printed.output
    words = ["imu-ik", str(placed), str(folder / "aside.sto"), "-o", str(tmp_path), *turn, "-w", "a_imu=2", "-q"]
    assert say(app, [*words, "--heading", str(-FACING)]).exit_code == 0
    again = read_storage(tmp_path / "aside_ik.mot").coordinates(model)
    np.testing.assert_allclose(again[:, seen], q[:, seen], atol=1e-6)
    assert (tmp_path / "aside_ik_orientationErrors.sto").is_file()
    assert say(app, ["imu-place", *words[1:3], "-o", str(placed), "--base", "a_imu"]).exit_code == 1
    assert say(app, [*words, "-w", "a_imu=-1"]).exit_code == 1
