"""Set-ups of IMUPlacer and IMUInverseKinematicsTool: files, columns, rows and numbers are those of OpenSim's tools."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("opensim")
from musculo import Model, embedding_of, inverse_kinematics, kinematics, read_osim, read_storage
from musculo.errors import InvalidInput
from musculo.io import read_orientations, write_orientations
from musculo.opensim import run_setup
from musculo.results import Orientations
from musculo.spatial.rotation import axis_rotation, from_xyz
from support.opensim_orientations import ask
from support.opensim_run import run_opensim
from support.result_headers import header_layout

MODEL = "gait2392/subject01_simbody.osim"
BODIES = ("pelvis", "torso", "femur_r", "tibia_r", "calcn_r", "femur_l", "tibia_l", "calcn_l")
# one sensor is on no body of the model
SENSORS = (*(f"{body}_imu" for body in BODIES), "wrist_imu")
Z_UP = "-1.5707963267948966 0 0"
FRAMES, STEP, START = 12, 0.1, 0.5
FACING, TILT = 0.3, 0.6
ROUNDING = 1e-12
# OpenSim's tool asks its solver for four digits, which leaves six degrees in a thigh that hardly counts, and so much of
# pelvis and trunk, on which sensors agree [deg]; asked for eleven digits the solver leaves less [deg].
TOOL_DEG = 0.15
TIGHT, TIGHT_DEG = 1e-11, 0.01
WEIGHTS = {"pelvis_imu": 2.0, "femur_r_imu": 0.3, "stranger_imu": 5.0}


class Case(NamedTuple):
    folder: Path
    model_file: Path
    model: Model
    q: np.ndarray


@pytest.fixture(scope="module")
def case(data_folder, tmp_path_factory) -> Case:
    """Orientations of a calibration and of a walk with noise, in a ground with z up."""
    folder, file = tmp_path_factory.mktemp("imu"), data_folder / MODEL
    model = read_osim(file, opensim_rounding=True)
    e = embedding_of(model)
    walk = read_storage(data_folder / "oracle" / "gait2392_walk" / "ik.mot").coordinates(model)[::5][:FRAMES]
    q = e.coordinates(e.independent(walk))
    rng = np.random.default_rng(0)
    turned = {body: axis_rotation(rng.normal(size=3), rng.uniform(0.0, 3.0)) for body in BODIES}
    turned["pelvis"] = from_xyz((0.0, np.pi / 2, 0.0)) @ axis_rotation((1.0, 0.0, 0.0), -TILT)
    ground = axis_rotation((1.0, 0.0, 0.0), np.pi / 2) @ axis_rotation((0.0, 1.0, 0.0), FACING)

    def made(poses: np.ndarray, noise: float, start: float) -> Orientations:
        moved = kinematics(model, poses)
        own = [ground @ moved.batch_pose(body)[0] @ turned[body] for body in BODIES]
        R = np.stack([*own, np.broadcast_to(np.eye(3), (len(poses), 3, 3))], axis=1)
        off = [[axis_rotation(rng.normal(size=3), noise * rng.normal()) for _ in SENSORS] for _ in poses]
        return Orientations.from_rotations(start + STEP * np.arange(len(poses)), SENSORS, np.array(off) @ R)

    still = np.repeat(e.default_pose()[None], 3, axis=0)
    write_orientations(made(still, 0.02, 0.0), folder / "still.sto")
    write_orientations(made(q, 0.05, START), folder / "trial.sto")
    (folder / "placer.xml").write_text(placer(file, "pelvis_imu", "z", "placed.osim"))
    return Case(folder, file, model, q)


def placer(model: Path, base: str, axis: str, target: str) -> str:
    return (
        f'<OpenSimDocument Version="40600"><IMUPlacer name="placer"><model_file>{model}</model_file>'
        f"<base_imu_label>{base}</base_imu_label><base_heading_axis>{axis}</base_heading_axis>"
        f"<sensor_to_opensim_rotations>{Z_UP}</sensor_to_opensim_rotations>"
        f"<orientation_file_for_calibration>still.sto</orientation_file_for_calibration>"
        f"<output_model_file>{target}</output_model_file></IMUPlacer></OpenSimDocument>"
    )


def follower(folder: str, output: str = "", span: str = "", errors: str = "true") -> str:
    weights = "".join(
        f'<OrientationWeight name="{name}"><weight>{weight}</weight></OrientationWeight>'
        for name, weight in WEIGHTS.items()
    )
    return (
        '<OpenSimDocument Version="40600"><IMUInverseKinematicsTool name="imu">'
        f"<results_directory>{folder}</results_directory><model_file>placed.osim</model_file>"
        f"{f'<time_range>{span}</time_range>' if span else ''}<output_motion_file>{output}</output_motion_file>"
        f"<report_errors>{errors}</report_errors>"
        f"<sensor_to_opensim_rotations>{Z_UP}</sensor_to_opensim_rotations><orientations_file>trial.sto"
        f'</orientations_file><OrientationWeightSet name="w"><objects>{weights}</objects></OrientationWeightSet>'
        "</IMUInverseKinematicsTool></OpenSimDocument>"
    )


@pytest.fixture(scope="module")
def placed(case) -> Path:
    """OpenSim's model with sensors; the tools for IMUs open files from the working directory."""
    run_opensim(case.folder / "placer.xml")
    return case.folder / "placed.osim"


def frames_of(model: Model):
    return {f.path: f.placement for f in model.frames if f.path.endswith("_imu")}


@pytest.mark.parametrize(("base", "axis"), [("pelvis_imu", "z"), ("pelvis_imu", "-x"), ("", ""), ("pelvis_imu", "")])
def test_placed_models_are_opensims(case, tmp_path, base, axis):
    (case.folder / "one.xml").write_text(placer(case.model_file, base, axis, "one.osim"))
    run_opensim(case.folder / "one.xml")
    result = run_setup(case.folder / "one.xml", output=tmp_path)
    assert result.tool == "IMUPlacer"
    assert [file.name for file in result.files] == ["one.osim"]
    theirs, ours = (frames_of(read_osim(folder / "one.osim")) for folder in (case.folder, tmp_path))
    assert list(ours) == list(theirs)
    assert len(ours) == len(BODIES)
    for path, place in theirs.items():
        assert ours[path].body == place.body
        assert_allclose(ours[path].translation, place.translation, atol=ROUNDING)
        assert_allclose(from_xyz(ours[path].orientation), from_xyz(place.orientation), atol=ROUNDING)
    assert any("wrist_imu" in note for note in result.notes)


def test_the_exact_heading_is_level_and_the_log_says_by_how_much_opensims_is_off(case, tmp_path):
    theirs = run_setup(case.folder / "placer.xml", output=tmp_path / "theirs")
    exact = run_setup(case.folder / "placer.xml", output=tmp_path / "exact", like=None)
    told = next(note for note in theirs.notes if "in the horizontal plane" in note)
    assert not any("in the horizontal plane" in note for note in exact.notes)
    level, tilted = (
        float(next(note for note in result.notes if note.startswith("heading")).split("turned by ")[1].split()[0])
        for result in (exact, theirs)
    )
    # the sensors were off by a degree or so while the subject stood still
    assert level == pytest.approx(-np.degrees(FACING), abs=3.0)
    assert abs(tilted - level) > 10.0
    assert f"{level:.4f} deg" in told
    assert f"{tilted - level:.4f} deg" in told


@pytest.mark.parametrize(
    ("folder", "output", "span", "errors"),
    [
        ("plain", "", "", "true"),
        ("named", "sub/poses.mot", "0.75 1.23", "true"),
        ("quiet", "poses.sto", "0.5 0.5", "false"),
    ],
)
def test_motions_are_opensims(case, placed, tmp_path, folder, output, span, errors):
    setup = case.folder / f"{folder}.xml"
    setup.write_text(follower(folder, output, span, errors))
    run_opensim(setup)
    result = run_setup(setup, output=tmp_path)
    assert result.complete
    names = sorted(path.name for path in (case.folder / folder).iterdir())
    assert sorted(file.name for file in result.files) == names
    assert len(names) == (2 if errors == "true" else 1)
    for name in names:
        theirs, ours = read_storage(case.folder / folder / name), read_storage(tmp_path / name)
        assert ours.names == theirs.names
        assert ours.degrees == theirs.degrees
        assert_allclose(ours.time, theirs.time, atol=ROUNDING)
        if not name.endswith("Errors.sto"):
            sure = [k for k, column in enumerate(ours.names) if column.startswith(("pelvis", "lumbar"))]
            assert np.abs(ours.values - theirs.values)[:, sure].max() < TOOL_DEG
        assert header_layout(tmp_path / name) == header_layout(case.folder / folder / name)


def test_no_frame_fits_worse_than_opensims(case, placed, tmp_path):
    """By the angles that either tool writes; and what `run` writes is what the function finds."""
    setup = case.folder / "fit.xml"
    setup.write_text(follower("fit", "poses.mot"))
    run_opensim(setup)
    run_setup(setup, output=tmp_path)
    theirs, ours = (
        read_storage(folder / "poses.mot_orientationErrors.sto") for folder in (case.folder / "fit", tmp_path)
    )
    w = np.array([WEIGHTS.get(name, 1.0) for name in ours.names])
    assert ((w * ours.values**2).sum(axis=1) <= (w * theirs.values**2).sum(axis=1) * (1.0 + 1e-9)).all()
    model, trial = read_osim(placed), read_orientations(case.folder / "trial.sto", (-np.pi / 2, 0.0, 0.0))
    weights = {name: WEIGHTS.get(name, 1.0) for name in trial.names}
    found = inverse_kinematics(model, orientations=trial, orientation_weights=weights)
    written = read_storage(tmp_path / "poses.mot").coordinates(model)
    assert_allclose(written, found.q, atol=1e-12)
    # what the tool leaves is its own: its solver, asked for more digits, comes to our poses
    write_orientations(trial, tmp_path / "turned.sto")
    names = list(model.coordinate_names)
    (tight,) = ask(
        [["solve", str(placed), str(tmp_path / "turned.sto"), weights, "", {}, TIGHT, True, names]], tmp_path
    )
    seen = [k for k, name in enumerate(names) if not name.startswith("mtp")]
    assert np.degrees(np.abs(written[: len(tight)] - tight)[:, seen].max()) < TIGHT_DEG


def test_a_span_without_frames_is_refused(case, placed, tmp_path):
    setup = case.folder / "late.xml"
    setup.write_text(follower("late", "", "7 8"))
    with pytest.raises(InvalidInput, match="no frame of"):
        run_setup(setup, output=tmp_path)
