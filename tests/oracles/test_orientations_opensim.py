"""Sensors beside OpenSim's tools for IMUs, on orientations made from recorded walks: placing and following them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("opensim")
from musculo import Model, embedding_of, inverse_kinematics, kinematics, read_osim, read_storage, write_osim
from musculo.io import read_orientations, write_orientations, write_trc
from musculo.model import place_sensors
from musculo.results import Orientations
from musculo.spatial.rotation import axis_rotation, from_xyz
from support.ik_setups import read_setup
from support.opensim_files import ask as ask_files
from support.opensim_orientations import ask

DATASETS = {"gait2392": "gait2392_walk", "rajagopal_walk": "rajagopal_walk"}
BODIES = ("pelvis", "torso", "femur_r", "tibia_r", "calcn_r", "femur_l", "tibia_l", "calcn_l")
SENSORS = tuple(f"{body}_imu" for body in BODIES)
WEIGHTS = dict(zip(SENSORS, (1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.7, 1.0), strict=True))
FRAMES = 5
FEW = 2  # where OpenSim takes seconds for a frame
# The sensors' ground has z up, and the subject faces this far from x about the vertical [rad].
Z_UP = (-np.pi / 2, 0.0, 0.0)
FACING = 0.3
# How far the heading axis of the pelvis' sensor points up [rad].
TILT = 0.6
# Products of a few rotations, by way of angles.
ROUNDING = 1e-12
# OpenSim's solver asked for many digits, and what is then left [deg]. With couplers and arms that no sensor sees it
# gives up below 1e-8.
TIGHT = {"gait2392": 1e-11, "rajagopal_walk": 1e-8}
TIGHT_DEG = 0.01
# The tool prints 16 digits.
PRINTED = 1e-13


class Case(NamedTuple):
    folder: str
    model_file: Path
    model: Model
    q: np.ndarray  # the walk
    calibration: Path
    trial: Path


@pytest.fixture(scope="module", params=DATASETS)
def case(request, data_folder, tmp_path_factory) -> Case:
    """Files of a calibration in the default pose, and of a walk with noise of three degrees."""
    folder = tmp_path_factory.mktemp("sensors")
    model_file = read_setup(data_folder / request.param).model_file
    # OpenSim rounds old files when it upgrades them
    model = read_osim(model_file, opensim_rounding=True)
    motion = read_storage(data_folder / "oracle" / DATASETS[request.param] / "ik.mot")
    q = embedding_of(model).coordinates(embedding_of(model).independent(motion.coordinates(model)[:FRAMES]))
    rng = np.random.default_rng(0)
    turned = {body: axis_rotation(rng.normal(size=3), rng.uniform(0.0, 3.0)) for body in BODIES}
    # z of the pelvis' sensor points ahead and up
    turned["pelvis"] = from_xyz((0.0, np.pi / 2, 0.0)) @ axis_rotation((1.0, 0.0, 0.0), -TILT)
    ground = axis_rotation((1.0, 0.0, 0.0), np.pi / 2) @ axis_rotation((0.0, 1.0, 0.0), FACING)

    def made(poses: np.ndarray, noise: float) -> Orientations:
        moved = kinematics(model, poses)
        R = np.stack([ground @ moved.pose(body).R @ turned[body] for body in BODIES], axis=1)
        off = [[axis_rotation(rng.normal(size=3), noise * rng.normal()) for _ in BODIES] for _ in poses]
        return Orientations.from_rotations(0.01 * np.arange(len(poses)), SENSORS, np.array(off) @ R)

    write_orientations(made(embedding_of(model).default_pose()[None], 0.0), folder / "calibration.sto")
    write_orientations(made(q, 0.05), folder / "trial.sto")
    return Case(request.param, model_file, model, q, folder / "calibration.sto", folder / "trial.sto")


def angles_of(model: Model, q: np.ndarray, wanted: Orientations) -> np.ndarray:
    """(frames, sensors) angles between frames and sensors, by the distance of their matrices alone."""
    moved = kinematics(model, q)
    paths = {frame.path.rsplit("/", 1)[-1]: frame.path for frame in model.frames}
    R = np.stack([moved.pose(paths[name]).R for name in wanted.names], axis=1)
    chord = np.linalg.norm(R - wanted.rotation[: len(q)], axis=(2, 3))
    return 2.0 * np.arcsin(chord / np.sqrt(8.0))


def objective_of(angles: np.ndarray) -> np.ndarray:
    w = np.array(list(WEIGHTS.values()))
    return 0.5 * (w * angles**2).sum(axis=1) / w.sum()


def test_opensim_reads_what_we_write(case, tmp_path):
    (theirs,) = ask_files([["storage", str(case.trial)]], tmp_path)
    ours = read_orientations(case.trial)
    assert theirs["names"][::4] == [f"{name}_1" for name in ours.names]
    assert_allclose(theirs["values"].reshape(FRAMES, -1, 4), ours.quaternion, atol=ROUNDING)


def test_sensors_are_placed_where_opensims_placer_puts_them(case, tmp_path):
    jobs = [
        ["place", str(case.model_file), str(case.calibration), Z_UP, base, axis, str(tmp_path / f"{k}.osim")]
        for k, (base, axis) in enumerate((("pelvis_imu", "z"), ("pelvis_imu", "-x"), ("", "")))
    ]
    calibration = read_orientations(case.calibration, Z_UP)
    for (*_, base, axis, _), theirs in zip(jobs, ask(jobs, tmp_path), strict=True):
        ours = place_sensors(case.model, calibration, base=base or None, heading_axis=axis or None, like="opensim")
        assert set(ours.frames) == set(theirs) == set(SENSORS)
        for name, path in ours.frames.items():
            assert_allclose(from_xyz(ours.model.placement(path).orientation), theirs[name], atol=ROUNDING)
        # where its axis is tilted and points ahead, OpenSim turns by the tilt in addition, one way or the other
        if axis == "z":
            assert abs(ours.heading) > abs(-FACING) + 0.05


def test_a_level_heading_gives_the_motion_back_and_opensims_does_not(case):
    calibration, trial = (read_orientations(path, Z_UP) for path in (case.calibration, case.trial))
    moved = kinematics(case.model, case.q)
    off = {}
    for how in (None, "opensim"):
        placed = place_sensors(case.model, calibration, base="pelvis_imu", heading_axis="z", like=how)
        exact = place_sensors(case.model, calibration.rotated(axis_rotation((0, 1, 0), -FACING)))
        R = np.stack(
            [
                moved.pose(body).R @ from_xyz(exact.model.placement(path).orientation)
                for body, path in zip(BODIES, exact.frames.values(), strict=True)
            ],
            axis=1,
        )
        clean = Orientations.from_rotations(trial.time, SENSORS, axis_rotation((0, 1, 0), FACING) @ R)
        found = inverse_kinematics(placed.model, orientations=clean.rotated(placed.rotation))
        assert found.converged
        seen = [case.model.coordinate_index(name) for name in ("hip_flexion_r", "knee_angle_r", "hip_rotation_l")]
        off[how] = np.degrees(np.abs(found.q - case.q)[:, seen].max())
        if how is None:
            assert placed.heading == pytest.approx(-FACING)
    assert off[None] < 1e-6
    assert off["opensim"] > 1.0


def test_no_frame_fits_worse_than_opensims_tool_and_poses_are_those_it_converges_to(case, tmp_path):
    """OpenSim follows the sensors of our model file."""
    calibration = read_orientations(case.calibration, Z_UP)
    placed = place_sensors(case.model, calibration, base="pelvis_imu", heading_axis="z")
    write_osim(placed.model, tmp_path / "placed.osim")
    trial = read_orientations(case.trial, Z_UP)
    write_orientations(trial, tmp_path / "trial.sto")
    names = list(case.model.coordinate_names)
    model_file = str(tmp_path / "placed.osim")
    files, tight = ask(
        [
            ["tool", model_file, str(case.trial), Z_UP, WEIGHTS, str(tmp_path / "results")],
            ["solve", model_file, str(tmp_path / "trial.sto"), WEIGHTS, "", {}, TIGHT[case.folder], True, names],
        ],
        tmp_path,
    )
    model = read_osim(tmp_path / "placed.osim")
    ours = inverse_kinematics(model, orientations=trial, orientation_weights=dict.fromkeys(trial.names, 0.0) | WEIGHTS)
    assert ours.converged
    angles = angles_of(model, ours.q, trial)
    assert_allclose(ours.orientation_errors, angles, atol=1e-7)  # an arcsine of small chords
    assert_allclose(ours.objective, objective_of(angles), rtol=1e-6)
    # OpenSim reports the same angles at its own poses, and its objective is no lower
    assert "poses.mot" in files
    theirs = read_storage(tmp_path / "results" / "poses.mot").coordinates(model)
    reported = read_storage(tmp_path / "results" / "poses.mot_orientationErrors.sto").pick(trial.names).values
    assert_allclose(angles_of(model, theirs, trial), reported[-FRAMES:], atol=1e-7)
    assert (ours.objective <= objective_of(reported[-FRAMES:]) + PRINTED).all()
    # OpenSim's optimiser moves what no sensor sees (arms without sensors); here that stays
    moved = [np.abs(angles_of(model, ours.q[:1] + step, trial) - angles[:1]).max() for step in 0.1 * np.eye(len(names))]
    seen = np.array(moved) > 1e-3
    assert np.degrees(np.abs(ours.q - tight)[:, seen].max()) < TIGHT_DEG
    # what sensors do not see stays where the model has it
    still = [names.index(name) for name in ("pelvis_tx", "pelvis_ty", "pelvis_tz")]
    assert (ours.q[:, still] == embedding_of(model).default_pose()[still]).all()


def test_markers_and_sensors_together(case, data_folder, tmp_path):
    """The weights of either are relative to their own sum, as in Simbody's assembler."""
    setup = read_setup(data_folder / case.folder)
    markers = setup.markers.between(setup.markers.time[0], setup.markers.time[FEW - 1])
    placed = place_sensors(case.model, read_orientations(case.calibration, Z_UP), base="pelvis_imu", heading_axis="z")
    trial = read_orientations(case.trial, Z_UP).rotated(placed.rotation)
    trial = Orientations(markers.time, trial.names, trial.quaternion[:FEW])
    write_osim(placed.model, tmp_path / "placed.osim")
    write_orientations(trial, tmp_path / "trial.sto")
    write_trc(markers, tmp_path / "markers.trc")
    shared = {name: weight for name, weight in setup.weights.items() if name in markers.names and weight > 0.0}
    (theirs,) = ask(
        [
            [
                "solve",
                str(tmp_path / "placed.osim"),
                str(tmp_path / "trial.sto"),
                WEIGHTS,
                str(tmp_path / "markers.trc"),
                shared,
                TIGHT["gait2392"],
                False,
                list(case.model.coordinate_names),
            ]
        ],
        tmp_path,
    )
    ours = inverse_kinematics(
        read_osim(tmp_path / "placed.osim"),
        markers,
        weights=dict.fromkeys(markers.names, 0.0) | shared,
        orientations=trial,
        orientation_weights=dict.fromkeys(trial.names, 0.0) | WEIGHTS,
    )
    assert ours.converged
    assert np.degrees(np.abs(ours.q - theirs).max()) < TIGHT_DEG
